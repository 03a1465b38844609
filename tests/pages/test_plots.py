"""Charts: each bar is a link of its length, and no text becomes markup."""

from xml.etree import ElementTree as ET

import pytest

from chart_binder.pages.plots import Bar, BarPart, column_chart, row_chart

BARS = [
    Bar("1970s", [BarPart(1, "certain year", 75, "#a"), BarPart(2, "uncertain year", 25, "#b")]),
    Bar("1980s", [BarPart(1, "certain year", 50, "#c")]),
    Bar("1990s", [BarPart(2, "uncertain year", 1, "#d")]),
]
HOSTILE = "</title></svg><script>alert(1)</script>\"]]>&amp;{}{0}'"


def drawn(markup: str) -> ET.Element:
    return ET.fromstring(markup)


def number(element: ET.Element, name: str) -> float:
    return float(element.attrib[name].rstrip("%"))


@pytest.mark.parametrize("draw", [column_chart, row_chart])
def test_each_bar_is_a_link_with_a_name(draw: type) -> None:
    chart = drawn(draw("by-decade", "By decade", BARS))
    assert {link.attrib["href"]: link.findtext("title") for link in chart.iter("a")} == {
        "#a": "1970s, certain year: 75", "#b": "1970s, uncertain year: 25",
        "#c": "1980s, certain year: 50", "#d": "1990s, uncertain year: 1",
    }  # fmt: skip
    names = [chart.find(f".//*[@id='{key}']") for key in chart.attrib["aria-labelledby"].split()]
    assert [name is not None and name.text for name in names] == [
        "By decade", "1970s 100; 1980s 50; 1990s 1",
    ]  # fmt: skip
    texts = [text.text for text in chart.iter("text")]
    assert sorted(filter(None, texts)) == ["1", "100", "1970s", "1980s", "1990s", "50"]
    assert [bar.attrib["class"] for bar in chart.iter("rect")] == [
        "bar series-1", "bar series-2", "bar series-1", "bar series-2",
    ]  # fmt: skip
    assert "style" not in {name for element in chart.iter() for name in element.attrib}


def test_columns_are_as_high_as_their_counts_and_stand_on_each_other() -> None:
    lower, upper, half, least = drawn(column_chart("c", "C", BARS)).iter("rect")
    heights = [number(bar, "height") for bar in (lower, upper, half, least)]
    assert heights[0] + heights[1] == pytest.approx(2 * heights[2], abs=1.5)
    assert heights[0] / heights[1] == pytest.approx(3, rel=0.1)
    assert heights[3] >= 3, "a bar of one file can be seen"
    assert number(upper, "y") + heights[1] == number(lower, "y")
    ends = {number(bar, "y") + number(bar, "height") for bar in (lower, half, least)}
    assert len(ends) == 1
    assert number(half, "x") > number(lower, "x") + number(lower, "width")


def test_rows_are_as_long_as_their_counts() -> None:
    first, second, half, least = drawn(row_chart("r", "R", BARS)).iter("rect")
    assert number(first, "width") == 75
    assert number(second, "x") == 75
    assert number(second, "width") == 25
    assert (number(half, "x"), number(half, "width")) == (0, 50)
    assert 0.5 <= number(least, "width") <= 1
    assert number(least, "y") > number(half, "y") > number(first, "y")


@pytest.mark.parametrize("count", [1, 8, 9, 30])
def test_columns_never_leave_the_chart_and_labels_can_be_thinned(count: int) -> None:
    bars = [Bar(f"{1800 + 10 * n}s", [BarPart(1, "", 1 + n, "#x")]) for n in range(count)]
    chart = drawn(column_chart("c", "C", bars))
    ends = [number(bar, "x") + number(bar, "width") for bar in chart.iter("rect")]
    assert max(ends) <= 100
    thinned = [text for text in chart.iter("text") if "second" in text.attrib["class"]]
    assert len(thinned) == (count // 2 if count > 8 else 0)


@pytest.mark.parametrize("draw", [column_chart, row_chart])
def test_text_is_no_markup(draw: type) -> None:
    chart = drawn(draw("k", HOSTILE, [Bar(HOSTILE, [BarPart(1, HOSTILE, 1, HOSTILE)])]))
    assert {element.tag for element in chart.iter()} == {
        "svg",
        "title",
        "desc",
        "a",
        "rect",
        "text",
    }
    (link,) = chart.iter("a")
    assert link.attrib["href"] == HOSTILE
    assert HOSTILE in [text.text for text in chart.iter("text")]


@pytest.mark.parametrize("draw", [column_chart, row_chart])
def test_a_chart_without_bars_is_a_chart(draw: type) -> None:
    assert list(drawn(draw("k", "Nothing", [])).iter("a")) == []
