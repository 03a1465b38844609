"""Progress while a command works: a bar on a terminal, lines elsewhere."""

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
