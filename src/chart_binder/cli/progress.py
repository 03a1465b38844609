"""How far a batch has come: a bar on a terminal, plain lines elsewhere."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

import click

from chart_binder.audio.walk import AudioFile, find_audio_files
from chart_binder.cli.render.run import pace, span
from chart_binder.cli.terminal import fitted, harmless
from chart_binder.jobs.batch.work import outermost_paths
from chart_binder.react.transcript import AnyEvent, Observed, Replied, Result, Run, Said, Stepped

if TYPE_CHECKING:
    from chart_binder.jobs.batch.report import Tally


INTERRUPTED = 130


@dataclass(slots=True)
class Wish:
    """Whether somebody wants the run to end."""

    to_stop: bool = False


@contextmanager
def ending_at_once() -> Iterator[None]:
    """End the program when it is interrupted, whatever its other threads wait for."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(OSError):
            click.echo("canon: interrupted", err=True)
            sys.stdout.flush()
        os._exit(INTERRUPTED)


@contextmanager
def finishing_in_hand(what: str = "the file in hand is") -> Iterator[Wish]:
    """Yield what says that somebody wants the run to end; asked again, it ends at once.

    `what` is done before the run stops.
    """
    wish = Wish()

    def heard(number: int, frame: FrameType | None) -> None:
        del number, frame
        if wish.to_stop:
            raise KeyboardInterrupt
        wish.to_stop = True
        click.echo(f"canon: stops when {what} done; again: at once", err=True)

    before = {each: signal.signal(each, heard) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield wish
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class Watching:
    """Shows runs as they happen: every event, and every reply while it is written."""

    def __init__(self) -> None:
        self._turn = 0
        self._heard: list[str] = []

    def hear(self, piece: str) -> None:
        """Write a piece of the reply that is being given."""
        if not self._heard:
            click.echo(f"--- turn {self._turn + 1}: reply", err=True)
        self._heard.append(piece)
        click.echo(harmless(piece), nl=False, err=True)

    def see(self, event: AnyEvent) -> None:
        """Write an event; of a reply that was heard, what is known at its end."""
        heard, self._heard = "".join(self._heard), []
        if heard:
            click.echo(err=True)
        if isinstance(event, Run):
            self._turn = 0
        if isinstance(event, Replied):
            self._turn = event.iteration
        # A reply is cut before what ended it, of which a part may have been heard.
        was_heard = isinstance(event, Replied) and heard.startswith(event.content or "?")
        show_event(event, was_heard=was_heard)


def show_event(event: AnyEvent, *, was_heard: bool = False) -> None:
    """Write one event of a run to standard error."""
    for line in event_lines(event, was_heard=was_heard):
        click.echo(harmless(line), err=True)


def event_lines(event: AnyEvent, *, was_heard: bool = False) -> Iterator[str]:
    """Yield one event of a run as lines for a person; `was_heard`: the reply's text is out."""
    match event:
        case Run():
            parts = (event.id, event.model_id, event.dialect, event.prompt_version)
            yield f"=== run {', '.join(filter(None, parts))}"
        case Said():
            yield f"--- {event.role}"
            yield event.content
        case Replied():
            yield f"--- turn {event.iteration}: {'said' if was_heard else 'reply'}{_cost(event)}"
            if event.thinking:
                yield f"(thinking) {event.thinking}"
            if not was_heard:
                yield event.content
        case Stepped():
            yield f"--- turn {event.iteration}: {event.kind}{_call(event)}"
            yield from (f"(note) {note}" for note in event.notes)
        case Observed():
            yield f"--- turn {event.iteration}: observation ({event.seconds:.1f} s)"
            yield event.content
        case Result():
            said = event.result.get("rationale") or event.result.get("problem") or "no reason given"
            yield f"=== {event.result.get('outcome')}: {said}"


def _cost(event: Replied) -> str:
    tokens = f", {event.completion_tokens} tokens" if event.completion_tokens else ""
    return f" ({event.seconds:.1f} s{tokens})"


def _call(event: Stepped) -> str:
    return f" {event.tool} {event.arguments}" if event.tool else ""


_BETWEEN_LINES_S = 10.0
_BETWEEN_DRAWINGS_S = 0.1
_TOLD_AFTER_S = 10.0
_FEWEST_TOLD_FROM, _SHARE_TOLD_FROM, _ENOUGH_TOLD_FROM = 3, 0.03, 30
_LONGEST_BAR, _SHORTEST_BAR = 30, 8


class Progress(Protocol):
    """Is told how far the run is; `show` is also called, without news, while nothing is done."""

    def show(self, tally: "Tally | None" = None) -> None:
        """Show how far the run is, where that is due."""
        ...


@contextmanager
def progress(named: Sequence[Path], *, is_all: bool, is_drawn: bool) -> Iterator[Progress]:
    """Yield what is told how far the run is, on standard error.

    The files are counted beside the work, so that how long it takes is known soon; unless not all
    of them `is_all` are worked on. `is_drawn` draws a bar where there is a terminal.
    """
    count = _Count(named if is_all else ())
    if not (is_drawn and sys.stderr.isatty()):
        yield _InLines(count)
        return
    bar = _OnTerminal(sys.stderr, count)
    with redirect_stderr(cast("TextIO", _Above(bar))):
        try:
            yield bar
        finally:
            bar.is_over = True
            bar.clear()


class _Count:
    """Counts the files of a library in a thread of its own; `total` is 0 until it is done."""

    def __init__(self, named: Sequence[Path]) -> None:
        self.total = 0
        threading.Thread(target=self._count, args=(named,), daemon=True).start()

    def _count(self, named: Sequence[Path]) -> None:
        self.total = sum(
            isinstance(item, AudioFile) for item in find_audio_files(outermost_paths(named))
        )


@dataclass(slots=True)
class _OnTerminal:
    stream: TextIO
    count: _Count
    tally: "Tally | None" = None
    began: float = field(default_factory=time.monotonic)
    drawn_at: float = 0.0
    drawn: int = 0
    is_over: bool = False

    def show(self, tally: "Tally | None" = None) -> None:
        """Draw the bar anew; the time that is gone shows that it goes on."""
        self.tally = tally or self.tally
        if self.is_over or time.monotonic() - self.drawn_at < _BETWEEN_DRAWINGS_S:
            return
        self.drawn_at = time.monotonic()
        width = _width(self.stream)
        line = bar_line(self.tally, self.count.total, self.drawn_at - self.began, width)
        self.stream.write("\r" + fitted(line, width))
        self.stream.flush()
        self.drawn = width

    def clear(self) -> None:
        """Take the bar away, for what is said now stands in its place."""
        if self.drawn:
            self.stream.write("\r" + " " * min(self.drawn, _width(self.stream)) + "\r")
            self.stream.flush()
        self.drawn = 0


class _Above:
    """Standard error while there is a bar: what is written stands above it."""

    def __init__(self, bar: _OnTerminal) -> None:
        self._bar = bar

    def write(self, text: str) -> int:
        self._bar.clear()
        return self._bar.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bar.stream, name)


