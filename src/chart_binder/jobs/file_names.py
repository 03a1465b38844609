"""What a file is called in the store."""

import os
from pathlib import Path


def names_of(path: Path) -> tuple[bytes, ...]:
    """Return a file's names in the store: as it was named, then the file a link leads to."""
    return kept_path(path), journal_path(path)


def journal_path(path: Path) -> bytes:
    """Return a file's name in the journal: a link is another name of the same tags."""
    return kept_path(path.resolve())


def kept_path(path: str | Path) -> bytes:
    """Return a path as the store has it: absolute, with links left in it, as bytes."""
    return os.fsencode(os.path.abspath(path))  # noqa: PTH100 - a link is a name of its own
