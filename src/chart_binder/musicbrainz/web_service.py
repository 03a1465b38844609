"""MusicBrainz's web service (ws/2): queries, and responses as musicbrainzngs parses them."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlencode

import msgspec
from musicbrainzngs import mbxml

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.vocabulary import MBID, ArtistId, RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.files import convert_json

PAGE = 100
"""The largest number of releases or search results in one response."""
_LONGEST_MS = 2**31 - 1
_MAX_SEARCHED = 200
"""Characters of a title or name: longer ones may not fit into a request."""
MAX_FOR_MODEL = 8
"""The most results of a search for a model."""


LookUpEntity: TypeAlias = Literal["artist", "isrc", "recording", "release", "release-group"]
Entity: TypeAlias = Literal["recording", "release", "release-group"]
Linked: TypeAlias = Literal["recording", "artist", "track_artist", "release-group"]
Clause: TypeAlias = Literal["status:official", "primarytype:album", "NOT primarytype:album"]
"""A condition that narrows a search for recordings."""
_LUCENE_SPECIAL = re.compile(r'([+\-&|!(){}\[\]^"~*?:\\/])')
_RELEASE_INCLUDES = "artist-credits labels media release-groups"
_TRACK_INCLUDES = "artist-credits isrcs labels media recordings release-groups"
_INCLUDES: Mapping[str, str] = {
    "artist": "",  # country and areas come without an include
    "isrc": "artists isrcs",
    "recording": "artist-credits isrcs",
    "recording relations": "artist-credits isrcs recording-rels work-rels",
    "release": _TRACK_INCLUDES,
    "release-group": "artist-credits",
    "release-group links": "url-rels",
}


class _Request(NamedTuple):
    """A request under `/ws/2/` whose response has the field `field_name` of `Metadata`."""

    field_name: str
    path: str
    parameters: tuple[tuple[str, str], ...]


class _Query(msgspec.Struct, frozen=True):
    def _request(self) -> _Request:
        raise NotImplementedError

    @property
    def wanted(self) -> str:
        """The field of `Metadata` that the response must have."""
        return self._request().field_name

    @property
    def target(self) -> str:
        """Path and query string of the request."""
        _, name, parameters = self._request()
        path = f"/ws/2/{name.rstrip('/')}"
        return f"{path}?{urlencode(parameters)}" if parameters else path


class LookUp(_Query, frozen=True):
    """Query one entity; an ISRC comes with its recordings, a release with its tracks.

    `also` asks for the relations of a recording to recordings and works, or for the addresses to
    which a release group links.
    """

    entity: LookUpEntity
    identifier: str
    also: Literal["", "relations", "links"] = ""

    def _request(self) -> _Request:
        includes = _INCLUDES[f"{self.entity} {self.also}".rstrip()]
        field_name, path = self.entity.replace("-", "_"), f"{self.entity}/{self.identifier}"
        return _request_of(field_name, path, inc=includes)


class BrowseReleases(_Query, frozen=True):
    """Query one page of the releases of a recording, group or artist.

    A look-up would return at most 25. `track_artist` finds releases of which only a track is
    credited to the artist. A page with tracks ends at 500 tracks, but has at least one release.
    """

    linked: Linked
    identifier: str
    offset: int = 0
    tracks: bool = False

    def _request(self) -> _Request:
        link: dict[str, object] = {self.linked: self.identifier, "limit": PAGE}
        includes = _TRACK_INCLUDES if self.tracks else _RELEASE_INCLUDES
        return _request_of("release_list", "release", inc=includes, offset=self.offset, **link)


class RecordingsOfWork(_Query, frozen=True):
    """Query the first page of the recordings of a work."""

    work_id: str

    def _request(self) -> _Request:
        includes = "artist-credits isrcs"
        return _request_of(
            "recording_list", "recording", inc=includes, limit=PAGE, work=self.work_id
        )


class SearchByTitle(_Query, frozen=True):
    """Search for the exact words of title and artist; `artist` may be an id."""

    entity: Entity
    title: str
    artist: str

    def _request(self) -> _Request:
        title = f"{self.entity.replace('-', '')}:{_quoted(self.title)}"
        return _search(self.entity, f"{title} AND {_by_artist(self.artist)}", MAX_FOR_MODEL)


class SearchLoosely(_Query, frozen=True):
    """Search for any of the words of title and artist; `credit` is as for `SearchRecordings`."""

    entity: Entity
    title: str
    artist: str
    limit: int = MAX_FOR_MODEL
    credit: str = ""

    def _request(self) -> _Request:
        words = {self.entity.replace("-", ""): self.title, "artist": self.artist}
        terms = ((name, _escaped(text).lower()) for name, text in words.items() if text)
        query = " ".join(f"{name}:({text})" for name, text in terms)
        return _search(self.entity, query, self.limit)


class SearchGroupsOfYears(_Query, frozen=True):
    """Search for an artist's official release groups first dated from `first` to `last`."""

    artist: str
    first: int
    last: int

    def _request(self) -> _Request:
        years = f"firstreleasedate:[{self.first:04} TO {self.last:04}-12-31]"
        words = f"{_by_artist(self.artist)} AND {years} AND status:official"
        return _search("release-group", words, PAGE)


