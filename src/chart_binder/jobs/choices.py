"""Read the records that a person names, and look up and check those that the evidence lacks."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.domain.evidence_json import with_recordings
from chart_binder.domain.verdict import BY_PERSON
from chart_binder.domain.vocabulary import MBID, RecordingId, bare_id
from chart_binder.errors import CanonError, LookupFailedError, UsageError
from chart_binder.files import path_text
from chart_binder.jobs import named_records
from chart_binder.jobs.named_records import ID_KINDS, CurrentId, NamedRecord, RecordLookup
from chart_binder.jobs.overrides import PersonChoice
from chart_binder.rules.labels import Labels

FORCE_HINT = "; --force stores it anyway"
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
) -> tuple[PersonChoice, tuple[str, ...]]:
    """Return a person's choice with current ids, and notes; `with_date` adds the date of its group.

    What the evidence lacks is looked up, and passed to `confirm`. Raises `CanonError` if it does
    not fit, and `LookupFailedError` for a recording.
    """
    find = None if force else lookups.current_id
    ids, notes = named_records.current_ids(named_records.named_ids(choice), bundle, find)
    choice = msgspec.structs.replace(choice, **ids)
    if choice.same_as and _is_evidence_already(bundle, choice):
        raise CanonError(f"recording {choice.same_as} and its releases are in the evidence already")
    record_notes, widened = _check_records(lookups, bundle, ids, confirm, force=force)
    notes += record_notes
    if choice.first_date:
        notes += _check_date(widened, choice, None if yes or force else confirm)
    if bundle and choice.crg_mbid and not force:
        crg, rr = choice.crg_mbid, choice.rr_mbid
        notes = (*notes, *named_records.require_same_group(bundle, crg, rr, lookups.record))
    if with_date and choice.crg_mbid and not choice.first_date:
        date = named_records.date_on_group(bundle, choice.crg_mbid, choice.rr_mbid, lookups.record)
        choice = msgspec.structs.replace(choice, first_date=date)
    return choice, notes


def _check_date(
    bundle: EvidenceBundle | None, choice: PersonChoice, confirm: Confirm | None
) -> tuple[str, ...]:
    """Return a note on a date that may be wrong, after `confirm`, if there is one."""
    date, recording = choice.first_date or "", choice.recording_mbid
    problem = named_records.why_doubtful(bundle or EvidenceBundle(()), date, recording)
    if problem and confirm:
        confirm([], problem)
    return (f"{problem}: stored anyway",) if problem else ()


def date_of_new_group(lookups: Lookups, bundle: EvidenceBundle, choice: PersonChoice) -> str | None:
    """Return the date of a group that the evidence lacks, if nothing earlier is known."""
    groups = named_records.listed_ids(bundle)["release-group"]
    if choice.crg_mbid is None or choice.crg_mbid in groups:
        return None
    try:
        date = named_records.date_on_group(bundle, choice.crg_mbid, choice.rr_mbid, lookups.record)
    except CanonError:  # a note says that it cannot be looked up
        return None
    is_later = named_records.why_doubtful(bundle, date, choice.recording_mbid)
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
    *,
    force: bool,
) -> tuple[tuple[str, ...], EvidenceBundle | None]:
    """Look records up, and return notes and the evidence with the recording of `same_as`.

    Raises `CanonError` for a record that does not fit, and `LookupFailedError` for a recording.
    """
    listed = named_records.listed_ids(bundle) if bundle else {}
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
                unchecked = named_records.UNCHECKED
                notes.append(unchecked.format("it has to do with the recording", error))
            continue
        if record is None:
            raise _unknown_record(field, mbid)
        records.append(record)
    why_unrelated = named_records.why_unrelated
    reasons = (why_unrelated(bundle, item) for item in records if is_checked and bundle)
    problem = next(filter(None, reasons), None)
    if records or problem:
        confirm(records, problem)
    return (*notes, *(f"{item}, by MusicBrainz" for item in records)), widened


def _unknown_record(field: str, mbid: str) -> CanonError:
    advice = "" if field == "same_as" else FORCE_HINT
    return CanonError(_UNKNOWN.format(ID_KINDS[field].replace("-", " "), mbid) + advice)


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
