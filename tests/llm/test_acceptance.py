"""Acceptance: rules decide on the evidence with the verified facts; what else there is, is told."""

import copy
from collections.abc import Sequence
from pathlib import Path

import pytest

from chart_binder.config import AcceptanceConfig
from chart_binder.jobs.transcripts import replay
from chart_binder.llm.acceptance import SENT_BACK
from chart_binder.llm.events import ReadingEvent
from chart_binder.llm.result import AdjudicationResult, Outcome, RulesAgreement, why_not_written
from chart_binder.llm.second_reading import MAX_READINGS
from chart_binder.react.transcript import ObservationEvent
from corpus import rows
from golden.bundles import golden, year_only_single
from llm.scripted_runs import (
    ALBUM,
    DAY,
    DECIDED,
    ELSEWHERE,
    LP,
    OTHER,
    PAGE,
    QUOTE,
    SINGLE,
    TRUSTED,
    TWICE,
    adjudicated,
    check,
    failed,
    final,
    is_replayed,
    look,
)

PROMO = "22222222-2222-4333-8444-555555555555"


def told(result: AdjudicationResult) -> list[str]:
    """Return what the model was sent back, each time."""
    events = result.transcript
    assert isinstance(events, tuple)
    contents = (getattr(event, "content", "") for event in events)
    return [
        content for content in contents if SENT_BACK in content and "Observation" not in content
    ]


def test_rules_decide_with_a_new_fact_that_was_verified() -> None:
    result = adjudicated(*DECIDED)
    assert (result.outcome, result.crg_mbid, result.rr_mbid) == (Outcome.ACCEPTED, ALBUM, LP)
    assert (result.rules, result.problem) == (RulesAgreement.CONFIRMED, None)
    assert (result.confidence, result.stated_confidence) == (0.9, 0.9)
    assert "ALBUM_LEAD_WINDOW gives C2" in check(result, "rules").detail
    (fact,) = result.facts
    assert (fact.about, fact.verified, fact.before, fact.quote) == (SINGLE, True, "1975", QUOTE)


SINGLE_FIRST = DAY | {"value": "1975-05-02", "quote": ""}
EARLY = "Bohemian Rhapsody came out on 2 May 1975."
ALBUM_DAY = {"about": "C2", "field": "date", "value": "1975-11-21", "source": "evidence"}
OUTSIDE = DAY | {"value": "1976-01-09", "quote": ""}
YEAR = DAY | {"value": "1975"}
BAND = "Queen are a band from London."


@pytest.mark.parametrize(("answer", "page", "kind", "value"), [
    # No new fact, a fact that leaves the rules open, or one outside what the evidence allows.
    (final(), BAND, "rules", "Bohemian Rhapsody"),
    (final(facts=[ALBUM_DAY]), BAND, "rules", "Bohemian Rhapsody"),
    (final(facts=[YEAR]), "Bohemian Rhapsody came out in 1975.", "rules", "1975"),
    # What the model does not cite is found in the prose of one page.
    (final(), EARLY, "sources", "1975-05-02 of C1"),
    (final(facts=[YEAR]), f"{QUOTE}.", "sources", "1975-10-31 of C1"),
    (final(facts=[OUTSIDE]), "Bohemian Rhapsody: out 9 January 1976", "evidence",
        "1976-01-09 of C1"),
    # Not verified.
    (final(facts=[DAY]), EARLY, "fact", "1975-10-31 of C1"),
    (final(facts=[DAY | {"quote": ""}]), EARLY, "fact", "1975-10-31 of C1"),
    (final(facts=["it came out on 1975-10-31"]), f"{QUOTE}.", "fact", "it came out on 1975-10-31"),
])  # fmt: skip
def test_anything_less_is_a_proposal(answer: str, page: str, kind: str, value: str) -> None:
    result = adjudicated(look(), answer, page=page)
    assert result.outcome is Outcome.REVIEW
    details = [
        check.detail for check in result.checks if (check.name, check.passed) == (kind, False)
    ]
    assert value in " ".join(details)
    assert details[0] in (result.problem or "")
    assert result.confidence == 0.9, "failed checks lower nothing"
    assert why_not_written(result) == result.problem


@pytest.mark.parametrize(("answer", "page", "crg"), [
    (final("C1", facts=[DAY]), f"{QUOTE}.", ALBUM),
    (final("C3", facts=[DAY]), f"{QUOTE}.", ALBUM),
    (final(None, facts=[DAY]), f"{QUOTE}.", ALBUM), (final(facts=[SINGLE_FIRST]), EARLY, SINGLE),
])  # fmt: skip
def test_verified_facts_decide_whatever_the_model_chose(answer: str, page: str, crg: str) -> None:
    result = adjudicated(look(), answer, page=page)
    assert (result.outcome, result.crg_mbid, result.iterations) == (Outcome.ACCEPTED, crg, 2)
    assert (result.rules, failed(result)) == (RulesAgreement.CONFIRMED, [])
    assert told(result) == [], "the remark below the page said what the rules give"


