"""`canon ls`, `canon forget`, `canon audit` and `canon playlist`: work on stored decisions."""

import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from chart_binder.cli import options, output
from chart_binder.cli.decision_text import recording_lines
from chart_binder.cli.terminal import CTRL_D, read_key
from chart_binder.domain.records import AuditVerdict
from chart_binder.errors import UsageError, counted
from chart_binder.files import path_text, safe_text
from chart_binder.jobs import listing
from chart_binder.jobs.decision import State
from chart_binder.jobs.stored_decisions import path_bytes, path_from_bytes
from chart_binder.jobs.wording import NO_ALBUM, UNTITLED, musicbrainz_page

if TYPE_CHECKING:
    from chart_binder.store import Store

Command = Callable[..., int]
_SHOWN = 50
_SAMPLE = 50
_VERDICTS = {"r": AuditVerdict.RIGHT, "w": AuditVerdict.WRONG, "u": AuditVerdict.UNSURE}
_KEYS = "r right, w wrong, u unsure, s skip, b back, q quit, ? keys"
_EXPLAINED = (
    "r  right: the release group and the first release are correct",
    "w  wrong: one of them is not correct",
    "u  unsure: you cannot tell; it counts as neither",
    "s  skip: the same command will ask about it again",
    "b  back: take back the verdict before this one, and ask again",
    "q  quit: every verdict is stored, and the same command continues",
)

_NEGATED = re.compile(r"-(?=[A-Za-z]+:\S)")


class QueryCommand(click.Command):
    """A command that reads `-state:decided` as a term of a query, not as short options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write negated terms with `^`, which queries also accept, in place of `-`."""
        terms = [f"^{argument[1:]}" if _NEGATED.match(argument) else argument for argument in args]
        return super().parse_args(ctx, terms)


def _complete_query(context: click.Context, _: click.Parameter, prefix: str) -> list[str]:
    """Complete a key of a query, or one of its few values; bash splits words at the colon."""
    words = [*(context.params.get("query") or ()), prefix]
    if words[-1] == ":":
        words.append("")
    if len(words) > 2 and words[-2] == ":" and words[-3] in listing.KEYS:  # noqa: PLR2004 (key:value)
        return [*options.completions(words[-1], listing.KEYS[words[-3]].values)]
    name, colon, value = prefix.partition(":")
    keys = [name] if colon else [key for key in listing.KEYS if key.startswith(name)]
    if len(keys) == 1 and keys[0] in listing.KEYS and (values := listing.KEYS[keys[0]].values):
        return [f"{keys[0]}:{completion}" for completion in options.completions(value, values)]
    return [] if colon else [f"{key}:" for key in keys]


query_argument = click.argument(
    "query", metavar="[QUERY]...", nargs=-1, shell_complete=_complete_query
)


def _sample_options(default: str = "") -> Callable[[Command], Command]:
    """Return the options that draw a sample; `default` is its size, for the help."""
    about = f"Draw this many at random{default}; with --by rule, this many of each rule."
    return options.together(
        options.option("--sample N", about, into="size", type=click.IntRange(1)),
        options.option("--by", "With --sample: draw from each rule.", type=click.Choice(["rule"])),
        options.option("--seed N", "Another number draws another sample.", type=int, default=0),
    )


@click.command("ls", cls=QueryCommand)
@query_argument
@options.option(
    "--format",
    "A list (the default), CSV, or JSON Lines.",
    into="form",
    type=click.Choice(["list", "csv", "jsonl"]),
)
@options.flag("-0", "--print0", "Print only paths, each followed by NUL.")
@options.option("--limit N", "List at most this many; 0 for all.", type=click.IntRange(0))
@_sample_options()
@options.pass_session
def ls(
    session: options.Session,
    query: tuple[str, ...],
    form: str | None,
    limit: int | None,
    size: int | None,
    by: str | None,
    seed: int,
    print0: bool,
) -> int:
    """List the current decisions that match a QUERY, or all of them.

    A QUERY has words and terms, such as `state:review year:1977..1979 artist:queen`. The keys are
    state, rule, by, artist, title, album (of the file), group (the title of the canonical release
    group), year and decade (of the first release), certain (yes, no), older (years before the
    album), question, cause, path and text. `-state:decided` excludes decided files. See
    docs/library.md.

    On a terminal, at most 50 tracks are listed by album: first release, artist and title, record,
    state; with -v also file, rule and reason. In a pipe, tabs separate the columns.

    Exit status: 0 success, 1 a record of the store is damaged, 2 bad usage.
    """
    if print0 and (form or session.as_json):
        raise UsageError("--print0 prints only paths: leave out --format and --output json")
    if by and size is None:
        raise UsageError("--by rule goes with --sample N")
    skipped = output.SkippedRecords()
    form = "paths" if print0 else "jsonl" if session.as_json else form or "list"
    parsed_query = listing.read_query(query)
    with session.open_store() as store:
        rows = listing.listing(store, parsed_query, skipped.decision)
        if size is not None:
            rows = iter(listing.sample(rows, size, seed, is_by_rule=by is not None))
        if form == "list" and sys.stdout.isatty():
            shown_rows = _SHOWN if limit is None else limit
            _print_list(rows, shown_rows, explained=session.verbosity > 0, is_whole=not query)
        else:
            _print(form, islice(rows, limit or None))
    return skipped.status


