"""Server-sent events: what a server says piece by piece over one response.

The format is https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream;
names, ids and delays of events mean nothing to a chat model and are passed over.
"""

from collections.abc import Iterable, Iterator

_DATA = (b"data", b"error")  # old llama.cpp: a failure stands in a field of that name
_BOM = b"\xef\xbb\xbf"


def events(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each event; the last one may lack the empty line that ends it."""
    data: list[bytes] = []
    for line in _lines(pieces):
        name, _, value = line.partition(b":")
        if not line and data:
            yield b"\n".join(data)
            data = []
        elif name in _DATA:
            data.append(value.removeprefix(b" "))
    if data:
        yield b"\n".join(data)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines without their ends, of which there are three kinds, as soon as they end."""
    begun: list[bytes] = []
    for piece in filter(None, pieces):
        if begun and begun[-1].endswith(b"\r") and not piece.startswith(b"\n"):
            yield _joined(begun)
        first, *more = piece.splitlines(keepends=True)
        begun.append(first)
        if more:
            yield _joined(begun)
            yield from (line.rstrip(b"\r\n") for line in more[:-1])
            begun.append(more[-1])
        if begun[-1].endswith(b"\n"):  # after \r, the \n may come with the next piece
            yield _joined(begun)
    if begun:
        yield _joined(begun)


def _joined(begun: list[bytes]) -> bytes:
    line = b"".join(begun).rstrip(b"\r\n").removeprefix(_BOM)
    begun.clear()
    return line
