"""`canon decide`, `canon explain` and `canon demo`: decide files or an evidence bundle."""

import logging
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click
import msgspec

from chart_binder.audio.find import AudioFile, UnreadablePath
from chart_binder.cli import decision_text, options, output
from chart_binder.cli.progress import Progress
from chart_binder.cli.run_events import LiveRun
from chart_binder.config import (
    Config,
    LLMConfig,
    LogConfig,
    MusicBrainzConfig,
    RulesConfig,
    StoreConfig,
)
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle, unknown_words
from chart_binder.domain.vocabulary import country_code
from chart_binder.errors import UsageError, counted
from chart_binder.files import path_text, read_file
from chart_binder.jobs.decision import EXIT_STATUS, Case, Cause, Decision, FileOutcome, tagged_year
from chart_binder.jobs.gather import MAX_FAILED_LOOKUPS
from chart_binder.jobs.pipeline import (
    OverrideLookup,
    Pipeline,
    attempt,
    decide_bundle,
    decide_file,
    explain_file,
    save_file,
    unreadable_case,
)
from chart_binder.jobs.stored_decisions import LazyRun, current_decisions, path_bytes, saved_run
from chart_binder.llm.events import ResultEvent
from chart_binder.react.transcript import AnyEvent, ReplyEvent, StepEvent
from chart_binder.store import open_store
from chart_binder.wiring import (
    musicbrainz_evidence,
    overrides,
    rules_and_model,
    run_versions,
    transcripts_folder,
    with_store,
)

if TYPE_CHECKING:
    from chart_binder.jobs.batch.report import BatchTally
    from chart_binder.store import Store

_log = logging.getLogger(__name__)
_OPENING = (
    "Two sample files, decided without network or model: the answers of MusicBrainz and the"
    " model are recorded. Nothing is written."
)
_FINE_PRINT = (
    "For the second file the date of the single was cut to its year, and the web pages are made up."
    " `canon demo --full` shows each rule, every other candidate and the model's run."
)


@dataclass
class _CasePrinter:
    """Prints each case as soon as it is decided; JSON objects also have `extra_fields`."""

    as_json: bool
    lines: Callable[[str, Case], Iterator[str]] = decision_text.decision_lines
    extra_fields: Callable[[Case], dict[str, object]] = lambda _: {}
    printed: int = 0
    status: int = 0
    bar: Progress = field(default_factory=lambda: Progress(is_quiet=True))

    def show(self, path: str, case: Case) -> None:
        """Print one case under its path."""
        self.status = output.worst(self.status, EXIT_STATUS[case.decision.state])
        with self.bar.hidden():
            if self.as_json:
                fields = decision_text.decision_object(case.decision) | self.extra_fields(case)
                output.print_json(output.file_object(path, fields))
            else:
                lines = self.lines(path_text(path), case)
                output.print_lines(chain([""] * bool(self.printed), lines))
        self.printed += 1


@click.command("decide")
@options.paths_argument
@options.option(
    "--evidence FILE", "Decide this evidence bundle; - for standard input.", multiple=True
)
@options.pass_session
def decide(session: options.Session, paths: tuple[str, ...], evidence: tuple[str, ...]) -> int:
    """Decide files, folders or `-` (paths on standard input, separated by lines or NUL).

    The decisions are stored; only `canon write` writes tags. With -v, addresses, every missing fact
    and the checks of a model's answer are shown, too; `canon explain` says why the other candidates
    lost.

    Exit status: 0 every file decided, 3 some wait for a person, 1 some failed.
    """
    results = _CasePrinter(session.as_json)
    if not session.verbosity:
        results.lines = _without_repeats(partial(decision_text.decision_lines, brief=True))
    return _decide_all(session, paths, evidence, results, saves=True)


