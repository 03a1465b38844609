"""What a file is called in the store."""

import os
from pathlib import Path


def names_of(path: Path) -> tuple[bytes, ...]:
    """Return a file's names in the store: its own, then as a link that leads to it was named.

    Stores from before version 3 of the schema have decisions by the names of links.
    """
    return kept_path(path), os.fsencode(os.path.abspath(path))  # noqa: PTH100 - the link itself


def kept_path(path: str | Path) -> bytes:
    """Return a path as the store has it: absolute, as bytes, the file's own where a link leads."""
    return os.fsencode(os.path.realpath(path))  # pathlib raises for links that lead in a circle
