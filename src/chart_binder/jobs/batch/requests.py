"""JSON lines from another program: what each asks to be decided."""

import base64
import binascii
import os
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import CanonError, EvidenceError
from chart_binder.jobs.batch.work import MAX_ALBUM_FILES, Album

_ALLOWED = (
    '{"path": "song.mp3"}, {"bundle": {...}}, either with an "id" of its own, or an evidence bundle'
)
_BLOCK = 1 << 16
_MOST_AHEAD = 200
"""Lines that are read before those before them are begun."""


class LineError(EvidenceError):
    """A line asks for nothing that can be decided; the line is to blame, not a bundle."""

    def __init__(self, problem: str) -> None:
        CanonError.__init__(self, problem)
        self.where = ""


@dataclass(frozen=True, slots=True)
class BundleRequest:
    """An evidence bundle in place of a file; `name` is what stands for it in results."""

    name: str
    document: object

    def bundle(self) -> EvidenceBundle:
        """Return the bundle. Raises `EvidenceError`."""
        if isinstance(self.document, EvidenceError):
            raise self.document
        return read_bundle(self.document)  # type: ignore[arg-type]  # it says what is wrong


@dataclass(frozen=True, slots=True)
class NoInputYet:
    """Nothing has come so far, but more may."""


Target: TypeAlias = Path | BundleRequest


@dataclass(frozen=True, slots=True)
class Request:
    """A line: what it asks for, and the `id` by which the asker knows it again."""

    number: int
    target: Target
    id: object = None


def read_request(text: bytes, number: int) -> Request:
    """Read a line; one that asks for nothing is a bundle that cannot be read, with the reason."""
    name = f"line {number}"
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Request(
            number, BundleRequest(name, LineError(f"{name}: {error}; allowed is {_ALLOWED}"))
        )
    if not isinstance(found, Mapping):
        what = LineError(f"{name}: found {_brief(found)}; allowed is {_ALLOWED}")
        return Request(number, BundleRequest(name, what))
    return Request(number, _asked(found, name), found.get("id"))


def _asked(found: Mapping[str, Any], name: str) -> Target:
    if found.get("bundle") is not None:
        if any(found.get(key) is not None for key in ("path", "path_b64")):
            what = "found both a path and a bundle"
            return BundleRequest(name, LineError(f"{name}: {what}; allowed is {_ALLOWED}"))
        return BundleRequest(name, found["bundle"])
    if "recording_candidates" in found:
        return BundleRequest(name, found)
    return _path(found, name)


def _path(found: Mapping[str, Any], name: str) -> Target:
    path, encoded = found.get("path"), found.get("path_b64")
    try:
        if isinstance(encoded, str):
            path = os.fsdecode(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError) as error:
        return BundleRequest(name, LineError(f"{name}: path_b64: {error}"))
    if isinstance(path, str) and path and "\0" not in path:
        return Path(path)
    what = f"{', '.join(sorted(map(str, found))) or 'no keys'}; allowed is {_ALLOWED}"
    if "path" in found:
        what = f"{_brief(path)} as path; the name of a file is allowed"
    return BundleRequest(name, LineError(f"{name}: found {what}"))


def read_lines(descriptor: int) -> Iterator[bytes]:
    """Yield lines as they come, without the lock of a file object.

    Python cannot end while a thread that waits for a line holds that of standard input.
    """
    begun = b""
    while block := os.read(descriptor, _BLOCK):
        *whole, begun = (begun + block).split(b"\n")
        yield from whole
    if begun:
        yield begun


class RequestReader:
    """Lines as they come, read ahead in a thread so that nobody waits for the next one."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._ahead: queue.Queue[bytes | None] = queue.Queue(_MOST_AHEAD)
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def items(self, begun: "PendingRequests") -> Iterator[Album | BundleRequest | NoInputYet]:
        """Yield what is asked for; files of one folder that have come together are one album."""
        number = 0
        held: list[Path] = []
        while True:
            text = self._next()
            if isinstance(text, bytes):
                number += 1
                if not text.strip():
                    continue
                line = read_request(text, number)
                begun(line)
                if isinstance(line.target, Path) and _fits(held, line.target):
                    held.append(line.target)
                    continue
            if held:
                yield Album(tuple(held))
                held = []
            if text is None:
                return
            if isinstance(text, NoInputYet):
                yield text
            elif isinstance(line.target, Path):
                held.append(line.target)
            else:
                yield line.target

    def _next(self) -> bytes | NoInputYet | None:
        try:
            return self._ahead.get_nowait()
        except queue.Empty:
            return NoInputYet()

    def _read(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._ahead.put(line)
        self._ahead.put(None)


class PendingRequests:
    """Remembers the lines that are in hand, by what stands for them in results."""

    def __init__(self) -> None:
        self._lines: dict[Target | str, list[Request]] = {}

    def __call__(self, line: Request) -> None:
        """Remember a line."""
        self._lines.setdefault(_key(line.target), []).append(line)

    def of(self, path: Path, *, is_given: bool) -> Request:
        """Return, and forget, the first line that a result is for."""
        key = str(path) if is_given else path
        lines = self._lines[key]
        line = lines.pop(0)
        if not lines:
            del self._lines[key]
        return line


def _key(asked: Target) -> Target | str:
    """Return what tells a bundle by its name from a file of the same name."""
    return asked.name if isinstance(asked, BundleRequest) else asked


def _fits(held: list[Path], path: Path) -> bool:
    return not held or (
        held[-1].parent == path.parent and path not in held and len(held) < MAX_ALBUM_FILES
    )


def _brief(found: object) -> str:
    return f"{type(found).__name__} {str(found)[:60]!r}"
