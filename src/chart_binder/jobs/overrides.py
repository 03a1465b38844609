"""A person's verdict goes before the rules: which one applies, and what it names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, ReleaseGroup
from chart_binder.domain.verdict import KeptOverride
from chart_binder.domain.vocabulary import MBID, RecordingId, bare_id
from chart_binder.errors import CanonError
from chart_binder.rules.recordings import format_length, sort_recordings

Overrides: TypeAlias = Callable[[], Mapping[str, KeptOverride]]
"""What people ruled, by recording; may raise `StoreError`."""


def no_overrides() -> Mapping[str, KeptOverride]:
    """Return none: for a decision that no person's verdict may change."""
    return {}


def override_for(bundle: EvidenceBundle, kept: Mapping[str, KeptOverride]) -> KeptOverride | None:
    """Return the override for the recording in a bundle.

    Where several recordings may be meant, that of any of them applies; of several the one that was
    set last. A recording that the rules leave out (another length, a karaoke take) is not meant.
    """
    if not kept:
        return None
    meant = [one.mb_recording_id for one in sort_recordings(bundle).kept]
    ids = (one.strip().casefold() for one in (*meant, _tagged(bundle)) if one)
    found = [kept[recording] for recording in ids if recording in kept]
    return max(found, key=lambda one: (one.set_at_utc, one.recording_mbid), default=None)


def recording_meant(bundle: EvidenceBundle) -> RecordingId:
    """Return the recording that evidence leads to.

    Raises `CanonError` that lists them where there are several, says that there is none, or that
    its id is none of MusicBrainz', by which overrides are kept.
    """
    kept = sort_recordings(bundle).kept
    if len(kept) == 1:
        meant = bare_id(kept[0].mb_recording_id)
        if not MBID.fullmatch(meant):
            raise CanonError(
                f"the recording's id is {meant!r}; a MusicBrainz id (a UUID) is required"
            )
        return RecordingId(meant)
    if not kept:
        raise CanonError("the evidence knows no recording: name one by its MusicBrainz id")
    listed = "; ".join(map(_described, kept))
    raise CanonError(f"several recordings may be meant: name one by its id: {listed}")


def require_home(bundle: EvidenceBundle, override: KeptOverride) -> None:
    """Raise `CanonError` where evidence has the release, and in other groups than the one named."""
    rr = bare_id(override.rr_mbid or "")
    groups = _groups(bundle)
    homes = [group for group in groups if rr in _releases([group])]
    crg = bare_id(override.crg_mbid)
    if not homes or any(bare_id(group.mb_rg_id) == crg for group in homes):
        return
    named = next((group for group in groups if bare_id(group.mb_rg_id) == crg), None)
    raise CanonError(
        f"release {rr} is of release group {_titled(bare_id(homes[0].mb_rg_id), homes[0])},"
        f" not of {_titled(crg, named)}: name the two that go together, or no release, and the"
        " rules choose one"
    )


def unknown_ids(bundle: EvidenceBundle, override: KeptOverride) -> Iterator[str]:
    """Yield what a person should know of the ids they named: those that evidence does not hold."""
    crg, rr = bare_id(override.crg_mbid), override.rr_mbid and bare_id(override.rr_mbid)
    carrying = [group for group in _groups(bundle) if bare_id(group.mb_rg_id) == crg]
    if not carrying:
        yield (
            f"release group {crg} is not in the evidence,"
            " which has the recording on other records: kept all the same"
        )
    if rr is None and not carrying:
        yield "no release can be named for it: give one with --rr if you know it"
    elif rr and rr not in _releases(carrying):
        yield f"release {rr} is not in the evidence: kept all the same"


def _groups(bundle: EvidenceBundle) -> Sequence[ReleaseGroup]:
    return [group for recording in bundle.recording_candidates for group in recording.groups]


def _titled(known_as: str, group: ReleaseGroup | None) -> str:
    return f"{known_as} {group.title!r}" if group and group.title else known_as


def _releases(groups: Sequence[ReleaseGroup]) -> set[str]:
    return {bare_id(release.mb_release_id) for group in groups for release in group.editions}


def _described(recording: RecordingCandidate) -> str:
    more = filter(
        None, (recording.title, recording.disambiguation, format_length(recording.length_ms))
    )
    return f"{recording.mb_recording_id} ({', '.join(more)})"


def _tagged(bundle: EvidenceBundle) -> str | None:
    """Return the recording id in the file's tags, which may since have been merged into another."""
    tags = (bundle.artifact and bundle.artifact.tags) or {}
    return tags.get("recording_mbid")
