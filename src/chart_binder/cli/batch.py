"""`canon batch`: a whole library, or requests on standard input, with reports as files end."""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from chart_binder.batch import BatchOptions, Executor, run_items
from chart_binder.cli.options import (
    INTERRUPTED,
    Session,
    command_line,
    keep_mtime_option,
    named_paths,
    offline_option,
    pass_session,
    paths_argument,
    refuse_audio_file,
)
from chart_binder.cli.output import print_json, print_lines, print_notes, readable
from chart_binder.cli.progress import (
    Progress,
    StopRequest,
    exit_on_interrupt,
    progress,
    stop_after_current,
)
from chart_binder.cli.render.run import file_result, log_fields, summary_lines
from chart_binder.domain.records import KeptRun, Measures, now_utc
from chart_binder.domain.tags import Policy
from chart_binder.errors import UsageError
from chart_binder.jobs.batch import find_albums
from chart_binder.jobs.batch.report import metrics_json, prometheus_text
from chart_binder.jobs.batch.requests import (
    BundleRequest,
    PendingRequests,
    RequestReader,
    read_lines,
)
from chart_binder.jobs.batch.resume import Which
from chart_binder.jobs.batch.run import on_error

if TYPE_CHECKING:
    from chart_binder.batch import BatchResult, FileResult

_FAILED = 1
_METRICS_EVERY_S = 5.0
_ONLY = ("open", "failed", "review")
_STOPPING = "what is in hand is"
_log = logging.getLogger(__name__)


@click.command("batch")
@paths_argument
@click.option("--jobs", type=click.IntRange(1, 256), help="Albums looked up at once (batch.jobs).")
@click.option("--write", is_flag=True, help="Write tags where that is allowed.")
@click.option(
    "--policy",
    type=click.Choice([policy.value for policy in Policy]),
    default=Policy.IDS.value,
    help="What is written: ids (the default), or full.",
)
@keep_mtime_option
@click.option("--dry-run", is_flag=True, help="Decide all the same; keep and write nothing.")
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=str),
    help="Write a line of JSON for every file of the run.",
)
@click.option(
    "--metrics",
    metavar="FILE",
    type=click.Path(path_type=str),
    help="Write Prometheus text every few seconds; JSON where it is named *.json.",
)
@click.option(
    "--refresh",
    is_flag=True,
    help="Decide all files anew, on evidence asked for anew; goes on where that was cut short.",
)
@click.option("--frozen", is_flag=True, help="Ask for no evidence: go by what is kept.")
@click.option(
    "--only",
    metavar="WHICH",
    help=f"Files whose last decision stands so: {', '.join(_ONLY)}; several with commas.",
)
@offline_option
@click.option(
    "--executor",
    type=click.Choice(["threads", "dask"]),
    default="threads",
    help="Who works: threads here, or a Dask cluster.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Of Dask; else a cluster is started here.")
@click.option(
    "--stdin",
    "from_stdin",
    is_flag=True,
    help="Take what to decide as JSON lines, and answer each with one.",
)
@pass_session
def batch(
    session: Session,
    /,
    paths: tuple[str, ...],
    report: str | None,
    metrics: str | None,
    from_stdin: bool,
    **flags: object,
) -> int:
    """Decide every audio file of a library; the same call goes on where one ended.

    Ctrl-C finishes what is in hand. With -v each file is told of as it is finished.

    Exit status: 0 every file decided, 3 some left open, for review or not written, 1 some failed, 2
    bad usage, 130 interrupted.
    """
    if bool(paths) == from_stdin:
        raise UsageError("name files or folders, or - for paths on standard input, or --stdin")
    if from_stdin and report:
        raise UsageError("--report: with --stdin the same lines are on standard output")
    if from_stdin and flags["only"] is not None:
        raise UsageError("--only chooses files of a library: with --stdin every line is answered")
    options = _options(flags)
    options.check()
    with exit_on_interrupt(), metrics_file(metrics) as measured:
        if from_stdin:
            return _decide_requests(session, options, measured)
        return _decide_files(session, paths, options, report, measured)


