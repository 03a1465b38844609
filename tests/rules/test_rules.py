"""What the rules decide, what they must not decide, and what they ask where a case is open."""

import json
from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import evidence_hash, read_bundle
from chart_binder.domain.verdict import Decided, Open, Override
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from golden.bundles import CASES
from rules.making import (
    Json,
    album,
    bundle,
    cases,
    compilation,
    document,
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
    verdict = decide(bundle(*records(text), **json.loads(what)), KNOBS)
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
def test_a_compilation_stands_unless_the_recording_is_older(
    known: str, text: str, outcome: str
) -> None:
    facts = json.loads(known)
    of_all = {name: facts.pop(name) for name in ("siblings",) if name in facts}
    evidence = document(recording(*records(text), **facts), **of_all)
    verdict = decide(read_bundle(evidence), KNOBS)
    assert in_short(verdict).split()[0] == outcome, verdict


ODD: tuple[tuple[str, Json, str], ...] = (
    # claim, a release as somebody may write it, what comes of its album
    ("a status that only flags tell", {"status": None, "flags": {"is_official": True}}, "A"),
    ("a copy that only flags tell", {"status": None, "flags": {"is_promo": True}}, "open"),
    ("a status in other letters", {"status": "official", "country": "uk"}, "A"),
    ("a date with unknown parts", {"date": "1975-??-??"}, "A"),
    ("a flag that denies what no status tells",
     {"status": None, "flags": {"is_official": False}}, "open"),
)  # fmt: skip


@pytest.mark.parametrize(("changes", "outcome"), [pytest.param(*row[1:], id=row[0]) for row in ODD])
def test_other_words_for_the_same_are_understood(changes: Json, outcome: str) -> None:
    verdict = decide(bundle(album("A", release("1975") | changes)), KNOBS)
    assert in_short(verdict).split()[0] == outcome


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


def test_a_record_that_stands_twice_counts_once() -> None:
    one = album("A", "1975-06-01")
    verdict = decide(read_bundle(document(recording(one, one))), KNOBS)
    assert isinstance(verdict, Decided)
    assert (verdict.crg, verdict.rr, verdict.rivals) == ("A", "A.1", ())


X, Y = album("X", "1975-11-21"), single("X", "1975-11-21")
B = single("B", "1975-10-31")
ONE_ID = "00000000-0000-4000-8000-000000000001"
ONE_RELEASE = release("1975-10-31", mb_release_id=ONE_ID)
OWN_ID = ONE_RELEASE | {"mb_release_id": "1"}
AT_HOME = release("1975-11-21", mb_release_id="q")
CONTRADICTORY: tuple[tuple[str, list[Json], str, tuple[str, ...]], ...] = (
    # claim, records, what comes of them, what is asked
    ("an album that is a single too", [X, Y, B], "open",
     ("the evidence calls 'X' both an album and a single: which is it?",)),
    ("an album that is a single too, where it does not matter",
     [X, Y, single("B", "1974")], "B SINGLE_TRUE_PREMIERE", ()),
    ("an album that is a compilation too",
     [X, X | {"secondary_types": ["Compilation"]}, album("B", "1980")],
     "X COMPILATION_AS_PREMIERE", ()),
    ("an album that is a compilation too, after a single",
     [X, X | {"secondary_types": ["Compilation"]}, B], "open",
     ("the evidence calls 'X' both a compilation and an album: which is it?",)),
    ("an album of the artist and of various artists",
     [X, X | {"artist_credit": "Various Artists"}, B], "open",
     ("the evidence credits 'X' both to Queen and Various Artists: which is right?",)),
    ("a description that lacks the type contradicts nothing",
     [X, X | {"primary_type": None}, B], "X ALBUM_LEAD_WINDOW", ()),
    ("a group of two dates without releases",
     [album("X", releases=None, first_release_date=date) for date in ("1970", "1975-11-21")]
     + [single("S", "1972")], "open",
     ("the evidence dates 'X' both 1970 and 1975-11-21: which is right?",)),
    ("a release of two dates",
     [album("X", AT_HOME, AT_HOME | {"date": "1970-01-01"}), single("S", "1972-01-01")], "open",
     ("the evidence dates the release q of 'X' both 1970-01-01 and 1975-11-21: which is right?",)),
    ("a release of a day and its year",
     [album("X", AT_HOME, AT_HOME | {"date": "1975"})], "X EARLIEST_OFFICIAL", ()),
    ("a release of two statuses",
     [album("X", AT_HOME, AT_HOME | {"status": "Bootleg"}), single("S", "1979")], "open",
     ("the evidence calls the release q of 'X' both Bootleg and Official: which is right?",)),
    ("a release of two records",
     [album("X", ONE_RELEASE), single("S", ONE_RELEASE)], "open",
     ((f"the evidence lists the release {ONE_ID} on both the album 'X' and the single 'S':"
      " on which is it?"),)),
    ("a release of two records, where it does not matter",
     [album("X", "1975-10-01", ONE_RELEASE), compilation("C", ONE_RELEASE)],
     "X EARLIEST_OFFICIAL", ()),
    ("releases that a producer numbers in each record",
     [album("X", OWN_ID), single("S", OWN_ID)], "X ALBUM_SAME_DATE", ()),
)  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "outcome", "facts"), [pytest.param(*row[1:], id=row[0]) for row in CONTRADICTORY]
)
def test_what_the_evidence_says_in_two_ways_decides_nothing(
    groups: list[Json], outcome: str, facts: tuple[str, ...]
) -> None:
    for title in ("killer queen", "Killer Queen"):
        named = [groups[0] | {"title": title}, *groups[1:]]
        apart = [recording(one, mb_recording_id=f"r{n}") for n, one in enumerate(groups)]
        for takes in ([recording(*groups)], [recording(*groups[::-1])], apart):
            verdict = decide(read_bundle(document(*takes)), KNOBS)
            assert (in_short(verdict), verdict.missing_facts) == (outcome, facts)
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


@pytest.mark.parametrize("case", cases("questions.txt", is_named=False))
def test_the_question_names_what_would_settle_it(case: tuple[str, ...]) -> None:
    _, text, known, *questions = case
    verdict = decide(bundle(*records(text), **json.loads(known)), KNOBS)
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
