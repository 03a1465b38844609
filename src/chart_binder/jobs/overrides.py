"""Save the verdict of a person on a decision (accept, reject, choose, keep), and its override.

An override applies to every file of its recording. A verdict is saved for all waiting files with
the same evidence, and has an override unless it leaves the case as it is.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.domain.records import (
    DecisionRecord,
    VerdictKind,
    VerdictRecord,
    local_time,
    now_utc,
)
from chart_binder.domain.verdict import BY_PERSON, OverrideRecord
from chart_binder.domain.vocabulary import MBID, RecordingId, bare_id
from chart_binder.errors import CanonError, DamagedRecordError
from chart_binder.jobs.decision import State, advice_for
from chart_binder.jobs.named_records import (
    IN_TERMINAL,
    Hints,
    PersonChoice,
    release_ids,
    require_same_group,
)
from chart_binder.jobs.pipeline import is_to_decide_again, override_for
from chart_binder.jobs.review import (
    ReviewCase,
    override_removed,
    overrides_near,
    proposed_date,
    same_evidence,
)
from chart_binder.jobs.stored_decisions import read_decision, stored_bundle
from chart_binder.rules.recordings import format_length, sorted_recordings

if TYPE_CHECKING:
    from chart_binder.store import Store
    from chart_binder.store.reviews import SavedVerdicts

DECIDE_AGAIN = "to be decided again"
ACCEPTED = "the model's answer, accepted in review"
CHOSEN = "chosen in review"
_MAX_FILES_NAMED = 3
STATED = "stated in review"
_DEFAULT_REASONS = (ACCEPTED, CHOSEN, STATED)
"""The reasons of overrides for which the person gave none."""
_NO_MBID = "{}{!r} is not a MusicBrainz id (a UUID)"


class SeveralRecordingsError(CanonError):
    """Several recordings are possible, and the person must name one of `recordings`."""

    def __init__(self, text: str, recordings: Mapping[str, str]) -> None:
        super().__init__(text)
        self.recordings = recordings


class ContradictionError(CanonError):
    """A verdict contradicts an override by another file, and does not say that it replaces it."""


class VerdictResult(msgspec.Struct, frozen=True):
    """A saved verdict, the number of files it is on, and remarks for the person.

    If `decide_again`, the stored decisions do not follow the verdict yet.
    """

    saved: "SavedVerdicts"
    files: int
    notes: tuple[str, ...] = ()
    decide_again: bool = False


@dataclass(frozen=True, slots=True)
class VerdictSaver:
    """Saves verdicts on cases; each method returns the result, and may raise `CanonError`.

    A verdict that contradicts another override is refused, unless it `replaces` that. If it
    `is_dry`, nothing is saved.
    """

    store: "Store"
    rules: RulesConfig
    hints: Hints = IN_TERMINAL
    replaces: bool = False
    is_dry: bool = False

    def accept(
        self, case: ReviewCase, reason: str = "", recording: str | None = None
    ) -> VerdictResult:
        """Save the proposed release group, and the date by verified facts, as an override.

        If only a date is proposed, save that. An error is raised if nothing can be accepted, or if
        it is unclear which recording is meant.
        """
        proposal = case.proposal
        if proposal and proposal.first_date:
            choice = PersonChoice(first_date=proposal.first_date, recording_mbid=recording)
            return self.choose(case, choice, reason or ACCEPTED)
        if proposal is None:
            _require_open(self.store, case)
            raise CanonError(
                f"{case.path}: nothing is proposed, so there is nothing to accept; see the"
                f" candidates: canon review show {case.record.id}"
            )
        if proposal.label is None:
            raise CanonError(
                f"{case.path}: the proposed release group {proposal.crg_mbid} is not in the"
                " evidence; if it is right anyway: canon override set ... --crg"
            )
        release = bare_id(proposal.rr_mbid) if proposal.rr_mbid else None
        is_of_group = case.labels.home.get(proposal.rr_mbid or "") == proposal.crg_mbid
        rr, date = release if is_of_group else None, proposed_date(case, self.rules)
        choice = PersonChoice(proposal.crg_mbid, rr, date, None, recording)
        override = _new_override(self.store, case, choice, reason or ACCEPTED)
        result = self._save(case, VerdictKind.ACCEPT, reason, override)
        if rr == release:
            return result
        note = f"the proposed release {release} is not of that release group: the rules choose one"
        return msgspec.structs.replace(result, notes=(note, *result.notes))

    def reject(
        self, case: ReviewCase, reason: str, choice: PersonChoice | None = None
    ) -> VerdictResult:
        """Reject the proposal; save the right release group, if the choice has one, as an override.

        An error is raised if the group is the proposed one or does not have the release.
        """
        crg = choice.crg_mbid if choice else None
        if choice is None or crg is None:
            is_year = case.proposal and case.proposal.first_date  # the decision stands
            return self._save(case, VerdictKind.KEEP if is_year else VerdictKind.REJECT, reason)
        if _is_only_proposal(case, choice):
            raise CanonError(
                f"{case.path}: this is the proposed group: canon review accept {case.record.id}"
            )
        override = _new_override(self.store, case, choice, reason)
        if case.bundle:
            require_same_group(case.bundle, crg, choice.rr_mbid)
        result = self._save(case, VerdictKind.REJECT, reason, override)
        notes = (*result.notes, *self._date_made_certain(case, override))
        return msgspec.structs.replace(result, notes=notes, decide_again=True)

    def keep(self, case: ReviewCase, reason: str = "") -> VerdictResult:
        """Leave an open case as it is until it is decided differently."""
        return self._save(case, VerdictKind.KEEP, reason)

    def choose(self, case: ReviewCase, choice: PersonChoice, reason: str = "") -> VerdictResult:
        """Save what a person states; without a release group, the decided group stays.

        To choose exactly the proposed release group is to accept the proposal.
        """
        if choice.crg_mbid is None:
            override = _new_override(self.store, case, choice, reason or STATED)
            result = self._save(case, VerdictKind.KEEP, reason, override)
            # A date alone can be written at once.
            return msgspec.structs.replace(result, decide_again=choice.same_as is not None)
        if _is_only_proposal(case, choice):
            return self.accept(case, reason, choice.recording_mbid)
        return self.reject(case, reason or CHOSEN, choice)

    def _save(
        self,
        case: ReviewCase,
        kind: VerdictKind,
        reason: str,
        override: OverrideRecord | None = None,
    ) -> VerdictResult:
        """Save a verdict with its override, and remove the overrides of earlier verdicts."""
        store = self.store
        if override is None and case.decision.state not in (State.UNMATCHED, State.UNREADABLE):
            _require_open(store, case)
        if store.decisions.by_id(case.record.id) is None:
            raise CanonError(
                f"{case.path}: it was deleted from the store since, so nothing was saved"
            )
        before = _overrides_of_verdicts(store, case)
        at_utc, reason = (override.set_at_utc, override.reason) if override else (now_utc(), reason)
        verdicts = [
            VerdictRecord(
                decision_id=decision_id,
                verdict=kind,
                crg_mbid=override.crg_mbid if override else None,
                rr_mbid=override.rr_mbid if override else None,
                reason=reason,
                at_utc=at_utc,
            )
            for decision_id in _decisions_concerned(store, case, before, override)
        ]
        if override:
            notes = [*self._replacements(case, override, before)]
            notes += unknown_ids(case.bundle, override, self.hints) if case.bundle else ()
        else:
            notes = [*_removals(store, case, before)]
        saved = store.verdicts.save(verdicts, override, before, is_dry=self.is_dry)
        return VerdictResult(saved, len(verdicts), (*notes,))

    def _date_made_certain(self, case: ReviewCase, override: OverrideRecord) -> Iterator[str]:
        """Yield a remark if an uncertain date is certain now because its group was chosen."""
        first = case.decision.first_release
        is_doubted = first and not (first.year_certain or override.first_date)
        if first and is_doubted and bare_id(first.release_group_mbid or "") == override.crg_mbid:
            advice = self.hints.correct_date
            yield f"{first.date} counts as certain now; if it came out earlier, {advice}"

    def _replacements(
        self, case: ReviewCase, new: OverrideRecord, before: Collection[OverrideRecord]
    ) -> Iterator[str]:
        """Yield a remark on each override that a new one replaces. Raises `CanonError`."""
        store = self.store
        current = store.overrides.of([new.recording_mbid]).get(new.recording_mbid)
        replaced = tuple(before)
        if current is not None and current not in before:
            replaced += (current,)
            if _contradicts(new, current) and not self.replaces:
                raise ContradictionError(
                    f"{case.path}: a person decided otherwise on its recording:"
                    f" {_override_text(case, current)}{_other_files(store, case, current)}"
                    f"{self.hints.replace}"
                )
        for old in replaced:
            other_files = _other_files(store, case, old) if _contradicts(new, old) else ""
            yield f"in place of {_override_text(case, old)}{other_files}"
        yield from unchanged_parts(new, current)


def _is_only_proposal(case: ReviewCase, choice: PersonChoice) -> bool:
    """Return whether a choice is the proposed release group and nothing else."""
    if case.proposal is None or choice.crg_mbid is None:
        return False
    is_proposed = bare_id(case.proposal.crg_mbid) == bare_id(choice.crg_mbid)
    return is_proposed and not (choice.rr_mbid or choice.first_date or choice.same_as)


class OverrideEffect(msgspec.Struct, frozen=True):
    """The decided files that an override applies to, and the evidence of one of them."""

    files: tuple[bytes, ...] = ()
    bundle: EvidenceBundle | None = None


def override_effect(store: "Store", override: OverrideRecord) -> OverrideEffect:
    """Return the files that an override applies to, and the newest evidence that can be read."""
    records = store.verdicts.affected_by(override)
    files = tuple(dict.fromkeys(record.path for record in records))
    bundles = (_readable_bundle(store, record) for record in reversed(records))
    return OverrideEffect(files, next(filter(None, bundles), None))


def decisions_by_override(store: "Store", override: OverrideRecord) -> tuple[DecisionRecord, ...]:
    """Return the latest decisions that follow an override. Raises `StoreError`."""
    return tuple(
        record
        for record in store.verdicts.affected_by(override)
        if record.decided_by == "override" or follows(record, override.set_at_utc)
    )


def to_decide_again(store: "Store", override: OverrideRecord) -> Iterator[str]:
    """Yield a remark that names the files to decide again because of a new override, if any.

    A date counts at once.
    """
    records = []
    for record in store.verdicts.affected_by(override):
        with suppress(DamagedRecordError):  # listing it reports the damage
            if is_to_decide_again(read_decision(record), override):
                records.append(record)
    if files := list_files(records):
        yield f"{DECIDE_AGAIN}: {files}"


def unchanged_parts(new: OverrideRecord, before: OverrideRecord | None) -> Iterator[str]:
    """Yield a remark on each part of an earlier override that stays although the group changes."""
    if before is None or new.crg_mbid in (None, before.crg_mbid):
        return
    if new.first_date and new.first_date == before.first_date:
        yield f"the date {new.first_date} of the earlier override stays; --first replaces it"
    if new.reason and new.reason == before.reason:
        yield f"the reason {new.reason!r} of the earlier override stays; --reason replaces it"


def follows(record: DecisionRecord, set_at_utc: str) -> bool:
    """Return whether a decision follows the override that was set at that time."""
    with suppress(DamagedRecordError):
        return read_decision(record).overruled_at == set_at_utc
    return False


def list_files(records: Iterable[DecisionRecord]) -> str:
    """Return the files of decisions as text, which names the first few."""
    paths = [record.path.decode("utf-8", "replace") for record in records]
    names, unnamed = ", ".join(paths[:_MAX_FILES_NAMED]), len(paths) - _MAX_FILES_NAMED
    return f"{names} and {unnamed} more" if unnamed > 0 else names


def recording_meant(bundle: EvidenceBundle) -> RecordingId:
    """Return the only possible recording. Raises `CanonError` if there are several, or none."""
    possible = sorted_recordings(bundle).possible
    return _only_recording([item for item in possible if not item.is_sibling], "by its id")


def unknown_ids(
    bundle: EvidenceBundle, override: OverrideRecord, hints: Hints = IN_TERMINAL
) -> Iterator[str]:
    """Yield a remark on each id of an override that is not in the evidence."""
    crg, rr = bare_id(override.crg_mbid or ""), bare_id(override.rr_mbid or "")
    carrying = [group for group in bundle.groups if bare_id(group.mb_rg_id) == crg]
    if crg and not carrying:
        advice = "" if rr else hints.name_release
        yield f"release group {crg} is not in the evidence: saved anyway{advice}"
    if rr and rr not in release_ids(carrying):
        yield f"release {rr} is not in the evidence: saved anyway"


def _new_override(
    store: "Store", case: ReviewCase, choice: PersonChoice, reason: str
) -> OverrideRecord:
    """Return the override for a verdict on an open case. Raises `CanonError`."""
    _require_open(store, case)
    crg = bare_id(choice.crg_mbid) if choice.crg_mbid else None
    override = choice.override(_recording_of(case, crg, choice.recording_mbid), reason)
    for mbid in filter(None, (override.crg_mbid, override.rr_mbid, override.same_as)):
        if not MBID.fullmatch(mbid):
            raise CanonError(_NO_MBID.format(f"{case.path}: ", mbid))
    before = store.overrides.of([override.recording_mbid]).get(override.recording_mbid)
    if before and before.reason not in ("", *_DEFAULT_REASONS) and reason in _DEFAULT_REASONS:
        override = msgspec.structs.replace(override, reason="")  # keep the reason of the person
    return override.amending(before)


def _recording_of(case: ReviewCase, crg: str | None, recording: str | None) -> RecordingId:
    """Return the named recording, or else the only one on the group. Raises `CanonError`."""
    possible = sorted_recordings(case.bundle).possible if case.bundle else ()
    candidates = [candidate for candidate in possible if candidate.because not in BY_PERSON]
    if recording is None:
        matches = [
            candidate
            for candidate in candidates
            if (not candidate.is_sibling if crg is None else crg in _group_ids(candidate))
        ]
        return _only_recording(matches or candidates, "with --recording", f"{case.path}: ")
    ids = [bare_id(candidate.mb_recording_id) for candidate in candidates]
    if bare_id(recording) not in ids:
        problem = f"recording {recording} cannot be the file's; allowed: {', '.join(ids)}"
        raise CanonError(f"{case.path}: {problem}")
    recording_named = candidates[ids.index(bare_id(recording))]
    return _only_recording([recording_named], "", f"{case.path}: ")


def _group_ids(recording: RecordingCandidate) -> set[str]:
    return {bare_id(group.mb_rg_id) for group in recording.groups}


def _only_recording(
    recordings: Sequence[RecordingCandidate], how: str, prefix: str = ""
) -> RecordingId:
    """Return the id of the only recording. Raises `CanonError`; `how` says how to name one."""
    if not recordings:
        raise CanonError(f"{prefix}the evidence has no recording: `canon override set` takes ids")
    if len(recordings) > 1:
        names: dict[str, str] = {}
        for item in recordings:
            details = (item.title, item.disambiguation, format_length(item.length_ms))
            names[item.mb_recording_id] = ", ".join(filter(None, details))
        texts = "; ".join(f"{mbid} ({name})" for mbid, name in names.items())
        problem = f"several recordings are possible: name one {how}: {texts}"
        raise SeveralRecordingsError(f"{prefix}{problem}", names)
    mbid = bare_id(recordings[0].mb_recording_id)
    if not MBID.fullmatch(mbid):
        raise CanonError(_NO_MBID.format(prefix, mbid))
    return RecordingId(mbid)


def _removals(
    store: "Store", case: ReviewCase, before: Collection[OverrideRecord]
) -> Iterator[str]:
    for override in before:
        yield (
            f"the override for recording {override.recording_mbid}, of an earlier verdict, is"
            f" removed: {_override_text(case, override)}"
        )
        if files := list_files(decisions_by_override(store, override)):
            yield f"decided by it, so {DECIDE_AGAIN}: {files}"


def _overrides_of_verdicts(store: "Store", case: ReviewCase) -> tuple[OverrideRecord, ...]:
    """Return the overrides of earlier verdicts that were not set anew since."""
    history = store.verdicts.history(case.record.id)
    verdicts = {(verdict.at_utc, verdict.crg_mbid) for verdict in history}
    overrides = store.overrides.all().values() if verdicts else ()
    return tuple(item for item in overrides if (item.set_at_utc, item.crg_mbid) in verdicts)


def _contradicts(new: OverrideRecord, old: OverrideRecord) -> bool:
    """Return whether an override changes something that the old one states."""
    before, now = (
        (override.crg_mbid, override.rr_mbid, override.first_date, override.same_as)
        for override in (old, new)
    )
    return any(text and text != changed for text, changed in zip(before, now, strict=True))


def _other_files(store: "Store", case: ReviewCase, override: OverrideRecord) -> str:
    records = store.verdicts.affected_by(override)
    files = list_files(record for record in records if record.path != case.record.path)
    return f", which applies to {files} too" if files else ""


def _override_text(case: ReviewCase, override: OverrideRecord) -> str:
    groups = (group for group in case.labels.titles if bare_id(group) == override.crg_mbid)
    group = next(groups, None)
    parts = [case.labels.name_of(group)] if group else []
    if override.crg_mbid and not group:
        parts = [f"release group {override.crg_mbid}"]
    parts += [f"first released {override.first_date}"] if override.first_date else []
    parts += [f"the same as recording {override.same_as}"] if override.same_as else []
    why = f" ({override.reason})" if override.reason else ""
    return f"{', '.join(parts)}, said {local_time(override.set_at_utc)}{why}"


def _decisions_concerned(
    store: "Store",
    case: ReviewCase,
    before: Collection[OverrideRecord],
    override: OverrideRecord | None = None,
) -> tuple[str, ...]:
    """Return the ids of decisions on the same evidence that wait or share an earlier verdict.

    With an override, only decisions on files that may hold its recording, by their length.
    """
    overrides: dict[str, OverrideRecord] = {override.recording_mbid: override} if override else {}
    records = [*same_evidence(store, case.record)]
    for verdict in chain.from_iterable(map(store.verdicts.of_override, before)):
        with suppress(DamagedRecordError):  # the commands that name the file report it
            record = store.decisions.by_id(verdict.decision_id)
            if record and record.evidence_hash == case.record.evidence_hash:
                records.append(record)
    concerned = [
        record.id
        for record in records
        if override is None
        or record.id == case.record.id
        or ((bundle := _readable_bundle(store, record)) and override_for(bundle, overrides))
    ]
    return tuple(dict.fromkeys(concerned))


def _readable_bundle(store: "Store", record: DecisionRecord) -> EvidenceBundle | None:
    with suppress(DamagedRecordError):  # the queue reports it
        return stored_bundle(store, record)
    return None


def _require_open(store: "Store", case: ReviewCase) -> None:
    """Raise `CanonError` if the case failed, or if rules or an override decided it."""
    decision = case.decision
    if decision.failure:
        advice = advice_for(decision.cause)
        raise CanonError(f"{case.path}: {decision.state}: {decision.failure}: {advice}")
    if case.proposes_only_date or override_removed(case, overrides_near(store, case)):
        return
    if decision.state is State.DECIDED and decision.adjudication is None:
        by = "a person's override" if decision.decided_by == "override" else "the rules"
        raise CanonError(f"{case.path}: decided by {by}; `canon override set` decides otherwise")
