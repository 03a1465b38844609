"""What became of files' tags, printed by the album, adding up to an exit status."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import click

from chart_binder.cli.columns import terminal_width, wrapped
from chart_binder.cli.harmless import harmless
from chart_binder.cli.tag_lines import change_lines, json_line, shown_path, told_line
from chart_binder.cli.text import SITE
from chart_binder.jobs.tag_changes import FieldChange
from chart_binder.jobs.write import Fate, Told

_STATUS = {Fate.REFUSED: 3, Fate.FAILED: 1}
_WORST_FIRST = (1, 3, 0)
_MOST_HELD = 100
"""Files of one album that are held back, to say once what is the same in all."""

_SAID = {
    Fate.PLANNED: "would change",
    Fate.WRITTEN: "written",
    Fate.UNDONE: "put back",
    Fate.UNCHANGED: "nothing to change",
    Fate.REFUSED: "left alone",
    Fate.FAILED: "failed",
}


@dataclass
class TagResults:
    """Prints files as they come: JSON at once, text when the album they are of is complete."""

    as_json: bool
    status: int = 0
    counts: Counter[Fate] = field(default_factory=Counter)
    held: list[Told] = field(default_factory=list)
    printed: bool = False

    def show(self, told: Told) -> None:
        """Take one file."""
        self.counts[told.fate] += 1
        self.status = min(self.status, _STATUS.get(told.fate, 0), key=_WORST_FIRST.index)
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


def _facts(told: Told) -> dict[str, object]:
    chosen = told.plan.chosen if told.plan else None
    return {
        "state": told.fate,
        "why": told.why,
        "crg_mbid": chosen.release_group if chosen else None,
        "rr_mbid": chosen.release if chosen else None,
        "policy": told.plan.policy if told.plan else None,
        "decision_id": told.decision_id,
        "run_id": told.run_id,
        "write_id": told.write_id,
        "lost": told.lost,
    }


def _album(told: Told) -> tuple[object, ...]:
    return told.path.parent, told.plan.chosen.release_group if told.plan else None


def _album_lines(held: list[Told]) -> Iterator[str]:
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


def _common(held: Iterable[Told]) -> tuple[FieldChange, ...]:
    """Return the changes that are the same in every file of an album of several."""
    every = [told.changes for told in held]
    rest = every[1:]
    return tuple(one for one in every[0] if rest and all(one in other for other in rest))


def _file_lines(told: Told, common: set[FieldChange], indent: int) -> Iterator[str]:
    if told.why:
        yield from told_line(_SAID[told.fate], told.why, indent)
    else:
        yield f"{'':{indent}}{_SAID[told.fate]}"
    yield from change_lines(tuple(one for one in told.changes if one not in common), indent)
    if told.lost:
        yield from told_line("lost", f"extended attributes {', '.join(told.lost)}", indent)
