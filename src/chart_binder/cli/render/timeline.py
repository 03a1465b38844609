"""A timeline of when a recording appeared on each candidate, one line a candidate.

What matters lies within days, what follows within decades: the distance between two dates in the
drawing grows with the logarithm of the days between them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import pairwise

from chart_binder.cli.output import display_width, fit
from chart_binder.domain.dates import PartialDate
from chart_binder.jobs.explain import Appearance, LeadWindow

_INDENT = 2
_MAX_NAME = 44
_MIN_DRAWING = 12
_WINDOW = "lead window"
_LEGEND = {
    "o": "o that day",
    "[": "[--] some day within",
    "~": "~~ by the group's own date",
    "x": "x not official",
    "?": "? no date",
    "=": "== an album here is led to",
    ":": ":: may be led to",
}
"""By the character in the drawing that it explains."""


def timeline_lines(
    candidates: Sequence[Appearance],
    window: LeadWindow | None,
    chosen: str | None,
    width: int,
) -> Iterator[str]:
    """Yield the timeline, no line wider than `width` columns; `chosen` is marked with `>`."""
    wanted = max([display_width(_name(one)) for one in candidates], default=0)
    room = max(width - _INDENT - 4 - _MIN_DRAWING, 1)
    name_width = min(max(wanted, len(_WINDOW)), _MAX_NAME, max(width // 2, 1), room)
    scale = Scale(_days(candidates, window), max(width - _INDENT - name_width - 4, 1))
    rows = list(_rows(candidates, window, scale, chosen))
    for mark, name, drawing in rows:
        yield f"{'':{_INDENT}}{mark} {fit(name, name_width)}  {drawing}".rstrip()
    if scale.days:
        yield f"{'':{_INDENT}}{'':{name_width + 2}}  {_axis(scale, window)}".rstrip()
    yield from _legend({letter for _, _, drawing in rows for letter in drawing}, width)


class Scale:
    """Places days, given as ordinals, on a line of `width` columns."""

    def __init__(self, days: Iterable[int], width: int) -> None:
        self.days = sorted(set(days))
        self.width = width
        lengths = [math.log1p(later - earlier) for earlier, later in pairwise(self.days)]
        total = sum(lengths)
        self._columns = dict.fromkeys(self.days[:1], 0)
        position = 0.0
        for day, length in zip(self.days[1:], lengths, strict=True):
            position += length
            self._columns[day] = round(position / total * (width - 1))

    def column(self, day: int) -> int:
        """Return the column of a day; it must be one of those given."""
        return self._columns[day]


def _name(one: Appearance) -> str:
    title = "".join(letter if letter.isprintable() else " " for letter in one.title)
    return f"{one.kind} {title}"


def _days(candidates: Sequence[Appearance], window: LeadWindow | None) -> Iterator[int]:
    """Yield every day that is drawn."""
    for one in candidates:
        yield from (day.toordinal() for day in (one.since, one.by) if day and one.counts)
        for span in _unofficial_spans(one):
            yield from span
    if window:
        days = (window.earliest, window.from_, window.to, window.latest)
        yield from (day.toordinal() for day in days if day)


def _rows(
    candidates: Sequence[Appearance], window: LeadWindow | None, scale: Scale, chosen: str | None
) -> Iterator[tuple[str, str, str]]:
    """Yield mark, name and drawing of each candidate, and of the lead window below its single."""
    for one in candidates:
        mark = ">" if one.release_group == chosen else " "
        yield mark, _name(one), _candidate(one, scale)
        if window and window.single == one.release_group:
            yield " ", _WINDOW, _window(window, scale)


def _candidate(one: Appearance, scale: Scale) -> str:
    line = [" "] * scale.width
    for span in _unofficial_spans(one):
        _draw(line, scale, span, "x" * 4)
    if one.counts and one.since and one.by:
        is_of_group = any(source.release is None for source in one.sources)
        span = one.since.toordinal(), one.by.toordinal()
        _draw(line, scale, span, "[~]~" if is_of_group else "[-]o")
    elif one.counts:
        line[::4] = "?" * len(line[::4])
    elif not any(source.date for source in one.aside):
        line[:2] = "x?"[: scale.width]
    return "".join(line)


def _draw(line: list[str], scale: Scale, span: tuple[int, int], letters: str) -> None:
    """Draw a span with the letters for its start, its inside, its end, and a single day."""
    first, last = map(scale.column, span)
    if span[0] == span[1]:
        line[first] = letters[3]
        return
    if first == last:  # two columns at least, however near the ends are
        first, last = (first, last + 1) if last + 1 < scale.width else (max(first - 1, 0), last)
    line[first : last + 1] = letters[1] * (last + 1 - first)
    line[first], line[last] = letters[0], letters[2]


def _window(window: LeadWindow, scale: Scale) -> str:
    line = [" "] * scale.width
    for first, last, letter in (
        (window.earliest, window.latest, ":"),
        (window.from_, window.to, "="),
    ):
        if first and last:
            start, end = (scale.column(day.toordinal()) for day in (first, last))
            line[start : end + 1] = letter * (end + 1 - start)
    return "".join(line)


def _unofficial_spans(one: Appearance) -> Iterator[tuple[int, int]]:
    dates = (PartialDate.parse(source.date) for source in one.aside)
    return ((when.first, when.last) for when in dates if when.is_known)


def _axis(scale: Scale, window: LeadWindow | None) -> str:
    """Return the dates that fit, each with a bar at its column; the ends have precedence."""
    line = [" "] * scale.width
    bounds = [day.toordinal() for day in (window.to, window.latest) if day] if window else []
    for day in (scale.days[0], scale.days[-1], *bounds, *scale.days):
        _label(line, scale.column(day), date.fromordinal(day).isoformat())
    return "".join(line)


def _label(line: list[str], column: int, text: str) -> None:
    """Write a date right or left of its column, where there is room."""
    for start, label in ((column, f"|{text}"), (column - len(text), f"{text}|")):
        end = start + len(label)
        around = line[max(start - 1, 0) : end + 1]
        if start >= 0 and end <= len(line) and not "".join(around).strip():
            line[start:end] = label
            return


def _legend(used: set[str], width: int) -> Iterator[str]:
    """Yield what the letters of the drawing mean, as many to a line as fit."""
    line = ""
    for text in (text for letter, text in _LEGEND.items() if letter in used):
        longer = f"{line}, {text}" if line else text
        if line and _INDENT + len(longer) > width:
            yield f"{'':{_INDENT}}{line}"[:width]
            longer = text
        line = longer
    if line:
        yield f"{'':{_INDENT}}{line}"[:width]
