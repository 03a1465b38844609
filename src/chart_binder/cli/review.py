"""`canon review`: what a person has to look at, and their verdict."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from chart_binder.cli import options, output
from chart_binder.cli.override import FORCE, check_ids
from chart_binder.cli.progress import event_lines
from chart_binder.cli.review_text import (
    album_cases_lines,
    case_lines,
    case_object,
    queued_object,
    ruled_lines,
    ruled_object,
    unwritten_lines,
)
from chart_binder.cli.review_walk import Walk
from chart_binder.errors import UsageError, counted
from chart_binder.files import path_text
from chart_binder.jobs.decide import WAITING_STATES, State, read_states
from chart_binder.jobs.overrides import VerdictResult, accept, choose, keep, reject
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
from chart_binder.jobs.stored_decisions import path_from_bytes

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
        named = others[0] if others and others[0] in self.commands else None
        is_help = set(args) & {"-h", "--help"}
        if _INTERACTIVE in args and named in (None, "list", "walk") and not is_help:
            args = ["walk", *others[1 if named else 0 :]]
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
_STATES = click.option(
    "--state",
    "states",
    default=",".join(state.word for state in WAITING_STATES),
    show_default=True,
    help="Which: one of these, or several with commas.",
)
_REASON = click.option("--reason", default="", help="Why, in your words: shown with the decision.")
_RR = click.option("--rr", help="The release: a label (C2.R1), an id or an address.")


_override_options = options.together(
    click.option(
        "--recording", metavar="ID", help="Which recording is meant, where several may be."
    ),
    options.flag(
        "--replace",
        "replaces",
        "Also where a person decided otherwise on the recording, by another file or id.",
    ),
)
"""The options of a verdict that becomes an override, for `_give`."""


@review.command("list")
@_PATHS
@_STATES
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(0),
    default=_LISTED,
    show_default=True,
    help="At most; 0 for all.",
)
@options.pass_session
def list_queue(session: options.Session, paths: tuple[str, ...], states: str, limit: int) -> int:
    """List what waits, all or of the files and folders named, album by album.

    Files that share their evidence are one entry, and one verdict is on all of them.

    Exit status: 0 nothing waits, 3 something does, 1 an error, 2 bad usage or configuration.
    """
    shown, left = 0, 0
    skipped = output.SkippedRecords()
    kept, named = session.overrides, options.not_empty(*paths)
    with session.open_store() as store:
        queue = review_queue(store, kept, _read_states(states), named, skipped.decision)
        for album in queue_by_album(islice(queue, limit or None)):
            if not session.as_json:
                cases = [queued.case for queued in album]
                output.print_lines(chain([""] * bool(shown), album_cases_lines(cases)))
            for queued in album if session.as_json else ():
                output.print_json(output.file_object(queued.case.path, queued_object(queued.case)))
            shown, left = shown + len(album), album[-1].left - 1
        is_whole = set(_read_states(states)) == set(OPEN_STATES)
        unwritten = _show_unwritten(session, store, named) if is_whole else 0
    more = f", {left} more: --limit 0 lists all" if left and shown == limit else ""
    not_written = f"; {counted(unwritten, 'file')} not written" if unwritten else ""
    output.print_notes([f"{shown or 'nothing'} to look at{more}{not_written}"])
    return skipped.status or (3 if shown or unwritten else 0)


def _show_unwritten(session: options.Session, store: "Store", named: Sequence[Path]) -> int:
    """Print the files that were not written by their reasons, and return how many they are."""
    count = 0
    for why, files in unwritten_files(store, named):
        count += len(files)
        if not session.as_json:
            output.print_lines(chain([""], unwritten_lines(why, files)))
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

    With -v every release of each candidate is listed.

    Exit status: 0 nobody has to look at it, 3 somebody has, 1 an error (it could not be decided, or
    there is no decision or transcript), 2 bad usage or configuration.
    """
    with _case(session, name) as (store, case):
        rules = case.question(session.config.rules)
        events = read_case_transcript(store, case) if transcript else ()
        kept = session.overrides
        has_override = is_overridden(case, kept)
        waits = store.waiting.has(case.kept.id, OPEN_STATES) and not has_override
        lapsed = override_removed(case, kept)
        verdict = None if waits else store.verdicts.on_the_same(case.kept)
    fields = case_object(case, rules) | {
        "waits": waits,
        "has_lapsed": lapsed,
        "verdict": verdict,
        "transcript": events if transcript else None,
    }
    whole = session.verbosity > 0
    said = None if has_override else rules
    lines = case_lines(case, said, verdict, waits=waits, lapsed=lapsed, whole=whole)
    run = chain.from_iterable(map(event_lines, events))
    session.show(output.file_object(case.path, fields), chain(lines, run))
    return 1 if case.decision.state is State.ERROR else 3 if waits else 0


