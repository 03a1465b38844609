"""What must hold of an adjudication, whatever a model wrote."""

import json
import math
from typing import Any

from chart_binder.domain.evidence_json import read_bundle
from chart_binder.llm.events import Playback
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import AdjudicationResult, Outcome, RulesAgreement
from chart_binder.llm.second_reading import FIRST_RELEASE
from chart_binder.react.transcript import ObservationEvent, ReplyEvent
from chart_binder.rules.labels import Labels
from engine.forms import ELSEWHERE
from engine.runs import TOOLS, Run


def examine(run: Run) -> None:
    """Assert what must hold of an outcome, whatever was written."""
    result = run.result
    json.loads(result.to_json(), parse_constant=_refuse)
    assert AdjudicationResult.from_json(result.to_json()) == result
    assert math.isfinite(result.confidence)
    assert 0 <= result.confidence <= 1
    assert result.iterations <= run.config.max_iterations
    if result.outcome is not Outcome.ACCEPTED:
        assert result.problem
        assert "Traceback" not in result.problem
    if result.crg_mbid:
        _examine_choice(run)
    if result.outcome is Outcome.ACCEPTED:
        _examine_acceptance(run)
    _examine_replay(run)


def _examine_choice(run: Run) -> None:
    """The group is what a reply names, in the evidence or in an observation."""
    labels = Labels.of(read_bundle(run.evidence))
    said = "\n".join(event.content for event in run.events if isinstance(event, ReplyEvent))
    label = next((name for name, known in labels.ids.items() if known == run.result.crg_mbid), None)
    names = {run.result.crg_mbid, label}
    assert any(name in said for name in names if name)
    assert label or run.result.crg_mbid == ELSEWHERE


def _examine_acceptance(run: Run) -> None:
    """The ids are of the evidence, rules decide so, and what they turn on was read twice."""
    result, labels = run.result, Labels.of(read_bundle(run.evidence))
    assert result.crg_mbid in labels.titles
    assert result.rr_mbid is None or labels.home[result.rr_mbid] == result.crg_mbid
    assert result.rules is RulesAgreement.CONFIRMED
    assert all(check.passed for check in result.checks)
    seen = [
        event for event in run.events if isinstance(event, ObservationEvent) and not event.error
    ]
    for fact in result.facts:
        if fact.before is not None and fact.verified:
            assert fact.readings[-1].reading == FIRST_RELEASE
            assert any(fact.source in event.sources for event in seen)


def _examine_replay(run: Run) -> None:
    """The transcript alone comes to the same."""
    adjudicator = ReActAdjudicator(run.config, tools=TOOLS, playback=Playback.of(run.events))
    again = adjudicator.adjudicate(run.evidence)
    assert _lasting(again) == _lasting(run.result)


def _lasting(result: AdjudicationResult) -> dict[str, Any]:
    return {key: value for key, value in result.to_dict().items() if key != "transcript"}


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")
