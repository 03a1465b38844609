"""Tags of audio files, and the policies by which they are written."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.evidence import Artifact, EvidenceBundle, ReleaseGroup
from chart_binder.domain.verdict import FirstRelease
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS, fold, non_blank

Fields: TypeAlias = Mapping[str, tuple[str, ...]]
"""Texts by field; an empty tuple removes a field."""


@dataclass(frozen=True, slots=True)
class TrackTags:
    """The tags of one audio file that help to identify its recording; `None` means unknown.

    They are those of Picard's mapping: `recording_mbid` is `MUSICBRAINZ_TRACKID`.
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
    """`file name` where artist or title are from the name of the file."""


def artifact_of(tags: TrackTags) -> Artifact:
    """Return what a file's tags say as evidence has it."""
    said = asdict(tags) | {"isrc": "; ".join(tags.isrcs)}
    texts = ((name, text) for name, text in said.items() if text and isinstance(text, str))
    return Artifact(duration_ms=tags.duration_ms, tags=dict(texts))


class Policy(StrEnum):
    """What is written: first-release dates, notes under keys of our own, or a whole release."""

    DATES = "dates"
    NOTE = "note"
    MOVE = "move"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What is written, and how; all but `policy` is of `Policy.DATES`.

    `whole_albums` dates all tracks or none; `also_date` writes the date, too; `in_parts` dates an
    album also where Navidrome would split it, which counts for Navidrome before 0.55 only with
    `navidrome_before_055`. `best_known` writes the earliest known year where it is not certain.
    """

    policy: Policy = Policy.DATES
    whole_albums: bool = False
    also_date: bool = False
    in_parts: bool = False
    navidrome_before_055: bool = False
    best_known: bool = False

    @property
    def keeps_together(self) -> bool:
        """Whether an album without release ids is left out where Navidrome would split it."""
        return not self.in_parts and (self.also_date or self.navidrome_before_055)

    @property
    def problems(self) -> Iterator[str]:
        """What is wrong with them, each as a sentence."""
        if self.policy not in (*Policy,):
            yield f"policy: found {str(self.policy)!r}; {', '.join(Policy)} are allowed"
            return
        for name in ("whole_albums", "also_date", "in_parts", "best_known"):
            if getattr(self, name) and self.policy != Policy.DATES:
                yield f"{name} is of the policy dates, not of {self.policy}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The ids of a decision; an open one has no group, and perhaps a first release."""

    recording: str | None
    release_group: str | None
    release: str | None
    trace: str | None


Texts = tuple[str, ...]

_NUMBERS = re.compile(r"([0-9]{4})([-/. :]?)(0[0-9]|1[0-2])(?:\2([0-2][0-9]|3[01]))?(?=$|[T ].*)")
_BEFORE_DATE = re.compile(r"(?i)^(?:[\[(\s~℗©]|\(?[pc]\)|(?:circa|ca?)\b\.?)+")
# At the beginning, or behind day and month, whose order is not known.
_YEAR = re.compile(r"(?:[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ])?(?!0000)([0-9]{4})(?![0-9])")
_CUT = (
    "no finer than its date, because Navidrome before 0.55 would split the album; --in-parts writes"
    " the original date whole"
)
_ORIGINAL_DATES = ("original_date", "original_year")
_MARK = "note_uncertain_date"
_UNCERTAIN = "the year is the best that is known, and not certain: {best}"
_NO_CATALOG_NUMBER = "[none]"  # as MusicBrainz writes it
_NO_LABEL = "[no label]"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the fields should be; fields that are not named stay, empty ones are removed.

    `notes` name what stays against the decision, `withheld` why nothing is written.
    """

    fields: Fields
    notes: Texts = ()
    withheld: str | None = None


@dataclass(frozen=True, slots=True)
class Track:
    """A decision on a file's recording, with the evidence and the first release, if known."""

    chosen: Chosen
    bundle: EvidenceBundle
    first: FirstRelease | None = None

    @property
    def certain_date(self) -> PartialDate | None:
        """The date of the first release, where its year is certain.

        Of days in between two dates (`1975-10-31/1975`) it is the year, if both have the same.
        """
        if self.first is None or not self.first.year_certain:
            return None
        since, _, until = self.first.date.partition("/")
        if not until:
            return PartialDate.parse(since)
        return PartialDate.parse(since[:4]) if since[:4] == until[:4] else None

    @property
    def group(self) -> ReleaseGroup | None:
        """The release group that was decided for."""
        known, groups = self.chosen.release_group, self.bundle.groups
        return next((one for one in groups if one.mb_rg_id == known), None)

    @property
    def own_recording(self) -> str | None:
        """The recording that the file holds, not a sibling through which a group was reached."""
        siblings = {
            one.mb_recording_id for one in self.bundle.recording_candidates if one.is_sibling
        }
        return None if self.chosen.recording in siblings else self.chosen.recording


