"""Policies: which fields are written for a decision, and with which values."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.evidence import EvidenceBundle, ReleaseGroup
from chart_binder.domain.tags import Fields, ReleaseTrack, Texts, WholeRelease
from chart_binder.domain.verdict import FirstRelease, SaidBy
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS, fold, non_blank


class Policy(StrEnum):
    """What is written: first-release dates, notes under canon's own keys, or a whole release."""

    DATES = "dates"
    NOTE = "note"
    MOVE = "move"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What is written, and how; all but `policy` is for `Policy.DATES`.

    `whole_albums` dates all tracks of an album or none; `also_date` writes the date, too.
    `in_parts` dates an album even if Navidrome would split it; `navidrome_before_055` considers
    versions before 0.55, too. `best_known` writes the earliest known year if none is certain.
    """

    policy: Policy = Policy.DATES
    whole_albums: bool = False
    also_date: bool = False
    in_parts: bool = False
    navidrome_before_055: bool = False
    best_known: bool = False

    @property
    def keeps_together(self) -> bool:
        """Whether to skip an album without release ids that Navidrome would split."""
        return not self.in_parts and (self.also_date or self.navidrome_before_055)

    @property
    def problems(self) -> Iterator[tuple[str, str]]:
        """The options that are wrong, each with the text that follows its name in a sentence."""
        if self.policy not in (*Policy,):
            yield "policy", f": found {str(self.policy)!r}; {', '.join(Policy)} are allowed"
            return
        for name in ("whole_albums", "also_date", "in_parts", "best_known"):
            if getattr(self, name) and self.policy != Policy.DATES:
                yield name, f" is an option of the policy dates, not of {self.policy}"


@dataclass(frozen=True, slots=True)
class ChosenIds:
    """The ids of a decision; one that is open has no group, but perhaps a first release."""

    recording: str | None
    release_group: str | None
    release: str | None
    trace: str | None


_NUMBERS = re.compile(r"([0-9]{4})([-/. :]?)(0[0-9]|1[0-2])(?:\2([0-2][0-9]|3[01]))?(?=$|[T ].*)")
_BEFORE_DATE = re.compile(r"(?i)^(?:[\[(\s~℗©]|\(?[pc]\)|(?:circa|ca?)\b\.?)+")
# At the beginning, or after day and month in unknown order.
_YEAR = re.compile(r"(?:[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ])?(?!0000)([0-9]{4})(?![0-9])")
_CUT = (
    "the original date is cut to the precision of the date, because Navidrome before 0.55 would"
    " split the album; --in-parts writes it whole"
)
_EARLIER = (
    "its own date is before the first release that is listed; say which is right with"
    " `canon override set FILE --first DATE`"
)
_IS_BEFORE = "{} {} stays: it is before {}, the first release"
_ORIGINAL_DATES = ("original_date", "original_year")
_MARK = "note_uncertain_date"
_UNCERTAIN = "the year is the best that is known, and not certain: {best}"
_NO_CATALOG_NUMBER = "[none]"  # as MusicBrainz writes it
_NO_LABEL = "[no label]"


@dataclass(frozen=True, slots=True)
class WantedFields:
    """The values that fields should have; fields not named stay, empty ones are removed.

    `notes` say what stays although the decision differs, `withheld` why nothing is written.
    """

    fields: Fields
    notes: Texts = ()
    withheld: str | None = None


@dataclass(frozen=True, slots=True)
class DecidedTrack:
    """A decision on a file's recording, with the evidence and the first release, if known."""

    chosen: ChosenIds
    bundle: EvidenceBundle
    first: FirstRelease | None = None

    @property
    def certain_date(self) -> PartialDate | None:
        """The date of the first release, or None if its year is not certain.

        For a span of days (`1975-10-31/1975`) it is the year, if both ends have the same.
        """
        if self.first is None or not self.first.year_certain:
            return None
        since, _, until = self.first.date.partition("/")
        if not until:
            return PartialDate.parse(since)
        return PartialDate.parse(since[:4]) if since[:4] == until[:4] else None

    @property
    def is_dated_by_person(self) -> bool:
        """Whether a person stated the date of the first release, or confirmed it."""
        return self.first is not None and self.first.by is SaidBy.PERSON

    @property
    def group(self) -> ReleaseGroup | None:
        """The release group of the decision."""
        chosen, groups = self.chosen.release_group, self.bundle.groups
        return next((group for group in groups if group.mb_rg_id == chosen), None)

    @property
    def own_recording(self) -> str | None:
        """The recording in the file; None if the group was reached through a sibling."""
        recordings = self.bundle.recording_candidates
        siblings = {recording.mb_recording_id for recording in recordings if recording.is_sibling}
        return None if self.chosen.recording in siblings else self.chosen.recording


