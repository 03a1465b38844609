"""Real recordings, decided as a person who knows them would."""

import json
from pathlib import Path
from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Open
from chart_binder.rules.decide import decide

GOLDEN = Path(__file__).parents[1] / "golden" / "decisions.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_a_golden_recording_is_decided_as_expected(case: dict[str, Any]) -> None:
    expected = case["expected"]
    verdict = decide(read_bundle(case["bundle"]), RulesConfig())
    if isinstance(verdict, Open):
        assert expected["crg_mbid"] is None, verdict
        assert verdict.missing_facts
        return
    assert verdict.crg == expected["crg_mbid"], verdict
    assert verdict.rr in (expected["rr_acceptable"] or [None]), verdict
    assert (verdict.crg_rule, verdict.rr_rule) == (expected["crg_rule"], expected["rr_rule"])
