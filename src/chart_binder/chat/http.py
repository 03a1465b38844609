"""How a model server is reached, until a deadline."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from chart_binder.chat.faults import (
    BY_NAME,
    ErrorAnswer,
    Fault,
    Faults,
    PassingError,
    error_in,
    parse_json,
    read_error,
)
from chart_binder.config import LLMConfig
from chart_binder.errors import ERROR_NUMBER, ConfigError, masked
from chart_binder.files import convert_json
from chart_binder.react.conversation import ChatError, Reply

if TYPE_CHECKING:
    import httpx

    from chart_binder.net import Deadline

T = TypeVar("T")
CONNECT_S = 5.0  # a host that is there answers the first packet long before
MOST_BYTES = 16_000_000
"""Of an answer as it is sent; a description of a model with its licences takes less than one MB."""
MOST_BYTES_A_TOKEN = 1_024
"""A token is streamed as a line of JSON with the model's name and the time, some 150 bytes."""
PAUSES_S = (0.1, 0.4, 1.0)
"""Before the second try and before the third, and between those while a model is loading."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a server, with its port and without a user name, and the key for it."""

    address: str
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, config: LLMConfig, environ: Mapping[str, str]) -> "Endpoint":
        """Read `base_url` and `api_key_env`, or raise `ConfigError`."""
        return cls(_address(config.base_url), _key(config.api_key_env, environ))

    @property
    def named_proxy(self) -> tuple[str, str]:
        """The variable that names a proxy for the server, and its value; else two empty texts."""
        from chart_binder.net import named_proxy  # loads httpcore

        split = urlsplit(self.address)
        return named_proxy(split.netloc, split.scheme, "all")

    def _proxy(self) -> "httpx.Proxy | None":
        import httpx  # as below

        name, proxy = self.named_proxy
        try:
            usable = httpx.Proxy(proxy if "://" in proxy else f"http://{proxy}") if proxy else None
            if usable and usable.url.scheme.startswith("socks"):
                import_module("socksio")  # which httpx needs for it
        except (ValueError, httpx.InvalidURL, ImportError) as error:
            raise ChatError(
                f"{self.address} cannot be asked through {name} = {masked(proxy)!r}: use a proxy"
                f" of http://, install httpx[socks] for socks5://, or name the host in NO_PROXY"
            ) from error
        return usable

    def http_options(self, deadline: "Deadline", max_tokens: int = 0) -> dict[str, Any]:
        """Return the arguments of an `httpx.Client` for one request that ends with the deadline.

        A proxy from the environment is used for other machines only, certificates are read for
        https only. Raises `ChatError` that names the variable if the proxy or the certificates
        cannot be used. Redirects are not followed, because one would carry a prompt to a host that
        nobody configured. Reading more than 16 MB of an answer raises `ChatError`, or more than
        1 KB for each of `max_tokens` if that is larger.
        """
        import httpx  # 170 ms, for those who really ask a model

        from chart_binder.net import no_authorities, trusted_authorities

        def prepare(request: httpx.Request) -> None:
            request.extensions["trace"] = deadline.watch
            request.headers.pop("authorization", None)  # ollama sends OLLAMA_API_KEY to any host
            if self.key:
                request.headers["authorization"] = f"Bearer {self.key}"

        try:
            is_encrypted = self.address.startswith("https:")
            authorities = trusted_authorities() if is_encrypted else no_authorities()
        except ConfigError as error:
            raise ChatError(f"{self.address} cannot be asked: {error}") from error
        limit = _limit_size(max(MOST_BYTES, MOST_BYTES_A_TOKEN * max_tokens))
        return {
            "headers": {"connection": "close", "accept-encoding": "identity"},
            "timeout": httpx.Timeout(deadline.left_s, connect=min(CONNECT_S, deadline.left_s)),
            "trust_env": False,
            "proxy": self._proxy(),
            "verify": authorities,
            "follow_redirects": False,
            "event_hooks": {"request": [prepare], "response": [limit]},
        }


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is asked about one model until a deadline; its API begins at `endpoint`."""

    endpoint: Endpoint
    model_id: str
    deadline: "Deadline"
    faults: Faults

    def ask(self, path: str, kind: type[T], question: Mapping[str, str] | None = None) -> T:
        """Return what the server says below its address, or raise `ChatError`."""
        import httpx  # as above

        with self.translated():
            with httpx.Client(**self.endpoint.http_options(self.deadline)) as client:
                method = "POST" if question else "GET"
                answer = client.request(method, self.endpoint.address + path, json=question)
            if not answer.is_success:
                raise self.refusal(read_error(answer.content, answer.status_code))
            document = parse_json(answer.content)
            if error := error_in(document):
                raise self.refusal(error)
            return convert_json(document, kind)

    def refusal(self, answer: ErrorAnswer) -> ChatError:
        """Return the error to raise for an answer that is not a reply."""
        return self.faults.refusal(self.names, answer)

    @property
    def names(self) -> Mapping[str, str]:
        """What sentences about the server name, and its key, which they do not show."""
        return {
            "server": self.faults.server,
            "address": self.endpoint.address,
            "model": self.model_id,
            "seconds": f"{self.deadline.seconds:g}",
            "key": self.endpoint.key,
        }

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise `ChatError` for whatever a library raises for what the server does."""
        import httpx  # as above

        try:
            yield
        except (
            httpx.HTTPError,
            httpx.InvalidURL,
            OSError,
            ImportError,
            ValueError,
            AttributeError,
            TypeError,
            RecursionError,
        ) as error:
            raise (
                BY_NAME["LATE"].error(self.names)
                if self.deadline.has_passed
                else self._failure(error)
            ) from error

    def _failure(self, error: Exception) -> ChatError:
        import httpx  # as above

        # The client library of Ollama hides a failed connection behind words of its own.
        cause = error.__context__ if isinstance(error, ConnectionError) else None
        detail = ERROR_NUMBER.sub("", str(cause or error)) or type(error).__name__
        absent = self.faults.absent
        if name := self.endpoint.named_proxy[0]:
            absent, detail = BY_NAME["PROXY_ABSENT"], f"{name}: {detail}"
        if "CERTIFICATE_VERIFY_FAILED" in detail:
            absent = BY_NAME["CERTIFICATE"]
        rows: tuple[tuple[tuple[type[Exception], ...], Fault], ...] = (
            ((httpx.ConnectError, httpx.ConnectTimeout, ConnectionError), absent),
            ((httpx.TimeoutException,), BY_NAME["LATE"]),
            ((httpx.ProxyError,), BY_NAME["PROXY"]),
            ((httpx.TransportError,), BY_NAME["BROKEN_OFF"]),
            ((httpx.InvalidURL,), BY_NAME["IMPOSSIBLE_ADDRESS"]),
            ((OSError, ImportError), BY_NAME["UNUSABLE"]),
        )
        fault = next((row for kinds, row in rows if isinstance(error, kinds)), None)
        if fault is None:
            # The answer is not JSON, has another shape, or is nested too deep. The message of the
            # library helps nobody, but some versions of Ollama send an error as the key of a line,
            # and then the message holds it.
            fault = self.faults.recognise(ErrorAnswer(0, str(error)))
            detail = "an error in place of a reply" if fault else "its answer cannot be read"
            return (fault or self.faults.wrong_format).error(self.names, detail)
        return fault.error(self.names, detail)


