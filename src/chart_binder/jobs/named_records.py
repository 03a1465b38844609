"""Read the records that a person names; look them up, check them, and update merged ids."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import msgspec

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, ReleaseGroup
from chart_binder.domain.evidence_json import with_recordings
from chart_binder.domain.records import now_utc
from chart_binder.domain.remarks import set_off
from chart_binder.domain.verdict import BY_PERSON, OverrideRecord
from chart_binder.domain.vocabulary import (
    MBID,
    EntityKind,
    RecordingId,
    ReleaseGroupId,
    ReleaseId,
    bare_id,
    spaced_words,
)
from chart_binder.errors import CanonError, LookupFailedError, UsageError
from chart_binder.files import path_text
from chart_binder.jobs.pipeline import possible_recordings
from chart_binder.rules.labels import Labels
from chart_binder.rules.names import is_named, is_various
from chart_binder.rules.recordings import sorted_recordings

UNCHECKED = "it was not checked whether {}: {}"
ID_KINDS: Mapping[str, EntityKind] = {
    "recording_mbid": "recording",
    "crg_mbid": "release-group",
    "rr_mbid": "release",
    "same_as": "recording",
}
"""The kind of entity that each id of an override names."""


class Hints(NamedTuple):
    """What a person can do next: words for the end of a message, or an empty text."""

    force: str
    replace: str
    name_release: str
    name_date: str
    correct_date: str
    keep: str


IN_TERMINAL = Hints(
    "; --force stores it anyway",
    "; --replace replaces that for all of them",
    "; --rr names a release of it, if you know one",
    "name the date (--first DATE)",
    "give --first DATE",
    "`canon review keep` takes it out of the queue",
)
ON_PAGE = Hints(
    "",
    "",
    "",
    "press d to type the date",
    "press u to undo, then d to type the date",
    "press k to take it out of the queue",
)
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
) -> str | None:
    """Return the date on which a recording came out on a release group, or on its release `rr`.

    Return `None` if no date is known. Raises `LookupFailedError`.
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
    return first.text if first and "/" not in first.text else None


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


class PersonChoice(msgspec.Struct, frozen=True):
    """What a person states about a case; `recording_mbid` names the recording if several fit."""

    crg_mbid: str | None = None
    rr_mbid: str | None = None
    first_date: str | None = None
    same_as: str | None = None
    recording_mbid: str | None = None

    def override(self, recording: RecordingId, reason: str) -> OverrideRecord:
        """Return the choice as an override of the recording, set now."""
        return OverrideRecord(
            recording,
            ReleaseGroupId(bare_id(self.crg_mbid)) if self.crg_mbid else None,
            ReleaseId(bare_id(self.rr_mbid)) if self.rr_mbid else None,
            reason,
            now_utc(),
            self.first_date,
            RecordingId(bare_id(self.same_as)) if self.same_as else None,
        )


_LABELS_NAMED = 6
_UNKNOWN = "MusicBrainz knows no {} {}: check the id"

Confirm = Callable[[Sequence[NamedRecord], str | None], None]
"""Shows records that were looked up, and what seems wrong; raises `CanonError` if a person objects.
"""


@dataclass(frozen=True, slots=True)
class Lookups:
    """How the records that a person names are looked up; each raises `LookupFailedError`."""

    current_id: CurrentId
    record: RecordLookup
    sibling: Callable[[EvidenceBundle, RecordingId], RecordingCandidate]


def name_records(
    lookups: Lookups,
    bundle: EvidenceBundle | None,
    choice: PersonChoice,
    confirm: Confirm,
    *,
    force: bool = False,
    yes: bool = False,
    with_date: bool = False,
    hints: Hints = IN_TERMINAL,
) -> tuple[PersonChoice, tuple[str, ...]]:
    """Return a person's choice with current ids, and notes; `with_date` adds the date of its group.

    What the evidence lacks is looked up, and passed to `confirm`. Raises `CanonError` if it does
    not fit, and `LookupFailedError` for a recording.
    """
    find = None if force else lookups.current_id
    ids, notes = current_ids(named_ids(choice), bundle, find)
    choice = msgspec.structs.replace(choice, **ids)
    if choice.same_as and _is_evidence_already(bundle, choice):
        raise CanonError(f"recording {choice.same_as} and its releases are in the evidence already")
    advice = hints.force
    record_notes, widened = _check_records(lookups, bundle, ids, confirm, advice, force=force)
    notes += record_notes
    if choice.first_date:
        notes += _check_date(widened, choice, None if yes or force else confirm)
    if bundle and choice.crg_mbid and not force:
        crg, rr = choice.crg_mbid, choice.rr_mbid
        notes = (*notes, *require_same_group(bundle, crg, rr, lookups.record))
    if with_date and choice.crg_mbid and not choice.first_date:
        date = date_on_group(bundle, choice.crg_mbid, choice.rr_mbid, lookups.record)
        if date is None:
            raise CanonError(f"MusicBrainz has no date for that record: {hints.name_date}")
        choice = msgspec.structs.replace(choice, first_date=date)
    return choice, notes


def _check_date(
    bundle: EvidenceBundle | None, choice: PersonChoice, confirm: Confirm | None
) -> tuple[str, ...]:
    """Return a note on a date that may be wrong, after `confirm`, if there is one."""
    date, recording = choice.first_date or "", choice.recording_mbid
    problem = why_doubtful(bundle or EvidenceBundle(()), date, recording)
    if problem and confirm:
        confirm([], problem)
    return (f"{problem}: stored anyway",) if problem else ()


