"""A file that is written anew is nobody's music: one slip of the keys would be the end of it."""

import base64
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import msgspec

from chart_binder.audio.walk import AUDIO_SUFFIXES
from chart_binder.cli.output import SITE, readable
from chart_binder.cli.terminal import harmless, terminal_width, wrapped
from chart_binder.errors import UsageError
from chart_binder.jobs.journal import FieldChange
from chart_binder.jobs.write import WriteReport, WriteStatus

_STEP = 2
_LABEL = 20
_LEAST = 50
"""A terminal narrower than this has values below their field, not beside it."""


def change_lines(changes: tuple[FieldChange, ...], indent: int = _STEP) -> Iterator[str]:
    """Yield what each field says beside what it is to say, `-` old and `+` new."""
    width = terminal_width()
    for change in changes:
        head = f"{'':{indent}}{change.field.replace('_', ' '):<{_LABEL}} "
        if width - len(head) < _LEAST:
            yield head.rstrip()
            head = " " * (indent + _STEP)
        for sign, texts in (("-", change.old), ("+", change.new)):
            for text in texts:
                lines = wrapped(f"{sign} {text}", width, head, len(head) + 2)
                yield from (harmless(line) for line in lines)
                head = " " * len(head)


def told_line(label: str, text: str, indent: int = _STEP) -> Iterator[str]:
    """Yield a label with its text, wrapped."""
    head = f"{'':{indent}}{label}: "
    yield from map(harmless, wrapped(text, terminal_width(), head, indent + _STEP))


def json_line(path: str, more: dict[str, Any], changes: tuple[FieldChange, ...]) -> bytes:
    """Return one file as a line of JSON; a name that is no UTF-8 is there as bytes too."""
    return file_line(path, more | {"changes": changes})


def file_line(path: str, more: dict[str, Any]) -> bytes:
    """Return what is said of one file as a line of JSON."""
    line: dict[str, Any] = {"path": readable(path)}
    if line["path"] != path:
        line["path_b64"] = base64.b64encode(os.fsencode(path)).decode()
    return msgspec.json.encode(line | more)


def shown_path(path: Path) -> str:
    """Return a path as a terminal may show it."""
    return harmless(readable(str(path)))


_STATUS = {WriteStatus.REFUSED: 3, WriteStatus.FAILED: 1}
_WORST_FIRST = (1, 3, 0)
_MOST_HELD = 100
"""Files of one album that are held back, to say once what is the same in all."""

_SAID = {
    WriteStatus.PLANNED: "would change",
    WriteStatus.WRITTEN: "written",
    WriteStatus.UNDONE: "put back",
    WriteStatus.UNCHANGED: "nothing to change",
    WriteStatus.REFUSED: "left alone",
    WriteStatus.FAILED: "failed",
}


@dataclass
class TagResults:
    """Prints files as they come: JSON at once, text when the album they are of is complete."""

    as_json: bool
    status: int = 0
    counts: Counter[WriteStatus] = field(default_factory=Counter)
    held: list[WriteReport] = field(default_factory=list)
    printed: bool = False

    def show(self, told: WriteReport) -> None:
        """Take one file."""
        self.counts[told.status] += 1
        self.status = min(self.status, _STATUS.get(told.status, 0), key=_WORST_FIRST.index)
        if self.as_json:
            click.echo(json_line(str(told.path), _facts(told), told.changes))
            return
        if self.held and (_album(self.held[-1]) != _album(told) or len(self.held) == _MOST_HELD):
            self.flush()
        self.held.append(told)

    def flush(self) -> None:
        """Print what is held back."""
        held, self.held = self.held, []
        if held:
            if self.printed:
                click.echo()
            for line in _album_lines(held):
                click.echo(line)
            self.printed = True

    @property
    def summary(self) -> str:
        """How many files came to what, in one sentence."""
        return ", ".join(f"{count} {_SAID[fate]}" for fate, count in self.counts.items())


def _facts(told: WriteReport) -> dict[str, object]:
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
    }


def _album(told: WriteReport) -> tuple[object, ...]:
    return told.path.parent, told.plan.chosen.release_group if told.plan else None


def _album_lines(held: list[WriteReport]) -> Iterator[str]:
    indent = 0
    common: tuple[FieldChange, ...] = ()
    if plan := held[0].plan:
        indent = 2
        yield from map(harmless, wrapped(plan.album, terminal_width(), "", 2))
        yield f"{SITE}/release-group/{plan.chosen.release_group}"
        common = _common(held)
        if common:
            yield f"  all {len(held)} files"
            yield from change_lines(common, 4)
    for told in held:
        yield f"{'':{indent}}{shown_path(told.path)}"
        yield from _file_lines(told, set(common), indent + 2)


def _common(held: Iterable[WriteReport]) -> tuple[FieldChange, ...]:
    """Return the changes that are the same in every file of an album of several."""
    every = [told.changes for told in held]
    rest = every[1:]
    return tuple(one for one in every[0] if rest and all(one in other for other in rest))


def _file_lines(told: WriteReport, common: set[FieldChange], indent: int) -> Iterator[str]:
    if told.why:
        yield from told_line(_SAID[told.status], told.why, indent)
    else:
        yield f"{'':{indent}}{_SAID[told.status]}"
    yield from change_lines(tuple(one for one in told.changes if one not in common), indent)
    if told.lost:
        yield from told_line("lost", f"extended attributes {', '.join(told.lost)}", indent)


_LEFT_OUT_OF_FOLDERS = frozenset({".asf", ".mp4"})


def require_no_song(option: str, path: str | Path) -> None:
    """Raise `UsageError` where a file that an option names, or a link leads to, is called audio."""
    places = map(Path, (path, os.path.realpath(path)))
    if any(place.suffix.lower() in AUDIO_SUFFIXES | _LEFT_OUT_OF_FOLDERS for place in places):
        raise UsageError(f"{option} {readable(str(path))}: so audio is called, and is not replaced")
