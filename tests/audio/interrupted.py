"""Saves that are killed, or refused by the disk, before any one of their calls to the system.

Run as a process of its own (`python interrupted.py FILE write|undo WAY`), since it forks
for every moment; prints one JSON object. With `undo` a written file is made the former one again.
The n-th call that changes anything on the disk is found by wrapping the calls themselves in the
process that saves.
"""

import errno
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from audio.tagging import WANTED
from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.locks import remove_leftovers
from chart_binder.audio.save import PreparedCopy, Restoration, restore_file, save_tags
from chart_binder.errors import CanonError

CALLS = (
    "open", "write", "fsync", "fchmod", "fchown", "utime", "setxattr", "replace", "unlink", "close",
    "commit",
)  # fmt: skip
DONE, REFUSED = 0, 3

Fault = Callable[[], None]


def disk_error(number: int) -> None:
    raise OSError(number, os.strerror(number))


kill = partial(signal.raise_signal, signal.SIGKILL)
full, broken = partial(disk_error, errno.ENOSPC), partial(disk_error, errno.EIO)


def wrap_calls(names: tuple[str, ...], before: Callable[..., None]) -> None:
    """Have `before` run before each of the calls, with the call, its name and its arguments."""

    def wrapped(real: Any, name: str) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            before(real, name, args)
            return real(*args, **options)

        return call

    for name in names:
        setattr(os, name, wrapped(getattr(os, name), name))


