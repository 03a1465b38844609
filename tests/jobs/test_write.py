"""Which decisions may be written, with and without a verdict of a person."""

import pytest

from chart_binder.domain.records import VerdictKind, VerdictRecord
from chart_binder.domain.tags import Chosen
from chart_binder.jobs.decide import Decision, State
from chart_binder.jobs.write import writable_ids
from chart_binder.llm.result import AdjudicationResult, Outcome

RECORDING, GROUP, RELEASE, OTHER = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "1234")
RULES = Decision(State.DECIDED, "rules", GROUP, RELEASE, RECORDING, trace="evh=1")


def by_model(outcome: Outcome = Outcome.ACCEPTED, state: State = State.DECIDED) -> Decision:
    result = AdjudicationResult(outcome, GROUP, RELEASE, 0.9)
    return Decision(state, "llm", GROUP, RELEASE, RECORDING, trace="evh=1", adjudication=result)


def said(kind: VerdictKind, crg: str | None = None, reason: str = "") -> VerdictRecord:
    return VerdictRecord(
        decision_id="d", verdict=kind, crg_mbid=crg, reason=reason, at_utc="2026-01-01T00:00:00Z"
    )


ACCEPT, REJECT = said(VerdictKind.ACCEPT), said(VerdictKind.REJECT, reason="a cover")
TAKEN = Chosen(RECORDING, GROUP, RELEASE, "evh=1")


@pytest.mark.parametrize(
    ("decision", "verdict", "chosen"),
    [
        (RULES, None, TAKEN),
        (RULES, REJECT, "a person rejected it: a cover"),
        (by_model(), None, TAKEN),
        (by_model(), ACCEPT, TAKEN),
        (by_model(Outcome.REVIEW, state=State.REVIEW), None, "a person has to look at it"),
        (by_model(Outcome.REVIEW, state=State.REVIEW), ACCEPT, TAKEN),
        (by_model(), REJECT, "a person rejected it"),
        (by_model(), said(VerdictKind.ACCEPT, OTHER), Chosen(RECORDING, OTHER, None, "evh=1")),
        (Decision(State.ERROR, error="asleep"), None, "error: asleep"),
        (Decision(State.UNDECIDED, rationale="dim"), None, "undecided: dim"),
        (Decision(State.UNDECIDED, rationale="dim"), ACCEPT, "nothing was decided: dim"),
        (Decision(State.DECIDED, "rules", "group-7"), None, "'group-7' is no MusicBrainz id"),
    ],
)
def test_writable_ids(
    decision: Decision, verdict: VerdictRecord | None, chosen: Chosen | str
) -> None:
    found = writable_ids(decision, verdict)
    if isinstance(chosen, str):
        assert isinstance(found, str)
        assert chosen in found
    else:
        assert found == chosen
