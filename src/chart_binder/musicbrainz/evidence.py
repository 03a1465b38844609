"""Turn MusicBrainz's recordings and releases into evidence and tags."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, repeat
from typing import TypeAlias

from chart_binder.domain.dates import LAST_DAY, PartialDate
from chart_binder.domain.evidence import RecordingCandidate, Release, ReleaseGroup
from chart_binder.domain.tags import ReleaseTrack, WholeRelease
from chart_binder.domain.vocabulary import NO_COUNTRIES, type_names
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.web_service import partial_date

_Event: TypeAlias = tuple[PartialDate, str | None]
"""A date and a country of a release."""


def candidate_of(
    recording: ws.Recording, releases: Iterable[ws.MBRelease], home: str | None
) -> RecordingCandidate:
    """Return a recording with its releases as evidence; `home` is the artist's country."""
    return RecordingCandidate(
        mb_recording_id=recording.id,
        title=recording.title,
        length_ms=recording.length_ms,
        isrcs=recording.isrc_list,
        disambiguation=recording.disambiguation or None,
        first_release_date=partial_date(recording.first_release_date).text or None,
        rg_candidates=release_groups(releases, home, recording.artist_credit_phrase),
    )


def release_groups(
    releases: Iterable[ws.MBRelease], home: str | None, credit: str | None = None
) -> tuple[ReleaseGroup, ...]:
    """Return releases as evidence, grouped by release group; `home` is the artist's country.

    `credit` is the recording's. A group with another credit includes the ids of its artists,
    because a name alone may not show whose record it is.
    """
    groups: dict[str, list[ws.MBRelease]] = {}
    for release in releases:
        groups.setdefault(release.release_group.id, []).append(release)
    return tuple([_group(members, home, credit) for members in groups.values()])


_MUCH_LATER_DAYS = 730
"""Two years, far more than the default lead window of 90 days."""


def editions_of(candidates: Iterable[RecordingCandidate]) -> Iterator[Release]:
    """Yield the releases of recordings, in any group."""
    groups = (group for candidate in candidates for group in candidate.groups)
    return (edition for group in groups for edition in group.editions)


def out_by(candidates: Iterable[RecordingCandidate]) -> int:
    """Return the day (an ordinal) by which an official release of a candidate was out."""
    official = (edition for edition in editions_of(candidates) if edition.is_official)
    return min((edition.when.last for edition in official), default=LAST_DAY)


def is_much_later(recording: ws.Recording, day: int) -> bool:
    """Whether a recording came out so long after a day that it cannot change a decision."""
    return partial_date(recording.first_release_date).first > day + _MUCH_LATER_DAYS


def _group(members: list[ws.MBRelease], home: str | None, credit: str | None) -> ReleaseGroup:
    group = members[0].release_group
    events_of = [_events(release) for release in members]
    labels_of = [_label_names(release) for release in members]
    tells_enough = group.artist_credit_phrase in (credit, "Various Artists") or credit is None
    return ReleaseGroup(
        mb_rg_id=group.id,
        title=group.title,
        artist_credit=group.artist_credit_phrase,
        artist_ids=None if tells_enough else group.artist_ids or None,
        primary_type=group.primary_type,
        secondary_types=tuple(filter(None, group.secondary_type_list)),
        first_release_date=partial_date(group.first_release_date).text or None,
        labels=tuple(sorted({name for names in labels_of for name in names})),
        countries=tuple(sorted({code for events in events_of for _, code in events if code})),
        releases=tuple(map(_release, members, events_of, labels_of, repeat(home))),
    )


def _release(
    release: ws.MBRelease, events: Sequence[_Event], labels: Sequence[str], home: str | None
) -> Release:
    date, country = _first_event(events, home)
    numbers = [info.catalog_number for info in release.label_info_list if info.catalog_number]
    return Release(
        mb_release_id=release.id,
        title=release.title,
        date=date.text or None,
        country=country,
        status=release.status or None,
        label=labels[0] if labels else None,
        catno=numbers[0] if numbers else None,
        format=_format(tuple([medium.format for medium in release.medium_list])),
        disambiguation=release.disambiguation or None,
        artist_credit=release.artist_credit_phrase,
    )


