"""Which decision on a file holds, and whether it may go into the file unseen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chart_binder.config import AcceptanceConfig
from chart_binder.domain.ids import MBID
from chart_binder.domain.kept import KeptDecision, KeptVerdict, UnreadDecision, VerdictKind
from chart_binder.domain.tagging import Chosen
from chart_binder.errors import DamagedRecordError
from chart_binder.jobs.decision import Decision, State
from chart_binder.llm.support import why_not_written

if TYPE_CHECKING:
    from chart_binder.store.store import Store


def standing_decision(store: "Store", *paths: bytes) -> KeptDecision | None:
    """Return the decision on a file that holds: the last that is pinned, else the last.

    `paths` are the names of the file; the first that has decisions counts. Raises `StoreError`,
    and `DamagedRecordError` where it cannot be read.
    """
    (found,) = standing_decisions(store, [paths])
    if isinstance(found, UnreadDecision):
        raise DamagedRecordError(found.problem)
    return found


def standing_decisions(
    store: "Store", files: Sequence[tuple[bytes, ...]]
) -> Sequence[KeptDecision | UnreadDecision | None]:
    """Return the decision that holds on each of several files, each given by its names."""
    known = store.decisions.histories({path for names in files for path in names})
    found = (next((known[path] for path in names if path in known), ()) for names in files)
    return [
        next((kept for kept in history if kept.pinned), next(iter(history), None))
        for history in found
    ]


def ruled_on(store: "Store", decision: KeptDecision) -> KeptVerdict | None:
    """Return a person's newest yes or no to a decision; that they left it is neither.

    A no holds as well where the same was decided again, by the same evidence and rules.
    """
    spoken = (VerdictKind.ACCEPT, VerdictKind.REJECT)
    history = store.verdicts.history(decision.id)
    found = next((verdict for verdict in history if verdict.verdict in spoken), None)
    if found or history or decision.adjudicator is None:
        return found
    before = store.verdicts.on_the_same(decision)
    return before if before and before.verdict is VerdictKind.REJECT else None


def chosen_by(
    decision: Decision, verdict: KeptVerdict | None, acceptance: AcceptanceConfig
) -> Chosen | str:
    """Return what may be written of a decision, or why nothing may."""
    accepted = verdict is not None and verdict.verdict is VerdictKind.ACCEPT
    why_not = None if accepted else _why_not(decision, verdict, acceptance)
    if why_not:
        return why_not
    named = verdict if accepted and verdict and verdict.crg_mbid else decision
    if not named.crg_mbid:
        return f"nothing was decided: {decision.error or decision.rationale or decision.state}"
    ids = (decision.recording_mbid, named.crg_mbid, named.rr_mbid)
    odd = next((one for one in ids if one and not MBID.fullmatch(one)), None)
    if odd:
        return f"{odd!r} is no MusicBrainz id (a UUID)"
    return Chosen(decision.recording_mbid, named.crg_mbid, named.rr_mbid, decision.trace)


def _why_not(
    decision: Decision, verdict: KeptVerdict | None, acceptance: AcceptanceConfig
) -> str | None:
    if verdict is not None:
        return f"a person rejected it{f': {verdict.reason}' if verdict.reason else ''}"
    match decision.state:
        case State.ERROR:
            return f"no decision was come to: {decision.error}"
        case State.INDETERMINATE:
            return f"it was left open: {decision.rationale or 'the facts do not tell'}"
    if decision.adjudication is not None:
        unseen = why_not_written(decision.adjudication, acceptance)
        return f"a person has to look at it: {unseen}" if unseen else None
    return None if decision.state is State.DECIDED else f"it is for {decision.state}"
