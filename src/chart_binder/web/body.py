"""A response's body, bounded both in what arrives and in what it unpacks to."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import httpx

ACCEPTED_ENCODINGS = "gzip, deflate"
"""Not br or zstd: Python's libraries for them bound what they unpack in their newest versions only.
"""
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class Body:
    """The unpacked bytes; `cut` says that there was more, or that the server broke off."""

    data: bytes
    cut: bool


def read_body(response: httpx.Response, max_bytes: int) -> Body:
    """Read at most `max_bytes` of a streamed response, unpacked.

    Raises `httpx.DecodingError` for an encoding nobody asked for or that cannot be unpacked,
    and whatever httpx raises for a connection that fails.
    """
    packing = _packing(response)
    data = bytearray()
    arrived = 0
    for chunk in response.iter_raw():
        arrived += len(chunk)
        for piece in packing.pieces(chunk):
            data += piece
            if len(data) > max_bytes:
                return Body(bytes(data[:max_bytes]), cut=True)
        if arrived > max_bytes:
            return Body(bytes(data), cut=True)
    return Body(bytes(data), cut=packing.is_unfinished)


def _packing(response: httpx.Response) -> "_Plain | _Inflater":
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return _Plain()
    if encoding in {"gzip", "x-gzip"}:
        return _Inflater(_GZIP)
    if encoding == "deflate":
        return _Inflater(_ZLIB, _RAW)
    raise httpx.DecodingError(f"content encoding {encoding[:40]!r}", request=response.request)


class _Plain:
    is_unfinished = False

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk


class _Inflater:
    """gzip, its concatenated members included, or deflate, in pieces of bounded size.

    What is called deflate is zlib's format; some servers send it without its frame.
    """

    _PIECE = 65_536

    def __init__(self, frame: int, other: int | None = None) -> None:
        self._frame = frame
        self._other = other
        self._stream = zlib.decompressobj(frame)
        self._members = 0
        self._is_within = False  # a member that has not ended

    @property
    def is_unfinished(self) -> bool:
        """Whether what is packed should have gone on."""
        return self._is_within

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while True:
            piece = self._unpacked(chunk)
            if piece is None:
                return
            yield piece
            chunk = self._stream.unconsumed_tail
            if self._stream.eof:
                chunk = self._stream.unused_data
                self._stream = zlib.decompressobj(self._frame)
                self._members += 1
                self._is_within = False
                if not chunk:
                    return
            elif not chunk and len(piece) < self._PIECE:
                return

    def _unpacked(self, chunk: bytes) -> bytes | None:
        """Return the next piece; None for what is behind the end."""
        try:
            piece = self._stream.decompress(chunk, self._PIECE)
        except zlib.error as error:
            if self._members:
                return None  # some servers pad behind the last member
            if self._other is None:
                raise httpx.DecodingError("the packed body is broken") from error
            self._frame, self._other = self._other, None
            self._stream = zlib.decompressobj(self._frame)
            return self._unpacked(chunk)
        # Behind a member there may be padding; only what unpacks to something is another one.
        self._is_within = self._is_within or bool(piece) or not self._members
        if piece:
            self._other = None
        return piece
