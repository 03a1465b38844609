"""Check the MusicBrainz entities that a person names in an override, and update merged ids."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, ReleaseGroup
from chart_binder.domain.remarks import set_off
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import MBID, EntityKind, ReleaseGroupId, bare_id, spaced_words
from chart_binder.errors import CanonError, LookupFailedError, UsageError
from chart_binder.jobs.pipeline import possible_recordings
from chart_binder.rules.names import is_named, is_various
from chart_binder.rules.recordings import sorted_recordings

UNCHECKED = "it was not checked whether {}: {}"
NAME_DATE = "name the date (--first DATE)"
ID_KINDS: Mapping[str, EntityKind] = {
    "recording_mbid": "recording",
    "crg_mbid": "release-group",
    "rr_mbid": "release",
    "same_as": "recording",
}
"""The kind of entity that each id of an override names."""
_BRACKETS = frozenset("()[]{}<>")
_FIRST_RECORDS, _FIRST_PLAYED = map(PartialDate.parse, ("1860", "1877"))


def read_first_date(text: str, today: str) -> str:
    """Return a date of a first release as `YYYY`, `YYYY-MM` or `YYYY-MM-DD`.

    Raises `UsageError` if the text is not such a date, or the date is not from 1860 to `today`.
    """
    from chart_binder.domain.dates_in_text import (
        read_date,
    )  # its regular expressions compile for 0.1 s

    date = None if _BRACKETS.intersection(text) else read_date(text)
    if date is None:
        raise UsageError(f"{text!r} is not a date: YYYY, YYYY-MM or YYYY-MM-DD is allowed")
    if date.first > PartialDate.parse(today[:10]).last:
        raise UsageError(f"{date} is in the future")
    if date.first < _FIRST_RECORDS.first:
        raise UsageError(f"{date} is before 1860, when nothing was recorded yet")
    return date.text


def why_doubtful(bundle: EvidenceBundle, date: str, recording: str | None) -> str | None:
    """Return why a person's date of the first release may be wrong, or None.

    Earlier releases of the `recording` and its siblings contradict the date; if `recording` is
    None, those of every recording that the file may have.
    """
    first = PartialDate.parse(date)
    if first.last < _FIRST_PLAYED.first:
        return f"{date} is before 1877, when a recording could first be played"
    listed = [
        (release.when, group)
        for candidate in sorted_recordings(bundle).possible
        if candidate.is_sibling or recording in (None, bare_id(candidate.mb_recording_id))
        for group in candidate.groups
        for release in group.editions
        if release.is_official and release.when.is_known and release.when.last < first.first
    ]
    if not listed:
        return None
    when, group = min(listed, key=lambda pair: pair[0].last)
    kind = group.types[0] or "type unknown"
    return f"{date} is later than {when}, when MusicBrainz lists it on {group.title!r} ({kind})"


class NamedRecord(msgspec.Struct, frozen=True):
    """An entity as MusicBrainz has it now; a release has its `release_group`."""

    kind: EntityKind
    mbid: str
    title: str | None
    artist: str | None
    about: str = ""
    """Further details, such as the comment, length, type, country and date."""
    date: str | None = None
    release_group: ReleaseGroup | None = None

    @property
    def name(self) -> str:
        """The kind, title and artist."""
        return f"the {self.kind.replace('-', ' ')} {self.title!r} by {self.artist!r}"

    def __str__(self) -> str:
        return f"{', '.join(filter(None, (self.name, self.about)))} ({self.mbid})"


RecordLookup = Callable[[EntityKind, str], NamedRecord | None]
"""Returns an entity, or None if MusicBrainz does not have it; raises `LookupFailedError`."""


def require_same_group(
    bundle: EvidenceBundle, crg: str, rr: str | None, look_up: RecordLookup | None = None
) -> Sequence[str]:
    """Raise `CanonError` if a release is not in a release group.

    If that cannot be looked up, return a remark that says so.
    """
    if rr is None:
        return ()
    release, group_id = bare_id(rr), bare_id(crg)
    groups = [group for group in bundle.groups if release in release_ids([group])]
    if not groups and look_up:
        try:
            record = look_up("release", release)
        except LookupFailedError as error:
            return [UNCHECKED.format("the release is of that release group", error)]
        groups = [record.release_group] if record and record.release_group else []
    ids = [bare_id(group.mb_rg_id) for group in groups]
    if ids and group_id not in ids:
        titles = {bare_id(group.mb_rg_id): group.title for group in (*bundle.groups, *groups)}
        actual_text, named_text = (
            f"{mbid} {titles[mbid]!r}" if titles.get(mbid) else mbid for mbid in (ids[0], group_id)
        )
        raise CanonError(
            f"release {release} is of release group {actual_text}, not of {named_text}: name two"
            " that go together, or no release, and the rules choose one"
            f"{'; --force stores it anyway' if look_up else ''}"
        )
    return ()


def release_ids(groups: Sequence[ReleaseGroup]) -> set[str]:
    """Return the ids of the releases of groups."""
    return {bare_id(release.mb_release_id) for group in groups for release in group.editions}


def listed_ids(bundle: EvidenceBundle) -> Mapping[EntityKind, set[str]]:
    """Return the ids in the evidence by the kind of entity."""
    return {
        "recording": {bare_id(item.mb_recording_id) for item in bundle.recording_candidates},
        "release-group": {bare_id(group.mb_rg_id) for group in bundle.groups},
        "release": release_ids(bundle.groups),
    }


def why_unrelated(bundle: EvidenceBundle, record: NamedRecord) -> str | None:
    """Return why an entity cannot be related to the recording of a bundle, or None if it can be.

    The artist must match. For a release group, the title or various artists are enough.
    """
    tags = bundle.tags
    artists = filter(None, (bundle.performer.name, tags.get("artist"), tags.get("album_artist")))
    as_group = ReleaseGroup(
        ReleaseGroupId(record.mbid), title=record.title, artist_credit=record.artist
    )
    is_by_another = is_named(artists, as_group, ()) is False
    name = f"{record.name} ({record.mbid})"
    if record.kind == "recording":
        if is_by_another or is_various(as_group, ()):
            return f"{name} is by another artist than the recording {bundle.name!r}"
        return None
    if record.kind == "release" or not is_by_another or is_various(as_group, ()):
        return None
    titles = (bundle.recording_title, tags.get("album"), *(group.title for group in bundle.groups))
    if spaced_words(record.title or "") in map(spaced_words, filter(None, titles)):
        return None
    return (
        f"{name} has nothing to do with the recording {bundle.name!r}: neither artist nor title"
        " matches, and MusicBrainz does not list the recording on it"
    )


def date_on_group(
    bundle: EvidenceBundle | None, crg: str, rr: str | None, look_up: RecordLookup
) -> str:
    """Return the date on which a recording came out on a release group, or on its release `rr`.

    Raises `CanonError` if no date is known, and `LookupFailedError`.
    """
    groups = bundle.groups if bundle else ()
    releases = [
        release
        for group in groups
        if bare_id(group.mb_rg_id) == crg
        for release in group.editions
        if rr in (None, release.mb_release_id)
    ]
    dates = [release.when for release in releases if release.is_official and release.when.is_known]
    if not dates and not releases:
        record = look_up("release", rr) if rr else look_up("release-group", crg)
        dates = [PartialDate.parse(record.date)] if record and record.date else []
    first = min(dates, key=lambda date: (date.first, -date.last), default=None)
    if first is None or "/" in first.text:
        raise CanonError(f"MusicBrainz has no date for that record: {NAME_DATE}")
    return first.text


CurrentId = Callable[[EntityKind, str], str]
"""Returns the present id of an entity, which may have been merged; raises `LookupFailedError`."""


def current_ids(
    ids: Mapping[str, str], bundle: EvidenceBundle | None, current_id: CurrentId | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the present ids, and a note on each merged id; `ids` are by the override's field.

    Ids in the evidence are not looked up. Without `current_id`, or if a look-up fails, no id
    changes; a note tells of the failure.
    """
    in_evidence = set(map(bare_id, bundle.all_ids.ids)) if bundle else set()
    current = {**ids}
    try:
        for field, mbid in ids.items():
            if current_id and MBID.fullmatch(mbid) and bare_id(mbid) not in in_evidence:
                current[field] = current_id(ID_KINDS[field], mbid)
    except LookupFailedError as error:
        return {**ids}, (UNCHECKED.format("an id was merged into another", error),)
    merged = ((field, mbid) for field, mbid in ids.items() if current[field] != mbid)
    notes = (
        f"{ID_KINDS[field].replace('-', ' ')} {mbid} is now {current[field]}"
        for field, mbid in merged
    )
    return current, (*notes,)


