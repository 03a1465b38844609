"""Signals, keys, a model's run, and progress while a command works."""

import os
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

import click

from chart_binder.audio.find import AudioFile, find_audio_files
from chart_binder.cli.output import duration, fit, print_error, print_lines, rate_text
from chart_binder.errors import INTERRUPTED, counted
from chart_binder.files import safe_text
from chart_binder.jobs.decision import State
from chart_binder.llm.events import EvidenceEvent, ReadingEvent, ResultEvent, StartEvent
from chart_binder.react import transcript

if TYPE_CHECKING:
    from chart_binder.jobs.batch.report import BatchTally

CTRL_D, CTRL_L = "\x04", "\x0c"
_MAX_PASTED = 4096
_SETTLED_S = 0.1
_LINE_EVERY_S = 10.0
_DRAW_EVERY_S = 0.1
_TICK_S = 1.0
_ESTIMATE_AFTER_S = 10.0
_ESTIMATE_AFTER_FILES, _ESTIMATE_AFTER_SHARE, _ENOUGH_FILES = 3, 0.03, 30
_MAX_BAR, _MIN_BAR = 30, 8


@contextmanager
def exit_on_interrupt() -> Iterator[None]:
    """End the process on an interrupt, without waiting for other threads."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(OSError):
            print_error("interrupted")
        exit_at_once(INTERRUPTED)


def exit_at_once(status: int) -> NoReturn:
    """Flush the output and end the process, without waiting for other threads."""
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


@contextmanager
def stop_after_current(message: str = "stops after the current file") -> Iterator[threading.Event]:
    """Turn the first SIGINT or SIGTERM into a request to stop, the second into an interrupt."""
    request = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        del number, frame
        if request.is_set():
            raise KeyboardInterrupt
        request.set()
        print_error(f"{message}; press Ctrl-C again to stop at once")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _TerminalResized(Exception):  # noqa: N818 (no error)
    """The terminal has another size."""


def read_key() -> str:
    """Wait for a key, or for text that is pasted at once, in lower case.

    A closed terminal counts as Ctrl-D, a resized one as Ctrl-L. Text typed before the call is
    discarded.
    """

    def end_wait(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise _TerminalResized

    stream = sys.stdin.fileno()
    before, handler = termios.tcgetattr(stream), signal.signal(signal.SIGWINCH, end_wait)
    try:
        tty.setcbreak(stream)
        text = os.read(stream, _MAX_PASTED).decode("utf-8", "replace")
        return (text.strip() or text[:1] or CTRL_D).casefold()
    except _TerminalResized:
        signal.signal(signal.SIGWINCH, signal.SIG_IGN)
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
        time.sleep(_SETTLED_S)  # until the user has stopped dragging the window
        return CTRL_L
    except OSError:
        return CTRL_D
    finally:
        signal.signal(signal.SIGWINCH, handler)
        termios.tcsetattr(stream, termios.TCSADRAIN, before)


class LiveRun:
    """Shows runs of a model on standard error: every event, and replies as they arrive."""

    def __init__(self) -> None:
        self._turn = 0
        self._pieces: list[str] = []

    def on_token(self, piece: str) -> None:
        """Write a piece of the reply that is being received."""
        if not self._pieces:
            click.echo(f"--- turn {self._turn + 1}: reply", err=True)
        self._pieces.append(piece)
        click.echo(safe_text(piece), nl=False, err=True)

    def on_event(self, event: transcript.AnyEvent) -> None:
        """Write an event; of a reply that was shown already, only its end."""
        shown, self._pieces = "".join(self._pieces), []
        if shown:
            click.echo(err=True)
        if isinstance(event, StartEvent):
            self._turn = 0
        if isinstance(event, transcript.ReplyEvent):
            self._turn = event.iteration
        # A reply ends before its stop sequence; part of that may have been shown.
        is_shown = isinstance(event, transcript.ReplyEvent) and shown.startswith(
            event.content or "?"
        )
        print_lines(event_lines(event, is_shown=is_shown), err=True)


def event_lines(event: transcript.AnyEvent, *, is_shown: bool = False) -> Iterator[str]:
    """Yield an event of a run as lines, without the text of a reply if it `is_shown` already."""
    match event:
        case StartEvent():
            parts = (event.id, event.model_id, event.dialect, event.prompt_version)
            yield f"=== run {', '.join(filter(None, parts))}"
        case transcript.MessageEvent():
            yield f"--- {event.role}"
            yield event.content
        case transcript.ReplyEvent():
            tokens = f", {event.completion_tokens} tokens" if event.completion_tokens else ""
            name = "said" if is_shown else "reply"
            yield f"--- turn {event.iteration}: {name} ({event.seconds:.1f} s{tokens})"
            if event.thinking:
                yield f"(thinking) {event.thinking}"
            if not is_shown:
                yield event.content
        case transcript.StepEvent():
            call = f" {event.tool} {event.arguments}" if event.tool else ""
            yield f"--- turn {event.iteration}: {event.kind}{call}"
            yield from filter(None, [event.thought])
            yield from (f"(note) {note}" for note in event.notes)
        case transcript.ObservationEvent():
            yield f"--- turn {event.iteration}: observation ({event.seconds:.1f} s)"
            yield event.observation.shown
        case ReadingEvent() | EvidenceEvent():
            yield from _check_lines(event)
        case ResultEvent():
            result = event.result
            reason = result.get("rationale") or result.get("problem") or "no reason given"
            yield f"=== {result.get('outcome')}: {reason}"


def _check_lines(event: ReadingEvent | EvidenceEvent) -> Iterator[str]:
    if isinstance(event, EvidenceEvent):
        answer = event.problem or "its recordings of this performance go into the evidence"
        yield f"--- turn {event.iteration}: {event.record} at MusicBrainz: {answer}"
        return
    about = f"of fact {event.fact + 1}, {event.kind}, {event.seconds:.1f} s"
    yield f"--- turn {event.iteration}: second reading ({about}): {event.reading}"
    yield from filter(None, (event.source, event.content))


@contextmanager
def progress(
    named: Sequence[Path] = (),
    *,
    total: int = 0,
    noun: str = "files",
    is_drawn: bool = True,
    is_quiet: bool = False,
    after_s: float = 0.0,
) -> Iterator["Progress"]:
    """Show progress as a bar or as lines; a thread counts the files in `named`.

    A bar appears after `after_s` seconds, and is redrawn every second.
    """
    if is_quiet:
        yield Progress()
        return
    is_bar = is_drawn and sys.stderr.isatty()
    shown = _ProgressBar(sys.stderr, after_s) if is_bar else _ProgressLines()
    shown.total, shown.noun = total, noun
    if named:
        threading.Thread(target=shown.count_files, args=(named,), daemon=True).start()
    if not isinstance(shown, _ProgressBar):
        yield shown
        return
    threading.Thread(target=shown.tick, daemon=True).start()
    with redirect_stderr(cast("TextIO", _AboveBar(shown))):
        try:
            yield shown
        finally:
            shown.is_over.set()
            shown.clear()


class Progress:
    """Shows how far a run is; this class shows nothing. `total` is 0 until it is known."""

    def __init__(self) -> None:
        self.total = 0
        self.noun = "files"
        self.tally: BatchTally | None = None
        self.began = self.shown_at = time.monotonic()

    def count_files(self, named: Sequence[Path]) -> None:
        """Count the files of a library, which may take long."""
        from chart_binder.jobs.batch import outermost_paths  # slow, and only for a batch

        items = find_audio_files(outermost_paths(named), warn=None)
        self.total = sum(isinstance(item, AudioFile) for item in items)

    def show(self, tally: "BatchTally | None" = None) -> None:
        """Show how far the run is, if that is due; without a tally, show the last one."""

    def clear(self) -> None:
        """Remove what is shown."""

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Show nothing while a result is printed."""
        yield


