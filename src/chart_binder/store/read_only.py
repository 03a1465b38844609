"""A store in a file that may not be written is read all the same."""

import os
from pathlib import Path


def is_read_only(path: Path) -> bool:
    """Tell whether there is a file that, or whose folder, this process may not write."""
    return path.is_file() and not all(os.access(each, os.W_OK) for each in (path, path.parent))


def reading_uri(path: Path) -> str:
    """Return the URI by which SQLite reads a file and makes none beside it.

    It may make the index of the write-ahead log only where it may write, so without a log the file
    is said to be immutable: who writes has a log (https://www.sqlite.org/wal.html#readonly).
    """
    log, index = (Path(f"{path}{end}") for end in ("-wal", "-shm"))
    has_log = index.exists() or (log.exists() and log.stat().st_size > 0)
    return f"{path.absolute().as_uri()}?mode=ro" + ("" if has_log else "&immutable=1")
