"""`canon decide`: files, folders, standard input, or an evidence bundle."""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from chart_binder.audio.walk import UnreadablePath, find_audio_files
from chart_binder.cli.logs import about_file
from chart_binder.cli.options import Session, common_options, pass_session, typed
from chart_binder.cli.output import BRIEF, Form, Results, readable
from chart_binder.cli.progress import Watching
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import KeptDecision
from chart_binder.domain.vocabulary import country_code
from chart_binder.errors import StoreError, UsageError
from chart_binder.files import read_file
from chart_binder.jobs.decide import Case, Cause, Decider, Decision, State
from chart_binder.jobs.stored_decisions import (
    DecisionSaver,
    current_decision,
    save_decisions,
    stored_names,
)
from chart_binder.wiring import decider, overrides, store_and_evidence, transcripts_folder

if TYPE_CHECKING:
    from chart_binder.store.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])

_log = logging.getLogger(__name__)
_COUNTRIES = ("begin_area_country", "wikidata_country")
_CODE = re.compile("[A-Z]{2}")


def evidence_option(told: str) -> Callable[[Command], Command]:
    """Give a command `--evidence FILE`, once: a second would be decided in place of the first."""
    return click.option(
        "--evidence", metavar="FILE", multiple=True, callback=_the_only_one, help=told
    )


def _the_only_one(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> str | None:
    if len(given) > 1:
        raise click.BadParameter(
            f"{len(given)} bundles are named; one is decided a call", context, option
        )
    return given[0] if given else None


@click.command("decide")
@click.argument("paths", nargs=-1, type=click.Path(path_type=str))
@evidence_option("Decide this evidence bundle; - for standard input.")
@click.option("--offline", is_flag=True, help="Open no socket: cached evidence only.")
@common_options
@pass_session
def command(session: Session, paths: tuple[str, ...], evidence: str | None, offline: bool) -> int:
    """Decide files, folders or `-` (paths on standard input, one a line or NUL between).

    Exit status: 0 every file decided, 3 some left open or for review, 1 some failed.
    """
    return decide_all(session, paths, evidence, offline=offline, keeps=True)


def decide_all(
    session: Session,
    paths: tuple[str, ...],
    evidence: str | None,
    *,
    offline: bool,
    form: Form = BRIEF,
    keeps: bool = False,
) -> int:
    """Decide what was named, print each result as it comes, and return the exit status.

    What is decided for files is kept in the store, if it `keeps`; a bundle's decision is not.
    """
    if bool(paths) == bool(evidence):
        raise UsageError("name files or folders, or one bundle with --evidence FILE.json")
    if offline:
        session.flags["musicbrainz.offline"] = True
    watching = Watching() if session.shows_run else None
    pipeline = decider(
        session.config,
        record=transcripts_folder(),
        watch=watching.see if watching else None,
        listen=watching.hear if watching else None,
        overruled=overrides(session.config),
    )
    results = Results(session.as_json, form)
    if evidence:
        about_file(readable(evidence))
        results.show(evidence, pipeline.attempt(partial(bundle_at, evidence)))
    else:
        _decide_files(session, pipeline, paths, results, keeps=keeps)
    return results.status


def _decide_files(
    session: Session, pipeline: Decider, paths: Sequence[str], results: Results, *, keeps: bool
) -> None:
    config = session.config
    with (
        store_and_evidence(config) as (store, gather),
        _keeping(session, store) if keeps else nullcontext() as keeper,
    ):
        for named in named_paths(paths):
            for item in find_audio_files([Path(named)]):
                shown = named if item.path == Path(named) else str(item.path)
                about_file(readable(shown))
                attempt = (
                    partial(_failed, item)
                    if isinstance(item, UnreadablePath)
                    else partial(pipeline.attempt, partial(gather, item.path))
                )
                case = keeper.decide_and_save(item.path, attempt) if keeper else attempt()
                results.show(shown, _advised(shown, case), _pinned(store, item.path))
        if keeper:
            keeper.end(results.status)


def _advised(path: str, case: Case) -> Case:
    """Say of a file that is no audio, but may be a bundle, how a bundle is decided."""
    if case.decision.cause is not Cause.FILE or Path(path).suffix.casefold() != ".json":
        return case
    told = f"{case.decision.error}; an evidence bundle is decided with --evidence FILE"
    return replace(case, decision=msgspec.structs.replace(case.decision, error=told))


def _pinned(store: "Store", path: Path) -> KeptDecision | None:
    """Return the decision that stands whatever is decided now, if one does."""
    with suppress(StoreError):  # which is told where the new decision cannot be kept
        kept = current_decision(store, *stored_names(path))
        return kept if kept and kept.pinned else None
    return None


def _keeping(session: Session, store: "Store") -> AbstractContextManager[DecisionSaver]:
    config = session.config
    asked = ""
    if config.llm.enabled:
        from chart_binder.jobs.stored_decisions import adjudicator_version

        asked = adjudicator_version(config.llm, config.rules)
    return save_decisions(store, "decide", typed(click.get_current_context()), config.rules, asked)


def _failed(item: UnreadablePath) -> Case:
    return Case(Decision(State.ERROR, error=str(item.problem), cause=Cause.FILE))


def named_paths(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths, those on standard input in place of `-`."""
    for path in paths:
        if not path:
            raise UsageError("a path is empty: is a variable of the shell not set?")
        if path == "-":
            listed = sys.stdin.buffer.read()
            between = b"\0" if b"\0" in listed else b"\n"
            names = (
                name.removesuffix(b"\r") if between == b"\n" else name
                for name in listed.split(between)
            )
            yield from (os.fsdecode(name) for name in names if name.strip())
        else:
            yield path


def bundle_at(place: str) -> EvidenceBundle:
    """Read a bundle from a file, or from standard input for `-`. Raises `CanonError`."""
    bundle = read_bundle(read_file(place))
    for key in _COUNTRIES:
        written = getattr(bundle.performer, key)
        if written and not _CODE.fullmatch(country_code(written) or ""):
            _log.warning("artist.%s: %r is no code of a country, such as GB", key, written)
    return bundle