@dataclass(slots=True)
class _InLines:
    count: _Count
    last: float = field(default_factory=time.monotonic)
    tally: "Tally | None" = None

    def show(self, tally: "Tally | None" = None) -> None:
        """Print a line now and then."""
        self.tally = tally or self.tally
        now = time.monotonic()
        if self.tally is None or now - self.last < _BETWEEN_LINES_S:
            return
        self.last = now
        click.echo(f"canon: {', '.join(_told(self.tally, self.count.total))}", err=True)


def bar_line(tally: "Tally | None", total: int, gone_s: float, width: int) -> str:
    """Return a line of `width` columns at most: a bar, then as much as there is room for."""
    files = tally.files if tally else 0
    told = list(_told(tally, total)) if tally else [f"{_files(0, total)}, {gone_s:.0f} s"]
    while len(told) > 1 and len(", ".join(told)) > width:
        told.pop()
    words = ", ".join(told)
    room = min(_LONGEST_BAR, width - len(words) - len("[] "))
    if not total or room < _SHORTEST_BAR:
        return words
    filled = min(room, room * files // total)
    return f"[{'#' * filled}{'-' * (room - filled)}] {words}"


def _told(tally: "Tally", total: int) -> Iterator[str]:
    """Yield what is worth knowing while it goes on, the most needed first."""
    yield _files(tally.files, total)
    if total > tally.files and _is_telling(tally, total):
        yield f"about {span((total - tally.files) / tally.rate)} left"
    if tally.worked:
        yield pace(tally.rate)
    for state, word in (("error", "failed"), ("review", "for review"), ("indeterminate", "open")):
        if tally.states[state]:
            yield f"{tally.states[state]:,} {word}"


def _is_telling(tally: "Tally", total: int) -> bool:
    """Say whether enough is done to tell from it how long the rest takes."""
    enough = max(_FEWEST_TOLD_FROM, min(_ENOUGH_TOLD_FROM, total * _SHARE_TOLD_FROM))
    return tally.seconds >= _TOLD_AFTER_S and tally.worked >= enough


def _files(done: int, total: int) -> str:
    return f"{done:,} of {total:,} files" if total else f"{done:,} files"


def _width(stream: TextIO) -> int:
    """Return how wide a line may be; in the last column the cursor would go to the next."""
    try:
        return max(1, os.get_terminal_size(stream.fileno()).columns - 1)
    except (OSError, ValueError):
        return 79