def _with_every_policy(track: Track, now: Fields) -> dict[str, Texts]:
    wanted: dict[str, Texts] = {}
    if track.own_recording and not now.get("recording_mbid"):
        wanted["recording_mbid"] = (track.own_recording,)
    if track.chosen.trace:
        wanted["decision_trace"] = (track.chosen.trace,)
    return wanted


@dataclass(frozen=True, slots=True)
class AlbumDates:
    """What the tracks of an album have to keep to, so that players show them as one album still.

    `replaceable` are original dates that nobody wrote of the track: they are the album's, or this
    program wrote them by an earlier decision. With `also_date` the first date becomes the date;
    `with_release_date` keeps the date as release date of a track that is not dated, too.
    `no_finer_than_date` cuts the first date to the precision of the date: Navidrome takes
    `1977-02-04` for later than `1977`. With `best_known` a year that is not certain is written
    and marked, if it is earlier than that of the file.
    """

    replaceable: frozenset[str] = frozenset()
    also_date: bool = False
    with_release_date: bool = False
    no_finer_than_date: bool = False
    best_known: bool = False


def dates(track: Track, now: Fields, album: AlbumDates) -> Wanted:
    """Return the original date of a track, from its first release; no other field of a release.

    A later date in the tags, or a replaceable one, is replaced; an earlier one stays, and is named.
    Without a certain year the dates stay as they are.
    """
    wanted = _with_every_policy(track, now)
    first, date = track.certain_date, now.get("date", ())
    if first is None:
        return _undated(track.first, now, album, wanted)
    wanted |= {_MARK: ()} if now.get(_MARK) else {}
    text = first.text
    if album.no_finer_than_date and date and text.startswith(date[0]):
        text = date[0]
    notes = []
    old = _earliest(*(now.get(name, ()) for name in _ORIGINAL_DATES))
    match _comparison(old, first, is_replaceable=old.text in album.replaceable):
        case "earlier":
            notes.append(f"original date {old} stays: it is before {first}, the first release")
        case "same or finer":  # of one of the fields
            whole = {"original_date": text, "original_year": text[:4]}
            others = {
                name: one for name, one in whole.items() if _contradicts(now.get(name), first)
            }
            wanted |= {name: (one,) for name, one in others.items()}
        case _:
            wanted |= {"original_date": (text,), "original_year": (text[:4],)}
            if text != first.text and now.get("original_date") != (text,):
                notes.append(_CUT)
    released = _parsed(date[0]) if date else UNKNOWN
    if released.is_known and released.last < first.first and not album.also_date:
        notes.append(f"the file's own date {released} is before {first}: one of them is wrong")
    if _unreadable(_ORIGINAL_DATES, now):
        wanted = {name: texts for name, texts in wanted.items() if name not in _ORIGINAL_DATES}
        notes = _unreadable_notes("original date", _ORIGINAL_DATES, now)
    if album.also_date:
        wanted |= _first_as_date(first, text, now, notes)
    return Wanted(wanted, tuple(notes))


def _undated(
    first: FirstRelease | None, now: Fields, album: AlbumDates, wanted: dict[str, Texts]
) -> Wanted:
    """Return what is written without a certain year: with `best_known` the earliest one known."""
    date = now.get("date", ())
    if album.with_release_date and date and not now.get("release_date"):
        wanted["release_date"] = date
    if album.best_known and first and (best := _best_known(first, now, album)):
        return Wanted(wanted | best, (_UNCERTAIN.format(best=first.best),))
    return Wanted(wanted, withheld=_why_undated(first))


def _best_known(first: FirstRelease, now: Fields, album: AlbumDates) -> dict[str, Texts] | None:
    """Return the fields of a year that is not certain; None if the file has one as early."""
    year = str(first.best.year)
    old = _earliest(*(now.get(name, ()) for name in _ORIGINAL_DATES))
    if not old.is_known or old.text in album.replaceable:
        old = _earliest(now.get("date", ()))
    is_written = now.get(_MARK) == (year,) and old.text[:4] == year
    if _unreadable(_ORIGINAL_DATES, now) or not (
        is_written or not old.is_known or year < old.text[:4]
    ):
        return None
    return {"original_date": (year,), "original_year": (year,), _MARK: (year,)}


def _first_as_date(
    first: PartialDate, text: str, now: Fields, notes: list[str]
) -> dict[str, Texts]:
    """Return the first date as the date, with the old date as release date."""
    date = now.get("date", ())
    old = _parsed(date[0]) if date else UNKNOWN
    if _unreadable(("date",), now):
        notes += _unreadable_notes("date", ("date",), now)
        return {}
    match _comparison(old, first, is_replaceable=False):
        case "earlier":
            notes.append(f"date {old} stays: it is before {first}, the first release")
            return {}
        case "same or finer":
            return {}
    wanted: dict[str, Texts] = {"date": (text,)}
    if released := now.get("release_date"):
        if date and released != date:
            notes.append(f"the date {date[0]} goes; the release date {released[0]} stays")
    elif date:
        wanted["release_date"] = date
    return wanted


