"""`canon transcript`: recorded runs, read and run again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.results import harmless
from chart_binder.cli.watching import event_lines, show_event
from chart_binder.jobs.parse import Written, read_written, understand
from chart_binder.jobs.replay import read_recorded, recorded_result
from chart_binder.jobs.replay import replay as run_again
from chart_binder.llm.result import Outcome

_FILE = click.Path(path_type=Path)


@click.group("transcript")
@common_options
def command() -> None:
    """Read, replay or parse recorded runs of the adjudicator."""


@command.command("show")
@click.argument("file", type=_FILE)
@common_options
@pass_session
def show(session: Session, file: Path) -> None:
    """Print a recorded run as it happened."""
    for event in read_recorded(file):
        if session.as_json:
            click.echo(msgspec.json.encode(event))
        else:
            for line in event_lines(event):
                click.echo(harmless(line))


@command.command("replay")
@click.argument("file", type=_FILE)
@common_options
@pass_session
def replay(session: Session, file: Path) -> int:
    """Play a recorded run again, without network or model, and compare the result."""
    result = run_again(file, show_event if session.shows_run else None)
    before = recorded_result(read_recorded(file))
    differs = _differences(before, result.to_dict())
    if session.as_json:
        now = result.to_dict() | {"transcript": str(file)}
        click.echo(msgspec.json.encode({"same": not differs, "differs": differs, "result": now}))
    else:
        click.echo(f"{result.outcome}: {result.rationale or result.problem or 'no reason given'}")
        click.echo(f"release group  {result.crg_mbid or 'none'}")
        click.echo(f"release        {result.rr_mbid or 'none'}")
        click.echo(f"confidence     {result.confidence:.2f}")
        click.echo(f"as recorded    {_compared(before is not None, differs)}")
    return 1 if differs or (before is None and result.outcome is Outcome.ERROR) else 0


@command.command("parse")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--dialect", default="classic", show_default=True, help="How the reply is written.")
@click.option("--jsonl", is_flag=True, help='Read lines {"text": ..., "dialect": ...}.')
@common_options
@pass_session
def parse(session: Session, file: BinaryIO, dialect: str, jsonl: bool) -> None:
    """Print what is understood from a model's reply in FILE, by default standard input."""
    for written in _written(file, dialect, jsonl):
        click.echo(msgspec.json.encode(understand(written, session.config.llm)))


def _written(file: BinaryIO, dialect: str, jsonl: bool) -> Iterator[Written]:
    if jsonl:
        numbered = enumerate(file, start=1)
        yield from (read_written(line, number) for number, line in numbered if line.strip())
    else:
        yield Written(file.read().decode("utf-8", "replace"), dialect)


def _differences(before: dict[str, Any] | None, now: dict[str, Any]) -> list[str]:
    """Return the keys of a result that came out otherwise than they were recorded."""
    if before is None:
        return []
    return [key for key in now if key not in _NOT_COMPARED and now[key] != before.get(key)]


def _compared(was_recorded: bool, differs: list[str]) -> str:
    if not was_recorded:
        return "no result was recorded"
    return f"NOT the same: {', '.join(differs)}" if differs else "the same"


_NOT_COMPARED = frozenset({"usage", "transcript"})
"""What a replay cannot have in common with its recording: time, and the place of the record."""
