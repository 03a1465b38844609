"""What the rules decide, what they must not decide, and what they ask where a case is open."""

from typing import Any

import pytest
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import evidence_hash, read_bundle
from chart_binder.domain.verdict import Decided, Open, Override
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.rules.contest import candidates_meant, contest_of
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from chart_binder.rules.labels import labelled_candidates
from golden.bundles import CASES
from rules.making import (
    album,
    bundle,
    cases,
    document,
    evidence_of,
    record,
    recording,
    records,
    release,
    single,
)

KNOBS = RulesConfig()


@pytest.mark.parametrize(("text", "outcome"), cases("decisions.txt"))
def test_the_rules_hold(text: str, outcome: str) -> None:
    verdict = decide(bundle(*records(text)), KNOBS)
    assert in_short(verdict) == outcome, verdict
    assert len(verdict.rivals) == len(records(text)) - isinstance(verdict, Decided)


@pytest.mark.parametrize(("what", "text", "outcome"), cases("special_recordings.txt"))
def test_a_special_recording_has_its_own_home(what: str, text: str, outcome: str) -> None:
    verdict = decide(read_bundle(evidence_of(what, text)), KNOBS)
    assert in_short(verdict) == outcome, verdict


def in_short(verdict: Decided | Open) -> str:
    if isinstance(verdict, Open):
        assert all(fact.strip() for fact in verdict.missing_facts)
        return "open" if verdict.missing_facts else "open without a question"
    assert verdict.path[-2].said == verdict.because
    return f"{verdict.crg} {verdict.crg_rule.removeprefix('CRG:')}"


def test_a_soundtrack_among_compilations_is_held_against_what_contradicts_it() -> None:
    text = "O Album+Compilation+Soundtrack 1982; V various 1985"
    verdict = decide(bundle(*records(text), isrcs=["GBCEE7700017"]), KNOBS)
    assert isinstance(verdict, Open)
    assert "ISRC GBCEE7700017 was assigned in 1977" in verdict.missing_facts[0]


@pytest.mark.parametrize(("known", "text", "outcome"), cases("contradictions.txt"))
def test_a_compilation_stands_unless_it_is_older(known: str, text: str, outcome: str) -> None:
    verdict = decide(read_bundle(evidence_of(known, text)), KNOBS)
    assert in_short(verdict).split()[0] == outcome, verdict


def test_a_various_artists_album_is_known_by_its_releases_credit() -> None:
    various = album("V", release("1979-06-22", artist_credit="Various Artists"), artist_credit=None)
    verdict = decide(bundle(*records("S single 1979-06-01"), various), KNOBS)
    assert in_short(verdict) == "S SINGLE_TRUE_PREMIERE"


def test_compilations_can_be_left_aside_altogether() -> None:
    rules_config = RulesConfig(compilation_premiere=False)
    assert in_short(decide(bundle(*records("C compilation 1981")), rules_config)) == "open"
    early = decide(bundle(*records("C compilation 2002; A album 2008")), rules_config)
    assert in_short(early) == "A EARLIEST_OFFICIAL"


def test_the_window_is_a_knob() -> None:
    evidence = bundle(*records("S single 1974-10-11; A album 1974-11-08"))
    outcomes = [decide(evidence, RulesConfig(lead_window_days=days)) for days in (27, 28)]
    assert [in_short(one) for one in outcomes] == [
        "S SINGLE_TRUE_PREMIERE", "A ALBUM_LEAD_WINDOW",
    ]  # fmt: skip


def test_a_label_of_authority_settles_a_tie() -> None:
    one = album("A", release("1975-06-01", label="Jasrac"))
    other = album("B", release("1975-06-01", label="EMI"))
    assert in_short(decide(bundle(one, other), KNOBS)) == "open"
    rules_config = RulesConfig(label_authority_order=("emi",))
    assert in_short(decide(bundle(one, other), rules_config)) == "B EARLIEST_OFFICIAL"


def test_countries_and_labels_of_later_releases_settle_no_tie() -> None:
    rules_config = RulesConfig(label_authority_order=("EMI",))
    of_all = {"countries": ["US", "GB"], "labels": ["EMI", "Elektra"]}
    american = release("1975-06-01", "US", label="Elektra")
    one = album("A", american, release("1980", "GB", label="EMI"), **of_all)
    assert in_short(decide(bundle(one, album("B", american)), rules_config)) == "open"
    unlisted = {"releases": None, "first_release_date": "1975-06-01"}
    verdict = decide(bundle(album("A", **of_all, **unlisted), album("B", american)), rules_config)
    assert in_short(verdict) == "A EARLIEST_OFFICIAL"


def test_a_contest_is_built_once_and_every_part_of_a_case_has_its_candidates() -> None:
    evidence = bundle(*records("S single 1974-10-11; A album 1974-11-08; V various 1979"))
    verdict = decide(evidence, KNOBS)
    contest = contest_of(evidence, KNOBS)
    assert contest_of(evidence, RulesConfig()) is contest
    assert decide(evidence, KNOBS) is verdict
    labelled = {id(one) for _, one in labelled_candidates(evidence)}
    assert (
        labelled
        == {id(one) for one in contest.candidates}
        == {id(one) for one in candidates_meant(evidence)}
    )
    narrow = RulesConfig(lead_window_days=10)
    assert contest_of(evidence, narrow).settings is narrow
    assert in_short(decide(evidence, narrow)) == "S SINGLE_TRUE_PREMIERE"
    assert decide(replace(evidence), KNOBS) == verdict