def test_advice_has_a_remark_below_unless_it_says_the_next_step_itself() -> None:
    events = adjudicated("Final Answer: C2", final(), final()).transcript
    assert isinstance(events, tuple)
    unreadable, sent_back = [event for event in events if isinstance(event, ObservationEvent)]
    assert "Write next:" in (unreadable.remark or "")
    assert SENT_BACK in sent_back.content
    assert "Write next:" in sent_back.content
    assert sent_back.remark is None


def test_a_fact_outside_what_the_evidence_allows_is_shown_and_not_dropped() -> None:
    pages = {TRUSTED: f"{QUOTE}.", PAGE: "Bohemian Rhapsody: out 9 January 1976"}
    outside = OUTSIDE | {"source": PAGE}
    result = adjudicated(look(), look(PAGE), final(facts=[DAY, outside]), page=pages)
    assert result.outcome is Outcome.REVIEW
    assert "1976-01-09 of C1 'Bohemian Rhapsody' cannot be: " in check(result, "evidence").detail


def test_a_candidate_without_an_official_release_is_only_proposed() -> None:
    document = golden("comp-savage")
    groups = document["recording_candidates"][0]["rg_candidates"]
    for group in groups:
        for release in group["releases"]:
            release["status"] = "Promotion"
    result = adjudicated(final("C1"), final("C1"), evidence=document)
    assert result.outcome is not Outcome.ACCEPTED


def test_what_the_rules_decide_without_any_fact_the_model_may_agree_with() -> None:
    document = golden("lead-bohemian")
    agreed = adjudicated(final(), evidence=document)
    assert (agreed.outcome, agreed.rules) == (Outcome.ACCEPTED, RulesAgreement.CONFIRMED)
    assert agreed.independent_sources == 0
    other = adjudicated(final("C1"), final("C1"), evidence=document)
    assert (other.outcome, other.rules) == (Outcome.REVIEW, RulesAgreement.CONTRADICTED)
    null = adjudicated(final(None), final(), evidence=document)
    assert (null.outcome, null.iterations) == (Outcome.ACCEPTED, 2)
    for result in (other, null):
        (back,) = told(result)
        assert "the rules give C2 'A Night at the Opera', and you chose otherwise" in back


def test_a_fact_on_which_nothing_turns_is_noted_and_lowers_nothing() -> None:
    odd = {"about": "C3", "field": "first_release_date", "value": "1981-02-03", "source": "hearsay"}
    result = adjudicated(look(), final(facts=[DAY, odd]))
    assert (result.outcome, result.confidence) == (Outcome.ACCEPTED, 0.9)
    assert [fact.verified for fact in result.facts] == [True, False]
    assert (
        "nothing turns on it" in [each.detail for each in result.checks if each.name == "fact"][1]
    )


def test_a_date_of_a_group_with_promos_alone_is_not_shown_as_verified_unread() -> None:
    document = copy.deepcopy(year_only_single())
    groups = document["recording_candidates"][0]["rg_candidates"]
    promo = groups[0]["releases"][0] | {"mb_release_id": ELSEWHERE, "status": "Promotion"}
    groups.append(groups[0] | {"mb_rg_id": PROMO, "title": "Opera Sampler", "releases": [promo]})
    other = {"about": "Opera Sampler", "value": "1975-10-20", "quote": "Opera Sampler came out on"}
    page = f"{QUOTE}.\nOpera Sampler came out on 20 October 1975."
    answer = final("A Night at the Opera", rr_mbid=None, facts=[
        DAY | {"about": "Bohemian Rhapsody"}, DAY | other
    ])  # fmt: skip
    result = adjudicated(look(), answer, page=page, evidence=document)
    assert (result.outcome, result.crg_mbid) == (Outcome.ACCEPTED, ALBUM)
    assert [fact.verified for fact in result.facts] == [True, False]
    assert [len(fact.readings) for fact in result.facts] == [1, 0]


def test_the_problem_names_every_failed_check_and_missing_sources_first() -> None:
    facts = [TWICE[0], DAY | {"about": "C3", "value": "1981-02-03", "source": "hearsay"}]
    result = adjudicated(look(PAGE), *[final(facts=facts)] * 2)
    assert failed(result) == ["fact", "sources"]
    _, _, missing = (result.problem or "").partition("rules decide: ")
    assert missing.startswith("one more independent source for 1975-10-31 of C1")
    assert "is not verified" in missing


