"""Evidence bundles: the facts about one recording on which a decision is based.

Fields have the producer's values; properties interpret them, for example types and statuses by
MusicBrainz's names and dates as spans of days. Reading a bundle calls no Python for a release.
"""

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Annotated, NamedTuple, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import astuple, replace

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.remarks import Remarks, remarks_in
from chart_binder.domain.vocabulary import (
    NO_COUNTRIES,
    STATUSES,
    ArtistId,
    RecordingId,
    ReleaseGroupId,
    ReleaseId,
    country_code,
    status_name,
    type_names,
)

_KINDS = ("live", "remix", "demo", "edit", "acoustic", "mono")
"""In the order of `RecordingFlags`."""


Text = Annotated[str, Meta(max_length=10_000)]
"""A name, a remark or a word; longer texts are refused because searching them takes long."""

_ID = Meta(max_length=200)

Milliseconds = Annotated[int, Meta(ge=0, le=1_000_000_000_000)]
"""A length of up to about thirty years."""


class Value(msgspec.Struct, frozen=True, gc=False):
    """An immutable value with a JSON form; `null` and absent both mean unknown.

    Values form no cycles, and without garbage collection reading a bundle takes half the time.
    """


class Artist(Value, frozen=True):
    """The artist to whom the recording is credited."""

    name: Text | None = None
    mb_artist_id: Annotated[ArtistId, _ID] | None = None
    begin_area_country: Text | None = None
    wikidata_country: Text | None = None

    @property
    def country(self) -> str | None:
        """The artist's country by MusicBrainz, else by Wikidata."""
        codes = map(country_code, (self.begin_area_country, self.wikidata_country))
        return next((code for code in codes if code and code not in NO_COUNTRIES), None)


class Link(Value, frozen=True):
    """An address at Wikidata or Wikipedia that MusicBrainz gives for a release group."""

    group: ReleaseGroupId
    address: str


class ReleaseFlags(Value, frozen=True):
    """Flags of a release; the first three repeat its status."""

    is_official: bool | None = None
    is_promo: bool | None = None
    is_bootleg: bool | None = None
    is_reissue_hint: bool | None = None
    is_remaster_hint: bool | None = None

    @property
    def status(self) -> str | None:
        """The release status that the flags imply."""
        if self.is_bootleg:
            return "Bootleg"
        if self.is_promo:
            return "Promotion"
        return "Official" if self.is_official else None

    @property
    def marks_reissue(self) -> bool:
        """Whether it is flagged as a reissue or a remaster."""
        return bool(self.is_reissue_hint or self.is_remaster_hint)


_OFFICIAL = ("Official", "Withdrawn", "Expunged")


class Release(Value, frozen=True):
    """One release that contains the recording."""

    mb_release_id: Annotated[ReleaseId, _ID]
    title: Text | None = None
    date: Text | None = None
    country: Text | None = None
    status: Text | None = None
    label: Text | None = None
    catno: Text | None = None
    format: Text | None = None
    disambiguation: Text | None = None
    artist_credit: Text | None = None
    flags: ReleaseFlags | None = None

    @property
    def when(self) -> PartialDate:
        """The release date, perhaps vague or unknown."""
        return PartialDate.parse(self.date) if self.date else UNKNOWN

    @property
    def standing(self) -> str | None:
        """The status by MusicBrainz's name, derived from the flags if there is no status."""
        if self.status in STATUSES:
            return self.status
        if self.status and (name := status_name(self.status)):
            return name
        return self.flags.status if self.flags else None

    @property
    def is_official(self) -> bool:
        """Whether it came out officially, even if it was withdrawn or expunged later."""
        return self.status == "Official" or self.standing in _OFFICIAL

    @property
    def is_pulled(self) -> bool:
        """Whether it was official until it was withdrawn or expunged."""
        return self.status != "Official" and self.standing in _OFFICIAL[1:]

    @property
    def may_be_official(self) -> bool:
        """Whether its status is unknown, and no flag says that it is not official."""
        denied = self.flags is not None and self.flags.is_official is False
        return self.standing is None and not denied

    @property
    def place(self) -> str | None:
        """The country as MusicBrainz codes it."""
        return country_code(self.country)


