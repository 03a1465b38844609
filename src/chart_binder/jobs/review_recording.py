"""Which recording a ruling is on, and whether what it names can go together."""

from chart_binder.domain.evidence import RecordingCandidate
from chart_binder.domain.ids import MBID, RecordingId, bare_id
from chart_binder.errors import CanonError
from chart_binder.jobs.review_case import ReviewCase
from chart_binder.rules.lineup import line_up, minutes

_FEW = 6


def meant(case: ReviewCase, group: str) -> list[RecordingCandidate]:
    """Return the recordings that may be meant where a release group is right."""
    kept = line_up(case.bundle).kept if case.bundle else ()
    wanted = bare_id(group)
    carrying = [one for one in kept if any(bare_id(each.mb_rg_id) == wanted for each in one.groups)]
    return carrying or list(kept)


def recording_of(case: ReviewCase, crg: str, named: str | None) -> RecordingId:
    """Return the recording to rule on. Raises `CanonError` that lists them where it is open."""
    found = meant(case, crg)
    ids = [bare_id(one.mb_recording_id) for one in found]
    if named is not None:
        kept = line_up(case.bundle).kept if case.bundle else ()
        everyone = [bare_id(one.mb_recording_id) for one in kept]
        if bare_id(named) not in everyone:
            allowed = ", ".join(everyone) or "none: the evidence has no recording"
            raise CanonError(
                f"{case.path}: recording {named} cannot be the file's; allowed: {allowed}"
            )
        ids = [bare_id(named)]
    if not ids:
        raise CanonError(f"{case.path}: the evidence has no recording: canon override set"
                         " rules on one by its id")  # fmt: skip
    if len(ids) > 1:
        listed = "; ".join(map(_described, found))
        raise CanonError(
            f"{case.path}: several recordings may be meant: name one with --recording: {listed}"
        )
    if not MBID.fullmatch(ids[0]):
        raise CanonError(
            f"{case.path}: the recording's id is {ids[0]!r}; a MusicBrainz id (a UUID) is required"
        )
    return RecordingId(ids[0])


def require_home(case: ReviewCase, crg: str, rr: str) -> None:
    """Raise `CanonError` where the evidence has a release, and in another release group."""
    wanted = bare_id(rr)
    homes = [
        (each.label, one)
        for one in case.rows
        for each in one.releases
        if bare_id(each.release) == wanted
    ]
    if not homes or any(bare_id(one.release_group) == bare_id(crg) for _, one in homes):
        return
    label, home = homes[0]
    own = next((one for one in case.rows if bare_id(one.release_group) == bare_id(crg)), None)
    labels = [each.label for each in own.releases] if own else []
    allowed = f"{', '.join(labels[:_FEW])}{' ...' if labels[_FEW:] else ''}, " if labels else ""
    group = f"{own.label} '{own.title}'" if own else f"release group {bare_id(crg)}"
    raise CanonError(
        f"{case.path}: the release {label} is of {home.label} '{home.title}', not of {group};"
        f" allowed: {allowed}a release that the evidence does not have, or none"
    )


def _described(one: RecordingCandidate) -> str:
    more = filter(None, (one.title, one.disambiguation, minutes(one.length_ms)))
    return f"{one.mb_recording_id} ({', '.join(more)})"
