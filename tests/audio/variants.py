"""Audio files of every container as they are met with: bare, tagged, with room left or none."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audio.tagging import CONTAINERS, FILES, Container

ROOM = 3_000

# mutagen lets the room behind a tag be chosen, where the form has any.
_WITHOUT_ROOM = frozenset({"ape", "wavpack", "mpc-7", "mpc-8"})


@dataclass(frozen=True, slots=True)
class Variant:
    """A file by its name, made in a folder."""

    name: str
    make: Callable[[Path], Path]


def _with_room(container: Container, room: int) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = container.fully_tagged(folder)
        audio: Any = container.opener(path)
        old = {"v2_version": 3} if container.name.endswith("2.3") else {}
        audio.save(padding=lambda _: room, **old)
        return path

    return make


def _bare(name: str) -> Variant:
    return Variant(f"{name}-bare", lambda folder: Path(shutil.copy(FILES / f"bare.{name}", folder)))


def _tagged(container: Container) -> list[Variant]:
    if container.name in _WITHOUT_ROOM:
        return [Variant(f"{container.name}-tagged", container.fully_tagged)]
    return [
        Variant(f"{container.name}-full", _with_room(container, 0)),
        Variant(f"{container.name}-roomy", _with_room(container, ROOM)),
    ]


_BARE = sorted({container.bare.removeprefix("bare.") for container in CONTAINERS})

VARIANTS: tuple[Variant, ...] = (
    *(_bare(name) for name in (*_BARE, "pieces.m4a")),
    *(variant for container in CONTAINERS for variant in _tagged(container)),
)

FEW = tuple(
    variant
    for variant in VARIANTS
    if variant.name in {"mp3-2.3-full", "flac-roomy", "aac-fast-full", "ogg-full", "ape-tagged"}
)
"""One of each way in which a file is put together anew."""