class _ProgressLines(Progress):
    def show(self, tally: "BatchTally | None" = None) -> None:
        self.tally = tally or self.tally
        if self.tally and time.monotonic() - self.shown_at >= _LINE_EVERY_S:
            self.shown_at = time.monotonic()
            print_error(", ".join(_parts(self.tally, self.total, self.noun)))


class _ProgressBar(Progress):
    """A line at the bottom of the terminal that is redrawn; rich takes 50 ms to load."""

    def __init__(self, stream: TextIO, after_s: float) -> None:
        super().__init__()
        self.stream = stream
        self.after_s = after_s
        self.shown_at = 0.0
        self.drawn = 0
        self.is_over = threading.Event()
        self.lock = threading.RLock()

    def tick(self) -> None:
        """Redraw the line every second until the run is over."""
        while not self.is_over.wait(_TICK_S):
            self.show()

    def show(self, tally: "BatchTally | None" = None) -> None:
        self.tally = tally or self.tally
        now = time.monotonic()
        is_shown = self.drawn and now - self.shown_at < _DRAW_EVERY_S
        if is_shown or now - self.began < self.after_s:
            return
        with self.lock:
            if self.is_over.is_set():
                return
            self.shown_at = now
            self.drawn = self._width()
            line = bar_line(self.tally, self.total, now - self.began, self.drawn, self.noun)
            self.stream.write("\r" + fit(line, self.drawn))
            self.stream.flush()

    def clear(self) -> None:
        with self.lock:
            if self.drawn:
                self.stream.write("\r" + " " * min(self.drawn, self._width()) + "\r")
                self.stream.flush()
            self.drawn = 0

    @contextmanager
    def hidden(self) -> Iterator[None]:
        with self.lock:
            self.clear()
            yield

    def _width(self) -> int:
        """Return the width of the line; in the last column the cursor would wrap."""
        try:
            return max(1, os.get_terminal_size(self.stream.fileno()).columns - 1)
        except (OSError, ValueError):
            return 79


