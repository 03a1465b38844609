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

BY_EMI = "Bohemian Rhapsody came out, by EMI, on 31 October 1975"
PARTED = "Bohemian Rhapsody came out. Later, on 31 October 1975, he left"
ROW = "Bohemian Rhapsody | UK | 31 October 1975"
TITLED = "Title: Bohemian Rhapsody - Wikipedia\n"


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


@pytest.mark.parametrize(
    ("page", "quote", "is_there"),
    [
        (f"{QUOTE}.", QUOTE, True),
        (f"{QUOTE}.", QUOTE.upper(), True),
        ("“Bohemian   Rhapsody” came\nout on 31 October 1975", f'"{QUOTE}"', True),
        ("Bohemian Rhapsody – the single – out 31 October 1975", "the single - out", True),
        ("Bohemian Rhapsody, Café edition: out 31 October 1975", "Cafe edition: out", True),
        (ROW, "UK | 31 October 1975", True),
        (ROW, "UK 31 October 1975", True),
        (BY_EMI, "came out ... 31 October 1975", False),
        (BY_EMI, "came out [...] October 1975…", False),
        (f"{QUOTE}.", "Bohemian Rhapsody came out on Friday 31 October 1975", False),
        (f"{QUOTE}.", "31 October 1975 it came out", False),
        # Its date may be written in another form.
        (f"{QUOTE}.", "Bohemian Rhapsody came out on October 31, 1975", True),
        (f"{QUOTE}.", "Bohemian Rhapsody came out 1975-10-31", True),
        (f"{QUOTE} by EMI.", "came out October 31, 1975, by EMI", True),
        (f"{QUOTE}.", "October 31st, 1975", True),
        (f"{QUOTE}.", "Bohemian Rhapsody came out on October 30, 1975", False),
        (f"{QUOTE}.", "It was released on October 31, 1975", False),
        (f"{QUOTE}.", "came out on October 31, 1975 as a single", False),
        ("Bohemian Rhapsody came out on ٣١/١٠/١٩٧٥.", "out on 31/10/1975", True),
        ("Bohemian Rhapsody came out on ３１ October １９７５.", QUOTE, True),
        (f"{QUOTE}.", "...", False),
        # The value stands in the quote or right beside it, in its line.
        (f"{QUOTE}.", "Bohemian Rhapsody came out on", True),
        (f"{QUOTE}, in a sleeve that was{' blue' * 16} and red.", "blue and red", False),
        ("Bohemian Rhapsody came out in the UK\n31 October 1975", "came out in the UK", False),
        (f"{QUOTE}. It sold a million.", "It sold a million", True),
        # Without a quote the value is looked for.
        (f"{QUOTE}.", "", True),
        ("Bohemian Rhapsody came out on 30 October 1975", "", False),
    ],
)  # fmt: skip
def test_a_quote_stands_word_for_word_with_the_value_in_it_or_beside_it(
    page: str, quote: str, is_there: bool
) -> None:
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
def test_the_source_is_named_in_any_way_and_shown_as_an_address(
    source: str, is_named: bool
) -> None:
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


