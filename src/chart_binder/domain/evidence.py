"""The facts about one recording that a decision rests on."""

import re
from collections.abc import Iterable

import msgspec
from msgspec.structs import force_setattr

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.ids import ArtistId, RecordingId, ReleaseGroupId, ReleaseId

STATUSES = ("Official", "Promotion", "Bootleg", "Pseudo-Release", "Withdrawn", "Cancelled")
"""MusicBrainz' release statuses (musicbrainz.org/doc/Release, "Status")."""

_STATUS_BY_NAME = {name.casefold(): name for name in STATUSES} | {
    "promo": "Promotion", "pseudorelease": "Pseudo-Release", "canceled": "Cancelled",
}  # fmt: skip
_PRIMARY = {name.casefold(): name for name in ("Album", "Single", "EP", "Broadcast", "Other")}
_SECONDARY = {
    name.casefold(): name
    for name in (
        "Audiobook", "Audio drama", "Compilation", "Demo", "DJ-mix", "Field recording",
        "Interview", "Live", "Mixtape/Street", "Remix", "Soundtrack", "Spokenword",
    )
}  # fmt: skip
_INTENTS = {
    "is_live": re.compile(r"\blive\b|ライブ|ライヴ", re.IGNORECASE),
    "is_remix": re.compile(r"\bre-?mix\b|リミックス", re.IGNORECASE),
    "is_demo": re.compile(r"\bdemo\b", re.IGNORECASE),
    "is_radio_edit": re.compile(r"\bradio (?:edit|version|mix)\b", re.IGNORECASE),
    "is_acoustic": re.compile(r"\b(?:acoustic|unplugged)\b", re.IGNORECASE),
    "is_mono": re.compile(r"\bmono\b", re.IGNORECASE),
}
# A title's own words do not count ("Live and Let Die"): only what is bracketed or set off.
_SET_OFF = re.compile(r"[(\[（［]([^)\]）］]+)|\s[-–—]\s(.+)$|[-~～〜]([^-~～〜]+)[-~～〜]$")


class Value(msgspec.Struct, frozen=True):
    """An immutable value with a JSON form; `null` and absent mean the same: unknown."""


def _normalise(value: Value, **fields: object) -> None:
    for name, field in fields.items():
        force_setattr(value, name, field)


def country_code(country: str | None) -> str | None:
    """Return an ISO 3166-1 code as MusicBrainz writes it; `UK` is read as `GB`."""
    if not country:
        return None
    code = country.strip().upper()
    return "GB" if code == "UK" else code or None


class Artist(Value, frozen=True):
    """Who the recording is credited to."""

    name: str | None = None
    mb_artist_id: ArtistId | None = None
    begin_area_country: str | None = None
    wikidata_country: str | None = None

    def __post_init__(self) -> None:
        _normalise(
            self,
            begin_area_country=country_code(self.begin_area_country),
            wikidata_country=country_code(self.wikidata_country),
        )

    @property
    def country(self) -> str | None:
        """Where the artist is from, by MusicBrainz or else by Wikidata."""
        return self.begin_area_country or self.wikidata_country


class ReleaseFlags(Value, frozen=True):
    """What a producer says of a release; status and the first three say the same thing."""

    is_official: bool | None = None
    is_promo: bool | None = None
    is_bootleg: bool | None = None
    is_reissue_hint: bool | None = None
    is_remaster_hint: bool | None = None

    @property
    def status(self) -> str | None:
        """The release status that the flags imply."""
        flagged = (
            ("Bootleg", self.is_bootleg),
            ("Promotion", self.is_promo),
            ("Official", self.is_official),
        )
        return next((status for status, is_set in flagged if is_set), None)


class Release(Value, frozen=True):
    """One release that contains the recording."""

    mb_release_id: ReleaseId
    title: str | None = None
    date: PartialDate | None = None
    country: str | None = None
    status: str | None = None
    label: str | None = None
    catno: str | None = None
    format: str | None = None
    disambiguation: str | None = None
    artist_credit: str | None = None
    flags: ReleaseFlags | None = None

    def __post_init__(self) -> None:
        status, flags = self.status, self.flags
        if status is not None:
            status = _STATUS_BY_NAME.get(status.strip().casefold(), status)
        elif flags is not None:
            status = flags.status
        if flags is not None:  # what is left to say beside the status
            flags = ReleaseFlags(
                is_reissue_hint=flags.is_reissue_hint or None,
                is_remaster_hint=flags.is_remaster_hint or None,
            )
            flags = None if flags == ReleaseFlags() else flags
        force_setattr(self, "status", status)
        force_setattr(self, "flags", flags)
        force_setattr(self, "country", country_code(self.country))
        force_setattr(self, "date", self.date or UNKNOWN)

    @property
    def when(self) -> PartialDate:
        """The release date, as far as it is known."""
        return self.date or UNKNOWN

    @property
    def is_official(self) -> bool:
        """Whether its status is Official."""
        return self.status == "Official"


