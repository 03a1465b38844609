"""Audio files on disk: finding them, reading at any place, locking, and temporary copies.

A file is locked while its tags are changed, so that a second run waits for the first. A copy that
is being written has a recognisable name, by which `remove_leftovers` finds what killed runs left.
"""

import errno
import fcntl
import hashlib
import io
import logging
import os
import re
import secrets
import socket
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from chart_binder.errors import AudioError, NoAudioError, SaveError
from chart_binder.files import path_error, quoted

_log = logging.getLogger(__name__)

# What mediafile reads, by the usual file names; .mp4 and .asf are left out: mostly video.
# fmt: off
AUDIO_SUFFIXES = frozenset({
    ".aif", ".aifc", ".aiff", ".ape", ".dsf", ".flac", ".m4a", ".m4b", ".m4p", ".mp+", ".mp2",
    ".mp3", ".mpc", ".oga", ".ogg", ".opus", ".wav", ".wave", ".wma", ".wv",
})
# fmt: on

_CHUNK_BYTES = 1 << 20  # how much of a file is in memory at a time
_MAX_TAG_BYTES = 1 << 28  # a longer tag is a damaged length
_STREAM_BYTES = 1 << 16  # so that most of a header is read at once

LOCK_TIMEOUT_S = 10.0
"""How long another run may hold a file; a copy of an album's longest track takes about 1 s."""

_LOCK_RETRY_S = 0.05
_TEMPORARY_NAME = re.compile(
    r"\.canon-save-([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-f]{16}\.part(?:\.\w{1,8})?", re.ASCII
)
_UNKNOWN = "0"  # the start of a process, where the system does not say it
_SUFFIX = re.compile(r"\.\w{1,8}", re.ASCII)
_GET_FLAGS, _FIXED_FLAGS = 0x80086601, 0x30  # of Linux: FS_IOC_GETFLAGS; FS_IMMUTABLE_FL, _APPEND_


def is_append_only(descriptor: int) -> bool:
    """Say whether Linux lets an open file or folder at most grow (`chattr +a`, `chattr +i`)."""
    if sys.platform != "linux":
        return False
    try:
        flags = fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8))
    except OSError:  # the file system has no such flags
        return False
    return bool(int.from_bytes(flags[:4], sys.byteorder) & _FIXED_FLAGS)


class FileInUseError(SaveError):
    """Another run is changing the tags of the file and did not end in time."""


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """Bytes of the source file, by offset and size."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """Where the next byte stands."""
        return self.start + self.size

    def part(self, skipped: int, size: int) -> "ByteSpan":
        """Return a part of it."""
        return ByteSpan(self.start + skipped, size)

    def chunks(self, source: "OpenFile") -> Iterator[bytes]:
        """Yield the bytes, at most a megabyte at a time; raise `AudioError`."""
        at = self.start
        while at < self.end:
            try:
                chunk = os.pread(source.descriptor, min(_CHUNK_BYTES, self.end - at), at)
            except OSError as error:
                raise path_error(source.path, error) from error
            if not chunk:
                raise source.damaged("it has become shorter while it was read")
            yield chunk
            at += len(chunk)


Piece = bytes | ByteSpan


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open audio file, read at any place."""

    path: Path
    descriptor: int
    size: int

    def read(self, start: int, size: int) -> bytes:
        """Return exactly `size` bytes from `start`; raise `AudioError` where they are not there."""
        if start < 0 or size < 0 or start + size > self.size:
            raise self.damaged("it ends within a structure that its header announces")
        if size > _MAX_TAG_BYTES:
            raise self.damaged(f"a tag of {size:,} bytes is announced")
        return b"".join(self.chunks([ByteSpan(start, size)]))

    def has(self, start: int, expected: bytes) -> bool:
        """Say whether these bytes stand at `start`."""
        if start < 0 or start + len(expected) > self.size:
            return False
        return self.read(start, len(expected)) == expected

    def chunks(self, pieces: Iterable[Piece]) -> Iterator[bytes]:
        """Yield the bytes of the pieces, at most a megabyte at a time; raise `AudioError`."""
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                yield from piece.chunks(self)

    def stream(self) -> BinaryIO:
        """Return the content as a stream that has the file's name. Raises `OSError`."""
        stream = open(self.path, "rb", opener=lambda *_: os.dup(self.descriptor))  # noqa: SIM115
        stream.seek(0)  # descriptors that were duplicated share their position
        return stream

    def damaged(self, detail: str) -> AudioError:
        """Return the error for content that makes no sense."""
        return damaged_file(self.path, detail)


