"""Releases by an artist, as MusicBrainz' web service lists them page by page."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from chart_binder.domain.evidence import Artist, Release, ReleaseGroup
from servers.musicbrainz_xml import (
    DEFAULT_PAGE,
    MOST_PAGE,
    Known,
    list_element,
    release_artist,
    release_element,
)


@dataclass(slots=True)
class Issue:
    """A release in its group, with its tracks; `artist` is the one of the bundle it is from."""

    release: Release
    group: ReleaseGroup
    artist: Artist
    tracks: list[Known] = field(default_factory=list)

    @property
    def credited(self) -> Artist:
        """Who the release is credited to."""
        return release_artist(self.release, self.artist)

    def is_by(self, artist_id: str, *, whole: bool) -> bool:
        """Whether the release is credited to an artist as a `whole`, or else a track of it is."""
        is_whole = artist_id in (self.credited.mb_artist_id or "").split("+")
        if whole or is_whole:
            return whole and is_whole
        return any(
            artist_id in (known.artist.mb_artist_id or "").split("+") for known in self.tracks
        )


def issues(rows: Iterable[tuple[Known, ReleaseGroup, Release | None]]) -> list[Issue]:
    """List releases with their tracks."""
    found: dict[str, Issue] = {}
    for known, group, release in rows:
        if release:
            issue = found.setdefault(release.mb_release_id, Issue(release, group, known.artist))
            issue.tracks.append(known)
    return list(found.values())


def issues_by(
    artist_id: str, rows: Iterable[tuple[Known, ReleaseGroup, Release | None]], *, whole: bool
) -> list[Issue]:
    """List the releases credited to an artist as a `whole`, or else those of which a track is."""
    return [issue for issue in issues(rows) if issue.is_by(artist_id, whole=whole)]


def issues_page(
    found: Sequence[Issue], query: Mapping[str, str], asked: set[str], most_tracks: int
) -> ET.Element:
    """A page of releases; with tracks, of no more than come to `most_tracks`, but one at least."""
    offset = int(query.get("offset", 0))
    page = found[offset : offset + min(int(query.get("limit", DEFAULT_PAGE)), MOST_PAGE)]
    if "recordings" in asked:
        tracks = accumulate(len(issue.tracks) for issue in page)
        page = page[: max(1, sum(count <= most_tracks for count in tracks))]
    elements = [
        release_element(issue.release, issue.group, issue.artist, asked, issue.tracks)
        for issue in page
    ]
    return list_element("release-list", elements, len(found), offset)
