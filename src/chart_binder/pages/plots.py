"""Bar charts as SVG, in the colours of the page, with a link on each bar.

There is no plotting library, because none makes links, accessible names and colours of a style
sheet, and two kinds of bars are all that is drawn. Widths are percentages and text is not scaled,
so a chart fits a phone as it fits a wide window.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

_HEIGHT, _TOP, _BOTTOM = 200, 22, 24
_LEAST_SLOTS = 8
"""Columns are no wider than if there were so many."""
_COLUMN_SHARE = 0.7
_LEAST_PX, _LEAST_SHARE = 3, 0.8
"""The least length of a bar, in pixels or percent, so that it can be seen and clicked."""
_ROW, _BAR_TOP, _BAR_HEIGHT = 46, 22, 12

_CHART = Markup(
    '<svg class="chart" width="100%" height="{height}" role="group"'
    ' aria-labelledby="{key}-title {key}-about"><title id="{key}-title">{title}</title>'
    '<desc id="{key}-about">{about}</desc>{body}</svg>'
)
_PART = Markup(
    '<a href="{href}"><title>{name}</title><rect class="bar series-{series}" x="{x:.2f}%"'
    ' y="{y}" width="{width}" height="{height}"/></a>'
)
_LABEL = Markup('<text class="{kind}" x="{x:.2f}%" y="{y}">{text}</text>')


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of a bar: what it counts, and where its link leads. `series` chooses the colour."""

    series: int
    name: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with its label, and its parts in the order of their series."""

    label: str
    parts: Sequence[BarPart]

    @property
    def count(self) -> int:
        """The sum of the parts."""
        return sum(part.count for part in self.parts)


def column_chart(key: str, title: str, bars: Sequence[Bar]) -> Markup:
    """Return upright bars from left to right, with the parts of each on top of each other.

    `key` is an id that is unique in the page.
    """
    slot = 100 / max(len(bars), _LEAST_SLOTS)
    most = max((bar.count for bar in bars), default=1)
    room = _HEIGHT - _TOP - _BOTTOM
    body = Markup()
    for number, bar in enumerate(bars):
        x, y = number * slot, _HEIGHT - _BOTTOM
        for part in bar.parts:
            height = max(round(part.count / most * room), _LEAST_PX)
            y -= height
            left, width = x + slot * (1 - _COLUMN_SHARE) / 2, f"{slot * _COLUMN_SHARE:.2f}%"
            body += _part(bar, part, left, y, width, height)
        middle = x + slot / 2
        body += _LABEL.format(kind="value middle", x=middle, y=y - 6, text=f"{bar.count:,}")
        kind = "label middle" + (" second" if number % 2 and len(bars) > _LEAST_SLOTS else "")
        body += _LABEL.format(kind=kind, x=middle, y=_HEIGHT - 7, text=bar.label)
    return _chart(key, title, bars, _HEIGHT, body)


def row_chart(key: str, title: str, bars: Sequence[Bar]) -> Markup:
    """Return level bars one below the other, each below its label, with their parts in a row."""
    most = max((bar.count for bar in bars), default=1)
    body = Markup()
    for number, bar in enumerate(bars):
        y, x = number * _ROW, 0.0
        body += _LABEL.format(kind="label", x=0, y=y + 15, text=bar.label)
        body += _LABEL.format(kind="value end", x=100, y=y + 15, text=f"{bar.count:,}")
        for part in bar.parts:
            share = max(100 * part.count / most, _LEAST_SHARE)
            body += _part(bar, part, x, y + _BAR_TOP, f"{share:.2f}%", _BAR_HEIGHT)
            x += share
    return _chart(key, title, bars, _ROW * len(bars), body)


def _part(bar: Bar, part: BarPart, x: float, y: int, width: str, height: int) -> Markup:
    name = ", ".join(filter(None, (bar.label, part.name)))
    return _PART.format(
        href=part.href, name=f"{name}: {part.count:,}", series=part.series, x=x, y=y, width=width,
        height=height,
    )  # fmt: skip


def _chart(key: str, title: str, bars: Sequence[Bar], height: int, body: Markup) -> Markup:
    values = "; ".join(f"{bar.label} {bar.count:,}" for bar in bars)
    return _CHART.format(key=key, title=title, about=values, height=height, body=body)
