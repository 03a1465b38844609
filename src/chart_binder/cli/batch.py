"""`canon batch`: a whole library, resumable, with a report at the end."""

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

from chart_binder.batch import run_items
from chart_binder.cli.decide import named_paths
from chart_binder.cli.options import Session, common_options, pass_session, typed
from chart_binder.cli.output import readable
from chart_binder.cli.progress import Progress, Wish, ending_at_once, finishing_in_hand, progress
from chart_binder.cli.render.run import file_line, log_fields, result_of, summary_lines
from chart_binder.cli.render.tags import require_no_song
from chart_binder.cli.terminal import harmless
from chart_binder.cli.write import say
from chart_binder.domain.records import KeptRun, Measures, now_utc
from chart_binder.domain.tags import Policy
from chart_binder.errors import UsageError
from chart_binder.jobs.batch.report import metrics_json, prometheus_text
from chart_binder.jobs.batch.requests import (
    BundleRequest,
    PendingRequests,
    RequestReader,
    read_lines,
)
from chart_binder.jobs.batch.run import on_error
from chart_binder.jobs.batch.work import find_albums

if TYPE_CHECKING:
    from chart_binder.batch import BatchOptions, BatchResult, FileResult


_EVERY_S = 5.0
_AS_JSON = ".json"
_FAILED, _INTERRUPTED = 1, 130


@dataclass(slots=True)
class MetricsFile:
    """A file that is replaced whole every few seconds; one named `*.json` holds JSON."""

    path: str
    run: KeptRun
    last: "FileResult | None" = None
    written_at: float = 0.0
    is_broken: bool = False

    def tick(self, file: "FileResult | None" = None) -> None:
        """Write how far the run has come, where that is due."""
        self.last = file or self.last
        if self.last and time.monotonic() - self.written_at >= _EVERY_S:
            self._try(self.last.so_far.measures(), None)

    def end(self, result: "BatchResult") -> None:
        """Write what the run came to."""
        self.run = msgspec.structs.replace(self.run, id=result.run_id)
        self._try(result.measures, result.status)

    def broken_off(self, error: BaseException) -> None:
        """Write that the run ended before its end."""
        status = _INTERRUPTED if isinstance(error, KeyboardInterrupt) else _FAILED
        self._try(self.last.so_far.measures() if self.last else Measures(), status)

    def begin(self) -> None:
        """Write that nothing is done yet.

        Raises `UsageError` where the file cannot be written, or is a song.
        """
        require_no_song("--metrics", self.path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):  # noqa: PTH110, PTH113
            raise UsageError(f"--metrics {readable(self.path)}: it is no file that can be replaced")
        try:
            self._write(Measures())
        except OSError as error:
            raise UsageError(f"--metrics {readable(self.path)}: {error.strerror}") from error

    def _try(self, found: Measures, status: int | None) -> None:
        """Write; a disk that is full is no reason to end the run."""
        if self.last:
            self.run = msgspec.structs.replace(self.run, id=self.last.run_id)
        if status is not None:
            ended = now_utc()
            self.run = msgspec.structs.replace(self.run, status=status, ended_at_utc=ended)
        try:
            self._write(found)
        except OSError as error:
            if not self.is_broken:
                why = error.strerror
                click.echo(f"canon: --metrics {readable(self.path)}: {why}; goes on", err=True)
            self.is_broken = True

    def _write(self, found: Measures) -> None:
        self.written_at = time.monotonic()
        is_json = self.path.endswith(_AS_JSON)
        text = (metrics_json if is_json else _prometheus)(self.run, found)
        target = os.path.realpath(self.path)  # a link stays, and leads to the new file
        folder, name = os.path.split(target)
        # The collector reads `*.prom`, so it passes over this name.
        temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")  # noqa: PTH118 - any bytes
        try:
            with open(temporary, "wb") as file:  # noqa: PTH123 - as the umask says, for others read
                file.write(text)
            os.replace(temporary, target)  # noqa: PTH105
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            raise


@contextmanager
def metrics_file(path: str | None) -> Iterator[MetricsFile | None]:
    """Yield the file that a run's metrics are written into, if one was asked for."""
    if path is None:
        yield None
        return
    run = KeptRun(id="", command="batch", started_at_utc=now_utc())
    metrics = MetricsFile(path, run)
    metrics.begin()
    with on_error(metrics.broken_off):
        yield metrics


def _prometheus(run: KeptRun, found: Measures) -> bytes:
    return prometheus_text(run, found).encode()


_batch_stdin_log = logging.getLogger(__name__)


def serve(
    session: "Session",
    options: "BatchOptions",
    arguments: tuple[str, ...],
    measured: "MetricsFile | None",
) -> int:
    """Answer every line with one, as soon as it is decided, and return the exit status.

    An answer has the `line` it is for, from 1, and the `id` that was in it.
    """
    if sys.stdin is None:
        raise UsageError("--stdin: standard input is closed")
    begun = PendingRequests()
    lines = RequestReader(read_lines(sys.stdin.fileno()))

    def finished(file: "FileResult") -> None:
        line = begun.of(file.path, is_given=file.outcome.is_given)
        head = {"line": line.number, "id": line.id}
        said = result_of(file) | ({"path": None} if isinstance(line.target, BundleRequest) else {})
        click.echo(msgspec.json.encode(head | said))
        _batch_stdin_log.info("finished", extra=log_fields(file))
        if measured:
            measured.tick(file)

    with finishing_in_hand("what is in hand is") as wish:
        result = run_items(
            lines.items(begun),
            session.config,
            options,
            arguments=arguments,
            on_file=finished,
            to_stop=lambda: wish.to_stop,
            said=lambda line: say([line]),
        )
    if measured:
        measured.end(result)
    left = "lines without an answer are left"
    for text in summary_lines(result, left, is_dry=options.dry_run):
        click.echo(harmless(text), err=True)
    return result.status


