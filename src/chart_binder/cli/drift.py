"""`canon drift`: which decisions would now come out otherwise, and what to do about each."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chart_binder.audio.walk import AudioFile, find_audio_files
from chart_binder.cli.left_out import LeftOut
from chart_binder.cli.options import Group, Session, common_options, pass_session, typed
from chart_binder.cli.output import found, group_name, readable, release_name
from chart_binder.cli.render.tags import change_lines, json_line, shown_path, told_line
from chart_binder.cli.write import say
from chart_binder.domain.records import KeptDecision, KeptRun, UnreadDecision, new_id, now_utc
from chart_binder.errors import CanonError, DamagedRecordError
from chart_binder.jobs.decide import Decider
from chart_binder.jobs.drift import (
    Drift,
    DriftCheck,
    DriftState,
    EvidenceRefresher,
    accept_new_decision,
    keep_old_decision,
)
from chart_binder.jobs.journal import FieldChange
from chart_binder.jobs.stored_decisions import current_decisions, path_from_bytes, stored_names
from chart_binder.store import open_store
from chart_binder.wiring import overrides, store_and_evidence, store_url

if TYPE_CHECKING:
    from chart_binder.store.decisions import UnreadHandler


def drift_lines(drift: Drift, done: str | None) -> Iterator[str]:
    """Yield what would differ and why; `done` is what was made of it."""
    if drift.why:
        yield from told_line("failed", drift.why)
    if drift.now:
        causes = " and ".join(drift.causes)
        yield from told_line(done or "would differ", f"by {causes}")
        names = _names(drift)
        yield from change_lines(tuple(_named(change, names) for change in drifted(drift)))
        yield from told_line("because", drift.now.decision.rationale or "no reason was given")
        yield from told_line("decision", drift.kept.id)


def drifted(drift: Drift) -> tuple[FieldChange, ...]:
    """Return what differs in the decision, nothing where one of the two cannot be told."""
    if drift.now is None or drift.was is None:
        return ()
    was, now = drift.was, drift.now.decision
    pairs = (
        ("state", was.state.value, now.state.value),
        ("release group", was.crg_mbid, now.crg_mbid),
        ("release", was.rr_mbid, now.rr_mbid),
        ("rule", was.crg_rule, now.crg_rule),
    )
    return tuple(
        FieldChange(name, tuple(filter(None, (old,))), tuple(filter(None, (new,))))
        for name, old, new in pairs
        if old != new
    )


def drift_facts(drift: Drift, done: str | None) -> dict[str, object]:
    """Return the same as JSON has it."""
    return {
        "decision_id": drift.kept.id,
        "state": drift.state,
        "done": done if drift.state is DriftState.DIFFERS else None,
        "causes": drift.causes,
        "why": drift.why,
        "decided_at_utc": drift.kept.decided_at_utc,
        "rules_version": drift.kept.rules_version,
        "evidence_hash": drift.kept.evidence_hash,
        "old": drift.was,
        "new": drift.now.decision if drift.now else None,
    }


def _names(drift: Drift) -> Mapping[str, str]:
    """Return what the evidence calls the ids of both decisions."""
    names: dict[str, str] = {}
    bundle = drift.now.bundle if drift.now else None
    for one in (drift.was, drift.now and drift.now.decision):
        group, release = found(bundle, one.crg_mbid, one.rr_mbid) if one else (None, None)
        if group:
            names[group.mb_rg_id] = group_name(group)
        if release:
            names[release.mb_release_id] = release_name(release)
    return names


def _named(change: FieldChange, names: Mapping[str, str]) -> FieldChange:
    old, new = (
        tuple(" ".join(filter(None, (text, names.get(text)))) for text in side)
        for side in (change.old, change.new)
    )
    return FieldChange(change.field, old, new)


_STATUS = {DriftState.DIFFERS: 3, DriftState.FAILED: 1, DriftState.NOT_ASKED: 1}
_WORST_FIRST = (1, 3, 0)
_HELD = (DriftState.STANDS, DriftState.PINNED, DriftState.KEPT)


class _ListUnlessNamed(Group):
    """Lists where no command of its own is named: `canon drift ~/Music`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args[:1] and (args[0] in self.commands or args[0] in ctx.help_option_names)
        optioned = args[:1] and args[0].startswith("-") and set(args) & set(self.commands)
        return super().parse_args(ctx, args if named or optioned else ["list", *args])


@click.group("drift", cls=_ListUnlessNamed)
@common_options
def command() -> None:
    """Say which decisions would now be others, and why: evidence, rules, or a person's ruling.

    `canon drift [PATH...]` is short for `canon drift list [PATH...]`. No model is asked.

    Exit status: 0 every decision stands, 3 some would differ, 1 some could not be made again.
    """


_PATHS = click.argument("names", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=str))
_NAMED = click.argument(
    "names", metavar="PATH_OR_DECISION...", nargs=-1, required=True, type=click.Path(path_type=str)
)
_REFRESH = click.option("--refresh", is_flag=True, help="Fetch the evidence anew.")


@command.command("list")
@_PATHS
@_REFRESH
@common_options
@pass_session
def list_drift(session: Session, names: tuple[str, ...], refresh: bool) -> int:
    """Decide again what was decided, all or what is named, and print what would differ."""
    results = _Results(session)
    with _drifting(session, refresh=refresh) as drifting:
        for kept in _kept(drifting, names, results.left_out):
            results.show(drifting.drift(kept))
    return results.end()


