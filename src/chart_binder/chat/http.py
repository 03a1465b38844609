"""Requests to a model server, each with a deadline."""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from math import inf
from time import sleep
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from chart_binder.chat.faults import (
    COMMON_FAULTS,
    ErrorAnswer,
    Fault,
    Faults,
    TransientError,
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
CONNECT_S = 5.0  # a host that exists answers the first packet much sooner
MOST_BYTES = 16_000_000
"""The most bytes of an answer; a model's description with its licences takes less than 1 MB."""
MOST_BYTES_A_TOKEN = 1_024
"""The most bytes for each token; a token is streamed as a line of JSON of about 150 bytes."""
PAUSES_S = (0.1, 0.4, 1.0)
"""Seconds before the second and the third try, and before each further one."""
_log = logging.getLogger(__name__)


Split: TypeAlias = Callable[[str, Iterable[bytes]], Iterable[bytes]]
"""Takes the content type and the pieces of an answer; returns its JSON documents as text."""
Refusal: TypeAlias = Callable[[ErrorAnswer], ChatError]
"""Returns the error to raise for an error answer."""


def whole(_: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
    """Return the whole answer as one document."""
    return (b"".join(pieces),)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a server (with its port, without a user name) and the API key."""

    address: str
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, config: LLMConfig, environ: Mapping[str, str]) -> "Endpoint":
        """Return the endpoint of `base_url` and `api_key_env`. Raises `ConfigError`."""
        return cls(_address(config.base_url), _key(config.api_key_env, environ))

    @property
    def named_proxy(self) -> tuple[str, str]:
        """The variable that names a proxy for the server, and its value; empty without a proxy."""
        from chart_binder.net import named_proxy  # loads httpcore

        split = urlsplit(self.address)
        return named_proxy(split.netloc, split.scheme, "all")

    def _proxy(self) -> "httpx.Proxy | None":
        import httpx  # as below

        name, proxy = self.named_proxy
        try:
            usable = httpx.Proxy(proxy if "://" in proxy else f"http://{proxy}") if proxy else None
            if usable and usable.url.scheme.startswith("socks"):
                import_module("socksio")  # httpx needs it for SOCKS
        except (ValueError, httpx.InvalidURL, ImportError) as error:
            raise ChatError(
                f"{self.address} cannot be asked through {name} = {masked(proxy)!r}: use a proxy"
                f" of http://, install httpx[socks] for socks5://, or name the host in NO_PROXY"
            ) from error
        return usable

    def client_options(self, deadline: "Deadline") -> dict[str, Any]:
        """Return the arguments of an `httpx.Client` for one request that ends with the deadline.

        A proxy from the environment is used for other machines only, and certificates are read for
        https only. Redirects are not followed, because they would send the prompt to a host that
        nobody configured. Raises `ChatError` if the proxy or the certificates cannot be used.
        """
        import httpx  # takes 170 ms, so it is loaded only if a model is asked

        from chart_binder.net import no_authorities, trusted_authorities

        def prepare(request: httpx.Request) -> None:
            request.extensions["trace"] = deadline.watch
            request.headers.pop(
                "authorization", None
            )  # the ollama library sends OLLAMA_API_KEY to any host
            if self.key:
                request.headers["authorization"] = f"Bearer {self.key}"

        try:
            is_encrypted = self.address.startswith("https:")
            authorities = trusted_authorities() if is_encrypted else no_authorities()
        except ConfigError as error:
            raise ChatError(f"{self.address} cannot be asked: {error}") from error
        return {
            "headers": {"connection": "close", "accept-encoding": "identity"},
            "timeout": httpx.Timeout(deadline.left_s, connect=min(CONNECT_S, deadline.left_s)),
            "trust_env": False,
            "proxy": self._proxy(),
            "verify": authorities,
            "follow_redirects": False,
            "event_hooks": {"request": [prepare], "response": []},
        }


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server that is asked about one model until a deadline; its API is at `endpoint`."""

    endpoint: Endpoint
    model_id: str
    deadline: "Deadline"
    faults: Faults

    def ask(self, path: str, kind: type[T], body: Mapping[str, Any] | None = None) -> T:
        """Return the server's answer to a path. Raises `ChatError`."""
        [document] = self.documents(
            path, body, partial(convert_json, kind=kind), timeout_fault="SLOW"
        )
        return document

    def documents(
        self,
        path: str,
        body: Mapping[str, Any] | None,
        parse: Callable[[Any], T],
        *,
        split: Split = whole,
        refusal: Refusal | None = None,
        max_tokens: int = 0,
        timeout_fault: str = "LATE",
    ) -> Generator[T, None, None]:
        """Request a path, and yield each JSON document of the answer as read by `parse`.

        Raises the errors of `read_answer` and `translated`.
        """
        import httpx  # as above

        method, address = "GET" if body is None else "POST", self.endpoint.address + path
        with (
            self.translated(timeout_fault),
            httpx.Client(**self.endpoint.client_options(self.deadline)) as client,
            client.stream(method, address, json=body) as answer,
        ):
            for document in self.read_answer(
                answer, answer.iter_raw(), split=split, refusal=refusal, max_tokens=max_tokens
            ):
                yield parse(document)

    def read_answer(
        self,
        answer: "httpx.Response",
        pieces: Iterable[bytes],
        *,
        split: Split = whole,
        refusal: Refusal | None = None,
        max_tokens: int = 0,
    ) -> Iterator[Any]:
        """Return the JSON documents of an answer while its bytes, `pieces`, arrive.

        Raises `ChatError` from `refusal` for an error of the server, and for an answer of more than
        16 MB, or 1 KB for each of `max_tokens` if that is more.
        """
        from chart_binder.net import retry_after_s

        refusal = refusal or self.refusal
        # Compressed bytes are not unpacked, because their unpacked size is unknown.
        encoding = answer.headers.get("content-encoding", "").lower()
        is_compressed = encoding not in ("", "identity")
        pieces = self._limited(pieces, MOST_BYTES_A_TOKEN * max_tokens)
        if not answer.is_success:
            wait_s = retry_after_s(answer.headers.get("retry-after", ""))
            words = b"" if is_compressed else b"".join(pieces)
            raise refusal(read_error(words, answer.status_code, wait_s))
        if is_compressed:
            raise COMMON_FAULTS["COMPRESSED"].error(self.names, encoding)
        return _documents(split(answer.headers.get("content-type", ""), pieces), refusal)

    def _limited(self, pieces: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
        remaining = max_bytes = max(MOST_BYTES, max_bytes)
        for piece in pieces:
            remaining -= len(piece)
            if remaining < 0:
                raise ChatError(
                    f"the server at {self.endpoint.address} sent more than {max_bytes} bytes in"
                    f" one answer: set llm.base_url to a model server, or look"
                    " into its log"
                )
            yield piece

    def refusal(self, answer: ErrorAnswer) -> ChatError:
        """Return the error to raise for an answer that is not a reply."""
        return self.faults.refusal(self.names, answer)

    @property
    def names(self) -> Mapping[str, str]:
        """The names in sentences about the server, and its key, which is never shown."""
        return {
            "server": self.faults.server,
            "address": self.endpoint.address,
            "model": self.model_id,
            "seconds": f"{self.deadline.seconds:g}",
            "key": self.endpoint.key,
        }

    @contextmanager
    def translated(self, timeout_fault: str) -> Iterator[None]:
        """Raise `ChatError` in place of the errors of libraries and of `read` functions.

        `timeout_fault` is the name of the fault if the server takes too long.
        """
        import httpx  # as above

        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, RecursionError) as error:
            raise self._failure(error, COMMON_FAULTS[timeout_fault]) from error

    def _failure(self, error: Exception, timeout_fault: Fault) -> ChatError:
        import httpx  # as above

        if self.deadline.has_passed:
            return timeout_fault.error(self.names)
        if isinstance(error, ConnectionError) and isinstance(error.__context__, httpx.HTTPError):
            error = error.__context__  # the client library of Ollama adds its own words
        detail = ERROR_NUMBER.sub("", str(error)) or type(error).__name__
        absent = self.faults.absent
        if name := self.endpoint.named_proxy[0]:
            absent, detail = COMMON_FAULTS["PROXY_ABSENT"], f"{name}: {detail}"
        if "CERTIFICATE_VERIFY_FAILED" in detail:
            absent = COMMON_FAULTS["CERTIFICATE"]
        elif "WRONG_VERSION_NUMBER" in detail or "RECORD_LAYER_FAILURE" in detail:
            absent = COMMON_FAULTS["UNENCRYPTED"]
        rows: tuple[tuple[type[Exception] | tuple[type[Exception], ...], Fault], ...] = (
            ((httpx.ConnectError, httpx.ConnectTimeout), absent),
            (httpx.TimeoutException, timeout_fault),
            (httpx.ProxyError, COMMON_FAULTS["PROXY"]),
            (httpx.TransportError, COMMON_FAULTS["BROKEN_OFF"]),
            (httpx.InvalidURL, COMMON_FAULTS["IMPOSSIBLE_ADDRESS"]),
            (OSError, COMMON_FAULTS["UNUSABLE"]),
        )
        fault = next((row for kind, row in rows if isinstance(error, kind)), None)
        # Any other error: the answer is not JSON, has another structure, or is nested too deep.
        unreadable = self.faults.wrong_format.error(self.names, "its answer cannot be read")
        return fault.error(self.names, detail) if fault else unreadable


def _documents(texts: Iterable[bytes], refusal: Refusal) -> Iterator[Any]:
    for text in texts:
        document = parse_json(text)
        if error := error_in(document):
            raise refusal(error)
        yield document


def retry_transient(ask: Callable[[], Reply], deadline: "Deadline") -> Reply:
    """Return the result of `ask`, calling it again after each `TransientError` until the deadline.

    Raises its `ChatError` if no further try is allowed.
    """
    tries, has_warned = 1, False
    while True:
        try:
            return ask()
        except TransientError as error:
            wait_s = max(PAUSES_S[min(tries, 3) - 1], error.wait_s)
            if deadline.left_s <= wait_s or tries >= error.max_tries:
                raise
            if error.max_tries == inf and not has_warned:
                _log.warning("waiting for %.0f s at most: %s", deadline.left_s, error)
                has_warned = True
            sleep(wait_s)
            tries += 1


def _address(base_url: str) -> str:
    """Return an address with its port, because `http://localhost` means 80, not Ollama's 11434."""
    try:
        split = urlsplit(base_url)
        port = split.port or (443 if split.scheme == "https" else 80)
    except ValueError as error:
        # The text of the error may quote a part of a password.
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
            f"the key in {name!r} (llm.api_key_env) has characters that no HTTP header may have"
        )
    return key