class SearchRecordings(_Query, frozen=True):
    """Search for recordings by titles, artist and length; all clauses in `only` must hold.

    `credit` is the artist with guests, as a file names them. The web service finds it by `artist`,
    an index of whole names may not.
    """

    artist: str
    titles: Sequence[str]
    length_ms: tuple[int, int] | None = None
    only: Sequence[Clause] = ()
    offset: int = 0
    credit: str = ""

    def _request(self) -> _Request:
        title_terms = " OR ".join(f"recording:{_quoted(title)}" for title in self.titles)
        terms = [
            _by_artist(self.artist),
            f"({title_terms})" if len(self.titles) > 1 else title_terms,
        ]
        terms += (*_of_length(self.length_ms), *self.only)
        return _search("recording", " AND ".join(terms), PAGE, self.offset)


ServiceQuery: TypeAlias = (
    LookUp
    | BrowseReleases
    | RecordingsOfWork
    | SearchByTitle
    | SearchLoosely
    | SearchGroupsOfYears
    | SearchRecordings
)


def _by_artist(artist: str) -> str:
    return f"arid:{artist.lower()}" if MBID.fullmatch(artist) else f"artist:{_quoted(artist)}"


def _of_length(length_ms: tuple[int, int] | None) -> list[str]:
    """Return the clauses that exclude other lengths, but not recordings without a length."""
    if length_ms is None:
        return []
    least, most = length_ms
    shorter = [f"NOT dur:[0 TO {least - 1}]"] if least else []
    return [*shorter, f"NOT dur:[{most + 1} TO {_LONGEST_MS}]"]


def _request_of(field_name: str, path: str, **parameters: object) -> _Request:
    # Sorted, because the target of a query is the key of its response in a cache.
    texts = sorted((name, str(value)) for name, value in parameters.items() if value)
    return _Request(field_name, path, tuple(texts))


def _search(entity: str, words: str, limit: int, offset: int = 0) -> _Request:
    field_name = f"{entity.replace('-', '_')}_list"
    return _request_of(field_name, entity, query=words, limit=limit, offset=offset)


def _quoted(words: str) -> str:
    return f'"{_escaped(words)}"'


def _escaped(words: str) -> str:
    return _LUCENE_SPECIAL.sub(r"\\\1", words[:_MAX_SEARCHED])


_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_PARSE_ERRORS = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Raised if the XML is not MusicBrainz'; a LookupError also if its encoding is unknown."""
_NAMESPACE = "{http://musicbrainz.org/ns/mmd-2.0#}"


class UnreadableError(Exception):
    """A response is not MusicBrainz's XML; the message says what is wrong."""


class _Element(msgspec.Struct, frozen=True, gc=False, rename="kebab"):
    """An element of MusicBrainz's XML (github.com/metabrainz/mmd-schema); numbers are text."""


