"""Files that a person names: read whole, if they are files and of a sensible size."""

import os
import stat
import sys
from pathlib import Path

from chart_binder.errors import CanonError

MOST_BYTES = 200_000_000
"""Far more than any bundle, golden file or transcript; a device would never end."""


def read_named(place: str | Path) -> bytes:
    """Return what is in a file, or on standard input for `-`; raise `CanonError`."""
    try:
        if str(place) == "-":
            document = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            document = _read_file(Path(place))
    except OSError as error:
        raise CanonError(f"{place}: cannot be read ({error.strerror or error})") from error
    if len(document) > MOST_BYTES:
        raise CanonError(f"{place}: is longer than {MOST_BYTES // 1_000_000} MB")
    return document


def _read_file(path: Path) -> bytes:
    # Opening a pipe waits for somebody to write into it, unless told not to.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise CanonError(f"{path}: is a device or a pipe; - reads standard input")
        return stream.read(MOST_BYTES + 1)