def _print_list(
    rows: Iterator[listing.ListedDecision], limit: int, *, explained: bool, is_whole: bool
) -> None:
    """Print the first tracks by folder and album, and notes on the rest."""
    counts: Counter[str] = Counter()
    needs_person: Counter[bool] = Counter()

    def counted_rows() -> Iterator[listing.ListedDecision]:
        for row in rows:
            counts[row.state] += 1
            needs_person[row.needs_person] += 1
            yield row

    listed_rows = listing.by_album(counted_rows(), limit)
    width = min(output.terminal_edge(), _MAX_WIDTH)
    output.print_lines(list_lines(listed_rows, width, explained=explained))
    hidden = counts.total() - len(listed_rows)
    notes = [f"{hidden:,} more: --limit 0 lists all"] if hidden else []
    if any((first := row.decision.first_release) and not first.year_certain for row in listed_rows):
        notes.append("?: that year or earlier")
    if count := counts[State.ERROR]:
        notes.append(f"{counted(count, 'error')}: `canon batch --only error FOLDER` tries again")
    if any(row.is_gone for row in listed_rows):
        notes.append("gone: the file does not exist any more; `canon forget PATH` forgets it")
    output.print_notes(notes)
    if outdated := next((row for row in listed_rows if row.is_outdated), None):
        output.print_next(output.canon_call("decide", str(Path(outdated.path).parent)))
    elif needs_person[True]:
        output.print_next("canon review")
    elif is_whole and not counts:
        output.print_next("canon decide FOLDER")


def _print(form: str, rows: Iterable[listing.ListedDecision]) -> None:
    if form == "list":
        output.print_lines(separated_lines(rows))
    elif form == "jsonl":
        for row in rows:
            output.print_json(row_object(row))
    else:
        paths = (row.record.path + b"\0" for row in rows)
        for record in paths if form == "paths" else csv_lines(rows):
            click.echo(record, nl=False)


@click.command("forget")
@options.some_paths_argument
@options.flag("--dry-run", "Only say how many files would be forgotten.")
@options.pass_session
def forget(session: options.Session, paths: tuple[str, ...], *, dry_run: bool) -> int:
    """Forget files, or all files below folders, even if they no longer exist.

    Their decisions and verdicts are deleted at once, without a question; --dry-run previews it. The
    files stay as they are. So does the journal of what was written to them, and `canon undo` works.
    `canon ls -0 QUERY | canon forget -` forgets what a query lists.

    Exit status: 0 success, or 2 bad usage.
    """
    encoded_paths = [path_bytes(path) for path in options.named_paths(paths)]
    if dry_run:
        session.create_no_store()
    with session.open_store() as store:
        forgotten = store.decisions.forget(encoded_paths, is_dry=dry_run)
    verb = "would forget" if dry_run else "forgot"
    text = f"{verb} {counted(forgotten.files, 'file')}"
    if forgotten.decisions:
        text += f" and {counted(forgotten.decisions, 'decision')}; the files stay as they are"
    if not forgotten.files:
        text = "canon knows no such file, so there is nothing to forget"
    session.show(msgspec.structs.asdict(forgotten) | {"dry_run": dry_run}, [text])
    call = options.same_call(removed="--dry-run") if dry_run else ""
    output.print_next(call if forgotten.files else output.canon_call("ls"))
    return 0


