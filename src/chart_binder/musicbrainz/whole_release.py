"""A release with its tracks, for the tags of files that are to be tracks of it."""

from collections.abc import Iterator

from chart_binder.domain.policies import ReleaseTrack, WholeRelease
from chart_binder.domain.vocabulary import ReleaseId, type_names
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.evidence import partial_date


def look_up_release(client: Client, release_id: str) -> WholeRelease | None:
    """Return a release with its tracks, `None` if MusicBrainz knows no such release.

    It has another id if it was merged into another. Raises `LookupFailedError`.
    """
    found = client.release(ReleaseId(release_id))
    return whole_release(found) if found else None


def whole_release(release: ws.Release) -> WholeRelease:
    """Return a release of an answer as tags describe it; hidden and data tracks have no number."""
    group = release.release_group
    primary, secondary = type_names(
        group.primary_type, tuple(filter(None, group.secondary_type_list))
    )
    infos = release.label_info_list
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
        labels=tuple(info.label.name for info in infos if info.label and info.label.name),
        catalog_numbers=tuple(info.catalog_number for info in infos if info.catalog_number),
        barcode=release.barcode or None,
    )


def _sort_name(release: ws.Release) -> str:
    """Return the credit with the names by which artists are sorted."""
    parts = (
        one if isinstance(one, str) else one.artist.sort_name or one.artist.name or ""
        for one in release.artist_credit
    )
    return "".join(parts)


def _tracks(release: ws.Release) -> Iterator[ReleaseTrack]:
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
