"""`canon drift`: which decisions would now come out otherwise, and what to do about each."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from chart_binder.audio.file_access import AudioFile
from chart_binder.cli import options, output
from chart_binder.cli.decision_text import entity_names
from chart_binder.domain.records import DecisionRecord, RunRecord, UnreadDecision, new_id, now_utc
from chart_binder.errors import CanonError, DamagedRecordError
from chart_binder.files import path_text
from chart_binder.jobs.decide import NOT_ATTEMPTED, Decider, State, limited_lookup
from chart_binder.jobs.journal import FieldChange
from chart_binder.jobs.stored_decisions import (
    Drift,
    DriftCheck,
    DriftState,
    accept_new_decision,
    current_decisions,
    keep_old_decision,
    path_bytes,
    path_from_bytes,
)
from chart_binder.store import open_store
from chart_binder.wiring import overrides, store_and_evidence, store_url

_STATUS = {DriftState.DIFFERS: 3, DriftState.FAILED: 1, DriftState.NOT_ASKED: 1}
_GONE = "gone"
"""How files that do not exist any more are counted."""
_FAILED = State.ERROR.word
_NOT_LISTED = (DriftState.UNCHANGED, DriftState.PINNED, DriftState.KEPT, DriftState.NEVER)


class _ListByDefault(options.Group):
    """Runs `list` where no subcommand is named: `canon drift ~/Music`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args[:1] and (args[0] in self.commands or args[0] in ctx.help_option_names)
        optioned = args[:1] and args[0].startswith("-") and set(args) & set(self.commands)
        return super().parse_args(ctx, args if named or optioned else ["list", *args])


@options.group("drift", _ListByDefault)
def drift() -> None:
    """Say which decisions would be different today, and why.

    The causes: evidence, rules, or a person's override.

    `canon drift [PATH...]` is short for `canon drift list [PATH...]`. No model is asked. Files on
    which there is no decision so far are only counted: `canon batch` tries those again that failed.

    Exit status: 0 no decision would change, 3 some would differ, 1 some could not be made again.
    """


_NAMES = click.argument(
    "names", metavar="PATH_OR_DECISION...", nargs=-1, required=True, type=options.PATH
)
_REFRESH = options.flag("--refresh", "Fetch fresh evidence.")


@drift.command("list")
@click.argument("names", metavar="[PATH]...", nargs=-1, type=options.PATH)
@_REFRESH
@options.pass_session
def list_drift(session: options.Session, names: tuple[str, ...], refresh: bool) -> int:
    """Decide again all that was decided, or what is named, and print what would differ."""
    with _drifting(session, refresh=refresh) as drifting:
        return _Results(session).check(drifting, names)


@drift.command("accept")
@_NAMES
@_REFRESH
@options.pass_session
def accept(session: options.Session, names: tuple[str, ...], refresh: bool) -> int:
    """Take today's decision where it differs; `canon write` then uses it."""
    run = RunRecord(
        id=new_id(),
        command="drift accept",
        arguments=options.command_line(),
        started_at_utc=now_utc(),
    )
    results = _Results(session, "accepted")
    with _drifting(session, refresh=refresh) as drifting:
        drifting.store.runs.begin(run)
        try:
            return results.check(drifting, names, partial(accept_new_decision, drifting, run=run))
        except (OSError, CanonError):  # also where the results cannot be printed any more
            results.status = 1
            raise
        finally:
            drifting.store.runs.end(run.id, now_utc(), results.status, results.counts)


@drift.command("keep")
@_NAMES
@_REFRESH
@options.pass_session
def keep(session: options.Session, names: tuple[str, ...], refresh: bool) -> int:
    """Keep decisions as they are, until today's decision changes again."""
    with _drifting(session, refresh=refresh) as drifting:
        leave = partial(keep_old_decision, drifting.store)
        return _Results(session, "kept").check(drifting, names, leave)


@drift.command("pin")
@_NAMES
@options.pass_session
def pin(session: options.Session, names: tuple[str, ...]) -> None:
    """Keep decisions as they are, whatever rules, evidence or a later decision say."""
    _pin(session, names, pinned=True)


@drift.command("unpin")
@_NAMES
@options.pass_session
def unpin(session: options.Session, names: tuple[str, ...]) -> None:
    """Let the last decision count again."""
    _pin(session, names, pinned=False)


def _pin(session: options.Session, names: tuple[str, ...], *, pinned: bool) -> None:
    def refuse(unread: UnreadDecision) -> None:
        raise DamagedRecordError(unread.problem)

    with _drifting(session, refresh=False) as drifting:
        for kept in _decisions(drifting, names, refuse):
            path = path_from_bytes(kept.path)
            name = path_text(path)
            if pinned and kept.crg_mbid is None:
                raise CanonError(f"{name}: nothing is decided yet that could be pinned")
            drifting.store.decisions.pin(kept.id, pinned=pinned)
            fields = {"decision_id": kept.id, "pinned": pinned, "crg_mbid": kept.crg_mbid}
            line = f"{name}: {'pinned' if pinned else 'no longer pinned'}"
            session.show(output.file_object(path, fields | {"changes": ()}), [line])


