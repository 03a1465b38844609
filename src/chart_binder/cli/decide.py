"""`canon decide` and `canon explain`: files, folders, standard input, or an evidence bundle."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from chart_binder.audio.walk import UnreadablePath, find_audio_files
from chart_binder.cli.options import (
    Session,
    command_line,
    named_paths,
    offline_option,
    pass_session,
    paths_argument,
)
from chart_binder.cli.output import (
    WORST_FIRST,
    file_object,
    labelled,
    print_json,
    print_lines,
    readable,
    set_log_file,
)
from chart_binder.cli.progress import LiveRun
from chart_binder.cli.render.decision import decision_lines, find_entities, group_name
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import KeptDecision
from chart_binder.domain.vocabulary import country_code
from chart_binder.errors import StoreError, UsageError
from chart_binder.files import read_file
from chart_binder.jobs.decide import Case, Cause, Decider, Decision, State, no_overrides
from chart_binder.jobs.stored_decisions import current_decision, save_decisions, stored_names
from chart_binder.wiring import decider, overrides, store_and_evidence, transcripts_folder

if TYPE_CHECKING:
    from chart_binder.store.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])

_STATUS = {State.DECIDED: 0, State.REVIEW: 3, State.INDETERMINATE: 3, State.ERROR: 1}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CaseFormat:
    """How a case is printed: as lines of text, and what its JSON has beside the decision."""

    lines: Callable[[str, Case], Iterator[str]]
    more: Callable[[Case], dict[str, object]] = lambda _: {}


BRIEF = CaseFormat(decision_lines)


@dataclass
class Results:
    """Prints cases as they come, as text or as JSON lines; `status` is that of the worst."""

    as_json: bool
    form: CaseFormat = BRIEF
    printed: int = 0
    status: int = 0

    def show(self, path: str, case: Case, pinned: KeptDecision | None = None) -> None:
        """Print one case; `path` is as given, `pinned` the decision that counts in its place."""
        self.status = min(self.status, _STATUS[case.decision.state], key=WORST_FIRST.index)
        if self.as_json:
            fields = msgspec.to_builtins(case.decision) | self.form.more(case)
            if pinned:
                fields |= {"pinned": True, "stands": _pinned_object(pinned)}
            print_json(file_object(path, fields))
        else:
            if self.printed:
                click.echo()
            print_lines(self.form.lines(readable(path), case))
            print_lines(_pinned_lines(pinned, case) if pinned else ())
        self.printed += 1


def _pinned_object(pinned: KeptDecision) -> dict[str, str | None]:
    return {
        "decision_id": pinned.id,
        "crg_mbid": pinned.crg_mbid,
        "rr_mbid": pinned.rr_mbid,
        "decided_at_utc": pinned.decided_at_utc,
    }


def _pinned_lines(pinned: KeptDecision, case: Case) -> Iterator[str]:
    group, _ = find_entities(case.bundle, pinned.crg_mbid, None)
    name = group_name(group) if group else pinned.crg_mbid
    day = pinned.decided_at_utc[: len("2026-11-21")]
    advice = "`canon drift unpin PATH` lets this one count"
    yield from labelled("pinned", f"{name} stands, as decided on {day}: {advice}")


def _evidence_option(about: str) -> Callable[[Command], Command]:
    """Give a command `--evidence FILE`, and refuse a second one, which would hide the first."""
    return click.option("--evidence", metavar="FILE", multiple=True, callback=_only_one, help=about)


def _only_one(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> str | None:
    if len(given) > 1:
        raise click.BadParameter(
            f"{len(given)} bundles are named; one is decided a call", context, option
        )
    return given[0] if given else None


@click.command("decide")
@paths_argument
@_evidence_option("Decide this evidence bundle; - for standard input.")
@offline_option
@pass_session
def decide(session: Session, paths: tuple[str, ...], evidence: str | None) -> int:
    """Decide files, folders or `-` (paths on standard input, one a line or NUL between).

    Exit status: 0 every file decided, 3 some left open or for review, 1 some failed.
    """
    return _decide_all(session, paths, evidence, BRIEF, keeps=True)


@click.command("explain")
@paths_argument
@_evidence_option("Explain this evidence bundle; - for standard input.")
@offline_option
@pass_session
def explain(session: Session, paths: tuple[str, ...], evidence: str | None) -> int:
    """Decide files or folders, and show the rule path and why every other candidate lost.

    With -v a timeline is drawn of when the recording appeared on what. The decision is not kept:
    `canon decide` does that. What was looked up is, and the transcript of a model's run, by the
    path that is shown.

    Exit status: 0 every file decided, 3 some left open or for review, 1 some failed.
    """
    # Slow to import, and not needed for `canon decide`.
    from chart_binder.cli.render.explanation import (
        case_timeline,
        explanation_lines,
        explanation_object,
    )

    rules = session.config.rules

    def lines(path: str, case: Case) -> Iterator[str]:
        yield from explanation_lines(path, case, rules)
        if session.verbosity:
            yield from case_timeline(case, rules)

    form = CaseFormat(lines, lambda case: explanation_object(case, rules))
    return _decide_all(session, paths, evidence, form, keeps=False)


def _decide_all(
    session: Session, paths: tuple[str, ...], evidence: str | None, form: CaseFormat, *, keeps: bool
) -> int:
    """Decide what was named, print each result as it comes, and return the exit status.

    If it `keeps`, decisions on files are stored; a decision on a bundle never is.
    """
    if bool(paths) == bool(evidence):
        raise UsageError("name files or folders, or one bundle with --evidence FILE.json")
    pipeline = live_decider(session, respects_overrides=True)
    results = Results(session.as_json, form)
    if evidence:
        set_log_file(readable(evidence))
        results.show(evidence, pipeline.attempt(partial(read_bundle_file, evidence)))
    else:
        _decide_files(session, pipeline, paths, results, keeps=keeps)
    return results.status


def live_decider(session: Session, *, respects_overrides: bool) -> Decider:
    """Return the pipeline of the configuration, which shows runs of the model if asked to."""
    live = LiveRun() if session.shows_run else None
    return decider(
        session.config,
        record=transcripts_folder(),
        watch=live.watch if live else None,
        listen=live.listen if live else None,
        overruled=overrides(session.config) if respects_overrides else no_overrides,
    )


def _decide_files(
    session: Session, pipeline: Decider, paths: Sequence[str], results: Results, *, keeps: bool
) -> None:
    config = session.config
    version = ""
    if keeps and config.llm.enabled:
        from chart_binder.jobs.stored_decisions import adjudicator_version

        version = adjudicator_version(config.llm, config.rules)
    call = command_line(click.get_current_context())
    with (
        store_and_evidence(config) as (store, gather),
        save_decisions(store, "decide", call, config.rules, version)
        if keeps
        else nullcontext() as keeper,
    ):
        for named in named_paths(paths):
            for item in find_audio_files([Path(named)]):
                name = named if item.path == Path(named) else str(item.path)
                set_log_file(readable(name))
                attempt = (
                    partial(_unreadable, item)
                    if isinstance(item, UnreadablePath)
                    else partial(pipeline.attempt, partial(gather, item.path))
                )
                case = keeper.decide_and_save(item.path, attempt) if keeper else attempt()
                results.show(name, _with_advice(name, case), _pinned(store, item.path))
        if keeper:
            keeper.end(results.status)


def _unreadable(item: UnreadablePath) -> Case:
    return Case(Decision(State.ERROR, error=str(item.problem), cause=Cause.FILE))


def _with_advice(path: str, case: Case) -> Case:
    """Add to the error of a file that may be a bundle how a bundle is decided."""
    if case.decision.cause is not Cause.FILE or Path(path).suffix.casefold() != ".json":
        return case
    error = f"{case.decision.error}; an evidence bundle is decided with --evidence FILE"
    return replace(case, decision=msgspec.structs.replace(case.decision, error=error))


def _pinned(store: "Store", path: Path) -> KeptDecision | None:
    """Return the pinned decision on a file, if there is one."""
    with suppress(StoreError):  # reported already, where the new decision could not be kept
        kept = current_decision(store, *stored_names(path))
        return kept if kept and kept.pinned else None
    return None


def read_bundle_file(place: str) -> EvidenceBundle:
    """Read a bundle from a file, or from standard input for `-`. Raises `CanonError`."""
    bundle = read_bundle(read_file(place))
    for key in ("begin_area_country", "wikidata_country"):
        written = getattr(bundle.performer, key)
        if written and not re.fullmatch("[A-Z]{2}", country_code(written) or ""):
            _log.warning("artist.%s: %r is no code of a country, such as GB", key, written)
    return bundle
