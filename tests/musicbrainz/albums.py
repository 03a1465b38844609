"""Invented discographies that a stand-in serves, and how their files are looked up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

from chart_binder.domain.evidence import (
    Artist,
    EvidenceBundle,
    RecordingCandidate,
    Release,
    ReleaseGroup,
)
from chart_binder.domain.evidence_json import evidence_hash
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import ArtistId, RecordingId, ReleaseGroupId, ReleaseId
from musicbrainz.harness import Harness

VARIOUS = "Various Artists"


@dataclass(frozen=True, slots=True)
class Song:
    """A recording by the artist of a name."""

    by: str
    title: str

    @property
    def id(self) -> RecordingId:
        return RecordingId(mbid("recording", self.by, self.title))


@dataclass(frozen=True, slots=True)
class Record:
    """A release group whose releases all have the same songs; `credit` as a release has it."""

    title: str
    credit: str
    songs: tuple[Song, ...]
    editions: int = 1
    kind: str = "Album"
    year: int = 1990

    def group(self) -> ReleaseGroup:
        releases = tuple(self._release(number) for number in range(self.editions))
        return ReleaseGroup(
            ReleaseGroupId(mbid("group", self.credit, self.title)), title=self.title,
            artist_credit=self.credit, primary_type=self.kind, first_release_date=str(self.year),
            releases=releases,
        )  # fmt: skip

    def release_id(self, number: int = 0) -> ReleaseId:
        return ReleaseId(mbid("release", self.credit, self.title, str(number)))

    def _release(self, number: int) -> Release:
        return Release(
            self.release_id(number), title=self.title,
            date=f"{self.year + number % 30}-03-{number % 28 + 1:02}",
            country=("GB", "US", "DE", "JP")[number % 4], status="Official",
            label=f"Label {number % 7}", catno=f"CAT-{number}",
            format=("CD", '12" Vinyl', "Digital Media")[number % 3], artist_credit=self.credit,
        )  # fmt: skip


def mbid(*names: str) -> str:
    return str(uuid5(NAMESPACE_URL, "/".join(names)))


def artist_of(name: str) -> Artist:
    return Artist(name, ArtistId(mbid("artist", name)), "GB")


def songs_of(name: str, album: str, count: int) -> tuple[Song, ...]:
    return tuple(Song(name, f"{album}, part {number}") for number in range(1, count + 1))


def bundles_of(records: Iterable[Record]) -> list[EvidenceBundle]:
    """Return the evidence about every song of some records, which lists all that it is on."""
    groups: dict[Song, list[ReleaseGroup]] = {}
    for record in records:
        group = record.group()
        for song in record.songs:
            groups.setdefault(song, []).append(group)
    return [
        EvidenceBundle(
            (
                RecordingCandidate(
                    song.id,
                    title=song.title,
                    length_ms=180_000 + number % 50 * 1_000,
                    isrcs=(f"GBAAA{number % 10_000_000:07}",),
                    first_release_date="1990",
                    rg_candidates=tuple(on),
                ),
            ),
            artist_of(song.by),
            song.title,
        )
        for number, (song, on) in enumerate(groups.items())
    ]


def files_of(record: Record, songs: Sequence[Song] = ()) -> list[TrackTags]:
    return [
        TrackTags(
            title=song.title,
            artist=song.by,
            album=record.title,
            recording_mbid=song.id,
            release_mbid=record.release_id(),
            artist_mbid=artist_of(song.by).mb_artist_id,
        )
        for song in songs or record.songs
    ]


FIRST = Record("First", "The Band", songs_of("The Band", "First", 6), editions=3)
SECOND = Record("Second", "The Band", songs_of("The Band", "Second", 6), editions=2)
SAMPLER = Record(
    "Sampler", VARIOUS, (FIRST.songs[0], *songs_of("Others", "Some", 3), SECOND.songs[0])
)
HITS = Record("Hits", "The Band", (*FIRST.songs[:2], *SECOND.songs[:2]), editions=2)
RECORDS = (FIRST, SECOND, SAMPLER, HITS)
ARTIST = str(artist_of("The Band").mb_artist_id)
BAND = bundles_of(RECORDS)


def same(one: EvidenceBundle, other: EvidenceBundle) -> bool:
    """Whether two files' evidence is the same, by its hash and by all but when it was fetched."""
    assert evidence_hash(one) == evidence_hash(other)
    return (one.artist, one.recording_title, one.artifact) == (
        other.artist, other.recording_title, other.artifact,
    )  # fmt: skip


def as_one_by_one(harness: Harness, files: Iterable[TrackTags]) -> int:
    """Hold files looked up together against each on its own; return the requests together."""
    files = list(files)
    source = harness.source()
    gathered = [*map(source.together(files), files)]
    requests = source.requests
    assert requests == len(harness.server.requests)
    for tags, bundle in zip(files, gathered, strict=True):
        assert same(bundle, harness.source(cache_ttl_s=0.0).gather(tags)), tags
    return requests


def lists_asked(harness: Harness) -> int:
    return sum("artist=" in target for target in harness.server.targets)