def before_call(number: int, fault: Fault, names: tuple[str, ...], *, halves: bool) -> None:
    """Have the fault come before the n-th call; with `halves` writes are torn in two."""
    seen = 0

    def before(real: Any, name: str, args: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            if halves and name == "write":
                real(args[0], memoryview(args[1])[: len(args[1]) // 2])
            fault()

    wrap_calls(names, before)


_open, _write, _fsync, _close = os.open, os.write, os.fsync, os.close


def commit(folder: Path, line: str) -> None:
    """Write a line to the journal whole or not at all, as the store does: one call, never torn."""
    descriptor = _open(folder / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    _write(descriptor, line.encode() + b"\n")
    _fsync(descriptor)
    _close(descriptor)


os.commit = commit  # type: ignore[attr-defined]  # wrapped like any other call


def save(folder: Path, path: Path, restoration: Restoration | None = None) -> None:
    """Write tags, or make the former file again; the journal is in the folder."""

    def intend(prepared: PreparedCopy) -> None:
        os.commit(folder, f"intended {prepared.before.hash} {prepared.after.hash}")  # type: ignore[attr-defined]

    if restoration:
        restore_file(path, restoration, before_replace=intend)
    else:
        save_tags(path, lambda tags: with_fields(tags, WANTED), before_replace=intend)
    os.commit(folder, "done")  # type: ignore[attr-defined]


def written(path: Path) -> Restoration:
    """Write tags into a file; return what makes the former one again."""
    prepared: list[PreparedCopy] = []
    save_tags(path, lambda tags: with_fields(tags, WANTED), before_replace=prepared.append)
    return prepared[0].restoration


def in_child(run: Callable[[], None]) -> int:
    """Run in a fork; return its exit status, or minus the signal that ended it."""
    pid = os.fork()
    if not pid:
        try:
            run()
        except CanonError:
            os._exit(REFUSED)
        except BaseException as error:  # noqa: BLE001  # reported by the exit status
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
        os._exit(DONE)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Trial:
    """One file, saved over and over; `counts` says what each of the saves left."""

    def __init__(self, pristine: Path, *, undoes: bool) -> None:
        self.top = Path(tempfile.mkdtemp(dir=pristine.parent))
        self.pristine = pristine
        former = pristine.read_bytes()
        self.save = partial(save, restoration=written(pristine) if undoes else None)
        self.old = pristine.read_bytes()
        self.audio = audio_hash(pristine)
        folder, path = self.fresh()
        self.save(folder, path)
        self.new = path.read_bytes()
        self.counts: Counter[str] = Counter(killed=0, refused=0, old=0, new=0, swept=0, wrong=0)
        self.counts["wrong"] += undoes and self.new != former

    def fresh(self) -> tuple[Path, Path]:
        """Return a new folder, and a copy of the file in a folder of its own below it."""
        folder = Path(tempfile.mkdtemp(dir=self.top))
        (folder / "music").mkdir()
        return folder, Path(shutil.copy(self.pristine, folder / "music"))

    def once(self, run: Callable[[Path, Path], int]) -> int:
        """Let one save be disturbed, check what is left, repair; return how the save ended."""
        folder, path = self.fresh()
        status = run(folder, path)
        content = path.read_bytes()
        swept = [leftover for leftover in remove_leftovers(path.parent) if leftover.problem is None]
        right = (
            content in (self.old, self.new)
            and audio_hash(path) == self.audio
            and [entry.name for entry in path.parent.iterdir()] == [path.name]
            and self.journal_is_right(folder, path)
            and status in (DONE, REFUSED, -signal.SIGKILL)
            and (status == -signal.SIGKILL or not swept)
            and not (status == DONE and content == self.old)
        )
        self.counts.update(
            moments=1, killed=status == -signal.SIGKILL, refused=status == REFUSED,
            old=content == self.old, new=content == self.new, swept=len(swept), wrong=not right,
        )  # fmt: skip
        shutil.rmtree(folder)
        return status

    def journal_is_right(self, folder: Path, path: Path) -> bool:
        """Say whether the journal records what happened: an open intent names both tag sets."""
        journal = folder / "journal"
        lines = journal.read_text().splitlines() if journal.exists() else []
        if not lines:
            return path.read_bytes() == self.old
        _, before, after = lines[0].split()
        tags = read_tag_set(path).hash
        return tags == after if "done" in lines else tags in (before, after)

    def number_of_calls(self, names: tuple[str, ...]) -> int:
        """Return how many such calls an undisturbed save makes."""
        seen = 0

        def count(*_: Any) -> None:
            nonlocal seen
            seen += 1

        folder, path = self.fresh()
        real = {name: getattr(os, name) for name in names}
        wrap_calls(names, count)
        try:
            self.save(folder, path)
        finally:
            for name in names:
                setattr(os, name, real[name])
        return seen


def every_call(trial: Trial, fault: Fault, names: tuple[str, ...], *, halves: bool = False) -> None:
    """Disturb a save before each of its calls in turn, and once where there is none left."""

    def run(folder: Path, path: Path, number: int) -> int:
        def disturbed() -> None:
            before_call(number, fault, names, halves=halves)
            trial.save(folder, path)

        return in_child(disturbed)

    for number in range(1, trial.number_of_calls(names) + 2):
        trial.once(partial(run, number=number))


def full_disk(trial: Trial) -> None:
    """Let the system itself refuse: no file may grow beyond a size that the copy exceeds."""

    def run(folder: Path, path: Path, size: int) -> int:
        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            trial.save(folder, path)

        return in_child(limited)

    for size in sorted({1, len(trial.new) // 3, len(trial.new) // 2, len(trial.new) - 1}):
        trial.once(partial(run, size=size))


def main() -> None:
    path, task, way = sys.argv[1:]
    trial = Trial(Path(path), undoes=task == "undo")
    match way:
        case "kill":
            every_call(trial, kill, CALLS)
        case "kill-in-write":
            every_call(trial, kill, ("write",), halves=True)
        case "full":
            every_call(trial, full, ("write",))
            every_call(trial, full, ("write",), halves=True)
            full_disk(trial)
        case "broken":
            every_call(trial, broken, ("write", "fsync", "fchmod", "replace"))
    shutil.rmtree(trial.top)
    sys.stdout.write(json.dumps(trial.counts))


if __name__ == "__main__":
    main()
