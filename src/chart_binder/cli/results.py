"""Results go to standard output, one at a time, and add up to an exit status."""

import base64
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click
import msgspec

from chart_binder.cli.harmless import harmless
from chart_binder.cli.text import decision_lines, found, group_name, row
from chart_binder.domain.kept import KeptDecision
from chart_binder.jobs.decide import Case
from chart_binder.jobs.decision import State

_STATUS = {State.DECIDED: 0, State.REVIEW: 3, State.INDETERMINATE: 3, State.ERROR: 1}
_WORST_FIRST = (1, 3, 0)


@dataclass(frozen=True, slots=True)
class Form:
    """How a case is shown: as lines of text, and by what its JSON has beside the decision."""

    lines: Callable[[str, Case], Iterator[str]]
    more: Callable[[Case], dict[str, object]]


def _nothing_more(case: Case) -> dict[str, object]:
    del case
    return {}


BRIEF = Form(decision_lines, _nothing_more)


@dataclass
class Results:
    """Prints cases as they come, as text or as JSON lines, and remembers the worst."""

    as_json: bool
    form: Form = BRIEF
    printed: int = 0
    status: int = 0

    def show(self, path: str, case: Case, pinned: KeptDecision | None = None) -> None:
        """Print one case; `path` is as given, `pinned` the decision that stands in its place."""
        self.status = min(self.status, _STATUS[case.decision.state], key=_WORST_FIRST.index)
        name = readable(path)
        if self.as_json:
            line = {"path": name} | msgspec.to_builtins(case.decision) | self.form.more(case)
            if name != path:
                line["path_b64"] = base64.b64encode(os.fsencode(path)).decode()
            if pinned:
                line |= {"pinned": True, "stands": _named(pinned)}
            click.echo(msgspec.json.encode(line))
        else:
            if self.printed:
                click.echo()
            for text in self.form.lines(name, case):
                click.echo(harmless(text))
            for text in _stands(pinned, case) if pinned else ():
                click.echo(harmless(text))
        self.printed += 1


def _named(pinned: KeptDecision) -> dict[str, str | None]:
    return {
        "decision_id": pinned.id,
        "crg_mbid": pinned.crg_mbid,
        "rr_mbid": pinned.rr_mbid,
        "decided_at_utc": pinned.decided_at_utc,
    }


def _stands(pinned: KeptDecision, case: Case) -> Iterator[str]:
    """Yield that an earlier decision stands, by the name that the evidence has for its record."""
    group, _ = found(case.bundle, pinned.crg_mbid, None)
    name = group_name(group) if group else pinned.crg_mbid
    day = pinned.decided_at_utc[: len("2026-11-21")]
    yield from row(
        "pinned",
        f"{name} stands, as decided on {day}: `canon drift unpin PATH` lets this one count",
    )


def readable(path: str) -> str:
    """Return a file name as text: what is not UTF-8 in it shows as U+FFFD."""
    return os.fsencode(path).decode("utf-8", errors="replace")
