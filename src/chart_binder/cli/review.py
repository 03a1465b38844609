"""`canon review` and `canon override`: what a person has to look at, and their verdict."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from chart_binder import wiring
from chart_binder.cli import options, output, review_text
from chart_binder.cli.decide import read_bundle_file
from chart_binder.cli.decision_text import entity_names, musicbrainz_page
from chart_binder.cli.progress import event_lines
from chart_binder.cli.review_walk import Walk
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.records import is_new_id, local_time, now_utc
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import (
    MBID,
    EntityKind,
    RecordingId,
    ReleaseGroupId,
    ReleaseId,
    bare_id,
)
from chart_binder.errors import (
    CanonError,
    LookupFailedError,
    NothingFoundError,
    UsageError,
    counted,
)
from chart_binder.files import path_text
from chart_binder.jobs import overrides
from chart_binder.jobs.decide import WAITING_STATES, State, override_for, read_states
from chart_binder.jobs.review import (
    OPEN_STATES,
    ReviewCase,
    find_case,
    is_overridden,
    override_removed,
    queue_by_album,
    read_case_transcript,
    review_queue,
    unwritten_files,
)
from chart_binder.jobs.stored_decisions import path_from_bytes, stored_bundle

if TYPE_CHECKING:
    from chart_binder.store import Store

_LISTED, _LABELS_NAMED = 50, 6
_INTERACTIVE = "--interactive"
_STATUS = (
    "Exit status: 0 the verdict is kept, 1 it cannot be, as the message says, 2 bad usage or"
    " configuration."
)


class _WalkIfInteractive(options.Group):
    """Takes `canon review --interactive [PATH...]` for `canon review walk [PATH...]`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        others = [each for each in args if each != _INTERACTIVE]
        is_help = {*args} & {"-h", "--help"}
        if _INTERACTIVE in args and not is_help and not {*others[:1]} & {*self.commands}:
            args = ["walk", *others]
        return super().parse_args(ctx, args)


@click.group("review", cls=_WalkIfInteractive)
@click.option(
    _INTERACTIVE, is_flag=True, expose_value=False, help="Walk the queue with single keys."
)
@options.common_options
def review() -> None:
    """List and show what a person has to look at, and keep their verdict.

    The queue is the latest decision of each file that is for review, undecided, unmatched or
    unreadable, as long as nobody reviewed it. Files whose tags were not written are listed behind
    it, by the reason. `canon review --interactive [PATH...]` is short for `canon review walk`.

    Exit status of list, show and walk: 0 nothing waits, 3 something does, 1 an error, 2 bad usage
    or configuration; of a verdict: 0 it is kept.
    """


_PATHS = click.argument("paths", metavar="[PATH]...", nargs=-1, type=options.PATH)
_NAME = click.argument("name", metavar="PATH_OR_DECISION", type=options.PATH)


def _states(ctx: click.Context, param: click.Parameter, text: str) -> frozenset[str]:
    del ctx, param
    try:
        return read_states(text, WAITING_STATES)
    except ValueError as error:
        raise UsageError(f"--state: found {path_text(text)!r}; {error}") from error


def _reason(ctx: click.Context, param: click.Parameter, text: str) -> str:
    del ctx
    words = output.one_line(text)
    if param.required and not words:
        raise UsageError("--reason is blank: say in a few words what is wrong")
    return words


_STATES = options.option(
    "--state",
    "Which: one of these, or several with commas.",
    into="states",
    default=",".join(WAITING_STATES),
    show_default=True,
    callback=_states,
)
FORCE = options.flag(
    "--force", "Also where the group seems to be of other music, or the release of another group."
)
_REASON = partial(options.option, "--reason", callback=_reason)
_SHOWN_REASON = _REASON("Why, in your words: shown with the decision.", default="")
_RR = options.option("--rr", "The release: a label (C2.R1), an id or an address.")


_override_options = options.together(
    options.option("--recording ID", "Which recording is meant, where several may be."),
    options.flag(
        "--replace",
        "replaces",
        "Also where a person decided otherwise on the recording, by another file or id.",
    ),
)


