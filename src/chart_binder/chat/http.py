"""How a model server is reached: its address, its key, its connection."""

import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, TypedDict
from urllib.parse import urlsplit

from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError, masked

if TYPE_CHECKING:
    import ssl

    import httpx


class Deadline:
    """A moment `seconds` from now at which the watched connection is hung up.

    httpx counts its timeouts for each read: a server that drips a byte now and then, in the
    headers or in the body, is never cut by them. Hanging up wakes a read that is waiting.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._socket: socket.socket | None = None
        self._set(seconds)

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    @property
    def left(self) -> float:
        """Seconds until the moment; 0 after it."""
        return max(0.0, self._end - monotonic())

    @property
    def passed(self) -> bool:
        """Whether the moment is over."""
        return monotonic() >= self._end

    def shorten(self, seconds: float) -> None:
        """Have the moment come in `seconds`, if that is sooner."""
        if seconds < self.left:
            self._timer.cancel()
            self._set(seconds)
            self._timer.start()

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Take note of a request's connection: an httpx `trace` extension."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
            if self.passed:
                self._hang_up()

    def _set(self, seconds: float) -> None:
        self._end = monotonic() + seconds
        self._timer = threading.Timer(seconds, self._hang_up)
        self._timer.daemon = True

    def _hang_up(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # closed or being wrapped for TLS meanwhile
                self._socket.shutdown(socket.SHUT_RDWR)


CONNECT_S = 5.0  # a host that is there answers the first packet long before


class HttpOptions(TypedDict):
    """What an `httpx.Client`, or a client library around one, is made with."""

    headers: dict[str, str]
    timeout: "httpx.Timeout"
    trust_env: bool
    verify: "ssl.SSLContext"
    follow_redirects: bool
    event_hooks: dict[str, list[Callable[..., None]]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server as it is really dialled: `address` has its port and no user name."""

    address: str
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, config: LLMConfig, environ: Mapping[str, str]) -> "Endpoint":
        """Read `base_url` and `api_key_env`, or raise `ConfigError`."""
        return cls(_address(config.base_url), _key(config.api_key_env, environ))

    @property
    def is_local(self) -> bool:
        """Whether the server runs on this machine."""
        host = urlsplit(self.address).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return address.is_loopback or address.is_unspecified

    def http(self, deadline: Deadline, max_tokens: int = 0) -> HttpOptions:
        """Return how to speak to it once, until `deadline`.

        Proxies from the environment serve remote servers only. A redirect is not followed: it
        would turn a POST into a GET, and carry a prompt to a host nobody configured. Connections
        are not kept: a new one costs nothing beside a reply. An answer is cut off, with a
        `ChatError`, at 16 MB, or at 1 KB for each of `max_tokens` if that is more.
        """
        import httpx  # 170 ms, for those who really ask a model

        from chart_binder.chat.bounded import WIRE_BYTES, WIRE_BYTES_A_TOKEN, bounded

        most_bytes = max(WIRE_BYTES, WIRE_BYTES_A_TOKEN * max_tokens)

        def prepare(request: httpx.Request) -> None:
            request.extensions["trace"] = deadline.watch
            request.headers.pop("authorization", None)  # ollama sends OLLAMA_API_KEY to any host
            if self.key:
                request.headers["authorization"] = f"Bearer {self.key}"

        return {
            "headers": {"connection": "close", "accept-encoding": "identity"},
            "timeout": httpx.Timeout(deadline.left, connect=min(CONNECT_S, deadline.left)),
            "trust_env": not self.is_local,
            "verify": _trusted_roots(),
            "follow_redirects": False,
            "event_hooks": {"request": [prepare], "response": [bounded(most_bytes)]},
        }


def _address(base_url: str) -> str:
    """Spell out the port, as `http://localhost` means 80 and not Ollama's 11434."""
    try:
        split = urlsplit(base_url)
        port = split.port or (443 if split.scheme == "https" else 80)
    except ValueError as error:
        # The error's own words may quote a part of a password.
        raise ConfigError(
            f"llm.base_url = {masked(base_url)!r} is not an address: http://host:port is allowed"
        ) from error
    if not split.hostname:
        raise ConfigError(f"llm.base_url = {masked(base_url)!r} names no host")
    if "@" in split.path:
        raise ConfigError(
            f"llm.base_url = {masked(base_url)!r} has an @ behind its host: in a password,"
            " write / as %2F and @ as %40"
        )
    host = f"[{split.hostname}]" if ":" in split.hostname else split.hostname
    return f"{split.scheme}://{host}:{port}{split.path.rstrip('/')}"


def _key(name: str, environ: Mapping[str, str]) -> str:
    if not name:
        return ""
    key = environ.get(name, "").strip()
    if not key:
        raise ConfigError(f"llm.api_key_env names {name!r}, which is not set or empty")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"the key in {name!r} (llm.api_key_env) has characters no header may hold"
        )
    return key


@cache
def _trusted_roots() -> "ssl.SSLContext":
    """Return httpx's own choice of certificates, made once: it costs 40 ms each time."""
    import httpx  # as above

    return httpx.create_ssl_context()
