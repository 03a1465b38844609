"""Documents become typed values, in any thread.

msgspec (0.22) builds what it knows of a type when that is first read; a second thread that reads
the same type in that moment may meet it half built, which ends the process. So each type is built
once, under a lock, before anything is read as it.
"""

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_lock = threading.Lock()
_built: set[Any] = set()


def converted(document: object, kind: type[T], *, builtin_types: tuple[type, ...] = ()) -> T:
    """Return plain data as a typed value. Raises `msgspec.ValidationError`."""
    _build(kind)
    return msgspec.convert(document, kind, builtin_types=builtin_types or None)


def decoded(document: bytes | str, kind: type[T]) -> T:
    """Return JSON as a typed value.

    Raises `msgspec.DecodeError` (`ValidationError` where it is JSON), `UnicodeDecodeError` and
    `RecursionError`.
    """
    _build(kind)
    return msgspec.json.decode(document, type=kind)


def _build(kind: Any) -> None:
    if kind in _built:
        return
    with _lock:
        msgspec.json.Decoder(kind)
        _built.add(kind)
