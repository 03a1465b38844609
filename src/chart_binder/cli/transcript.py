"""`canon transcript`: recorded runs, read and run again."""

from collections.abc import Iterable, Iterator
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Any

import click
import msgspec

from chart_binder.cli.options import Group, Session, common_options, pass_session
from chart_binder.cli.output import readable
from chart_binder.cli.progress import event_lines, show_event
from chart_binder.cli.render.decision import outcome_lines
from chart_binder.cli.render.html import run_page
from chart_binder.cli.render.tags import require_no_song
from chart_binder.cli.terminal import harmless
from chart_binder.errors import CanonError, PluginError, UsageError
from chart_binder.files import read_file, read_lines
from chart_binder.jobs.parse import ParsedReply, ReplyParser, ReplyToParse, read_reply_line
from chart_binder.jobs.transcripts import (
    Comparison,
    Difference,
    Pair,
    RecordedRun,
    compare,
    read_recording,
)
from chart_binder.jobs.transcripts import replay as run_again
from chart_binder.llm.result import Outcome

_HEAD = 3
"""How many lines a unified difference begins with, before the first line of text."""
_MOST_LINES = 2_000
"""Above this many lines a text is shown whole: comparing them takes time by the square."""


def comparison_lines(a: str, b: str, comparison: Comparison) -> Iterator[str]:
    """Yield the verdict first, then every difference; `a` and `b` are what the runs are called."""
    yield f"--- {a}"
    yield f"+++ {b}"
    yield _verdict(comparison)
    for difference in comparison.before:
        yield from _shown(f"{difference.part}: {difference.where}", difference)
    for pair in comparison.turns if comparison.departure else ():
        yield from _turn(pair)
    for difference in comparison.result:
        yield from _shown(f"result: {difference.where}", difference)


def comparison_object(comparison: Comparison) -> dict[str, object]:
    """Return the same as plain values, for JSON."""
    first = comparison.departure
    return {
        "same": comparison.same,
        "departure": first and {**_numbers(first), "where": first.differences[0].where},
        "before": msgspec.to_builtins(comparison.before),
        "turns": msgspec.to_builtins(comparison.turns),
        "result": msgspec.to_builtins(comparison.result),
    }


def _verdict(comparison: Comparison) -> str:
    if comparison.same:
        return f"the same in all {len(comparison.turns)} turns"
    first = comparison.departure
    if first:
        return f"different: they part in {_named(first)}, {first.differences[0].where}"
    return f"different, but all {len(comparison.turns)} turns are the same"


def _turn(pair: Pair) -> Iterator[str]:
    name = _named(pair)
    if not pair.differences:
        yield from ("", f"{name}: the same")
    for difference in pair.differences:
        yield from _shown(f"{name}: {difference.where}", difference)


def _named(pair: Pair) -> str:
    if pair.a is None:
        return f"turn {pair.b} of the second run alone"
    if pair.b is None:
        return f"turn {pair.a} of the first run alone"
    return f"turn {pair.a}" if pair.a == pair.b else f"turn {pair.a} and {pair.b}"


def _numbers(pair: Pair) -> dict[str, int | None]:
    return {"a": pair.a, "b": pair.b}


def _shown(title: str, difference: Difference) -> Iterator[str]:
    yield from ("", title)
    a, b = _lines(difference.a), _lines(difference.b)
    if a == b:  # line ends, or a number here and its text there
        a, b = [_json(difference.a)], [_json(difference.b)]
    if max(len(a), len(b)) > _MOST_LINES:
        yield from (f"- {line}" for line in a)
        yield from (f"+ {line}" for line in b)
        return
    for line in islice(unified_diff(a, b, lineterm="", n=1), _HEAD, None):
        yield "  ..." if line.startswith("@@") else f"{line[0]} {line[1:]}"