def _with_every_policy(track: DecidedTrack, current: Fields) -> dict[str, Texts]:
    """Return the fields that every policy writes: a missing recording id, and the trace."""
    fields: dict[str, Texts] = {}
    if track.own_recording and not current.get("recording_mbid"):
        fields["recording_mbid"] = (track.own_recording,)
    if track.chosen.trace:
        fields["decision_trace"] = (track.chosen.trace,)
    return fields


@dataclass(frozen=True, slots=True)
class AlbumDates:
    """How to date the tracks of an album, so that players still show them as one album.

    `replaceable` are original dates that are not the track's own: they are the album's, or canon
    wrote them by an earlier decision. With `also_date` the first date becomes the date;
    `with_release_date` also saves the date of an undated track as its release date.
    `no_finer_than_date` cuts the first date to the precision of the date, because Navidrome sorts
    `1977-02-04` after `1977`. With `best_known` an uncertain year is written and marked if it is
    earlier than that of the file.
    """

    replaceable: frozenset[str] = frozenset()
    also_date: bool = False
    with_release_date: bool = False
    no_finer_than_date: bool = False
    best_known: bool = False


def dates(track: DecidedTrack, current: Fields, album: AlbumDates) -> WantedFields:
    """Return the fields that date a track by its first release, and none that names a release.

    A later or a replaceable date in the tags is replaced. If the tags have an earlier year, or the
    year is not certain, the dates stay; a person's date replaces any.
    """
    fields = _with_every_policy(track, current)
    first, date = track.certain_date, current.get("date", ())
    if first is None:
        return _undated(track.first, current, album, fields)
    fields |= {_MARK: ()} if current.get(_MARK) else {}
    text = first.text
    if album.no_finer_than_date and date and text.startswith(date[0]):
        text = date[0]
    notes: list[str] = []
    withheld = None
    old = _earliest(*(current.get(name, ()) for name in _ORIGINAL_DATES))
    is_by_person = track.is_dated_by_person
    is_replaceable = is_by_person or old.text in album.replaceable
    released = _parsed(date[0]) if date else UNKNOWN
    is_dated_before = released.text not in album.replaceable and not is_by_person
    match _comparison(old, first, is_replaceable=is_replaceable):
        case "earlier":
            notes.append(_IS_BEFORE.format("original date", old, first))
            withheld = _EARLIER if old.text[:4] < text[:4] else None
        case "same or finer":  # of one of the fields
            whole = {"original_date": text, "original_year": text[:4]}
            corrected = (name for name in whole if _contradicts(current.get(name), first))
            fields |= {name: (whole[name],) for name in corrected}
        case _ if is_dated_before and "" < released.text[:4] < text[:4]:
            notes.append(_IS_BEFORE.format("date", released, first))
            withheld = _EARLIER
        case _:
            fields |= {"original_date": (text,), "original_year": (text[:4],)}
            if text != first.text and current.get("original_date") != (text,):
                notes.append(_CUT)
    if _unreadable(_ORIGINAL_DATES, current):
        fields = {name: texts for name, texts in fields.items() if name not in _ORIGINAL_DATES}
        notes = _unreadable_notes("original date", _ORIGINAL_DATES, current)
    if album.also_date and not withheld:
        fields |= _first_as_date(first, text, current, notes, is_replaceable=is_by_person)
    return WantedFields(fields, tuple(notes), withheld)


def _undated(
    first: FirstRelease | None, current: Fields, album: AlbumDates, fields: dict[str, Texts]
) -> WantedFields:
    """Return what is written without a certain year: the earliest known one with `best_known`."""
    date = current.get("date", ())
    if album.with_release_date and date and not current.get("release_date"):
        fields["release_date"] = date
    if album.best_known and first and (best := _best_known(first, current, album)):
        return WantedFields(fields | best, (_UNCERTAIN.format(best=first.best),))
    return WantedFields(fields, withheld=_why_undated(first, best_known=album.best_known))


