"""Progress while a command works: a bar on a terminal, lines elsewhere.

`progress` counts files; `stages` shows the stages of a command, with a rate and the time left.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from chart_binder.audio.find import AudioFile, find_audio_files
from chart_binder.cli.output import duration, fit, print_error, rate_text
from chart_binder.errors import counted
from chart_binder.jobs.decision import State

if TYPE_CHECKING:
    from chart_binder.jobs.batch.report import BatchTally

from collections.abc import Callable

from chart_binder.cli.output import print_notes

_LINE_EVERY_S = 10.0
_DRAW_EVERY_S = 0.1
_TICK_S = 1.0
_ESTIMATE_AFTER_S = 10.0
_ESTIMATE_AFTER_FILES, _ESTIMATE_AFTER_SHARE, _ENOUGH_FILES = 3, 0.03, 30
_MAX_BAR, _MIN_BAR = 30, 8


@contextmanager
def progress(
    paths: Sequence[Path] = (),
    *,
    total: int = 0,
    noun: str = "files",
    is_drawn: bool = True,
    is_quiet: bool = False,
    after_s: float = 0.0,
) -> Iterator["Progress"]:
    """Show progress as a bar or as lines; a thread counts the files in `paths`.

    A bar appears after `after_s` seconds, and is redrawn every second.
    """
    if is_quiet:
        yield Progress()
        return
    is_bar = is_drawn and sys.stderr.isatty()
    display = _ProgressBar(sys.stderr, after_s) if is_bar else _ProgressLines()
    display.total, display.noun = total, noun
    if paths:
        threading.Thread(target=display.count_files, args=(paths,), daemon=True).start()
    if not isinstance(display, _ProgressBar):
        yield display
        return
    threading.Thread(target=display.tick, daemon=True).start()
    with redirect_stderr(cast("TextIO", _AboveBar(display))):
        try:
            yield display
        finally:
            display.is_over.set()
            display.clear()


class Progress:
    """The progress of a run, which this class does not show. `total` is 0 until it is known."""

    def __init__(self) -> None:
        self.total = 0
        self.noun = "files"
        self.tally: BatchTally | None = None
        self.began = self.shown_at = time.monotonic()

    def count_files(self, paths: Sequence[Path]) -> None:
        """Count the files of a library, which may take long."""
        from chart_binder.jobs.batch import outermost_paths  # slow, and only for a batch

        items = find_audio_files(outermost_paths(paths), warn=None)
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
    """A redrawn line at the bottom of the terminal; `rich` would take 50 ms to import."""

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
        return terminal_columns(self.stream)


def terminal_columns(stream: TextIO | None = None) -> int:
    """Return the width of a line that is redrawn; in the last column the cursor would wrap."""
    try:
        return max(1, os.get_terminal_size((stream or sys.stderr).fileno()).columns - 1)
    except (OSError, ValueError):
        return 79


class _AboveBar:
    """Standard error while a bar is shown: text replaces the bar until it is redrawn."""

    def __init__(self, bar: _ProgressBar) -> None:
        self._bar = bar

    def write(self, text: str) -> int:
        with self._bar.lock:  # other threads write logs, too
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
    return bar(files, total, ", ".join(parts), width)


def bar(done: float, total: float, words: str, width: int) -> str:
    """Return words after a bar, if `total` is known and there is room for a bar."""
    room = min(_MAX_BAR, width - len(words) - len("[] "))
    if not total or room < _MIN_BAR:
        return words
    filled = int(min(room, room * done // total))
    return f"[{'#' * filled}{'-' * (room - filled)}] {words}"


def _parts(tally: "BatchTally", total: int, noun: str) -> Iterator[str]:
    yield _count(tally.files, total, noun)
    files_needed = max(_ESTIMATE_AFTER_FILES, min(_ENOUGH_FILES, total * _ESTIMATE_AFTER_SHARE))
    has_estimate = tally.seconds >= _ESTIMATE_AFTER_S and tally.worked >= files_needed
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


_STAGE_TICK_S = 0.5
_NOTED_FROM_S = 2.0
_STAGE_ESTIMATE_AFTER_S = 2.0
_WHOLE_FROM = 10.0


@contextmanager
def stages(*, is_quiet: bool) -> Iterator["Stages"]:
    """Show stages on standard error: as a bar on a terminal, else as lines."""
    display = Stages(is_quiet=is_quiet, is_bar=not is_quiet and sys.stderr.isatty())
    thread = threading.Thread(target=display.tick, daemon=True)
    thread.start()
    try:
        yield display
        display.end_stage()
    finally:
        display.is_over.set()
        thread.join()
        display.clear()


class Stages:
    """Shows the progress of a stage; a thread updates it twice a second."""

    def __init__(self, *, is_quiet: bool, is_bar: bool) -> None:
        self.is_over = threading.Event()
        self._is_quiet = is_quiet
        self._is_bar = is_bar
        self._lock = threading.RLock()
        self._stage, self._unit = "", ""
        self._total = self._done = 0.0
        self._follows: Callable[[], float] | None = None
        self._began = self._shown_at = time.monotonic()
        self._drawn = 0

    def begin(self, stage: str, total: float = 0, unit: str = "") -> None:
        """End the last stage and begin another; a `total` of 0 means an unknown size."""
        with self._lock:
            self.end_stage()
            self._stage, self._total, self._unit = stage, total, unit
            self._done, self._follows = 0.0, None
            self._began = self._shown_at = time.monotonic()

    def show(self, done: float) -> None:
        """Note how many units are done; the thread shows it."""
        self._done = done

    def follow(self, done: Callable[[], float] | None) -> None:
        """Let the thread read the progress from `done`, or stop that if it is None."""
        with self._lock:
            self._follows = done

    def tick(self) -> None:
        """Show the stage twice a second as a bar, or every ten seconds as a line."""
        while not self.is_over.wait(_STAGE_TICK_S):
            with self._lock:
                if self._follows:
                    self._done = max(self._done, self._follows())
                if self._is_bar:
                    self._draw()
                elif not self._is_quiet and time.monotonic() - self._shown_at >= _LINE_EVERY_S:
                    self._shown_at = time.monotonic()
                    print_error(self._words())

    def end_stage(self) -> None:
        """Print the duration of a stage, unless it was short."""
        took_s = time.monotonic() - self._began
        if not self._stage or took_s < _NOTED_FROM_S:
            return
        with self._lock:
            self.clear()
            print_notes([end_line(self._stage, self._total, self._unit, took_s)])

    def clear(self) -> None:
        """Remove the bar."""
        with self._lock:
            if self._drawn:
                sys.stderr.write("\r" + " " * min(self._drawn, terminal_columns()) + "\r")
                sys.stderr.flush()
            self._drawn = 0

    def _draw(self) -> None:
        self._drawn = terminal_columns()
        line = bar(self._done, self._total, self._words(), self._drawn)
        sys.stderr.write("\r" + fit(line, self._drawn))
        sys.stderr.flush()

    def _words(self) -> str:
        took_s = time.monotonic() - self._began
        return stage_line(self._stage, self._done, self._total, self._unit, took_s)


def stage_line(stage: str, done: float, total: float, unit: str, took_s: float) -> str:
    """Return how far a stage is, with its rate and the time left, or the time that it took."""
    words = [stage]
    if total:
        words.append(f"{done:.0f} %" if unit == "%" else f"{done:,.0f} of {total:,.0f} {unit}")
    if done and took_s >= _STAGE_ESTIMATE_AFTER_S and done < total:
        rate = done / took_s
        words += [_rate(rate, unit)] * (unit != "%")
        words.append(f"about {duration((total - done) / rate)} left")
    else:
        words.append(duration(took_s))
    return ", ".join(words)


def end_line(stage: str, total: float, unit: str, took_s: float) -> str:
    """Return how long a stage took, and its rate."""
    if not total or unit == "%":
        return f"{stage}: {duration(took_s)}"
    rate = _rate(total / took_s, unit)
    return f"{stage}: {total:,.0f} {unit} in {duration(took_s)}, {rate}"


def _rate(per_second: float, unit: str) -> str:
    return f"{per_second:,.{0 if per_second >= _WHOLE_FROM else 1}f} {unit}/s"
