"""`canon batch`: decide a whole library, or requests on standard input, and report each file."""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from chart_binder.audio.find import UnreadablePath
from chart_binder.batch import BatchOptions, Executor, estimate_batch, library, run_items
from chart_binder.cli import options, output
from chart_binder.cli.batch_text import (
    file_result,
    log_fields,
    next_call,
    summary_line,
    summary_lines,
)
from chart_binder.cli.progress import Progress
from chart_binder.cli.terminal import exit_at_once, exit_on_interrupt, stop_after_current
from chart_binder.domain.records import Measures, RunRecord, now_utc
from chart_binder.errors import INTERRUPTED, UsageError, counted, end_status
from chart_binder.files import path_text, replace_file
from chart_binder.jobs.batch.items import (
    Estimate,
    EstimatedPart,
    Order,
    Requests,
    read_lines,
)
from chart_binder.jobs.batch.report import BatchTally, metrics_json, prometheus_text
from chart_binder.jobs.batch.resume import FileSelection
from chart_binder.jobs.batch.run import Items
from chart_binder.jobs.stored_decisions import new_run

if TYPE_CHECKING:
    from chart_binder.batch import BatchResult, FileResult
    from chart_binder.config import Config
    from chart_binder.store import Store

_FAILED = 1
_MINUTE = 1 / 60
_KINDS = {
    "compilation": ("compilation", "compilations"),
    "best-of": ("best-of", "best-ofs"),
    "undated": ("undated album", "undated albums"),
}
_METRICS_EVERY_S = 5.0
_ONLY = tuple(map(str, FileSelection))
_log = logging.getLogger(__name__)


