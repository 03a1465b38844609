"""The question of the year: what it is about, what answers it, and what keeps it open."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.patches import FIRST_RELEASE, THE_RECORDING, Patch, apply_patches
from chart_binder.domain.verdict import SaidBy
from chart_binder.jobs.decision import State
from chart_binder.jobs.pipeline import Pipeline, decide_bundle
from chart_binder.jobs.transcripts import replay
from chart_binder.llm.evidence_markdown import evidence_markdown
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import AdjudicationResult, Fact, Outcome
from chart_binder.llm.year import year_doubts
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release, year_case
from chart_binder.web.documents import SourceText
from corpus import rows
from llm.scripted_runs import TRUSTED, adjudicated, final, look
from llm.verdicts.play import load_evidence
from models.playing import Robot, Table, serving
from models.worlds import worlds

RULES = RulesConfig()
RAW = {"artist": "Lena Frost", "country": "GB", "title": "Slow Tram"}
ALONE = ('C | Album+Compilation | Best | 1981-03-02 GB [Rowan RWL 4, 12" Vinyl]',)


def evidence(
    records: Sequence[str] = ALONE, title: str = "Slow Tram", **recording: object
) -> EvidenceBundle:
    raw = RAW | {"title": title, "records": records}
    return load_evidence("year", raw | {"recording": recording}).bundle


def asked_about(bundle: EvidenceBundle) -> Sequence[str]:
    question = year_case(bundle, decide(bundle, RULES), RULES)
    return question.questions[0].about if question else ()


def stated(bundle: EvidenceBundle, date: str) -> EvidenceBundle:
    return apply_patches(bundle, [Patch(THE_RECORDING, FIRST_RELEASE, date)]).bundle


# What is asked.


def test_a_decided_case_with_an_uncertain_year_is_asked_about_its_song_and_first_record() -> None:
    bundle = evidence()
    assert asked_about(bundle) == (THE_RECORDING, bundle.groups[0].mb_rg_id)


@pytest.mark.parametrize(("records", "title", "recording"), rows(__file__, "versions"))
def test_of_a_version_the_date_of_the_songs_single_is_no_answer(
    records: Sequence[str], title: str, recording: dict[str, Any]
) -> None:
    about = asked_about(evidence(records, title, **recording))
    assert about
    assert THE_RECORDING not in about


def test_nothing_is_asked_of_a_certain_year_or_an_open_case() -> None:
    certain = evidence(["A | Album | Rails | 1981-03-02 GB [Rowan RWL 4, LP]"])
    still_open = evidence(['S | Single | Slow Tram | - GB [R 1, 7"]', *ALONE])
    assert asked_about(certain) == asked_about(still_open) == ()


def test_the_evidence_for_the_model_has_the_question_and_what_answers_it() -> None:
    bundle = evidence()
    text = evidence_markdown(bundle, year_case(bundle, decide(bundle, RULES), RULES))
    why = text[text.index("## Why this is open") :]
    assert "Q1 (year, about C1): In which year was this recording first released?" in why
    assert "first_release" in why


# What a stated date makes of the evidence.


@pytest.mark.parametrize(("date", "recording", "year", "is_certain"), [
    ("1977-10-07", {}, 1977, True), ("1977", {}, 1977, True), ("1981", {}, 1981, True),
    ("1979-01-01", {"first_release_date": None, "disambiguation": "1969 take"}, 1979, False),
])  # fmt: skip
def test_a_stated_date_counts_as_that_of_a_single_that_is_missing(
    date: str, recording: dict[str, Any], year: int, is_certain: bool
) -> None:
    before = evidence(**recording)
    bundle = stated(before, date)
    first = first_release(bundle, decide(bundle, RULES), RULES)
    assert first
    assert (first.year, first.year_certain) == (year, is_certain)
    assert decide(bundle, RULES) == decide(before, RULES)
    assert first.release_group_mbid in (None, before.groups[0].mb_rg_id)


def test_a_date_after_an_official_release_is_impossible() -> None:
    bundle = evidence()
    found = apply_patches(bundle, [Patch(THE_RECORDING, FIRST_RELEASE, "1984")])
    assert found.bundle == bundle
    assert "is dated 1981-03-02, before 1984" in "".join(found.impossible.values())


# What speaks against a date.


@pytest.mark.parametrize(("title", "line", "said"), rows(__file__, "doubts"))
def test_pages_of_another_record_or_recording_are_doubts(title: str, line: str, said: str) -> None:
    page = SourceText(("https://one.example/a",), title, line, is_fetched=True)
    patch = Patch(THE_RECORDING, FIRST_RELEASE, "1977-10-07")
    doubts = "; ".join(year_doubts(patch, [page], evidence()))
    assert said in doubts
    assert bool(said) is bool(doubts)


# Decisions.


class Answering:
    def __init__(self, result: AdjudicationResult) -> None:
        self.result = result

    def adjudicate(self, *_: object) -> AdjudicationResult:
        return self.result


def answered(outcome: Outcome, **fields: Any) -> AdjudicationResult:
    fact = Fact(
        THE_RECORDING, FIRST_RELEASE, "1977-10-07", "https://en.wikipedia.org/wiki/Slow_Tram",
        verified=True, trusted=True, cited=False,
    )  # fmt: skip
    crg = evidence().groups[0].mb_rg_id
    return AdjudicationResult(outcome, crg, facts=(fact,), **fields)


def test_a_verified_answer_makes_the_year_certain_and_leaves_the_group() -> None:
    plain = decide_bundle(Pipeline(RULES), evidence()).decision
    pipeline = Pipeline(RULES, Answering(answered(Outcome.ACCEPTED)), asks_years=True)
    decision = decide_bundle(pipeline, evidence()).decision
    assert decision.first_release
    assert decision.first_release.year_certain
    assert decision.first_release.by is SaidBy.FACTS
    assert decision.first_release.date == "1977-10-07"
    assert decision.first_release.because == (
        "a verified source dates the single 'Slow Tram' 1977-10-07"
    )
    assert decision.adjudication is None
    unchanged = ("state", "decided_by", "crg_mbid", "rr_mbid", "crg_rule", "rationale")
    assert all(getattr(decision, name) == getattr(plain, name) for name in unchanged)


@pytest.mark.parametrize("outcome", [Outcome.REVIEW, Outcome.REJECTED, Outcome.ERROR])
def test_any_other_answer_leaves_year_and_decision_as_they_are(outcome: Outcome) -> None:
    result = answered(outcome, problem="one more source")
    decision = decide_bundle(
        Pipeline(RULES, Answering(result), asks_years=True), evidence()
    ).decision
    plain = decide_bundle(Pipeline(RULES), evidence()).decision
    assert decision == replace(plain, year_answer=result)
    assert decision.state is State.DECIDED


def test_a_model_is_asked_for_years_only_where_that_is_wanted() -> None:
    pipeline = Pipeline(RULES, Answering(answered(Outcome.ACCEPTED)))
    assert (
        decide_bundle(pipeline, evidence()).decision
        == decide_bundle(Pipeline(RULES), evidence()).decision
    )


def test_a_run_about_a_year_is_recorded_and_replayed(tmp_path: Path) -> None:
    world = next(each for each in worlds("year_right") if each.told_by == "structure")
    with serving(world) as (_, config, tools):
        adjudicator = ReActAdjudicator(
            config, chat=Table(Robot(), None), tools=tools, record=tmp_path
        )
        pipeline = Pipeline(RULES, adjudicator, asks_years=True)
        decision = decide_bundle(pipeline, world.evidence.bundle).decision
    again = replay(next(tmp_path.iterdir()))
    assert decision.year_answer
    assert (again.outcome, again.facts) == (Outcome.ACCEPTED, decision.year_answer.facts)


# A group that stays open gets no question about the year; its facts count all the same.

LEADS_TO_TWO = (
    'S | Single | Slow Tram | 1980 GB [R 1, 7"]',
    "A | Album | Rails | 1981 GB [R 2, LP]",
    "B | Album | Roads | 1981 GB [R 3, LP]",
)
COLLECTED_TWICE = (ALONE[0].replace("1981-03-02", "1981"), "D | Album+Compilation | All | 1981 GB")
SINGLES = "Title: Slow Tram\n> Single by Lena Frost\n> Released | {}"


@pytest.mark.parametrize(("records", "fact", "date"), [
    (LEADS_TO_TWO, {}, "1980-12-05"),
    (COLLECTED_TWICE, {"about": "the recording", "field": "first_release"}, "1977-10-07"),
])  # fmt: skip
def test_facts_date_the_first_release_although_the_group_stays_open(
    records: Sequence[str], fact: dict[str, str], date: str
) -> None:
    bundle = load_evidence("year", RAW | {"records": records})
    cited = [fact | {"value": date, "quote": date, "source": TRUSTED}] if fact else []
    rival = "Slow Tram, the single by Lena Frost, was released on 3 May {}."
    for page, reading, is_dated in (
        (SINGLES.format(date), "unclear", True),
        (f"{SINGLES.format(date)}\n{rival.format(date[:4])}", "first_release", False),
    ):
        result = adjudicated(
            look(), *[final(facts=cited)] * 3, page=page, readings=[reading] * 8,
            evidence=bundle.document, max_iterations=4,
        )  # fmt: skip
        assert result.outcome is Outcome.REVIEW
        decision = decide_bundle(Pipeline(RULES, Answering(result)), bundle.bundle).decision
        assert decision.first_release
        assert (decision.first_release.date == date) is is_dated, result.problem
        assert (decision.first_release.by is SaidBy.FACTS) is is_dated
        assert decision.state is State.REVIEW
