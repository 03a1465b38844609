"""Record what a person says about a decision: accept, reject, choose or keep, and overrides.

An override applies to every file of its recording. A verdict is kept for all files that wait on
the same evidence, and comes with an override unless the case is left as it is.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, ReleaseGroup
from chart_binder.domain.records import (
    DecisionRecord,
    VerdictKind,
    VerdictRecord,
    local_time,
    now_utc,
)
from chart_binder.domain.remarks import set_off
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import (
    MBID,
    EntityKind,
    RecordingId,
    ReleaseGroupId,
    ReleaseId,
    bare_id,
    spaced_words,
)
from chart_binder.errors import CanonError, DamagedRecordError, LookupFailedError
from chart_binder.jobs.decide import State, override_for, recordings_meant
from chart_binder.jobs.review import ReviewCase, override_removed, same_evidence
from chart_binder.jobs.stored_decisions import stored_bundle
from chart_binder.rules.names import is_named, is_various
from chart_binder.rules.recordings import format_length, sorted_recordings

if TYPE_CHECKING:
    from chart_binder.store import Store
    from chart_binder.store.reviews import SavedVerdicts

DECIDE_AGAIN = "to be decided again: canon decide, or canon batch"
ACCEPTED = "the model's answer, accepted in review"
CHOSEN = "chosen in review"
_MAX_FILES_NAMED = 3
_NO_MBID = "{}{!r} is no MusicBrainz id (a UUID)"
_UNCHECKED = "whether {} was not checked: {}"


class VerdictResult(msgspec.Struct, frozen=True):
    """A verdict that was kept, for `files` files; `notes` are remarks for the person."""

    saved: "SavedVerdicts"
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
    """Accept the proposed release group as an override for the recording.

    Raises `CanonError` if nothing can be accepted, if it is unclear which recording is meant, or if
    another override contradicts it and `replaces` is false.
    """
    proposal = case.proposal
    if proposal is None:
        _require_open(store, case)
        raise CanonError(
            f"{case.path}: nothing is proposed, so nothing can be accepted; name what is right:"
            f" canon review reject {case.kept.id} --crg C1 --reason ..."
        )
    if proposal.label is None:
        raise CanonError(
            f"{case.path}: the proposed release group {proposal.crg_mbid} is not in the"
            " evidence; if it is right all the same: canon override set ... --crg"
        )
    release = bare_id(proposal.rr_mbid) if proposal.rr_mbid else None
    is_of_it = case.labels.home.get(proposal.rr_mbid or "") == proposal.crg_mbid
    kept = release if is_of_it else None
    override = _new_override(store, case, proposal.crg_mbid, kept, reason or ACCEPTED, recording)
    result = _save(store, case, VerdictKind.ACCEPT, reason, override, replaces=replaces)
    if kept == release:
        return result
    note = f"the proposed release {release} is not of that release group: the rules name one"
    return msgspec.structs.replace(result, notes=(note, *result.notes))


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
    """Reject the proposal; the right release group, if named, becomes an override.

    Raises `CanonError` if `crg` is the proposal itself or not the release's, and as `accept` does.
    """
    if crg is None:
        return _save(store, case, VerdictKind.REJECT, reason)
    if case.proposal and bare_id(case.proposal.crg_mbid) == bare_id(crg) and not rr:
        raise CanonError(
            f"{case.path}: that is what is proposed: canon review accept {case.kept.id}"
        )
    override = _new_override(store, case, crg, rr and bare_id(rr), reason, recording)
    if case.bundle:
        require_home(case.bundle, crg, rr)
    kept = _save(store, case, VerdictKind.REJECT, reason, override, replaces=replaces)
    return msgspec.structs.replace(kept, notes=(*kept.notes, DECIDE_AGAIN))


def keep(store: "Store", case: ReviewCase, reason: str = "") -> VerdictResult:
    """Leave an open case as it is until it is decided otherwise. Raises `CanonError`."""
    return _save(store, case, VerdictKind.KEEP, reason)


def choose(
    store: "Store",
    case: ReviewCase,
    crg: str,
    reason: str,
    rr: str | None = None,
    recording: str | None = None,
    *,
    replaces: bool = False,
) -> VerdictResult:
    """Accept the proposal if `crg` is the proposed one, else reject it for `crg` or `rr`."""
    is_proposed = case.proposal and bare_id(case.proposal.crg_mbid) == bare_id(crg)
    if is_proposed and rr is None:
        return accept(store, case, reason, recording, replaces=replaces)
    return reject(store, case, reason or CHOSEN, crg, rr, recording, replaces=replaces)


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
    """Return the latest decisions that an override made. Raises `StoreError`."""
    reached = store.verdicts.reached_by(override)
    return tuple(each for each in reached if each.decided_by == "override")


def list_files(kept: Iterable[DecisionRecord]) -> str:
    """Return the files of decisions as text, the first few by name."""
    paths = [each.path.decode("utf-8", "replace") for each in kept]
    named, more = ", ".join(paths[:_MAX_FILES_NAMED]), len(paths) - _MAX_FILES_NAMED
    return f"{named} and {more} more" if more > 0 else named


def recording_meant(bundle: EvidenceBundle) -> RecordingId:
    """Return the one recording that evidence leads to, or raise `CanonError` with the choice."""
    kept = [one for one in sorted_recordings(bundle).kept if not one.is_sibling]
    return _only_recording(kept, "by its id")


GroupLookup = Callable[[ReleaseGroupId], ReleaseGroup | None]
HomeLookup = Callable[[ReleaseId], ReleaseGroup | None]


def require_home(
    bundle: EvidenceBundle, crg: str, rr: str | None, look_up: HomeLookup | None = None
) -> Sequence[str]:
    """Check that a release is of a group, and return a remark if that is unknown.

    Raises `CanonError` if it is only in other groups.
    """
    if rr is None:
        return ()
    release, group = bare_id(rr), bare_id(crg)
    groups = bundle.groups
    homes = [one for one in groups if release in _release_ids([one])]
    if not homes and look_up:
        try:
            home = look_up(ReleaseId(release))
        except LookupFailedError as error:
            return [_UNCHECKED.format("the release is of that release group", error)]
        homes = [home] if home else []
    titles = {bare_id(one.mb_rg_id): f" {one.title!r}" for one in (*groups, *homes) if one.title}
    found = [bare_id(one.mb_rg_id) for one in homes]
    if found and group not in found:
        raise CanonError(
            f"release {release} is of release group {found[0]}{titles.get(found[0], '')}, not of"
            f" {group}{titles.get(group, '')}: name the two that go together, or no release, and"
            f" the rules choose one{'; --force keeps it all the same' if look_up else ''}"
        )
    return ()


def require_related(bundle: EvidenceBundle, crg: str, look_up: GroupLookup) -> Iterator[str]:
    """Check that a release group has to do with a recording; yield a remark if that is unknown.

    Artist or title must fit, unless it is a candidate or by various artists. Raises `CanonError`.
    """
    groups = {bare_id(group.mb_rg_id): group for group in bundle.groups}
    if bare_id(crg) in groups:
        return
    try:
        found = look_up(ReleaseGroupId(crg))
    except LookupFailedError as error:
        yield _UNCHECKED.format("it has to do with the recording", error)
        return
    if found is None:
        raise CanonError(
            f"MusicBrainz knows no release group {crg}: check the id; --force keeps it all the same"
        )
    tags = bundle.tags
    artists = filter(None, (bundle.performer.name, tags.get("artist"), tags.get("album_artist")))
    titles = (bundle.recording_title, tags.get("album"), *(one.title for one in groups.values()))
    if (
        bare_id(found.mb_rg_id) not in groups
        and not is_various(found, ())
        and is_named(artists, found, ()) is False
        and spaced_words(found.title or "") not in map(spaced_words, filter(None, titles))
    ):
        raise CanonError(
            f"the release group {found.title!r} by {found.artist_credit!r} ({crg}) has nothing to"
            f" do with the recording {bundle.name!r}: neither artist nor title fits, and"
            " MusicBrainz does not list the recording on it; check the id, or keep it all the same"
            " with --force"
        )


CurrentId = Callable[[EntityKind, str], str]
"""Returns the id under which MusicBrainz has a record; raises `LookupFailedError`."""


def current_ids(
    named: Mapping[EntityKind, str], bundle: EvidenceBundle | None, current_id: CurrentId | None
) -> tuple[dict[EntityKind, str], tuple[str, ...]]:
    """Return the ids that MusicBrainz has now, with a note on each that was merged into another.

    Ids in the evidence are not looked up. All ids stay unchanged without `current_id`, or if a
    look-up fails, which a note says.
    """
    in_evidence = set(map(bare_id, bundle.listed.ids)) if bundle else set()
    current = {**named}
    try:
        for kind, mbid in named.items():
            if current_id and MBID.fullmatch(mbid) and bare_id(mbid) not in in_evidence:
                current[kind] = current_id(kind, mbid)
    except LookupFailedError as error:
        return {**named}, (_UNCHECKED.format("an id was merged into another", error),)
    merged = ((kind, mbid) for kind, mbid in named.items() if current[kind] != mbid)
    notes = (f"{kind.replace('-', ' ')} {mbid} is now {current[kind]}" for kind, mbid in merged)
    return current, (*notes,)


def with_current_ids(
    override: OverrideRecord, bundle: EvidenceBundle | None, current_id: CurrentId | None
) -> tuple[OverrideRecord, tuple[str, ...]]:
    """Return an override under the ids that MusicBrainz has now, with notes as `current_ids`."""
    named: dict[EntityKind, str] = {
        "recording": override.recording_mbid,
        "release-group": override.crg_mbid,
    }
    if override.rr_mbid:
        named["release"] = override.rr_mbid
    ids, notes = current_ids(named, bundle, current_id)
    current = msgspec.structs.replace(
        override,
        recording_mbid=RecordingId(ids["recording"]),
        crg_mbid=ReleaseGroupId(ids["release-group"]),
        rr_mbid=ReleaseId(ids["release"]) if "release" in ids else None,
    )
    return current, notes


Songs: TypeAlias = frozenset[frozenset[str]]
"""Titles, each as its words without remarks."""


def songs_in(bundle: EvidenceBundle) -> Songs:
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
    songs_of: Callable[[OverrideRecord], Songs],
    current_id: CurrentId,
    known_id: CurrentId,
) -> OverrideRecord | None:
    """Return the newest override for a recording that was merged with one that a file may have.

    Looked up are overrides whose release group or song the evidence has, but not their recording;
    of an unknown song all are. `known_id` may be older than `current_id`: it tells whether it is
    the evidence that has an old id. Raises `LookupFailedError`.
    """
    in_evidence, songs = set(map(bare_id, bundle.listed.ids)), songs_in(bundle)
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


def unknown_ids(bundle: EvidenceBundle, override: OverrideRecord) -> Iterator[str]:
    """Yield a remark for each id of an override that evidence does not have."""
    crg, rr = bare_id(override.crg_mbid), bare_id(override.rr_mbid or "")
    carrying = [group for group in bundle.groups if bare_id(group.mb_rg_id) == crg]
    if not carrying:
        advice = "" if rr else "; --rr names a release of it, if you know one"
        yield f"release group {crg} is not in the evidence: kept all the same{advice}"
    if rr and rr not in _release_ids(carrying):
        yield f"release {rr} is not in the evidence: kept all the same"


def _new_override(
    store: "Store", case: ReviewCase, crg: str, rr: str | None, reason: str, recording: str | None
) -> OverrideRecord:
    """Return the override for a verdict on an open case. Raises `CanonError`."""
    _require_open(store, case)
    override = OverrideRecord(
        _recording_of(case, crg, recording),
        ReleaseGroupId(bare_id(crg)),
        ReleaseId(rr) if rr else None,
        reason,
        now_utc(),
    )
    for named in filter(None, (override.crg_mbid, override.rr_mbid)):
        if not MBID.fullmatch(named):
            raise CanonError(_NO_MBID.format(f"{case.path}: ", named))
    return override


def _recording_of(case: ReviewCase, crg: str, named: str | None) -> RecordingId:
    """Return the recording named, else the only one on the group, or raise `CanonError`."""
    kept = sorted_recordings(case.bundle).kept if case.bundle else ()
    wanted = bare_id(crg)
    carrying = [one for one in kept if any(bare_id(each.mb_rg_id) == wanted for each in one.groups)]
    if named is None:
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
    return VerdictResult(store.verdicts.save(given, override, before), len(given), (*notes,))


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
    given = {(each.at_utc, each.crg_mbid) for each in store.verdicts.history(case.kept.id)}
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
    releases = {each.rr_mbid for each in (new, old) if each.rr_mbid}
    return new.crg_mbid != old.crg_mbid or len(releases) > 1


def _other_files(store: "Store", case: ReviewCase, override: OverrideRecord) -> str:
    reached = store.verdicts.reached_by(override)
    named = list_files(each for each in reached if each.path != case.kept.path)
    return f", which holds for {named} too" if named else ""


def _override_text(case: ReviewCase, override: OverrideRecord) -> str:
    known = next((one for one in case.labels.titles if bare_id(one) == override.crg_mbid), None)
    named = case.labels.name_of(known) if known else f"release group {override.crg_mbid}"
    return f"{named}, said {local_time(override.set_at_utc)} ({override.reason})"


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
            if found and found.evidence_hash == case.kept.evidence_hash:
                same.append(found)
    reached = [
        each.id
        for each in (*same_evidence(store, case.kept), *same)
        if override is None
        or each.id == case.kept.id
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
    if override_removed(case, store.overrides.all()):
        return
    if decision.state is State.DECIDED and decision.adjudication is None:
        by = "a person's override" if decision.decided_by == "override" else "the rules"
        raise CanonError(f"{case.path}: decided by {by}; `canon override set` decides otherwise")


def _release_ids(groups: Sequence[ReleaseGroup]) -> set[str]:
    return {bare_id(release.mb_release_id) for group in groups for release in group.editions}
