"""The folders of a build: locked while it runs, removed after it, or by the next one."""

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chart_binder.errors import IndexFileError
from chart_binder.files import quoted

_NOTE = "temporary-folder"
_MEMORY_INFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Workspace:
    """The folder beside an index in which the new one is written, and that of temporary files."""

    beside: Path
    temporary: Path


@contextmanager
def open_workspace(out: Path, temporary: Path | None) -> Iterator[Workspace]:
    """Create the folders of a build, and remove what a killed one left.

    Raises `IndexFileError` if another build of the same index is running.
    """
    beside = out.with_name(f".{out.name}.build")
    descriptor = _lock(beside, out)
    try:
        _clear(beside)
        other = beside / "temporary"
        if temporary is not None:
            other = temporary.absolute() / f"canon-index-{secrets.token_hex(8)}"
            (beside / _NOTE).write_bytes(os.fsencode(other))
        other.mkdir()
        yield Workspace(beside, other)
    finally:
        _clear(beside)
        beside.rmdir()
        os.close(descriptor)


def _lock(folder: Path, out: Path) -> int:
    """Create and lock a folder; the system releases the lock when the process ends."""
    while True:
        folder.mkdir(exist_ok=True)
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # another build ended
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise IndexFileError(f"another build of {quoted(out)} is running") from error
        if folder.exists() and os.path.samestat(os.fstat(descriptor), folder.stat()):
            return descriptor
        os.close(descriptor)


def _clear(folder: Path) -> None:
    note = folder / _NOTE
    if note.exists():
        other = Path(os.fsdecode(note.read_bytes()))
        if other.name.startswith("canon-index-"):
            shutil.rmtree(other, ignore_errors=True)
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def available_memory() -> int | None:
    """Return how many bytes of memory are free, by the system and by limits of a container."""
    amounts = []
    try:
        lines = dict(line.split(":", 1) for line in _MEMORY_INFO.read_text().splitlines())
        amounts.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        pass
    try:
        limit, used = ((_CGROUP / f"memory.{name}").read_text() for name in ("max", "current"))
        amounts.append(int(limit) - int(used))
    except (OSError, ValueError):  # there is no limit
        pass
    return min(amounts, default=None)
