"""`canon review`: what a person has to look at, and their verdict."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chart_binder.cli.left_out import LeftOut
from chart_binder.cli.options import Group, Session, common_options, pass_session
from chart_binder.cli.output import read_mbid, readable
from chart_binder.cli.progress import event_lines
from chart_binder.cli.render.review import (
    case_lines,
    case_object,
    queued_lines,
    queued_object,
    ruled_lines,
    ruled_object,
)
from chart_binder.cli.render.tags import file_line
from chart_binder.cli.review_walk import walk
from chart_binder.cli.terminal import harmless
from chart_binder.cli.write import say
from chart_binder.errors import UsageError
from chart_binder.jobs.decide import State
from chart_binder.jobs.overrides import VerdictResult, accept, keep, reject
from chart_binder.jobs.review import (
    OPEN_STATES,
    ReviewCase,
    find_case,
    is_overridden,
    override_removed,
    read_case_transcript,
    review_queue,
)
from chart_binder.store import open_store
from chart_binder.wiring import overrides, store_url

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_FEW, _SOME = 50, 6
_FLAG = "--interactive"
_WALKED = ("list", "walk")
_REPLACES = click.option(
    "--replace",
    "replaces",
    is_flag=True,
    help="Also where a person ruled otherwise on the recording, by another file or by its id.",
)
_STATUS = (
    "\n\nExit status: 0 the verdict is kept, 1 it cannot be, as the message says, 2 bad usage or"
    " configuration."
)


class _WalksIfInteractive(Group):
    """Takes `canon review --interactive [PATH...]` for `canon review walk [PATH...]`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        others = [each for each in args if each != _FLAG]
        named = others[0] if others and others[0] in self.commands else None
        if _FLAG in args and named in (None, *_WALKED) and not set(args) & {"-h", "--help"}:
            args = ["walk", *others[1 if named else 0 :]]
        return super().parse_args(ctx, args)


@click.group("review", cls=_WalksIfInteractive)
@click.option(_FLAG, is_flag=True, expose_value=False, help="Walk the queue with single keys.")
@common_options
def command() -> None:
    """List and show what a person has to look at, and keep their verdict.

    The queue is the latest decision of each file that is for review or was left open, as long as
    nobody ruled on it. `canon review --interactive [PATH...]` is short for `canon review walk`.

    Exit status of list, show and walk: 0 nothing waits, 3 something does, 1 an error, 2 bad usage
    or configuration; of a verdict: 0 it is kept.
    """


_PATHS = click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=str))
_NAMED = click.argument("name", metavar="PATH_OR_DECISION", type=click.Path(path_type=str))
_STATES = click.option(
    "--state",
    "states",
    default=",".join(OPEN_STATES),
    show_default=True,
    help="Which: review, indeterminate, or both with a comma between.",
)
_RECORDING = click.option(
    "--recording", metavar="ID", help="Which recording is meant, where several may be."
)


@command.command("list")
@_PATHS
@_STATES
@click.option(
    "--limit", type=click.IntRange(0), default=_FEW, show_default=True, help="At most; 0 for all."
)
@common_options
@pass_session
def list_queue(session: Session, paths: tuple[str, ...], states: str, limit: int) -> int:
    """List what waits, all or of the files and folders named, by when it was decided.

    Files that share their evidence are one entry, and one verdict is on all of them.

    Exit status: 0 nothing waits, 3 something does, 1 an error, 2 bad usage or configuration.
    """
    shown, left = 0, 0
    unread = LeftOut()
    ruled, named = overrides(session.config)(), _not_empty(*paths)
    with open_store(store_url(session.config)) as store:
        queue = review_queue(store, ruled, _states(states), named, unread.decision)
        for queued in islice(queue, limit or None):
            if session.as_json:
                click.echo(file_line(str(queued.case.path), queued_object(queued.case)))
            else:
                _print((*("",) * bool(shown), *queued_lines(queued.case)))
            shown, left = shown + 1, queued.left - 1
    more = f", {left} more: --limit 0 lists all" if left and shown == limit else ""
    say([f"{shown or 'nothing'} to look at{more}"])
    return unread.status or (3 if shown else 0)


@command.command("show")
@_NAMED
@click.option("--transcript", is_flag=True, help="Print the model's run as it is kept, too.")
@common_options
@pass_session
def show(session: Session, name: str, transcript: bool) -> int:
    """Show one case: the candidates side by side, the open question, what is proposed, and why.

    With -v every release of each candidate is listed.

    Exit status: 0 nobody has to look at it, 3 somebody has, 1 an error (it could not be decided, or
    there is no decision or transcript), 2 bad usage or configuration.
    """
    with _named(session, name) as (store, case):
        rules = case.question(session.config.rules)
        events = read_case_transcript(store, case) if transcript else ()
        ruled = overrides(session.config)()
        waits = store.waiting.has(case.kept.id, OPEN_STATES) and not is_overridden(case, ruled)
        lapsed = override_removed(case, ruled)
        verdict = None if waits else store.verdicts.on_the_same(case.kept)
    if session.as_json:
        more = {"waits": waits, "has_lapsed": lapsed, "verdict": verdict}
        said = {"transcript": events if transcript else None}
        click.echo(file_line(str(case.path), case_object(case, rules) | more | said))
    else:
        whole = session.verbosity > 0
        _print(case_lines(case, rules, verdict, waits=waits, lapsed=lapsed, whole=whole))
        for event in events:
            _print(event_lines(event))
    failed = case.decision.state is State.ERROR
    return 1 if failed else 3 if waits else 0


