"""What stands in a fence or a quotation is shown, not said."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from chart_binder.react.reading.fences import Fence, fences
from chart_binder.react.reading.quoted import quoted_passages


class Around:
    """The fences and quotations of a text, looked for when they are first asked about."""

    def __init__(self, text: str) -> None:
        self._text = text

    def before(self, end: int) -> "Around":
        """Return what surrounds things in the beginning of the text, up to a place."""
        return self if end == len(self._text) else Around(self._text[:end])

    def hides(self, at: int) -> bool:
        """Tell whether a place stands in a closed fence or in a quotation over lines."""
        return within(self._closed, at) or self.quotes(at)

    def quotes(self, at: int) -> bool:
        """Tell whether a place stands in a quotation over lines."""
        return within(self._passages, at)

    def fence(self, at: int) -> tuple[int, int] | None:
        """Return from where to where the closed fence goes that a place is in."""
        place = _before(self._closed, at)
        return self._closed[place] if within(self._closed, at) else None

    def is_fenced(self, at: int) -> bool:
        """Tell whether a place stands in a fence that nothing closes."""
        return at >= self._open_at

    @cached_property
    def fences(self) -> tuple[Fence, ...]:
        """The fences, closed or not, in order."""
        return fences(self._text)

    @cached_property
    def _closed(self) -> list[tuple[int, int]]:
        return [(fence.start, fence.end) for fence in self.fences if fence.end is not None]

    @cached_property
    def _open_at(self) -> int:
        opened = (fence.start for fence in self.fences if fence.end is None)
        return next(opened, len(self._text) + 1)

    @cached_property
    def _passages(self) -> list[tuple[int, int]]:
        return quoted_passages(self._text)


def within(spans: Sequence[tuple[int, int]], at: int) -> bool:
    """Tell whether a place is inside one of the spans, which are in order."""
    place = _before(spans, at)
    return place >= 0 and at < spans[place][1]


def _before(spans: Sequence[tuple[int, int]], at: int) -> int:
    """Return which span is the last that begins at a place or before it, or -1."""
    return bisect_left(spans, (at + 1,)) - 1
