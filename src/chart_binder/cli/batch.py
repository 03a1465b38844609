"""`canon batch`: a whole library, resumable, with a report at the end."""

import logging
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chart_binder.cli.batch_metrics import metrics_file
from chart_binder.cli.batch_progress import Progress, progress
from chart_binder.cli.batch_report import file_line, log_fields, summary_lines
from chart_binder.cli.batch_report_file import report_file
from chart_binder.cli.decide import named_paths
from chart_binder.cli.harmless import harmless
from chart_binder.cli.in_hand import Wish, ending_at_once, finishing_in_hand
from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.typed import typed
from chart_binder.cli.write import say
from chart_binder.domain.tagging import Policy
from chart_binder.errors import UsageError
from chart_binder.jobs.batch.albums import albums

if TYPE_CHECKING:
    from chart_binder.batch import BatchOptions, FileResult
    from chart_binder.cli.batch_metrics import MetricsFile
    from chart_binder.cli.batch_report_file import ReportFile

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
        from chart_binder.cli.batch_stdin import serve  # noqa: PLC0415 - its own way of working

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
    from chart_binder.batch import run_items  # noqa: PLC0415 - heavy, and --help needs none of it

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
            albums(named),
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
    from chart_binder.batch import BatchOptions  # noqa: PLC0415 - heavy
    from chart_binder.batch.hands import Executor  # noqa: PLC0415 - heavy
    from chart_binder.jobs.batch.resuming import Which  # noqa: PLC0415 - heavy

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
