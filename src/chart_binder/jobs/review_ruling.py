"""A person's ruling on a case is kept for every file that waits on the same evidence."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from chart_binder.domain.evidence import RecordingCandidate
from chart_binder.domain.records import KeptDecision, KeptVerdict, VerdictKind, now_utc
from chart_binder.domain.verdict import KeptOverride
from chart_binder.domain.vocabulary import MBID, RecordingId, ReleaseGroupId, ReleaseId, bare_id
from chart_binder.errors import CanonError, DamagedRecordError
from chart_binder.jobs.decide import State
from chart_binder.jobs.overrides import override_for, unknown_ids
from chart_binder.jobs.review import (
    DECIDE_AGAIN,
    ReviewCase,
    decisions_by_override,
    describe_override,
    list_files,
    override_removed,
    own_overrides,
    replaced_overrides,
    same_evidence,
)
from chart_binder.jobs.stored_decisions import stored_bundle
from chart_binder.rules.recordings import format_length, sort_recordings

if TYPE_CHECKING:
    from chart_binder.store.reviews import SavedVerdicts
    from chart_binder.store.store import Store


_FEW = 6


def possible_recordings(case: ReviewCase, group: str) -> list[RecordingCandidate]:
    """Return the recordings that may be meant where a release group is right."""
    kept = sort_recordings(case.bundle).kept if case.bundle else ()
    wanted = bare_id(group)
    carrying = [one for one in kept if any(bare_id(each.mb_rg_id) == wanted for each in one.groups)]
    return carrying or list(kept)


def recording_to_override(case: ReviewCase, crg: str, named: str | None) -> RecordingId:
    """Return the recording to rule on. Raises `CanonError` that lists them where it is open."""
    found = possible_recordings(case, crg)
    ids = [bare_id(one.mb_recording_id) for one in found]
    if named is not None:
        kept = sort_recordings(case.bundle).kept if case.bundle else ()
        everyone = [bare_id(one.mb_recording_id) for one in kept]
        if bare_id(named) not in everyone:
            allowed = ", ".join(everyone) or "none: the evidence has no recording"
            raise CanonError(
                f"{case.path}: recording {named} cannot be the file's; allowed: {allowed}"
            )
        ids = [bare_id(named)]
    if not ids:
        raise CanonError(f"{case.path}: the evidence has no recording: canon override set"
                         " rules on one by its id")  # fmt: skip
    if len(ids) > 1:
        listed = "; ".join(map(_described, found))
        raise CanonError(
            f"{case.path}: several recordings may be meant: name one with --recording: {listed}"
        )
    if not MBID.fullmatch(ids[0]):
        raise CanonError(
            f"{case.path}: the recording's id is {ids[0]!r}; a MusicBrainz id (a UUID) is required"
        )
    return RecordingId(ids[0])


def require_release_in_group(case: ReviewCase, crg: str, rr: str) -> None:
    """Raise `CanonError` where the evidence has a release, and in another release group."""
    wanted = bare_id(rr)
    homes = [
        (each.label, one)
        for one in case.rows
        for each in one.releases
        if bare_id(each.release) == wanted
    ]
    if not homes or any(bare_id(one.release_group) == bare_id(crg) for _, one in homes):
        return
    label, home = homes[0]
    own = next((one for one in case.rows if bare_id(one.release_group) == bare_id(crg)), None)
    labels = [each.label for each in own.releases] if own else []
    allowed = f"{', '.join(labels[:_FEW])}{' ...' if labels[_FEW:] else ''}, " if labels else ""
    group = f"{own.label} '{own.title}'" if own else f"release group {bare_id(crg)}"
    raise CanonError(
        f"{case.path}: the release {label} is of {home.label} '{home.title}', not of {group};"
        f" allowed: {allowed}a release that the evidence does not have, or none"
    )


def _described(one: RecordingCandidate) -> str:
    more = filter(None, (one.title, one.disambiguation, format_length(one.length_ms)))
    return f"{one.mb_recording_id} ({', '.join(more)})"


ACCEPTED = "the model's answer, accepted in review"


class VerdictResult(msgspec.Struct, frozen=True):
    """What a ruling came to: `files` are ruled on, `notes` is what the person should know."""

    ruling: "SavedVerdicts"
    files: int
    notes: tuple[str, ...] = ()


def accept(
    store: "Store",
    case: ReviewCase,
    reason: str = "",
    recording: str | None = None,
    *,
    replaces: bool = False,
) -> VerdictResult:
    """Take the proposal: an override for the recording, so that all that decides keeps to it.

    Raises `CanonError` where there is no proposal that can be taken, several recordings may be
    meant and `recording` names none, or a person said another of it elsewhere, unless this
    `replaces` that; and `StoreError`.
    """
    proposal = case.proposal
    if proposal is None:
        _require_open(store, case)
        raise CanonError(
            f"{_called(case)}: nothing is proposed, so nothing can be accepted; name what is right:"
            f" canon review reject {case.kept.id} --crg C1 --reason ..."
        )
    if proposal.label is None:
        raise CanonError(
            f"{_called(case)}: the proposed release group {proposal.crg_mbid} is not in the"
            " evidence; if it is right all the same: canon override set ... --crg"
        )
    known = bare_id(proposal.rr_mbid) if proposal.rr_mbid else None
    home = known and case.labels.home.get(proposal.rr_mbid or "")
    notes: tuple[str, ...] = ()
    if known and home != proposal.crg_mbid:
        notes = (f"the proposed release {known} is not of that release group: the rules name one",)
        known = None
    kind = VerdictKind.ACCEPT
    words = reason or ACCEPTED
    ruled = _rule(store, case, kind, proposal.crg_mbid, known, words, recording, replaces)
    return msgspec.structs.replace(ruled, notes=(*notes, *ruled.notes))


def reject(
    store: "Store",
    case: ReviewCase,
    reason: str,
    crg: str | None = None,
    rr: str | None = None,
    recording: str | None = None,
    *,
    replaces: bool = False,
) -> VerdictResult:
    """Say that the proposal is wrong; what is right, where it is named, becomes an override.

    Raises `CanonError` for what is proposed itself, for a release that the evidence has in another
    group, and as `accept` does for several recordings or another ruling; and `StoreError`.
    """
    if crg is None:
        return _leave(store, case, VerdictKind.REJECT, reason)
    if case.proposal and bare_id(case.proposal.crg_mbid) == bare_id(crg) and not rr:
        raise CanonError(
            f"{_called(case)}: that is what is proposed: canon review accept {case.kept.id}"
        )
    if rr:
        require_release_in_group(case, crg, rr)
    ruled = _rule(store, case, VerdictKind.REJECT, crg, rr, reason, recording, replaces)
    return msgspec.structs.replace(ruled, notes=(*ruled.notes, DECIDE_AGAIN))


def keep(store: "Store", case: ReviewCase, reason: str = "") -> VerdictResult:
    """Leave a case as it is: it waits no more until it is decided otherwise. Raises `StoreError`.

    Raises `CanonError` where there is nothing to leave.
    """
    return _leave(store, case, VerdictKind.KEEP, reason)


def choose(
    store: "Store", case: ReviewCase, group: str, reason: str, recording: str | None = None
) -> VerdictResult:
    """Take a candidate: the proposal, or another in its place. Raises as those do."""
    if case.proposal and bare_id(case.proposal.crg_mbid) == bare_id(group):
        return accept(store, case, recording=recording)
    return reject(store, case, reason, group, recording=recording)


def _leave(store: "Store", case: ReviewCase, kind: VerdictKind, reason: str) -> VerdictResult:
    _require_open(store, case)
    before = own_overrides(store, case)
    at = now_utc()
    given = [
        KeptVerdict(decision_id=each, verdict=kind, reason=reason, at_utc=at)
        for each in _with_those(store, case, before)
    ]
    notes = tuple(note for each in before for note in _without(store, case, each))
    return VerdictResult(store.verdicts.rule(given, without=before), len(given), notes)


def _without(store: "Store", case: ReviewCase, gone: KeptOverride) -> Iterator[str]:
    yield (
        f"the override for recording {gone.recording_mbid}, of an earlier verdict, is removed:"
        f" {describe_override(case, gone)}"
    )
    if named := list_files(decisions_by_override(store, gone)):
        yield f"decided by it, so {DECIDE_AGAIN}: {named}"


def _rule(
    store: "Store",
    case: ReviewCase,
    kind: VerdictKind,
    crg: str,
    rr: str | None,
    reason: str,
    recording: str | None,
    replaces: bool,  # noqa: FBT001 - passed on
) -> VerdictResult:
    _require_open(store, case)
    override = KeptOverride(
        recording_to_override(case, crg, recording),
        ReleaseGroupId(bare_id(crg)),
        ReleaseId(bare_id(rr)) if rr else None,
        reason,
        now_utc(),
    )
    for named in filter(None, (override.crg_mbid, override.rr_mbid)):
        if not MBID.fullmatch(named):
            raise CanonError(f"{_called(case)}: {named!r} is no MusicBrainz id (a UUID)")
    before = own_overrides(store, case)
    given = [
        KeptVerdict(
            decision_id=each, verdict=kind, crg_mbid=override.crg_mbid,
            rr_mbid=override.rr_mbid, reason=reason, at_utc=override.set_at_utc,
        )
        for each in _with_those(store, case, before, override)
    ]  # fmt: skip
    notes = (
        *replaced_overrides(store, case, override, before, replaces=replaces),
        *(unknown_ids(case.bundle, override) if case.bundle else ()),
    )
    return VerdictResult(store.verdicts.rule(given, override, before), len(given), notes)


def _with_those(
    store: "Store",
    case: ReviewCase,
    before: Collection[KeptOverride],
    override: KeptOverride | None = None,
) -> tuple[str, ...]:
    """Return the decisions to rule on: on the same evidence, that wait or were ruled on with it.

    An override settles those alone whose file may hold its recording: a length may mean another.
    """
    ruled: dict[str, KeptOverride] = {override.recording_mbid: override} if override else {}
    together = [each for one in before for each in store.verdicts.given_with(one)]
    again = [_readable(store, each.decision_id) for each in together]
    same = [each for each in again if each and each.evidence_hash == case.kept.evidence_hash]
    reached = [
        each.id
        for each in (*same_evidence(store, case.kept), *same)
        if override is None or each.id == case.kept.id or _is_settled(store, each, ruled)
    ]
    return tuple(dict.fromkeys(reached))


def _readable(store: "Store", decision: str) -> KeptDecision | None:
    try:
        return store.decisions.by_id(decision)
    except DamagedRecordError:  # it waits no more, and is told where it is named
        return None


def _is_settled(store: "Store", kept: KeptDecision, ruled: Mapping[str, KeptOverride]) -> bool:
    try:
        bundle = stored_bundle(store, kept)
    except DamagedRecordError:  # it stays in the queue, which says so
        return False
    return bool(bundle and override_for(bundle, ruled))


def _require_open(store: "Store", case: ReviewCase) -> None:
    """Raise `CanonError` for what nobody has to rule on: rules, or a person, decided it."""
    decision = case.decision
    if decision.state is State.ERROR:
        raise CanonError(f"{_called(case)}: no decision was come to: {decision.error}")
    if override_removed(case, store.overrides.all()):
        return
    if decision.state is State.DECIDED and decision.adjudication is None:
        by = "a person's override" if decision.decided_by == "override" else "the rules"
        raise CanonError(
            f"{_called(case)}: decided by {by}; to rule against it: canon override set"
        )


def _called(case: ReviewCase) -> str:
    return str(case.path)