@pytest.mark.parametrize(
    ("address", "is_trusted"),
    [
        (TRUSTED, True),
        ("https://de.wikipedia.org/wiki/Bohemian_Rhapsody", True),
        ("https://www.discogs.com/release/1-Queen-Bohemian-Rhapsody", True),
        ("https://en.wikipedia.org.evil.example/wiki/Bohemian_Rhapsody", False),
        ("https://evilwikipedia.org/wiki/Bohemian_Rhapsody", False),
        ("https://evil.example/?u=https://en.wikipedia.org/wiki/Bohemian_Rhapsody", False),
        ("https://web.archive.org/web/2020/https://en.wikipedia.org/wiki/Bohemian_Rhapsody", False),
        ("https://en.wikipedia.org/wiki/Talk:Bohemian_Rhapsody", False),
        ("https://en.wikipedia.org/wiki/User:Bob/Bohemian_Rhapsody", False),
        ("https://en.wikipedia.org/wiki/Draft:Bohemian_Rhapsody", False),
        ("https://wiki.musicbrainz.org/Bohemian_Rhapsody", False),
        ("https://en.wikipedia.org/wiki/Sandbox/Bohemian_Rhapsody", False),
        ("https://musicbrainz.org/search?query=bohemian-rhapsody", False),
        ("https://www.discogs.com/lists/bohemian-rhapsody/7", False),
        ("https://test.wikipedia.org/wiki/Bohemian_Rhapsody", False),
        ("https://de.wikipedia.org/wiki/Benutzer:Bob/Bohemian_Rhapsody", False),
        ("https://ja.wikipedia.org/wiki/%E3%83%8E%E3%83%BC%E3%83%88:Bohemian_Rhapsody", False),
        ("https://www.discogs.com/forum/thread/1?bohemian_rhapsody", False),
        ("https://en.wikipedia.org/w/index.php?title=Bohemian_Rhapsody&oldid=9", False),
        ("https://en.wikipedia.org/wiki/Bohemian_Rhapsody:_A_Song", True),
        ("https://blog.discogs.com/en/bohemian-rhapsody", False),
        ("https://www.discogs.com/marketplace/bohemian-rhapsody", False),
        ("https://musicbrainz.org/release/bohemian-rhapsody/annotation", False),
        ("https://musicbrainz.org/release/6defd963/bohemian-rhapsody", True),
    ],
)  # fmt: skip
def test_one_page_of_a_trusted_site_suffices_unless_anybody_writes_there(
    address: str, is_trusted: bool
) -> None:
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


OPERA = "A Night at the Opera"


@pytest.mark.parametrize(
    ("page", "is_about"),
    [
        # Prose: the title in the line, before the value; else around it; else of the page.
        (f"{QUOTE}.", True),
        ("BOHEMIAN RHAPSODY: 31 October 1975.", True),
        (f"{TITLED}> It came out on 31 October 1975.", True),
        (f"{TITLED}> {OPERA} came out on 31 October 1975.", False),
        (f"{OPERA} came out on 31 October 1975.", False),
        ("It came out on 31 October 1975.", True),  # the address names it
        # A row is of what it names, else of its heading, its caption or its page.
        ("Bohemian Rhapsody | UK | 31 October 1975", True),
        (f"Bohemian Rhapsody\n{OPERA} | UK | 31 October 1975", False),
        ("## Bohemian Rhapsody\nUK | 31 October 1975\nUS | 2 December 1975", True),
        (f"{TITLED}> ## Release history\n> Region | Date\n> UK | 31 October 1975", True),
        ("Bohemian Rhapsody\nReleased | 31 October 1975", True),
        (f"{OPERA} | 1976\nBohemian Rhapsody | UK | 31 October 1975", True),
        # Another artist's record of that title.
        ("Title: The Braids - Bohemian Rhapsody\n> Released 31 October 1975", False),
        ("Title: Queen - Bohemian Rhapsody\n> Released 31 October 1975", True),
        ("Queen | Bohemian Rhapsody | 1976\nBraids | Bohemian Rhapsody | 31 October 1975", False),
        ("On 31 October 1975 Bohemian Rhapsody by The Shrikes came out. Queen sang it.", False),
        ("Bohemian Rhapsody, by the group The Shrikes, is of 31 October 1975. Queen.", False),
        ("The cover of Bohemian Rhapsody by The Shrikes is of 31 October 1975.", False),
        ("Inspired by Bach, Bohemian Rhapsody came out on 31 October 1975.", True),
        ("Bohemian Rhapsody, distributed by Warner, came out on 31 October 1975.", True),
        ("Bohemian Rhapsody by Queen, de l'album Opera, sortie le 31 octobre 1975", True),
        ("Artist | Title | Date\n″ | Bohemian Rhapsody | 31 October 1975\nQueen", True),
        # A word in its clause or its heading says that the date is of something else.
        ("Bohemian Rhapsody was reissued on 31 October 1975.", False),
        ("Bohemian Rhapsody entered the charts on 31 October 1975.", False),
        ("## Chart performance of the song\nBohemian Rhapsody | 31 October 1975", False),
        ("Reissues on disc\n...\nBohemian Rhapsody | EMI | 31 October 1975", False),
        ("Song | Recorded (1975)\n...\nBohemian Rhapsody | 31 October 1975", False),
        ("Queen | EMI\nPromo copies\nBohemian Rhapsody | 31 October 1975", False),
        ("Reissues on disc\nYou | 1976\nThe rest.\nBohemian Rhapsody | 31 October 1975", True),
        (f"from the album {OPERA}\nReleased | 31 October 1975", True),
        ("Bohemian Rhapsody was released on 31 October 1975 and charted in November.", True),
        ("Bohemian Rhapsody, released on 31 October 1975; reissued on 9 December 1991", True),
    ],
)  # fmt: skip
def test_a_passage_is_about_what_its_structure_says_then_what_its_words_say(
    page: str, is_about: bool
) -> None:
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
def test_a_title_may_be_written_in_latin_letters(
    artist: str, title: str, page: str, is_about: bool
) -> None:
    document = copy.deepcopy(year_only_single())
    document["artist"]["name"] = artist
    group = document["recording_candidates"][0]["rg_candidates"][0]
    group["title"] = group["releases"][0]["title"] = title
    result = adjudicated(
        look(), final(facts=[DAY | {"quote": "31 Oct 1975"}]), page=page, evidence=document
    )
    assert (result.facts[0].verified, result.outcome is Outcome.ACCEPTED) == (is_about, is_about)


