"""`canon transcript`: show and replay recorded runs, and parse replies of a model."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from chart_binder import plugins
from chart_binder.cli import decision_text, options, output
from chart_binder.cli.run_events import LiveRun, event_lines
from chart_binder.domain.records import local_time
from chart_binder.errors import PluginError, UsageError
from chart_binder.files import path_text, read_file, read_lines
from chart_binder.jobs import transcripts
from chart_binder.jobs.stored_decisions import path_from_bytes
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.wiring import transcripts_folder

_NOT_COMPARED = frozenset({"usage", "transcript"})
"""Keys of a result that differ between a run and its replay: cost and file."""
_FILE = click.Path(path_type=Path, readable=False)


@options.group("transcript")
def transcript() -> None:
    """List, read, replay or parse recorded runs of the adjudicator."""


@transcript.command("list")
@options.option("--limit N", "List at most this many (20).", type=click.IntRange(1), default=20)
@options.pass_session
def list_runs(session: options.Session, limit: int) -> int:
    """List the recorded runs, newest first, with the names that `show` takes; times are local.

    Exit status: 0 success, or 1 if a transcript cannot be read.
    """
    skipped, newest = output.SkippedRecords(), ""
    with session.open_store() as store:
        folder = transcripts_folder()
        for listed in transcripts.list_recordings(store, folder, limit, skipped.record):
            fields = _listed_fields(listed)
            newest = newest or fields["path"] or fields["transcript"] or ""
            session.show(fields, _listed_lines(fields))
    if newest:
        output.print_next(output.canon_call("transcript", "show", newest))
    else:
        output.print_notes(["no run of a model is stored"])
        output.print_next(f"canon {'decide FOLDER' if session.config.llm.enabled else 'doctor'}")
    return skipped.status


def _listed_fields(listed: transcripts.ListedRun) -> dict[str, Any]:
    recorded, decision = listed.recorded, listed.decision
    run, outcome = recorded.run, recorded.result
    path = path_from_bytes(decision.path) if decision else None
    return {
        "started_at": run and run.started_at,
        "model_id": run and run.model_id,
        "outcome": outcome and outcome.outcome,
        "about": recorded.bundle and recorded.bundle.name,
        "decision": decision and decision.id,
        "transcript": listed.file and path_text(listed.file),
    } | (output.file_object(path, {}) if path else {"path": None})


def _listed_lines(fields: dict[str, Any]) -> Iterator[str]:
    began = "?"
    with suppress(ValueError):  # a person may have written the transcript by hand
        began = local_time(fields["started_at"] or "")
    outcome = fields["outcome"] or "no result"
    yield f"{began}  {outcome:<9}  {fields['about'] or '?'} ({fields['model_id'] or '?'})"
    yield f"  {fields['path'] or fields['transcript']}"


@transcript.command("show")
@click.argument("name", metavar="FILE_OR_DECISION", type=options.PATH_OR_ID)
@options.pass_session
def show(session: options.Session, name: str) -> None:
    """Print a recorded run as it happened.

    FILE_OR_DECISION is a transcript, an audio file (for its last run), or the id of a decision.

    Exit status: 0 success, or 1 if there is no such run, or it cannot be read.
    """
    recorded = transcripts.find_recording(session.open_store, name)
    for event in recorded.events:
        session.show(event, event_lines(event))
    if recorded.result and not session.as_json:
        output.print_lines(_outcome_lines(recorded.result, recorded))
    if recorded.missing:
        head = f"canon: {path_text(name)}:" if session.as_json else "==="
        output.print_lines([f"{head} {recorded.missing}"], err=session.as_json)


@transcript.command("replay")
@click.argument("file", type=_FILE)
@options.pass_session
def replay(session: options.Session, file: Path) -> int:
    """Replay a recorded run, without network or model, and compare the result.

    If the result differs, the recorded one is shown too.

    Exit status: 0 the same result, 1 another result or none, or FILE cannot be read.
    """
    recorded = transcripts.read_recording(file)
    result = transcripts.replay(file, LiveRun().on_event if session.shows_run else None)
    differs = _differences(recorded, result)
    compared = recorded.missing or "no result was recorded"
    if recorded.result_document is not None:
        compared = f"NOT the same: {', '.join(differs)}" if differs else "the same"
    lines = [*_result_lines(result, recorded), f"as recorded    {compared}"]
    if differs and recorded.result:
        lines = ["=== today", *lines, "=== as recorded", *_result_lines(recorded.result, recorded)]
    fields = {
        "same": not differs,
        "differs": differs,
        "result": result.to_dict() | {"transcript": str(file)},
        "recorded": recorded.result_document,
    }
    session.show(fields, lines)
    has_no_result = recorded.result_document is None and result.outcome is Outcome.ERROR
    return 1 if differs or has_no_result else 0


def _differences(recorded: transcripts.RecordedRun, result: AdjudicationResult) -> list[str]:
    """Return the keys in which a result differs from the recorded one."""
    if recorded.result_document is None or recorded.result is None:
        return []
    before, now = recorded.result.to_dict(), result.to_dict()
    compared = [
        key for key in before if key not in _NOT_COMPARED and key in recorded.result_document
    ]
    return [key for key in compared if now[key] != before[key]]


def _result_lines(result: AdjudicationResult, recorded: transcripts.RecordedRun) -> Iterator[str]:
    yield f"{result.outcome}: {result.rationale or result.problem or 'no reason given'}"
    yield from _outcome_lines(result, recorded)


def _outcome_lines(result: AdjudicationResult, recorded: transcripts.RecordedRun) -> Iterator[str]:
    return (
        f"{label:<14} {text}" for label, text in decision_text.outcome_rows(result, recorded.bundle)
    )


@transcript.command("html")
@click.argument("name", metavar="FILE_OR_DECISION", type=options.PATH_OR_ID)
@options.option("-o --out", "Write this file; by default standard output.", type=_FILE)
@options.pass_session
def html(session: options.Session, name: str, out: Path | None) -> None:
    """Print a recorded run as one self-contained page for a browser.

    Exit status: 0 success, 1 there is no such run, or a file cannot be read or written, 2 the page
    would replace the transcript or an audio file.
    """
    from chart_binder.pages.run import run_page  # imports Jinja2

    recorded = transcripts.find_recording(session.open_store, name)
    page = run_page(path_text(Path(name).name), recorded).encode("utf-8", "replace")
    if out is not None:
        options.refuse_audio_file("--out", out)
        if options.is_same_file(out, name):
            raise UsageError(f"--out: {out} is the transcript itself; name another file")
    output.write_file(out, page)


@transcript.command("parse")
@click.argument("file", type=_FILE, default="-")
@options.option(
    "--dialect NAME",
    "The dialect of the reply: classic, pause, xml, or that of a plug-in.",
    default="classic",
    show_default=True,
    shell_complete=options.completed(lambda: plugins.names("chart_binder.dialects")),
)
@options.flag("--jsonl", 'Read lines {"text": ..., "dialect": ...}.')
@options.flag(
    "--any", "takes_any", "Accept any tool and any answer, not only those of the adjudicator."
)
@options.pass_session
def parse(session: options.Session, file: Path, dialect: str, jsonl: bool, takes_any: bool) -> int:
    """Print how a model's reply in FILE, by default standard input, is parsed.

    The adjudicator's rules apply: a tool must be installed and on, and an answer must be the JSON
    object that is asked for. Otherwise the reply is malformed, and `problem` is what the model
    would be told. With --any only the dialect counts. The output is always JSON, one line for each
    reply.

    Exit status: 0 parsed, also as malformed; 1 FILE cannot be read; 2 a line of --jsonl is not
    valid (the others are still parsed), or the dialect is not installed.
    """
    parser = transcripts.ReplyParser(session.config.llm, takes_any=takes_any)
    if not jsonl:
        parser.dialect(dialect)  # fail before waiting for standard input
        text = read_file(file).decode("utf-8", "replace")
        output.print_json(parser.parse(transcripts.ReplyToParse(text, dialect)))
        return 0
    status = 0
    for number, line in enumerate(read_lines(file), start=1):
        if not line.strip():
            continue
        try:
            parsed = parser.parse(transcripts.read_reply_line(line))
        except (UsageError, PluginError) as error:
            problem = f"line {number}: {error}"
            status, parsed = 2, transcripts.ParsedReply("malformed", problem=problem)
            output.print_error(problem)
        output.print_json(parsed)
    return status