def named_ids(override: msgspec.Struct) -> dict[str, str]:
    """Return the ids in an override, or in a value with the same fields, by field."""
    values = msgspec.structs.asdict(override)
    return {field: values[field] for field in ID_KINDS if values[field]}


SongTitles: TypeAlias = frozenset[frozenset[str]]
"""The titles of a recording, each as the set of its words without remarks."""


def songs_in(bundle: EvidenceBundle) -> SongTitles:
    """Return the titles that a bundle has for its recording."""
    titles = {bundle.recording_title, bundle.tags.get("title")}
    titles.update(recording.title for recording in bundle.recording_candidates)
    return frozenset(map(_words, filter(None, titles)))


def _words(title: str) -> frozenset[str]:
    """Return the words of a title without its remarks, or all words if it is only remarks."""
    words = frozenset(spaced_words(title).split())
    return words.difference(spaced_words(set_off(title)).split()) or words


def merged_override(
    bundle: EvidenceBundle,
    overrides: Iterable[OverrideRecord],
    songs_of: Callable[[OverrideRecord], SongTitles],
    current_id: CurrentId,
    cached_id: CurrentId,
) -> OverrideRecord | None:
    """Return the newest override for a recording that was merged with a recording of the evidence.

    The recording of an override is looked up if the evidence lacks it, but has the release group
    or the song, or if the song of the override is unknown. `cached_id` finds an outdated id in the
    evidence; it may use older answers than `current_id`. Raises `LookupFailedError`.
    """
    in_evidence, songs = set(map(bare_id, bundle.all_ids.ids)), songs_in(bundle)
    suspects = {
        current_id("recording", override.recording_mbid): override
        for override in sorted(overrides, key=lambda override: override.set_at_utc)
        if override.recording_mbid not in in_evidence
        and (override.crg_mbid in in_evidence or not songs.isdisjoint(songs_of(override) or songs))
    }
    if not suspects:
        return None
    ids = possible_recordings(bundle)
    if ids.isdisjoint(suspects):
        ids = {cached_id("recording", mbid) for mbid in ids if MBID.fullmatch(mbid)}
    matches = [suspects[mbid] for mbid in ids & suspects.keys()]
    return max(matches, key=lambda override: override.set_at_utc, default=None)