@review.command("list")
@_PATHS
@_STATES
@options.option(
    "--limit N", "At most; 0 for all.", type=click.IntRange(0), default=_LISTED, show_default=True
)
@options.pass_session
def list_queue(
    session: options.Session, paths: tuple[str, ...], states: frozenset[str], limit: int
) -> int:
    """List what waits, all or of the files and folders named, album by album.

    Files that share their evidence are one entry, and one verdict is on all of them.

    Exit status: 0 nothing waits, 3 something does, 1 an error, 2 bad usage or configuration.
    """
    shown, left = 0, 0
    skipped = output.SkippedRecords()
    kept, named = session.overrides, list(map(Path, paths))
    with session.open_store() as store:
        queue = review_queue(store, kept, states, named, skipped.decision)
        for album in queue_by_album(islice(queue, limit or None)):
            if not session.as_json:
                cases = [queued.case for queued in album]
                output.print_lines(chain([""] * bool(shown), review_text.album_cases_lines(cases)))
            for queued in album if session.as_json else ():
                output.print_json(
                    output.file_object(queued.case.path, review_text.queued_object(queued.case))
                )
            shown, left = shown + len(album), album[-1].left - 1
        is_whole = states == set(OPEN_STATES)
        unwritten = _show_unwritten(session, store, named) if is_whole else 0
    more = f", {left} more: --limit 0 lists all" if left and shown == limit else ""
    not_written = f"; {counted(unwritten, 'file')} not written" if unwritten else ""
    output.print_notes([f"{shown or 'nothing'} to look at{more}{not_written}"])
    return skipped.status or (3 if shown or unwritten else 0)


def _show_unwritten(session: options.Session, store: "Store", named: Sequence[Path]) -> int:
    count = 0
    for why, files in unwritten_files(store, named):
        count += len(files)
        if not session.as_json:
            output.print_lines(chain([""], review_text.unwritten_lines(why, files)))
            continue
        for one in files:
            fields = {"decision_id": one.decision_id, "state": "not written", "why": why,
                      "at_utc": one.at_utc}  # fmt: skip
            output.print_json(output.file_object(path_from_bytes(one.path), fields))
    return count


@review.command("show")
@_NAME
@options.flag("--transcript", "Print the model's run as it is kept, too.")
@options.pass_session
def show(session: options.Session, name: str, transcript: bool) -> int:
    """Show one case: the candidates side by side, the open question, what is proposed, and why.

    Of a file that is decided it only says so. With -v every release of each candidate is listed.

    Exit status: 0 nobody has to look at it, 3 somebody has, 1 an error (it could not be decided, or
    there is no decision or transcript), 2 bad usage or configuration.
    """
    with session.open_store() as store:
        case = find_case(store, name)
        rules = case.question(session.config.rules)
        events = read_case_transcript(store, case) if transcript else ()
        kept = session.overrides
        has_override = is_overridden(case, kept)
        waits = store.waiting.has(case.kept.id, OPEN_STATES) and not has_override
        lapsed = override_removed(case, kept)
        verdict = None if waits else store.verdicts.on_the_same(case.kept)
    fields = review_text.case_object(case, rules) | {
        "waits": waits,
        "has_lapsed": lapsed,
        "verdict": verdict,
        "transcript": events if transcript else None,
    }
    whole = session.verbosity > 0
    said = None if has_override else rules
    if waits or lapsed or whole or case.decision.state is State.ERROR:
        lines = review_text.case_lines(case, said, lapsed=lapsed, whole=whole)
    else:
        lines = review_text.settled_lines(case, verdict)
    run = chain.from_iterable(map(event_lines, events))
    session.show(output.file_object(case.path, fields), chain(lines, run))
    return 1 if case.decision.state is State.ERROR else 3 if waits else 0


@review.command("accept", epilog=_STATUS)
@_NAME
@_SHOWN_REASON
@_override_options
@options.pass_session
def accept_proposal(session: options.Session, name: str, reason: str, **flags: Any) -> None:
    """Take what is proposed: kept as an override, which `decide`, `batch` and `write` use."""
    _give(session, name, "accepted", overrides.accept, reason, **flags)


@review.command("choose", epilog=_STATUS)
@_NAME
@click.argument("candidate", metavar="CANDIDATE")
@_RR
@_SHOWN_REASON
@_override_options
@FORCE
@options.pass_session
def choose_candidate(
    session: options.Session, name: str, candidate: str, reason: str, **flags: Any
) -> None:
    """Say which candidate is right, the proposed one or another; it becomes an override.

    CANDIDATE is a label of `show` (C2), an id or an address.
    """
    done = f"{candidate} is right"
    _give(session, name, done, overrides.choose, reason, crg=candidate, **flags)