@click.command("audit", cls=QueryCommand)
@query_argument
@_sample_options(f" ({_SAMPLE})")
@options.flag(
    "--report", "Ask nothing: print the shares of errors in all judged decisions, or in --sample N."
)
@options.pass_session
def audit(
    session: options.Session,
    query: tuple[str, ...],
    size: int | None,
    by: str | None,
    seed: int,
    *,
    report: bool,
) -> int:
    """Judge a sample of the decisions that match a QUERY (see `canon ls`), with single keys.

    The keys: r right, w wrong, u unsure, s skip, b back (takes the last verdict back), q quit. Each
    verdict is stored at once, and the same call continues. An audit measures how often decisions
    are wrong, and changes none of them (`canon review` does). At the end it prints the share of
    errors of each rule with its 95% confidence interval (Wilson's). Only files in state `decided`
    are drawn, unless the QUERY names a state.

    Exit status: 0 the sample is judged, 3 some of it is left, 1 a record of the store is damaged, 2
    bad usage.
    """
    asks = not (report or session.as_json)
    if asks and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("audit asks questions, so it needs a terminal; --report does not")
    parsed_query = listing.read_query(query)
    if not any(term.key == "state" for term in parsed_query.terms):
        parsed_query = listing.DecisionQuery(
            (*parsed_query.terms, *listing.read_query(["state:decided"]).terms)
        )
    skipped = output.SkippedRecords()
    with session.open_store() as store:
        rows = listing.listing(store, parsed_query, skipped.decision, as_decided=True)
        if asks or by or size:
            drawn = listing.sample(rows, size or _SAMPLE, seed, is_by_rule=by is not None)
        else:
            judged = listing.audit_verdicts(store)
            drawn = [
                row for row in rows if listing.audited_outcome(row.record, row.decision) in judged
            ]
        if asks:
            _ask_verdicts(store, drawn)
        audited = listing.audit_report(drawn, listing.audit_verdicts(store))
    session.show(audited, report_lines(audited))
    output.print_next(options.same_call(removed="--report") if audited.left else "")
    return skipped.status or (3 if audited.left else 0)


def _ask_verdicts(store: "Store", drawn: Sequence[listing.ListedDecision]) -> None:
    judged = listing.audit_verdicts(store)
    pending = [
        row for row in drawn if listing.audited_outcome(row.record, row.decision) not in judged
    ]
    judged_now: set[int] = set()
    number = 0
    while number < len(pending) or number - 1 in judged_now:
        if number < len(pending):
            output.print_lines(
                ["", f"--- {number + 1} of {len(pending)}", *row_lines(pending[number]), _KEYS]
            )
        else:
            output.print_lines(["the end of the sample; b takes back the last verdict, q quits"])
        key = _read_audit_key(number < len(pending))
        if key == "b" and number:
            number -= 1
            if number in judged_now:
                judged_now.remove(number)
                store.audits.take_back(pending[number].record.id)
                output.print_lines(["taken back"])
        elif key in _VERDICTS:
            listing.save_audit(store, pending[number], _VERDICTS[key])
            output.print_lines([f"stored: {_VERDICTS[key].value}"])
            judged_now.add(number)
            number += 1
        elif key == "s":
            number += 1
        elif key != "b":
            break
    output.print_lines([""])


def _read_audit_key(has_case: bool) -> str:
    """Wait for a valid key; at the end of the sample there is no case to judge."""
    allowed = (*_VERDICTS, "s") if has_case else ()
    while (key := read_key()) not in (*allowed, "b", "q", CTRL_D):
        output.print_lines(_EXPLAINED if key == "?" else [f"no such key; {_KEYS}"])
    return key


@click.command("playlist", cls=QueryCommand)
@query_argument
@options.option(
    "--format",
    "M3U8, or a smart playlist of Navidrome; by default as the suffix of FILE says.",
    into="form",
    type=click.Choice(["m3u", "nsp"]),
)
@options.option("-o --out FILE", "Write this file; by default standard output.", type=options.PATH)
@options.pass_session
def playlist(
    session: options.Session, query: tuple[str, ...], form: str | None, out: str | None
) -> int:
    """Write a playlist of the files that match a QUERY (see `canon ls`), by first release.

    Files without a first release are left out; `certain:yes` also leaves out uncertain years. A
    smart playlist (.nsp) has conditions on artist, title, album, year and decade instead of files;
    Navidrome compares them with the tags that `canon write` writes.

    Exit status: 0 success, 1 nothing matches, a name cannot be listed or a record of the store is
    damaged, 2 bad usage.
    """
    options.refuse_json(session, "a playlist", "canon ls --json")
    parsed_query = listing.read_query(query)
    if out is not None:
        options.refuse_audio_file("--out", out)
    form = form or (_form_of(out) if out else "m3u")
    if form == "nsp":
        stem = Path(out).stem if out else " ".join(query) or "by first release"
        conditions = listing.smart_playlist(parsed_query, path_text(stem))
        text = json.dumps(conditions, ensure_ascii=False, indent=2)
        output.write_file(out, f"{text}\n".encode())
        if out is not None:
            output.print_notes([f"smart playlist {path_text(out)}: its player chooses the files"])
        return 0
    return _write_m3u(session, parsed_query, out)