def date_of_new_group(lookups: Lookups, bundle: EvidenceBundle, choice: PersonChoice) -> str | None:
    """Return the date of a group that the evidence lacks, if nothing earlier is known."""
    groups = listed_ids(bundle)["release-group"]
    if choice.crg_mbid is None or choice.crg_mbid in groups:
        return None
    try:
        date = date_on_group(bundle, choice.crg_mbid, choice.rr_mbid, lookups.record)
    except LookupFailedError:  # a note says so
        return None
    is_later = date and why_doubtful(bundle, date, choice.recording_mbid)
    return None if is_later else date


def _is_evidence_already(bundle: EvidenceBundle | None, choice: PersonChoice) -> bool:
    """Return whether `same_as` is the file's recording, or evidence that no person added."""
    recordings = bundle.recording_candidates if bundle else ()
    ids = {item.mb_recording_id for item in recordings if item.because not in BY_PERSON}
    return choice.same_as in {*map(bare_id, ids), choice.recording_mbid}


def _check_records(
    lookups: Lookups,
    bundle: EvidenceBundle | None,
    ids: Mapping[str, str],
    confirm: Confirm,
    advice: str,
    *,
    force: bool,
) -> tuple[tuple[str, ...], EvidenceBundle | None]:
    """Look records up, and return notes and the evidence with the recording of `same_as`.

    Raises `LookupFailedError` for a recording, and `CanonError` for a record that does not fit or,
    with `advice`, is unknown.
    """
    listed = listed_ids(bundle) if bundle else {}
    is_checked = bundle is not None and not force
    notes: list[str] = []
    records: list[NamedRecord] = []
    widened = bundle
    for field, mbid in ids.items():
        is_stated = field == "same_as"
        is_listed = mbid in listed.get(ID_KINDS[field], ())
        if is_listed or field == "recording_mbid" or not (is_stated or is_checked):
            continue
        try:
            record = lookups.record(ID_KINDS[field], mbid)
            if record and is_stated:
                evidence = bundle or EvidenceBundle(())
                same = lookups.sibling(evidence, RecordingId(mbid))
                widened = with_recordings(evidence, [same])
        except LookupFailedError as error:
            if is_stated:
                raise
            if field == "crg_mbid":
                notes.append(UNCHECKED.format("it has to do with the recording", error))
            continue
        if record is None:
            text = _UNKNOWN.format(ID_KINDS[field].replace("-", " "), mbid)
            raise CanonError(text if is_stated else f"{text}{advice}")
        records.append(record)
    reasons = (why_unrelated(bundle, item) for item in records if is_checked and bundle)
    problem = next(filter(None, reasons), None)
    if records or problem:
        confirm(records, problem)
    return (*notes, *(f"{item}, by MusicBrainz" for item in records)), widened


def read_record(look_up: RecordLookup, labels: Labels, text: str) -> tuple[str, str | None]:
    """Return the release group and the release named by a label, an id or an address.

    An id that the evidence lacks is looked up as a group, then as a release. Raises `CanonError`.
    """
    mbid = labels.ids.get(text.strip().upper())
    is_release = mbid is None and "/release/" in text
    if is_release:
        mbid = read_mbid(text, "release")
    mbid = mbid or read_label(labels, text, "release-group")
    if mbid in labels.home:
        return labels.home[mbid], mbid
    if mbid in labels.titles or (not is_release and "/" in text):
        return mbid, None
    try:
        if not is_release and look_up("release-group", mbid):
            return mbid, None
        record = look_up("release", mbid)
    except LookupFailedError:
        if is_release:
            raise
        return mbid, None
    if record and record.release_group:
        return record.release_group.mb_rg_id, record.mbid
    if is_release:
        raise CanonError(_UNKNOWN.format("release", mbid))
    return mbid, None


def read_label(labels: Labels, text: str, entity: str) -> str:
    """Return the id of a release group or a release by its label, id or address."""
    of_entity = {
        label: mbid for label, mbid in labels.ids.items() if ("." in label) == (entity == "release")
    }
    label = text.strip().upper()
    if label in of_entity:
        return of_entity[label]
    dots = " ..." if len(of_entity) > _LABELS_NAMED else ""
    labels_text = f"one of {', '.join([*of_entity][:_LABELS_NAMED])}{dots}, " if of_entity else ""
    return read_mbid(text, entity, or_else=labels_text)


def read_mbid(text: str, entity: str, *, or_else: str = "") -> str:
    """Return a MusicBrainz id, given bare or as the address of its page, in lower case.

    `entity` is as in addresses, such as `release-group`. Raises `UsageError`, with `or_else`.
    """
    stripped = text.strip()
    address = rf"(?:https?://)?(?:\w+\.)?musicbrainz\.org/([a-z-]+)/({MBID.pattern})(?:[/?#].*)?"
    page = re.fullmatch(address, stripped, re.IGNORECASE)
    if page and page[1].lower() == entity:
        return page[2].lower()
    if MBID.fullmatch(stripped):
        return stripped.lower()
    kind = "the address of a " + page[1] if page else f"not a {entity.replace('-', ' ')} id"
    allowed = f"{or_else}a UUID or https://musicbrainz.org/{entity}/UUID"
    raise UsageError(f"{path_text(text)!r} is {kind}: give {allowed}")
