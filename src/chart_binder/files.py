"""Files that a person names are read, whole or by the line, if they are of a sensible size."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from chart_binder.errors import AudioError, FileError

MAX_BYTES = 200_000_000
"""Far more than any bundle, golden file or transcript; a device would never end."""


def read_file(place: str | Path) -> bytes:
    """Return what is in a file, or on standard input for `-`; raise `FileError`."""
    with _opened(place) as stream:
        return _bounded(place, stream.read(MAX_BYTES + 1))


def absolute_path(place: str | Path) -> str:
    """Return a name that means the same whatever folder a program is called from.

    What leads upwards stays in it, for behind a link that is elsewhere.
    """
    try:
        return str(Path.cwd() / place)
    except OSError:  # the folder is not there any more
        return str(place)


def read_lines(place: str | Path) -> Iterator[bytes]:
    """Yield the lines of a file of any length, or of standard input; raise `FileError`."""
    with _opened(place) as stream:
        while line := stream.readline(MAX_BYTES + 1):
            yield _bounded(place, line)


def _bounded(place: str | Path, found: bytes) -> bytes:
    if len(found) > MAX_BYTES:
        raise FileError(f"{place}: is longer than {MAX_BYTES // 1_000_000} MB")
    return found


@contextmanager
def _opened(place: str | Path) -> Iterator[BinaryIO]:
    try:
        if str(place) == "-":
            yield sys.stdin.buffer
            return
        # Opening a pipe waits for somebody to write into it, unless told not to.
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileError(f"{place}: is a device or a pipe; - reads standard input")
            yield stream
    except OSError as error:
        raise FileError(f"{place}: cannot be read ({error.strerror or error})") from error


# The first row that fits; anything else shows the system's own words.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (FileNotFoundError, "does not exist"),
    (NotADirectoryError, "does not exist: a part of its path is a file"),
    (IsADirectoryError, "is a folder, not an audio file"),
    (PermissionError, "may not be read: permission denied"),
)


def quoted(path: Path) -> str:
    """Return the path as messages name it: quoted, with whatever a terminal cannot show escaped."""
    return repr(str(path))


def path_error(path: Path, error: OSError | ValueError) -> AudioError:
    """Return what to tell the person at the terminal when `path` could not be reached.

    A `ValueError` is what Python raises for a path that no system can have (a NUL byte in it).
    """
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return AudioError(f"{quoted(path)} {reason}")
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return AudioError(f"{quoted(path)} cannot be read: {words}")
