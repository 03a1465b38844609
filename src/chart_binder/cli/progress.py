"""Progress while a command works: a bar on a terminal, lines elsewhere.

`Progress` counts files; `Stages` shows the stages of a command, with a rate and the time left.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

from chart_binder.audio.find import AudioFile, find_audio_files
from chart_binder.cli.output import duration, fit, print_error, print_notes, rate_text
from chart_binder.errors import counted
from chart_binder.jobs.decision import State

if TYPE_CHECKING:
    from chart_binder.jobs.batch.report import BatchTally

_LINE_EVERY_S = 10.0
_DRAW_EVERY_S = 0.1
_TICK_S = 0.5
_ESTIMATE_AFTER_S = 10.0
_ESTIMATE_AFTER_FILES, _ESTIMATE_AFTER_SHARE, _ENOUGH_FILES = 3, 0.03, 30
_MAX_BAR, _MIN_BAR = 30, 8


class _Display:
    """Shows progress: on a terminal as a bar that moves, elsewhere as a line every ten seconds.

    A bar appears after `after_s` seconds. `rich` would take 50 ms to import.
    """

    def __init__(self, *, is_quiet: bool, is_drawn: bool = True, after_s: float = 0.0) -> None:
        self.stream = sys.stderr
        self.lock = threading.RLock()
        self.shown_at = self._began = time.monotonic()
        self._is_quiet, self._after_s = is_quiet, after_s
        self._is_bar = is_drawn and not is_quiet and sys.stderr.isatty()
        self._drawn = 0
        self._is_over = threading.Event()

    def __enter__(self) -> Self:
        if not self._is_quiet:
            threading.Thread(target=self._tick, daemon=True).start()
        if self._is_bar:
            sys.stderr = cast("TextIO", _AboveBar(self))
        return self

    def __exit__(self, *_: object) -> None:
        sys.stderr = self.stream
        self._is_over.set()
        self.clear()

    def line(self, width: int) -> str:
        """Return a line of progress, if possible of at most `width` columns."""
        raise NotImplementedError

    def update(self) -> None:
        """Show the progress, if that is due."""
        with self.lock:
            now = time.monotonic()
            if self._is_quiet or self._is_over.is_set():
                return
            if not self._is_bar:
                if now - self.shown_at >= _LINE_EVERY_S:
                    self.shown_at = now
                    print_error(self.line(0))
            elif now - self._began >= self._after_s and (
                not self._drawn or now - self.shown_at >= _DRAW_EVERY_S
            ):
                self.shown_at = now
                self._drawn = self._width()
                self._write(fit(self.line(self._drawn), self._drawn))

    def clear(self) -> None:
        """Remove the bar."""
        with self.lock:
            if self._drawn:
                self._write(" " * min(self._drawn, self._width()) + "\r")
            self._drawn = 0

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Show nothing while a result is printed."""
        with self.lock:
            self.clear()
            yield

    def _tick(self) -> None:
        while not self._is_over.wait(_TICK_S):
            self.update()

    def _write(self, text: str) -> None:
        self.stream.write("\r" + text)
        self.stream.flush()

    def _width(self) -> int:
        """Return the width of a line; in the last column the cursor would wrap."""
        try:
            return max(1, os.get_terminal_size(self.stream.fileno()).columns - 1)
        except (OSError, ValueError):
            return 79


class _AboveBar:
    """Standard error while a bar is shown: text replaces the bar until it is redrawn."""

    def __init__(self, display: _Display) -> None:
        self._display = display

    def write(self, text: str) -> int:
        with self._display.lock:  # other threads write logs, too
            self._display.clear()
            return self._display.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._display.stream, name)