@review.command("reject", epilog=_STATUS)
@_NAME
@_REASON("Why, in your words: kept with the verdict.", required=True)
@options.option("--crg", "What is right: a label of `show` (C2), an id or an address.")
@_RR
@_override_options
@FORCE
@options.pass_session
def reject_proposal(
    session: options.Session, name: str, reason: str, crg: str | None, rr: str | None, **flags: Any
) -> None:
    """Say that what is proposed is wrong; with --crg what is right becomes an override.

    Without, the case only leaves the queue, and is not written.
    """
    if rr and not crg:
        raise UsageError("--rr names a release of what --crg names: give both")
    _give(session, name, "rejected", overrides.reject, reason, crg=crg, rr=rr, **flags)


@review.command("keep", epilog=_STATUS)
@_NAME
@_REASON("Why, in your words.", default="")
@options.pass_session
def keep_open(session: options.Session, name: str, reason: str) -> None:
    """Leave it open: out of the queue until evidence, rules or the model's answer change."""
    _give(session, name, "kept out of the queue", overrides.keep, reason)


_PARAMETERS: Mapping[EntityKind, str] = {
    "recording": "recording",
    "release-group": "crg",
    "release": "rr",
}


def _give(
    session: options.Session,
    name: str,
    done: str,
    give: Callable[..., overrides.VerdictResult],
    reason: str,
    *,
    crg: str | None = None,
    rr: str | None = None,
    recording: str | None = None,
    force: bool = False,
    **flags: bool,
) -> None:
    notes: tuple[str, ...] = ()
    named: dict[EntityKind, str] = {}
    with session.open_store() as store:
        case = find_case(store, name)
        if rr:
            named["release"] = _read_label(case, rr, "release")
        if crg:
            named["release-group"] = _read_label(case, crg, "release-group")
        if recording is not None:
            named["recording"] = options.read_mbid(recording, "recording")
        find = None if force else partial(wiring.current_id, session.config)
        ids, merged = overrides.current_ids(named, case.bundle, find)
        if group := ids.get("release-group"):
            checked = check_ids(session, case.bundle, group, ids.get("release"), force=force)
            notes = (*merged, *checked)
        parameters = {_PARAMETERS[kind]: mbid for kind, mbid in ids.items()}
        ruled = give(store, case, reason=reason, **parameters, **flags)
    ruled = msgspec.structs.replace(ruled, notes=(*notes, *ruled.notes))
    fields = output.file_object(case.path, review_text.ruled_object(case, done, ruled))
    session.show(fields, review_text.ruled_lines(case, done, ruled))


@review.command("walk")
@_PATHS
@_STATES
@options.pass_session
def walk_queue(session: options.Session, paths: tuple[str, ...], states: frozenset[str]) -> int:
    """Walk the queue in the terminal with single keys; leave and come back at any time.

    Every verdict is kept at once.

    Exit status: 0 nothing waits any more, 3 something does, 1 an error, 2 bad usage (also: not a
    terminal), 130 interrupted.
    """
    if session.as_json:
        raise UsageError("walking the queue is for a terminal: take --output text")
    with session.open_store() as store:
        return Walk(store, session.config, states).run(list(map(Path, paths)))


def _read_label(case: ReviewCase, written: str, entity: str) -> str:
    of_entity = {
        label: mbid
        for label, mbid in case.labels.ids.items()
        if ("." in label) == (entity == "release")
    }
    label = written.strip().upper()
    if label in of_entity:
        return of_entity[label]
    more = " ..." if len(of_entity) > _LABELS_NAMED else ""
    some = f"one of {', '.join([*of_entity][:_LABELS_NAMED])}{more}, " if of_entity else ""
    return options.read_mbid(written, entity, or_else=some)


