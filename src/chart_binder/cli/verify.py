"""`canon verify`: files are held against the journal of tags."""

from collections import Counter
from pathlib import Path

import click

from chart_binder.audio.walk import UnreadablePath, find_audio_files
from chart_binder.cli.decide import named_paths
from chart_binder.cli.logs import about_file
from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.output import readable
from chart_binder.cli.render.tags import change_lines, json_line, shown_path, told_line
from chart_binder.cli.write import say
from chart_binder.errors import UsageError
from chart_binder.jobs.undo import Finding, Verification, verify
from chart_binder.store import open_store
from chart_binder.wiring import store_url

_STATUS = {
    Finding.SAME: 0,
    Finding.UNRECORDED: 0,
    Finding.OPEN: 3,
    Finding.TAGS_DIFFER: 3,
    Finding.AUDIO_DIFFERS: 1,
    Finding.UNREADABLE: 1,
}
_WORST_FIRST = (1, 3, 0)


@click.command("verify")
@click.argument("paths", nargs=-1, type=click.Path(path_type=str))
@common_options
@pass_session
def command(session: Session, paths: tuple[str, ...]) -> int:
    """Read the tags and audio of files again, and say what differs from what was written.

    Nothing is changed. Exit status: 0 all as written, 3 tags differ, or a named file was never
    written; 1 audio differs, or cannot be read.
    """
    if not paths:
        raise UsageError("name files or folders, or - for paths on standard input")
    status = 0
    counts: Counter[Finding] = Counter()
    with open_store(store_url(session.config)) as store:
        for named in named_paths(paths):
            for item in find_audio_files([Path(named)]):
                about_file(readable(str(item.path)))
                if isinstance(item, UnreadablePath):
                    found = Verification(item.path, Finding.UNREADABLE, str(item.problem))
                else:
                    found = verify(store, item.path)
                is_named = item.path == Path(named)
                counts[found.finding] += 1
                status = min(status, _status(found, is_named=is_named), key=_WORST_FIRST.index)
                _show(session, found, is_named=is_named)
    say([", ".join(f"{count} {finding}" for finding, count in counts.items()) or "no file"])
    return status


def _status(found: Verification, *, is_named: bool) -> int:
    return 3 if found.finding is Finding.UNRECORDED and is_named else _STATUS[found.finding]


def _show(session: Session, found: Verification, *, is_named: bool) -> None:
    if session.as_json:
        write = found.write
        more = {
            "state": found.finding, "why": found.why, "decision_id": write and write.decision_id,
            "run_id": write and write.run_id, "write_id": write and write.id,
            "written_at_utc": write and write.at_utc,
        }  # fmt: skip
        click.echo(json_line(str(found.path), more, found.changes))
        return
    if found.finding is Finding.SAME or (found.finding is Finding.UNRECORDED and not is_named):
        return  # the summary counts them
    click.echo(shown_path(found.path))
    for line in told_line(found.finding, found.why or ""):
        click.echo(line)
    for line in change_lines(found.changes, 4):
        click.echo(line)
