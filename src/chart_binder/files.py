"""The files that a person names, how messages name a path, and JSON as typed values."""

import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from chart_binder.errors import AudioError, FileError

MAX_BYTES = 200_000_000
"""More than any bundle, golden file or transcript has; a device would never end."""


def read_file(place: str | Path) -> bytes:
    """Return the content of a file, or of standard input for `-`; raise `FileError`."""
    with _open_regular(place) as stream:
        return _require_size(place, stream.read(MAX_BYTES + 1))


def read_lines(place: str | Path) -> Iterator[bytes]:
    """Yield the lines of a file of any length, or of standard input; raise `FileError`."""
    with _open_regular(place) as stream:
        while line := stream.readline(MAX_BYTES + 1):
            yield _require_size(place, line)


def absolute_path(place: str | Path) -> str:
    """Return the path from the root, so that it is the same from any working folder.

    `..` is kept: behind a symbolic link it leads elsewhere than its text says.
    """
    try:
        return str(Path.cwd() / place)
    except OSError:  # the working folder was removed
        return str(place)


def path_text(path: str | bytes | Path) -> str:
    """Return a path or an argument as valid text: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", errors="replace")


def quoted(path: Path) -> str:
    """Return the path as messages name it: quoted, unprintable characters escaped."""
    return repr(str(path))


# The first row that fits; any other error is told in the system's words.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (FileNotFoundError, "does not exist"),
    (NotADirectoryError, "does not exist: a part of its path is a file"),
    (IsADirectoryError, "is a folder, not an audio file"),
    (PermissionError, "may not be read: permission denied"),
)


def path_error(path: Path, error: OSError | ValueError) -> AudioError:
    """Return the error to raise where an audio file or folder could not be reached.

    Python raises `ValueError` for a path that no system can have (a NUL byte in it).
    """
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return AudioError(f"{quoted(path)} {reason}")
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return AudioError(f"{quoted(path)} cannot be read: {words}")


def _require_size(place: str | Path, content: bytes) -> bytes:
    if len(content) > MAX_BYTES:
        raise FileError(f"{place}: is longer than {MAX_BYTES // 1_000_000} MB")
    return content


@contextmanager
def _open_regular(place: str | Path) -> Iterator[BinaryIO]:
    try:
        if str(place) == "-":
            yield sys.stdin.buffer
            return
        # Without O_NONBLOCK, opening a pipe waits for a writer.
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileError(f"{place}: is a device or a pipe; - reads standard input")
            yield stream
    except OSError as error:
        raise FileError(f"{place}: cannot be read ({error.strerror or error})") from error


T = TypeVar("T")

_lock = threading.Lock()
_built: set[Any] = set()
"""msgspec (0.22) builds what it knows of a type when that is first used; a second thread that uses
the same type meanwhile may crash the process. So each type is built once, under a lock.
"""


def convert_json(document: object, kind: type[T], *, builtin_types: tuple[type, ...] = ()) -> T:
    """Return plain data as a typed value. Raises `msgspec.ValidationError`."""
    import msgspec  # `canon --help` does not need it

    _build(kind)
    return msgspec.convert(document, kind, builtin_types=builtin_types or None)


def decode_json(document: bytes | str, kind: type[T]) -> T:
    """Return JSON as a typed value. Raises msgspec's errors, and those of text and nesting."""
    import msgspec  # `canon --help` does not need it

    _build(kind)
    return msgspec.json.decode(document, type=kind)


def _build(kind: Any) -> None:
    if kind in _built:
        return
    import msgspec

    with _lock:
        msgspec.json.Decoder(kind)
        _built.add(kind)
