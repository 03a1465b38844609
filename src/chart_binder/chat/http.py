"""How a model server is reached: address, key, HTTP options, further tries."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chart_binder.chat.faults import PassingError
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError, masked
from chart_binder.react.conversation import ChatError, Reply

if TYPE_CHECKING:
    import httpx

    from chart_binder.net import Deadline

CONNECT_S = 5.0  # a host that is there answers the first packet long before
MOST_BYTES = 16_000_000
"""Of an answer as it is sent; a description of a model with its licences takes less than one MB."""
MOST_BYTES_A_TOKEN = 1_024
"""A token is streamed as a line of JSON with the model's name and the time, some 150 bytes."""
PAUSES_S = (0.1, 0.4)  # before the second try and before the third


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
    def is_local(self) -> bool:
        """Whether the server runs on this machine."""
        from chart_binder.net import is_this_machine  # loads httpcore

        return is_this_machine(urlsplit(self.address).hostname or "")

    def http_options(self, deadline: "Deadline", max_tokens: int = 0) -> dict[str, Any]:
        """Return the arguments of an `httpx.Client` for one request that ends with the deadline.

        Proxies from the environment serve remote servers only. Redirects are not followed: one
        would turn a POST into a GET, and carry a prompt to a host nobody configured. Connections
        are not kept: a new one costs nothing beside a reply. An answer is cut off, with a
        `ChatError`, at 16 MB, or at 1 KB for each of `max_tokens` if that is more.
        """
        import httpx  # 170 ms, for those who really ask a model

        from chart_binder.net import trusted_authorities

        def prepare(request: httpx.Request) -> None:
            request.extensions["trace"] = deadline.watch
            request.headers.pop("authorization", None)  # ollama sends OLLAMA_API_KEY to any host
            if self.key:
                request.headers["authorization"] = f"Bearer {self.key}"

        limit = _limit_size(max(MOST_BYTES, MOST_BYTES_A_TOKEN * max_tokens))
        return {
            "headers": {"connection": "close", "accept-encoding": "identity"},
            "timeout": httpx.Timeout(deadline.left_s, connect=min(CONNECT_S, deadline.left_s)),
            "trust_env": not self.is_local,
            "verify": trusted_authorities(),
            "follow_redirects": False,
            "event_hooks": {"request": [prepare], "response": [limit]},
        }


def retry_passing(ask: Callable[[], Reply], deadline: "Deadline") -> Reply:
    """Return what `ask` returns; its third `PassingError` is final, and any other `ChatError`."""
    for pause_s in PAUSES_S:
        try:
            return ask()
        except PassingError as error:
            wait_s = max(pause_s, error.retry_after_s)
            if deadline.left_s <= wait_s:
                raise
            sleep(wait_s)
    return ask()


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
    """Return a response hook that cuts an answer off, with a `ChatError`, after so many bytes.

    A compressed answer, which was not asked for, is refused with `httpx.DecodingError`: how much
    it grows in memory is known only afterwards.
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
