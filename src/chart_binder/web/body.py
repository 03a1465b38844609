"""A response's body, bounded both in what arrives and in what it unpacks to."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx

ACCEPTED_ENCODINGS = "gzip, deflate"


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
    unpack = _unpacker(response)
    data = bytearray()
    arrived = 0
    for chunk in response.iter_raw():
        arrived += len(chunk)
        for piece in unpack(chunk):
            data += piece
            if len(data) > max_bytes:
                return Body(bytes(data[:max_bytes]), cut=True)
        if arrived > max_bytes:
            return Body(bytes(data), cut=True)
    return Body(bytes(data), cut=False)


def _unpacker(response: httpx.Response) -> Callable[[bytes], Iterator[bytes]]:
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return lambda chunk: iter((chunk,))
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return _Inflater().pieces
    raise httpx.DecodingError(f"content encoding {encoding[:40]!r}", request=response.request)


class _Inflater:
    """gzip, its concatenated members included, or zlib, in pieces of bounded size."""

    _PIECE = 65_536

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        self._members = 0

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while True:
            try:
                piece = self._stream.decompress(chunk, self._PIECE)
            except zlib.error as error:
                if self._members:
                    return  # some servers pad behind the last member
                raise httpx.DecodingError("the packed body is broken") from error
            yield piece
            chunk = self._stream.unconsumed_tail
            if self._stream.eof:
                chunk = self._stream.unused_data
                self._stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
                self._members += 1
                if not chunk:
                    return
            elif not chunk and len(piece) < self._PIECE:
                return
