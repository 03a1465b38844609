"""A name means the tool that is meant, or none: two near names are never mixed up."""

import re
import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from chart_binder.react.tool_names import folded, same_name
from chart_binder.react.tools import find_tool

KNOWN = ("web_search", "web_fetch", "add")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("functions.tools.web_search", "web_search"),
        ("functions.web_search:0", "web_search"),
        ("functions.web_search<|channel|>json", "web_search"),
        ("ｗｅｂ＿ｓｅａｒｃｈ", "web_search"),
        ("WebSearchTool", "web_search"),
        ("_web_search_", "web_search"),
        ("[web_search](tool)", "web_search"),
        ('web_search - to find when "Don\'t Stop Me Now" came out', "web_search"),
        ("web_search（查找《不能说的秘密》）", "web_search"),
        ("web_search - find the single", "web_search"),
        ("Perform a web search for the date", "web_search"),
        ("使用 web_search 工具", "web_search"),
        ("调用web_search", "web_search"),
        ("web_search!images", None),
        ("web_search;rm -rf", None),
        ("web_search$", None),
        ("web_search?", None),
        ("web_search()x", None),
        ("不要使用web_search", None),
        ("web_search.images", None),
        ("web_search/images", None),
        ("web_search:images", None),
        ("web_search@v2", None),
        ("web_search+add", None),
        ("os.add", None),
        ("~~web_search~~", None),
        ("❌ web_search", None),
        ("add - can't", None),
        ("web_search (already done)", None),
        ("web_search, unnecessary", None),
        ("不要 web_search", None),
        ("web_search: nein", None),
        ("web_search " + "to be very sure " * 60, None),
    ],
)
def test_a_name_that_goes_on_or_is_taken_back_means_nothing(written: str, name: str | None) -> None:
    assert find_tool(written, KNOWN) == name


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("web_search for the Wikipedia page", "web_search"),
        ("Use web_search to find what MusicBrainz says on Wikipedia", "web_search"),
        ("wikipedia (for the MusicBrainz id)", None),
        ("wikipedia for the musicbrainz id", "wikipedia"),
        ("web_search or wikipedia", None),
        ("web_search, wikipedia", None),
        ("wikipedia, then web_search", None),
        ("wikipedia to avoid a web_search", None),
        ("wikipedia with web_search", None),
        ("wikipedia musicbrainz", None),
    ],
)
def test_a_tool_of_one_word_is_a_word_like_any_other_in_a_remark(
    written: str, name: str | None
) -> None:
    assert find_tool(written, (*KNOWN, "wikipedia", "musicbrainz")) == name


def test_of_two_names_alike_but_for_punctuation_only_the_exact_one_is_meant() -> None:
    near = ("get_date", "getdate", "Get-Date")
    for name in near:
        assert find_tool(name, near) == name
    for written in ("GETDATE", "get date", "use get date", "the getDate tool"):
        assert find_tool(written, near) is None


NAMES = st.from_regex(r"[a-z]{2,6}(_[a-z]{2,6}){0,2}", fullmatch=True)
TWO = st.lists(NAMES, min_size=2, max_size=3, unique_by=folded)


def _near(name: str, at: int, letter: str, how: str) -> str:
    at %= len(name)
    rest = name[at:] if how == "insert" else name[at + 1 :]
    return name[:at] + ("" if how == "delete" else letter) + rest


@given(TWO, st.data())
def test_a_name_written_otherwise_is_that_name_and_no_other(
    known: list[str], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(known))
    forms = (
        name,
        name.upper(),
        name.title(),
        name.replace("_", "-"),
        name.replace("_", " "),
        "".join(part.title() for part in name.split("_")),
        f"`{name}`",
        f"functions.{name}",
        f"{name}()",
    )
    assert {find_tool(form, known) for form in forms} == {name}


@given(TWO, st.integers(0, 30), st.sampled_from(string.ascii_lowercase + "0_"),
       st.sampled_from(["insert", "delete", "replace"]))  # fmt: skip
@example(["search", "search_web"], 6, "s", "insert")
def test_a_name_one_letter_away_means_nothing_unless_it_is_another_tools_own(
    known: list[str], at: int, letter: str, how: str
) -> None:
    changed = _near(known[0], at, letter, how)
    expected = same_name(changed, known)
    # A part that remains may be a tool's whole name with a word before or after it: `to_add`.
    assume(expected or not any(folded(n) in map(folded, re.split("_", changed)) for n in known))
    assert find_tool(changed, known) == expected


WORDS = ["use", "the", "tool", "to", "for", "not", "or", "and", "then", "-", ",", "(", ")", "."]


@given(TWO, st.lists(st.sampled_from(WORDS), max_size=6), st.data())
def test_with_two_tools_named_none_is_meant(
    known: list[str], words: list[str], data: st.DataObject
) -> None:
    first, second = data.draw(st.permutations(known))[:2]
    assume(not {folded(first + second), folded(second + first)} & set(map(folded, known)))
    at = data.draw(st.integers(0, len(words)))
    written = " ".join([*words[:at], first, "or", second, *words[at:]])
    assert find_tool(written, known) in {None, same_name(written, known)}


@given(st.text(max_size=80))
def test_whatever_is_written_means_a_known_name_or_none(written: str) -> None:
    assert find_tool(written, KNOWN) in {None, *KNOWN}