class ReleaseGroup(Value, frozen=True):
    """A release group with those of its releases that contain the recording."""

    mb_rg_id: Annotated[ReleaseGroupId, _ID]
    title: Text | None = None
    artist_credit: Text | None = None
    primary_type: Text | None = None
    secondary_types: tuple[Text, ...] | None = None
    first_release_date: Text | None = None
    labels: tuple[Text, ...] | None = None
    countries: tuple[Text, ...] | None = None
    releases: tuple[Release, ...] | None = None
    artist_ids: tuple[Annotated[ArtistId, _ID], ...] | None = None
    """The credited artists; a producer may omit them if the credit is the artist's name."""
    premiere: bool | None = None
    """True if a verified fact says that the recording first came out on it."""

    @property
    def types(self) -> tuple[str | None, tuple[str, ...]]:
        """The primary type and the secondary types, by MusicBrainz's names."""
        return type_names(self.primary_type, self.secondary_types or ())

    @property
    def kinds(self) -> tuple[str, ...]:
        """The secondary types, by MusicBrainz's names."""
        return self.types[1]

    @property
    def first_date(self) -> PartialDate:
        """The date of the group's first release, which may lack the recording."""
        return PartialDate.parse(self.first_release_date) if self.first_release_date else UNKNOWN

    @property
    def editions(self) -> tuple[Release, ...]:
        """The releases; empty if they are absent."""
        return self.releases or ()


class RecordingFlags(Value, frozen=True):
    """The kinds of performance or mix that a recording is."""

    is_live: bool | None = None
    is_remix: bool | None = None
    is_demo: bool | None = None
    is_radio_edit: bool | None = None
    is_acoustic: bool | None = None
    is_mono: bool | None = None


class RecordingCandidate(Value, frozen=True):
    """A recording that the file may contain, with its release groups."""

    mb_recording_id: Annotated[RecordingId, _ID]
    title: Text | None = None
    length_ms: Milliseconds | None = None
    isrcs: tuple[Text, ...] | None = None
    disambiguation: Text | None = None
    first_release_date: Text | None = None
    flags: RecordingFlags | None = None
    rg_candidates: tuple[ReleaseGroup, ...] | None = None
    relation: Text | None = None
    """`sibling` marks another recording of the performance; `because` says why it is one."""
    because: Text | None = None
    artist: Artist | None = None
    """Its artist, if the recordings of the evidence are by different artists."""

    @property
    def is_sibling(self) -> bool:
        """Whether it is another recording of the performance, not found for the file itself."""
        return self.relation == "sibling"

    @property
    def first_date(self) -> PartialDate:
        """The first date by MusicBrainz, which takes it from all releases, including bootlegs."""
        return PartialDate.parse(self.first_release_date) if self.first_release_date else UNKNOWN

    @property
    def groups(self) -> tuple[ReleaseGroup, ...]:
        """The release groups; empty if they are absent."""
        return self.rg_candidates or ()

    @property
    def intent(self) -> RecordingFlags:
        """The flags; absent ones are derived from title and disambiguation."""
        kinds = self.remarks.kinds
        return RecordingFlags(*(name in kinds for name in _KINDS))

    @property
    def remarks(self) -> Remarks:
        """What title, disambiguation and flags say about its version."""
        remarks = remarks_in(self.title, self.disambiguation)
        if self.flags is None:
            return remarks
        pairs = list(zip(_KINDS, astuple(self.flags), strict=True))
        denied = [name for name, flag in pairs if flag is False]
        return remarks.with_kinds((name for name, flag in pairs if flag), denied)


class Artifact(Value, frozen=True):
    """Length and tags of the file itself."""

    duration_ms: Milliseconds | None = None
    tags: dict[str, str | None] | None = None


class Provenance(Value, frozen=True):
    """The sources of the evidence; `cache_age_s` is the age in seconds of the oldest response.

    `unread` describes what was found but not read, or a recording that may be the same
    performance; `siblings` says why not all siblings were looked up. `index` names the dump of
    MusicBrainz that the evidence is from; without it, the evidence is from the web service.
    """

    sources_used: tuple[Text, ...] | None = None
    fetched_at_utc: Text | None = None
    cache_age_s: float | None = None
    unread: Text | None = None
    siblings: Text | None = None
    index: Text | None = None