class ReportFile:
    """Takes lines; a disk that is full ends the report, not the run."""

    def __init__(self, path: str) -> None:
        """Open the file anew. Raises `UsageError` where it cannot be written, or is a song."""
        self.is_broken = False
        self._name = readable(path)
        require_no_song("--report", path)
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except OSError as error:
            raise UsageError(f"--report {self._name}: {error.strerror}") from error

    def write(self, line: bytes) -> None:
        """Write a line."""
        if self.is_broken:
            return
        try:
            os.write(self._descriptor, line + b"\n")
        except OSError as error:
            self.is_broken = True
            told = f"canon: --report {self._name}: {error.strerror}; it ends here"
            click.echo(told, err=True)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


@contextmanager
def report_file(path: str | None) -> Iterator[ReportFile | None]:
    """Yield the file that a run is reported into, if one was asked for."""
    report = ReportFile(path) if path is not None else None
    try:
        yield report
    finally:
        if report:
            report.close()


_log = logging.getLogger(__name__)
FAILED = 1
_ONLY = ("open", "failed", "review")


@click.command("batch")
@click.argument("paths", nargs=-1, type=click.Path(path_type=str))
@click.option("--jobs", type=click.IntRange(1, 256), help="Albums looked up at once (batch.jobs).")
@click.option("--write", is_flag=True, help="Write tags where that is allowed.")
@click.option(
    "--policy",
    type=click.Choice([policy.value for policy in Policy]),
    default=Policy.IDS.value,
    help="What is written: ids (the default), or full.",
)
@click.option("--keep-mtime", is_flag=True, help="Leave the files' modification times.")
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
@click.option("--offline", is_flag=True, help="Open no socket: cached evidence only.")
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
@common_options
@pass_session
def command(
    session: Session,
    /,
    paths: tuple[str, ...],
    report: str | None,
    metrics: str | None,
    offline: bool,
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
    session.flags |= {"musicbrainz.offline": True} if offline else {}
    options = _options(flags)
    options.check()
    if from_stdin:
        with ending_at_once(), metrics_file(metrics) as measured:
            return serve(session, options, typed(click.get_current_context()), measured)
    with ending_at_once(), metrics_file(metrics) as measured:
        return _over_files(session, paths, options, report, measured)


def _over_files(
    session: Session,
    paths: tuple[str, ...],
    options: "BatchOptions",
    report: str | None,
    measured: "MetricsFile | None",
) -> int:
    from chart_binder.batch import run_items

    named = [Path(path) for path in named_paths(paths)]
    arguments = typed(click.get_current_context())
    is_drawn = not (session.as_json and sys.stdout.isatty())
    with (
        report_file(report) as written,
        progress(named, is_all=not options.only, is_drawn=is_drawn) as bar,
        finishing_in_hand("what is in hand is") as wish,
    ):
        telling = _Telling(session.as_json, written, bar, measured, wish)
        result = run_items(
            find_albums(named),
            session.config,
            options,
            arguments=arguments,
            on_file=telling.finished,
            to_stop=telling.is_to_stop,
            said=lambda line: say([line]),
        )
    if measured:
        measured.end(result)
    goes_on = "begins anew" if options.dry_run or (options.refresh and "-" in paths) else "goes on"
    lines = summary_lines(result, f"the same command {goes_on}", is_dry=options.dry_run)
    for line in lines:
        click.echo(harmless(line), err=session.as_json)
    return FAILED if written and written.is_broken else result.status


@dataclass(frozen=True, slots=True)
class _Telling:
    """Tells of files as they are finished, wherever somebody wants to know."""

    as_json: bool
    report: "ReportFile | None"
    bar: Progress
    measured: "MetricsFile | None"
    wish: Wish

    def finished(self, file: "FileResult") -> None:
        line = file_line(file)
        if self.report:
            self.report.write(line)
        if self.as_json:
            click.echo(line)
        _log.info("finished", extra=log_fields(file))
        self._tell(file)

    def is_to_stop(self) -> bool:
        """Tell how it goes, for this is asked also while no file is finished."""
        self._tell()
        return self.wish.to_stop

    def _tell(self, file: "FileResult | None" = None) -> None:
        self.bar.show(file.so_far if file else None)
        if self.measured:
            self.measured.tick(file)


def _options(flags: dict[str, object]) -> "BatchOptions":
    from chart_binder.batch import (
        BatchOptions,
        Executor,
    )
    from chart_binder.jobs.batch.resume import Which

    only = flags.pop("only")
    named = [] if only is None else [one.strip() for one in str(only).split(",")]
    odd = [one for one in named if one not in _ONLY]
    if odd:
        raise UsageError(f"--only: found {odd[0]!r}; {', '.join(_ONLY)} are allowed")
    options = BatchOptions(
        only=frozenset(map(Which, named)),
        policy=Policy(str(flags.pop("policy"))),
        executor=Executor(str(flags.pop("executor"))),
    )
    return replace(options, **flags)  # type: ignore[arg-type]  # named as the fields are
