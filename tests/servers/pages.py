"""Pages of the open web, and what a hostile server sends in place of them."""

import gzip
import zlib
from collections.abc import Mapping
from functools import cache

from servers.http import Repeated, Request, Response, StandIn

_PIECE = 1_000_000


class Pages(StandIn):
    """`with Pages({"/queen": "<h1>Queen</h1>", "/bomb": gzip_bomb(300)}) as server:`

    A text is an HTML page. Any other path is 404, unless there is a page for `*`.
    """

    def __init__(self, pages: Mapping[str, str | Response]) -> None:
        super().__init__(self._answer)
        self.pages = dict(pages)

    def _answer(self, request: Request) -> Response:
        page = self.pages.get(request.path, self.pages.get("*"))
        if page is None:
            return Response("<h1>Not Found</h1>", 404)
        return Response(page) if isinstance(page, str) else page


def redirect(to: str, status: int = 302) -> Response:
    """Send to another address."""
    return Response("moved", status, headers=(("Location", to),))


def huge(megabytes: int, content_type: str = "text/html; charset=utf-8") -> Response:
    """Send a page of so many megabytes, with words in it."""
    piece = (b"<p>" + b"words without end " * 20) * (_PIECE // 363)
    return Response(Repeated(piece, megabytes), content_type=content_type)


def gzip_bomb(megabytes: int) -> Response:
    """Send a small body that unpacks to so many megabytes."""
    return Response(_bomb(megabytes), headers=(("Content-Encoding", "gzip"),))


def deflate_bomb(megabytes: int) -> Response:
    """Send the like in zlib's format."""
    checksum = (megabytes * _PIECE % 65_521) << 16 | 1  # Adler-32 of nothing but zeros
    body = b"\x78\xda" + raw_deflated(b"\0" * _PIECE, megabytes) + checksum.to_bytes(4, "big")
    return Response(body, headers=(("Content-Encoding", "deflate"),))


def dripping_body() -> Response:
    """Send a page a byte at a time, so that no single read ever waits long."""
    return Response("<h1>slow</h1>" * 1_000, drip=(1, 0.05))


def dripping_head() -> Response:
    """Send a status line, then a header that never ends, a byte at a time."""
    return Response(raw=b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1_000, drip=(1, 0.05))


def endless_head() -> Response:
    """Send headers by the megabyte."""
    return Response(raw=b"HTTP/1.1 200 OK\r\n" + b"X-More: and more\r\n" * 200_000)


def endless_hints() -> Response:
    """Send interim answers, and never the one asked for."""
    return Response(raw=b"HTTP/1.1 103 Early Hints\r\n\r\n" * 200_000)


def raw_deflated(piece: bytes, times: int) -> bytes:
    """Pack a piece so many times; it is packed once, for to pack it all takes seconds."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    return packed * times + packer.flush()


@cache
def _bomb(megabytes: int) -> bytes:
    return b"".join([gzip.compress(b" " * _PIECE, 9)] * megabytes)