T = TypeVar("T")


_ALBUM = ("release", "release_group")


class EvidenceBundle(Value, frozen=True, gc=True, dict=True):
    """Everything known about one recording, version 1."""

    recording_candidates: tuple[RecordingCandidate, ...]
    artist: Artist | None = None
    recording_title: Text | None = None
    artifact: Artifact | None = None
    provenance: Provenance | None = None
    version: int | None = 1
    siblings: Text | None = None
    """`looked_up` means that siblings were searched for."""
    complete: bool | None = None
    """False if more was found than was read."""
    stated_first: Text | None = None
    """The date, by a verified fact, of the song on a record that the evidence lacks."""

    @property
    def performer(self) -> Artist:
        """The artist; one without values if the artist is unknown."""
        return self.artist or Artist()

    @property
    def groups(self) -> tuple[ReleaseGroup, ...]:
        """The release groups of all recordings."""
        return tuple(group for recording in self.recording_candidates for group in recording.groups)

    @property
    def tags(self) -> dict[str, str | None]:
        """The file's tags, empty if they are unknown."""
        return (self.artifact and self.artifact.tags) or {}

    @property
    def is_named_by_file(self) -> bool:
        """Whether artist or title are from the file's name, and no id in the tags confirms it."""
        tags = self.tags
        if not tags.get("named_by"):
            return False
        ids = (tags.get(f"{now}{of}_mbid") for now in ("", "current_") for of in _ALBUM)
        return not {*filter(None, ids)}.intersection(self.all_ids.ids)

    def noting_siblings(self, why: str) -> "EvidenceBundle":
        """Return a copy with the reason why not all siblings were looked up."""
        provenance = replace(self.provenance or Provenance(), siblings=why)
        return replace(self, provenance=provenance)

    @property
    def sibling_lookup(self) -> str:
        """What a look-up of siblings found, or why there was no look-up."""
        count = sum(recording.is_sibling for recording in self.recording_candidates)
        if self.siblings == "looked_up":
            none = "MusicBrainz has no other recording of this performance"
            return f"looked up: {f'{count} found' if count else none}"
        why = (self.provenance and self.provenance.siblings) or (
            "the evidence does not say whether they were looked up"
        )
        return f"{why}; {count} found" if count else why

    @property
    def has_no_sibling(self) -> bool:
        """Whether siblings were searched for and none was found."""
        is_any = any(recording.is_sibling for recording in self.recording_candidates)
        return self.siblings == "looked_up" and not is_any

    @property
    def possible_sibling(self) -> str:
        """A clause about a recording that may be the same performance; empty if there is none."""
        unread = self.provenance and self.provenance.unread
        return unread if unread and self.complete is not False else ""

    def with_possible_sibling(self, text: str) -> str:
        """Return a text, followed by the clause about a possible sibling."""
        return "; ".join(filter(None, (text, self.possible_sibling)))

    @property
    def name(self) -> str:
        """The name of this recording in messages."""
        return " - ".join(filter(None, (self.performer.name, self.recording_title)))

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, which is called once and then stored in this bundle."""
        results: dict[Hashable, T] = self.__dict__.setdefault("results", {})
        if name not in results:
            results[name] = make()
        return results[name]

    @cached_property
    def all_ids(self) -> "BundleIds":
        """The ids of recordings, release groups and releases, each as often as it occurs."""
        recordings = self.recording_candidates
        groups = [group for recording in recordings for group in recording.rg_candidates or ()]
        homes: list[str] = [group.mb_rg_id for group in groups]
        releases: list[str] = [
            release.mb_release_id for group in groups for release in group.releases or ()
        ]
        is_once = len(set(homes)) == len(homes) and len(set(releases)) == len(releases)
        ids: list[str] = [recording.mb_recording_id for recording in recordings]
        is_once = is_once and (len(ids) == 1 or len(set(ids)) == len(ids))
        return BundleIds(ids + homes + releases, is_once)


class BundleIds(NamedTuple):
    """The ids in a bundle."""

    ids: list[str]
    is_each_once: bool
    """Whether no id occurs twice, so that no two descriptions can contradict each other."""
