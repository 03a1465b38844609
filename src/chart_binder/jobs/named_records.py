"""Records at MusicBrainz that a person names: whether they fit, and their current ids."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, ReleaseGroup
from chart_binder.domain.remarks import set_off
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import MBID, EntityKind, ReleaseGroupId, bare_id, spaced_words
from chart_binder.errors import CanonError, LookupFailedError, UsageError
from chart_binder.jobs.pipeline import recordings_meant
from chart_binder.rules.names import is_named, is_various

UNCHECKED = "whether {} was not checked: {}"
ID_KINDS: Mapping[str, EntityKind] = {
    "recording_mbid": "recording",
    "crg_mbid": "release-group",
    "rr_mbid": "release",
    "same_as": "recording",
}
"""What the ids of an override are of, by field."""
_FIRST_RECORDS = PartialDate.parse("1860")


def read_first_date(written: str, today: str) -> str:
    """Return a date of a first release as `YYYY`, `YYYY-MM` or `YYYY-MM-DD`.

    Raises `UsageError` for what is no such date, or is not between 1860 and `today`.
    """
    from chart_binder.domain.dates_in_text import read_date  # compiles 0.1 s of expressions

    date = read_date(written)
    if date is None:
        raise UsageError(f"{written!r} is no date: YYYY, YYYY-MM or YYYY-MM-DD is allowed")
    if date.first > PartialDate.parse(today[:10]).last:
        raise UsageError(f"{date} is in the future")
    if date.first < _FIRST_RECORDS.first:
        raise UsageError(f"{date} is before 1860, when nothing was recorded yet")
    return date.text


class NamedRecord(msgspec.Struct, frozen=True):
    """A record as MusicBrainz has it now; `home` is the group of a release."""

    kind: EntityKind
    mbid: str
    title: str | None
    artist: str | None
    about: str = ""
    """What else tells it from others: comment, length, type, country, date."""
    date: str | None = None
    home: ReleaseGroup | None = None

    def __str__(self) -> str:
        named = f"the {self.kind.replace('-', ' ')} {self.title!r} by {self.artist!r}"
        return f"{', '.join(filter(None, (named, self.about)))} ({self.mbid})"


RecordLookup = Callable[[EntityKind, str], NamedRecord | None]
"""Returns a record if MusicBrainz knows it; raises `LookupFailedError`."""


def require_home(
    bundle: EvidenceBundle, crg: str, rr: str | None, look_up: RecordLookup | None = None
) -> Sequence[str]:
    """Check that a release is of a group, and return a remark if that is unknown.

    Raises `CanonError` if it is only in other groups.
    """
    if rr is None:
        return ()
    release, group = bare_id(rr), bare_id(crg)
    groups = bundle.groups
    homes = [one for one in groups if release in release_ids([one])]
    if not homes and look_up:
        try:
            record = look_up("release", release)
        except LookupFailedError as error:
            return [UNCHECKED.format("the release is of that release group", error)]
        homes = [record.home] if record and record.home else []
    titles = {bare_id(one.mb_rg_id): f" {one.title!r}" for one in (*groups, *homes) if one.title}
    found = [bare_id(one.mb_rg_id) for one in homes]
    if found and group not in found:
        raise CanonError(
            f"release {release} is of release group {found[0]}{titles.get(found[0], '')}, not of"
            f" {group}{titles.get(group, '')}: name the two that go together, or no release, and"
            f" the rules choose one{'; --force keeps it all the same' if look_up else ''}"
        )
    return ()


def release_ids(groups: Sequence[ReleaseGroup]) -> set[str]:
    """Return the ids of the releases of groups."""
    return {bare_id(release.mb_release_id) for group in groups for release in group.editions}


def why_unrelated(bundle: EvidenceBundle, record: NamedRecord) -> str | None:
    """Return why a record has nothing to do with a recording, None if it may have.

    The artist must fit; of a release group the title or various artists suffice.
    """
    tags = bundle.tags
    artists = filter(None, (bundle.performer.name, tags.get("artist"), tags.get("album_artist")))
    as_group = ReleaseGroup(
        ReleaseGroupId(record.mbid), title=record.title, artist_credit=record.artist
    )
    is_by_another = is_named(artists, as_group, ()) is False
    named = f"the {record.kind.replace('-', ' ')} {record.title!r} by {record.artist!r}"
    named = f"{named} ({record.mbid})"
    if record.kind == "recording":
        other = f"{named} is by another artist than the recording {bundle.name!r}"
        return other if is_by_another or is_various(as_group, ()) else None
    if record.kind == "release" or not is_by_another or is_various(as_group, ()):
        return None
    titles = (bundle.recording_title, tags.get("album"), *(one.title for one in bundle.groups))
    if spaced_words(record.title or "") in map(spaced_words, filter(None, titles)):
        return None
    return (
        f"{named} has nothing to do with the recording {bundle.name!r}: neither artist nor title"
        " fits, and MusicBrainz does not list the recording on it"
    )


def date_there(bundle: EvidenceBundle | None, crg: str, rr: str | None, found: RecordLookup) -> str:
    """Return when the recording came out on a release group, or on a release of it.

    Raises `CanonError` if no year is known, and `LookupFailedError`.
    """
    groups = [one for one in (bundle.groups if bundle else ()) if bare_id(one.mb_rg_id) == crg]
    releases = [one for group in groups for one in group.editions]
    wanted = [one for one in releases if one.mb_release_id == rr] if rr else releases
    dates = [one.when for one in wanted if one.is_official and one.when.is_known]
    if not dates and not wanted:
        record = found("release", rr) if rr else found("release-group", crg)
        dates = [PartialDate.parse(record.date)] if record and record.date else []
    first = min(dates, key=lambda date: (date.first, -date.last), default=None)
    if first is None or "/" in first.text:
        raise CanonError("MusicBrainz has no date for that record: name the date (--first DATE)")
    return first.text


CurrentId = Callable[[EntityKind, str], str]
"""Returns the id under which MusicBrainz has a record; raises `LookupFailedError`."""


def current_ids(
    named: Mapping[str, str], bundle: EvidenceBundle | None, current_id: CurrentId | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the ids that MusicBrainz has now, with a note on each that was merged into another.

    They are by the field of an override. Ids in the evidence are not looked up. All ids stay
    unchanged without `current_id`, or if a look-up fails, which a note says.
    """
    in_evidence = set(map(bare_id, bundle.all_ids.ids)) if bundle else set()
    current = {**named}
    try:
        for field, mbid in named.items():
            if current_id and MBID.fullmatch(mbid) and bare_id(mbid) not in in_evidence:
                current[field] = current_id(ID_KINDS[field], mbid)
    except LookupFailedError as error:
        return {**named}, (UNCHECKED.format("an id was merged into another", error),)
    merged = ((field, mbid) for field, mbid in named.items() if current[field] != mbid)
    notes = (
        f"{ID_KINDS[field].replace('-', ' ')} {mbid} is now {current[field]}"
        for field, mbid in merged
    )
    return current, (*notes,)


