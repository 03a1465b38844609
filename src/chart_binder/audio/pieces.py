"""A file described as pieces: bytes in hand, or stretches of the file that is being read."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chart_binder.audio.files import refused, shown
from chart_binder.errors import AudioError

CHUNK_BYTES = 1 << 20
"""What is in memory at a time of a stretch."""

MOST_BYTES = 1 << 28
"""The longest tag that is read into memory; a longer one is a damaged length."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes that stand in the source."""

    start: int
    size: int


Piece = bytes | Stretch


@dataclass(frozen=True, slots=True)
class Source:
    """An open audio file, read at any place."""

    path: Path
    descriptor: int
    size: int

    @classmethod
    def of(cls, path: Path, descriptor: int) -> "Source":
        """Return the file behind an open descriptor."""
        return cls(path, descriptor, os.fstat(descriptor).st_size)

    def at(self, start: int, size: int) -> bytes:
        """Return exactly `size` bytes from `start`; raise `AudioError` where they are not there."""
        if start < 0 or size < 0 or start + size > self.size:
            raise self.damaged("it ends within a structure that its header announces")
        if size > MOST_BYTES:
            raise self.damaged(f"a tag of {size:,} bytes is announced")
        return b"".join(self.read(Stretch(start, size)))

    def has(self, start: int, expected: bytes) -> bool:
        """Say whether these bytes stand at `start`."""
        if start < 0 or start + len(expected) > self.size:
            return False
        return self.at(start, len(expected)) == expected

    def read(self, stretch: Stretch) -> Iterator[bytes]:
        """Yield the bytes of a stretch, a chunk at a time; raise `AudioError` if it is cut."""
        at, end = stretch.start, stretch.start + stretch.size
        while at < end:
            try:
                chunk = os.pread(self.descriptor, min(CHUNK_BYTES, end - at), at)
            except OSError as error:
                raise refused(self.path, error) from error
            if not chunk:
                raise self.damaged("it has become shorter while it was read")
            yield chunk
            at += len(chunk)

    def chunks(self, pieces: Iterable[Piece]) -> Iterator[bytes]:
        """Yield the bytes that the pieces stand for."""
        for piece in pieces:
            if isinstance(piece, Stretch):
                yield from self.read(piece)
            else:
                yield piece

    def damaged(self, detail: str) -> AudioError:
        """Return what to raise where the file does not make sense."""
        return AudioError(
            f"{shown(self.path)} is damaged, cut short or not what its name says: {detail}"
        )


def size_of(pieces: Iterable[Piece]) -> int:
    """Return how many bytes the pieces stand for."""
    return sum(piece.size if isinstance(piece, Stretch) else len(piece) for piece in pieces)
