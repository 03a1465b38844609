"""Lines are as wide as was asked, and what is copied from them stays whole."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.cli.output import display_width, fit, terminal_width, wrap
from chart_binder.cli.render.decision import explanation_lines, musicbrainz_page
from chart_binder.config import RulesConfig
from chart_binder.jobs.decide import Decider
from cli.drawing import DRAWN

WORDS = st.lists(st.text("ab東\u0301 ", max_size=12), max_size=12).map(" ".join)


@given(text=WORDS, width=st.integers(1, 40), indent=st.integers(0, 12))
def test_no_line_is_wider_than_asked_but_for_a_word_alone(
    text: str, width: int, indent: int
) -> None:
    head = "-" * indent
    lines = list(wrap(text, width, head, indent))
    assert all(display_width(line) <= width or len(line[indent:].split(" ")) == 1 for line in lines)
    assert [word for line in lines for word in line[indent:].split()] == text.split()
    assert all(line.startswith(head if not n else " " * indent) for n, line in enumerate(lines))


def test_spaces_within_a_line_are_kept_as_they_are() -> None:
    assert list(wrap("one  two\nthree\u3000four", 12, "", 2)) == [
        "one  two",
        "  three\u3000four",
    ]


@pytest.mark.parametrize("columns_wide", ["40", "60"])
@pytest.mark.parametrize("name", DRAWN)
def test_an_explanation_is_as_wide_as_the_terminal(
    name: str, columns_wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Decider(RulesConfig()).decide(DRAWN[name])
    wide = list(explanation_lines("p", case, RulesConfig()))
    monkeypatch.setenv("COLUMNS", columns_wide)
    lines = list(explanation_lines("p", case, RulesConfig()))
    for line in lines:
        assert display_width(line) <= int(columns_wide) or len(line.split()) == 1, line
    assert " ".join(lines).split() == " ".join(wide).split()


def test_only_a_trace_ends_a_line_within_a_word() -> None:
    trace = "evh=9b1f2c3d;crg=ALBUM_LEAD_WINDOW;rr=ORIGIN_COUNTRY_EARLIEST;src=mb;cfg=lw90"
    lines = list(wrap(f"+ {trace}", 60, "decision trace ", 17))
    assert lines == [
        "decision trace + evh=9b1f2c3d;crg=ALBUM_LEAD_WINDOW;",
        "                 rr=ORIGIN_COUNTRY_EARLIEST;src=mb;cfg=lw90",
    ]
    assert list(wrap(trace, 100, "", 0)) == [trace]
    address = "https://musicbrainz.org/release-group/6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
    assert list(wrap(address, 30, "", 0)) == [address]


def test_only_a_uuid_has_a_page() -> None:
    assert musicbrainz_page("release", "sheer-heart-attack") == "sheer-heart-attack"
    known = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
    assert musicbrainz_page("release", known) == f"https://musicbrainz.org/release/{known}"


def test_a_rival_hangs_below_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    case = Decider(RulesConfig()).decide(DRAWN["lead"])
    lines = list(explanation_lines("p", case, RulesConfig()))
    start = lines.index("  Why not another:") + 1
    assert lines[start].startswith("    Bohemian Rhapsody: single")
    assert lines[start + 1].startswith("      ")


@pytest.mark.parametrize(("said", "width"), [("57", 57), ("0", 100), ("500", 100), ("x", 100)])
def test_lines_end_where_the_terminal_does(
    said: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", said)
    assert terminal_width() == width


def test_a_very_long_title_is_cut_at_once() -> None:
    start = time.perf_counter()
    assert fit("東" * 100_000, 9) == "東東東.. "
    assert len(list(wrap("word " * 16_000, 40, "", 0))) == 2_000
    assert time.perf_counter() - start < 2
