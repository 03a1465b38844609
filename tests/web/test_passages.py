"""Of a long page those passages are shown that bear on the question."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.web.passages import GAP, excerpt
from hostile.retention import LEAST, retained
from web.shapes import SHAPES


def test_of_a_long_page_the_dated_passages_are_shown_in_order_under_their_headings() -> None:
    filler = [f"Nothing of interest is told in paragraph {'x' * (n % 7)} here." for n in range(400)]
    page = [
        "Opening.", *filler, "## Release", "The album was released on 8 November 1974.", *filler,
    ]  # fmt: skip
    page += ["Label | EMI", *filler]
    chosen = excerpt(page, 600)
    text = "\n".join(chosen.lines)
    assert len(text) <= 600
    assert text.index("Opening.") < text.index("## Release\nThe album") < text.index("Label | EMI")
    assert GAP in chosen.lines
    assert chosen.shown_chars < chosen.total


SINGLES = [f"Killer Queen was released as a single on {n} October 1974." for n in range(1, 29)] * 9
FOUND = [
    # A page but for its last line, which is shown for what is asked about, and words to find.
    ([f"Out in {1900 + n} as an album." for n in range(99)], "It is Killer Queen.", "queen", ""),
    (SINGLES, "The B-side is Flick of the Wrist.", "Killer Queen", "flick wrist"),
    (["Released in 1993 as an album."] * 99, "Björk sang.", "", "BJORK"),
    (["この曲は何度も披露された。"] * 99, "安室奈美恵は沖縄で生まれた。", "", "安室奈美恵"),
    ([f"- ^ Smith ({n} May 1974). Retrieved {n} June 2012." for n in range(1, 150)],
     "It came out in May 1974.", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("page", "last", "about", "find"), FOUND)
def test_what_bears_on_it_comes_first(page: list[str], last: str, about: str, find: str) -> None:
    assert last in excerpt([*page, last], 300, about, find).lines


@given(st.lists(st.text(min_size=1, max_size=900), max_size=30), st.integers(60, 3_000))
def test_an_excerpt_keeps_its_bound(blocks: list[str], most: int) -> None:
    assert sum(len(line) + 1 for line in excerpt(blocks, most).lines) <= most


def test_rows_come_with_the_names_of_their_columns_and_the_earliest_before_later_ones() -> None:
    rows = [f"Killer Queen | GB | {1973 + n % 50}-05-01 | EMI" for n in range(1, 200)]
    lines = excerpt(["Release | Country | Date | Label", *rows], 400, "Killer Queen").lines
    assert lines[0] == "Release | Country | Date | Label"
    assert "Killer Queen | GB | 1974-05-01 | EMI" in lines
    assert "Killer Queen | GB | 2022-05-01 | EMI" not in lines


BOX = ["Hedgerow", "Single by The Marl Pits", "from Culvert", "B-side | Ditch"]
STORY = (
    "In {} The Marl Pits released Hedgerow on 20 May {} as a single of the album Culvert, which"
    " entered the chart on 3 June {}."
)


@pytest.mark.parametrize("row", ["Released | 3 March 1978", "Erschienen: März 1978"])
@pytest.mark.parametrize("room", [600, 900, 3_700])
def test_of_a_long_article_a_boxs_row_of_release_is_always_shown(row: str, room: int) -> None:
    story = [STORY.format(1960 + n % 40, 1970 + n % 20, 1971 + n % 9) for n in range(200)]
    blocks = [*BOX, row, "Recorded | January 1978", "Genre | Folk", *story]
    lines = excerpt(blocks, room, "The Marl Pits / Hedgerow / Culvert").lines
    assert row in lines
    assert "Single by The Marl Pits" in lines, "it tells of what the box is"
    assert sum(line.startswith("In 19") for line in lines) >= (room - 300) // 200


def test_many_rows_of_release_leave_room_for_what_is_asked_about() -> None:
    rows = [f"Released | {n % 28 + 1} March 19{60 + n % 40}" for n in range(200)]
    lines = excerpt([*rows, "Hedgerow came out on 3 March 1978."], 300, "Hedgerow").lines
    assert "Hedgerow came out on 3 March 1978." in lines


def test_a_long_row_is_cut_between_its_cells() -> None:
    row = " | ".join(f"cell number {n} of 1974-10-{n}" for n in range(10, 60))
    for line in excerpt([row], 600).lines:
        assert line == GAP or line.startswith("cell number")


def test_of_all_dated_facts_nine_in_ten_are_shown_and_eight_where_nothing_is_known() -> None:
    every = sum(len(shape.facts) for shape in SHAPES)
    counts = [retained(shape) for shape in SHAPES]
    shown, beginning = (sum(count[at] for count in counts) / every for at in (0, 1))
    assert shown >= LEAST, dict(zip([shape.name for shape in SHAPES], counts, strict=True))
    assert beginning < LEAST / 2
    assert sum(retained(replace(shape, about=""))[0] for shape in SHAPES) >= 0.8 * every