def _label_names(release: ws.MBRelease) -> list[str]:
    return [info.label.name for info in release.label_info_list if info.label and info.label.name]


def _first_event(events: Sequence[_Event], home: str | None) -> _Event:
    """Return the date and country of a release's first event; a full date precedes its bare year.

    If there are several countries on that day, prefer the artist's, else take the first.
    """
    if len(events) == 1:
        return events[0]
    earliest = min(date.last for date, _ in events)
    first = [event for event in events if event[0].last == earliest]
    return next((event for event in first if home and event[1] == home), first[0])


def _events(release: ws.MBRelease) -> list[_Event]:
    if not release.release_event_list:
        return [(partial_date(release.date), release.country or None)]
    return [
        (partial_date(event.date), _first(event.area.iso_3166_1_code_list) if event.area else None)
        for event in release.release_event_list
    ]


def _first(texts: Iterable[str | None]) -> str | None:
    return next(filter(None, texts), None)


@lru_cache(maxsize=4_096)
def _format(formats: tuple[str | None, ...]) -> str | None:
    """Return the media that have a format, written as on MusicBrainz's pages: `2×CD + DVD`."""
    counted = ((name, len(list(same))) for name, same in groupby(filter(None, formats)))
    return " + ".join(f"{n}×{name}" if n > 1 else name for name, n in counted) or None


def country_of(artist: ws.MBArtist) -> str | None:
    """Return the country where an artist began, else the artist's own, or None."""
    codes: list[str | None] = []
    for area in filter(None, (artist.begin_area, artist.area)):
        codes += area.iso_3166_1_code_list
        # The code of a city or region begins with that of its country.
        codes += (code.partition("-")[0] for code in area.iso_3166_2_code_list if code)
    codes.append(artist.country)
    return next((code for code in codes if code and code not in NO_COUNTRIES), None)


# A whole release, for the tags of files that become its tracks.


def whole_release(release: ws.MBRelease) -> WholeRelease:
    """Return a release as tags describe it, without hidden and data tracks: they have no number."""
    group = release.release_group
    primary, secondary = type_names(
        group.primary_type, tuple(filter(None, group.secondary_type_list))
    )
    numbers = (info.catalog_number for info in release.label_info_list)
    return WholeRelease(
        mbid=release.id,
        group_mbid=group.id,
        title=release.title or group.title or "",
        artist=release.artist_credit_phrase or "",
        artist_sort=_sort_name(release),
        artist_mbids=release.artist_ids,
        discs=len(release.medium_list),
        tracks=tuple(_tracks(release)),
        date=partial_date(release.date),
        country=release.country or None,
        status=release.status or None,
        types=tuple(kind.lower() for kind in (primary, *secondary) if kind),
        labels=tuple(_label_names(release)),
        catalog_numbers=tuple(filter(None, numbers)),
        barcode=release.barcode or None,
    )


def _sort_name(release: ws.MBRelease) -> str:
    return "".join(
        credit if isinstance(credit, str) else credit.artist.sort_name or credit.artist.name or ""
        for credit in release.artist_credit
    )


def _tracks(release: ws.MBRelease) -> Iterator[ReleaseTrack]:
    for index, medium in enumerate(release.medium_list, start=1):
        for place, track in enumerate(medium.track_list, start=1):
            if track.recording is None or track.id is None:
                continue
            yield ReleaseTrack(
                recording=track.recording.id,
                mbid=track.id,
                disc=_number(medium.position, index),
                number=_number(track.position, place),
                total=medium.track_count or len(medium.track_list),
                length_ms=track.recording.length_ms,
                artist_mbids=track.artist_ids,
                format=medium.format,
                disc_title=medium.title,
            )


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isdecimal() else otherwise
