"""Useful text comes out of pages of every make, at a bounded cost."""

import tracemalloc
from pathlib import Path

import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st

from chart_binder.web.page_text import from_csv, from_html, from_json, from_xml

MARKUP = tomli.loads(Path(__file__).with_name("markup.toml").read_text("utf-8"))


@pytest.mark.parametrize("hiding", MARKUP["hiding"])
def test_what_readers_do_not_see_is_gone(hiding: str) -> None:
    page = f"<p>before<div {hiding}>secret <div>more</div> secret</div><p>after"
    assert from_html(page).blocks == ("before", "after")


@pytest.mark.parametrize("shown", MARKUP["shown"])
def test_what_readers_do_see_stays(shown: str) -> None:
    assert from_html(f"<p {shown}>seen").blocks == ("seen",)


@pytest.mark.parametrize(("markup", "blocks"), [
    *MARKUP["html"].items(),
    ("&#99999999999999999999;x&#" + "9" * 5_000 + ";", "�x�"),
    ("<table><tr><td rowspan=9>" + "a" * 70 + "<tr><td>b", "a" * 70 + "\nb"),
    ("<p>" + "long " * 12 + "end:</p><p>text", ("long " * 12 + "end:") + "\ntext"),
])  # fmt: skip
def test_markup_of_every_kind_is_read_as_a_reader_would(markup: str, blocks: str) -> None:
    assert "\n".join(from_html(markup).blocks) == blocks


def test_json_is_read_a_record_a_line() -> None:
    text = """{"title": "x", "artist": {"name": "Queen", "none": null}, "releases": [
        {"date": "1974-10-11", "area": {"iso": ["GB"]}, "flag": true, "tags": ["a", "b"]}, "y"]}"""
    assert from_json(text).blocks == (
        "title: x",
        "artist.name: Queen",
        "releases[0]: date: 1974-10-11 | area.iso[0]: GB | flag: True | tags[0]: a | tags[1]: b",
        "releases[1]: y",
    )


def test_json_that_is_too_deep_is_read_as_text() -> None:
    assert from_json("[" * 100_000).blocks[0].startswith("[[[")


@pytest.mark.parametrize(("markup", "blocks"), MARKUP["xml"].items())
def test_xml_is_read_as_a_page(markup: str, blocks: str) -> None:
    assert "\n".join(from_xml(markup).blocks) == blocks


def test_values_between_commas_are_a_table() -> None:
    table = 'date,title,label\n1974-10-11,"Killer Queen, Flick",EMI\n\n'
    assert from_csv(table).blocks == (
        "date | title | label",
        "1974-10-11 | Killer Queen, Flick | EMI",
    )
    assert from_csv('a,"' + "x" * 200_000).blocks  # longer than the library takes


def test_the_title_is_read_from_the_head() -> None:
    assert from_html("<head><title>Killer Queen</title>").title == "Killer Queen"
    assert from_html('<meta property="og:title" content="Killer Queen">').title == "Killer Queen"
    assert from_html('<meta property="og:x" content="1999">').title == ""


@pytest.mark.parametrize("piece", ["a\u0301\u0301", "album 1974 "])
def test_a_hostile_page_costs_little_memory(piece: str) -> None:
    page = piece * (300_000 // len(piece))
    tracemalloc.start()
    from_html(page)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


PIECES = [
    *("<p>", "</p>", "<td>", "<tr>", "<table>", "</table>", "<li>", "</ul>", "<dt>", "<dd>"),
    *("<h1>", "</h1>", "<title>", "</title>", "<!--", "-->", "<script>", "</script>", "<pre>"),
    *("</pre>", "<a", " x='", '"', ">", "<div/hidden>", "</div>", "&lt;", "text"),
]


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(PIECES) | st.text(max_size=5),
        max_size=40,
    ).map("".join)
)
def test_no_markup_makes_reading_fail(markup: str) -> None:
    for block in from_html(markup).blocks:
        assert block == " ".join(block.split())
        assert block