class _Duration(click.ParamType[float]):
    """A duration such as `8h`, `90m` or `1h30m`, in seconds."""

    name = "time"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the seconds."""
        duration = options.read_duration(value)
        if duration is None:
            self.fail(f"{value!r} is not a time such as 8h, 90m or 1h30m", param, ctx)
        return duration.total_seconds()


@click.command("batch")
@options.paths_argument
@options.option("--jobs N", "Albums looked up at once (batch.jobs).", type=click.IntRange(1, 256))
@options.flag("--write", "Write the tags of the decisions that may be written.")
@options.tag_options
@options.save_options
@options.flag(
    "--dry-run",
    "Decide, but store and write nothing; only answers of MusicBrainz are stored, if there is a"
    " store.",
)
@options.option(
    "--report FILE", "Write a line of JSON for every file of the run to FILE.", type=options.PATH
)
@options.option(
    "--metrics FILE",
    "Write Prometheus text every few seconds, or JSON to a file *.json.",
    type=options.PATH,
)
@options.flag(
    "--refresh",
    "Decide every file again with freshly fetched evidence; continues after an interruption.",
)
@options.flag("--frozen", "Fetch no evidence: decide by the stored evidence.")
@options.option(
    "--only WHICH",
    f"Only files in these states, or of compilations (with commas): {', '.join(_ONLY)}.",
    shell_complete=options.completed(lambda: _ONLY),
)
@options.option(
    "--order",
    "What goes first: compilations, best-ofs and undated albums, or folders as they are found.",
    type=click.Choice(["compilations", "path"]),
    default="compilations",
)
@options.flag("--ask-years", "Afterwards, ask the model about uncertain years, compilations first.")
@options.option(
    "--for TIME",
    "How long --ask-years may take, such as 8h or 90m.",
    into="ask_seconds",
    type=_Duration(),
)
@options.flag(
    "--estimate", "Only read the tags, and estimate the requests and hours that deciding takes."
)
@options.option(
    "--executor",
    "Where files are decided: in threads here, or on a Dask cluster.",
    type=click.Choice(["threads", "dask"]),
    default="threads",
)
@options.option(
    "--scheduler ADDRESS",
    "Address of a Dask scheduler; without it a cluster is started on this machine.",
)
@options.flag(
    "--stdin", "from_stdin", "Read requests as JSON lines, and answer each with one line."
)
@options.pass_session
def batch(
    session: options.Session,
    /,
    paths: tuple[str, ...],
    report: str | None,
    metrics: str | None,
    from_stdin: bool,
    estimate: bool,
    **flags: Any,
) -> int:
    """Decide every audio file of a library; the same call continues an earlier one.

    Compilations, best-ofs and albums without a date go first (--order). Ctrl-C stops within two
    seconds. With -v a log line is printed for each finished file.

    Exit status: 0 every file decided, 3 some wait for a person or are not written, 1 some failed, 2
    bad usage, 130 interrupted.
    """
    if bool(paths) == from_stdin:
        raise UsageError("name files or folders, - for paths on standard input, or --stdin")
    if from_stdin and report:
        raise UsageError("--report: with --stdin the same lines are on standard output")
    if from_stdin and flags["ask_years"]:
        raise UsageError("--ask-years asks about the files of a library: leave out --stdin")
    if from_stdin and flags["only"] is not None:
        raise UsageError("--only chooses files of a library: with --stdin every line is answered")
    if estimate and (from_stdin or report or metrics or flags["write"]):
        raise UsageError(
            "--estimate decides nothing: leave out --stdin, --report, --metrics and --write"
        )
    run_options = _options(session.config, **flags)
    run_options.check()
    if estimate or run_options.dry_run:
        session.create_no_store()
    if estimate:
        return _estimate(session, paths, run_options)
    with exit_on_interrupt(), metrics_file(metrics) as measured:
        if from_stdin:
            status = _decide_requests(session, run_options, measured)
        else:
            status = _decide_files(session, paths, run_options, report, measured)
        if status == INTERRUPTED:  # threads may still wait for answers
            exit_at_once(status)
        return status


def _options(config: "Config", only: str | None, **flags: Any) -> BatchOptions:
    states = [] if only is None else [name.strip() for name in only.split(",")]
    unknown = [name for name in states if name not in _ONLY]
    if unknown:
        raise UsageError(f"--only: there is no {unknown[0]!r}, only {', '.join(_ONLY)}")
    tag_flags = {
        name: flags[name] for name in ("whole_albums", "also_date", "in_parts", "best_known")
    }
    flags |= {
        "only": frozenset(map(FileSelection, states)),
        "policy": flags["policy"]
        and options.write_options(config, flags["policy"], **tag_flags).policy,
        "executor": Executor(flags["executor"]),
        "order": Order(flags["order"]),
    }
    return BatchOptions(**flags)


def _estimate(session: options.Session, paths: tuple[str, ...], run_options: BatchOptions) -> int:
    roots = [Path(path) for path in options.named_paths(paths)]
    tally, status = BatchTally(), 0

    def on_unreadable(path: UnreadablePath) -> None:
        nonlocal status
        status = _FAILED
        output.print_error(path_text(str(path.problem)))

    with Progress(roots, is_quiet=session.quiet) as bar:

        def on_album(files: int) -> None:
            tally.files = tally.worked = files
            bar.show(tally)

        estimate = estimate_batch(roots, session.config, run_options, on_album, on_unreadable)
    session.show(
        estimate, estimate_lines(estimate, only=FileSelection.COMPILATIONS in run_options.only)
    )
    return status


def estimate_lines(estimate: Estimate, *, only: bool) -> Iterator[str]:
    """Yield an estimate as text; with `only`, just for compilations."""
    left_out = (
        (estimate.resumed, "decided before"),
        (estimate.unreadable, "without audio that can be read"),
        (estimate.unidentified, "whose tags say too little"),
    )
    parts = [f"{count:,} {words}" for count, words in left_out if count]
    yield from summary_line("files", ", ".join([f"{estimate.files:,}", *parts]))
    whole, part = estimate.all, estimate.compilations
    if estimate.years:
        runs, pace = counted(estimate.years.runs, "run"), f"{estimate.years.seconds_a_run:g} s each"
        text = f"{counted(estimate.years.files, 'decided file')}: {runs} of the model ({pace})"
        yield from summary_line("years", f"{text}, about {_hours(estimate.years.hours)}")
    if not whole.files:
        if estimate.files:
            yield from summary_line("to decide", "nothing is left to look up")
        return
    if not only:
        yield from summary_line("to decide", _part_text(whole))
        pace = output.rate_text(estimate.rate_per_s) if estimate.rate_per_s else "no limit is set"
        yield from summary_line("pace", f"{pace} (musicbrainz.rate_limit_per_s)")
    kinds = ", ".join(counted(count, *_KINDS[kind]) for kind, count in estimate.kinds.items())
    yield from summary_line("compilations", f"{_part_text(part)}{f' ({kinds})' if kinds else ''}")
    if not only and part.files < whole.files and part.files:
        saved = whole.requests - part.requests
        hours = None if whole.hours is None or part.hours is None else whole.hours - part.hours
        time = "" if hours is None else f", {_hours(hours)}"
        yield from summary_line("", f"`--only compilations` saves about {saved:,} requests{time}")
    yield from summary_line("note", "cached answers are counted too, though they cost nothing")


def _part_text(part: EstimatedPart) -> str:
    text = (
        f"{counted(part.files, 'file')} in {counted(part.albums, 'album')}: about"
        f" {part.requests:,} requests"
    )
    if part.hours is not None and part.most_hours is not None:
        text += f", {_hours(part.hours)}"
        return f"{text}; at most {part.most_requests:,}, {_hours(part.most_hours)}"
    return f"{text}, at most {part.most_requests:,}"


def _hours(hours: float) -> str:
    return output.duration(round(hours * 60) * 60) if hours >= _MINUTE else "less than a minute"


def _decide_files(
    session: options.Session,
    paths: tuple[str, ...],
    run_options: BatchOptions,
    report: str | None,
    metrics: "MetricsFile",
) -> int:
    roots = [Path(path) for path in options.named_paths(paths)]
    is_drawn = not (session.as_json and sys.stdout.isatty())
    with (
        _report_file(report) as report_file,
        Progress(
            () if run_options.only else roots, is_drawn=is_drawn, is_quiet=session.quiet
        ) as bar,
    ):

        def on_file(file: "FileResult") -> None:
            line = msgspec.json.encode(file_result(file))
            report_file.write(line)
            if session.as_json:
                click.echo(line)
            bar.show(file.so_far)

        items = partial(library, roots, run_options)
        result = _run(session, run_options, items, metrics, on_file)
    starts_again = run_options.dry_run or (run_options.refresh and "-" in paths)
    what_next = f"the same command {'starts again' if starts_again else 'continues'}"
    named_again = () if "-" in paths else paths
    session.summarize(summary_lines(result, what_next, is_dry=run_options.dry_run))
    if not run_options.dry_run:
        output.print_next(next_call(result.measures, named_again))
    return _FAILED if report_file.is_broken else result.status


def _decide_requests(
    session: options.Session, run_options: BatchOptions, metrics: "MetricsFile"
) -> int:
    """Answer every line of standard input with one line as soon as it is decided."""
    if sys.stdin is None:
        raise UsageError("--stdin: standard input is closed")
    requests = Requests()

    def on_file(file: "FileResult") -> None:
        line = requests.pop(file.path, is_given=file.outcome.is_given)
        answer = {"line": line.number, "id": line.id} | file_result(file)
        output.print_json(answer | ({"path": None} if file.outcome.is_given else {}))

    items = requests.items(read_lines(sys.stdin.fileno()))
    result = _run(session, run_options, lambda _: items, metrics, on_file)
    what_next = "lines without an answer were not decided"
    output.print_notes(summary_lines(result, what_next, is_dry=run_options.dry_run))
    return result.status


def _run(
    session: options.Session,
    run_options: BatchOptions,
    items: Callable[["Store"], Items],
    metrics: "MetricsFile",
    on_file: Callable[["FileResult"], None],
) -> "BatchResult":
    def finish(file: "FileResult") -> None:
        on_file(file)
        _log.info("finished", extra=log_fields(file))
        metrics.update(file)

    def is_to_stop() -> bool:
        metrics.update()
        return stop.is_set()

    message = "stops within two seconds, and keeps what is decided"
    if run_options.executor is Executor.DASK:
        message = "stops when the workers have finished their current albums"
    with stop_after_current(message) as stop:
        result = run_items(
            items,
            session.config,
            run_options,
            run=new_run("batch", options.command_line()),
            on_file=finish,
            to_stop=is_to_stop,
            on_message=lambda line: output.print_notes([line]),
        )
    metrics.end(result.status, result)
    return result


@contextmanager
def metrics_file(path: str | None) -> Iterator["MetricsFile"]:
    """Yield the metrics file, and record an error that ends the run in it."""
    metrics = MetricsFile(path)
    if path is not None:
        options.refuse_audio_file("--metrics", path)
        if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
            raise UsageError(f"--metrics {path_text(path)}: not a file that can be replaced")
        try:
            metrics.write(path)
        except OSError as error:
            raise UsageError(f"--metrics {path_text(path)}: {error.strerror}") from error
    try:
        yield metrics
    except BaseException as error:
        metrics.end(end_status(error))
        raise


@dataclass(slots=True)
class MetricsFile:
    """A file that is replaced every few seconds; a file `*.json` holds JSON."""

    path: str | None
    run: RunRecord = field(
        default_factory=lambda: RunRecord(id="", command="batch", started_at_utc=now_utc())
    )
    tally: BatchTally | None = None
    written_at: float = 0.0
    is_broken: bool = False

    def update(self, file: "FileResult | None" = None) -> None:
        """Write how far the run is, if that is due."""
        if file:
            self.tally = file.so_far
            self.run = msgspec.structs.replace(self.run, id=file.run_id)
        if self.tally and time.monotonic() - self.written_at >= _METRICS_EVERY_S:
            self._try_to_write()

    def end(self, status: int, result: "BatchResult | None" = None) -> None:
        """Write the end of the run, with its result unless an error ended it."""
        run_id = result.run_id if result else self.run.id
        changes = {"id": run_id, "status": status, "ended_at_utc": now_utc()}
        self.run = msgspec.structs.replace(self.run, **changes)
        self._try_to_write(result.measures if result else None)

    def _try_to_write(self, measures: Measures | None = None) -> None:
        """Write the run; report a full disk once, and continue."""
        if self.path is None:
            return
        try:
            self.write(self.path, measures)
        except OSError as error:
            if not self.is_broken:
                name, why = path_text(self.path), error.strerror
                output.print_error(f"--metrics {name}: {why}; the run continues")
            self.is_broken = True

    def write(self, path: str, measures: Measures | None = None) -> None:
        """Replace the file; by default with the measures so far. Raises `OSError`."""
        self.written_at = time.monotonic()
        measures = measures or (self.tally.measures() if self.tally else Measures())
        as_json = path.endswith(".json")
        measured = (metrics_json if as_json else prometheus_text)(self.run, measures)
        content = measured if isinstance(measured, bytes) else measured.encode()
        replace_file(path, content)  # through `.*.tmp`, which a collector of `*.prom` ignores


@contextmanager
def _report_file(path: str | None) -> Iterator["_ReportFile"]:
    place = path or os.devnull
    options.refuse_audio_file("--report", place)
    try:
        file = Path(place).open("wb", buffering=0)  # noqa: SIM115 - closed below
    except OSError as error:
        raise UsageError(f"--report {path_text(place)}: {error.strerror}") from error
    with file:
        yield _ReportFile(file)


@dataclass(slots=True)
class _ReportFile:
    """Writes a line for each file; a full disk ends the report, not the run."""

    file: FileIO
    is_broken: bool = False

    def write(self, line: bytes) -> None:
        if self.is_broken:
            return
        try:
            self.file.write(line + b"\n")
        except OSError as error:
            self.is_broken = True
            output.print_error(
                f"--report {path_text(str(self.file.name))}: {error.strerror}; the report ends here"
            )