# Sources.


@pytest.mark.parametrize(
    ("urls", "facts", "least", "sources", "is_decided"),
    rows(__file__, "sources"),
)
def test_each_fact_that_the_decision_turns_on_needs_sources(
    urls: Sequence[str], facts: Sequence[int], least: int, sources: int, is_decided: bool
) -> None:
    cited = [DAY | {"source": urls[number]} for number in facts]
    result = adjudicated(
        *map(look, urls), final(facts=cited), acceptance=AcceptanceConfig(min_sources=least)
    )
    assert (result.outcome is Outcome.ACCEPTED) == is_decided, result
    assert result.independent_sources == sources
    assert ("sources" in failed(result)) == (not is_decided)
    if not is_decided:
        assert "for 1975-10-31 of C1 'Bohemian Rhapsody'" in check(result, "sources").detail


def test_a_second_source_that_code_found_is_shown_as_a_fact_and_may_be_written_with() -> None:
    result = adjudicated(look(PAGE), look(OTHER), final(facts=TWICE[:1]))
    assert [(fact.source, fact.verified) for fact in result.facts] == [(PAGE, True), (OTHER, True)]
    assert why_not_written(result) is None


@pytest.mark.parametrize(
    "page", ["Greatest Hits came out on 31 October 1975.", "Bohemian Rhapsody, 7 November 1975."]
)
def test_another_page_that_says_something_else_is_no_second_source(page: str) -> None:
    result = adjudicated(
        look(PAGE), look(OTHER), final(facts=TWICE[:1]), page={PAGE: f"{QUOTE}.", OTHER: page}
    )
    assert (result.outcome, result.independent_sources) == (Outcome.REVIEW, 1)


def test_two_facts_need_their_sources_each() -> None:
    document = golden("lead-bohemian")
    for group in document["recording_candidates"][0]["rg_candidates"][:2]:
        group["first_release_date"] = group["releases"][0]["date"] = "1975"
    album = "A Night at the Opera came out on 21 November 1975."
    facts = [
        SINGLE_FIRST | {"about": "Bohemian Rhapsody"},
        DAY | {"about": "A Night at the Opera", "value": "1975-11-21", "quote": "", "source": PAGE},
    ]
    pages = {TRUSTED: EARLY, PAGE: album, OTHER: album}
    answer = final("Bohemian Rhapsody", rr_mbid=None, facts=facts)
    one = adjudicated(look(), look(PAGE), answer, page=pages, evidence=document)
    assert (one.outcome, failed(one)) == (Outcome.REVIEW, ["sources"])
    assert "one more independent source for 1975-11-21" in (one.problem or "")
    run = (look(), look(PAGE), look(OTHER), answer)
    assert adjudicated(*run, page=pages, evidence=document).outcome is Outcome.ACCEPTED


# Contradictions.

SECOND = "Bohemian Rhapsody was released on 2 May 1975."
DOUBTED = {TRUSTED: f"{QUOTE}.", PAGE: SECOND}


@pytest.mark.parametrize(
    ("second", "reading", "is_contradiction"),
    rows(__file__, "contradictions"),
)
def test_another_date_of_the_record_that_was_read_is_a_contradiction(
    second: str, reading: str | None, is_contradiction: bool
) -> None:
    line = ReadingEvent(kind="contradiction", source=PAGE, reading=reading or "first_release")
    result = adjudicated(
        look(), look(PAGE), final(facts=[DAY]), page={TRUSTED: f"{QUOTE}.", PAGE: second},
        readings=[ReadingEvent(reading="first_release"), line],
    )  # fmt: skip
    assert (result.outcome is Outcome.REVIEW) == is_contradiction, result
    assert ("contradiction" in failed(result)) == is_contradiction
    asked = {each.kind for fact in result.facts for each in fact.readings}
    assert asked == {"support", *(["contradiction"] if reading else [])}
    if is_contradiction:
        for shown in (
            TRUSTED,
            "1975-10-31",
            QUOTE,
            PAGE,
            "1975-0",
            second.rsplit("\n", maxsplit=1)[-1],
        ):
            assert shown in (result.problem or "")


def test_a_contradiction_goes_back_with_both_passages_and_may_be_resolved() -> None:
    lines = [
        ReadingEvent(reading="first_release"),
        ReadingEvent(kind="contradiction", reading="first_release"),
    ]
    answer = final(facts=[DAY])
    result = adjudicated(look(), look(PAGE), answer, answer, page=DOUBTED, readings=lines)
    (back,) = told(result)
    assert QUOTE in back
    assert SECOND in back
    assert (result.outcome, result.iterations) == (Outcome.REVIEW, 4)


