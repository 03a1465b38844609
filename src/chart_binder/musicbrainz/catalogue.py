"""Which of an artist's recordings are on which releases."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from chart_binder.domain.ids import ArtistId, RecordingId, ReleaseId
from chart_binder.musicbrainz.answers import Medium, Recording, Release


@dataclass(slots=True)
class Catalogue:
    """All recordings that are credited to `artist` first, with the releases they are on.

    Whole are the releases on which a track of such a recording is credited to the artist too, or
    the release is. `fetched_at` is when the oldest page of it was received, in seconds since the
    epoch.
    """

    artist: ArtistId
    fetched_at: float = math.inf
    recordings: dict[RecordingId, Recording] = field(default_factory=dict)
    _releases: dict[RecordingId, dict[ReleaseId, Release]] = field(default_factory=dict)

    def add(self, releases: Iterable[Release], fetched_at: float) -> None:
        """Take in a page of releases with their tracks, of which only the artist's are held."""
        self.fetched_at = min(self.fetched_at, fetched_at)
        for release in releases:
            played = [one for one in recordings_on(release) if self._has_first(one)]
            if played:
                bare = replace(release, medium_list=tuple(map(_bare, release.medium_list)))
            for recording in played:
                self.recordings.setdefault(recording.id, recording)
                self._releases.setdefault(recording.id, {})[release.id] = bare

    def releases_of(self, recording_id: RecordingId) -> tuple[Release, ...]:
        """Return the releases that contain one of the recordings."""
        return tuple(self._releases[recording_id].values())

    def only(self, recordings: Iterable[RecordingId]) -> "Catalogue":
        """Return what it says about some recordings."""
        known = [one for one in recordings if one in self.recordings]
        return Catalogue(
            self.artist,
            self.fetched_at,
            {one: self.recordings[one] for one in known},
            {one: self._releases[one] for one in known},
        )

    @property
    def size(self) -> int:
        """How many places on releases it holds, by which its memory goes."""
        return sum(map(len, self._releases.values()))

    def _has_first(self, recording: Recording) -> bool:
        return bool(recording.credits) and recording.credits[0].artist.id == self.artist


def recordings_on(release: Release) -> list[Recording]:
    """Return what the tracks of a release are recordings of."""
    tracks = (track for medium in release.medium_list for track in medium.tracks)
    return [track.recording for track in tracks if track.recording is not None]


def tracks_missing(release: Release) -> int:
    """Return how many tracks a release has that were not told."""
    return sum(
        max(0, (medium.track_count or 0) - len(medium.tracks)) for medium in release.medium_list
    )


def _bare(medium: Medium) -> Medium:
    return Medium(format=medium.format, track_count=medium.track_count)
