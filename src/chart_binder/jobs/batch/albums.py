"""The files of a library come album by album: those of one folder, in the order of names."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from chart_binder.audio.walking import Found, Unreadable, audio_files

MOST_TOGETHER = 50
"""Files that are looked up together; a larger folder is several albums."""


@dataclass(frozen=True, slots=True)
class Album:
    """Files that are looked up together."""

    paths: tuple[Path, ...]


def albums(named: Iterable[Path]) -> Iterator[Album | Unreadable]:
    """Yield the albums that files and folders stand for, and what cannot be read, as it is come to.

    Folders are walked as `audio_files` says; what lies inside another that was named comes once.
    """
    held: list[Path] = []
    for item in audio_files(outermost(named)):
        is_next = isinstance(item, Found) and held and item.path.parent == held[-1].parent
        if held and (not is_next or len(held) == MOST_TOGETHER):
            yield Album(tuple(held))
            held = []
        if isinstance(item, Found):
            held.append(item.path)
        else:
            yield item
    if held:
        yield Album(tuple(held))


def outermost(named: Iterable[Path]) -> Sequence[Path]:
    """Return what was named without what lies inside another of them, or was named twice."""
    kept: dict[str, Path] = {}
    for path in named:
        kept.setdefault(os.path.abspath(path), path)  # noqa: PTH100 - a link stays a link
    inside = {place for place in kept if any(str(above) in kept for above in Path(place).parents)}
    return [path for place, path in kept.items() if place not in inside]