class _AboveBar:
    """Standard error while there is a bar: text replaces the bar until it is redrawn."""

    def __init__(self, bar: _ProgressBar) -> None:
        self._bar = bar

    def write(self, text: str) -> int:
        with self._bar.lock:  # other threads log too
            self._bar.clear()
            return self._bar.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bar.stream, name)


_SHOWN_STATES = (
    State.ERROR, State.REVIEW, State.UNDECIDED, State.UNMATCHED, State.UNREADABLE,
)  # fmt: skip


def bar_line(
    tally: "BatchTally | None", total: int, elapsed_s: float, width: int, noun: str = "files"
) -> str:
    """Return a bar and as many words as fit into `width` columns, at least the first part."""
    files = tally.files if tally else 0
    parts = [*_parts(tally, total, noun)] if tally else [_count(0, total, noun), *_requests()]
    if not files:
        parts.append(f"{elapsed_s:.0f} s")
    while len(parts) > 1 and len(", ".join(parts)) > width:
        parts.pop()
    words = ", ".join(parts)
    room = min(_MAX_BAR, width - len(words) - len("[] "))
    if not total or room < _MIN_BAR:
        return words
    filled = min(room, room * files // total)
    return f"[{'#' * filled}{'-' * (room - filled)}] {words}"


def _parts(tally: "BatchTally", total: int, noun: str) -> Iterator[str]:
    yield _count(tally.files, total, noun)
    stop_when = max(_ESTIMATE_AFTER_FILES, min(_ENOUGH_FILES, total * _ESTIMATE_AFTER_SHARE))
    has_estimate = tally.seconds >= _ESTIMATE_AFTER_S and tally.worked >= stop_when
    if total > tally.files and has_estimate:
        yield f"about {duration((total - tally.files) / tally.rate)} left"
    if tally.worked:
        yield rate_text(tally.rate)
    yield from _requests(tally.spent["musicbrainz_requests"])
    if dated := tally.first_releases["certain"]:
        yield counted(dated, "first release")
    if tally.earlier:
        yield f"{tally.earlier:,} earlier than tagged"
    for state in _SHOWN_STATES:
        if tally.states[state]:
            yield f"{tally.states[state]:,} {state}"


def _requests(of_workers: int = 0) -> Iterator[str]:
    """Yield the number of requests sent; on a cluster only the workers count them."""
    server: Any = sys.modules.get("chart_binder.musicbrainz.server")  # if it was imported
    if sent := max(of_workers, server.MusicBrainzServer.sent_by_all if server else 0):
        yield counted(sent, "request")


def _count(done: int, total: int, noun: str) -> str:
    return f"{done:,} of {total:,} {noun}" if total else f"{done:,} {noun}"