def _best_known(first: FirstRelease, current: Fields, album: AlbumDates) -> dict[str, Texts] | None:
    """Return the fields of an uncertain year, or None if the file has one that is as early."""
    year = str(first.best.year)
    old = _earliest(*(current.get(name, ()) for name in _ORIGINAL_DATES))
    if not old.is_known or old.text in album.replaceable:
        old = _earliest(current.get("date", ()))
    is_written = current.get(_MARK) == (year,) and old.text[:4] == year
    if _unreadable(_ORIGINAL_DATES, current) or not (
        is_written or not old.is_known or year < old.text[:4]
    ):
        return None
    return {"original_date": (year,), "original_year": (year,), _MARK: (year,)}


def _first_as_date(
    first: PartialDate, text: str, current: Fields, notes: list[str], *, is_replaceable: bool
) -> dict[str, Texts]:
    """Return the first date as the date, with the old date as release date."""
    date = current.get("date", ())
    old = _parsed(date[0]) if date else UNKNOWN
    if _unreadable(("date",), current):
        notes += _unreadable_notes("date", ("date",), current)
        return {}
    match _comparison(old, first, is_replaceable=is_replaceable):
        case "earlier":
            notes.append(_IS_BEFORE.format("date", old, first))
            return {}
        case "same or finer":
            return {}
    fields: dict[str, Texts] = {"date": (text,)}
    if released := current.get("release_date"):
        if date and released != date:
            notes.append(f"the date {date[0]} goes; the release date {released[0]} stays")
    elif date:
        fields["release_date"] = date
    return fields


def _comparison(old: PartialDate, first: PartialDate, *, is_replaceable: bool) -> str:
    """Return in words how a date in the tags compares with that of the first release.

    `earlier` and `same or finer` dates stay; absent, later, vaguer and replaceable ones do not.
    """
    if not old.is_known:
        return "absent"
    if first.includes(old):
        return "same or finer"
    is_earlier = old.last < first.first
    return "earlier" if is_earlier and not is_replaceable else "to be replaced"


def _contradicts(texts: Texts | None, first: PartialDate) -> bool:
    dates = [date for text in texts or () if (date := _parsed(text)).is_known]
    return any(date.last < first.first or first.last < date.first for date in dates)


def _why_undated(first: FirstRelease | None, *, best_known: bool) -> str:
    if first is None:
        return "its dates stay: no official release is known with a date"
    if best_known:
        best = f"the earliest known year, {first.best.year}, is not before its own"
        return f"its dates stay: {best}, and is not certain ({first.because})"
    return f"its dates stay: the year of the first release is not certain ({first.because})"


def dates_of_album(track: DecidedTrack, current: Fields) -> frozenset[str]:
    """Return the first dates of a file's album, which its ids or the album's title identify.

    An original date that is one of them is the album's, not the track's.
    """
    titles = {fold(text) for text in current.get("album", ())}
    ids = {text for name in _ALBUM_IDS for text in _current_ids(name, track, current)}
    first_dates: set[str] = set()
    for group in track.bundle.groups:
        group_ids = {group.mb_rg_id, *(release.mb_release_id for release in group.editions)}
        names = (group.title, *(release.title for release in group.editions))
        if ids & group_ids or (not ids and titles & {fold(name or "") for name in names}):
            whens = (group.first_date, *(release.when for release in group.editions))
            first_dates |= {when.text[:n] for when in whens for n in (4, 7, 10) if when.is_known}
    return frozenset(first_dates)


_ALBUM_IDS = ("release_group_mbid", "release_mbid")


def _current_ids(name: str, track: DecidedTrack, current: Fields) -> list[str]:
    """Return the ids of a field, with the new id of an entry that was merged.

    The evidence has the new id under the name of the field with `current_` before it.
    """
    evidence_tags = track.bundle.tags
    merged = {evidence_tags.get(name): evidence_tags.get(f"current_{name}")}
    ids = [text.strip().lower() for text in current.get(name, ())]
    return [merged.get(mbid) or mbid for mbid in ids]


def _earliest(*fields: Texts) -> PartialDate:
    """Return the earliest date in the fields; among equal ones, the most precise."""
    readable = [date for texts in fields for text in texts if (date := _parsed(text)).is_known]
    whole = [
        date
        for date in readable
        if not any(date != finer and date.includes(finer) for finer in readable)
    ]
    return min(whole, key=lambda date: date.first, default=UNKNOWN)


