"""`canon drift`: the decisions that `canon batch --frozen` would change, and why."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from chart_binder.audio.find import AudioFile
from chart_binder.batch import drift_check
from chart_binder.cli import options, output
from chart_binder.domain.records import DecisionRecord, UnreadDecision
from chart_binder.errors import CanonError
from chart_binder.files import path_text
from chart_binder.jobs.decision import FAILED_STATES, Decision, State
from chart_binder.jobs.drift import Drift, DriftState
from chart_binder.jobs.journal import FieldChange
from chart_binder.jobs.stored_decisions import current_decisions, path_bytes, path_from_bytes
from chart_binder.jobs.wording import entity_names
from chart_binder.store import Store

_STATUS = {DriftState.DIFFERS: 3, DriftState.FAILED: 1}
_GONE = "gone"
_DATE = "first release"
_WORDS = {str(name): str(name) for name in (*DriftState, *FAILED_STATES, _GONE)} | {
    State.ERROR: "never decided because of an error"
}


@click.command("drift")
@click.argument("paths", nargs=-1, type=options.PATH)
@options.pass_session
def drift(session: options.Session, paths: tuple[str, ...]) -> int:
    """List the decisions that `canon batch --frozen` would change, and why.

    All decided files, or the named ones, are decided again by their stored evidence if a batch
    would do so; nothing is stored. A decision may differ because of its evidence, the rules, the
    settings of the model, an override, or damage to what was stored. No model is asked: files that
    a batch would ask a model about are only counted, as are files without a decision.

    Exit status: 0 no decision would change, 3 some would differ, 1 some could not be decided again.
    """
    counts, lines, skipped, status = Counter[str](), list[str](), output.SkippedRecords(), 0
    with session.open_store() as store:
        check = drift_check(store, session.config)
        for latest in _decisions(store, paths):
            if latest.path is None:
                skipped.decision(latest)
                counts[DriftState.FAILED] += 1
            elif not (paths or os.path.lexists(latest.path)):
                counts[_GONE] += 1
            else:
                comparison = check.compare(path_from_bytes(latest.path), latest)
                before = comparison.before if comparison.state is DriftState.NEVER else None
                counts[before.state if before else comparison.state] += 1
                if comparison.state in _STATUS:
                    status = output.worst(status, _STATUS[comparison.state])
                    lines += _lines(comparison, session)
    session.summarize([output.count_text(counts, _WORDS) or "no decision is stored"])
    output.print_lines(lines)
    if counts[DriftState.DIFFERS]:
        output.print_next(output.canon_call("batch", "--frozen", *(paths or ["PATH..."])))
    elif not counts:
        output.print_next("canon decide FOLDER")
    return output.worst(status, skipped.status)


def _decisions(store: Store, paths: Sequence[str]) -> Iterator[DecisionRecord | UnreadDecision]:
    """Yield the latest decisions of all files, or of the named ones. Raises `CanonError`."""
    if not paths:
        unread: list[UnreadDecision] = []
        yield from store.decisions.iterate(on_unread=unread.append)
        yield from unread
    for name in options.named_paths(paths):
        files = (item.path for item in options.audio_files(name) if isinstance(item, AudioFile))
        records = (current_decisions(store, [path_bytes(path)])[0] for path in files)
        is_empty = True
        for record in records:
            if record:
                is_empty = False
                yield record
        if is_empty:
            problem = "is not decided yet" if os.path.lexists(name) else "does not exist"
            raise CanonError(f"{path_text(name)!r} {problem}")


def _lines(comparison: Drift, session: options.Session) -> Iterator[str]:
    """Print a comparison as JSON, or yield it as text, which follows the counts."""
    if session.as_json:
        output.print_json(output.file_object(comparison.path, _drift_object(comparison)))
        return
    yield path_text(comparison.path)
    label = "failed" if comparison.state is DriftState.FAILED else "damaged"
    yield from output.note_lines(label, comparison.why)
    if comparison.after is None:
        return
    yield from output.note_lines("would differ because of", " and ".join(comparison.causes))
    names = entity_names(comparison.evidence)
    for name, *values in sorted(_changes(comparison), key=lambda change: change[0] != _DATE):
        before, after = (names.get(value or "", value) or "none" for value in values)
        yield from output.labelled(name, f"{before} -> {after}", 14)
    yield from output.note_lines("because", comparison.after.rationale or "no reason was given")
    if comparison.record:
        yield from output.note_lines("decision", comparison.record.id)


def _drift_object(comparison: Drift) -> dict[str, object]:
    record = comparison.record
    return {
        "decision_id": record and record.id,
        "state": comparison.state,
        "causes": comparison.causes,
        "why": comparison.why,
        "decided_at_utc": record and record.decided_at_utc,
        "rules_version": record and record.rules_version,
        "evidence_hash": record and record.evidence_hash,
        "old": comparison.before,
        "new": comparison.after,
        "changes": [
            FieldChange(name, *((value,) if value else () for value in values))
            for name, *values in _changes(comparison)
        ],
    }


def _changes(comparison: Drift) -> list[tuple[str, str | None, str | None]]:
    if comparison.after is None:
        return []
    after = _fields(comparison.after)
    before = _fields(comparison.before) if comparison.before else dict.fromkeys(after)
    return [(name, before[name], after[name]) for name in after if before[name] != after[name]]


def _fields(decision: Decision) -> dict[str, str | None]:
    first = decision.first_release
    date = f"{first.date}{'' if first.year_certain else ' (not certain)'}" if first else None
    return {
        "state": decision.state,
        "release group": decision.crg_mbid,
        "release": decision.rr_mbid,
        _DATE: date,
        "rule": decision.crg_rule,
    }
