"""An answer ends with an error where it is longer than any honest one."""

from collections.abc import Callable, Iterator

import httpx

from chart_binder.react.conversation import ChatError

WIRE_BYTES = 16_000_000
"""Of an answer as it travels; a description of a model with its licences takes less than one."""
WIRE_BYTES_A_TOKEN = 1_024
"""A token is streamed as a line of JSON with the model's name and the time, some 150 bytes."""
_PLAIN = frozenset({"", "identity"})


def bounded(most_bytes: int) -> Callable[[httpx.Response], None]:
    """Return a hook that cuts a response off, with a `ChatError`, after so many bytes.

    A compressed one, which was not asked for, is refused with `httpx.DecodingError`: how much it
    grows in memory is known only afterwards.
    """

    def bound(response: httpx.Response) -> None:
        if response.headers.get("content-encoding", "").lower() not in _PLAIN:
            raise httpx.DecodingError("a compressed answer", request=response.request)
        stream = response.stream
        if isinstance(stream, httpx.SyncByteStream):
            response.stream = _Bounded(stream, most_bytes, response.url)

    return bound


class _Bounded(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, most_bytes: int, url: httpx.URL) -> None:
        self._stream = stream
        self._most_bytes = most_bytes
        self._host = url.netloc.decode("ascii")

    def __iter__(self) -> Iterator[bytes]:
        left = self._most_bytes
        for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise ChatError(
                    f"the server at {self._host} sent more than {self._most_bytes} bytes in one"
                    " answer: set llm.base_url to a model server, or look into its log"
                )
            yield piece

    def close(self) -> None:
        self._stream.close()
