"""`premiere` facts: which record a recording first came out on, where no date says it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chart_binder.domain.evidence_json import read_bundle
from chart_binder.llm.events import ReadingEvent
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.llm.second_reading import date_question
from chart_binder.web.documents import SourceText
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject
from llm.scripted_runs import adjudicated, is_replayed, look
from servers.musicbrainz_world import evidence, id_of

TIE = """
Trams | Album | Night Opera | 1975 GB | tram Night Tram 5:55
Trams | Album | Day Opera | 1975 GB | tram Night Tram 5:55
"""
LATER = TIE.replace("Night Opera | 1975 GB", "Night Opera | 1977 GB")
LONE = "Trams | Album+Compilation+Various | Hits | 2004 GB | again Night Tram 5:53\n"
WIKI, FANS, SHOP = (
    "https://en.wikipedia.org/wiki/Night_Tram", "https://a.example/1", "https://b.example/2",
)  # fmt: skip
FIRST = "The song first appeared on the album Night Opera."
AGAIN = "Night Tram was originally released on Night Opera, say the Trams."
OTHER = "Night Tram first came out on Day Opera."
YES, NO, OPEN = "first_release", "other_release", "unclear"


def fact(source: str = WIKI, about: str = "Night Opera", **changes: str) -> dict[str, str]:
    quote = {WIKI: FIRST, FANS: FIRST, SHOP: AGAIN}[source]
    known = {"about": about, "field": "premiere", "value": "true", "quote": quote}
    return known | {"source": source} | changes


def played(
    table: str, facts: list[dict[str, str]], readings: list[str | ReadingEvent],
    pages: Mapping[str, str] | None = None, crg: str = "Night Opera", **more: Any,
) -> AdjudicationResult:  # fmt: skip
    """Return the result of a run that reads pages, and gives the same answer to its end."""
    read = {WIKI: FIRST, FANS: FIRST, SHOP: AGAIN} if pages is None else pages
    known = {"crg_mbid": crg, "confidence": 0.9, "rationale": "so", "facts": facts}
    answer = f"Thought: done\nFinal Answer: {json.dumps(known)}"
    name = "tram" if "tram " in table else "again"
    replies = [*map(look, read), *[answer] * 4]
    return adjudicated(
        *replies, page=read, readings=readings, evidence=evidence(table, name),
        max_iterations=8, **more,
    )  # fmt: skip


TWO = [fact(FANS), fact(SHOP)]
DECIDED = [
    # The evidence, the facts, the readings, and the pages that are read.
    (TIE, [fact()], [YES], {WIKI: FIRST}),
    (TIE, TWO, [YES, YES], {FANS: FIRST, SHOP: AGAIN}),
    (TIE, [fact(FANS)], [YES, YES], {FANS: FIRST, SHOP: AGAIN}),
    (TIE, [fact(value="yes", field="first appearance")], [YES], {WIKI: FIRST}),
    (TIE, [fact(value="Night Opera (Album)")], [YES], {WIKI: FIRST}),
    (TIE, [fact()], [YES, ReadingEvent(kind="contradiction", reading="other_title")],
     {WIKI: FIRST, SHOP: OTHER}),
    # Nobody cites it, and code finds a rival that a reading says is none.
    (TIE, [], [YES, YES, ReadingEvent(kind="contradiction", reading="other_title")],
     {FANS: FIRST, SHOP: AGAIN, "https://c.example/3": OTHER}),
    (LONE, [fact(about="Hits", quote="first appeared on Hits")], [YES],
     {WIKI: "Night Tram first appeared on Hits, a sampler."}),
]  # fmt: skip


@pytest.mark.parametrize(("table", "facts", "readings", "pages"), DECIDED)
def test_a_premiere_that_sources_and_readings_bear_out_decides_what_no_date_does(
    tmp_path: Path, table: str, facts: list[dict[str, str]], readings: list[str | ReadingEvent],
    pages: dict[str, str],
) -> None:  # fmt: skip
    crg = "Hits" if table == LONE else "Night Opera"
    result = played(table, facts, readings, pages, crg, record=tmp_path)
    assert (result.outcome, result.crg_mbid) == (Outcome.ACCEPTED, id_of(crg)), result.problem
    assert any("CRG:STATED_PREMIERE gives" in check.detail for check in result.checks)
    assert all(reading.passage for one in result.facts for reading in one.readings)
    assert is_replayed(result)


PROPOSED = [
    # The same, and what is missing for a decision.
    (TIE, [fact(FANS)], [YES], {FANS: FIRST}, "one more independent source for premiere of"),
    (TIE, [], [YES, YES, ReadingEvent(kind="contradiction", reading=YES)],
     {FANS: FIRST, SHOP: AGAIN, "https://c.example/3": OTHER}, "first came out on C1 'Day Opera'"),
    (TIE, [fact()], [NO], {WIKI: FIRST}, "says other_release"),
    (TIE, [fact()], [OPEN], {WIKI: FIRST}, "says unclear"),
    (TIE, [fact(quote="Night Tram first appeared on Night Opera")], [NO],  # an entry of a list
     {WIKI: "- Night Tram first appeared on Night Opera"}, "says other_release"),
    (TIE, [fact()], [YES, ReadingEvent(kind="contradiction", reading=YES)],
     {WIKI: FIRST, SHOP: OTHER}, "that it first came out on C1 'Day Opera'"),
    (TIE, [fact()], [YES, ReadingEvent(kind="contradiction", reading=OPEN)],
     {WIKI: FIRST, SHOP: OTHER}, "may say that it first came out on C1 'Day Opera'"),
    (TIE, [fact(quote="Night Tram is on Night Opera")], [YES],
     {WIKI: "Night Tram is on Night Opera"}, "does not give 'true'"),
    (TIE, [fact(quote="")], [YES],
     {WIKI: "Night Opera is a record. The song first appeared on Day Opera."},
     "names another candidate"),
    (TIE, [fact(quote="")], [YES], {WIKI: "It was not first released on Night Opera."},
     "the text denies"),
    (TIE, [fact(source=WIKI)], [YES], {FANS: FIRST}, "was not read in this run"),
    (TIE, [fact(value="false")], [YES], {WIKI: FIRST}, "'false' is not a valid premiere"),
    (TIE, [fact(value="Day Opera")], [YES], {WIKI: FIRST}, "'Day Opera' is not a valid premiere"),
    (LATER, [fact()], [YES, YES], {WIKI: FIRST}, "'Day Opera' came out before it, 1975"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "facts", "readings", "pages", "missing"), PROPOSED)
def test_any_other_premiere_is_a_proposal_that_says_what_is_missing(
    tmp_path: Path, table: str, facts: list[dict[str, str]], readings: list[str | ReadingEvent],
    pages: dict[str, str], missing: str,
) -> None:  # fmt: skip
    result = played(table, facts, readings, pages, record=tmp_path)
    assert result.outcome is Outcome.REVIEW
    told = " ".join(check.detail for check in result.checks if not check.passed)
    assert missing in told
    assert is_replayed(result)


def test_the_question_about_a_premiere_names_the_recording_and_claims_no_date() -> None:
    bundle = read_bundle(evidence(TIE, "tram"))
    place = Place(SourceText((WIKI,), "", FIRST), 0, 4)
    text = date_question("support", Subject.of(id_of("Night Opera"), bundle), None, place).text
    assert text.strip().splitlines()[:7] == [
        "# Second reading", "Release: Night Opera", "Artist: Trams", "Type: Album", "Country: GB",
        "Recording: Night Tram", "Date: none is claimed",
    ]  # fmt: skip
    assert text.endswith('{"reading": "..."}')
    assert all(f"- {name}: " in text for name in (YES, NO, OPEN, "other_title", "not_a_release"))