_SUBJECT = click.argument("name", metavar="PATH_OR_ID", type=options.PATH)


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a path or an id leads to: a recording, its evidence, or both."""

    recording: RecordingId | None
    bundle: EvidenceBundle | None
    notes: tuple[str, ...] = ()


@options.group("override")
def override() -> None:
    """Say where a recording belongs, against the rules; `decide` and `explain` keep to it."""


@override.command("set")
@_SUBJECT
@options.option("--crg", "Where it belongs: `canon review show` has the ids.", required=True)
@options.option("--rr", "The release; else the rules choose one of it.")
@_REASON("Why, in your words: shown with the decision.", required=True)
@FORCE
@options.pass_session
def set_override(
    session: options.Session, name: str, crg: str, rr: str | None, reason: str, *, force: bool
) -> None:
    """Say where a recording belongs: named by its id, a file of it, or a decision on one.

    PATH is an audio file, or an evidence bundle (.json). Ids of MusicBrainz may be bare or the
    addresses of pages; that of a decision is shown by `review`, `write` and `drift`.

    A release group that MusicBrainz does not list the recording on, and of which neither artist nor
    title fits, is refused without --force; so is a release that is of another group.

    Exit status: 0 the override is kept; 1 no recording was found, the release is of another group,
    or the group has nothing to do with the recording; 2 what was named is neither a file nor an id.
    """
    group = ReleaseGroupId(options.read_mbid(crg, "release-group"))
    release = ReleaseId(options.read_mbid(rr, "release")) if rr is not None else None
    subject = _decision(session, name) or _look_up(
        session, options.read_path_or_mbid(name), asks=True
    )
    recording = subject.recording or _only_recording(subject, name)
    find = None if force else partial(wiring.current_id, session.config)
    named = OverrideRecord(recording, group, release, reason, now_utc())
    kept, merged = overrides.with_current_ids(named, subject.bundle, find)
    checked = check_ids(session, subject.bundle, kept.crg_mbid, kept.rr_mbid, force=force)
    if subject.bundle:
        overrides.require_home(subject.bundle, kept.crg_mbid, kept.rr_mbid)
    before = session.overrides.get(kept.recording_mbid)
    with session.open_store() as store:
        decisions = store.verdicts.reached_by(kept)
        store.overrides.put(kept)
    others = overrides.list_files(each for each in decisions if each.crg_mbid != kept.crg_mbid)
    notes = (
        *subject.notes,
        *merged,
        *checked,
        *(overrides.unknown_ids(subject.bundle, kept) if subject.bundle else ()),
        *([f"{overrides.DECIDE_AGAIN}: {others}"] if others else ()),
    )
    lines = list(override_lines(kept, overrides.OverrideEffect(bundle=subject.bundle)))
    if before:
        where = musicbrainz_page("release-group", before.crg_mbid)
        lines += output.labelled("in place of", f"{where} ({before.reason})")
    for note in notes:
        lines += output.labelled("note", note)
    session.show(msgspec.to_builtins(kept) | {"in_place_of": before, "notes": notes}, lines)


@override.command("list")
@click.argument("name", metavar="[PATH_OR_ID]", required=False, type=options.PATH)
@options.pass_session
def list_overrides(session: options.Session, name: str | None) -> None:
    """Print every override, the oldest first, or the one that holds for a file or an id.

    Names are those of the evidence in the store; files are those decided that it holds for.

    Exit status: 0, 1 none is kept for what was named, 2 that is neither a file nor an id.
    """
    all_kept = session.overrides
    listed = [*all_kept.values()] if name is None else [_override_named(session, name, all_kept)]
    if not listed:
        if not session.as_json:
            output.print_lines(["no overrides: `canon override set` makes one"])
        return
    listed.sort(key=lambda one: one.set_at_utc)
    with session.open_store() as store:
        for number, kept in enumerate(listed):
            known = overrides.override_effect(store, kept)
            if known.bundle is None:
                bundle = wiring.kept_evidence(session.config, store, kept.recording_mbid)
                known = overrides.OverrideEffect(known.files, bundle)
            groups = known.bundle.groups if known.bundle else ()
            fields = msgspec.to_builtins(kept) | {
                "name": known.bundle.name if known.bundle else None,
                "crg_title": next((x.title for x in groups if x.mb_rg_id == kept.crg_mbid), None),
                "files": [path_text(path) for path in known.files],
            }
            session.show(fields, (*[""] * bool(number), *override_lines(kept, known)))


@override.command("remove")
@_SUBJECT
@options.pass_session
def remove(session: options.Session, name: str) -> None:
    """Take an override back: the rules decide again, by `canon decide` or `canon batch`.

    Exit status: 0, 1 none is kept for what was named, 2 that is neither a file nor an id.
    """
    kept = _override_named(session, name, session.overrides)
    with session.open_store() as store:
        decisions = overrides.decisions_by_override(store, kept)
        store.overrides.remove(kept.recording_mbid)
    files = [path_text(each.path) for each in decisions]
    lines = ["removed:", *override_lines(kept, overrides.OverrideEffect())]
    if decisions:
        lines += output.labelled(
            "note", f"decided by it, so {overrides.DECIDE_AGAIN}: {overrides.list_files(decisions)}"
        )
    session.show(msgspec.to_builtins(kept) | {"to_decide_again": files}, lines)


def check_ids(
    session: options.Session,
    bundle: EvidenceBundle | None,
    crg: str,
    rr: str | None,
    *,
    force: bool,
) -> tuple[str, ...]:
    """Return what could not be checked of a group and release; raise if they do not fit."""
    if force or bundle is None:
        return ()
    related = overrides.require_related(bundle, crg, partial(wiring.look_up_group, session.config))
    look_up = partial(wiring.look_up_home, session.config)
    return (*related, *overrides.require_home(bundle, crg, rr, look_up))


def _override_named(
    session: options.Session, name: str, kept: Mapping[str, OverrideRecord]
) -> OverrideRecord:
    found = kept.get(bare_id(name))  # also an id that is no UUID, as it is listed
    if found is None:
        named = _decision(session, name) or options.read_path_or_mbid(name)
        if isinstance(named, str):
            find = partial(wiring.current_id, session.config)
            (recording,) = overrides.current_ids({"recording": named}, None, find)[0].values()
            found = kept.get(named) or kept.get(recording)
        elif kept:
            subject = named if isinstance(named, _Subject) else _look_up(session, named)
            found = kept.get(subject.recording or "")
            if subject.bundle:
                merged = wiring.MergedOverrides(session.config)
                found = override_for(subject.bundle, kept) or found or merged(subject.bundle, kept)
    if found is None:
        raise CanonError(f"no override is kept for {path_text(name)}; see `canon override list`")
    return found


def _decision(session: options.Session, name: str) -> _Subject | None:
    """Return what a stored decision is about, if it has that id and no file has that name."""
    if not is_new_id(name) or Path(name).exists():
        return None
    with session.open_store() as store:
        kept = store.decisions.by_id(name)
        if kept is None:
            return None
        recording = bare_id(kept.recording_mbid or "")
        known = RecordingId(recording) if MBID.fullmatch(recording) else None
        return _Subject(known, stored_bundle(store, kept))


def _look_up(session: options.Session, named: str | Path, *, asks: bool = False) -> _Subject:
    """Return what an id or a path leads to; if it `asks`, MusicBrainz. Raises `CanonError`."""
    recording = RecordingId(named) if isinstance(named, str) else None
    if not recording and Path(named).suffix.casefold() == ".json":
        return _Subject(None, read_bundle_file(str(named)))
    config = session.config
    try:
        with session.open_store() as store:
            if recording is None:
                return _Subject(None, wiring.evidence_of_files(config, store)(Path(named)))
            found = wiring.kept_evidence(config, store, recording)
            if asks and not found:
                found = wiring.recording_evidence(config, store, recording)
            return _Subject(recording, found)
    except (LookupFailedError, NothingFoundError) as error:
        known = recording or wiring.tagged_recording(Path(named))
        if known is None:
            raise
        return _Subject(known, None, (f"the ids could not be held against evidence: {error}",))


def _only_recording(subject: _Subject, name: str) -> RecordingId:
    if subject.bundle is None:
        raise CanonError(f"{path_text(name)} leads to no recording")
    try:
        return overrides.recording_meant(subject.bundle)
    except CanonError as error:
        raise CanonError(f"{path_text(name)}: {error}") from error


def override_lines(kept: OverrideRecord, known: overrides.OverrideEffect) -> Iterator[str]:
    """Yield an override as a short block, with the names and files that are `known`."""
    names = entity_names(known.bundle)
    yield musicbrainz_page("recording", kept.recording_mbid)
    if known.bundle:
        yield from output.labelled("recording", known.bundle.name)
    page = musicbrainz_page("release-group", kept.crg_mbid)
    yield from output.labelled_list("belongs to", filter(None, (names.get(kept.crg_mbid), page)))
    page = musicbrainz_page("release", kept.rr_mbid) if kept.rr_mbid else "by the rules"
    yield from output.labelled_list("release", filter(None, (names.get(kept.rr_mbid or ""), page)))
    yield from output.labelled("because", kept.reason)
    yield from output.labelled("set at", local_time(kept.set_at_utc))
    yield from output.labelled_list("files", (path_text(path) for path in known.files))
