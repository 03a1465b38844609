"""The files of a library come album by album, in the order of names."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from chart_binder.audio.walking import Found, Unreadable, audio_files

MOST_TOGETHER = 50
"""Files of one folder that are looked up together; a larger one is several albums."""
FEW_TOGETHER = 24
"""Files of folders side by side that are: mostly of one artist, whose look-ups they share."""


@dataclass(frozen=True, slots=True)
class Album:
    """Files that are looked up together: of one folder, or of small ones side by side."""

    paths: tuple[Path, ...]


def albums(named: Iterable[Path]) -> Iterator[Album | Unreadable]:
    """Yield the albums that files and folders stand for, and what cannot be read, as it is come to.

    Folders are walked as `audio_files` says; what lies inside another that was named comes once.
    """
    held: tuple[Path, ...] = ()
    for item in _folders(named):
        if isinstance(item, Unreadable):
            if held:
                yield Album(held)
            held = ()
            yield item
        elif held and _are_neighbours(held, item):
            held += item
        else:
            if held:
                yield Album(held)
            held = item
    if held:
        yield Album(held)


def _folders(named: Iterable[Path]) -> Iterator[tuple[Path, ...] | Unreadable]:
    """Yield files of one folder, as they come together."""
    held: list[Path] = []
    for item in audio_files(outermost(named)):
        is_next = isinstance(item, Found) and held and item.path.parent == held[-1].parent
        if held and (not is_next or len(held) == MOST_TOGETHER):
            yield tuple(held)
            held = []
        if isinstance(item, Found):
            held.append(item.path)
        else:
            yield item
    if held:
        yield tuple(held)


def _are_neighbours(one: tuple[Path, ...], other: tuple[Path, ...]) -> bool:
    """Tell whether files are few, and of folders that stand in one and the same."""
    places = {path.parent.parent for path in (one[-1], other[0])}
    return len(places) == 1 and len(one) + len(other) <= FEW_TOGETHER


def outermost(named: Iterable[Path]) -> Sequence[Path]:
    """Return what was named without what lies inside another of them, or was named twice."""
    kept: dict[str, Path] = {}
    for path in named:
        kept.setdefault(os.path.abspath(path), path)  # noqa: PTH100 - a link stays a link
    inside = {place for place in kept if any(str(above) in kept for above in Path(place).parents)}
    return [path for place, path in kept.items() if place not in inside]
