"""Which decisions may be written, with and without a verdict of a person."""

import pytest

from chart_binder.config import AcceptanceConfig
from chart_binder.domain.records import KeptVerdict, VerdictKind
from chart_binder.domain.tags import Chosen
from chart_binder.jobs.decide import Decision, State
from chart_binder.jobs.write import writable_ids
from chart_binder.llm.result import AdjudicationResult, Outcome

RECORDING, GROUP, RELEASE, OTHER = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "1234")
RULES = Decision(State.DECIDED, "rules", GROUP, RELEASE, RECORDING, trace="evh=1")
TWO = AcceptanceConfig()


def by_model(
    outcome: Outcome = Outcome.ACCEPTED, sources: int = 2, state: State = State.DECIDED
) -> Decision:
    result = AdjudicationResult(outcome, GROUP, RELEASE, 0.9, independent_sources=sources)
    return Decision(state, "llm", GROUP, RELEASE, RECORDING, trace="evh=1", adjudication=result)


def said(kind: VerdictKind, crg: str | None = None, reason: str = "") -> KeptVerdict:
    return KeptVerdict(
        decision_id="d", verdict=kind, crg_mbid=crg, reason=reason, at_utc="2026-01-01T00:00:00Z"
    )


ACCEPT, REJECT = said(VerdictKind.ACCEPT), said(VerdictKind.REJECT, reason="a cover")
TAKEN = Chosen(RECORDING, GROUP, RELEASE, "evh=1")


@pytest.mark.parametrize(
    ("decision", "verdict", "min_sources", "chosen"),
    [
        (RULES, None, 2, TAKEN),
        (RULES, REJECT, 2, "a person rejected it: a cover"),
        (by_model(), None, 2, TAKEN),
        (by_model(sources=1), None, 2, "1 independent source, 2 needed"),
        (by_model(sources=1), None, 1, TAKEN),
        (by_model(sources=0), None, 2, "0 independent sources, 2 needed"),
        (by_model(sources=1), ACCEPT, 2, TAKEN),
        (by_model(Outcome.REVIEW, 5, State.REVIEW), None, 2, "a person has to look at it"),
        (by_model(Outcome.REVIEW, 0, State.REVIEW), ACCEPT, 2, TAKEN),
        (by_model(), REJECT, 2, "a person rejected it"),
        (by_model(), said(VerdictKind.ACCEPT, OTHER), 2, Chosen(RECORDING, OTHER, None, "evh=1")),
        (Decision(State.ERROR, error="asleep"), None, 2, "no decision was come to: asleep"),
        (Decision(State.INDETERMINATE, rationale="dim"), None, 2, "it was left open: dim"),
        (Decision(State.INDETERMINATE, rationale="dim"), ACCEPT, 2, "nothing was decided: dim"),
        (Decision(State.DECIDED, "rules", "group-7"), None, 2, "'group-7' is no MusicBrainz id"),
    ],
)
def test_writable_ids(
    decision: Decision, verdict: KeptVerdict | None, min_sources: int, chosen: Chosen | str
) -> None:
    found = writable_ids(decision, verdict, AcceptanceConfig(write_min_sources=min_sources))
    if isinstance(chosen, str):
        assert isinstance(found, str)
        assert chosen in found
    else:
        assert found == chosen