def _without_repeats(
    lines: Callable[[str, Case], Iterator[str]],
) -> Callable[[str, Case], Iterator[str]]:
    """Return a function like `lines` that leaves out hints and causes printed before."""
    printed: set[object] = set()

    def shortened(path: str, case: Case) -> Iterator[str]:
        changes: dict[str, object] = {}
        decision = case.decision
        if decision.hint in printed:
            changes["hint"] = msgspec.UNSET
        if decision.cause is Cause.LOOKUP_FAILED and decision.error in printed:
            changes["error"] = "the look-up failed for the same reason as above"
        printed.update((decision.hint, decision.error))
        return lines(path, replace(case, decision=msgspec.structs.replace(decision, **changes)))

    return shortened


@click.command("explain")
@options.paths_argument
@options.option(
    "--evidence FILE", "Explain this evidence bundle; - for standard input.", multiple=True
)
@options.flag("--again", "Ask the model again instead of showing its stored run.")
@options.pass_session
def explain(
    session: options.Session, paths: tuple[str, ...], evidence: tuple[str, ...], *, again: bool
) -> int:
    """Decide files or folders, and show the rules and why every other candidate lost.

    The stored answer of a model is shown; a model is only asked with --again, or about a bundle,
    whose answers are not stored. With -v every rule and candidate is shown, with the releases that
    give its dates. The decision is not stored: `canon decide` does that.

    Exit status: 0 every file decided, 3 some wait for a person, 1 some failed.
    """
    rules = session.config.rules

    def lines(path: str, case: Case) -> Iterator[str]:
        yield from decision_text.explanation_lines(path, case, rules, whole=session.verbosity > 0)

    extra_fields = partial(decision_text.explanation_object, rules_config=rules)
    results = _CasePrinter(session.as_json, lines, extra_fields)
    return _decide_all(session, paths, evidence, results, saves=False, asks_model=again)


def _decide_all(
    session: options.Session,
    paths: tuple[str, ...],
    evidence: tuple[str, ...],
    results: _CasePrinter,
    *,
    saves: bool,
    asks_model: bool = True,
) -> int:
    """Decide the named files and bundles; if `saves`, store the decisions on files.

    Unless `asks_model`, files are decided with the stored run of a model instead of a new one.
    """
    if bool(paths) == bool(evidence):
        raise UsageError("name files or folders, such as ~/Music, or --evidence FILE.json")
    pipeline = live_pipeline(session)
    without_lookups = replace(pipeline, overrides=OverrideLookup(overrides(session.config)))
    for place in evidence:
        output.set_log_file(place)
        decide_it = partial(_decide_evidence, without_lookups, place)
        results.show(place, attempt(decide_it))
    if paths:
        _decide_files(session, pipeline, paths, results, saves=saves, asks_model=asks_model)
    return results.status


def live_pipeline(session: options.Session) -> Pipeline:
    """Return the configured rules and model; with -vv the model's runs are shown."""
    live = LiveRun() if session.shows_run else None
    pipeline = rules_and_model(
        session.config,
        record=transcripts_folder(),
        on_event=live.on_event if live else None,
        on_token=live.on_token if live else None,
    )
    return replace(pipeline, asks_years=session.config.llm.ask == "year")


def _decide_evidence(pipeline: Pipeline, place: str) -> Case:
    return decide_bundle(pipeline, read_bundle_file(place))