def bar(done: float, total: float, words: str, width: int) -> str:
    """Return words after a bar, if `total` is known and there is room for a bar."""
    room = min(_MAX_BAR, width - len(words) - len("[] "))
    if not total or room < _MIN_BAR:
        return words
    filled = int(min(room, room * done // total))
    return f"[{'#' * filled}{'-' * (room - filled)}] {words}"


class Progress(_Display):
    """Counts files, or other things; `total` is 0 until it is known.

    A thread counts the audio files in `paths`.
    """

    def __init__(
        self,
        paths: Sequence[Path] = (),
        *,
        total: int = 0,
        noun: str = "files",
        is_drawn: bool = True,
        is_quiet: bool = False,
        after_s: float = 0.0,
    ) -> None:
        super().__init__(is_quiet=is_quiet, is_drawn=is_drawn, after_s=after_s)
        self.total, self.noun = total, noun
        self.tally: BatchTally | None = None
        if paths and not is_quiet:
            threading.Thread(target=self._count_files, args=(paths,), daemon=True).start()

    def show(self, tally: "BatchTally") -> None:
        """Show how far the run is, if that is due."""
        self.tally = tally
        self.update()

    def line(self, width: int) -> str:
        """Return a bar and as many words as fit, or all words if `width` is 0."""
        return bar_line(self.tally, self.total, time.monotonic() - self._began, width, self.noun)

    def _count_files(self, paths: Sequence[Path]) -> None:
        from chart_binder.jobs.batch import outermost_paths  # slow, and only for a batch

        items = find_audio_files(outermost_paths(paths), warn=None)
        self.total = sum(isinstance(item, AudioFile) for item in items)


_SHOWN_STATES = (
    State.ERROR, State.REVIEW, State.UNDECIDED, State.UNMATCHED, State.UNREADABLE,
)  # fmt: skip


def bar_line(
    tally: "BatchTally | None", total: int, elapsed_s: float, width: int, noun: str = "files"
) -> str:
    """Return a bar and as many words as fit into `width` columns, at least the first part.

    If `width` is 0, return all words, and no bar.
    """
    files = tally.files if tally else 0
    parts = [f"{files:,} of {total:,} {noun}" if total else f"{files:,} {noun}"]
    parts += _parts(tally, total) if tally else _requests()
    if not files:
        parts.append(f"{elapsed_s:.0f} s")
    while width and len(parts) > 1 and len(", ".join(parts)) > width:
        parts.pop()
    return bar(files, total, ", ".join(parts), width)


def _parts(tally: "BatchTally", total: int) -> Iterator[str]:
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


_NOTED_FROM_S = 2.0
_STAGE_ESTIMATE_AFTER_S = 2.0


class Stages(_Display):
    """Shows the stages of a command one after the other, and notes how long each took."""

    def __init__(self, *, is_quiet: bool) -> None:
        super().__init__(is_quiet=is_quiet)
        self._stage, self._unit = "", ""
        self._total = self._done = 0.0
        self._follows: Callable[[], float] | None = None

    def __exit__(self, *error: object) -> None:
        if error == (None, None, None):
            self._end_stage()
        super().__exit__(*error)

    def begin(self, stage: str, total: float = 0, unit: str = "") -> None:
        """End the last stage and begin another; a `total` of 0 means an unknown size."""
        with self.lock:
            self._end_stage()
            self._stage, self._total, self._unit = stage, total, unit
            self._done, self._follows = 0.0, None
            self._began = self.shown_at = time.monotonic()

    def show(self, done: float) -> None:
        """Note how many units are done; the thread shows it."""
        self._done = done

    def follow(self, done: Callable[[], float] | None) -> None:
        """Let the thread read the progress from `done`, or stop that if it is None."""
        with self.lock:
            self._follows = done

    def line(self, width: int) -> str:
        """Return a bar and the words of a stage."""
        if self._follows:
            self._done = max(self._done, self._follows())
        took_s = time.monotonic() - self._began
        words = stage_line(self._stage, self._done, self._total, self._unit, took_s)
        return bar(self._done, self._total, words, width)

    def _end_stage(self) -> None:
        """Print the duration of a stage, unless it was short."""
        took_s = time.monotonic() - self._began
        if self._stage and took_s >= _NOTED_FROM_S:
            print_notes([end_line(self._stage, self._total, self._unit, took_s)])


def stage_line(stage: str, done: float, total: float, unit: str, took_s: float) -> str:
    """Return how far a stage is, with its rate and the time left, or the time that it took."""
    words = [stage]
    if total:
        words.append(f"{done:.0f} %" if unit == "%" else f"{done:,.0f} of {total:,.0f} {unit}")
    if done and took_s >= _STAGE_ESTIMATE_AFTER_S and done < total:
        rate = done / took_s
        words += [rate_text(rate, unit)] * (unit != "%")
        words.append(f"about {duration((total - done) / rate)} left")
    else:
        words.append(duration(took_s))
    return ", ".join(words)


def end_line(stage: str, total: float, unit: str, took_s: float) -> str:
    """Return how long a stage took, and its rate."""
    if not total or unit == "%":
        return f"{stage}: {duration(took_s)}"
    rate = rate_text(total / took_s, unit)
    return f"{stage}: {total:,.0f} {unit} in {duration(took_s)}, {rate}"
