"""What an audio file says of itself."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS, said

Fields: TypeAlias = Mapping[str, tuple[str, ...]]
"""Texts by field; a field without any is to be gone."""

_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
_NOTHING = frozenset({"[none]"})
"""What MusicBrainz has for a record that says it has no catalogue number."""


class Policy(StrEnum):
    """How much is written: identifiers with the decision's trace alone, or its facts too."""

    IDS = "ids"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was decided, by a person or not."""

    recording: str | None
    release_group: str
    release: str | None
    trace: str | None


IDS = (
    "recording_mbid", "release_group_mbid", "release_mbid", "release_track_mbid",
    "artist_mbids", "album_artist_mbids", "decision_trace",
)  # fmt: skip
"""The fields that `ids` writes, or takes out."""

_OF_A_RELEASE = (
    "date", "release_status", "release_country", "labels", "catalog_numbers", "media",
)  # fmt: skip
"""What is wrong of one release if it was true of another."""


def wanted_fields(
    chosen: Chosen, bundle: EvidenceBundle, policy: Policy, now: Fields
) -> dict[str, tuple[str, ...]]:
    """Return what the fields are to say; `now` is what they say, and others are left alone.

    What is not known stays as it is, unless the file names another release: what was true of that
    one would then contradict, so it goes.
    """
    group, release = _found(bundle, chosen)
    was = now.get("release_mbid", ())
    moved = bool(was) and _folded(was) != _folded(filter(None, (chosen.release,)))
    if moved and chosen.release is None:  # no release is named: that of another group goes
        moved = _folded(now.get("release_group_mbid", ())) != {chosen.release_group.casefold()}
    wanted = _ids(chosen, bundle, group, release, now)
    if moved:
        wanted = {"release_track_mbid": (), "album_artist_mbids": (), "release_mbid": (), **wanted}
    if policy is Policy.FULL:
        facts = _facts(group, release)
        wanted |= (dict.fromkeys(_OF_A_RELEASE, ()) if moved else {}) | facts
    return wanted


def _found(bundle: EvidenceBundle, chosen: Chosen) -> tuple[ReleaseGroup | None, Release | None]:
    groups = [
        group
        for recording in bundle.recording_candidates
        for group in recording.groups
        if group.mb_rg_id == chosen.release_group
    ]
    editions = (edition for group in groups for edition in group.editions)
    return (
        next(iter(groups), None),
        next((edition for edition in editions if edition.mb_release_id == chosen.release), None),
    )


def _ids(
    chosen: Chosen,
    bundle: EvidenceBundle,
    group: ReleaseGroup | None,
    release: Release | None,
    now: Fields,
) -> dict[str, tuple[str, ...]]:
    artist = bundle.performer
    known = (artist.mb_artist_id,) if artist.mb_artist_id else ()
    credit = _credit(group, release)
    is_own = credit is not None and credit == said(artist.name)
    album_artist = (VARIOUS_ARTISTS,) if credit == "Various Artists" else known if is_own else ()
    ids = {
        "recording_mbid": tuple(filter(None, (chosen.recording,))),
        "release_group_mbid": (chosen.release_group,),
        "release_mbid": tuple(filter(None, (chosen.release,))),
        "artist_mbids": _beside(now.get("artist_mbids", ()), known),
        "album_artist_mbids": _beside(now.get("album_artist_mbids", ()), album_artist),
        "decision_trace": tuple(filter(None, (chosen.trace,))),
    }
    return {name: texts for name, texts in ids.items() if texts}


def _beside(now: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the file says where that has the one known among others, all of them credited."""
    return now if known and _folded(known) <= _folded(now) else known


def _facts(group: ReleaseGroup | None, release: Release | None) -> dict[str, tuple[str, ...]]:
    facts = (_of_group(group) if group else {}) | (_of_release(release) if release else {})
    credit = _credit(group, release)
    return {"album_artist": (credit,), **facts} if credit else facts


def _of_group(group: ReleaseGroup) -> dict[str, tuple[str, ...]]:
    first = _first_date(group)
    primary, secondary = group.types
    return _known({
        "album": (said(group.title),),
        "original_date": first,
        "original_year": tuple(date[:4] for date in first),
        "release_types": tuple(kind.lower() for kind in (primary, *secondary) if kind),
    })  # fmt: skip


def _of_release(release: Release) -> dict[str, tuple[str, ...]]:
    return _known({
        "album": (said(release.title),),
        "date": _written(release.when),
        "release_status": ((release.standing or "").lower(),),
        "release_country": (release.place,),
        "labels": (said(release.label),),
        "catalog_numbers": (said(release.catno),),
        "media": (said(release.format),),
    })  # fmt: skip


def _known(facts: Mapping[str, tuple[str | None, ...]]) -> dict[str, tuple[str, ...]]:
    found = {
        name: tuple(text for text in texts if text and text not in _NOTHING)
        for name, texts in facts.items()
    }
    return {name: texts for name, texts in found.items() if texts}


def _credit(group: ReleaseGroup | None, release: Release | None) -> str | None:
    credited = (one.artist_credit for one in (release, group) if one)
    return next(filter(None, map(said, credited)), None)


def _first_date(group: ReleaseGroup) -> tuple[str, ...]:
    """Return when the group first came out: as it says, else its earliest official release."""
    if first := _written(group.first_date):
        return first
    official = (edition.when for edition in group.editions if edition.is_official)
    return min((date for when in official for date in (_written(when),) if date), default=())


def _written(date: PartialDate) -> tuple[str, ...]:
    """Return a date as tags have it: what is known in front of the first unknown part."""
    found = _DATE.match(date.text) if date.is_known else None
    return (found[0],) if found else ()


def _folded(texts: Iterable[str]) -> set[str]:
    return {text.strip().casefold() for text in texts}


@dataclass(frozen=True, slots=True)
class TrackTags:
    """The tags of one audio file that help to identify its recording; absent means unknown.

    Field meanings follow MusicBrainz Picard's tag mapping: `recording_mbid` is what Vorbis
    comments call `MUSICBRAINZ_TRACKID`.
    """

    title: str | None = None
    artist: str | None = None
    album: str | None = None
    album_artist: str | None = None
    date: str | None = None
    duration_ms: int | None = None
    isrcs: tuple[str, ...] = ()
    recording_mbid: str | None = None
    release_mbid: str | None = None
    release_group_mbid: str | None = None
    artist_mbid: str | None = None
