"""Audio files on disk: finding, reading and locking them, and naming temporary copies.

A run locks a file while it changes the tags, so that a second run waits for the first. The names
of temporary copies follow a pattern by which `remove_leftovers` finds those of killed runs.
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

# The usual suffixes of the formats that mediafile reads, except .mp4 and .asf (mostly video).
# fmt: off
AUDIO_SUFFIXES = frozenset({
    ".aif", ".aifc", ".aiff", ".ape", ".dsf", ".flac", ".m4a", ".m4b", ".m4p", ".mp+", ".mp2",
    ".mp3", ".mpc", ".oga", ".ogg", ".opus", ".wav", ".wave", ".wma", ".wv",
})
# fmt: on

_CHUNK_BYTES = 1 << 20  # the most that is read into memory at a time
_MAX_TAG_BYTES = 1 << 28  # a tag length above this is damaged
_STREAM_BYTES = 1 << 16  # most headers fit into one buffer

LOCK_TIMEOUT_S = 10.0
"""How long to wait for another run's lock; copying a long track takes about 1 s."""

_LOCK_RETRY_S = 0.05
_TEMPORARY_NAME = re.compile(
    r"\.canon-save-([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-f]{16}\.part(?:\.\w{1,8})?", re.ASCII
)
_UNKNOWN = "0"  # the start time of a process on a system without /proc
_SUFFIX = re.compile(r"\.\w{1,8}", re.ASCII)
_GET_FLAGS, _FIXED_FLAGS = 0x80086601, 0x30  # FS_IOC_GETFLAGS; FS_IMMUTABLE_FL | FS_APPEND_FL


def is_append_only(descriptor: int) -> bool:
    """Tell whether an open file or folder is append-only or immutable (`chattr +a`, `+i`)."""
    if sys.platform != "linux":
        return False
    try:
        flags = fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8))
    except OSError:  # the file system does not support these flags
        return False
    return bool(int.from_bytes(flags[:4], sys.byteorder) & _FIXED_FLAGS)


class FileInUseError(SaveError):
    """Another run holds the lock on the file and did not release it in time."""


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """A range of bytes of an open file, by offset and size."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.start + self.size

    def part(self, skipped: int, size: int) -> "ByteSpan":
        """Return `size` bytes of the range, starting behind the `skipped` first bytes."""
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
                raise source.damaged("it became shorter while it was being read")
            yield chunk
            at += len(chunk)


Piece = bytes | ByteSpan


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open audio file that can be read at any offset."""

    path: Path
    descriptor: int
    size: int

    def read(self, start: int, size: int) -> bytes:
        """Return `size` bytes from offset `start`. Raises `AudioError` if the file is shorter."""
        if start < 0 or size < 0 or start + size > self.size:
            raise self.damaged("it ends inside a structure that its header announces")
        if size > _MAX_TAG_BYTES:
            raise self.damaged(f"its header announces a tag of {size:,} bytes")
        return b"".join(self.chunks([ByteSpan(start, size)]))

    def has(self, start: int, expected: bytes) -> bool:
        """Tell whether the file has the expected bytes at offset `start`."""
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
        """Return a stream of the content; its `name` is the path. Raises `OSError`."""
        stream = open(self.path, "rb", opener=lambda *_: os.dup(self.descriptor))  # noqa: SIM115
        stream.seek(0)  # duplicated descriptors share their position
        return stream

    def damaged(self, detail: str) -> AudioError:
        """Return the error for invalid content."""
        return no_audio(self.path, f"is damaged, cut short or not what its name says: {detail}")


@dataclass(frozen=True, slots=True)
class UnwrittenFile(OpenFile):
    """A file that is not on disk yet: new bytes and spans of the old file that it will replace."""

    pieces: Sequence[Piece]
    ends: Sequence[int]
    old: OpenFile

    @classmethod
    def of(cls, old: OpenFile, pieces: Sequence[Piece]) -> "UnwrittenFile":
        """Return the file that consists of the pieces; their spans refer to `old`."""
        ends = list(accumulate(map(piece_size, pieces)))
        return cls(old.path, old.descriptor, ends[-1] if ends else 0, pieces, ends, old)

    def chunks(self, pieces: Iterable[Piece]) -> Iterator[bytes]:
        """Yield the bytes of pieces; their spans are offsets in the new file."""
        return self.old.chunks(self._in_old_file(pieces))

    def stream(self) -> BinaryIO:
        """Return a stream of the content; its `name` is the path."""
        return io.BufferedReader(_FileStream(self), _STREAM_BYTES)

    def _in_old_file(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            at, index = piece.start, bisect_right(self.ends, piece.start)
            while at < piece.end:
                old_piece, end = self.pieces[index], self.ends[index]
                skipped = at - end + piece_size(old_piece)
                size = min(piece.end, end) - at
                if isinstance(old_piece, bytes):
                    yield old_piece[skipped : skipped + size]
                else:
                    yield old_piece.part(skipped, size)
                at, index = at + size, index + 1


def piece_size(piece: Piece) -> int:
    """Return the number of bytes in a piece."""
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
        origin = {os.SEEK_CUR: self._at, os.SEEK_END: self._source.size}.get(whence, 0)
        if origin + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._at = origin + offset
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        size = max(0, min(len(buffer), self._source.size - self._at))
        content = b"".join(self._source.chunks([ByteSpan(self._at, size)]))
        buffer[:size] = content
        self._at += size
        return size


def no_audio(path: Path, problem: str) -> AudioError:
    """Return a `NoAudioError` if the file has a suffix of audio files, else an `AudioError`."""
    error = NoAudioError if path.suffix.lower() in AUDIO_SUFFIXES else AudioError
    return error(f"{quoted(path)} {problem}")


@contextmanager
def open_audio(path: Path) -> Iterator[OpenFile]:
    """Open a regular file that is not empty. Raises `AudioError` for anything else."""
    try:  # without O_NONBLOCK, opening a pipe would wait for a writer
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise path_error(path, error) from error
    try:
        status = os.fstat(descriptor)
        if S_ISDIR(status.st_mode):
            raise AudioError(f"{quoted(path)} is a folder, not an audio file")
        if not S_ISREG(status.st_mode):
            raise AudioError(f"{quoted(path)} is a device or a pipe, not an audio file")
        if not status.st_size:
            raise no_audio(path, "is empty (0 bytes)")
        yield OpenFile(path, descriptor, status.st_size)
    finally:
        os.close(descriptor)


@contextmanager
def file_lock(target: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[OpenFile]:
    """Open and lock a file, waiting up to `timeout_s` seconds.

    Raises `AudioError` like `open_audio`, and `FileInUseError` after the timeout.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        with open_audio(target) as source:
            if not try_lock(source.descriptor):
                if time.monotonic() >= deadline:
                    raise FileInUseError(
                        f"{quoted(target)} was not changed: another run is writing its tags, and"
                        f" did not finish within {timeout_s:g} s"
                    )
            elif _is_at(source.descriptor, target):
                yield source
                return
            else:
                continue  # the run that held the lock has replaced the file
        time.sleep(_LOCK_RETRY_S)


def try_lock(descriptor: int) -> bool:
    """Lock a file until it is closed. Return False only if another process holds the lock.

    A file system without locks counts as success.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, BlockingIOError)
    return True


def _is_at(descriptor: int, target: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), target.stat())
    except OSError:  # the file was removed: the next attempt to open it reports that
        return False