def _options(flags: dict[str, object]) -> BatchOptions:
    only = flags.pop("only")
    named = [] if only is None else [one.strip() for one in str(only).split(",")]
    unknown = [one for one in named if one not in _ONLY]
    if unknown:
        raise UsageError(f"--only: found {unknown[0]!r}; {', '.join(_ONLY)} are allowed")
    options = BatchOptions(
        only=frozenset(map(Which, named)),
        policy=Policy(str(flags.pop("policy"))),
        executor=Executor(str(flags.pop("executor"))),
    )
    return replace(options, **flags)  # type: ignore[arg-type]  # named as the fields are


def _decide_files(
    session: Session,
    paths: tuple[str, ...],
    options: BatchOptions,
    report: str | None,
    metrics: "MetricsFile | None",
) -> int:
    named = [Path(path) for path in named_paths(paths)]
    is_drawn = not (session.as_json and sys.stdout.isatty())
    with (
        _report_file(report) as written,
        progress(named, is_all=not options.only, is_drawn=is_drawn) as bar,
        stop_after_current(_STOPPING) as stop,
    ):
        listener = _Listener(session.as_json, written, bar, metrics, stop)
        result = run_items(
            find_albums(named),
            session.config,
            options,
            arguments=command_line(click.get_current_context()),
            on_file=listener.on_file,
            to_stop=listener.is_to_stop,
            said=lambda line: print_notes([line]),
        )
    if metrics:
        metrics.end(result)
    begins_anew = options.dry_run or (options.refresh and "-" in paths)
    what_next = f"the same command {'begins anew' if begins_anew else 'goes on'}"
    lines = summary_lines(result, what_next, is_dry=options.dry_run)
    print_lines(lines, err=session.as_json)
    return _FAILED if written and written.is_broken else result.status


@dataclass(frozen=True, slots=True)
class _Listener:
    """Reports each file that ends to everything that was asked for."""

    as_json: bool
    report: "_ReportFile | None"
    bar: Progress
    metrics: "MetricsFile | None"
    stop: StopRequest

    def on_file(self, file: "FileResult") -> None:
        line = msgspec.json.encode(file_result(file))
        if self.report:
            self.report.write(line)
        if self.as_json:
            click.echo(line)
        _log.info("finished", extra=log_fields(file))
        self._update(file)

    def is_to_stop(self) -> bool:
        """Return whether the run is to stop; called also while no file ends."""
        self._update()
        return self.stop.is_made

    def _update(self, file: "FileResult | None" = None) -> None:
        self.bar.show(file.so_far if file else None)
        if self.metrics:
            self.metrics.update(file)


def _decide_requests(session: Session, options: BatchOptions, metrics: "MetricsFile | None") -> int:
    """Answer every line of standard input with one, as soon as it is decided.

    An answer has the `line` it is for, from 1, and the `id` that was in it.
    """
    if sys.stdin is None:
        raise UsageError("--stdin: standard input is closed")
    begun = PendingRequests()
    lines = RequestReader(read_lines(sys.stdin.fileno()))

    def on_file(file: "FileResult") -> None:
        line = begun.pop(file.path, is_given=file.outcome.is_given)
        answer = {"line": line.number, "id": line.id} | file_result(file)
        print_json(answer | ({"path": None} if isinstance(line.target, BundleRequest) else {}))
        _log.info("finished", extra=log_fields(file))
        if metrics:
            metrics.update(file)

    with stop_after_current(_STOPPING) as stop:
        result = run_items(
            lines.items(begun),
            session.config,
            options,
            arguments=command_line(click.get_current_context()),
            on_file=on_file,
            to_stop=lambda: stop.is_made,
            said=lambda line: print_notes([line]),
        )
    if metrics:
        metrics.end(result)
    what_next = "lines without an answer are left"
    print_lines(summary_lines(result, what_next, is_dry=options.dry_run), err=True)
    return result.status