class ReleaseGroup(Value, frozen=True):
    """A candidate: a release group with those of its releases that contain the recording."""

    mb_rg_id: ReleaseGroupId
    title: str | None = None
    artist_credit: str | None = None
    primary_type: str | None = None
    secondary_types: tuple[str, ...] | None = None
    first_release_date: PartialDate | None = None
    labels: tuple[str, ...] | None = None
    countries: tuple[str, ...] | None = None
    releases: tuple[Release, ...] | None = None

    def __post_init__(self) -> None:
        primary, secondary = _types(self.primary_type, self.secondary_types or ())
        _normalise(
            self,
            primary_type=primary,
            secondary_types=secondary,
            labels=_sorted(self.labels or ()),
            countries=_sorted(code for code in map(country_code, self.countries or ()) if code),
            releases=tuple(self.releases or ()),
            first_release_date=self.first_release_date or UNKNOWN,
        )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The secondary types."""
        return self.secondary_types or ()

    @property
    def editions(self) -> tuple[Release, ...]:
        """The releases."""
        return self.releases or ()


class RecordingFlags(Value, frozen=True):
    """What kind of performance or mix a recording is."""

    is_live: bool | None = None
    is_remix: bool | None = None
    is_demo: bool | None = None
    is_radio_edit: bool | None = None
    is_acoustic: bool | None = None
    is_mono: bool | None = None


class RecordingCandidate(Value, frozen=True):
    """A recording the file may hold, with the release groups it is on."""

    mb_recording_id: RecordingId
    title: str | None = None
    length_ms: int | None = None
    isrcs: tuple[str, ...] | None = None
    disambiguation: str | None = None
    first_release_date: PartialDate | None = None
    flags: RecordingFlags | None = None
    rg_candidates: tuple[ReleaseGroup, ...] | None = None

    def __post_init__(self) -> None:
        _normalise(
            self,
            isrcs=_sorted(self.isrcs or ()),
            flags=_derived(self.flags or RecordingFlags(), self.title, self.disambiguation),
            rg_candidates=tuple(self.rg_candidates or ()),
            first_release_date=self.first_release_date or UNKNOWN,
        )

    @property
    def groups(self) -> tuple[ReleaseGroup, ...]:
        """The release groups."""
        return self.rg_candidates or ()

    @property
    def intent(self) -> RecordingFlags:
        """The flags, where absent derived from title and disambiguation."""
        return self.flags or RecordingFlags()


class Artifact(Value, frozen=True):
    """What the file itself says."""

    duration_ms: int | None = None
    tags: dict[str, str] | None = None


class Provenance(Value, frozen=True):
    """Where the evidence came from; the age is of the oldest answer used, in seconds."""

    sources_used: tuple[str, ...] | None = None
    fetched_at_utc: str | None = None
    cache_age_s: float | None = None


class EvidenceBundle(Value, frozen=True):
    """Everything known about one recording, version 1."""

    recording_candidates: tuple[RecordingCandidate, ...]
    artist: Artist | None = None
    recording_title: str | None = None
    artifact: Artifact | None = None
    provenance: Provenance | None = None
    version: int = 1

    @property
    def performer(self) -> Artist:
        """The artist, perhaps unknown."""
        return self.artist or Artist()

    @property
    def name(self) -> str:
        """What to call this recording in a message."""
        return " - ".join(filter(None, (self.performer.name, self.recording_title)))


def _types(primary: str | None, secondary: Iterable[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return both kinds of type by their MusicBrainz names.

    A producer that puts a secondary type such as Soundtrack first is understood: an album of it.
    """
    kinds = [_SECONDARY.get(kind.strip().casefold(), kind) for kind in secondary]
    first = (primary or "").strip().casefold()
    if first in _SECONDARY:
        return "Album", _sorted([*kinds, _SECONDARY[first]])
    return (_PRIMARY.get(first, "Other") if first else None), _sorted(kinds)


def _sorted(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def _derived(flags: RecordingFlags, title: str | None, comment: str | None) -> RecordingFlags:
    said = " ".join(filter(None, (_set_off(title or ""), comment)))
    return RecordingFlags(
        **{
            name: bool(said and form.search(said))
            if (given := getattr(flags, name)) is None
            else given
            for name, form in _INTENTS.items()
        }
    )


def _set_off(title: str) -> str:
    return " ".join("".join(found) for found in _SET_OFF.findall(title))
