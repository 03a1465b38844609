"""Hard cases written from the rules' wording alone, by people's knowledge of the records.

Each is decided three times: as written, and twice with other ids and in another order.
"""

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
ORDERS = (0, 1, 2)
RR_RULES = ("ORIGIN_COUNTRY_EARLIEST", "WORLD_EARLIEST", "REISSUE_FILTER_APPLIED")


def _cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case.id) for case in read_cases(HERE / name)]


@pytest.mark.parametrize("case", _cases("crg.txt"))
def test_the_record_that_a_recording_belongs_to(case: Case) -> None:
    for order in ORDERS:
        assert not decision_complaints(case, order), case.reason


@pytest.mark.parametrize("case", _cases("first_release.txt"))
def test_the_first_release(case: Case) -> None:
    for order in ORDERS:
        assert not first_release_complaints(case, order), case.reason


def test_every_case_has_an_id_of_its_own_and_a_reason() -> None:
    cases = [*read_cases(HERE / "crg.txt"), *read_cases(HERE / "first_release.txt")]
    for name in ("crg.txt", "first_release.txt"):
        names = [case.id for case in read_cases(HERE / name)]
        assert sorted(names) == sorted(set(names))
    assert all(case.clause and case.reason and len(case.lines) > 1 for case in cases)


def decision_complaints(case: Case, order: int = 0) -> list[str]:
    """Return what the decision on a case gets wrong; `A RULE rr 1`, `open KIND`, `A|open`."""
    verdict = decide(read_bundle(case.bundle(order)), CONFIG)
    chosen, *rest = case.expected.split()
    named = {case.id_of(name, order): name for name in _labels(case)}
    found = named[verdict.crg] if isinstance(verdict, Decided) else "open"
    if found not in chosen.split("|"):
        return [f"found {found}: {verdict.because}"]
    if isinstance(verdict, Open):
        return _open_complaints(verdict, rest, named)
    complaints = []
    for word, following in pairwise([*rest, ""]):
        if word == "rr":
            wanted = [case.id_of(f"{found}.{number}", order) for number in following.split(",")]
            if verdict.rr not in wanted:
                complaints.append(f"another release: {verdict.rr_rule} {verdict.rr}")
        elif word.isupper():
            rule = verdict.rr_rule if word in RR_RULES else verdict.crg_rule
            if rule.partition(":")[2] != word:
                complaints.append(f"found {rule}, not {word}")
    return complaints


def _open_complaints(verdict: Open, rest: list[str], named: dict[str, str]) -> list[str]:
    match rest:
        case ["proposes", name]:
            proposal = verdict.proposal
            found = named[proposal.crg] if proposal else "nothing"
            return [] if found == name else [f"proposes {found}, not {name}"]
        case [kind]:
            kinds = [question.kind for question in verdict.questions]
            return [] if kind in kinds else [f"asks {kinds}, not {kind}: {verdict.because}"]
    return []


def first_release_complaints(case: Case, order: int = 0) -> list[str]:
    """Return what the first release of a case gets wrong; `1974-10-11 S.1 certain`, `none`."""
    bundle = read_bundle(case.bundle(order))
    found = first_release(bundle, decide(bundle, CONFIG), CONFIG)
    said = _in_words(case, found, order)
    return [] if said == case.expected else [f"found {said}: {found.because if found else ''}"]


def _in_words(case: Case, found: FirstRelease | None, order: int) -> str:
    if found is None:
        return "none"
    labels = {case.id_of(name, order): name for name in _labels(case)}
    name = labels.get(found.release_group_mbid or "", "-")
    expected = case.expected.split()
    if len(expected) > 1 and "." in expected[1] and name == expected[1].partition(".")[0]:
        wanted = expected[1]
        is_named = (
            found.release_mbid is None
            if wanted.endswith("-")
            else found.release_mbid == case.id_of(wanted, order)
        )
        name = wanted if is_named else f"{name}.?"
    certain = "certain" if found.year_certain else "uncertain"
    sibling = " via sibling" if found.via_sibling else ""
    return f"{found.date} {name} {certain}{sibling}"


def _labels(case: Case) -> list[str]:
    return [line.split()[0] for line in case.lines[1:] if not line.startswith("+ ")]
