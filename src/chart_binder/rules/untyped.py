"""A decision must not hang on a record of which nobody knows whether it is an album or a single."""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, ReleaseGroup
from chart_binder.domain.verdict import Decided, Verdict
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.contest import Contest

_MOST_ALONE = 4
"""So many records are each tried alone, the earliest; beside that, all of them together."""
_READINGS = ("Album", "Single")
"""Primary types that lead to different answers; an EP counts as a single, the rest as other works.

That no secondary type is given (Compilation, Live ...) is taken at its word, as it is elsewhere.
"""


def untyped_among(decided: Decided, field: Contest) -> Sequence[Candidate]:
    """Return the records without any type that may matter to a decision, the earliest first.

    What came out later than the record decided for by more than the window cannot.
    """
    untyped = [one for one in field.candidates if one.group.types == (None, ()) and one.counts]
    if not untyped:
        return ()
    chosen = next(one for one in field.candidates if one.group.mb_rg_id == decided.crg)
    return [one for one in untyped if one.first <= chosen.last + field.knobs.lead_window_days]


def untold(
    decided: Decided,
    untyped: Sequence[Candidate],
    bundle: EvidenceBundle,
    ruled: Callable[[EvidenceBundle], Verdict],
) -> tuple[str, ...]:
    """Return which records' types would have to be known, as questions; none if it stands.

    It stands if the rules decide for the same group whichever common type each of them has.
    """
    for few in _ways(untyped):
        ids = frozenset(one.group.mb_rg_id for one in few)
        for primary in _READINGS:
            verdict = ruled(_typed(ids, primary, bundle))
            if not isinstance(verdict, Decided) or verdict.crg != decided.crg:
                return tuple(map(_question, few[:_MOST_ALONE]))
    return ()


def _ways(untyped: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    for one in untyped[:_MOST_ALONE]:
        yield (one,)
    if len(untyped) > 1:
        yield untyped


def _question(one: Candidate) -> str:
    return f"what is {one.dated_name}, which has no type: an album, a single or an EP?"


def _typed(ids: frozenset[str], primary: str, bundle: EvidenceBundle) -> EvidenceBundle:
    """Return the evidence as if these records were of a type."""

    def group(one: ReleaseGroup) -> ReleaseGroup:
        if one.mb_rg_id not in ids:
            return one
        return replace(one, primary_type=primary)

    def recording(one: RecordingCandidate) -> RecordingCandidate:
        return replace(one, rg_candidates=tuple(map(group, one.groups)))

    return replace(bundle, recording_candidates=tuple(map(recording, bundle.recording_candidates)))
