"""Grounding: a fact stands where its quote does, with its value, in a passage about its record."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from chart_binder.config import AcceptanceConfig
from chart_binder.llm.events import ReadingEvent
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.react.steps import Document
from chart_binder.react.tools import Observation, Tool
from corpus import rows
from golden.bundles import year_only_single
from llm.scripted_runs import (
    DAY,
    OTHER,
    PAGE,
    QUOTE,
    TRUSTED,
    YES,
    adjudicated,
    failed,
    final,
    look,
    page_observation,
)


def cited(page: str, **changes: object) -> AdjudicationResult:
    """Return the result of a run that reads one page and cites it for a fact."""
    elsewhere = [ReadingEvent(kind="contradiction", reading="other_release")] * 5
    readings = [*(ReadingEvent(reading=said) for said in YES), *elsewhere]
    return adjudicated(look(), final(facts=[DAY | changes]), page=page, readings=readings)


def stands(page: str, **changes: object) -> bool:
    result = cited(page, **changes)
    is_so = result.facts[0].verified
    assert (result.outcome is Outcome.ACCEPTED) == is_so, result
    return is_so


@pytest.mark.parametrize(("page", "quote", "is_there"), rows(__file__, "quotes"))
def test_a_quote_stands_word_for_word_by_its_value(page: str, quote: str, is_there: bool) -> None:
    assert stands(page, quote=quote) == is_there


@pytest.mark.parametrize(
    ("said", "value"),
    [("October 1975", "1975-10-31"), ("1975", "1975-10-31"), ("10/11/1975", "1975-11-10"),
     ("circa 31 October 1975", "1975-10-31"), ("30-31 October 1975", "1975-10-31")],
)  # fmt: skip
def test_a_vaguer_or_ambiguous_date_bears_out_no_day(said: str, value: str) -> None:
    assert not stands(f"Bohemian Rhapsody came out {said}", value=value, quote=said)


def test_a_fact_that_does_not_stand_says_what_was_looked_for_where_and_what_was_found() -> None:
    fact, *_ = cited("Queen are a band.\nBohemian Rhapsody came out on 30 October 1975.").facts
    assert fact.problem is not None
    for told in (QUOTE, TRUSTED, "it says ‹Bohemian Rhapsody came out on 30 October 1975.›"):
        assert told in fact.problem


@pytest.mark.parametrize(
    ("source", "is_named"),
    [(PAGE, True), ("discography.example", True), ("discography.example/single", True), ("", True),
     (OTHER, False), ("Melody Maker", False), ("https://[broken", False), ("7", False)],
)  # fmt: skip
def test_a_source_is_named_in_any_way_and_shown_as_an_address(source: str, is_named: bool) -> None:
    fact = DAY | {"source": source}
    result = adjudicated(look(PAGE), final(facts=[fact]))
    assert (result.facts[0].verified, result.facts[0].source) == (
        (True, PAGE) if is_named else (False, source)
    )
    assert [fact.source for fact in result.facts if fact.verified] == [PAGE], "cited or found"


def test_an_address_that_holds_a_date_proves_nothing() -> None:
    address = "https://en.wikipedia.org/wiki/Bohemian_Rhapsody?day=1975-10-31"
    fact = DAY | {"source": address, "quote": ""}
    page = f"Title: Bohemian Rhapsody\nAddress: {address}\n> Bohemian Rhapsody, {address}"
    result = adjudicated(look(address), final(facts=[fact]), page=page)
    assert [each.verified for each in result.facts] == [False]


@pytest.mark.parametrize(("address", "is_trusted"), rows(__file__, "trusted_pages"))
def test_a_page_of_a_trusted_site_suffices_if_it_is_checked(address: str, is_trusted: bool) -> None:
    result = adjudicated(look(address), final(facts=[DAY | {"source": address}]))
    assert [(fact.verified, fact.trusted) for fact in result.facts] == [(True, is_trusted)]
    assert result.outcome is (Outcome.ACCEPTED if is_trusted else Outcome.REVIEW)
    assert failed(result) == ([] if is_trusted else ["sources"])


@pytest.mark.parametrize("is_fetched", [True, False])
def test_what_a_search_says_of_a_trusted_page_is_one_source_among_two(is_fetched: bool) -> None:
    def web_search(query: str) -> Observation:
        """Search the web."""
        hit = Document(TRUSTED, "Bohemian Rhapsody", text=f"{QUOTE}.", number=1)
        return Observation(f"1. {query}", (TRUSTED,), documents=(hit,))

    def web_fetch(url: str) -> Observation:
        """Read a page."""
        return page_observation(url, f"{QUOTE}.")

    looks = ["Action: web_search\nAction Input: queen", *([look()] if is_fetched else [])]
    tools = [Tool.of(web_search), Tool.of(web_fetch)]
    result = adjudicated(*looks, final(facts=[DAY]), offered=tools)
    assert result.outcome is (Outcome.ACCEPTED if is_fetched else Outcome.REVIEW)
    assert failed(result) == ([] if is_fetched else ["sources"])


@pytest.mark.parametrize(("page", "is_about"), rows(__file__, "passages"))
def test_a_passage_is_about_what_structure_then_words_say(page: str, is_about: bool) -> None:
    assert stands(page, quote="") == is_about


def without(name: str, day: str, catno: str = "EMI 2375") -> Mapping[str, Any]:
    """Return the case with the single's day known, and its status or type unknown instead."""
    document = copy.deepcopy(year_only_single())
    group = document["recording_candidates"][0]["rg_candidates"][0]
    group["releases"][0] |= {"date": day, "catno": catno}
    (group if name == "primary_type" else group["releases"][0])[name] = None
    return document