@contextmanager
def metrics_file(path: str | None) -> Iterator["MetricsFile | None"]:
    """Yield the file for metrics, if one is named; an error that ends the run is recorded in it.

    Raises `UsageError` where the file cannot be written, or has an audio suffix.
    """
    if path is None:
        yield None
        return
    metrics = MetricsFile(path, KeptRun(id="", command="batch", started_at_utc=now_utc()))
    metrics.begin()
    with on_error(metrics.fail):
        yield metrics


@dataclass(slots=True)
class MetricsFile:
    """A file that is replaced whole every few seconds; one named `*.json` holds JSON."""

    path: str
    run: KeptRun
    last: "FileResult | None" = None
    written_at: float = 0.0
    is_broken: bool = False

    def begin(self) -> None:
        """Write that nothing is done yet. Raises `UsageError`."""
        refuse_audio_file("--metrics", self.path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):  # noqa: PTH110, PTH113
            raise UsageError(f"--metrics {readable(self.path)}: it is no file that can be replaced")
        try:
            self._write(Measures())
        except OSError as error:
            raise UsageError(f"--metrics {readable(self.path)}: {error.strerror}") from error

    def update(self, file: "FileResult | None" = None) -> None:
        """Write how far the run is, where that is due."""
        self.last = file or self.last
        if self.last and time.monotonic() - self.written_at >= _METRICS_EVERY_S:
            self._try_to_write(self.last.so_far.measures(), None)

    def end(self, result: "BatchResult") -> None:
        """Write the result of the run."""
        self.run = msgspec.structs.replace(self.run, id=result.run_id)
        self._try_to_write(result.measures, result.status)

    def fail(self, error: BaseException) -> None:
        """Write that an error ended the run."""
        status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else _FAILED
        measures = self.last.so_far.measures() if self.last else Measures()
        self._try_to_write(measures, status)

    def _try_to_write(self, measures: Measures, status: int | None) -> None:
        """Write; a full disk is reported once and does not end the run."""
        if self.last:
            self.run = msgspec.structs.replace(self.run, id=self.last.run_id)
        if status is not None:
            ended = now_utc()
            self.run = msgspec.structs.replace(self.run, status=status, ended_at_utc=ended)
        try:
            self._write(measures)
        except OSError as error:
            if not self.is_broken:
                why = error.strerror
                click.echo(f"canon: --metrics {readable(self.path)}: {why}; goes on", err=True)
            self.is_broken = True

    def _write(self, measures: Measures) -> None:
        self.written_at = time.monotonic()
        is_json = self.path.endswith(".json")
        content = (
            metrics_json(self.run, measures)
            if is_json
            else prometheus_text(self.run, measures).encode()
        )
        target = os.path.realpath(self.path)  # a link stays, and leads to the new file
        folder, name = os.path.split(target)
        # A collector reads `*.prom`, and so ignores this name.
        temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")  # noqa: PTH118 - any bytes
        try:
            with open(temporary, "wb") as file:  # noqa: PTH123 - as the umask says, for others read
                file.write(content)
            os.replace(temporary, target)  # noqa: PTH105
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            raise


@contextmanager
def _report_file(path: str | None) -> Iterator["_ReportFile | None"]:
    """Yield the file for the report, if one is named."""
    if path is None:
        yield None
        return
    report = _ReportFile(path)
    try:
        yield report
    finally:
        os.close(report.descriptor)


class _ReportFile:
    """Takes a line for each file; a full disk ends the report, not the run."""

    def __init__(self, path: str) -> None:
        """Create the file. Raises `UsageError` where that fails, or it has an audio suffix."""
        self.is_broken = False
        self._name = readable(path)
        refuse_audio_file("--report", path)
        try:
            self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except OSError as error:
            raise UsageError(f"--report {self._name}: {error.strerror}") from error

    def write(self, line: bytes) -> None:
        """Write a line."""
        if self.is_broken:
            return
        try:
            os.write(self.descriptor, line + b"\n")
        except OSError as error:
            self.is_broken = True
            problem = f"canon: --report {self._name}: {error.strerror}; it ends here"
            click.echo(problem, err=True)
