"""`canon transcript`: recorded runs, read and run again."""

from pathlib import Path

import click
import msgspec

from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.watching import event_lines, show_event
from chart_binder.jobs.replay import read_recorded, recorded_result
from chart_binder.jobs.replay import replay as run_again

_FILE = click.Path(path_type=Path)


@click.group("transcript")
@common_options
def command() -> None:
    """Read or replay recorded runs of the adjudicator."""


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
                click.echo(line)


@command.command("replay")
@click.argument("file", type=_FILE)
@common_options
@pass_session
def replay(session: Session, file: Path) -> int:
    """Play a recorded run again, without network or model, and compare the result."""
    result = run_again(file, show_event if session.shows_run else None)
    before = recorded_result(read_recorded(file))
    now = {key: value for key, value in result.to_dict().items() if key not in _NOT_COMPARED}
    same = before is None or now == {key: before.get(key) for key in now}
    if session.as_json:
        click.echo(
            msgspec.json.encode(
                {"same": same, "result": result.to_dict() | {"transcript": str(file)}}
            )
        )
    else:
        click.echo(f"{result.outcome}: {result.rationale or result.problem}")
        click.echo(f"release group  {result.crg_mbid or 'none'}")
        click.echo(f"release        {result.rr_mbid or 'none'}")
        click.echo(f"confidence     {result.confidence:.2f}")
        click.echo(f"as recorded    {_compared(before is not None, same)}")
    return 0 if same else 1


def _compared(was_recorded: bool, same: bool) -> str:
    if not was_recorded:
        return "no result was recorded"
    return "the same" if same else "NOT the same"


_NOT_COMPARED = frozenset({"usage", "transcript"})
"""What a replay cannot have in common with its recording: time, and the place of the record."""
