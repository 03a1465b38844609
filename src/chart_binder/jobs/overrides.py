"""Record what a person says about a decision: accept, reject, choose or keep, and overrides.

An override applies to every file of its recording. A verdict is kept for all files that wait on
the same evidence, and comes with an override unless the case is left as it is.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
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
from chart_binder.domain.verdict import PERSON_SAYS, OverrideRecord
from chart_binder.domain.vocabulary import (
    MBID,
    RecordingId,
    ReleaseGroupId,
    ReleaseId,
    bare_id,
)
from chart_binder.errors import CanonError, DamagedRecordError
from chart_binder.jobs.decision import State
from chart_binder.jobs.named_records import release_ids, require_home
from chart_binder.jobs.pipeline import override_for
from chart_binder.jobs.review import ReviewCase, date_by_facts, override_removed, same_evidence
from chart_binder.jobs.stored_decisions import read_decision, stored_bundle
from chart_binder.rules.recordings import format_length, sorted_recordings

if TYPE_CHECKING:
    from chart_binder.store import Store
    from chart_binder.store.reviews import SavedVerdicts

DECIDE_AGAIN = "to be decided again"
ACCEPTED = "the model's answer, accepted in review"
CHOSEN = "chosen in review"
_MAX_FILES_NAMED = 3
SAID = "said in review"
_NO_MBID = "{}{!r} is not a MusicBrainz id (a UUID)"


class PersonChoice(msgspec.Struct, frozen=True):
    """What a person says is right of a case; `recording` is which one is meant of several."""

    crg_mbid: str | None = None
    rr_mbid: str | None = None
    first_date: str | None = None
    same_as: str | None = None
    recording_mbid: str | None = None

    def override(self, recording: RecordingId, reason: str) -> OverrideRecord:
        """Return the override that says so from now on."""
        return OverrideRecord(
            recording,
            ReleaseGroupId(bare_id(self.crg_mbid)) if self.crg_mbid else None,
            ReleaseId(bare_id(self.rr_mbid)) if self.rr_mbid else None,
            reason,
            now_utc(),
            self.first_date,
            RecordingId(bare_id(self.same_as)) if self.same_as else None,
        )


class VerdictResult(msgspec.Struct, frozen=True):
    """A verdict that was kept, for `files` files; `notes` are remarks for the person."""

    saved: "SavedVerdicts"
    files: int
    notes: tuple[str, ...] = ()


def accept(
    store: "Store",
    case: ReviewCase,
    rules: RulesConfig,
    reason: str = "",
    recording: str | None = None,
    *,
    replaces: bool = False,
    is_dry: bool = False,
) -> VerdictResult:
    """Accept the proposed release group, with the verified facts, as an override.

    If the group is decided and a year is proposed, only the date is kept.
    Raises `CanonError` if nothing can be accepted, if it is unclear which recording is meant, or if
    another override contradicts it and `replaces` is false.
    """
    proposal = case.proposal
    if proposal and proposal.first_date:
        year = PersonChoice(first_date=proposal.first_date, recording_mbid=recording)
        return choose(
            store, case, year, reason or ACCEPTED, rules, replaces=replaces, is_dry=is_dry
        )
    if proposal is None:
        _require_open(store, case)
        raise CanonError(
            f"{case.path}: nothing is proposed, so nothing can be accepted; name what is right:"
            f" canon review choose {case.record.id} C1"
        )
    if proposal.label is None:
        raise CanonError(
            f"{case.path}: the proposed release group {proposal.crg_mbid} is not in the"
            " evidence; if it is right all the same: canon override set ... --crg"
        )
    release = bare_id(proposal.rr_mbid) if proposal.rr_mbid else None
    is_of_it = case.labels.home.get(proposal.rr_mbid or "") == proposal.crg_mbid
    kept = release if is_of_it else None
    named = PersonChoice(proposal.crg_mbid, kept, date_by_facts(case, rules), None, recording)
    override = _new_override(store, case, named, reason or ACCEPTED)
    result = _save(
        store, case, VerdictKind.ACCEPT, reason, override, replaces=replaces, is_dry=is_dry
    )
    if kept == release:
        return result
    note = f"the proposed release {release} is not of that release group: the rules name one"
    return msgspec.structs.replace(result, notes=(note, *result.notes))


def reject(
    store: "Store",
    case: ReviewCase,
    reason: str,
    named: PersonChoice | None = None,
    *,
    replaces: bool = False,
    is_dry: bool = False,
) -> VerdictResult:
    """Reject the proposal; the right release group, if named, becomes an override.

    Raises `CanonError` if it is the proposal itself or not the release's, and as `accept` does.
    """
    crg = named.crg_mbid if named else None
    if named is None or crg is None:
        is_year = case.proposal and case.proposal.first_date  # the decision stands
        kind = VerdictKind.KEEP if is_year else VerdictKind.REJECT
        return _save(store, case, kind, reason, is_dry=is_dry)
    says_more = named.rr_mbid or named.first_date or named.same_as
    if case.proposal and bare_id(case.proposal.crg_mbid) == bare_id(crg) and not says_more:
        raise CanonError(
            f"{case.path}: that is what is proposed: canon review accept {case.record.id}"
        )
    override = _new_override(store, case, named, reason)
    if case.bundle:
        require_home(case.bundle, crg, named.rr_mbid)
    kept = _save(
        store, case, VerdictKind.REJECT, reason, override, replaces=replaces, is_dry=is_dry
    )
    return msgspec.structs.replace(kept, notes=(*kept.notes, DECIDE_AGAIN))


def keep(
    store: "Store", case: ReviewCase, reason: str = "", *, is_dry: bool = False
) -> VerdictResult:
    """Leave an open case as it is until it is decided otherwise. Raises `CanonError`."""
    return _save(store, case, VerdictKind.KEEP, reason, is_dry=is_dry)


def choose(
    store: "Store",
    case: ReviewCase,
    named: PersonChoice,
    reason: str,
    rules: RulesConfig,
    *,
    replaces: bool = False,
    is_dry: bool = False,
) -> VerdictResult:
    """Keep what a person says is right: a date or a recording alone leaves the group as it is.

    Naming the proposed release group alone accepts the proposal.
    """
    crg = named.crg_mbid
    if crg is None:
        override = _new_override(store, case, named, reason or SAID)
        result = _save(
            store, case, VerdictKind.KEEP, reason, override, replaces=replaces, is_dry=is_dry
        )
        return msgspec.structs.replace(result, notes=(*result.notes, DECIDE_AGAIN))
    is_proposed = case.proposal and bare_id(case.proposal.crg_mbid) == bare_id(crg)
    if is_proposed and not (named.rr_mbid or named.first_date or named.same_as):
        return accept(
            store, case, rules, reason, named.recording_mbid, replaces=replaces, is_dry=is_dry
        )
    return reject(store, case, reason or CHOSEN, named, replaces=replaces, is_dry=is_dry)


class OverrideEffect(msgspec.Struct, frozen=True):
    """The decided files that an override applies to, and the evidence of one of them."""

    files: tuple[bytes, ...] = ()
    bundle: EvidenceBundle | None = None


def override_effect(store: "Store", override: OverrideRecord) -> OverrideEffect:
    """Return the files that an override applies to, with evidence that can be read."""
    decisions = store.verdicts.reached_by(override)
    files = tuple(dict.fromkeys(each.path for each in decisions))
    found = (_readable_bundle(store, each) for each in reversed(decisions))
    return OverrideEffect(files, next(filter(None, found), None))


def decisions_by_override(store: "Store", override: OverrideRecord) -> tuple[DecisionRecord, ...]:
    """Return the latest decisions that follow an override. Raises `StoreError`."""
    reached = store.verdicts.reached_by(override)
    return tuple(
        each
        for each in reached
        if each.decided_by == "override" or follows(each, override.set_at_utc)
    )


def to_decide_again(store: "Store", override: OverrideRecord) -> Iterator[str]:
    """Yield a remark on the files whose decisions do not say what a new override says."""
    says_more = override.first_date or override.same_as
    reached = store.verdicts.reached_by(override)
    named = list_files(one for one in reached if says_more or one.crg_mbid != override.crg_mbid)
    if named:
        yield f"{DECIDE_AGAIN}: {named}"


def follows(kept: DecisionRecord, set_at_utc: str) -> bool:
    """Return whether a decision follows the override that was set then."""
    with suppress(DamagedRecordError):
        return read_decision(kept).overruled_at == set_at_utc
    return False


def list_files(kept: Iterable[DecisionRecord]) -> str:
    """Return the files of decisions as text, the first few by name."""
    paths = [each.path.decode("utf-8", "replace") for each in kept]
    named, more = ", ".join(paths[:_MAX_FILES_NAMED]), len(paths) - _MAX_FILES_NAMED
    return f"{named} and {more} more" if more > 0 else named


def recording_meant(bundle: EvidenceBundle) -> RecordingId:
    """Return the one recording that evidence leads to, or raise `CanonError` with the choice."""
    kept = [one for one in sorted_recordings(bundle).possible if not one.is_sibling]
    return _only_recording(kept, "by its id")


def unknown_ids(bundle: EvidenceBundle, override: OverrideRecord) -> Iterator[str]:
    """Yield a remark for each id of an override that evidence does not have."""
    crg, rr = bare_id(override.crg_mbid or ""), bare_id(override.rr_mbid or "")
    carrying = [group for group in bundle.groups if bare_id(group.mb_rg_id) == crg]
    if crg and not carrying:
        advice = "" if rr else "; --rr names a release of it, if you know one"
        yield f"release group {crg} is not in the evidence: kept all the same{advice}"
    if rr and rr not in release_ids(carrying):
        yield f"release {rr} is not in the evidence: kept all the same"


def _new_override(
    store: "Store", case: ReviewCase, named: PersonChoice, reason: str
) -> OverrideRecord:
    """Return the override for a verdict on an open case. Raises `CanonError`."""
    _require_open(store, case)
    crg = bare_id(named.crg_mbid) if named.crg_mbid else None
    override = named.override(_recording_of(case, crg, named.recording_mbid), reason)
    for mbid in filter(None, (override.crg_mbid, override.rr_mbid, override.same_as)):
        if not MBID.fullmatch(mbid):
            raise CanonError(_NO_MBID.format(f"{case.path}: ", mbid))
    return override.amending(store.overrides.all().get(override.recording_mbid))


def _recording_of(case: ReviewCase, wanted: str | None, named: str | None) -> RecordingId:
    """Return the recording named, else the only one on the group, or raise `CanonError`."""
    recordings = sorted_recordings(case.bundle).possible if case.bundle else ()
    kept = [one for one in recordings if one.because != PERSON_SAYS]
    carrying = [one for one in kept if any(bare_id(each.mb_rg_id) == wanted for each in one.groups)]
    if named is None:
        if wanted is None:
            carrying = [one for one in kept if not one.is_sibling]
        return _only_recording(carrying or kept, "with --recording", f"{case.path}: ")
    ids = [bare_id(one.mb_recording_id) for one in kept]
    if bare_id(named) not in ids:
        problem = f"recording {named} cannot be the file's; allowed: {', '.join(ids)}"
        raise CanonError(f"{case.path}: {problem}")
    found = [one for one in kept if bare_id(one.mb_recording_id) == bare_id(named)][:1]
    return _only_recording(found, "", f"{case.path}: ")


def _only_recording(found: Sequence[RecordingCandidate], how: str, prefix: str = "") -> RecordingId:
    """Return the id of the only recording, or raise `CanonError` that says how to name one."""
    if not found:
        raise CanonError(f"{prefix}the evidence knows no recording: `canon override set` takes ids")
    if len(found) > 1:
        named = ((one.title, one.disambiguation, format_length(one.length_ms)) for one in found)
        listed = "; ".join(
            f"{one.mb_recording_id} ({', '.join(filter(None, names))})"
            for one, names in zip(found, named, strict=True)
        )
        raise CanonError(f"{prefix}several recordings may be meant: name one {how}: {listed}")
    meant = bare_id(found[0].mb_recording_id)
    if not MBID.fullmatch(meant):
        raise CanonError(_NO_MBID.format(prefix, meant))
    return RecordingId(meant)


def _save(
    store: "Store",
    case: ReviewCase,
    kind: VerdictKind,
    reason: str,
    override: OverrideRecord | None = None,
    *,
    replaces: bool = False,
    is_dry: bool = False,
) -> VerdictResult:
    """Keep a verdict with its override; without one, overrides of earlier verdicts are removed."""
    if override is None and case.decision.state not in (State.UNMATCHED, State.UNREADABLE):
        _require_open(store, case)
    before = _overrides_of_verdicts(store, case)
    at_utc, reason = (override.set_at_utc, override.reason) if override else (now_utc(), reason)
    given = [
        VerdictRecord(
            decision_id=each,
            verdict=kind,
            crg_mbid=override.crg_mbid if override else None,
            rr_mbid=override.rr_mbid if override else None,
            reason=reason,
            at_utc=at_utc,
        )
        for each in _decisions_concerned(store, case, before, override)
    ]
    if override:
        notes = [*_replacements(store, case, override, before, replaces=replaces)]
        notes += unknown_ids(case.bundle, override) if case.bundle else ()
    else:
        notes = [*_removals(store, case, before)]
    saved = store.verdicts.save(given, override, before, is_dry=is_dry)
    return VerdictResult(saved, len(given), (*notes,))


def _removals(
    store: "Store", case: ReviewCase, before: Collection[OverrideRecord]
) -> Iterator[str]:
    for gone in before:
        yield (
            f"the override for recording {gone.recording_mbid}, of an earlier verdict, is removed:"
            f" {_override_text(case, gone)}"
        )
        if named := list_files(decisions_by_override(store, gone)):
            yield f"decided by it, so {DECIDE_AGAIN}: {named}"


def _overrides_of_verdicts(store: "Store", case: ReviewCase) -> tuple[OverrideRecord, ...]:
    """Return the overrides of earlier verdicts that were not set by themselves since."""
    given = {(each.at_utc, each.crg_mbid) for each in store.verdicts.history(case.record.id)}
    everything = store.overrides.all().values() if given else ()
    return tuple(each for each in everything if (each.set_at_utc, each.crg_mbid) in given)


def _replacements(
    store: "Store",
    case: ReviewCase,
    new: OverrideRecord,
    before: Collection[OverrideRecord],
    *,
    replaces: bool,
) -> Iterator[str]:
    """Yield which overrides a new one replaces, and for which files, or raise `CanonError`."""
    current = store.overrides.all().get(new.recording_mbid)
    replaced = tuple(before)
    if current is not None and current not in before:
        replaced += (current,)
        if _contradicts(new, current) and not replaces:
            raise CanonError(
                f"{case.path}: a person decided otherwise on its recording:"
                f" {_override_text(case, current)}{_other_files(store, case, current)}; --replace"
                " replaces that for all of them"
            )
    for each in replaced:
        others = _other_files(store, case, each) if _contradicts(new, each) else ""
        yield f"in place of {_override_text(case, each)}{others}"


def _contradicts(new: OverrideRecord, old: OverrideRecord) -> bool:
    """Return whether an override says something else than another one says."""
    pairs = (
        (getattr(old, name), getattr(new, name))
        for name in ("crg_mbid", "rr_mbid", "first_date", "same_as")
    )
    return any(before and before != now for before, now in pairs)


def _other_files(store: "Store", case: ReviewCase, override: OverrideRecord) -> str:
    reached = store.verdicts.reached_by(override)
    named = list_files(each for each in reached if each.path != case.record.path)
    return f", which holds for {named} too" if named else ""


def _override_text(case: ReviewCase, override: OverrideRecord) -> str:
    known = next((one for one in case.labels.titles if bare_id(one) == override.crg_mbid), None)
    named = [case.labels.name_of(known)] if known else []
    if override.crg_mbid and not known:
        named = [f"release group {override.crg_mbid}"]
    named += [f"first released {override.first_date}"] if override.first_date else []
    named += [f"the same as recording {override.same_as}"] if override.same_as else []
    why = f" ({override.reason})" if override.reason else ""
    return f"{', '.join(named)}, said {local_time(override.set_at_utc)}{why}"


def _decisions_concerned(
    store: "Store",
    case: ReviewCase,
    before: Collection[OverrideRecord],
    override: OverrideRecord | None = None,
) -> tuple[str, ...]:
    """Return the ids of decisions on the same evidence that wait or share an earlier verdict.

    Of an override only those whose file may hold its recording: lengths tell them apart.
    """
    overrides: dict[str, OverrideRecord] = {override.recording_mbid: override} if override else {}
    same = []
    for verdict in (each for one in before for each in store.verdicts.given_with(one)):
        with suppress(DamagedRecordError):  # it waits no more, and is reported where it is named
            found = store.decisions.by_id(verdict.decision_id)
            if found and found.evidence_hash == case.record.evidence_hash:
                same.append(found)
    reached = [
        each.id
        for each in (*same_evidence(store, case.record), *same)
        if override is None
        or each.id == case.record.id
        or ((bundle := _readable_bundle(store, each)) and override_for(bundle, overrides))
    ]
    return tuple(dict.fromkeys(reached))


def _readable_bundle(store: "Store", kept: DecisionRecord) -> EvidenceBundle | None:
    try:
        return stored_bundle(store, kept)
    except DamagedRecordError:  # the queue reports it
        return None


def _require_open(store: "Store", case: ReviewCase) -> None:
    """Raise `CanonError` for errors, and for what rules or an override decided."""
    decision = case.decision
    if decision.failure:
        raise CanonError(f"{case.path}: {decision.state}: {decision.failure}")
    if case.is_year or override_removed(case, store.overrides.all()):
        return
    if decision.state is State.DECIDED and decision.adjudication is None:
        by = "a person's override" if decision.decided_by == "override" else "the rules"
        raise CanonError(f"{case.path}: decided by {by}; `canon override set` decides otherwise")