STATUS = ("C1.R1", "status", "Official"), without("status", "1975-05-01"), "C1"
LIKE_A_YEAR = ("C1.R1", "status", "Official"), without("status", "1975-05-01", "2000"), "C1"
PROMO = ("C1.R1", "status", "promo"), without("status", "1975-05-01"), "C2"
TYPE = ("C1", "primary_type", "single"), without("primary_type", "1975-10-31"), "C2"


@pytest.mark.parametrize(
    ("case", "page", "quote", "is_verified"),
    [
        (STATUS, "Bohemian Rhapsody: commercial release", "commercial release", True),
        (STATUS, "EMI 2375, commercial release", "commercial release", True),
        (LIKE_A_YEAR, f"{TITLED}> EMI 2000 | commercial release", "commercial release", True),
        (STATUS, f"{TITLED}> EMI 2000 | commercial release", "commercial release", False),
        (STATUS, f"{TITLED}> Netherlands, on sale in May", "on sale", True),
        (STATUS, "Bohemian Rhapsody: promotional copy", "promotional copy", False),
        (STATUS, "Bohemian Rhapsody: a release", "a release", False),
        (STATUS, "Bohemian Rhapsody: unofficial release", "unofficial release", False),
        (STATUS, f"{OPERA}: commercial release", "commercial release", False),
        (PROMO, "Bohemian Rhapsody, EMI 2375: not for sale", "not for sale", True),
        (TYPE, "Bohemian Rhapsody is a single by Queen", "is a single by Queen", True),
        (TYPE, "Bohemian Rhapsody is a song by Queen", "is a song by Queen", False),
        (TYPE, "the third single, Bohemian Rhapsody, sold well", "the third single", True),
        (TYPE, f"{TITLED}> Type: Single", "Type: Single", True),
        (TYPE, "Every single pressing of Bohemian Rhapsody", "Every single pressing", False),
        (TYPE, "Was Bohemian Rhapsody a single?", "a single", False),
        (TYPE, "Bohemian Rhapsody was followed by a single", "by a single", False),
        (TYPE, "Bohemian Rhapsody: 45 minutes of music", "45 minutes", False),
        (STATUS, "Bohemian Rhapsody was seized before it went on sale", "on sale", False),
        (STATUS, "official release of Bohemian Rhapsody, EMI 2375", "official release of", True),
        (STATUS, "Bohemian Rhapsody by Queen was officially released as EMI 2375",
         "officially released", True),
        (STATUS, "Bohemian Rhapsody was due to be officially released", "officially", False),
        (STATUS, "Bohemian Rhapsody has an official remix", "official remix", False),
        (TYPE, "Bohemian Rhapsody is the eleventh single by the band Queen", "the eleventh", True),
        (TYPE, "Bohemian Rhapsody är Queens elfte singel", "singel", False),
        (TYPE, "Bohemian Rhapsody je první singl Queenů", "je první singl", True),
        (TYPE, "Bohemian Rhapsody est le premier single d'Queen", "premier single", True),
        (TYPE, f"{TITLED}> Single by Queen", "Single by Queen", True),
        (TYPE, f"{TITLED}> Single-only track by Queen", "Single-only track", False),
        (TYPE, "Bohemian Rhapsody is a single by Queen, an EP in Japan", "is a single", False),
        (TYPE, "PY 7: Bohemian Rhapsody, peaked at 45", "Bohemian Rhapsody", False),
        (TYPE, "Bohemian Rhapsody is a single by The Shrikes, not by Queen", "is a single", False),
        (TYPE, "Bohemian Rhapsody is the debut single by Queen Choir", "the debut single", False),
        (TYPE, "Bohemian Rhapsody is a single by the American group The Shrikes. Queen sang it.",
         "is a single by", False),
        (TYPE, "Queen sang it, too.\n> Single by The Shrikes\n> Type: Single | Bohemian Rhapsody",
         "Type: Single", False),
        (TYPE, "Title: The Shrikes - Bohemian Rhapsody\n> Type: Single\n> See: Queen",
         "Type: Single", False),
        (TYPE, "Title: Queen - Bohemian Rhapsody\n> Type: Single", "Type: Single", True),
        (TYPE, "Title: Bohemian Rhapsody (The Shrikes song)\n> Type: Single\n> See: Queen",
         "Type: Single", False),
        (STATUS, "Artist | Title | Status\n> The Shrikes | Bohemian Rhapsody | Official\n> Queen",
         "Bohemian Rhapsody | Official", False),
        (STATUS, "Artist | Title | Status\n> Queen | Bohemian Rhapsody | Official",
         "Bohemian Rhapsody | Official", True),
    ],
)  # fmt: skip
def test_a_status_or_type_stands_where_a_word_for_it_stands_beside_the_release(
    case: tuple[tuple[str, str, str], Mapping[str, Any], str],
    page: str,
    quote: str,
    is_verified: bool,
) -> None:
    (about, field, value), evidence, crg = case
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


