"""`canon doctor`: is everything reachable and right, and what to do if not."""

import click
import msgspec

from chart_binder.checkup import Finding, checks, examine, status
from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.terminal import harmless, terminal_width, wrapped

_MARKS = {
    (True, True): "ok",
    (True, False): "ok",
    (False, True): "BROKEN",
    (False, False): "missing",
}
"""By whether it is well and whether it is needed."""


@click.command("doctor")
@common_options
@pass_session
def command(session: Session) -> int:
    """Check the store, MusicBrainz, the model and the search service; say what to do.

    Exit status: 0 all well, 3 something optional missing, 1 something needed broken.
    """
    found = []
    for finding in examine(checks(session.config)):
        found.append(finding)
        _show(session, finding)
    return status(found)


def _show(session: Session, finding: Finding) -> None:
    if session.as_json:
        click.echo(msgspec.json.encode(finding))
    else:
        mark = _MARKS[finding.is_well, finding.is_needed]
        head = f"{mark:<8} {finding.name:<12} "
        for line in wrapped(finding.said, terminal_width(), head, len(head)):
            click.echo(harmless(line))
