"""Locks of files, and the names of temporary copies.

A run locks a file while it changes the tags, so that a second run waits for the first. The names
of temporary copies follow a pattern by which `remove_leftovers` finds those of killed runs.
"""

import fcntl
import hashlib
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from chart_binder.audio.open_file import OpenFile, open_audio
from chart_binder.errors import SaveError
from chart_binder.files import quoted

LOCK_TIMEOUT_S = 10.0
"""How long to wait for another run's lock; copying a long track takes about 1 s."""

_LOCK_RETRY_S = 0.05
_TEMPORARY_NAME = re.compile(
    r"\.canon-save-([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-f]{16}\.part(?:\.\w{1,8})?", re.ASCII
)
_UNKNOWN = "0"  # the start time of a process on a system without /proc
_SUFFIX = re.compile(r"\.\w{1,8}", re.ASCII)
_GET_FLAGS, _FIXED_FLAGS = 0x80086601, 0x30  # FS_IOC_GETFLAGS; FS_IMMUTABLE_FL | FS_APPEND_FL


class FileInUseError(SaveError):
    """Another run holds the lock on the file and did not release it in time."""


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


def is_append_only(descriptor: int) -> bool:
    """Tell whether an open file or folder is append-only or immutable (`chattr +a`, `+i`)."""
    if sys.platform != "linux":
        return False
    try:
        flags = fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8))
    except OSError:  # the file system does not support these flags
        return False
    return bool(int.from_bytes(flags[:4], sys.byteorder) & _FIXED_FLAGS)