@contextmanager
def _drifting(session: options.Session, *, refresh: bool) -> Iterator[DriftCheck]:
    config = session.config
    decider = Decider(config.rules, overrides=overrides(config))
    if refresh:
        with store_and_evidence(config, since=time.time()) as (store, gather):
            yield DriftCheck(store, decider, limited_lookup(gather))
    else:
        with open_store(store_url(config)) as store:
            yield DriftCheck(store, decider)


def _decisions(
    drifting: DriftCheck, names: tuple[str, ...], skip: Callable[[UnreadDecision], None]
) -> Iterator[DecisionRecord]:
    """Yield the decisions that count, of all files or of those named. Raises `CanonError`."""
    store = drifting.store

    def read(found: DecisionRecord | UnreadDecision) -> Iterator[DecisionRecord]:
        if isinstance(found, DecisionRecord):
            yield found
        else:
            skip(found)

    if not names:
        for latest in store.decisions.iterate(unread=skip):
            (counts,) = current_decisions(store, [latest.path])
            yield from read(counts or latest)
    for name in names:
        by_id = None if Path(name).exists() else store.decisions.by_id(name)
        if by_id:
            yield by_id
            continue
        files = (each.path for each in options.audio_files(name) if isinstance(each, AudioFile))
        found = (current_decisions(store, [path_bytes(path)])[0] for path in files)
        is_found = False
        for kept in found:
            if kept:
                is_found = True
                yield from read(kept)
        if not is_found:
            raise CanonError(f"{path_text(name)}: no decision is kept by that id or for that path")


class _Results:
    """Prints what differs; `done` is what the command does with it, if anything."""

    def __init__(self, session: options.Session, done: str | None = None) -> None:
        self.session = session
        self.done = done
        self.status = 0
        self.counts: Counter[str] = Counter()
        self.not_asked = ""

    def check(
        self,
        drifting: DriftCheck,
        names: tuple[str, ...],
        settle: Callable[[Drift], object] | None = None,
    ) -> int:
        """Decide again, `settle` each decision that differs, and return the exit status."""
        for kept in _decisions(drifting, names, self._skip):
            if not names and not os.path.lexists(kept.path):
                self.counts[_GONE] += 1
                continue
            found = drifting.drift(kept)
            if settle and found.state is DriftState.DIFFERS:
                settle(found)
            self._show(found)
        named = (*DriftState, *(state.word for state in NOT_ATTEMPTED), _GONE)
        words = {str(name): str(name) for name in named} | {_FAILED: "never decided, for an error"}
        output.print_notes([output.count_text(self.counts, words) or "no decision is kept"])
        if self.not_asked:
            output.print_notes([f"{self.counts[DriftState.NOT_ASKED]} not asked: {self.not_asked}"])
        return self.status

    def _show(self, found: Drift) -> None:
        # What a person has just decided on is no longer open.
        is_done = found.state is DriftState.DIFFERS and self.done is not None
        never = found.state is DriftState.NEVER and found.was and found.was.state.word
        self.counts[never or (is_done and self.done) or found.state] += 1
        self.status = output.worst(self.status, 0 if is_done else _STATUS.get(found.state, 0))
        if found.state in _NOT_LISTED:
            return
        if found.state is DriftState.NOT_ASKED and not self.session.as_json:
            self.not_asked = found.why or ""  # the same for all, and printed once
            return
        fields = output.file_object(found.path, _drift_object(found, self.done))
        self.session.show(fields, self._lines(found))

    def _lines(self, found: Drift) -> Iterator[str]:
        yield path_text(found.path)
        yield from output.note_lines("failed", found.why)
        if found.now:
            causes = f"by {' and '.join(found.causes)}"
            yield from output.note_lines(self.done or "would differ", causes)
            words = entity_names(found.now.bundle) | {state.value: state.word for state in State}
            for name, *both in _changes(found):
                label = name
                for sign, each in zip("-+", both, strict=True):
                    if each:
                        text = words[each] if name == "state" else f"{each} {words.get(each, '')}"
                        yield from output.labelled(label, f"{sign} {text}", 20)
                        label = ""
            because = found.now.decision.rationale or "no reason was given"
            yield from output.note_lines("because", because)
            yield from output.note_lines("decision", found.kept.id)

    def _skip(self, unread: UnreadDecision) -> None:
        self.status = 1
        self.counts[DriftState.FAILED] += 1
        output.SkippedRecords().decision(unread)


def _drift_object(found: Drift, done: str | None) -> dict[str, object]:
    return {
        "decision_id": found.kept.id,
        "state": found.state,
        "done": done if found.state is DriftState.DIFFERS else None,
        "causes": found.causes,
        "why": found.why,
        "decided_at_utc": found.kept.decided_at_utc,
        "rules_version": found.kept.rules_version,
        "evidence_hash": found.kept.evidence_hash,
        "old": found.was,
        "new": found.now.decision if found.now else None,
        "changes": [
            FieldChange(name, *((each,) if each else () for each in both))
            for name, *both in _changes(found)
        ],
    }


def _changes(found: Drift) -> Sequence[tuple[str, str | None, str | None]]:
    if found.now is None or found.was is None:
        return []
    was, now = found.was, found.now.decision
    parts = {"state": "state", "release group": "crg_mbid", "release": "rr_mbid",
             "rule": "crg_rule"}  # fmt: skip
    pairs = ((name, getattr(was, key), getattr(now, key)) for name, key in parts.items())
    return [(name, old, new) for name, old, new in pairs if old != new]
