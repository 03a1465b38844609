"""A real HTTP server on loopback that answers as a test says."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from typing import ClassVar, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived.

    `path` is without the query, `query` holds the last value of each name, header names are lower
    case, `target` is the request line's own text (path and query, undecoded).
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    target: str


@dataclass(frozen=True, slots=True)
class Response:
    """One answer, and how badly to give it.

    A body of bytes or text is sent with its length, an iterable of bytes piece by piece (chunked).
    `delay_s` is waited before the first byte; `drip` is (bytes at a time, seconds between) for the
    body; `drop_after` closes the connection after so many bytes of the body (0: after the headers);
    `raw` replaces status, headers and body by bytes for the socket, `raw=b""` just hangs up.
    """

    body: bytes | str | Iterable[bytes] = b""
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    delay_s: float = 0.0
    drip: tuple[int, float] | None = None
    drop_after: int | None = None
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class Repeated:
    """A body of `head` and then `piece` so many times, without end by default; never in memory."""

    piece: bytes
    times: int | None = None
    head: bytes = b""

    def __iter__(self) -> Iterator[bytes]:
        again = repeat(self.piece) if self.times is None else repeat(self.piece, self.times)
        return chain((self.head,) if self.head else (), again)


Handler = Callable[[Request], Response]


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class StandIn:
    """A server in a thread: `with StandIn(handler) as server: get(server.url)`.

    `requests` lists what arrived, in order. Every answer closes its connection. Whatever is still
    waiting or dripping when the block ends is abandoned at once. `hung_up` is set when a client
    does not wait for the end of its answer.
    """

    handler: Handler
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    requests: list[Request] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    wanted_port: int = 0
    """The port to listen on; 0 for any that is free."""

    def __enter__(self) -> Self:
        stand_in: StandIn = self

        class Bound(_Connection):
            owner = stand_in

        self.closing = threading.Event()
        self._server = _Server((self.host, self.wanted_port), Bound)
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.005,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The base address, without a slash at the end."""
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: a client that hangs up is what many tests are about."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ClassVar[StandIn]

    def answer(self) -> None:
        self.close_connection = True
        request = self._read()
        self.owner.requests.append(request)
        response = self.owner.handler(request)
        if self.owner.closing.wait(response.delay_s):
            return
        if response.raw is not None:
            self._send(response, response.raw)
            return
        self._send_head(response)
        if request.method != "HEAD" and response.drop_after != 0:
            self._send_body(response)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""

    def _read(self) -> Request:
        split = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        query = dict(parse_qsl(split.query, keep_blank_values=True))
        return Request(self.command, split.path, query, headers, body, self.path)

    def _send_head(self, response: Response) -> None:
        self.send_response(response.status)
        given = {name.lower() for name, _ in response.headers}
        if "content-type" not in given and response.content_type:
            self.send_header("Content-Type", response.content_type)
        if isinstance(response.body, (bytes, str)):
            if "content-length" not in given:
                self.send_header("Content-Length", str(len(_encoded(response.body))))
        else:
            self.send_header("Transfer-Encoding", "chunked")
        for name, value in response.headers:
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()

    def _send_body(self, response: Response) -> None:
        if isinstance(response.body, (bytes, str)):
            self._send(response, _encoded(response.body)[: response.drop_after])
            return
        for piece in response.body:
            if self.owner.closing.is_set():
                return
            self._send(response, b"%x\r\n%s\r\n" % (len(piece), piece))
        self._send(response, b"0\r\n\r\n")

    def _send(self, response: Response, data: bytes) -> None:
        for piece, pause_s in _pieces(data, response.drip):
            try:
                self.wfile.write(piece)
                self.wfile.flush()
            except OSError:
                self.owner.hung_up.set()
                raise
            if self.owner.closing.wait(pause_s):
                return


def _pieces(data: bytes, drip: tuple[int, float] | None) -> Iterator[tuple[bytes, float]]:
    size, pause_s = drip or (max(len(data), 1), 0.0)
    for start in range(0, len(data), size):
        yield data[start : start + size], pause_s


def _encoded(body: bytes | str) -> bytes:
    return body.encode() if isinstance(body, str) else body
