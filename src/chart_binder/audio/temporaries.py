"""The files that a save writes beside the one it changes, known by their names.

`.canon-save-HOST-PID-START-RANDOM.part`: eight digits of a hash of the host's name, the process and
when it began (in clock ticks since boot; 0 where the system does not say), a random number. Such a
file is locked as long as its process lives.
"""

import fcntl
import hashlib
import os
import re
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

_NAME = re.compile(r"\.canon-save-([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-f]{16}\.part")


@dataclass(frozen=True, slots=True)
class Swept:
    """A temporary file that was found; `kept` says why it is still there, else it is gone."""

    path: Path
    kept: str | None = None


def new_name() -> str:
    """Return a name for a temporary file of this process."""
    pid = os.getpid()
    return f".canon-save-{_host()}-{pid}-{_began(pid)}-{secrets.token_hex(8)}.part"


def is_temporary(name: str) -> bool:
    """Say whether a file of this name was written by a save."""
    return _NAME.fullmatch(name) is not None


def is_elsewhere(name: str) -> bool:
    """Say whether a file of this name was written by a save on another machine."""
    match = _NAME.fullmatch(name)
    return match is not None and match[1] != _host()


def sweep(folder: Path) -> Iterator[Swept]:
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


def locked(descriptor: int) -> bool:
    """Lock a file until it is closed; say whether that could be done."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: the process's number has to do
        return True
    return True


def _swept(path: Path) -> Swept | None:
    match = _NAME.fullmatch(path.name)
    if match is None or (match[1] == _host() and _lives(int(match[2]), match[3])):
        return None
    if match[1] != _host():
        return Swept(path, "it is of another machine: remove it if nothing is being written there")
    try:
        return Swept(path) if _removed(path) else None
    except FileNotFoundError:
        return None
    except OSError as error:
        return Swept(path, f"it cannot be removed ({error.strerror})")


def _removed(path: Path) -> bool:
    """Remove the file unless somebody holds it; raise `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode) or not locked(descriptor):
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