def retry_passing(ask: Callable[[], Reply], deadline: "Deadline") -> Reply:
    """Return what `ask` returns, or raise its `ChatError`.

    It is called again until the deadline while the model is loading, and twice at most after other
    faults that may pass.
    """
    tries = 0
    has_warned = False
    while True:
        try:
            return ask()
        except PassingError as error:
            wait_s = max(PAUSES_S[min(tries, 2)], error.retry_after_s)
            tries += 1
            if deadline.left_s <= wait_s or (tries > 2 and not error.is_loading):  # noqa: PLR2004
                raise
            if error.is_loading and not has_warned:
                _log.warning("waiting for %.0f s at most: %s", deadline.left_s, error)
                has_warned = True
            sleep(wait_s)


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


def _limit_size(most_bytes: int) -> "Callable[[httpx.Response], None]":
    """Return a response hook that cuts an answer off after so many bytes.

    A compressed answer is refused: how much it grows in memory is known only afterwards.
    """
    import httpx  # as above

    class Limited(httpx.SyncByteStream):
        def __init__(self, stream: httpx.SyncByteStream, host: str) -> None:
            self._stream = stream
            self._host = host

        def __iter__(self) -> Iterator[bytes]:
            left = most_bytes
            for piece in self._stream:
                left -= len(piece)
                if left < 0:
                    raise ChatError(
                        f"the server at {self._host} sent more than {most_bytes} bytes in one"
                        " answer: set llm.base_url to a model server, or look into its log"
                    )
                yield piece

        def close(self) -> None:
            self._stream.close()

    def limit(response: httpx.Response) -> None:
        if response.headers.get("content-encoding", "").lower() not in {"", "identity"}:
            raise httpx.DecodingError("a compressed answer", request=response.request)
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = Limited(response.stream, response.url.netloc.decode("ascii"))

    return limit