def test_a_record_that_stands_twice_counts_once() -> None:
    one = album("A", "1975-06-01")
    verdict = decide(read_bundle(document(recording(one, one))), KNOBS)
    assert isinstance(verdict, Decided)
    assert (verdict.crg, verdict.rr, verdict.rivals) == ("A", "A.1", ())


@pytest.mark.parametrize("case", cases("self_contradictions.txt", is_named=False))
def test_what_the_evidence_says_in_two_ways_decides_nothing(case: tuple[str, ...]) -> None:
    _, text, outcome, *facts = case
    groups = records(text)
    for title in ("killer queen", "Killer Queen"):
        named = [groups[0] | {"title": title}, *groups[1:]]
        apart = [recording(one, mb_recording_id=f"r{n}") for n, one in enumerate(groups)]
        for takes in ([recording(*groups)], [recording(*groups[::-1])], apart):
            verdict = decide(read_bundle(document(*takes)), KNOBS)
            assert (in_short(verdict), verdict.missing_facts) == (outcome, tuple(facts))
        verdict = decide(read_bundle(document(recording(*named))), KNOBS)
        assert in_short(verdict) == outcome


def test_recordings_without_any_record_are_open() -> None:
    for evidence in (document(), document(recording()), document(recording(rg_candidates=None))):
        verdict: Any = decide(read_bundle(evidence), KNOBS)
        assert in_short(verdict) == "open"


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES.values()])
def test_a_golden_recording_is_decided_as_expected(case: dict[str, Any]) -> None:
    expected, evidence = case["expected"], read_bundle(case["bundle"])
    verdict = decide(evidence, KNOBS)
    first, wanted = first_release(evidence, verdict, KNOBS), expected["first_release"]
    assert (first and {key: getattr(first, key) for key in wanted or ()}) == wanted, first
    if isinstance(verdict, Open):
        assert expected["crg_mbid"] is None, verdict
        assert verdict.missing_facts
        return
    assert verdict.crg == expected["crg_mbid"], verdict
    assert verdict.rr in (expected["rr_acceptable"] or [None]), verdict
    assert (verdict.crg_rule, verdict.rr_rule) == (expected["crg_rule"], expected["rr_rule"])


@pytest.mark.parametrize(("kind", "title"), cases("best_of_titles.txt", is_named=False))
def test_a_best_of_without_its_type_is_known_by_its_title(kind: str, title: str) -> None:
    verdict = decide(
        bundle(single("S", "2002-02-25"), album("A", "2002-03-19", title=title)), KNOBS
    )
    assert in_short(verdict).startswith("S " if kind == "best-of" else "A "), verdict


@pytest.mark.parametrize(("kind", "title"), cases("best_of_titles.txt", is_named=False))
def test_a_best_of_without_any_type_gives_no_certain_year(kind: str, title: str) -> None:
    evidence = bundle(record("U", "", "1990", title=title))
    first = first_release(evidence, decide(evidence, KNOBS), KNOBS)
    assert first
    assert first.year_certain is (kind == "album"), first.because


@pytest.mark.parametrize("case", cases("questions.txt", is_named=False))
def test_the_question_names_what_would_settle_it(case: tuple[str, ...]) -> None:
    _, text, known, *questions = case
    verdict = decide(read_bundle(evidence_of(known, text)), KNOBS)
    assert isinstance(verdict, Open), verdict
    assert sorted(verdict.missing_facts) == questions


def test_evidence_that_is_cut_short_decides_nothing_by_itself() -> None:
    made = document(recording(*records("S single 1974-10-11; A album 1974-11-08")))
    whole, cut = (decide(read_bundle(made | {"complete": one}), KNOBS) for one in (True, False))
    assert isinstance(whole, Decided)
    assert isinstance(cut, Open)
    assert cut.proposal == whole
    assert cut.because == f"the evidence is cut short; by what was read, {whole.because}"
    (question,) = cut.questions
    assert question.text.startswith("the evidence is cut short (more was found than was read): ")
    told = made | {"complete": False, "provenance": {"unread": "a search shows 100 of 4645"}}
    assert "(a search shows 100 of 4645)" in decide(read_bundle(told), KNOBS).missing_facts[0]
    assert evidence_hash(read_bundle(told)) == evidence_hash(read_bundle(told | {"provenance": {}}))
    opened = document(recording(*records("S single 1974; A album 1974")), complete=False)
    verdict = decide(read_bundle(opened), KNOBS)
    assert isinstance(verdict, Open)
    assert verdict.proposal is None
    ruled = decide(read_bundle(made | {"complete": False}), KNOBS, Override(ReleaseGroupId("S")))
    assert isinstance(ruled, Decided)


def test_the_reason_names_what_it_assumes() -> None:
    made = document(recording(*records("V various 1993")), siblings="looked_up")
    verdict = decide(read_bundle(made), KNOBS)
    assert isinstance(verdict, Decided)
    assert verdict.because == (
        "nothing else than the compilation 'V' (1993) carries it officially, and no other recording"
        " of the performance was found"
    )


def test_many_vague_dates_are_not_all_asked_for() -> None:
    evidence = bundle(*records(";".join(f"A{n} album 1975" for n in range(40))))
    verdict = decide(evidence, KNOBS)
    assert isinstance(verdict, Open)
    assert len(verdict.missing_facts) == 5
    assert "or 37 more" in verdict.because
