"""How far a batch has come: a bar on a terminal, plain lines elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chart_binder.audio.walking import Found, audio_files
from chart_binder.cli.batch_report import span

if TYPE_CHECKING:
    from chart_binder.jobs.batch.tally import Tally

_BETWEEN_LINES_S = 10.0


@contextmanager
def progress(named: Sequence[Path]) -> "Iterator[Callable[[Tally], None]]":
    """Yield what is told how far the run is, on standard error.

    The files are counted beside the work, so that how long it takes is known soon.
    """
    count = _Count(named)
    if sys.stderr.isatty():
        told = _Words()
        with click.progressbar(
            range(1), file=sys.stderr, item_show_func=lambda _: told.now, show_pos=True
        ) as bar:
            yield _OnTerminal(bar, count, told).show
    else:
        yield _InLines(count).show


class _Count:
    """Counts the files of a library in a thread of its own; `total` is absent until it is done."""

    def __init__(self, named: Sequence[Path]) -> None:
        self.total: int | None = None
        threading.Thread(target=self._count, args=(named,), daemon=True).start()

    def _count(self, named: Sequence[Path]) -> None:
        self.total = sum(isinstance(item, Found) for item in audio_files(named))


@dataclass(slots=True)
class _Words:
    """What stands beside the bar."""

    now: str = ""


@dataclass(slots=True)
class _OnTerminal:
    bar: "click._termui_impl.ProgressBar[int]"
    count: _Count
    words: _Words

    def show(self, tally: "Tally") -> None:
        self.bar.length = self.count.total
        self.words.now = ", ".join(_told(tally))
        self.bar.update(tally.files - self.bar.pos)


@dataclass(slots=True)
class _InLines:
    count: _Count
    last: float = field(default_factory=time.monotonic)

    def show(self, tally: "Tally") -> None:
        now = time.monotonic()
        if now - self.last < _BETWEEN_LINES_S:
            return
        self.last = now
        total = self.count.total
        done = f"{tally.files:,} of {total:,} files" if total else f"{tally.files:,} files"
        left = _left(tally, total)
        told = ", ".join(part for part in (*_told(tally), left) if part)
        click.echo(f"canon: {done}, {told}", err=True)


def _told(tally: "Tally") -> Iterator[str]:
    """Yield the rate, and what is worth knowing while it goes on."""
    taken_s = time.monotonic() - tally.started
    worked = tally.files - tally.resumed
    if worked and taken_s:
        yield f"{worked / taken_s:,.1f}/s"
    for state, word in (("indeterminate", "open"), ("review", "for review"), ("error", "failed")):
        if tally.states[state]:
            yield f"{tally.states[state]:,} {word}"


def _left(tally: "Tally", total: int | None) -> str:
    worked = tally.files - tally.resumed
    if not total or not worked or total <= tally.files:
        return ""
    taken_s = time.monotonic() - tally.started
    return f"about {span((total - tally.files) * taken_s / worked)} left"