class Area(_Element, frozen=True):
    """A country, or a part of one."""

    iso_3166_1_code_list: tuple[str | None, ...] = ()
    iso_3166_2_code_list: tuple[str | None, ...] = ()


class Alias(_Element, frozen=True):
    """Another name of an artist."""

    alias: str | None = None


class MBArtist(_Element, frozen=True):
    """A person or group."""

    id: ArtistId
    name: str | None = None
    sort_name: str | None = None
    disambiguation: str | None = None
    country: str | None = None
    area: Area | None = None
    begin_area: Area | None = None
    alias_list: tuple[Alias, ...] = ()


class Credit(_Element, frozen=True):
    """A credited artist; `name` is the name in the credit if it differs."""

    artist: MBArtist
    name: str | None = None


class _Credited(_Element, frozen=True, kw_only=True):
    artist_credit: tuple[Credit | str, ...] = ()

    @property
    def credits(self) -> tuple[Credit, ...]:
        """The credited artists, without the phrases that join their names."""
        return tuple(credit for credit in self.artist_credit if isinstance(credit, Credit))

    @property
    def artist_ids(self) -> tuple[ArtistId, ...]:
        """The ids of the credited artists."""
        return tuple(credit.artist.id for credit in self.credits)


class MBReleaseGroup(_Credited, frozen=True):
    """A release group."""

    id: ReleaseGroupId
    title: str | None = None
    primary_type: str | None = None
    secondary_type_list: tuple[str | None, ...] = ()
    first_release_date: str | None = None
    artist_credit_phrase: str | None = None
    disambiguation: str | None = None
    url_relation_list: "tuple[Relation, ...]" = ()


class Label(_Element, frozen=True):
    """A record label."""

    name: str | None = None


class LabelInfo(_Element, frozen=True):
    """The label and catalogue number of a release."""

    catalog_number: str | None = None
    label: Label | None = None


class Recording(_Credited, frozen=True):
    """A recording; only search results have a `score` (0 to 100)."""

    id: RecordingId
    title: str | None = None
    length: str | None = None
    disambiguation: str | None = None
    video: str | None = None
    first_release_date: str | None = None
    artist_credit_phrase: str | None = None
    isrc_list: tuple[str, ...] = ()
    release_list: "tuple[ReleaseInSearch, ...]" = ()
    score: str | None = msgspec.field(default=None, name="ext:score")
    recording_relation_list: "tuple[Relation, ...]" = ()
    work_relation_list: "tuple[Relation, ...]" = ()

    @property
    def length_ms(self) -> int | None:
        """The length in milliseconds."""
        return int(self.length) if self.length and _NUMBER.fullmatch(self.length) else None

    @property
    def likelihood(self) -> int:
        """The score of a search result; 100 for a recording from another query."""
        return int(self.score) if self.score and _NUMBER.fullmatch(self.score) else 100


class Work(_Element, frozen=True):
    """A composition."""

    id: str
    title: str | None = None


class Relation(_Element, frozen=True):
    """A relation of a `type` to a `recording`, to a `work`, or to the address `target`.

    If `direction` is `backward`, the relation leads from the other entity to this one.
    """

    type: str | None = None
    direction: str | None = None
    target: str | None = None
    ended: str | None = None
    recording: Recording | None = None
    work: Work | None = None


class MBTrack(_Credited, frozen=True):
    """A track; it has its own title or credit if that differs from the recording's."""

    id: str | None = None
    title: str | None = None
    position: str | None = None
    recording: Recording | None = None


class Medium(_Element, frozen=True):
    """A disc of a release; it has tracks only if the query includes recordings."""

    format: str | None = None
    title: str | None = None
    position: str | None = None
    track_list: tuple[MBTrack, ...] = ()
    track_count: int | None = None
    pregap: MBTrack | None = None
    data_track_list: tuple[MBTrack, ...] = ()

    @property
    def tracks(self) -> tuple[MBTrack, ...]:
        """All tracks, including the hidden one before the first (`pregap`) and data tracks."""
        hidden = () if self.pregap is None else (self.pregap,)
        return *hidden, *self.track_list, *self.data_track_list


