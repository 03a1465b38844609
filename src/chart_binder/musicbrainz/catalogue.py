"""Which of an artist's recordings are on which releases."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from chart_binder.domain.ids import ArtistId, RecordingId, ReleaseId
from chart_binder.musicbrainz.answers import Medium, Recording, Release, Track


@dataclass(slots=True)
class Catalogue:
    """Recordings that are credited to `artist` first, with all releases they are on.

    All: the lists it is made of have each release that is credited to the artist, or has a track
    that is. So a recording is left out if one of its tracks is credited to others alone, as the
    tracks of classical music are to composers: releases with such tracks only are not in the lists.
    `fetched_at` is when the oldest page of them was received, in seconds since the epoch.
    """

    artist: ArtistId
    fetched_at: float = math.inf
    recordings: dict[RecordingId, Recording] = field(default_factory=dict)
    _releases: dict[RecordingId, dict[ReleaseId, Release]] = field(default_factory=dict)
    _left_out: set[RecordingId] = field(default_factory=set)

    def add(self, releases: Iterable[Release], fetched_at: float) -> None:
        """Take in a page of releases with their tracks, of which only the artist's are held."""
        self.fetched_at = min(self.fetched_at, fetched_at)
        for release in releases:
            bare: Release | None = None
            for track in tracks_on(release):
                recording = track.recording
                if recording is None or not self._has_first(recording):
                    continue
                if not track.is_by(self.artist):
                    self._leave_out(recording.id)
                if recording.id not in self._left_out:
                    bare = bare or _bare(release)
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

    def _leave_out(self, recording_id: RecordingId) -> None:
        self._left_out.add(recording_id)
        self.recordings.pop(recording_id, None)
        self._releases.pop(recording_id, None)

    def _has_first(self, recording: Recording) -> bool:
        return bool(recording.credits) and recording.credits[0].artist.id == self.artist


def tracks_on(release: Release) -> Iterator[Track]:
    """Yield the tracks of a release."""
    return (track for medium in release.medium_list for track in medium.tracks)


def tracks_missing(release: Release) -> int:
    """Return how many tracks a release has that were not told."""
    return sum(
        max(0, (medium.track_count or 0) - len(medium.tracks)) for medium in release.medium_list
    )


def _bare(release: Release) -> Release:
    media = (Medium(format=one.format, track_count=one.track_count) for one in release.medium_list)
    return replace(release, medium_list=tuple(media))