@command.command("accept", epilog=_STATUS.strip())
@_NAMED
@click.option("--reason", default="", help="Why, in your words: shown with the decision.")
@_RECORDING
@_REPLACES
@common_options
@pass_session
def accept_proposal(
    session: Session, name: str, reason: str, recording: str | None, *, replaces: bool
) -> None:
    """Take what is proposed: kept as an override, which `decide`, `batch` and `write` go by."""
    with _named(session, name) as (store, case):
        ruled = accept(store, case, _words(reason), _id(recording), replaces=replaces)
        _tell(session, case, "accepted", ruled)


@command.command("reject", epilog=_STATUS.strip())
@_NAMED
@click.option("--reason", required=True, help="Why, in your words: kept with the verdict.")
@click.option("--crg", help="What is right: a label of `show` (C2), an id or an address.")
@click.option("--rr", help="The release: a label (C2.R1), an id or an address.")
@_RECORDING
@_REPLACES
@common_options
@pass_session
def reject_proposal(
    session: Session,
    name: str,
    reason: str,
    crg: str | None,
    rr: str | None,
    recording: str | None,
    *,
    replaces: bool,
) -> None:
    """Say that what is proposed is wrong; with --crg what is right becomes an override.

    Without, the case only leaves the queue, and is not written.
    """
    words = _words(reason)
    if not words:
        raise UsageError("--reason is blank: say in a few words what is wrong")
    if rr and not crg:
        raise UsageError("--rr names a release of what --crg names: give both")
    with _named(session, name) as (store, case):
        group = crg and _labelled(case, crg, "release-group")
        release = rr and _labelled(case, rr, "release")
        ruled = reject(store, case, words, group, release, _id(recording), replaces=replaces)
        _tell(session, case, "rejected", ruled)


@command.command("keep", epilog=_STATUS.strip())
@_NAMED
@click.option("--reason", default="", help="Why, in your words.")
@common_options
@pass_session
def keep_open(session: Session, name: str, reason: str) -> None:
    """Leave it as it is: out of the queue until evidence, rules or the answer are others."""
    with _named(session, name) as (store, case):
        _tell(session, case, "left as it is", keep(store, case, _words(reason)))


@command.command("walk")
@_PATHS
@_STATES
@common_options
@pass_session
def walk_queue(session: Session, paths: tuple[str, ...], states: str) -> int:
    """Walk the queue in the terminal with single keys; leave and come back at any time.

    Every verdict is kept at once.

    Exit status: 0 nothing waits any more, 3 something does, 1 an error, 2 bad usage (also: not a
    terminal), 130 interrupted.
    """
    if session.as_json:
        raise UsageError("walking the queue is for a terminal: take --output text")
    with open_store(store_url(session.config)) as store:
        return walk(store, session.config, _states(states), _not_empty(*paths))


@contextmanager
def _named(session: Session, name: str) -> Iterator[tuple["Store", ReviewCase]]:
    _not_empty(name)
    with open_store(store_url(session.config)) as store:
        yield store, find_case(store, name)


def _not_empty(*names: str) -> list[Path]:
    if not all(names):
        raise UsageError("a path is empty: is a variable of the shell not set?")
    return list(map(Path, names))


def _tell(session: Session, case: ReviewCase, done: str, ruled: VerdictResult) -> None:
    if session.as_json:
        click.echo(file_line(str(case.path), ruled_object(case, done, ruled)))
    else:
        _print(ruled_lines(case, done, ruled))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(harmless(line))


def _states(text: str) -> frozenset[str]:
    named = frozenset(filter(None, (each.strip() for each in text.split(","))))
    odd = sorted(named - set(OPEN_STATES))
    if odd or not named:
        found = odd[0] if odd else text
        raise UsageError(f"--state: {readable(found)!r} is none; {', '.join(OPEN_STATES)} allowed")
    return named


def _words(text: str) -> str:
    return " ".join(readable(text).split())


def _id(recording: str | None) -> str | None:
    return None if recording is None else read_mbid(recording, "recording")


def _labelled(case: ReviewCase, written: str, entity: str) -> str:
    """Return the id that a label of the case, an id or an address stands for."""
    known = case.labels.ids.get(written.strip().upper())
    is_release = "." in written
    if known and is_release == (entity == "release"):
        return known
    wanted = [label for label in case.labels.ids if ("." in label) == (entity == "release")]
    more = " ..." if len(wanted) > _SOME else ""
    some = f"one of {', '.join(wanted[:_SOME])}{more}, " if wanted else ""
    return read_mbid(written, entity, or_else=some)
