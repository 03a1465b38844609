"""Listed decisions as a table, as CSV, as lines with tabs, and as JSON; and shares of errors."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from chart_binder.cli.output import (
    display_width,
    file_object,
    labelled,
    safe_text,
    table,
    terminal_width,
)
from chart_binder.cli.render.decision import musicbrainz_page, recording_lines
from chart_binder.domain.verdict import FirstRelease
from chart_binder.jobs.audit import AuditReport, RuleErrors
from chart_binder.jobs.decide import State
from chart_binder.jobs.listing import ListedDecision
from chart_binder.jobs.stored_decisions import path_from_bytes

_COLUMNS = (
    "artist", "title", "album", "year", "first_release", "year_certain", "first_release_on",
    "first_release_label", "first_release_country", "group", "group_type", "rule", "state",
    "reason", "address", "path",
)  # fmt: skip
_TABLE = ("recording", "file", "first release", "group", "decision")
_TABLE_GAP, _UNBROKEN = 3, 12
"""Words of so many columns are not broken in a table, where there is room for all columns."""


def row_object(row: ListedDecision) -> dict[str, Any]:
    """Return a listed decision for JSON."""
    decision = row.decision
    return file_object(
        path_from_bytes(row.kept.path),
        {
            "artist": decision.artist,
            "title": decision.title,
            "album": row.album,
            "year": row.year,
            "first_release": msgspec.to_builtins(decision.first_release),
            "crg_mbid": decision.crg_mbid,
            "crg_title": decision.crg_title,
            "crg_type": decision.crg_type,
            "crg_rule": decision.crg_rule,
            "state": decision.state,
            "decided_by": decision.decided_by,
            "reason": row.reason,
            "address": _address(row),
            "decision_id": row.kept.id,
            "decided_at_utc": row.kept.decided_at_utc,
            "pinned": row.kept.pinned,
            "is_there": not row.is_gone,
        },
    )


def _address(row: ListedDecision) -> str | None:
    crg, recording = row.decision.crg_mbid, row.decision.recording_mbid
    if crg:
        return musicbrainz_page("release-group", crg)
    return musicbrainz_page("recording", recording) if recording else None


def _values(row: ListedDecision) -> tuple[str, ...]:
    """Return the texts of `_COLUMNS`."""
    decision, first = row.decision, row.decision.first_release
    known: tuple[object, ...] = ("",) * 5
    if first:
        certain = "yes" if first.year_certain else "no"
        known = (first.date, certain, first.title, first.label, first.country)
    values = (
        decision.artist, decision.title, row.album, row.year, *known, decision.crg_title,
        decision.crg_type, row.rule, row.state, row.reason, _address(row), row.path,
    )  # fmt: skip
    return tuple("" if value is None else str(value) for value in values)


def csv_lines(rows: Iterable[ListedDecision]) -> Iterator[str]:
    """Yield CSV with a header; a record has its line end, and line breaks within values stay."""
    for values in chain([_COLUMNS], map(_values, rows)):
        record = io.StringIO()
        # A writer without a line end of its own quotes no value that holds one.
        csv.writer(record, lineterminator="\n").writerow(map(safe_text, values))
        yield record.getvalue()


def separated_lines(rows: Iterable[ListedDecision]) -> Iterator[str]:
    """Yield a line for each decision, with tabs between the values and none within."""
    yield "\t".join(_COLUMNS)
    for row in rows:
        yield "\t".join(" ".join(value.split()) for value in _values(row))


def table_lines(rows: Sequence[ListedDecision]) -> Iterator[str]:
    """Yield a table for a terminal."""
    if not rows:
        yield "nothing was decided that matches"
        return
    from rich import box  # slow to import, and for terminals alone
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    cells = [[safe_text(cell) for cell in _cells(row)] for row in rows]
    columns = map(" ".join, zip(*cells, strict=True))
    widest = [max(map(display_width, column.split())) for column in columns]
    room = terminal_width() - _TABLE_GAP * (len(_TABLE) - 1)
    unbroken = _UNBROKEN
    while sum(least := [min(width, unbroken) for width in widest]) > room and unbroken > 1:
        unbroken -= 1
    for heading, width in zip(_TABLE, least, strict=True):
        table.add_column(heading, overflow="fold", min_width=width)
    for texts in cells:
        table.add_row(*map(Text, texts))
    text = io.StringIO()
    console = Console(file=text, width=terminal_width(), markup=False, emoji=False, highlight=False)
    console.print(table)
    yield from (line.rstrip() for line in text.getvalue().strip("\n").splitlines())


def _cells(row: ListedDecision) -> Iterator[str]:
    decision, first = row.decision, row.decision.first_release
    yield _stacked(decision.artist, decision.title)
    yield _stacked(Path(row.path).name, ", ".join(filter(None, (row.album, str(row.year or "")))))
    yield _stacked(*_first_release(first)) if first else "-"
    yield _stacked(decision.crg_title, decision.crg_type)
    rule = row.rule if row.decision.state in (State.DECIDED, State.REVIEW) else None
    gone = "file is gone" if row.is_gone else None
    yield _stacked(row.state, gone, rule and rule.replace("_", " ").lower())


def _first_release(first: FirstRelease) -> Iterator[str | None]:
    """Yield its date, and on what kind of record where; `-v` shows the rest."""
    yield f"{first.date}{'' if first.year_certain else ' or earlier'}"
    yield ", ".join(filter(None, (first.type, first.country)))


def _stacked(*parts: str | None) -> str:
    return "\n".join(filter(None, parts)) or "-"


def row_lines(row: ListedDecision) -> Iterator[str]:
    """Yield all that is listed of a decision: names, the file, dates, group, reason, address."""
    yield f"{row.path}{' (not there any more)' if row.is_gone else ''}"
    yield from recording_lines(row.decision, explained=True)
    filed = ", ".join(filter(None, (row.album, str(row.year or ""))))
    yield from labelled("the file", filed or "names no album and no year")
    group = row.decision.crg_title or row.decision.crg_mbid
    if group:
        kind = f" ({row.decision.crg_type})" if row.decision.crg_type else ""
        label = "belongs to" if row.decision.state is State.DECIDED else row.state
        yield from labelled(label, f"{group}{kind}  [{row.decision.crg_rule}]")
    else:
        yield from labelled(row.state, row.decision.crg_rule or "no rule was asked")
    if address := _address(row):
        yield from labelled("", address)
    if row.reason:
        yield from labelled("because", row.reason)


def report_lines(report: AuditReport) -> Iterator[str]:
    """Yield the shares of errors as a table."""
    head = ("rule", "right", "wrong", "unsure", "errors", "95 % interval")
    yield from table([head, *map(_error_cells, (*report.rules, report.all))])
    if report.left:
        yield f"{report.left} of the sample not judged so far"


def _error_cells(row: RuleErrors) -> tuple[object, ...]:
    share, interval = "-", "-"
    if row.share is not None and row.low is not None and row.high is not None:
        share, interval = f"{row.share:.1%}", f"{row.low:.1%} to {row.high:.1%}"
    return row.rule, row.right, row.wrong, row.unsure, share, interval
