"""What an audio file says of itself."""

from dataclasses import dataclass


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