def _comparison(old: PartialDate, first: PartialDate, *, is_replaceable: bool) -> str:
    """Return how a date in the tags compares with the first release's.

    It is `earlier`, `same or finer`, or else to be replaced: absent, later, vaguer, or replaceable.
    """
    if not old.is_known:
        return "absent"
    if first.first <= old.first and old.last <= first.last:
        return "same or finer"
    is_earlier = old.last < first.first
    return "earlier" if is_earlier and not is_replaceable else "to be replaced"


def _contradicts(texts: Texts | None, first: PartialDate) -> bool:
    dates = [date for text in texts or () if (date := _parsed(text)).is_known]
    return any(date.last < first.first or first.last < date.first for date in dates)


def _why_undated(first: FirstRelease | None) -> str:
    if first is None:
        return "its dates stay: no official release is known with a date"
    return f"its dates stay: the year of the first release is not certain ({first.because})"


def dates_of_album(track: Track, now: Fields) -> frozenset[str]:
    """Return the first dates of the record that a file is from, by its ids or its album's title.

    An original date that is one of them was written of the album, not of the track.
    """
    titles = {fold(text) for text in now.get("album", ())}
    ids = {text for name in _ALBUM_IDS for text in _current_ids(name, track, now)}
    found: set[str] = set()
    for group in track.bundle.groups:
        named = {group.mb_rg_id, *(one.mb_release_id for one in group.editions)}
        called = {fold(one or "") for one in (group.title, *(one.title for one in group.editions))}
        if ids & named or (not ids and titles & called):
            known = (group.first_date, *(one.when for one in group.editions))
            found |= {one.text[:n] for one in known for n in (4, 7, 10) if one.is_known}
    return frozenset(found)


_ALBUM_IDS = ("release_group_mbid", "release_mbid")


def _current_ids(name: str, track: Track, now: Fields) -> list[str]:
    """Return the ids of a field; of one that was merged when the evidence was gathered the new one.

    The evidence has it under the name of the field with `current_` before it.
    """
    then = track.bundle.tags
    merged = {then.get(name): then.get(f"current_{name}")}
    ids = [text.strip().lower() for text in now.get(name, ())]
    return [merged.get(one) or one for one in ids]


def _earliest(*fields: Texts) -> PartialDate:
    """Return the earliest of the dates that fields hold; of equal ones the most precise."""
    known = [date for texts in fields for text in texts if (date := _parsed(text)).is_known]
    whole = [one for one in known if not any(_is_vaguer(one, other) for other in known)]
    return min(whole, key=lambda one: one.first, default=UNKNOWN)


def _is_vaguer(one: PartialDate, other: PartialDate) -> bool:
    is_within = one.first <= other.first and other.last <= one.last
    return is_within and one.text != other.text


def _unreadable(names: Iterable[str], now: Fields) -> list[str]:
    """Return the fields with a text that has numbers other than zeros, and is no known date."""
    return [name for name in names if any(_is_unreadable(text) for text in now.get(name, ()))]


def _unreadable_notes(called: str, names: Iterable[str], now: Fields) -> list[str]:
    texts = " and ".join(repr(now[name][0]) for name in _unreadable(names, now))
    return [f"{called} {texts} stays: it cannot be read as a date"] if texts else []


def _is_unreadable(text: str) -> bool:
    is_number = any(character.isnumeric() and character != "0" for character in text)
    return is_number and not _parsed(text).is_known


@lru_cache(maxsize=4096)
def _parsed(text: str) -> PartialDate:
    """Return the date that a tag's text states, in any form; no date, or year 0000, is unknown.

    Parts of zeros are unknown. What follows a year that the text begins with does not count.
    """
    plain = unicodedata.normalize("NFKC", text).strip()
    bare = _BEFORE_DATE.sub("", plain).rstrip(" )].")
    if numbers := _NUMBERS.match(bare):
        year, _, month, day = numbers.groups()
        has_month = month != "00"
        parts = (year, month if has_month else None, day if has_month and day != "00" else None)
        with suppress(ValueError):
            return PartialDate.parse("-".join(filter(None, parts)))
    if not any(character.isdecimal() for character in bare):
        return UNKNOWN
    if not re.fullmatch(r"[0-9]{4}", bare):
        # Compiles 0.1 s of expressions.
        from chart_binder.domain.dates_in_text import read_date

        if found := read_date(bare):
            return found
    year = _YEAR.match(bare)
    return PartialDate.parse(year[1]) if year else UNKNOWN


