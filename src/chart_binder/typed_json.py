"""JSON and plain data become typed values, in any thread.

msgspec (0.22) builds what it knows of a type when that is first used; a second thread that uses
the same type meanwhile may crash the process. So each type is built once, under a lock.
"""

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_lock = threading.Lock()
_built: set[Any] = set()


def convert_json(document: object, kind: type[T], *, builtin_types: tuple[type, ...] = ()) -> T:
    """Return plain data as a typed value. Raises `msgspec.ValidationError`."""
    _build(kind)
    return msgspec.convert(document, kind, builtin_types=builtin_types or None)


def decode_json(document: bytes | str, kind: type[T]) -> T:
    """Return JSON as a typed value.

    Raises `msgspec.DecodeError` (`ValidationError` where it is JSON of another form),
    `UnicodeDecodeError` and `RecursionError`.
    """
    _build(kind)
    return msgspec.json.decode(document, type=kind)


def _build(kind: Any) -> None:
    if kind in _built:
        return
    with _lock:
        msgspec.json.Decoder(kind)
        _built.add(kind)