def test_contradictions_that_cannot_be_read_mean_review() -> None:
    urls = [f"https://site{number}.example/" for number in range(9)]
    pages = {url: f"Bohemian Rhapsody was released on {n} May 1975." for n, url in
             enumerate(urls, start=1)} | {TRUSTED: f"{QUOTE}."}  # fmt: skip
    others = [ReadingEvent(kind="contradiction", reading="other_release")] * 9
    result = adjudicated(
        look(), *map(look, urls), final(facts=[DAY]), page=pages, max_iterations=20,
        readings=[ReadingEvent(reading="first_release"), *others],
    )  # fmt: skip
    assert result.outcome is Outcome.REVIEW
    assert "it could not be read" in (result.problem or "")
    assert result.usage.readings == MAX_READINGS


def test_a_replay_keeps_a_contradiction_open_that_was_not_read_before(tmp_path: Path) -> None:
    lines = [
        ReadingEvent(reading="first_release"),
        ReadingEvent(kind="contradiction", reading="other_release"),
    ]
    answer = final(facts=[DAY])
    result = adjudicated(
        look(), look(PAGE), answer, page=DOUBTED, readings=lines, record=tmp_path
    )  # fmt: skip
    assert result.outcome is Outcome.ACCEPTED
    (file,) = tmp_path.iterdir()
    events = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(each for each in events if '"kind":"contradiction"' not in each))
    again = replay(file)
    assert (again.outcome, failed(again)) == (Outcome.REVIEW, ["contradiction"])


def test_without_a_second_reading_every_clear_other_date_is_a_contradiction() -> None:
    off = AcceptanceConfig(second_reading=False)
    result = adjudicated(look(), look(PAGE), final(facts=[DAY]), page=DOUBTED, acceptance=off)
    assert failed(result) == ["contradiction"]


# What goes back to the model.


@pytest.mark.parametrize(("first", "reason"), [
    (final(), "one more independent source for 1975-10-31 of C1 'Bohemian Rhapsody'"),
    (final(facts=[DAY | {"value": "1975-10-30"}]), "is not verified: "),
    (final(facts=[DAY | {"source": PAGE}]), f"{PAGE} was not read in this run"),
])  # fmt: skip
def test_an_answer_goes_back_once_a_reason_and_may_be_mended(first: str, reason: str) -> None:
    mended = adjudicated(look(), first, final(facts=[DAY]))
    assert (mended.outcome, mended.iterations) == (Outcome.ACCEPTED, 3)
    assert [reason in text for text in told(mended)] == [True]
    again = adjudicated(look(), first, first, final(facts=[DAY]))
    assert (again.outcome is Outcome.ACCEPTED, again.iterations) == (False, 3)
    assert len(told(again)) == 1


def test_an_answer_that_nothing_read_settles_goes_back_with_a_step_to_write() -> None:
    result = adjudicated(look(), final(), look(PAGE), *[final()] * 2, page=BAND)
    (back,) = told(result)
    assert "nothing read so far settles what is open: the single 'Bohemian Rhapsody'" in back
    reason, _, step = back.partition(" Write next:\n")
    assert reason.count(". ") == 0, "one reason"
    assert step == (
        'Action: web_search\nAction Input: {"query": "Queen \\"Bohemian Rhapsody\\" single release'
        ' date"}'
    )


def test_an_answer_that_was_sent_back_stands_where_no_other_comes(tmp_path: Path) -> None:
    for replies in ([], ["hm", "hm", "hm"], [look(PAGE)] * 2):
        result = adjudicated(look(), final(), *replies, page=BAND, record=tmp_path)
        assert (result.outcome, result.crg_mbid) == (Outcome.REVIEW, ALBUM), replies
        assert failed(result) == ["rules"]
        assert is_replayed(result)


def test_nothing_goes_back_in_the_last_turn_nor_what_no_tool_can_mend() -> None:
    last = adjudicated(final(), max_iterations=1)
    assert (last.outcome, last.iterations, told(last)) == (Outcome.REVIEW, 1, [])
    direct = adjudicated(final(), offered=())
    assert (direct.outcome, direct.iterations, told(direct)) == (Outcome.REVIEW, 1, [])


# Confidence.


@pytest.mark.parametrize(
    ("confidence", "outcome"),
    [(0.6, Outcome.REVIEW), (0.59, Outcome.REJECTED), ("low", Outcome.REJECTED)],
)
def test_confidence_alone_can_only_lose_a_proposal(confidence: object, outcome: Outcome) -> None:
    result = adjudicated(look(), final(facts=[DAY], confidence=confidence))
    assert result.outcome is Outcome.ACCEPTED
    assert result.confidence == result.stated_confidence
    proposal = adjudicated(final(confidence=confidence))
    assert proposal.outcome is outcome
