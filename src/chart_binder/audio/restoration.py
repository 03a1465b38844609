"""What makes the file before a write of the file after it, byte for byte, whatever a reader saw.

Most of a file is the same before and after. Kept are the bytes that only the former file has, and
the places of all others in the new one.
"""

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator

import msgspec

from chart_binder.audio.file_access import Piece, Source, Span
from chart_binder.errors import AudioError

# Ends where the bytes themselves say so: equal bytes are cut alike, wherever they stand.
_CHUNK = re.compile(rb"(?s).{256,4096}?(?=[\0-\3])|.{1,4096}")


class Restoration(msgspec.Struct, frozen=True, array_like=True):
    """How to make the former file; hashes are SHA-256 over whole files.

    `parts` are, in order, bytes as they were, or start and size in the new file.
    """

    old_hash: bytes
    new_hash: bytes
    parts: tuple[bytes | tuple[int, int], ...]

    @property
    def document(self) -> bytes:
        """The compressed record; `from_document` reads it back without loss."""
        return zlib.compress(msgspec.msgpack.encode(self))

    @classmethod
    def from_document(cls, document: bytes) -> "Restoration":
        """Read what `document` returned; raise `AudioError` for anything else."""
        try:
            return msgspec.msgpack.decode(zlib.decompress(document), type=cls)
        except (zlib.error, msgspec.MsgspecError) as error:
            raise AudioError(f"the journal does not have the former file: {error}") from error

    @property
    def pieces(self) -> list[Piece]:
        """The former file, in bytes and spans of the new one."""
        return [part if isinstance(part, bytes) else Span(*part) for part in self.parts]


def restoration_of(old: Source, pieces: Iterable[Piece], new_hash: bytes) -> Restoration:
    """Return how `old` is made again of the file that consists of `pieces`.

    Raises `AudioError` where the old file cannot be read.
    """
    copied, written, at = list[tuple[int, int, int]](), dict[bytes, int](), 0
    for piece in pieces:
        if isinstance(piece, Span):
            copied.append((piece.start, at, piece.size))
            at += piece.size
            continue
        for chunk in _CHUNK.findall(piece):
            written[chunk] = at
            at += len(chunk)
    parts = tuple(_merged(_parts(old, sorted(copied), written)))
    return Restoration(file_hash(old), new_hash, parts)


def file_hash(source: Source) -> bytes:
    """Return the SHA-256 over a whole file."""
    digest = hashlib.sha256()
    for chunk in source.chunks([Span(0, source.size)]):
        digest.update(chunk)
    return digest.digest()


_Part = bytes | tuple[int, int]


def _parts(
    old: Source, copied: list[tuple[int, int, int]], written: dict[bytes, int]
) -> Iterator[_Part]:
    """Yield the old file from its beginning; `copied` has what was: old place, new place, size."""
    at = 0
    for start, place, size in (*copied, (old.size, 0, 0)):
        for chunk in _CHUNK.findall(old.read(at, max(0, start - at))):
            yield (written[chunk], len(chunk)) if chunk in written else chunk
        skipped = max(0, at - start)
        if size > skipped:
            yield place + skipped, size - skipped
        at = max(at, start + size)


def _merged(parts: Iterable[_Part]) -> Iterator[_Part]:
    last: _Part = b""
    for part in parts:
        if isinstance(last, bytes) and isinstance(part, bytes):
            last += part
        elif isinstance(last, tuple) and isinstance(part, tuple) and sum(last) == part[0]:
            last = (last[0], last[1] + part[1])
        else:
            yield last
            last = part
    yield last
