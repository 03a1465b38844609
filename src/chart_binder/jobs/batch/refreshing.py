"""A refresh that was cut short goes on where it stopped, when it is called again."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from chart_binder.domain.kept import KeptRun
from chart_binder.domain.measures import Measures

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_INTERRUPTED = 130
_LONGEST_APART = timedelta(days=7)
"""Whoever refreshes after a longer time wants to know how things are today."""
_BESIDE_THE_POINT = frozenset({
    "--jobs", "--write", "--policy", "--keep-mtime", "--report", "--metrics", "--executor",
    "--scheduler", "--output", "--verbose",
})  # fmt: skip
"""Options that change nothing of which files are decided, and on what."""
_log = logging.getLogger(__name__)
_LETTERS = len("2026-11-21T18:12:03")


@dataclass(frozen=True, slots=True)
class Refresh:
    """From when on what was found counts, in seconds since the epoch (0: from ever).

    `runs` are those whose decisions are of that refresh; `begun` is when it began, in UTC.
    """

    since: float = 0.0
    runs: frozenset[str] = frozenset()
    begun: str = ""


def goes_on_with(store: "Store", run: KeptRun) -> Refresh | None:
    """Return the refresh that a run goes on with; `None` where it begins anew.

    That is one that was called alike, ended before its time or has no end, and was heard of within
    a week. A call that names nothing, for it comes on standard input, never goes on. Raises
    `StoreError`.
    """
    wanted = _wanted(run)
    if not any(not argument.startswith("-") for argument in wanted):
        return None
    first = run
    found = {run.id}
    for before in store.runs.iterate(_left_out):
        if before.command != run.command or _wanted(before) != wanted:
            continue
        if not _is_cut_short(before) or _moment(first) - _last_heard(before) > _LONGEST_APART:
            break
        first = before
        found.add(before.id)
    if first is run:
        return None
    begun = first.started_at_utc[:_LETTERS].replace("T", " ")
    return Refresh(_moment(first).timestamp(), frozenset(found), begun)


def _left_out(problem: str) -> None:
    _log.warning("a run is left out: %s", problem)


def _wanted(run: KeptRun) -> frozenset[str]:
    return frozenset(
        argument
        for argument in run.arguments
        if argument.partition("=")[0] not in _BESIDE_THE_POINT
    )


def _is_cut_short(run: KeptRun) -> bool:
    return run.status in (None, _INTERRUPTED) or _measures(run).stopped is not None


def _last_heard(run: KeptRun) -> datetime:
    if run.ended_at_utc:
        return datetime.fromisoformat(run.ended_at_utc)
    return _moment(run) + timedelta(seconds=_measures(run).seconds)


def _moment(run: KeptRun) -> datetime:
    return datetime.fromisoformat(run.started_at_utc)


def _measures(run: KeptRun) -> Measures:
    try:
        return msgspec.json.decode(run.measures or b"{}", type=Measures)
    except (msgspec.DecodeError, UnicodeDecodeError):  # as if it had cost nothing
        return Measures()