def _decide_files(
    session: options.Session,
    pipeline: Pipeline,
    paths: Sequence[str],
    results: _CasePrinter,
    *,
    saves: bool,
    asks_model: bool,
) -> None:
    # Slow to import, and not needed for a decision on an evidence bundle.
    from chart_binder.jobs.batch.report import BatchTally

    config, names = session.config, list(options.named_paths(paths))
    is_whole = len(names) > 1 or any(Path(name).is_dir() for name in names)
    tally, failures, is_stored = BatchTally(), 0, True
    with (
        session.open_store() as store,
        saved_run(store, "decide", options.command_line()) if saves else nullcontext() as run,
    ):
        versions = run_versions(config, run.run.id if run else "")
        pipeline = with_store(pipeline, config, store, versions)
        is_quiet = session.quiet or session.shows_run or not (is_whole or sys.stderr.isatty())
        after_s = 0 if is_whole else 1
        with Progress([*map(Path, names)], is_quiet=is_quiet, after_s=after_s) as results.bar:
            remaining = _named_files(names)
            for name, item in remaining:
                if not (saves or isinstance(item, UnreadablePath)):
                    is_stored &= current_decisions(store, [path_bytes(item.path)]) != [None]
                results.bar.show(tally)
                output.set_log_file(name)
                case = _decide_item(pipeline, item, run, None if asks_model else store)
                outcome = FileOutcome(item.path, case.decision, tagged_year=tagged_year(case))
                tally.add_file(outcome, None)
                results.show(name, case)
                results.bar.show(tally)
                failures = 0 if config.musicbrainz.offline else _failures(failures, case.decision)
                if failures == MAX_FAILED_LOOKUPS:
                    break
        if is_whole and tally.files:
            _print_summary(
                tally, sum(1 for _ in remaining) if failures == MAX_FAILED_LOOKUPS else None
            )
        _print_next(tally, paths, is_stored=is_stored)
        if run:
            run.end(results.status)


def _decide_item(
    pipeline: Pipeline,
    item: AudioFile | UnreadablePath,
    run: LazyRun | None,
    stored: "Store | None",
) -> Case:
    """Decide a file; if there is a `run`, save the decision under it.

    If there is a `stored` store, its run of a model is used, and no model is asked.
    """
    if isinstance(item, UnreadablePath):
        file = unreadable_case(item.path, item.problem)
    elif stored:
        file = explain_file(pipeline, item.path, stored)
    else:
        file = decide_file(pipeline, item.path)
    return save_file(pipeline, file, run) if run else file.case


def _named_files(names: Iterable[str]) -> Iterator[tuple[str, AudioFile | UnreadablePath]]:
    for name in names:
        for item in options.audio_files(name):
            yield name if item.path == Path(name) else str(item.path), item


def _failures(before: int, decision: Decision) -> int:
    """Return how many look-ups have failed in a row, including this decision."""
    if decision.cause is Cause.LOOKUP_FAILED:
        return before + 1
    return before if decision.cause is Cause.FILE else 0


def _print_summary(tally: "BatchTally", not_tried: int | None) -> None:
    """Print a summary as a batch does; `not_tried` files remain if MusicBrainz failed too often."""
    from chart_binder.cli.batch_text import headline, measure_lines

    measures = msgspec.structs.replace(tally.measures(), errors={})
    lines = chain([headline(measures)], measure_lines(measures))
    if not_tried is not None:
        failed = counted(MAX_FAILED_LOOKUPS, "time")
        why = f"stopped: MusicBrainz failed {failed} in a row"
        why += f"; {counted(not_tried, 'file')} not tried" if not_tried else ""
        lines = chain(output.wrap(why), lines)
    output.print_notes(("", *lines))


def _print_next(tally: "BatchTally", paths: Sequence[str], *, is_stored: bool) -> None:
    from chart_binder.cli.batch_text import next_call

    named_again = () if "-" in paths else paths
    if is_stored:
        output.print_next(next_call(tally.measures(), named_again))
    elif named_again:
        output.print_next(output.canon_call("decide", *named_again))


def read_bundle_file(place: str) -> EvidenceBundle:
    """Read a bundle from a file, or from standard input for `-`. Raises `CanonError`."""
    bundle = read_bundle(read_file(place))
    performer = bundle.performer
    for key, country in (
        ("begin_area_country", performer.begin_area_country),
        ("wikidata_country", performer.wikidata_country),
    ):
        if country and not re.fullmatch("[A-Z]{2}", country_code(country) or ""):
            _log.warning("artist.%s: %r is not the code of a country, such as GB", key, country)
    for key, unknown in unknown_words(bundle):
        _log.warning("%s: MusicBrainz has no %r, so it is read as unknown", key, unknown)
    return bundle