def _write_m3u(
    session: options.Session, parsed_query: listing.DecisionQuery, out: str | None
) -> int:
    skipped = output.SkippedRecords()
    with session.open_store() as store:
        matches = list(listing.listing(store, parsed_query, skipped.decision))
    dated = listing.by_first_release(matches)
    existing = [row for row in dated if not row.is_gone]
    rows = [row for row in existing if listing.fits_m3u(row)]
    for row in existing:
        if not listing.fits_m3u(row):
            skipped.record(f"{row.path!r}: an M3U8 file cannot hold this name: rename the file")
    if not rows:
        output.print_notes(["no playlist was written: no file with a first release matches"])
        output.print_next("" if matches else "canon ls")
        return 1
    output.write_file(out, "".join(f"{line}\n" for line in listing.m3u_lines(rows)).encode())
    uncertain = sum(not row.decision.first_release.year_certain for row in rows)  # type: ignore[union-attr]
    parts = [f"{f'{path_text(out)}: ' if out else ''}{counted(len(rows), 'file')} by first release"]
    if uncertain:
        parts.append(f"{uncertain:,} of them of an uncertain year (certain:yes leaves them out)")
    left_out = {
        "without a first release": len(matches) - len(dated),
        "gone": len(dated) - len(existing),
    }
    parts += [f"{count:,} {reason} left out" for reason, count in left_out.items() if count]
    output.print_notes([", ".join(parts)])
    return skipped.status


def _form_of(out: str) -> str:
    if form := {".m3u": "m3u", ".m3u8": "m3u", ".nsp": "nsp"}.get(Path(out).suffix.casefold()):
        return form
    rule = "the name must end in .m3u, .m3u8 or .nsp, unless --format is given"
    raise UsageError(f"--out {path_text(out)}: {rule}")


_COLUMNS = (
    "artist", "title", "album", "year", "first_release", "year_certain", "first_release_on",
    "first_release_label", "first_release_country", "group", "group_type", "rule", "state",
    "reason", "address", "path",
)  # fmt: skip
_INDENT, _GAP = 2, 2
_NAMES_SHARE = 55
"""The percentage of a row for artist and title, if not all columns fit."""
_MAX_WIDTH, _LEAST_ARTIST = 120, 6


def row_object(row: listing.ListedDecision) -> dict[str, Any]:
    """Return a listed decision for JSON."""
    of_decision = (
        "artist", "title", "first_release", "crg_mbid", "crg_title", "crg_type", "crg_rule",
        "state", "decided_by",
    )  # fmt: skip
    fields = {name: getattr(row.decision, name) for name in of_decision} | {
        "album": row.album,
        "year": row.year,
        "reason": row.reason,
        "address": _address(row),
        "decision_id": row.record.id,
        "decided_at_utc": row.record.decided_at_utc,
        "is_there": not row.is_gone,
    }
    return output.file_object(path_from_bytes(row.record.path), fields)


def _address(row: listing.ListedDecision) -> str | None:
    crg, recording = row.decision.crg_mbid, row.decision.recording_mbid
    if crg:
        return musicbrainz_page("release-group", crg)
    return musicbrainz_page("recording", recording) if recording else None


def _values(row: listing.ListedDecision) -> tuple[str, ...]:
    decision, first = row.decision, row.decision.first_release
    release_values: tuple[object, ...] = ("",) * 5
    if first:
        certain = "yes" if first.year_certain else "no"
        release_values = (first.date, certain, first.title, first.label, first.country)
    values = (
        decision.artist, decision.title, row.album, row.year, *release_values, decision.crg_title,
        decision.crg_type, row.rule, row.state, row.reason, _address(row), row.path,
    )  # fmt: skip
    return tuple("" if value is None else str(value) for value in values)


def csv_lines(rows: Iterable[listing.ListedDecision]) -> Iterator[str]:
    """Yield CSV records with a header; each has its line end, and values may have line breaks."""
    for values in chain([_COLUMNS], map(_values, rows)):
        record = io.StringIO()
        # With an empty line end, the writer would not quote values with line breaks.
        csv.writer(record, lineterminator="\n").writerow(map(safe_text, values))
        yield record.getvalue()


