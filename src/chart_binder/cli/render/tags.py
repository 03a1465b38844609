"""Files whose tags are written, undone or compared, as text and JSON lines."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from chart_binder.cli.output import (
    file_object,
    print_json,
    print_lines,
    terminal_width,
    worst,
    wrap,
)
from chart_binder.cli.render.decision import SITE
from chart_binder.files import path_text
from chart_binder.jobs.journal import FieldChange
from chart_binder.jobs.write import WriteReport, WriteStatus

_STEP = 2
_LABEL_WIDTH = 20
_MIN_VALUE_WIDTH = 50
"""With less room, values stand below their field, not beside it."""
_MAX_HELD = 100
"""Files of one album that are held back, to print once what is the same in all."""
_STATUS = {WriteStatus.REFUSED: 3, WriteStatus.FAILED: 1}
_WORDS = {
    WriteStatus.PLANNED: "would change",
    WriteStatus.WRITTEN: "written",
    WriteStatus.UNDONE: "put back",
    WriteStatus.UNCHANGED: "nothing to change",
    WriteStatus.REFUSED: "left alone",
    WriteStatus.FAILED: "failed",
}


def change_lines(changes: tuple[FieldChange, ...], indent: int = _STEP) -> Iterator[str]:
    """Yield each field with its old values after `-` and its new ones after `+`."""
    for change in changes:
        head = f"{'':{indent}}{change.field.replace('_', ' '):<{_LABEL_WIDTH}} "
        if terminal_width() - len(head) < _MIN_VALUE_WIDTH:
            yield head.rstrip()
            head = " " * (indent + _STEP)
        for sign, texts in (("-", change.old), ("+", change.new)):
            for text in texts:
                yield from wrap(f"{sign} {text}", head, len(head) + 2)
                head = " " * len(head)


def note_lines(label: str, text: str, indent: int = _STEP) -> Iterator[str]:
    """Yield `label: text`, wrapped."""
    yield from wrap(text, f"{'':{indent}}{label}: ", indent + _STEP)


@dataclass
class TagResults:
    """Prints files as they come: JSON at once, text when all files of their album are there."""

    as_json: bool
    status: int = 0
    counts: Counter[WriteStatus] = field(default_factory=Counter)
    held: list[WriteReport] = field(default_factory=list)
    printed: bool = False

    def show(self, told: WriteReport) -> None:
        """Print one file, or hold it back until its album is complete."""
        self.counts[told.status] += 1
        self.status = worst(self.status, _STATUS.get(told.status, 0))
        if self.as_json:
            print_json(file_object(told.path, _fields(told)))
            return
        if self.held and (_album(self.held[-1]) != _album(told) or len(self.held) == _MAX_HELD):
            self.flush()
        self.held.append(told)

    def flush(self) -> None:
        """Print what is held back."""
        held, self.held = self.held, []
        if held:
            print_lines(chain([""] * self.printed, _album_lines(held)))
            self.printed = True

    @property
    def summary(self) -> str:
        """The number of files of each outcome."""
        return ", ".join(f"{count} {_WORDS[fate]}" for fate, count in self.counts.items())


def _fields(told: WriteReport) -> dict[str, Any]:
    chosen = told.plan.chosen if told.plan else None
    return {
        "state": told.status,
        "why": told.why,
        "crg_mbid": chosen.release_group if chosen else None,
        "rr_mbid": chosen.release if chosen else None,
        "policy": told.plan.policy if told.plan else None,
        "decision_id": told.decision_id,
        "run_id": told.run_id,
        "write_id": told.write_id,
        "lost": told.lost,
        "changes": told.changes,
    }


def _album(told: WriteReport) -> tuple[object, ...]:
    return told.path.parent, told.plan.chosen.release_group if told.plan else None


def _album_lines(held: list[WriteReport]) -> Iterator[str]:
    indent = 0
    common: tuple[FieldChange, ...] = ()
    if plan := held[0].plan:
        indent = 2
        yield from wrap(plan.album, "", 2)
        yield f"{SITE}/release-group/{plan.chosen.release_group}"
        common = _common_changes(held)
        if common:
            yield f"  all {len(held)} files"
            yield from change_lines(common, 4)
    for told in held:
        yield f"{'':{indent}}{path_text(told.path)}"
        yield from _file_lines(told, set(common), indent + 2)


def _common_changes(held: Iterable[WriteReport]) -> tuple[FieldChange, ...]:
    """Return the changes that are the same in every file of an album of several."""
    first, *rest = (told.changes for told in held)
    return tuple(one for one in first if rest and all(one in other for other in rest))


def _file_lines(told: WriteReport, common: set[FieldChange], indent: int) -> Iterator[str]:
    if told.why:
        yield from note_lines(_WORDS[told.status], told.why, indent)
    else:
        yield f"{'':{indent}}{_WORDS[told.status]}"
    yield from change_lines(tuple(one for one in told.changes if one not in common), indent)
    if told.lost:
        yield from note_lines("lost", f"extended attributes {', '.join(told.lost)}", indent)
