"""A file is held while its tags are changed, so that of two runs the second waits for the first."""

import fcntl
import hashlib
import os
import re
import secrets
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from chart_binder.errors import AudioError, SaveError
from chart_binder.files import path_error, quoted

CHUNK_BYTES = 1 << 20
"""What is in memory at a time of a stretch."""

MAX_TAG_BYTES = 1 << 28
"""The longest tag that is read into memory; a longer one is a damaged length."""


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes that stand in the source."""

    start: int
    size: int


Piece = bytes | Span


@dataclass(frozen=True, slots=True)
class Source:
    """An open audio file, read at any place."""

    path: Path
    descriptor: int
    size: int

    @classmethod
    def of(cls, path: Path, descriptor: int) -> "Source":
        """Return the file behind an open descriptor."""
        return cls(path, descriptor, os.fstat(descriptor).st_size)

    def at(self, start: int, size: int) -> bytes:
        """Return exactly `size` bytes from `start`; raise `AudioError` where they are not there."""
        if start < 0 or size < 0 or start + size > self.size:
            raise self.damaged("it ends within a structure that its header announces")
        if size > MAX_TAG_BYTES:
            raise self.damaged(f"a tag of {size:,} bytes is announced")
        return b"".join(self.read(Span(start, size)))

    def has(self, start: int, expected: bytes) -> bool:
        """Say whether these bytes stand at `start`."""
        if start < 0 or start + len(expected) > self.size:
            return False
        return self.at(start, len(expected)) == expected

    def read(self, stretch: Span) -> Iterator[bytes]:
        """Yield the bytes of a stretch, a chunk at a time; raise `AudioError` if it is cut."""
        at, end = stretch.start, stretch.start + stretch.size
        while at < end:
            try:
                chunk = os.pread(self.descriptor, min(CHUNK_BYTES, end - at), at)
            except OSError as error:
                raise path_error(self.path, error) from error
            if not chunk:
                raise self.damaged("it has become shorter while it was read")
            yield chunk
            at += len(chunk)

    def chunks(self, pieces: Iterable[Piece]) -> Iterator[bytes]:
        """Yield the bytes that the pieces stand for."""
        for piece in pieces:
            if isinstance(piece, Span):
                yield from self.read(piece)
            else:
                yield piece

    def damaged(self, detail: str) -> AudioError:
        """Return what to raise where the file does not make sense."""
        return AudioError(
            f"{quoted(self.path)} is damaged, cut short or not what its name says: {detail}"
        )


def size_of(pieces: Iterable[Piece]) -> int:
    """Return how many bytes the pieces stand for."""
    return sum(piece.size if isinstance(piece, Span) else len(piece) for piece in pieces)


@contextmanager
def open_audio(path: Path) -> Iterator[int]:
    """Hand out a descriptor of a regular file that is not empty; raise `AudioError` otherwise."""
    try:
        # Opening a pipe waits for somebody to write into it, unless told not to.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise path_error(path, error) from error
    try:
        require_audio_file(path, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def require_audio_file(path: Path, status: os.stat_result) -> None:
    """Raise `AudioError` for what is no file, or is an empty one."""
    if S_ISDIR(status.st_mode):
        raise AudioError(f"{quoted(path)} is a folder, not an audio file")
    if not S_ISREG(status.st_mode):
        raise AudioError(f"{quoted(path)} is a device or a pipe, not an audio file")
    if not status.st_size:
        raise AudioError(f"{quoted(path)} is empty (0 bytes)")


_NAME = re.compile(r"\.canon-save-([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-f]{16}\.part")


@dataclass(frozen=True, slots=True)
class Leftover:
    """A temporary file that was found; `kept` says why it is still there, else it is gone."""

    path: Path
    kept: str | None = None


def new_temporary_name() -> str:
    """Return a name for a temporary file of this process."""
    pid = os.getpid()
    return f".canon-save-{_host()}-{pid}-{_began(pid)}-{secrets.token_hex(8)}.part"


def is_temporary(name: str) -> bool:
    """Say whether a file of this name was written by a save."""
    return _NAME.fullmatch(name) is not None


def is_of_another_host(name: str) -> bool:
    """Say whether a file of this name was written by a save on another machine."""
    match = _NAME.fullmatch(name)
    return match is not None and match[1] != _host()


def remove_leftovers(folder: Path) -> Iterator[Leftover]:
    """Remove what saves that were killed have left in one folder, and yield each of them.

    The files that were to be changed are untouched: a save that was killed had not replaced them.
    Files of living processes are passed over in silence; what cannot be removed, or belongs to
    another machine on a shared disk, is yielded with the reason it is kept.
    """
    try:
        names = [name for name in os.listdir(folder) if is_temporary(name)]  # noqa: PTH208  # names
    except OSError:
        return
    for name in sorted(names):
        swept = _swept(folder / name)
        if swept:
            yield swept


def try_lock(descriptor: int) -> bool:
    """Lock a file until it is closed; say whether that could be done."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: the process's number has to do
        return True
    return True


def _swept(path: Path) -> Leftover | None:
    match = _NAME.fullmatch(path.name)
    if match is None or (match[1] == _host() and _lives(int(match[2]), match[3])):
        return None
    if match[1] != _host():
        return Leftover(
            path, "it is of another machine: remove it if nothing is being written there"
        )
    try:
        return Leftover(path) if _removed(path) else None
    except FileNotFoundError:
        return None
    except OSError as error:
        return Leftover(path, f"it cannot be removed ({error.strerror})")


def _removed(path: Path) -> bool:
    """Remove the file unless somebody holds it; raise `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode) or not try_lock(descriptor):
            return False
        path.unlink()
    finally:
        os.close(descriptor)
    return True


def _lives(pid: int, began: str) -> bool:
    """Say whether the very process lives, not another that was given its number since."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # of another user
    return _began(pid) == began or began == "0"


def _began(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return "0"
    # The program's name, in brackets, may hold anything. Field 22: proc_pid_stat(5).
    return stat.rpartition(")")[2].split()[19]


def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


LOCK_TIMEOUT_S = 10.0
"""How long another run may take for a file; a copy of an album's longest track takes about one."""
_AGAIN_S = 0.05


class FileInUseError(SaveError):
    """Another run is changing the file's tags, and took longer than it was waited for."""


@contextmanager
def file_lock(target: Path, patience_s: float = LOCK_TIMEOUT_S) -> Iterator[int]:
    """Hand out a descriptor of a file that no other run changes until it is given back.

    Runs keep to this among themselves (`flock`), on a file system that has locks; other programs
    do not. Raises `AudioError` as `opened` does, and `HeldError`.
    """
    until = time.monotonic() + patience_s
    while True:
        with open_audio(target) as descriptor:
            if not try_lock(descriptor):
                if time.monotonic() >= until:
                    raise FileInUseError(
                        f"{quoted(target)} is left as it is: another run is writing its tags, and"
                        f" did not end within {patience_s:g} s"
                    )
            elif _is_named(descriptor, target):
                yield descriptor
                return
            else:
                continue  # whoever held it put a new file in its place
        time.sleep(_AGAIN_S)


def _is_named(descriptor: int, target: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), target.stat())
    except OSError:  # gone: opening it anew says so
        return False