def with_current_ids(
    override: OverrideRecord, bundle: EvidenceBundle | None, current_id: CurrentId | None
) -> tuple[OverrideRecord, tuple[str, ...]]:
    """Return an override under the ids that MusicBrainz has now, with notes as `current_ids`."""
    ids, notes = current_ids(named_ids(override), bundle, current_id)
    return msgspec.structs.replace(override, **ids), notes


def named_ids(said: msgspec.Struct) -> dict[str, str]:
    """Return the ids in what has the fields of an override, by field."""
    ids = {field: getattr(said, field) for field in ID_KINDS}
    return {field: mbid for field, mbid in ids.items() if mbid}


SongTitles: TypeAlias = frozenset[frozenset[str]]
"""Titles, each as its words without remarks."""


def songs_in(bundle: EvidenceBundle) -> SongTitles:
    """Return the titles that a bundle has for its recording."""
    titles = {bundle.recording_title, bundle.tags.get("title")}
    titles.update(one.title for one in bundle.recording_candidates)
    return frozenset(map(_song, filter(None, titles)))


def _song(title: str) -> frozenset[str]:
    words = frozenset(spaced_words(title).split())
    return words.difference(spaced_words(set_off(title)).split()) or words


def merged_override(
    bundle: EvidenceBundle,
    overrides: Iterable[OverrideRecord],
    songs_of: Callable[[OverrideRecord], SongTitles],
    current_id: CurrentId,
    known_id: CurrentId,
) -> OverrideRecord | None:
    """Return the newest override for a recording that was merged with one that a file may have.

    Looked up are overrides whose release group or song the evidence has, but not their recording;
    of an unknown song all are. `known_id` may be older than `current_id`: it tells whether it is
    the evidence that has an old id. Raises `LookupFailedError`.
    """
    in_evidence, songs = set(map(bare_id, bundle.all_ids.ids)), songs_in(bundle)
    suspects = {
        current_id("recording", one.recording_mbid): one
        for one in sorted(overrides, key=lambda one: one.set_at_utc)
        if one.recording_mbid not in in_evidence
        and (one.crg_mbid in in_evidence or not songs.isdisjoint(songs_of(one) or songs))
    }
    if not suspects:
        return None
    ids = recordings_meant(bundle)
    if ids.isdisjoint(suspects):
        ids = {known_id("recording", one) for one in ids if MBID.fullmatch(one)}
    found = [suspects[one] for one in ids & suspects.keys()]
    return max(found, key=lambda one: one.set_at_utc, default=None)