def note(track: Track, now: Fields) -> Wanted:
    """Return the decision under keys of this program, and no other field."""
    group, first = track.group, track.certain_date
    title = non_blank(group.title) if group else None
    wanted = _with_every_policy(track, now) | {
        "note_album": (title,) if title else (),
        "note_original_date": (first.text,) if first else (),
        "note_release_group_mbid": _present(track.chosen.release_group),
        "note_release_mbid": _present(track.chosen.release),
    }
    return Wanted(wanted)


@dataclass(frozen=True, slots=True)
class ReleaseTrack:
    """A track of a release: where it stands, and on what.

    `disc` and `number` count from 1; `total` is the number of tracks of its disc.
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
    """A release with its tracks, as far as tags have fields for it."""

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
        found: dict[str, list[ReleaseTrack]] = {}
        for one in self.tracks:
            found.setdefault(one.recording, []).append(one)
        object.__setattr__(self, "_by_recording", found)

    def track_of(self, recordings: Iterable[str], length_ms: int | None) -> ReleaseTrack | None:
        """Return the track that has the first of these recordings that the release has.

        Where it is there several times, the track nearest in length is taken, else the first.
        """
        for recording in recordings:
            if found := self._by_recording.get(recording):
                return min(found, key=lambda one: _length_gap(one, length_ms))
        return None


def _length_gap(track: ReleaseTrack, length_ms: int | None) -> int:
    return abs(track.length_ms - length_ms) if track.length_ms and length_ms else 0


def recordings_of(track: Track) -> Sequence[str]:
    """Return the recording of a decision, then the others of the evidence, siblings last."""
    candidates = sorted(track.bundle.recording_candidates, key=lambda one: one.is_sibling)
    ids = (track.chosen.recording, *(one.mb_recording_id for one in candidates))
    return list(dict.fromkeys(one for one in ids if one))


def move(
    track: Track,
    now: Fields,
    release: WholeRelease,
    place: ReleaseTrack,
    own_dates: frozenset[str] = frozenset(),
) -> Wanted:
    """Return everything that makes the file a track of a release, and nothing of another.

    Title, artist and the rest stay. `own_dates` are original dates that this program wrote.
    """
    fields = _fields_of(now, release, place)
    is_same = _current_ids("release_mbid", track, now) == [release.mbid]
    if is_same:  # then what is not known here may still be true of it
        fields = {name: texts for name, texts in fields.items() if texts or name == "compilation"}
    dated = dates(track, now, AlbumDates(dates_of_album(track, now) | own_dates))
    if dated.withheld and not is_same:
        unreadable = _unreadable(_ORIGINAL_DATES, now)
        fields |= {name: () for name in _ORIGINAL_DATES if name not in unreadable}
        notes = _unreadable_notes("original date", _ORIGINAL_DATES, now)
        dated = replace(dated, notes=(*dated.notes, *notes))
    same = {name for name in ("track", "disc") if now.get(name) == fields[name]}
    kept = {name: texts for name, texts in fields.items() if name not in same}
    if not fields["compilation"] and now.get("compilation") == ("0",):
        del kept["compilation"]
    return Wanted({**dated.fields, **kept}, dated.notes)


def _fields_of(now: Fields, release: WholeRelease, place: ReleaseTrack) -> dict[str, Texts]:
    """Return every field of a track of a release; what is not known of it is empty."""
    is_various = VARIOUS_ARTISTS in release.artist_mbids
    labels = [one for one in release.labels if one != _NO_LABEL]
    numbers = [one for one in release.catalog_numbers if one != _NO_CATALOG_NUMBER]
    return {
        "album": _present(release.title),
        "album_artist": _present(release.artist),
        "album_artist_sort": _present(release.artist_sort) if "album_artist_sort" in now else (),
        "date": _present(release.date.text),
        "release_date": (),
        "track": (f"{place.number}/{place.total}",),
        "disc": (f"{place.disc}/{release.discs}",),
        "disc_subtitle": _present(place.disc_title),
        "compilation": ("1",) if is_various else (),
        "labels": tuple(dict.fromkeys(labels)),
        "catalog_numbers": tuple(dict.fromkeys(numbers)),
        "barcode": _present(release.barcode),
        "asin": (),
        "media": _present(place.format),
        "release_types": release.types,
        "release_status": _present((release.status or "").lower()),
        "release_country": _present(release.country),
        "recording_mbid": (place.recording,),
        "release_track_mbid": (place.mbid,),
        "release_mbid": (release.mbid,),
        "release_group_mbid": (release.group_mbid,),
        "artist_mbids": place.artist_mbids or now.get("artist_mbids", ()),
        "album_artist_mbids": release.artist_mbids,
        "disc_id": (),
    }


def _present(text: str | None) -> Texts:
    return (text,) if text and not text.isspace() else ()
