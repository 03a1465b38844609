"""The days on which candidates may have come out, as bars on one scale."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from chart_binder.rules.candidates import Candidate

_NEAR_DAYS = 3 * 365
"""Candidates that came out later than this after the first one do not stretch the scale."""
_LEAST_PERCENT = 1.6
_MARGIN_DAYS = 20
_MOST_TICKS = 5
_YEAR, _MONTH = 365.25, 30.44


class SpanBar(NamedTuple):
    """A span of days, in percent of the width; `is_promo` if only promos or the like came out."""

    x: float
    width: float
    is_promo: bool


class TimelineRow(NamedTuple):
    """A candidate's bars; `is_later` if it came out after the end of the scale."""

    label: str
    text: str
    bars: tuple[SpanBar, ...]
    is_later: bool


class Tick(NamedTuple):
    """A day of the scale, in percent of the width."""

    x: float
    text: str


class Timeline(NamedTuple):
    """The rows of candidates, and the scale below them."""

    rows: tuple[TimelineRow, ...]
    ticks: tuple[Tick, ...]


class _Scale(NamedTuple):
    begin: int
    end: int

    def bar(self, first: int, last: int, *, is_promo: bool) -> SpanBar:
        """Return the part of a span that is on the scale."""
        length = max(1, self.end - self.begin)
        x = 100 * (max(first, self.begin) - self.begin) / length
        width = 100 * (min(last, self.end) - max(first, self.begin)) / length
        width = max(width, _LEAST_PERCENT)
        return SpanBar(round(min(x, 100 - width), 2), round(width, 2), is_promo)

    def ticks(self) -> Iterator[Tick]:
        """Yield the first days of years or months, as many as there is room for."""
        length = max(1, self.end - self.begin)
        unit = _YEAR if length > _MOST_TICKS * _MONTH * 4 else _MONTH
        step = max(1, -(-int(length / unit) // (_MOST_TICKS - 1)))
        day = date.fromordinal(self.begin)
        month = 1 if unit == _YEAR else day.month
        year = day.year
        while (tick := date(year, month, 1).toordinal()) <= self.end:
            if tick >= self.begin:
                text = f"{year}" if unit == _YEAR else f"{year}-{month:02}"
                yield Tick(round(100 * (tick - self.begin) / length, 2), text)
            months = month - 1 + (12 * step if unit == _YEAR else step)
            year, month = year + months // 12, months % 12 + 1


def timeline(candidates: Sequence[tuple[str, Candidate]]) -> Timeline | None:
    """Return the timeline of labelled candidates, or None if none has a date."""
    spans = {label: tuple(_spans(candidate)) for label, candidate in candidates}
    dated = [span for of_candidate in spans.values() for span in of_candidate]
    if not dated:
        return None
    begin = min(first for first, *_ in dated)
    until = min(last for _, last, _ in dated) + _NEAR_DAYS
    end = max(last for first, last, _ in dated if first <= until)
    margin = max(_MARGIN_DAYS, (end - begin) // 30)
    scale = _Scale(max(1, begin - margin), min(end + margin, date.max.toordinal()))
    rows = tuple(_row(label, candidate, spans[label], scale) for label, candidate in candidates)
    return Timeline(rows, tuple(scale.ticks()))


def _spans(candidate: Candidate) -> Iterator[tuple[int, int, bool]]:
    """Yield the official span of a candidate, then those of its promos and the like."""
    if candidate.counts and candidate.is_dated:
        yield candidate.first, candidate.last, False
    for when in dict.fromkeys(release.when for release in candidate.unofficial):
        if when.is_known:
            yield when.first, when.last, True


def _row(
    label: str, candidate: Candidate, spans: Sequence[tuple[int, int, bool]], scale: _Scale
) -> TimelineRow:
    shown = [span for span in spans if span[0] <= scale.end]
    bars = tuple(scale.bar(first, last, is_promo=promo) for first, last, promo in shown)
    text = candidate.when if candidate.counts else "nothing official"
    return TimelineRow(label, f"{candidate.kind}, {text}", bars, bool(spans) and not shown)
