"""Answers of MusicBrainz' web service, parsed by musicbrainzngs into typed values."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec
from musicbrainzngs import mbxml

from chart_binder.domain.vocabulary import ArtistId, RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.typed import converted

_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_ODD = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Raised for XML that is not MusicBrainz'; a LookupError also for an encoding nobody knows."""
_NAMESPACE = "{http://musicbrainz.org/ns/mmd-2.0#}"


class UnreadableError(Exception):
    """Something was answered that is not MusicBrainz' XML; the text says what is wrong with it."""


class _Element(msgspec.Struct, frozen=True, rename="kebab"):
    """An element of MusicBrainz' XML (github.com/metabrainz/mmd-schema), as musicbrainzngs has it.

    Names are those of the schema; numbers stay text.
    """


class Area(_Element, frozen=True):
    """A country, or a part of one."""

    iso_3166_1_code_list: tuple[str | None, ...] = ()
    iso_3166_2_code_list: tuple[str | None, ...] = ()


class Alias(_Element, frozen=True):
    """Another name of an artist."""

    alias: str | None = None


class Artist(_Element, frozen=True):
    """A person or group."""

    id: ArtistId
    name: str | None = None
    sort_name: str | None = None
    country: str | None = None
    area: Area | None = None
    begin_area: Area | None = None
    alias_list: tuple[Alias, ...] = ()


class Credit(_Element, frozen=True):
    """An artist, under the name of the credit if that is another."""

    artist: Artist
    name: str | None = None


class ReleaseGroup(_Element, frozen=True):
    """A release group."""

    id: ReleaseGroupId
    title: str | None = None
    primary_type: str | None = None
    secondary_type_list: tuple[str | None, ...] = ()
    first_release_date: str | None = None
    artist_credit_phrase: str | None = None
    disambiguation: str | None = None


class Label(_Element, frozen=True):
    """A record label."""

    name: str | None = None


class LabelInfo(_Element, frozen=True):
    """Under which label and number a release came out."""

    catalog_number: str | None = None
    label: Label | None = None


class ReleaseInSearch(_Element, frozen=True):
    """A release that a found recording is on."""

    title: str | None = None


class Recording(_Element, frozen=True):
    """A recording; `score` (0 to 100) is there in search results."""

    id: RecordingId
    title: str | None = None
    length: str | None = None
    disambiguation: str | None = None
    video: str | None = None
    first_release_date: str | None = None
    artist_credit: tuple[Credit | str, ...] = ()
    artist_credit_phrase: str | None = None
    isrc_list: tuple[str, ...] = ()
    release_list: tuple[ReleaseInSearch, ...] = ()
    score: str | None = msgspec.field(default=None, name="ext:score")

    @property
    def length_ms(self) -> int | None:
        """The length in milliseconds."""
        return int(self.length) if self.length and _NUMBER.fullmatch(self.length) else None

    @property
    def likelihood(self) -> int:
        """How well it fits a search, up to 100; a recording that was not searched for fits."""
        return int(self.score) if self.score and _NUMBER.fullmatch(self.score) else 100

    @property
    def credits(self) -> tuple[Credit, ...]:
        """Who is credited, without the phrases that join the names."""
        return tuple(credit for credit in self.artist_credit if isinstance(credit, Credit))


class Track(_Element, frozen=True):
    """A track; its own title is there where the recording's is another.

    Where its own credit is absent, musicbrainzngs puts the recording's.
    """

    title: str | None = None
    artist_credit: tuple[Credit | str, ...] = ()
    recording: Recording | None = None

    def is_by(self, artist_id: ArtistId) -> bool:
        """Whether an artist is among those it is credited to."""
        named = (credit.artist.id for credit in self.artist_credit if isinstance(credit, Credit))
        return artist_id in named


