"""Records that a model names: what they add to the evidence.

A release group adds the recordings on it that are the same performance as those of the evidence
(musicbrainz.siblings), a recording itself; each with all its releases.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId
from chart_binder.errors import LookupFailedError, NothingFoundError
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.evidence import candidate_of
from chart_binder.musicbrainz.matching import same_title
from chart_binder.musicbrainz.siblings import (
    SIBLING,
    described,
    performance_in,
    performance_of,
    same_performance,
)
from chart_binder.musicbrainz.web_service import Recording

_MAX_SIBLINGS = 3
"""Recordings of one group that are brought in."""


def bring_in(
    client: Client, bundle: EvidenceBundle, kind: str, mbid: str
) -> tuple[RecordingCandidate, ...]:
    """Return the recordings that a record at MusicBrainz adds to the evidence, as siblings.

    `kind` is `release-group` or `recording`. Raises `NothingFoundError`, which says why it adds
    none, and `LookupFailedError` if MusicBrainz could not be asked, or not everything was read.
    """
    played, where, unread = _played(client, kind, mbid)
    siblings = _siblings(bundle, played)
    if not siblings and unread:
        raise LookupFailedError(unread)
    if not siblings:
        raise NothingFoundError(_why_none(bundle, played, where))
    home = bundle.performer.country
    found = [
        replace(candidate_of(one, releases, home), relation=SIBLING, because=because)
        for one, because in siblings[:_MAX_SIBLINGS]
        if (releases := client.releases_of(one.id))
    ]
    if not found:
        raise NothingFoundError(f"{described(siblings[0][0])} is on no release")
    return tuple(found)


def _played(client: Client, kind: str, mbid: str) -> tuple[list[Recording], str, str]:
    """Return the recordings of a record, where they are, and what of it was not read."""
    if kind == "recording":
        if recording := client.recording(RecordingId(mbid)):
            return [recording], "", ""
        raise NothingFoundError(f"MusicBrainz knows no recording with the id {mbid}")
    group = client.release_group(ReleaseGroupId(mbid))
    if group is None:
        raise NothingFoundError(f"MusicBrainz knows no release group with the id {mbid}")
    releases, count = client.releases_with(group.id)
    tracks = (track for one in releases for track in one.tracks)
    where, unread = f" on {group.title!r}", ""
    if len(releases) < count:
        unread = f"of {count} releases of {group.title!r}, {len(releases)} were read"
    return [track.recording for track in tracks if track.recording], where, unread


def _siblings(bundle: EvidenceBundle, played: Iterable[Recording]) -> list[tuple[Recording, str]]:
    """Return those that are the performance of the evidence and not in it, each with the reason."""
    known = {one.mb_recording_id for one in bundle.recording_candidates}
    meant = [
        performance_in(one, bundle.performer)
        for one in bundle.recording_candidates
        if not one.is_sibling
    ]
    found: dict[str, tuple[Recording, str]] = {}
    for one in played:
        if one.id not in known and one.id not in found:
            reasons = (same_performance(performance_of(one), other) for other in meant)
            if because := next(filter(None, reasons), None):
                found[one.id] = one, because
    return list(found.values())


def _why_none(bundle: EvidenceBundle, played: Iterable[Recording], where: str) -> str:
    """Return why no recording of a record is a sibling."""
    titles = {one.title for one in bundle.recording_candidates} | {bundle.recording_title}
    wanted = [title for title in titles if title]
    alike = [
        one for one in played if any(same_title(one.title or "", title) for title in wanted)
    ] or ([] if where else [*played])
    if not alike:
        return f"no track{where} has the title {bundle.recording_title!r}"
    if any(one.mb_recording_id == alike[0].id for one in bundle.recording_candidates):
        return f"the evidence has the recording{where} already, with all its releases"
    return (
        f"{described(alike[0])}{where} is not the same performance: another artist, title, kind or"
        " length"
    )
