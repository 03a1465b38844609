"""Every decision says how it was reached, and of every other record why it was not chosen."""

import json
from typing import Any

import msgspec
import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided, Open, Override
from chart_binder.domain.vocabulary import ReleaseGroupId, ReleaseId
from chart_binder.jobs.explain import appearances
from chart_binder.rules.decide import decide
from chart_binder.rules.premiere import RULES
from rules.making import (
    album,
    bundle,
    cases,
    document,
    recording,
    records,
    release,
    single,
)

KNOBS = RulesConfig()


def decided(*records: Any, **more: Any) -> Decided:
    verdict = decide(bundle(*records, **more), KNOBS)
    assert isinstance(verdict, Decided), verdict
    return verdict


@pytest.mark.parametrize(("text", "because"), cases("reasons.txt", is_named=False))
def test_a_decision_gives_its_reason(text: str, because: str) -> None:
    assert decided(*records(text)).because == because


def test_the_path_ends_with_the_rules_that_decided() -> None:
    verdict = decided(single("S", "1974-10-11"), album("A", "1974-11-08"))
    assert [one.rule for one in verdict.path] == [
        "CRG:SOUNDTRACK_PREMIERE", "CRG:ALBUM_LEAD_WINDOW", "RR:ORIGIN_COUNTRY_EARLIEST",
    ]  # fmt: skip
    assert verdict.path[0].said == "no soundtrack carries it"
    assert (
        verdict.path[-1].said
        == "the release GB of 1974-11-08 is the earliest in the artist's country"
    )


def test_the_path_of_an_open_case_names_every_rule() -> None:
    verdict = decide(bundle(single("S", "1974"), album("A", "1974")), KNOBS)
    assert [one.rule for one in verdict.path] == [code for code, _ in RULES]
    assert verdict.path[1].said == ("may choose the album 'A' (1974): the facts known do not tell")


@pytest.mark.parametrize("case", cases("rivals.txt", is_named=False))
def test_every_other_record_is_told_why_not(case: tuple[str, ...]) -> None:
    text, *rivals = case
    verdict = decided(*records(text))
    assert [f"{one.release_group}: {one.why_not}" for one in verdict.rivals] == rivals
    assert all(one.title == one.release_group for one in verdict.rivals)


def test_a_nameless_record_goes_by_its_id() -> None:
    verdict = decided(album("A", "1974", title=None), album("B", "1976", title=None))
    assert verdict.because.startswith("the album 'A' (1974)")
    assert verdict.rivals[0].title == "B"


def test_verdicts_have_a_json_form() -> None:
    for evidence in (bundle(album("A", "1974")), bundle(single("S", "1974"), album("A", "1974"))):
        verdict = decide(evidence, KNOBS)
        plain = msgspec.json.encode(verdict)
        assert msgspec.json.decode(plain, type=Decided | Open) == verdict
        assert json.loads(plain)["path"][0] == {
            "rule": "CRG:SOUNDTRACK_PREMIERE", "said": "no soundtrack carries it",
        }  # fmt: skip


def test_a_person_overrules_every_rule() -> None:
    evidence = bundle(single("S", "1974-10-11"), album("A", "1974-11-08"))
    ruled = Override(ReleaseGroupId("S"), reason="the single mix is another mix")
    verdict = decide(evidence, KNOBS, ruled)
    assert isinstance(verdict, Decided)
    assert (verdict.crg, verdict.crg_rule) == ("S", "CRG:MANUAL_OVERRIDE")
    assert (verdict.rr, verdict.rr_rule) == ("S.1", "RR:ORIGIN_COUNTRY_EARLIEST")
    assert verdict.because == "the single mix is another mix"
    assert [one.release_group for one in verdict.rivals] == ["A"]


@pytest.mark.parametrize(("text", "ruled", "why_not"), cases("overruled.txt", is_named=False))
def test_under_a_ruling_no_rule_is_why_another_lost(text: str, ruled: str, why_not: str) -> None:
    verdict = decide(bundle(*records(text)), KNOBS, Override(ReleaseGroupId(ruled)))
    found = {str(one.release_group): one.why_not for one in verdict.rivals}
    assert found["A"] == why_not
    assert ruled not in found


def test_a_ruling_is_named_behind_why_a_recording_was_left_out() -> None:
    takes = (recording(album("A", "1974"), mb_recording_id="a"),
             recording(single("L", "1975"), mb_recording_id="b", title="Song (live)"))  # fmt: skip
    verdict = decide(read_bundle(document(*takes)), KNOBS, Override(ReleaseGroupId("A")))
    (rival,) = verdict.rivals
    assert (rival.release_group, rival.why_not) == (
        "L",
        "the recording on it is of the kind 'live', not 'plain'; a person chose the album 'A'",
    )


def test_a_person_may_name_what_the_evidence_lacks() -> None:
    ruled = Override(ReleaseGroupId("elsewhere"), ReleaseId("a release"))
    verdict = decide(bundle(album("A", "1974")), KNOBS, ruled)
    assert isinstance(verdict, Decided)
    assert (verdict.crg, verdict.rr, verdict.rr_rule) == (
        "elsewhere", "a release", "RR:MANUAL_OVERRIDE",
    )  # fmt: skip
    assert verdict.recording == "rec"
    for evidence, recording_id in ((bundle(album("A", "1974")), "rec"), (bundle(), "rec"),
                                   (read_bundle(document()), "")):  # fmt: skip
        lacking = decide(evidence, KNOBS, Override(ReleaseGroupId("elsewhere")))
        assert isinstance(lacking, Decided)
        assert (lacking.rr, lacking.rr_rule) == (None, "RR:INDETERMINATE")
        assert lacking.recording == recording_id


def test_two_descriptions_of_a_release_are_told_alike_in_any_order() -> None:
    ways = [
        release("1975", mb_release_id="r", label=label, format=form)
        for label, form in (("EMI", "CD"), ("Parlophone", '12" Vinyl'), (None, "CD"))
    ]
    one, other = (bundle(album("A", *made)) for made in (ways, ways[::-1]))
    assert decide(one, KNOBS) == decide(other, KNOBS)
    assert appearances(one) == appearances(other)