@review.command("accept", epilog=_STATUS)
@_NAME
@_REASON
@_override_options
@options.pass_session
def accept_proposal(session: options.Session, name: str, reason: str, **flags: Any) -> None:
    """Take what is proposed: kept as an override, which `decide`, `batch` and `write` use."""
    _give(session, name, "accepted", accept, output.one_line(reason), **flags)


@review.command("choose", epilog=_STATUS)
@_NAME
@click.argument("candidate", metavar="CANDIDATE")
@_RR
@_REASON
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
    _give(session, name, done, choose, output.one_line(reason), crg=candidate, **flags)


@review.command("reject", epilog=_STATUS)
@_NAME
@click.option("--reason", required=True, help="Why, in your words: kept with the verdict.")
@click.option("--crg", help="What is right: a label of `show` (C2), an id or an address.")
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
    words = output.one_line(reason)
    if not words:
        raise UsageError("--reason is blank: say in a few words what is wrong")
    if rr and not crg:
        raise UsageError("--rr names a release of what --crg names: give both")
    _give(session, name, "rejected", reject, words, crg=crg, rr=rr, **flags)


@review.command("keep", epilog=_STATUS)
@_NAME
@click.option("--reason", default="", help="Why, in your words.")
@options.pass_session
def keep_open(session: options.Session, name: str, reason: str) -> None:
    """Leave it open: out of the queue until evidence, rules or the model's answer change."""
    _give(session, name, "kept out of the queue", keep, output.one_line(reason))


def _give(
    session: options.Session,
    name: str,
    done: str,
    give: Callable[..., VerdictResult],
    reason: str,
    *,
    crg: str | None = None,
    rr: str | None = None,
    recording: str | None = None,
    force: bool = False,
    **flags: bool,
) -> None:
    """Give a verdict on a case, with the ids that its labels stand for, and print the result."""
    notes: tuple[str, ...] = ()
    ids: dict[str, str] = {}
    with _case(session, name) as (store, case):
        if crg:
            ids["crg"] = _read_label(case, crg, "release-group")
        if rr:
            ids["rr"] = _read_label(case, rr, "release")
        if crg:
            notes = check_ids(session, case.bundle, ids["crg"], ids.get("rr"), force=force)
        if recording is not None:
            ids["recording"] = options.read_mbid(recording, "recording")
        ruled = give(store, case, reason=reason, **ids, **flags)
    ruled = msgspec.structs.replace(ruled, notes=(*notes, *ruled.notes))
    fields = output.file_object(case.path, ruled_object(case, done, ruled))
    session.show(fields, ruled_lines(case, done, ruled))


@review.command("walk")
@_PATHS
@_STATES
@options.pass_session
def walk_queue(session: options.Session, paths: tuple[str, ...], states: str) -> int:
    """Walk the queue in the terminal with single keys; leave and come back at any time.

    Every verdict is kept at once.

    Exit status: 0 nothing waits any more, 3 something does, 1 an error, 2 bad usage (also: not a
    terminal), 130 interrupted.
    """
    if session.as_json:
        raise UsageError("walking the queue is for a terminal: take --output text")
    with session.open_store() as store:
        return Walk(store, session.config, _read_states(states)).run(options.not_empty(*paths))


@contextmanager
def _case(session: options.Session, name: str) -> Iterator[tuple["Store", ReviewCase]]:
    options.not_empty(name)
    with session.open_store() as store:
        yield store, find_case(store, name)


def _read_states(text: str) -> frozenset[str]:
    try:
        return read_states(text, WAITING_STATES)
    except ValueError as error:
        raise UsageError(f"--state: found {path_text(text)!r}; {error}") from error


def _read_label(case: ReviewCase, written: str, entity: str) -> str:
    """Return the id that a label of the case, an id or an address stands for."""
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