@dataclass(frozen=True, slots=True)
class UnwrittenFile(OpenFile):
    """A file that is not written yet, in bytes and spans of the one whose place it takes."""

    pieces: Sequence[Piece]
    ends: Sequence[int]
    old: OpenFile

    @classmethod
    def of(cls, old: OpenFile, pieces: Sequence[Piece]) -> "UnwrittenFile":
        """Return the file that consists of these pieces of `old`."""
        ends = list(accumulate(map(piece_size, pieces)))
        return cls(old.path, old.descriptor, ends[-1] if ends else 0, pieces, ends, old)

    def chunks(self, pieces: Iterable[Piece]) -> Iterator[bytes]:
        """Yield the bytes of pieces, whose spans are those of the new file."""
        return self.old.chunks(self._in_old_file(pieces))

    def stream(self) -> BinaryIO:
        """Return the content as a stream that has the file's name."""
        return io.BufferedReader(_FileStream(self), _STREAM_BYTES)

    def _in_old_file(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            at, number = piece.start, bisect_right(self.ends, piece.start)
            while at < piece.end:
                here = self.pieces[number]
                skipped = at - self.ends[number] + piece_size(here)
                size = min(piece.end, self.ends[number]) - at
                if isinstance(here, bytes):
                    yield here[skipped : skipped + size]
                else:
                    yield here.part(skipped, size)
                at, number = at + size, number + 1


def piece_size(piece: Piece) -> int:
    """Return how many bytes a piece has."""
    return len(piece) if isinstance(piece, bytes) else piece.size


class _FileStream(io.RawIOBase):
    def __init__(self, source: OpenFile) -> None:
        super().__init__()
        self.name = source.path
        self._source, self._at = source, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        before = {os.SEEK_CUR: self._at, os.SEEK_END: self._source.size}.get(whence, 0)
        if before + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._at = before + offset
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        size = max(0, min(len(buffer), self._source.size - self._at))
        content = b"".join(self._source.chunks([ByteSpan(self._at, size)]))
        buffer[:size] = content
        self._at += size
        return size


def no_audio(path: Path, problem: str) -> AudioError:
    """Return the error for a file without audio, `NoAudioError` if its name says audio."""
    kind = NoAudioError if path.suffix.lower() in AUDIO_SUFFIXES else AudioError
    return kind(f"{quoted(path)} {problem}")


def damaged_file(path: Path, detail: str) -> AudioError:
    """Return the error for a file whose content makes no sense."""
    return no_audio(path, f"is damaged, cut short or not what its name says: {detail}")


@contextmanager
def open_audio(path: Path) -> Iterator[OpenFile]:
    """Open a regular file that is not empty; raise `AudioError` for anything else."""
    try:  # without O_NONBLOCK, opening a pipe waits for a writer
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise path_error(path, error) from error
    try:
        status = os.fstat(descriptor)
        require_audio_file(path, status)
        yield OpenFile(path, descriptor, status.st_size)
    finally:
        os.close(descriptor)


def require_audio_file(path: Path, status: os.stat_result) -> None:
    """Raise `AudioError` unless the status is that of a regular file that is not empty."""
    if S_ISDIR(status.st_mode):
        raise AudioError(f"{quoted(path)} is a folder, not an audio file")
    if not S_ISREG(status.st_mode):
        raise AudioError(f"{quoted(path)} is a device or a pipe, not an audio file")
    if not status.st_size:
        raise no_audio(path, "is empty (0 bytes)")


@contextmanager
def file_lock(target: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[OpenFile]:
    """Open and lock a file for this run. Raises as `open_audio`, and `FileInUseError`."""
    until = time.monotonic() + timeout_s
    while True:
        with open_audio(target) as source:
            if not try_lock(source.descriptor):
                if time.monotonic() >= until:
                    raise FileInUseError(
                        f"{quoted(target)} is left as it is: another run is writing its tags, and"
                        f" did not end within {timeout_s:g} s"
                    )
            elif _is_at(source.descriptor, target):
                yield source
                return
            else:
                continue  # the run that had the lock put a new file in its place
        time.sleep(_LOCK_RETRY_S)


def try_lock(descriptor: int) -> bool:
    """Lock a file until it is closed; return whether this succeeded, or there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, BlockingIOError)
    return True


def _is_at(descriptor: int, target: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), target.stat())
    except OSError:  # removed: the next attempt to open it reports that
        return False


@dataclass(frozen=True, slots=True)
class LeftoverCopy:
    """A temporary file that a killed run left; `kept` says why it was not removed."""

    path: Path
    kept: str | None = None


def new_temporary_name(target: Path) -> str:
    """Return a name for a copy: host, process id, start time, random, suffix of `target`."""
    pid = os.getpid()
    suffix = target.suffix if _SUFFIX.fullmatch(target.suffix) else ""
    return f".canon-save-{_host()}-{pid}-{_start_time(pid)}-{secrets.token_hex(8)}.part{suffix}"


def is_of_another_host(name: str) -> bool:
    """Say whether a file of this name is a temporary copy of a save on another machine."""
    match = _TEMPORARY_NAME.fullmatch(name)
    return match is not None and match[1] != _host()


def remove_leftovers(folder: Path) -> Iterator[LeftoverCopy]:
    """Remove what killed saves left in a folder; yield each, one that stays with the reason."""
    try:
        names = os.listdir(folder)  # noqa: PTH208  # names
    except OSError:
        return
    for match in filter(None, map(_TEMPORARY_NAME.fullmatch, sorted(names))):
        path, (host, pid, started) = folder / match[0], match.groups()
        try:
            if host != _host():
                why = "it is of another machine: remove it if nothing is being written there"
                yield LeftoverCopy(path, why)
            elif (_start_time(pid) != started or started == _UNKNOWN) and _remove_unlocked(path):
                yield LeftoverCopy(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield LeftoverCopy(path, f"it cannot be removed ({error.strerror})")


def _remove_unlocked(path: Path) -> bool:
    """Remove a regular file unless another process has locked it; raise `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode) or not try_lock(descriptor):
            return False
        path.unlink()
    finally:
        os.close(descriptor)
    return True


def _start_time(pid: int | str) -> str:
    """Return when a process started, in ticks since the system did, if that is known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return _UNKNOWN
    # The program's name, in brackets, may hold anything. Field 22: proc_pid_stat(5).
    return stat.rpartition(")")[2].split()[19]


def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class AudioFile:
    """A file to read, named by the caller or found in a folder."""

    path: Path


@dataclass(frozen=True, slots=True)
class UnreadablePath:
    """A path that yields no file, with the reason."""

    path: Path
    problem: AudioError


def find_audio_files(
    paths: Iterable[Path], *, warn: Callable[[str], object] | None = _log.warning
) -> Iterator[AudioFile | UnreadablePath]:
    """Yield the audio files at `paths`, in the order given, those of a folder sorted by name.

    A named file is yielded whatever its name; in folders, at any depth, hidden files, those without
    a suffix of audio and links that lead nowhere are skipped. Below the named folders nothing is
    yielded twice, whatever links lead there. The walk goes on after a path that cannot be read.
    Folders are listed when their turn comes; `warn` is called for one without any audio.
    """
    paths = list(paths)
    walk = _FolderWalk(frozenset(Path(os.path.realpath(path)) for path in paths if path.is_dir()))
    for path in paths:
        try:
            is_folder = S_ISDIR(path.stat().st_mode)
        except (OSError, ValueError) as error:
            yield UnreadablePath(path, path_error(path, error))
            continue
        if not is_folder:
            yield AudioFile(path)
            continue
        is_empty = not walk.has_entered(path)
        for item in walk.files_below(path):
            is_empty = False
            yield item
        if is_empty and warn:
            warn(f"{quoted(path)} is a folder without any audio files")


def listed_audio(folder: Path) -> Sequence[Path]:
    """Return the audio files and the folders directly in a folder, none if it cannot be read."""
    try:
        return [
            item.path if isinstance(item, AudioFile) else item
            for item in _FolderWalk().listed(folder)
        ]
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class _FolderWalk:
    """What was found below the folders `tops`: those entered, and what links led to."""

    tops: frozenset[Path] = frozenset()
    entered: set[tuple[int, int]] = field(default_factory=set)
    linked: set[Path] = field(default_factory=set)

    def has_entered(self, folder: Path) -> bool:
        """Return whether a folder was entered by another name. Raises `OSError`."""
        return _identity(folder) in self.entered

    def files_below(self, top: Path) -> Iterator[AudioFile | UnreadablePath]:
        """Yield what is found, folder by folder."""
        waiting: list[AudioFile | Path] = [top]  # a Path is a folder; folders may be deep
        while waiting:
            item = waiting.pop()
            if isinstance(item, AudioFile):
                if not item.path.is_symlink() or self._is_first(item.path):
                    yield item
                continue
            try:
                waiting += reversed(self.listed(item))
            except OSError as error:
                yield UnreadablePath(item, path_error(item, error))

    def _is_first(self, link: Path) -> bool:
        """Return whether its file is found neither by its own name nor by an earlier link."""
        target = Path(os.path.realpath(link))
        if target in self.linked:
            return False
        self.linked.add(target)
        if target.suffix.lower() not in AUDIO_SUFFIXES:
            return True
        return not any(
            top in self.tops
            and not any(part.startswith(".") for part in target.relative_to(top).parts)
            for top in target.parents
        )

    def listed(self, folder: Path) -> list[AudioFile | Path]:
        """Return the audio files and folders in a folder, none the second time."""
        if self.has_entered(folder):
            return []
        self.entered.add(_identity(folder))
        with os.scandir(folder) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
        items: list[AudioFile | Path] = []
        for entry in sorted(visible, key=lambda entry: entry.name):
            path = Path(entry.path)
            if _is_folder(entry):
                items.append(path)
            elif path.suffix.lower() not in AUDIO_SUFFIXES:
                continue
            elif entry.is_symlink() and _leads_nowhere(path):
                _log.info("%s is a link that leads nowhere, and is skipped", quoted(path))
            else:
                items.append(AudioFile(path))
        return items


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _leads_nowhere(link: Path) -> bool:
    try:
        link.stat()
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
    return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # the reader of the file reports it
        return False