@dataclass(frozen=True, slots=True)
class LeftoverCopy:
    """A temporary copy from a killed run; `problem` is the reason if it was not removed."""

    path: Path
    problem: str | None = None


def new_temporary_name(target: Path) -> str:
    """Return a file name for a copy of `target`.

    It holds the host, the process id, the start time of the process, a random part and the suffix.
    """
    pid = os.getpid()
    suffix = target.suffix if _SUFFIX.fullmatch(target.suffix) else ""
    return f".canon-save-{_host()}-{pid}-{_start_time(pid)}-{secrets.token_hex(8)}.part{suffix}"


def is_of_another_host(name: str) -> bool:
    """Tell whether a file name belongs to a temporary copy that another machine made."""
    match = _TEMPORARY_NAME.fullmatch(name)
    return match is not None and match[1] != _host()


def remove_leftovers(folder: Path) -> Iterator[LeftoverCopy]:
    """Remove the copies that killed saves left in a folder, and yield them.

    A copy that was not removed is yielded with the reason, unless a living process may own it.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return
    for match in filter(None, map(_TEMPORARY_NAME.fullmatch, sorted(names))):
        path, (host, pid, started) = folder / match[0], match.groups()
        try:
            if host != _host():
                problem = "another machine made it: remove it if no run is writing there"
                yield LeftoverCopy(path, problem)
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
    """Return the start time of a process in clock ticks since boot, `_UNKNOWN` without /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return _UNKNOWN
    # Field 22 of proc_pid_stat(5); field 2, in parentheses, is the program's name, of any bytes.
    return stat.rpartition(")")[2].split()[19]


def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class AudioFile:
    """An audio file that the caller named or that was found in a folder."""

    path: Path


@dataclass(frozen=True, slots=True)
class UnreadablePath:
    """A path that cannot be read, with the reason."""

    path: Path
    problem: AudioError


def find_audio_files(
    paths: Iterable[Path], *, warn: Callable[[str], object] | None = _log.warning
) -> Iterator[AudioFile | UnreadablePath]:
    """Yield the audio files at `paths`, in their order; files in folders are sorted by name.

    A file among `paths` is yielded whatever its name. In folders, which are searched recursively,
    hidden files, files without an audio suffix and broken links are skipped, and no file is yielded
    twice, whatever links point to it. The search continues after a path that cannot be read.
    Folders are listed lazily; `warn` is called for a folder among `paths` without audio files.
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
    """Return the audio files and subfolders of a folder, nothing if it cannot be read."""
    try:
        return [
            item.path if isinstance(item, AudioFile) else item
            for item in _FolderWalk().listed(folder)
        ]
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class _FolderWalk:
    """A search below `tops`, with the folders listed and the files linked to so far."""

    tops: frozenset[Path] = frozenset()
    entered: set[tuple[int, int]] = field(default_factory=set)
    linked: set[Path] = field(default_factory=set)

    def has_entered(self, folder: Path) -> bool:
        """Tell whether a folder was listed already under any name. Raises `OSError`."""
        return _identity(folder) in self.entered

    def files_below(self, top: Path) -> Iterator[AudioFile | UnreadablePath]:
        """Yield the files below a folder, folder by folder."""
        waiting: list[AudioFile | Path] = [top]  # a Path is a folder
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
        """Tell whether a link is the first way to its target, which no folder of the search has."""
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
        """Return the audio files and subfolders of a folder, nothing if it was listed already."""
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
            elif entry.is_symlink() and _is_broken(path):
                _log.info("%s is a broken link and is skipped", quoted(path))
            else:
                items.append(AudioFile(path))
        return items


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _is_broken(link: Path) -> bool:
    try:
        link.stat()
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
    return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # reading the path will report the error
        return False
