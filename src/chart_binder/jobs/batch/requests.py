"""Read what another program asks for as JSON lines (`canon batch --stdin`)."""

import base64
import binascii
import os
import queue
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import CanonError, EvidenceError
from chart_binder.jobs.batch import MAX_ALBUM_FILES, Album

_ALLOWED = (
    '{"path": "song.mp3"}, {"bundle": {...}}, either with an "id" of its own, or an evidence bundle'
)
_BLOCK = 1 << 16
_MAX_LINES_AHEAD = 200


class LineError(EvidenceError):
    """A line asks for nothing that can be decided."""

    def __init__(self, problem: str) -> None:
        CanonError.__init__(self, problem)
        self.where = ""


@dataclass(frozen=True, slots=True)
class BundleRequest:
    """An evidence bundle to decide; `name` stands for it in results."""

    name: str
    document: object

    def bundle(self) -> EvidenceBundle:
        """Return the bundle. Raises `EvidenceError`."""
        if isinstance(self.document, EvidenceError):
            raise self.document
        return read_bundle(self.document)  # type: ignore[arg-type]  # it reports a wrong type


@dataclass(frozen=True, slots=True)
class NoInputYet:
    """No line has come so far, but more may."""


Target: TypeAlias = Path | BundleRequest


@dataclass(frozen=True, slots=True)
class LineRequest:
    """A line: its number, what to decide, and the caller's own `id` for it."""

    number: int
    target: Target
    id: object = None


def read_request(text: bytes, number: int) -> LineRequest:
    """Read a line; an invalid one becomes a bundle that cannot be read, for the reason given."""
    name = f"line {number}"
    found: Any = None
    try:
        found = msgspec.json.decode(text)
        target = _target(found, name)
    except LineError as problem:
        target = BundleRequest(name, problem)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        target = BundleRequest(name, LineError(f"{name}: {error}; allowed is {_ALLOWED}"))
    return LineRequest(number, target, found.get("id") if isinstance(found, Mapping) else None)


def _target(found: object, name: str) -> Target:
    """Return what a line asks for. Raises `LineError`."""
    if not isinstance(found, Mapping):
        raise LineError(f"{name}: found {_brief(found)}; allowed is {_ALLOWED}")
    if found.get("bundle") is not None:
        if any(found.get(key) is not None for key in ("path", "path_b64")):
            raise LineError(f"{name}: found both a path and a bundle; allowed is {_ALLOWED}")
        return BundleRequest(name, found["bundle"])
    if "recording_candidates" in found:
        return BundleRequest(name, found)
    path, encoded = found.get("path"), found.get("path_b64")
    try:
        if isinstance(encoded, str):
            path = os.fsdecode(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError) as error:
        raise LineError(f"{name}: path_b64: {error}") from error
    if isinstance(path, str) and path and "\0" not in path:
        return Path(path)
    what = f"{', '.join(sorted(map(str, found))) or 'no keys'}; allowed is {_ALLOWED}"
    if "path" in found:
        what = f"{_brief(path)} as path; the name of a file is allowed"
    raise LineError(f"{name}: found {what}")


def _brief(found: object) -> str:
    return f"{type(found).__name__} {str(found)[:60]!r}"


def read_lines(descriptor: int) -> Iterator[bytes]:
    """Yield lines as they come, without the lock of a file object.

    Python cannot end while a thread that waits for a line holds the lock of standard input.
    """
    begun = b""
    while block := os.read(descriptor, _BLOCK):
        *whole, begun = (begun + block).split(b"\n")
        yield from whole
    if begun:
        yield begun


class RequestReader:
    """Reads lines ahead in a thread, so that the batch never waits for the next one."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._ahead: queue.Queue[bytes | None] = queue.Queue(_MAX_LINES_AHEAD)
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def items(self, pending: "PendingRequests") -> Iterator[Album | BundleRequest | NoInputYet]:
        """Yield what is asked for; files of one folder that have come together are one album."""
        number = 0
        held: list[Path] = []
        while True:
            text = self._next()
            if isinstance(text, bytes):
                number += 1
                if not text.strip():
                    continue
                request = read_request(text, number)
                pending.add(request)
                if isinstance(request.target, Path) and _fits(held, request.target):
                    held.append(request.target)
                    continue
            if held:
                yield Album(tuple(held), answered=True)
                held = []
            if text is None:
                return
            if isinstance(text, NoInputYet):
                yield text
            elif isinstance(request.target, Path):
                held.append(request.target)
            else:
                yield request.target

    def _next(self) -> bytes | NoInputYet | None:
        try:
            return self._ahead.get_nowait()
        except queue.Empty:
            return NoInputYet()

    def _read(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._ahead.put(line)
        self._ahead.put(None)


def _fits(held: list[Path], path: Path) -> bool:
    return not held or (
        held[-1].parent == path.parent and path not in held and len(held) < MAX_ALBUM_FILES
    )


class PendingRequests:
    """The requests without an answer so far, by what stands for them in results."""

    def __init__(self) -> None:
        self._requests: defaultdict[Path | str, deque[LineRequest]] = defaultdict(deque)

    def add(self, request: LineRequest) -> None:
        """Remember a request."""
        target = request.target
        key = target.name if isinstance(target, BundleRequest) else target
        self._requests[key].append(request)

    def pop(self, path: Path, *, is_given: bool) -> LineRequest:
        """Return and forget the first request that a result answers; `is_given`: a bundle's."""
        key = str(path) if is_given else path
        request = self._requests[key].popleft()
        if not self._requests[key]:
            del self._requests[key]
        return request