class Medium(_Element, frozen=True):
    """One disc of a release; tracks come only where recordings are asked for.

    `pregap` is hidden before the first track, data tracks are such as a computer plays.
    """

    format: str | None = None
    track_list: tuple[Track, ...] = ()
    track_count: int | None = None
    pregap: Track | None = None
    data_track_list: tuple[Track, ...] = ()

    @property
    def tracks(self) -> tuple[Track, ...]:
        """All tracks, hidden ones among them."""
        hidden = () if self.pregap is None else (self.pregap,)
        return *hidden, *self.track_list, *self.data_track_list


class ReleaseEvent(_Element, frozen=True):
    """A day on which a release came out somewhere."""

    date: str | None = None
    area: Area | None = None


class Release(_Element, frozen=True):
    """A release; its own date and country are those of its first event."""

    id: ReleaseId
    release_group: ReleaseGroup
    title: str | None = None
    status: str | None = None
    disambiguation: str | None = None
    date: str | None = None
    country: str | None = None
    artist_credit_phrase: str | None = None
    label_info_list: tuple[LabelInfo, ...] = ()
    medium_list: tuple[Medium, ...] = ()
    release_event_list: tuple[ReleaseEvent, ...] = ()


class Isrc(_Element, frozen=True):
    """An ISRC with the recordings that carry it."""

    recording_list: tuple[Recording, ...] = ()


class Metadata(_Element, frozen=True):
    """The root of an answer; what was asked for is there, the rest is not."""

    recording: Recording | None = None
    artist: Artist | None = None
    isrc: Isrc | None = None
    release_group: ReleaseGroup | None = None
    release: Release | None = None
    recording_list: tuple[Recording, ...] | None = None
    release_group_list: tuple[ReleaseGroup, ...] | None = None
    release_list: tuple[Release, ...] | None = None
    release_count: int | None = None


def read(body: bytes, wanted: str) -> Metadata:
    """Read an answer that has the field `wanted`, or raise `UnreadableError`."""
    try:
        root = ET.fromstring(body)  # noqa: S314 - expat bounds entity expansion itself
        if root.tag != f"{_NAMESPACE}metadata":
            raise UnreadableError(f"<{root.tag}> is not what MusicBrainz answers")
        tree = mbxml.parse_message(body)
        dates = _first_release_dates(root)
        for recording in _recordings(tree):
            recording["first-release-date"] = dates.get(recording.get("id"))
        metadata = converted(tree, Metadata)
    except ET.ParseError as error:
        raise UnreadableError(f"the answer is no XML ({error})") from error
    except _ODD as error:
        raise UnreadableError(f"the answer is not as MusicBrainz writes it ({error})") from error
    if getattr(metadata, wanted) is None:
        raise UnreadableError(f"the answer has no {wanted.replace('_', '-')}")
    return metadata


def error_text(body: bytes) -> str | None:
    """Return what MusicBrainz says in an error document; `None` if it is something else."""
    if b"<error" not in body[:200]:
        return None
    try:
        texts = [text for text in mbxml.get_error_message(body) or () if text]
    except _ODD:
        return None
    return texts[0] if texts else None


def _first_release_dates(root: ET.Element) -> dict[str | None, str | None]:
    """Find what musicbrainzngs leaves out: when a recording first came out."""
    return {
        recording.get("id"): recording.findtext(f"{_NAMESPACE}first-release-date")
        for recording in root.iter(f"{_NAMESPACE}recording")
    }


def _recordings(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "recording" in tree:
        yield tree["recording"]
    yield from tree.get("recording-list", ())
    yield from tree.get("isrc", {}).get("recording-list", ())
    for release in [tree.get("release", {}), *tree.get("release-list", ())]:
        for medium in release.get("medium-list", ()):
            hidden = [medium["pregap"]] if "pregap" in medium else []
            tracks = chain(hidden, medium.get("track-list", ()), medium.get("data-track-list", ()))
            yield from (track["recording"] for track in tracks if "recording" in track)
