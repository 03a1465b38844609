"""Each candidate that lost has its reason, also in decisions of a model."""

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Open
from chart_binder.jobs.decision import Case
from chart_binder.jobs.explain import appearances, lead_window, why_not
from chart_binder.jobs.pipeline import Pipeline, apply_answer, decide_bundle
from chart_binder.llm.result import AdjudicationResult, Fact, Outcome
from golden.bundles import CASES, Bundle, year_only_single
from rules.making import compilation, document, recording, records, single

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
    pipeline = Pipeline(RULES)
    result = AdjudicationResult(outcome, crg_mbid=crg, confidence=0.9, rationale=why, facts=facts)
    return apply_answer(pipeline, decide_bundle(pipeline, read_bundle(bundle)), result)


def reasons(case: Case) -> dict[str, str]:
    return {item["title"]: item["why_not"] for item in why_not(case, RULES).with_remarks}


OPERA, HITS = "A Night at the Opera", "compilation (1981-11-03): 6 years later than the album"
CITED = Fact(SINGLE, "first_release_date", "1975-10-31", "https://a.example/")
CHOSEN = f"single (1975): the model chose the album '{OPERA}': "
# (claim, release group of the answer, its facts, its rationale, ends of the reasons by title)
REASONS: list[tuple[str, str, tuple[Fact, ...], str, dict[str, str]]] = [
    ("the model's word", ALBUM, (), "So.",
     {"Bohemian Rhapsody": f"{CHOSEN}So.", "Greatest Hits": f"{HITS} '{OPERA}'"}),
    ("verified facts", ALBUM, (DATED,), "So.",
     {"Bohemian Rhapsody": f"single (1975-10-31): led to the album '{OPERA}' 21 days later,"
      " counting the verified facts",
      "Greatest Hits": f"{HITS} '{OPERA}', counting the verified facts"}),
    ("a fact without a source", ALBUM, (CITED,), "So.",
     {"Bohemian Rhapsody": f"{CHOSEN}So.", "Greatest Hits": f"{HITS} '{OPERA}'"}),
    ("against the rules with the facts", SINGLE, (DATED,), "So.",
     {OPERA: "album (1975-11-21): with the verified facts, CRG:ALBUM_LEAD_WINDOW gives the"
      f" album '{OPERA}', but the model chose the single 'Bohemian Rhapsody': So."}),
    ("a record of a page alone", "elsewhere", (), "So.", dict.fromkeys(
        ("Bohemian Rhapsody", OPERA, "Greatest Hits"),
        "the model chose a record that the evidence lacks: So.")),
    ("a long reason", ALBUM, (), "word " * 100,
     {"Bohemian Rhapsody": f"{CHOSEN}{'word ' * 40}..."}),
    ("no reason", ALBUM, (), "", {"Bohemian Rhapsody": f"{CHOSEN}no reason was given"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("crg", "facts", "why", "expected"), [pytest.param(*row[1:], id=row[0]) for row in REASONS]
)
def test_a_candidate_lost_by_the_rules_or_by_the_models_word(
    crg: str, facts: tuple[Fact, ...], why: str, expected: dict[str, str]
) -> None:
    texts = reasons(adjudicated(year_only_single(), crg, *facts, outcome=Outcome.REVIEW, why=why))
    assert len(texts) == 2 + (crg == "elsewhere")
    for title, reason in expected.items():
        assert texts[title].endswith(reason)


def test_a_recording_that_is_left_out_is_neither_a_rival_of_itself_nor_a_reason() -> None:
    live = recording(single("L", "1974-01-01")) | {
        "mb_recording_id": "other", "disambiguation": "live, 1974-01-01: Lyon",
    }  # fmt: skip
    bundle = document(recording(compilation("C", "1974"), compilation("D", "1974")), live)
    assert set(reasons(adjudicated(bundle, "C"))) == {"D", "L"}
    assert set(reasons(adjudicated(bundle, "L", outcome=Outcome.REVIEW))) == {"C", "D"}


def test_of_every_golden_open_case_each_other_candidate_has_one_line() -> None:
    count = 0
    for case in CASES.values():
        before = decide_bundle(Pipeline(RULES), read_bundle(case["bundle"]))
        if not isinstance(before.verdict, Open) or before.verdict.proposal:
            continue
        refused = adjudicated(case["bundle"], None, outcome=Outcome.REJECTED)
        assert why_not(refused, RULES).rivals == before.verdict.rivals
        all_of_them = [item.release_group for item in before.verdict.rivals]
        for crg in all_of_them:
            lost = why_not(adjudicated(case["bundle"], crg), RULES).rivals
            assert sorted([crg, *(item.release_group for item in lost)]) == sorted(all_of_them)
            assert all(item.reason for item in lost)
            count += 1
    assert count >= 20


def evidence(text: str) -> EvidenceBundle:
    """Evidence of one recording on the records of a text, as `rules.making.records` reads it."""
    return read_bundle(document(recording(*records(text))))


def test_the_lead_window_is_certain_only_for_days_that_follow_every_possible_date() -> None:
    window = lead_window(evidence("S single 1974-10; A album 1974-11-08"), RULES)
    assert window is not None
    assert [str(day) for day in (window.earliest, window.from_, window.to, window.latest)] == [
        "1974-10-02", "1974-11-01", "1974-12-30", "1975-01-29",
    ]  # fmt: skip
    vague = lead_window(evidence("S single 1974; A album 1974-11-08"), RULES)
    assert vague is not None
    assert (vague.from_, vague.to) == (None, None)


@pytest.mark.parametrize(
    "text", ["A album 1974", "S single 1974", "S single undated; A album 1974", "L live 1974"]
)
def test_there_is_no_window_where_no_single_comes_before_an_album(text: str) -> None:
    assert lead_window(evidence(text), RULES) is None


def test_each_date_names_its_release() -> None:
    (album, single) = appearances(
        evidence("A album 1974-11@DE 1974@US 1974-11@GB 1980 1974-10/promo; S single group:1975")
    )
    assert [(item.date, item.release, item.description, item.others) for item in album.sources] == [
        ("1974", "A.2", "US", 0), ("1974-11", "A.1", "DE", 1),
    ]  # fmt: skip
    assert [(item.date, item.status) for item in album.aside] == [("1974-10", "Promotion")]
    assert [(item.date, item.release) for item in single.sources] == [("1975", None)]


def test_the_first_and_last_days_of_the_calendar_are_days() -> None:
    bundle = evidence("S single 0001-01-01; A album 0001-02; L live 9999-12-31; C compilation 0001")
    assert [item.since and item.since.isoformat() for item in appearances(bundle)] == [
        "0001-01-01", "0001-01-01", "0001-02-01", "9999-12-31",
    ]  # fmt: skip