def _lines(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.splitlines() or [""]
    return [_json(value)]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


_FILE = click.Path(path_type=Path)


@click.group("transcript", cls=Group)
@common_options
def command() -> None:
    """Read, compare, replay or parse recorded runs of the adjudicator."""


@command.command("show")
@click.argument("file", type=_FILE)
@common_options
@pass_session
def show(session: Session, file: Path) -> None:
    """Print a recorded run as it happened.

    Exit status: 0, or 1 where FILE is no transcript or cannot be read.
    """
    recorded = read_recording(file)
    for event in recorded.events:
        if session.as_json:
            click.echo(msgspec.json.encode(event))
        else:
            _print(event_lines(event))
    if session.as_json:
        if recorded.missing:
            click.echo(f"canon: {readable(str(file))}: {recorded.missing}", err=True)
        return
    if recorded.outcome:
        _print(outcome_lines(recorded.outcome, recorded.bundle))
    if recorded.missing:
        click.echo(f"=== {recorded.missing}")


@command.command("replay")
@click.argument("file", type=_FILE)
@common_options
@pass_session
def replay(session: Session, file: Path) -> int:
    """Play a recorded run again, without network or model, and compare the result.

    Exit status: 0 the same, 1 another result, none at all, or a FILE that cannot be read.
    """
    recorded = read_recording(file)
    result = run_again(file, show_event if session.shows_run else None)
    before = recorded.result
    differs = _differences(before, result.to_dict())
    if session.as_json:
        now = result.to_dict() | {"transcript": str(file)}
        click.echo(msgspec.json.encode({"same": not differs, "differs": differs, "result": now}))
    else:
        said = result.rationale or result.problem or "no reason given"
        _print([f"{result.outcome}: {said}", *outcome_lines(result, recorded.bundle)])
        click.echo(f"as recorded    {_compared(recorded, differs)}")
    return 1 if differs or (before is None and result.outcome is Outcome.ERROR) else 0


@command.command("diff")
@click.argument("a", type=_FILE)
@click.argument("b", type=_FILE)
@common_options
@pass_session
def diff(session: Session, a: Path, b: Path) -> int:
    """Print how two recorded runs differ: settings, evidence, every turn, the result.

    Times, costs, run ids and file names are not compared. The exit status is that of diff: 0 the
    same, 1 different, 2 a file cannot be read.
    """
    try:
        one, other = read_recording(a), read_recording(b)
    except CanonError as error:
        raise UsageError(str(error)) from error  # 1 would say that the runs differ
    comparison = compare(one, other)
    if session.as_json:
        missing = {"a": one.missing or None, "b": other.missing or None}
        click.echo(msgspec.json.encode(comparison_object(comparison) | {"missing": missing}))
    else:
        _print(comparison_lines(_called(a, one), _called(b, other), comparison))
    return 0 if comparison.same else 1


@command.command("html")
@click.argument("file", type=_FILE)
@click.option("-o", "--out", type=_FILE, help="Write this file; by default standard output.")
@common_options
@pass_session
def html(session: Session, file: Path, out: Path | None) -> None:
    """Print a recorded run as one page for a browser, which needs nothing beside itself.

    Exit status: 0, 1 where FILE is no transcript or something cannot be read or written, 2 where
    the page would replace the transcript, or what is called audio.
    """
    del session
    page = run_page(readable(file.name), read_recording(file)).encode("utf-8", "replace")
    if out is None:
        click.echo(page, nl=False)
        return
    require_no_song("--out", out)
    if out.exists() and out.samefile(file):
        raise UsageError(f"--out: {out} is the transcript itself; name another file")
    try:
        out.write_bytes(page)
    except OSError as error:
        raise CanonError(f"{out}: cannot be written ({error.strerror or error})") from error


@command.command("parse")
@click.argument("file", type=_FILE, default="-")
@click.option(
    "--dialect",
    metavar="NAME",
    default="classic",
    show_default=True,
    help="How the reply is written: classic, pause, xml, or as a plug-in reads it.",
)
@click.option("--jsonl", is_flag=True, help='Read lines {"text": ..., "dialect": ...}.')
@click.option(
    "--any",
    "takes_any",
    is_flag=True,
    help="Take any tool and any answer, not those of the adjudicator alone.",
)
@common_options
@pass_session
def parse(session: Session, file: Path, dialect: str, jsonl: bool, takes_any: bool) -> int:
    """Print what is understood from a model's reply in FILE, by default standard input.

    A reply is read as the adjudicator reads it: a tool must be installed and on, an answer must be
    its JSON object; else the reply is malformed, and `problem` is what the model would be told.
    With --any, a reply is read by its dialect alone. The output is JSON, one line a reply, whatever
    --output says.

    Exit status: 0 read, also where a reply is malformed; 1 FILE cannot be read; 2 a line of --jsonl
    is no reply to read (the others are answered all the same), or the dialect is not installed.
    """
    understanding = ReplyParser(session.config.llm, takes_any=takes_any)
    if not jsonl:
        understanding.dialect(dialect)  # before standard input is waited for
        text = read_file(file).decode("utf-8", "replace")
        click.echo(msgspec.json.encode(understanding.of(ReplyToParse(text, dialect))))
        return 0
    status = 0
    for number, line in enumerate(read_lines(file), start=1):
        if not line.strip():
            continue
        try:
            understood = understanding.of(read_reply_line(line))
        except (UsageError, PluginError) as error:
            problem = f"line {number}: {error}"
            status, understood = 2, ParsedReply("malformed", problem=problem)
            click.echo(f"canon: {harmless(problem)}", err=True)
        click.echo(msgspec.json.encode(understood))
    return status


def _differences(before: dict[str, Any] | None, now: dict[str, Any]) -> list[str]:
    """Return the keys of a result that came out otherwise than they were recorded."""
    if before is None:
        return []
    return [key for key in now if key not in _NOT_COMPARED and now[key] != before.get(key)]


def _compared(recorded: RecordedRun, differs: list[str]) -> str:
    if recorded.result is None:
        return recorded.missing or "no result was recorded"
    return f"NOT the same: {', '.join(differs)}" if differs else "the same"


def _called(file: Path, recorded: RecordedRun) -> str:
    name = readable(str(file))
    return f"{name} ({recorded.missing})" if recorded.missing else name


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(harmless(line))


_NOT_COMPARED = frozenset({"usage", "transcript"})
"""What a replay cannot have in common with its recording: time, and the place of the record."""