@command.command("accept")
@_NAMED
@_REFRESH
@common_options
@pass_session
def accept(session: Session, names: tuple[str, ...], refresh: bool) -> int:
    """Take today's decision where it differs; `canon write` then goes by it."""
    arguments = typed(click.get_current_context())
    run = KeptRun(
        id=new_id(), command="drift accept", arguments=arguments, started_at_utc=now_utc()
    )
    results = _Results(session, "accepted")
    with _drifting(session, refresh=refresh) as drifting:
        drifting.store.runs.begin(run)
        try:
            for kept in _kept(drifting, names, results.left_out):
                drift = drifting.drift(kept)
                if drift.state is DriftState.DIFFERS:
                    accept_new_decision(drifting, drift, run)
                results.show(drift)
        except (OSError, CanonError):  # as where nobody reads the results any more
            results.status = 1
            raise
        finally:
            drifting.store.runs.end(run.id, now_utc(), results.status, results.counts)
    return results.end()


@command.command("keep")
@_NAMED
@_REFRESH
@common_options
@pass_session
def keep(session: Session, names: tuple[str, ...], refresh: bool) -> int:
    """Leave decisions as they are: not listed again until yet another would come out."""
    results = _Results(session, "kept")
    with _drifting(session, refresh=refresh) as drifting:
        for kept in _kept(drifting, names, results.left_out):
            drift = drifting.drift(kept)
            if drift.state is DriftState.DIFFERS:
                keep_old_decision(drifting.store, drift)
            results.show(drift)
    return results.end()


@command.command("pin")
@_NAMED
@common_options
@pass_session
def pin(session: Session, names: tuple[str, ...]) -> None:
    """Let decisions stand, whatever rules, evidence or a later decision say."""
    _pin(session, names, pinned=True)


@command.command("unpin")
@_NAMED
@common_options
@pass_session
def unpin(session: Session, names: tuple[str, ...]) -> None:
    """Let the last decision count again."""
    _pin(session, names, pinned=False)


def _pin(session: Session, names: tuple[str, ...], *, pinned: bool) -> None:
    with _drifting(session, refresh=False) as drifting:
        for kept in _kept(drifting, names, _raised):
            if pinned and kept.crg_mbid is None:
                where = shown_path(path_from_bytes(kept.path))
                raise CanonError(f"{where}: nothing is decided yet that could be pinned")
            drifting.store.decisions.pin(kept.id, pinned=pinned)
            path = path_from_bytes(kept.path)
            if session.as_json:
                more = {"decision_id": kept.id, "pinned": pinned, "crg_mbid": kept.crg_mbid}
                click.echo(json_line(str(path), more, ()))
            else:
                click.echo(f"{shown_path(path)}: {'pinned' if pinned else 'no longer pinned'}")


@contextmanager
def _drifting(session: Session, *, refresh: bool) -> Iterator[DriftCheck]:
    config = session.config
    decider = Decider(config.rules, overrides=overrides(config))
    if refresh:
        with store_and_evidence(config, since=time.time()) as (store, gather):
            yield DriftCheck(store, decider, EvidenceRefresher(gather))
    else:
        with open_store(store_url(config)) as store:
            yield DriftCheck(store, decider)


def _raised(left_out: UnreadDecision) -> None:
    raise DamagedRecordError(left_out.problem)


def _kept(
    drifting: DriftCheck, names: tuple[str, ...], unread: "UnreadHandler"
) -> Iterator[KeptDecision]:  # fmt: skip
    """Yield the decisions that hold, of all files or of those named. Raises `CanonError`.

    Those that cannot be read are told to `unread`.
    """
    store = drifting.store
    if not names:
        for latest in store.decisions.iterate(unread=unread):
            (holds,) = current_decisions(store, [(latest.path,)])
            yield from _readable(holds or latest, unread)
    for name in names:
        found = None if Path(name).exists() else store.decisions.by_id(name)
        if found:
            yield found
            continue
        nothing = True
        for item in find_audio_files([Path(name)]):
            names_now = stored_names(item.path) if isinstance(item, AudioFile) else ()
            (holds,) = current_decisions(store, [names_now])
            if holds:
                nothing = False
                yield from _readable(holds, unread)
        if nothing:
            raise CanonError(f"{readable(name)}: no decision is kept by that id or for that path")


def _readable(
    found: KeptDecision | UnreadDecision, unread: "UnreadHandler"
) -> Iterator[KeptDecision]:
    if isinstance(found, KeptDecision):
        yield found
    else:
        unread(found)


@dataclass
class _Results:
    """Prints what differs, and adds it up."""

    session: Session
    done: str | None = None

    def __post_init__(self) -> None:
        self.status = 0
        self.counts: Counter[str] = Counter()
        self.given_up = ""

    def show(self, drift: Drift) -> None:
        # What a person just settled is no longer open.
        settled = drift.state is DriftState.DIFFERS and self.done is not None
        self.counts[(settled and self.done) or drift.state] += 1
        status = 0 if settled else _STATUS.get(drift.state, 0)
        self.status = min(self.status, status, key=_WORST_FIRST.index)
        if drift.state in _HELD:
            return
        if self.session.as_json:
            click.echo(json_line(str(drift.path), drift_facts(drift, self.done), drifted(drift)))
            return
        if drift.state is DriftState.NOT_ASKED:  # all alike, and told once at the end
            self.given_up = drift.why or ""
            return
        click.echo(shown_path(drift.path))
        for line in drift_lines(drift, self.done):
            click.echo(line)

    def left_out(self, unread: UnreadDecision) -> None:
        """Tell of a decision that cannot be read, as of one that failed."""
        self.status = 1
        self.counts[DriftState.FAILED] += 1
        LeftOut().decision(unread)

    def end(self) -> int:
        said = ", ".join(f"{count} {stand}" for stand, count in self.counts.items())
        say([said or "no decision is kept"])
        if self.given_up:
            say([f"{self.counts[DriftState.NOT_ASKED]} not asked: {self.given_up}"])
        return self.status
