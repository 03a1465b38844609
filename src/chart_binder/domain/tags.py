"""Tags of audio files, and a release as tags describe it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TypeAlias

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.evidence import Artifact

Texts = tuple[str, ...]
"""The values of a field."""

Fields: TypeAlias = Mapping[str, Texts]
"""Values by field; an empty tuple removes a field."""


@dataclass(frozen=True, slots=True)
class TrackTags:
    """The tags of an audio file that help to identify its recording; None means unknown.

    They follow Picard's mapping: `recording_mbid` is `MUSICBRAINZ_TRACKID`.
    """

    title: str | None = None
    artist: str | None = None
    album: str | None = None
    album_artist: str | None = None
    date: str | None = None
    original_date: str | None = None
    duration_ms: int | None = None
    is_compilation: bool = False
    isrcs: tuple[str, ...] = ()
    recording_mbid: str | None = None
    release_mbid: str | None = None
    release_group_mbid: str | None = None
    artist_mbid: str | None = None
    named_by: str | None = None
    """`file name` if artist or title are from the name of the file."""


def artifact_of(tags: TrackTags) -> Artifact:
    """Return a file's tags in the form of evidence."""
    texts = {name: text for name, text in zip(_TEXTS, _texts_of(tags), strict=True) if text}
    if tags.isrcs:
        texts["isrc"] = "; ".join(tags.isrcs)
    return Artifact(duration_ms=tags.duration_ms, tags=texts)


_TEXTS = tuple(
    field.name
    for field in fields(TrackTags)
    if field.name not in {"duration_ms", "is_compilation", "isrcs"}
)
_texts_of = attrgetter(*_TEXTS)


@dataclass(frozen=True, slots=True)
class ReleaseTrack:
    """A track of a release: its recording, its place and its medium.

    `disc` and `number` count from 1; `total` is the number of tracks on its disc.
    """

    recording: str
    mbid: str
    disc: int
    number: int
    total: int
    length_ms: int | None = None
    artist_mbids: Texts = ()
    format: str | None = None
    disc_title: str | None = None


@dataclass(frozen=True, slots=True)
class WholeRelease:
    """A release with its tracks: the parts for which tags have fields."""

    mbid: str
    group_mbid: str
    title: str
    artist: str
    discs: int
    tracks: tuple[ReleaseTrack, ...]
    artist_sort: str = ""
    artist_mbids: Texts = ()
    date: PartialDate = UNKNOWN
    country: str | None = None
    status: str | None = None
    types: Texts = ()
    labels: Texts = ()
    catalog_numbers: Texts = ()
    barcode: str | None = None
    _by_recording: Mapping[str, Sequence[ReleaseTrack]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_recording: dict[str, list[ReleaseTrack]] = {}
        for track in self.tracks:
            by_recording.setdefault(track.recording, []).append(track)
        object.__setattr__(self, "_by_recording", by_recording)

    def track_of(self, recordings: Iterable[str], length_ms: int | None) -> ReleaseTrack | None:
        """Return the track with the first of these recordings that is on the release, or None.

        If several tracks have it, return the nearest in length, else the first.
        """
        for recording in recordings:
            if tracks := self._by_recording.get(recording):
                return min(tracks, key=lambda track: _length_gap(track, length_ms))
        return None


def _length_gap(track: ReleaseTrack, length_ms: int | None) -> int:
    return abs(track.length_ms - length_ms) if track.length_ms and length_ms else 0