def separated_lines(rows: Iterable[listing.ListedDecision]) -> Iterator[str]:
    """Yield a line for each decision, with values separated by tabs."""
    yield "\t".join(_COLUMNS)
    for row in rows:
        yield "\t".join(" ".join(value.split()) for value in _values(row))


def list_lines(
    rows: Sequence[listing.ListedDecision], width: int, *, explained: bool = False
) -> Iterator[str]:
    """Yield a heading for each album and a line for each track; if `explained`, with reasons."""
    if not rows:
        yield "no stored decision matches"
        return
    cells = [[output.printable(safe_text(cell)) for cell in _cells(row)] for row in rows]
    widths = [max(map(output.display_width, column)) for column in zip(*cells, strict=True)]
    date, name, origin, state = widths
    room = width - _INDENT - _GAP * (len(widths) - 1) - date - state
    name = min(name, max(room - origin, room * _NAMES_SHARE // 100))
    fitted = (date, name, min(origin, room - name), state)
    album = None
    for row, texts in zip(rows, cells, strict=True):
        if (folder_and_album := row.folder_and_album) != album:
            yield from [""] * (album is not None)
            title = ", ".join(filter(None, (row.album or NO_ALBUM, str(row.year or ""))))
            yield output.with_folder(title, str(Path(row.path).parent), width)
            album = folder_and_album
        texts[1] = _shortened_name(row, texts[1], fitted[1])
        columns = map(output.fit, texts, fitted)
        yield (" " * _INDENT + (" " * _GAP).join(columns)).rstrip()
        if explained:
            rule = f" ({row.rule.replace('_', ' ').lower()})" if row.rule else ""
            reason, file = row.reason or "no reason was given", Path(row.path).name
            reason = reason if file in reason and not rule else f"{file}{rule}: {reason}"
            yield from output.wrap(reason, " " * 2 * _INDENT, 3 * _INDENT, width)


def _shortened_name(row: listing.ListedDecision, name: str, width: int) -> str:
    """Return `artist - title` with the artist cut, because titles tell the tracks apart."""
    artist, title = row.decision.artist, row.decision.title
    if not (artist and title):
        return name
    end = f" - {output.printable(safe_text(title))}"
    room = width - output.display_width(end)
    return (
        f"{output.shortened(name.removesuffix(end), room)}{end}" if room >= _LEAST_ARTIST else name
    )


def _cells(row: listing.ListedDecision) -> tuple[str, ...]:
    """Return the date, the names, the record, and the state."""
    decision, first = row.decision, row.decision.first_release
    date = f"{first.best.date}{'' if first.year_certain else '?'}" if first else "-"
    names = " - ".join(filter(None, (decision.artist, decision.title))) or Path(row.path).name
    origin = decision.crg_title or (first.title if first else None) or "-"
    return date, names, origin, "gone" if row.is_gone else row.state


def row_lines(row: listing.ListedDecision) -> Iterator[str]:
    """Yield a decision in full: names, the file, dates, group, reason, address."""
    yield f"{row.path}{' (not there any more)' if row.is_gone else ''}"
    yield from recording_lines(row.decision, explained=True)
    filed = ", ".join(filter(None, (row.album, str(row.year or ""))))
    yield from output.labelled("your tags", filed or "name no album and no year")
    if row.decision.crg_mbid:
        group = row.decision.crg_title or UNTITLED
        kind = f" ({row.decision.crg_type})" if row.decision.crg_type else ""
        label = "belongs to" if row.decision.state is State.DECIDED else row.state
        yield from output.labelled(label, f"{group}{kind}  [{row.decision.crg_rule}]")
    else:
        yield from output.labelled(row.state, row.decision.crg_rule or "no rule was asked")
    yield from output.labelled("", _address(row))
    yield from output.labelled("because", row.reason)


def report_lines(report: listing.AuditReport) -> Iterator[str]:
    """Yield how much of the sample is left, and the shares of errors as a table."""
    if report.left:
        yield f"{report.left} of the sample left to judge"
    if not report.rules:
        yield "no decision has been judged yet"
        return
    head = ("rule", "right", "wrong", "unsure", "errors", "95% interval")
    yield from output.table([head, *map(_error_cells, (*report.rules, report.total))])


def _error_cells(row: listing.RuleErrors) -> tuple[object, ...]:
    share, interval = "-", "-"
    if row.share is not None and row.low is not None and row.high is not None:
        share, interval = f"{row.share:.1%}", f"{row.low:.1%} to {row.high:.1%}"
    return row.rule, row.right, row.wrong, row.unsure, share, interval
