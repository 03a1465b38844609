"""Each candidate that lost has its reason, also in decisions of a model."""

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Open
from chart_binder.jobs.decide import Case, Decider
from chart_binder.jobs.explain import why_not
from chart_binder.llm.result import AdjudicationResult, Fact, Outcome
from golden.bundles import CASES, Bundle, year_only_single
from rules.making import compilation, document, recording, single

RULES = RulesConfig()
SINGLE, ALBUM = "361a28b7-4588-44a6-8c96-86c1efb8258f", "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
DATED = Fact(SINGLE, "first_release_date", "1975-10-31", "https://a.example/", verified=True)


def adjudicated(
    bundle: Bundle,
    crg: str | None,
    *facts: Fact,
    outcome: Outcome = Outcome.ACCEPTED,
    why: str = "So.",
) -> Case:
    decider = Decider(RULES)
    result = AdjudicationResult(outcome, crg_mbid=crg, confidence=0.9, rationale=why, facts=facts)
    return decider.apply_answer(decider.decide(read_bundle(bundle)), result)


def reasons(case: Case) -> dict[str, str]:
    return {one.title: one.why_not for one in why_not(case, RULES)}


def test_what_the_rules_left_possible_lost_by_the_models_word() -> None:
    assert reasons(adjudicated(year_only_single(), ALBUM)) == {
        "Bohemian Rhapsody": "single (1975): the model chose the album 'A Night at the Opera': So.",
        "Greatest Hits": "compilation (1981-11-03): 6 years later than the album"
        " 'A Night at the Opera'",
    }


def test_what_verified_facts_let_the_rules_confirm_is_their_reason() -> None:
    assert reasons(adjudicated(year_only_single(), ALBUM, DATED)) == {
        "Bohemian Rhapsody": "single (1975-10-31): led to the album 'A Night at the Opera' 21 days"
        " later, with the verified facts in",
        "Greatest Hits": "compilation (1981-11-03): 6 years later than the album"
        " 'A Night at the Opera', with the verified facts in",
    }


def test_what_the_rules_would_choose_with_the_facts_is_not_kept_quiet() -> None:
    told = reasons(adjudicated(year_only_single(), SINGLE, DATED, outcome=Outcome.REVIEW))
    assert told["A Night at the Opera"] == (
        "album (1975-11-21): with the verified facts in, CRG:ALBUM_LEAD_WINDOW gives the album"
        " 'A Night at the Opera', but the model chose the single 'Bohemian Rhapsody': So."
    )


def test_a_fact_that_no_source_bears_out_is_no_reason() -> None:
    cited = Fact(SINGLE, "first_release_date", "1975-10-31", "https://a.example/")
    assert reasons(adjudicated(year_only_single(), ALBUM, cited)) == reasons(
        adjudicated(year_only_single(), ALBUM)
    )


def test_a_record_from_a_page_alone_is_told_of_as_such() -> None:
    told = reasons(adjudicated(year_only_single(), "elsewhere", outcome=Outcome.REVIEW))
    assert len(told) == 3
    for said in told.values():
        assert said.endswith("the model chose a record that the evidence lacks: So.")


def test_a_long_reason_is_cut_and_an_absent_one_said_to_be() -> None:
    told = reasons(adjudicated(year_only_single(), ALBUM, why="word " * 100))
    assert told["Bohemian Rhapsody"].endswith("word ...")
    assert len(told["Bohemian Rhapsody"]) < 300
    told = reasons(adjudicated(year_only_single(), ALBUM, why=""))
    assert told["Bohemian Rhapsody"].endswith(": no reason was given")


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.ERROR])
def test_an_answer_that_is_not_taken_leaves_all_candidates(outcome: Outcome) -> None:
    case = adjudicated(year_only_single(), ALBUM, outcome=outcome)
    assert case.verdict is not None
    assert why_not(case, RULES) == case.verdict.rivals


def test_a_recording_that_is_left_out_is_neither_a_rival_of_itself_nor_a_reason() -> None:
    live = recording(single("L", "1974-01-01")) | {
        "mb_recording_id": "other", "disambiguation": "live, 1974-01-01: Lyon",
    }  # fmt: skip
    bundle = document(recording(compilation("C", "1974"), compilation("D", "1974")), live)
    assert set(reasons(adjudicated(bundle, "C"))) == {"D", "L"}
    assert set(reasons(adjudicated(bundle, "L", outcome=Outcome.REVIEW))) == {"C", "D"}


def test_of_every_golden_open_case_each_other_candidate_has_one_line() -> None:
    seen = 0
    for case in CASES.values():
        before = Decider(RULES).decide(read_bundle(case["bundle"]))
        if not isinstance(before.verdict, Open) or before.verdict.proposal:
            continue
        all_of_them = [one.release_group for one in before.verdict.rivals]
        for crg in all_of_them:
            told = why_not(adjudicated(case["bundle"], crg), RULES)
            assert sorted([crg, *(one.release_group for one in told)]) == sorted(all_of_them)
            assert all(one.why_not.partition(": ")[2] for one in told)
            seen += 1
    assert seen >= 20
