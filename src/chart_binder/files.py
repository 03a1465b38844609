"""Reading files that a user names, text for display, and decoding JSON as typed values."""

import os
import shutil
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from chart_binder.errors import AudioError, FileError

MAX_BYTES = 200_000_000
"""The longest file or line that is read: any bundle, golden file or transcript is shorter."""


def read_file(path: str | Path) -> bytes:
    """Return the content of a file, or of standard input for `-`. Raises `FileError`."""
    with _open_regular(path) as stream:
        return _require_size(path, stream.read(MAX_BYTES + 1))


def read_lines(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a file of any length, or of standard input for `-`. Raises `FileError`."""
    with _open_regular(path) as stream:
        while line := stream.readline(MAX_BYTES + 1):
            yield _require_size(path, line)


def replace_file(path: str | Path, content: bytes) -> None:
    """Write a file in one step: at any moment, the old or the new content is there.

    A link stays and leads to the new file, which has the permissions of the old one. A device or a
    pipe is written to. Raises `OSError`.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 - of any bytes
        Path(path).write_bytes(content)
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def absolute_path(path: str | Path) -> str:
    """Return the absolute path, which is valid in any working directory.

    `..` is not resolved, because behind a symbolic link it means another folder.
    """
    try:
        return str(Path.cwd() / path)
    except OSError:  # the working directory was removed
        return str(path)


def path_text(path: str | bytes | Path) -> str:
    """Return a path or an argument as text; bytes that are not UTF-8 become U+FFFD."""
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:  # text that no path encodes, in a locale that lacks its letters
        encoded = str(path).encode("utf-8", "surrogateescape")
    return encoded.decode("utf-8", errors="replace")


_UNSAFE = dict.fromkeys(
    (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    "\ufffd",
)


def safe_text(text: str) -> str:
    """Return text without control characters and changes of direction (Unicode, tr9)."""
    return text.translate(_UNSAFE)


def quoted(path: Path) -> str:
    """Return a path for messages: quoted, with unprintable characters escaped."""
    return repr(str(path))


# The first matching row applies; for other errors, the system's text is used.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (FileNotFoundError, "does not exist"),
    (NotADirectoryError, "does not exist: a part of its path is a file"),
    (IsADirectoryError, "is a folder, not an audio file"),
    (PermissionError, "may not be read: permission denied"),
)


def path_error(path: Path, error: OSError | ValueError) -> AudioError:
    """Return the error to raise if an audio file or folder could not be opened or read.

    Python raises `ValueError` for a path that contains a NUL byte.
    """
    for error_type, reason in _REASONS:
        if isinstance(error, error_type):
            return AudioError(reason, quoted(path))
    detail = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return AudioError(f"cannot be read: {detail}", quoted(path))


def _require_size(path: str | Path, content: bytes) -> bytes:
    if len(content) > MAX_BYTES:
        raise FileError(f"{path}: is longer than {MAX_BYTES // 1_000_000} MB")
    return content


@contextmanager
def _open_regular(path: str | Path) -> Iterator[BinaryIO]:
    try:
        if str(path) == "-":
            yield sys.stdin.buffer
            return
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileError(f"{path}: is a device or a pipe; - reads standard input")
            yield stream
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error


T = TypeVar("T")

_lock = threading.Lock()
_prepared: set[Any] = set()
"""The types that msgspec has prepared. msgspec 0.22 prepares a type on its first use, and may crash
if a second thread uses the type meanwhile, so each type is prepared under a lock.
"""


def convert_json(document: object, kind: type[T], *, builtin_types: tuple[type, ...] = ()) -> T:
    """Return decoded JSON as a typed value. Raises `msgspec.ValidationError`."""
    import msgspec  # `canon --help` does not need it

    _prepare(kind)
    return msgspec.convert(document, kind, builtin_types=builtin_types or None)


def decode_json(document: bytes | str, kind: type[T]) -> T:
    """Return JSON as a typed value. Raises `DecodeError`, `UnicodeError` and `RecursionError`."""
    import msgspec  # `canon --help` does not need it

    _prepare(kind)
    return msgspec.json.decode(document, type=kind)


def _prepare(kind: Any) -> None:
    if kind in _prepared:
        return
    import msgspec

    with _lock:
        msgspec.json.Decoder(kind)
        _prepared.add(kind)
