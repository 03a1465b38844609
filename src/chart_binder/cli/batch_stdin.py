"""`canon batch --stdin`: JSON lines in, JSON lines out, for a pipeline."""

import logging
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from chart_binder.batch import run_items
from chart_binder.cli.batch_report import log_fields, result_of, summary_lines
from chart_binder.cli.harmless import harmless
from chart_binder.cli.in_hand import finishing_in_hand
from chart_binder.cli.write import say
from chart_binder.errors import UsageError
from chart_binder.jobs.batch.given import Begun, Given, Lines, lines_from

if TYPE_CHECKING:
    from chart_binder.batch import BatchOptions, FileResult
    from chart_binder.cli.batch_metrics import MetricsFile
    from chart_binder.cli.options import Session

_log = logging.getLogger(__name__)


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
    begun = Begun()
    lines = Lines(lines_from(sys.stdin.fileno()))

    def finished(file: "FileResult") -> None:
        line = begun.of(file.path, is_given=file.settled.is_given)
        head = {"line": line.number, "id": line.known_as}
        said = result_of(file) | ({"path": None} if isinstance(line.asked, Given) else {})
        click.echo(msgspec.json.encode(head | said))
        _log.info("finished", extra=log_fields(file))
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