@pytest.mark.parametrize(
    ("artist", "title", "page", "is_about"),
    [
        ("Кино", "Группа крови", "Kino - Gruppa krovi\nGruppa krovi, out 31 Oct 1975", True),
        ("Земфира", "Прости меня моя любовь", "Prosti menja moja ljubov’, out 31 Oct 1975", True),
        ("Μίκης Θεοδωράκης", "Άξιον Εστί", "Mikis Theodorakis: Axion Esti, out 31 Oct 1975", True),
        ("Кино", "Группа крови", "Kino - Noch\nNoch, out 31 Oct 1975", False),
    ],
)  # fmt: skip
def test_a_title_may_be_in_latin_script(artist: str, title: str, page: str, is_about: bool) -> None:
    document = copy.deepcopy(year_only_single())
    document["artist"]["name"] = artist
    group = document["recording_candidates"][0]["rg_candidates"][0]
    group["title"] = group["releases"][0]["title"] = title
    result = adjudicated(
        look(), final(facts=[DAY | {"quote": "31 Oct 1975"}]), page=page, evidence=document
    )
    assert (result.facts[0].verified, result.outcome is Outcome.ACCEPTED) == (is_about, is_about)


# What is stated of the single, the evidence that lacks it, and the group that it decides for.
VALUES = {
    "STATUS": (("C1.R1", "status", "Official"), without("status", "1975-05-01"), "C1"),
    "LIKE_A_YEAR": (("C1.R1", "status", "Official"), without("status", "1975-05-01", "2000"), "C1"),
    "PROMO": (("C1.R1", "status", "promo"), without("status", "1975-05-01"), "C2"),
    "TYPE": (("C1", "primary_type", "single"), without("primary_type", "1975-10-31"), "C2"),
}


@pytest.mark.parametrize(
    ("case", "page", "quote", "is_verified"),
    rows(__file__, "values"),
)
def test_a_status_or_type_stands_where_a_word_for_it_stands_beside_the_release(
    case: str, page: str, quote: str, is_verified: bool
) -> None:
    (about, field, value), evidence, crg = VALUES[case]
    fact = {"about": about, "field": field, "value": value, "quote": quote}
    answer = final(crg, facts=[fact | {"source": TRUSTED}])
    result = adjudicated(look(), answer, page=page, evidence=evidence)
    stated, *found = result.facts
    assert stated.verified is is_verified, result
    assert all(each.value != stated.value for each in found)
    # Where the page says another value in structure, code finds that one, and rules decide on it.
    decides = is_verified or any(each.verified and each.trusted for each in found)
    assert result.outcome is (Outcome.ACCEPTED if decides else Outcome.REVIEW)
    is_labelled = "|" in quote or quote.startswith(("Type:", "Status:", "Format:"))
    assert is_labelled <= (result.usage.readings == 0)


@pytest.mark.parametrize(("fact", "page", "is_verified"), [
    ({"field": "label", "value": "EMI"}, "Bohemian Rhapsody, EMI 2375", True),
    ({"field": "label", "value": "Elektra"}, "Bohemian Rhapsody, EMI 2375", False),
    ({"field": "recording date", "value": "24 August 1975"}, "taped 24 August 1975", True),
])  # fmt: skip
def test_a_field_that_moves_nothing_is_held_against_its_source_and_decides_nothing(
    fact: dict[str, str], page: str, is_verified: bool
) -> None:
    result = adjudicated(look(), final(facts=[DAY | fact]), page=page)
    assert [each.verified for each in result.facts] == [is_verified]
    assert result.outcome is Outcome.REVIEW
    both = adjudicated(look(), final(facts=[DAY, DAY | fact]), page=f"{QUOTE}.\n{page}")
    assert both.outcome is Outcome.ACCEPTED
    assert [each.verified for each in both.facts] == [True, is_verified]


@pytest.mark.parametrize(("fact", "is_said"), rows(__file__, "evidence"))
def test_the_evidence_may_be_cited_and_is_no_source(fact: dict[str, str], is_said: bool) -> None:
    result = adjudicated(final(facts=[DAY | {"source": "evidence", "quote": ""} | fact]))
    assert [each.verified for each in result.facts] == [is_said]
    assert (result.outcome, result.independent_sources) == (Outcome.REVIEW, 0)


@pytest.mark.parametrize("min_sources", [0, 1])
def test_a_groups_own_first_date_by_musicbrainz_is_no_fact(min_sources: int) -> None:
    document = year_only_single()
    document["recording_candidates"][0]["rg_candidates"][0]["first_release_date"] = "1975-10-31"
    accept = AcceptanceConfig(min_sources=min_sources)
    fact = DAY | {"source": "evidence", "quote": ""}
    result = adjudicated(final(facts=[fact]), evidence=document, acceptance=accept)
    assert result.outcome is Outcome.REVIEW


@pytest.mark.parametrize(("about", "is_named"), [
    *((about, True) for about in ("C1", "C1: Bohemian Rhapsody", "bohemian rhapsody", "C1.R1")),
    *((about, False) for about in ("", "C9", "C1 and C2", "Bohemian")),
])  # fmt: skip
def test_what_a_fact_is_about_may_be_named_in_many_ways(about: str, is_named: bool) -> None:
    # In the prose of one page code finds no more than a proposal.
    result = adjudicated(look(), final(facts=[DAY | {"about": about}]))
    assert (result.outcome is Outcome.ACCEPTED) == is_named