@click.command("demo")
@options.flag("--full", "Show the rules one by one, and the model's run.")
@options.pass_session
def demo(session: options.Session, *, full: bool) -> int:
    """Decide two sample files: one by rules, one with a recorded run of a model."""

    def lines(path: str, case: Case) -> Iterator[str]:
        if not full:
            return _demo_lines(path, case)
        return _full_demo_lines(path, case, config.rules)

    output.set_up_logging(LogConfig(), session.verbosity)
    has_text = not session.as_json
    if has_text:
        output.print_lines((*output.wrap(_OPENING), ""))
    results = _CasePrinter(session.as_json, lines)
    with _demo_files() as (files, config), open_store(config.store.url) as store:
        on_event = _show_event if has_text and full else None
        pipeline = replace(
            rules_and_model(config, record=None, on_event=on_event),
            evidence=musicbrainz_evidence(config, store),
        )
        for file in files:
            output.set_log_file(file.name)
            results.show(file.name, decide_file(pipeline, file).case)
    if has_text and not full:
        output.print_lines(("", *output.wrap(_FINE_PRINT)))
    output.print_next("canon decide FOLDER")
    return results.status


def _demo_lines(path: str, case: Case) -> Iterator[str]:
    """Yield a decision without addresses, and the outcome of a model's run."""
    decision = case.decision
    tags = case.bundle.tags if case.bundle else {}
    plain = replace(case, decision=msgspec.structs.replace(decision, adjudication=None))
    head = f"{path} (album in its tags: {tags.get('album')})"
    yield from decision_text.decision_lines(head, plain, explained=True, brief=True)
    if result := decision.adjudication:
        changes = {f"{fact.before} -> {fact.value}" for fact in result.facts if fact.verified}
        dates, turns = ", ".join(sorted(changes)), counted(result.iterations, "turn")
        text = f"the rules left it open; a model found {dates} on two web pages, in {turns}"
        yield from output.labelled("model", text)


def _full_demo_lines(path: str, case: Case, rules: RulesConfig) -> Iterator[str]:
    """Yield the explanation of a decision, and the quotes that support a model's answer."""
    yield from decision_text.explanation_lines(path, case, rules, brief=True)
    facts = case.decision.adjudication.facts if case.decision.adjudication else ()
    for fact in facts:
        site = urlsplit(fact.source or "").hostname or "no source"
        yield from output.labelled("verified", f'"{fact.quote}" ({site})')


@contextmanager
def _demo_files() -> Iterator[tuple[list[Path], Config]]:
    """Yield the audio files, and a configuration whose store has the recorded answers."""
    from importlib.resources import as_file, files
    from tempfile import TemporaryDirectory

    with (
        as_file(files("chart_binder") / "demo") as shipped,
        TemporaryDirectory(prefix="canon-demo-") as folder,
    ):
        config = Config(
            llm=LLMConfig(
                enabled=True, provider="replay", model_id=str(shipped / "transcript.jsonl")
            ),
            musicbrainz=MusicBrainzConfig(offline=True, source="web"),  # not an index of the user
            store=StoreConfig(url=f"sqlite:///{folder}/store.db"),
        )
        with open_store(config.store.url) as store:
            for line in (shipped / "answers.jsonl").read_text("utf-8").splitlines():
                answer = msgspec.json.decode(line)
                store.answers.put(answer["key"], answer["body"].encode(), time.time())
        yield sorted((shipped / "audio").glob("*.*")), config


def _show_event(event: AnyEvent) -> None:
    """Print a turn of the recorded run in two lines: what the model thought, and what it did."""
    match event:
        case ReplyEvent(iteration=1):
            text = f"\nturn 1: {event.content.partition(chr(10))[0]}"
        case ReplyEvent():
            text = f"turn {event.iteration}: {event.content.partition(chr(10))[0]}"
        case StepEvent(tool=str(tool), arguments=dict(arguments)):
            text = f"        {tool} {next(iter(arguments.values()), '')}"
        case ResultEvent():
            text = f"        {event.result.get('outcome')}: {event.result.get('rationale')}"
        case _:
            return
    output.print_lines([output.shortened(text, output.line_width())])
