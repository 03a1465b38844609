"""Progress of a command that works in stages, with a rate and the time left for each."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from chart_binder.cli.output import duration, fit, print_error, print_notes
from chart_binder.cli.progress import bar, terminal_columns

_TICK_S = 0.5
_LINE_EVERY_S = 10.0
_NOTED_FROM_S = 2.0
_ESTIMATE_AFTER_S = 2.0
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
        while not self.is_over.wait(_TICK_S):
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
    if done and took_s >= _ESTIMATE_AFTER_S and done < total:
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