@pytest.mark.parametrize(
    ("fact", "page", "is_verified"),
    [
        ({"field": "label", "value": "EMI"}, "Bohemian Rhapsody, EMI 2375", True),
        ({"field": "label", "value": "Elektra"}, "Bohemian Rhapsody, EMI 2375", False),
        ({"field": "recording date", "value": "24 August 1975"}, "taped 24 August 1975", True),
    ],
)
def test_a_field_that_moves_nothing_is_held_against_its_source_and_decides_nothing(
    fact: dict[str, str], page: str, is_verified: bool
) -> None:
    result = adjudicated(look(), final(facts=[DAY | fact]), page=page)
    assert [each.verified for each in result.facts] == [is_verified]
    assert result.outcome is Outcome.REVIEW
    both = adjudicated(look(), final(facts=[DAY, DAY | fact]), page=f"{QUOTE}.\n{page}")
    assert both.outcome is Outcome.ACCEPTED
    assert [each.verified for each in both.facts] == [True, is_verified]


@pytest.mark.parametrize(
    ("fact", "is_said"),
    [
        ({"about": "C2", "value": "1975-11-21"}, True),
        ({"about": "C2", "value": "21 November 1975"}, True),
        ({"about": "C1", "value": "1975"}, True),
        ({"about": "C1", "value": "1975-10-31"}, False),
        ({"about": "C1", "value": "1976"}, False),
        ({"about": "C1", "field": "primary_type", "value": "single"}, True),
        ({"about": "C1", "field": "primary_type", "value": "Album"}, False),
        ({"about": "C2", "value": "1975-11-21", "source": "https://evidence.example/"}, False),
    ],
)
def test_the_evidence_may_be_cited_for_what_it_says_and_is_no_source(
    fact: dict[str, str], is_said: bool
) -> None:
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


@pytest.mark.parametrize(
    ("about", "is_named"),
    [
        *((about, True) for about in ("C1", "C1: Bohemian Rhapsody", "bohemian rhapsody", "C1.R1")),
        *((about, False) for about in ("", "C9", "C1 and C2", "Bohemian")),
    ],
)
def test_what_a_fact_is_about_may_be_named_in_many_ways(about: str, is_named: bool) -> None:
    # In the prose of one page code finds no more than a proposal.
    result = adjudicated(look(), final(facts=[DAY | {"about": about}]))
    assert (result.outcome is Outcome.ACCEPTED) == is_named
