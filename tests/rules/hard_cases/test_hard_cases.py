"""Hard cases written from the rules' wording alone, by people's knowledge of the records."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided, FirstRelease, Open
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from rules.hard_cases.build import Case, read_cases

CONFIG = RulesConfig()
HERE = Path(__file__).parent
RR_RULES = ("ORIGIN_COUNTRY_EARLIEST", "WORLD_EARLIEST", "REISSUE_FILTER_APPLIED")


def _cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case.id) for case in read_cases(HERE / name)]


@pytest.mark.parametrize("case", _cases("crg.txt"))
def test_the_record_that_a_recording_belongs_to(case: Case) -> None:
    assert not decision_complaints(case), case.reason


@pytest.mark.parametrize("case", _cases("first_release.txt"))
def test_the_first_release(case: Case) -> None:
    bundle = read_bundle(case.bundle)
    found = first_release(bundle, decide(bundle, CONFIG), CONFIG)
    assert _in_words(found, case.expected) == case.expected, (case.reason, found)


@pytest.mark.parametrize("name", ["crg.txt", "first_release.txt"])
def test_every_case_has_an_id_of_its_own_and_a_reason(name: str) -> None:
    cases = read_cases(HERE / name)
    assert len({case.id for case in cases}) == len(cases)
    assert all(case.clause and case.reason for case in cases)


def decision_complaints(case: Case) -> list[str]:
    """Return what the decision on a case gets wrong; `A RULE rr 1`, `open KIND`, `A|open`."""
    verdict = decide(read_bundle(case.bundle), CONFIG)
    chosen, *rest = case.expected.split()
    found = verdict.crg if isinstance(verdict, Decided) else "open"
    if found not in chosen.split("|"):
        return [f"found {found}: {verdict.because}"]
    if isinstance(verdict, Open):
        return _open_complaints(verdict, rest)
    complaints = []
    for word, following in pairwise([*rest, ""]):
        if word == "rr":
            if verdict.rr not in [f"{found}.{number}" for number in following.split(",")]:
                complaints.append(f"another release: {verdict.rr_rule} {verdict.rr}")
        elif word.isupper():
            rule = verdict.rr_rule if word in RR_RULES else verdict.crg_rule
            if rule.partition(":")[2] != word:
                complaints.append(f"found {rule}, not {word}")
    return complaints


def _open_complaints(verdict: Open, rest: list[str]) -> list[str]:
    match rest:
        case ["proposes", name]:
            found = verdict.proposal.crg if verdict.proposal else "nothing"
            return [] if found == name else [f"proposes {found}, not {name}"]
        case [kind]:
            kinds = [question.kind for question in verdict.questions]
            return [] if kind in kinds else [f"asks {kinds}, not {kind}: {verdict.because}"]
    return []


def _in_words(found: FirstRelease | None, expected: str) -> str:
    """Say what was found, with the release (`S.1`, `S.-` for none) where that is `expected`."""
    if found is None:
        return "none"
    name = found.release_group_mbid or "-"
    if f" {name}." in expected:
        name = found.release_mbid or f"{name}.-"
    certain = "certain" if found.year_certain else "uncertain"
    return f"{found.date} {name} {certain}{' via sibling' if found.via_sibling else ''}"