class ReleaseEvent(_Element, frozen=True):
    """A date and country of a release."""

    date: str | None = None
    area: Area | None = None


class ReleaseInSearch(_Credited, frozen=True, kw_only=True):
    """A release in the search results for a recording; it lacks labels and dates of the group."""

    id: ReleaseId | None = None
    release_group: MBReleaseGroup | None = None
    title: str | None = None
    status: str | None = None
    disambiguation: str | None = None
    date: str | None = None
    country: str | None = None
    artist_credit_phrase: str | None = None
    medium_list: tuple[Medium, ...] = ()
    release_event_list: tuple[ReleaseEvent, ...] = ()

    @property
    def release(self) -> "MBRelease | None":
        """The release, or None if the server sent too little of it."""
        if self.id is None or self.release_group is None:
            return None
        return MBRelease(**msgspec.structs.asdict(self))


class MBRelease(ReleaseInSearch, frozen=True, kw_only=True):
    """A release; `date` and `country` are those of its first event."""

    id: ReleaseId
    release_group: MBReleaseGroup
    barcode: str | None = None
    label_info_list: tuple[LabelInfo, ...] = ()

    @property
    def tracks(self) -> Iterator[MBTrack]:
        """All tracks of all media."""
        return (track for medium in self.medium_list for track in medium.tracks)


class Isrc(_Element, frozen=True):
    """An ISRC with the recordings that carry it."""

    recording_list: tuple[Recording, ...] = ()


class Metadata(_Element, frozen=True):
    """The root of a response; only the queried field is set."""

    recording: Recording | None = None
    artist: MBArtist | None = None
    isrc: Isrc | None = None
    release_group: MBReleaseGroup | None = None
    release: MBRelease | None = None
    recording_list: tuple[Recording, ...] | None = None
    release_group_list: tuple[MBReleaseGroup, ...] | None = None
    release_list: tuple[MBRelease, ...] | None = None
    recording_count: int | None = None
    release_group_count: int | None = None
    release_count: int | None = None


def parse_response(body: bytes, field_name: str) -> Metadata:
    """Parse a response that has the field `field_name`, or raise `UnreadableError`."""
    try:
        root = ET.fromstring(body)  # noqa: S314 - expat bounds entity expansion itself
        if root.tag != f"{_NAMESPACE}metadata":
            raise UnreadableError(f"<{root.tag}> is not what MusicBrainz answers")
        tree = mbxml.parse_message(body)
        # musicbrainzngs ignores the first release dates of recordings.
        dates = {
            recording.get("id"): recording.findtext(f"{_NAMESPACE}first-release-date")
            for recording in root.iter(f"{_NAMESPACE}recording")
        }
        for recording in _recordings(tree):
            recording["first-release-date"] = dates.get(recording.get("id"))
        metadata = convert_json(tree, Metadata)
    except ET.ParseError as error:
        raise UnreadableError(f"the answer is not XML ({error})") from error
    except _PARSE_ERRORS as error:
        raise UnreadableError(f"the answer is not as MusicBrainz writes it ({error})") from error
    if getattr(metadata, field_name) is None:
        raise UnreadableError(f"the answer has no {field_name.replace('_', '-')}")
    return metadata


def error_text(body: bytes) -> str | None:
    """Return the text of an error document, or None if the response is not one."""
    if b"<error" not in body[:200]:
        return None
    try:
        texts = [text for text in mbxml.get_error_message(body) or () if text]
    except _PARSE_ERRORS:
        return None
    return texts[0] if texts else None


def _recordings(tree: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all recordings in a response, at any depth."""
    for name, value in tree.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from [item] if name in {"recording", "recording-list"} else ()
                yield from _recordings(item)


def partial_date(text: str | None) -> PartialDate:
    """Parse a date in MusicBrainz's form; an invalid date is `UNKNOWN`."""
    try:
        return PartialDate.parse(text or "")
    except ValueError:
        return UNKNOWN