def _unreadable(names: Iterable[str], current: Fields) -> list[str]:
    """Return the fields whose text has digits other than zeros, but is not a known date."""
    return [name for name in names if any(_is_unreadable(text) for text in current.get(name, ()))]


def _unreadable_notes(label: str, names: Iterable[str], current: Fields) -> list[str]:
    texts = " and ".join(repr(current[name][0]) for name in _unreadable(names, current))
    return [f"{label} {texts} stays: it cannot be read as a date"] if texts else []


def _is_unreadable(text: str) -> bool:
    is_number = any(character.isnumeric() and character != "0" for character in text)
    return is_number and not _parsed(text).is_known


@lru_cache(maxsize=4096)
def _parsed(text: str) -> PartialDate:
    """Return the date that a tag states, in any form, or `UNKNOWN` (also for year 0000).

    Parts of zeros are unknown. If the text begins with a year, what follows it may be ignored.
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
        # Imported late, because compiling its expressions takes 0.1 s.
        from chart_binder.domain.dates_in_text import read_date

        if date := read_date(bare):
            return date
    year = _YEAR.match(bare)
    return PartialDate.parse(year[1]) if year else UNKNOWN


def note(track: DecidedTrack, current: Fields) -> WantedFields:
    """Return the decision under canon's own keys, and no other field."""
    group, first = track.group, track.certain_date
    title = non_blank(group.title) if group else None
    fields = _with_every_policy(track, current) | {
        "note_album": (title,) if title else (),
        "note_original_date": (first.text,) if first else (),
        "note_release_group_mbid": _present(track.chosen.release_group),
        "note_release_mbid": _present(track.chosen.release),
    }
    return WantedFields(fields)


def recordings_of(track: DecidedTrack) -> Sequence[str]:
    """Return the recording of a decision, then the others in the evidence, siblings last."""
    candidates = sorted(track.bundle.recording_candidates, key=attrgetter("is_sibling"))
    ids = (track.chosen.recording, *(candidate.mb_recording_id for candidate in candidates))
    return list(dict.fromkeys(recording for recording in ids if recording))


def move(
    track: DecidedTrack,
    current: Fields,
    release: WholeRelease,
    place: ReleaseTrack,
    own_dates: frozenset[str] = frozenset(),
) -> WantedFields:
    """Return all fields that make the file a track of a release, and remove those of others.

    Title, artist and other fields stay. `own_dates` are original dates that canon wrote.
    """
    fields = _fields_of(current, release, place)
    is_same = _current_ids("release_mbid", track, current) == [release.mbid]
    if is_same:  # values that MusicBrainz lacks may still be true of the release
        fields = {name: texts for name, texts in fields.items() if texts or name == "compilation"}
    dated = dates(track, current, AlbumDates(dates_of_album(track, current) | own_dates))
    if track.certain_date is None and not is_same:
        unreadable = _unreadable(_ORIGINAL_DATES, current)
        fields |= {name: () for name in _ORIGINAL_DATES if name not in unreadable}
        notes = _unreadable_notes("original date", _ORIGINAL_DATES, current)
        dated = replace(dated, notes=(*dated.notes, *notes))
    unchanged = {name for name in ("track", "disc") if current.get(name) == fields[name]}
    changed = {name: texts for name, texts in fields.items() if name not in unchanged}
    if not fields["compilation"] and current.get("compilation") == ("0",):
        del changed["compilation"]
    return WantedFields({**dated.fields, **changed}, dated.notes)


def _fields_of(current: Fields, release: WholeRelease, place: ReleaseTrack) -> dict[str, Texts]:
    """Return every field of a track of a release; unknown values are empty."""
    is_various = VARIOUS_ARTISTS in release.artist_mbids
    labels = [label for label in release.labels if label != _NO_LABEL]
    numbers = [number for number in release.catalog_numbers if number != _NO_CATALOG_NUMBER]
    return {
        "album": _present(release.title),
        "album_artist": _present(release.artist),
        "album_artist_sort": _present(release.artist_sort)
        if "album_artist_sort" in current
        else (),
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
        "artist_mbids": place.artist_mbids or current.get("artist_mbids", ()),
        "album_artist_mbids": release.artist_mbids,
        "disc_id": (),
    }


def _present(text: str | None) -> Texts:
    return (text,) if text and not text.isspace() else ()
