"""A decision must not hang on a record of which nobody knows whether it is an album or a single."""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, ReleaseGroup
from chart_binder.domain.verdict import Decided, Verdict
from chart_binder.rules.candidates import Candidate

_MOST_ALONE = 4
"""So many records are each tried alone, the earliest; beside that, all of them together."""
_READINGS = ("Album", "Single")
"""Primary types that lead to different answers; an EP counts as a single, the rest as other works.

That no secondary type is given (Compilation, Live ...) is taken at its word, as it is elsewhere.
"""


def untyped_among(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the records without a type, or of one that nobody knows, the earliest first."""
    groups = [one for one in candidates if not one.group.types[0]]
    return [one for one in groups if one.counts and not one.group.kinds]


def untold(
    decided: Decided,
    untyped: Sequence[Candidate],
    until: int,
    bundle: EvidenceBundle,
    ruled: Callable[[EvidenceBundle], Verdict],
) -> tuple[str, ...]:
    """Return which records' types would have to be known, as questions; none if it stands.

    It stands if the rules decide for the same group whichever common type each of them has. What
    came out after `until` cannot change that.
    """
    for few in _ways([one for one in untyped if one.first <= until]):
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
    return f"what is {one.dated_name}, which has no known type: an album, a single or an EP?"


def _typed(ids: frozenset[str], primary: str, bundle: EvidenceBundle) -> EvidenceBundle:
    """Return the evidence as if these records were of a type."""

    def group(one: ReleaseGroup) -> ReleaseGroup:
        if one.mb_rg_id not in ids:
            return one
        return replace(one, primary_type=primary)

    def recording(one: RecordingCandidate) -> RecordingCandidate:
        return replace(one, rg_candidates=tuple(map(group, one.groups)))

    return replace(bundle, recording_candidates=tuple(map(recording, bundle.recording_candidates)))
