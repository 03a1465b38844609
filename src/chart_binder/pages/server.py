"""The server of the review page: on the loopback interface, until it is ended or unused."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from uvicorn import Config as ServerConfig
from uvicorn import Server

from chart_binder.config import Config
from chart_binder.errors import CanonError
from chart_binder.jobs.review_index import ReviewIndex
from chart_binder.jobs.review_session import ReviewSession
from chart_binder.pages.app import ReviewPages, make_app
from chart_binder.pages.library import library_routes
from chart_binder.pages.security import Access, RequestGuard
from chart_binder.wiring import record_lookups

if TYPE_CHECKING:
    from chart_binder.store import Store

LOOPBACK = "127.0.0.1"
IDLE_S = 3600.0
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE_S = 1


def serve_review(
    store: "Store",
    config: Config,
    index: ReviewIndex,
    announce: Callable[[str], None],
    *,
    port: int = 0,
    idle_s: float | None = IDLE_S,
) -> None:
    """Serve the review until a signal, or `idle_s` seconds without a request; `index` has begun.

    `announce` gets the address that opens the page, once the server answers. Raises `CanonError` if
    the port cannot be used.
    """
    with _listening(port) as listener:
        access = Access(listener.getsockname()[1])
        session = ReviewSession(store, config, record_lookups(config))
        app = make_app(ReviewPages(session, index, access), library_routes(store))
        settings = ServerConfig(
            app, log_config=None, log_level="error", access_log=False, lifespan="off", ws="none",
            http="h11", server_header=False, proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_S,
        )  # fmt: skip
        server = _Server(settings, app, session, lambda: announce(access.address), idle_s)
        asyncio.run(server.serve(sockets=[listener]))


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """Listen on the loopback interface. Raises `CanonError`."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
            listener.listen()
        except OSError as error:
            problem = f"port {port} cannot be used: {error.strerror or error}"
            raise CanonError(f"{problem}; without --port canon takes a free one") from error
        yield listener


class _Server(Server):
    """A server that says when it answers, and ends by a signal or when nobody uses it."""

    def __init__(
        self,
        settings: ServerConfig,
        app: RequestGuard,
        session: ReviewSession,
        announce: Callable[[], None],
        idle_s: float | None,
    ) -> None:
        super().__init__(settings)
        self._app = app
        self._session = session
        self._announce = announce
        self._idle_s = idle_s

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        self._announce()

    async def on_tick(self, counter: int) -> bool:
        """Return whether the server ends; this is called several times a second."""
        is_idle = self._idle_s is not None and self._app.unused_s > self._idle_s
        return await super().on_tick(counter) or is_idle

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in order at the first signal, at once at the second."""
        loop = asyncio.get_running_loop()
        for number in _ENDING:
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in _ENDING:
                loop.remove_signal_handler(number)

    def _end(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = self._session.is_ending = True
