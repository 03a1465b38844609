"""Tags of an audio file: those that identify its recording, and those that a decision implies."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TypeAlias

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import Artifact, EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS, non_blank

Fields: TypeAlias = Mapping[str, tuple[str, ...]]
"""Texts by field; an empty tuple removes a field."""


@dataclass(frozen=True, slots=True)
class TrackTags:
    """The tags of one audio file that help to identify its recording; `None` means unknown.

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


def artifact_of(tags: TrackTags) -> Artifact:
    """Return what a file's tags say as evidence has it."""
    said = asdict(tags) | {"isrc": "; ".join(tags.isrcs)}
    texts = ((name, text) for name, text in said.items() if text and isinstance(text, str))
    return Artifact(duration_ms=tags.duration_ms, tags=dict(texts))


class Policy(StrEnum):
    """What is written: ids and the decision's trace alone, or its facts too."""

    IDS = "ids"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The ids of a decision, by rules, a model or a person."""

    recording: str | None
    release_group: str
    release: str | None
    trace: str | None


IDS = (
    "recording_mbid", "release_group_mbid", "release_mbid", "release_track_mbid",
    "artist_mbids", "album_artist_mbids", "decision_trace",
)  # fmt: skip
"""The fields that `Policy.IDS` writes or removes."""

_OF_A_RELEASE = (
    "date", "release_status", "release_country", "labels", "catalog_numbers", "media",
)  # fmt: skip
"""Facts of a release, which are wrong of any other."""

_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
_NO_CATALOG_NUMBER = "[none]"  # as MusicBrainz writes it


def wanted_fields(
    chosen: Chosen, bundle: EvidenceBundle, policy: Policy, now: Fields
) -> dict[str, tuple[str, ...]]:
    """Return what the fields should be; `now` is what they are, and fields not returned stay.

    Unknown facts stay as they are, unless the file names another release: its facts are removed.
    """
    groups = [group for recording in bundle.recording_candidates for group in recording.groups]
    groups = [group for group in groups if group.mb_rg_id == chosen.release_group]
    group = groups[0] if groups else None
    releases = (edition for each in groups for edition in each.editions)
    release = next((one for one in releases if one.mb_release_id == chosen.release), None)
    was = now.get("release_mbid", ())
    is_other = bool(was) and _folded(was) != _folded(filter(None, (chosen.release,)))
    if is_other and chosen.release is None:  # only a release of another group is removed
        is_other = _folded(now.get("release_group_mbid", ())) != {chosen.release_group.casefold()}
    wanted = _ids(chosen, bundle, group, release, now)
    if is_other:
        wanted = {"release_track_mbid": (), "album_artist_mbids": (), "release_mbid": (), **wanted}
    if policy is Policy.FULL:
        wanted |= dict.fromkeys(_OF_A_RELEASE, ()) if is_other else {}
        wanted |= _facts(group, release)
    return wanted


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
    is_own = credit is not None and credit == non_blank(artist.name)
    album_artist = (VARIOUS_ARTISTS,) if credit == "Various Artists" else known if is_own else ()
    return _known({
        "recording_mbid": (chosen.recording,),
        "release_group_mbid": (chosen.release_group,),
        "release_mbid": (chosen.release,),
        "artist_mbids": _with_others(now.get("artist_mbids", ()), known),
        "album_artist_mbids": _with_others(now.get("album_artist_mbids", ()), album_artist),
        "decision_trace": (chosen.trace,),
    })  # fmt: skip


def _with_others(now: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the artists in the file if the known one is among them, as all are credited."""
    return now if known and _folded(known) <= _folded(now) else known


def _facts(group: ReleaseGroup | None, release: Release | None) -> dict[str, tuple[str, ...]]:
    facts: dict[str, tuple[str | None, ...]] = {"album_artist": (_credit(group, release),)}
    if group:
        first = _first_date(group)
        primary, secondary = group.types
        facts |= {
            "album": (non_blank(group.title),),
            "original_date": first,
            "original_year": tuple(date[:4] for date in first),
            "release_types": tuple(kind.lower() for kind in (primary, *secondary) if kind),
        }
    known = _known(facts)
    if release:
        known |= _known({
            "album": (non_blank(release.title),),
            "date": _written(release.when),
            "release_status": ((release.standing or "").lower(),),
            "release_country": (release.place,),
            "labels": (non_blank(release.label),),
            "catalog_numbers": (non_blank(release.catno),),
            "media": (non_blank(release.format),),
        })  # fmt: skip
    return known


def _known(facts: Mapping[str, tuple[str | None, ...]]) -> dict[str, tuple[str, ...]]:
    found = {
        name: tuple(text for text in texts if text and text != _NO_CATALOG_NUMBER)
        for name, texts in facts.items()
    }
    return {name: texts for name, texts in found.items() if texts}


def _credit(group: ReleaseGroup | None, release: Release | None) -> str | None:
    credited = (one.artist_credit for one in (release, group) if one)
    return next(filter(None, map(non_blank, credited)), None)


def _first_date(group: ReleaseGroup) -> tuple[str, ...]:
    """Return the group's first date, else that of its earliest official release."""
    if first := _written(group.first_date):
        return first
    official = (edition.when for edition in group.editions if edition.is_official)
    return min((date for when in official for date in (_written(when),) if date), default=())


def _written(date: PartialDate) -> tuple[str, ...]:
    """Return a date as tags have it, without its unknown parts."""
    found = _DATE.match(date.text) if date.is_known else None
    return (found[0],) if found else ()


def _folded(texts: Iterable[str]) -> set[str]:
    return {text.strip().casefold() for text in texts}
