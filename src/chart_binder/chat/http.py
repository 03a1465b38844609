"""How a model server is reached, and what goes wrong there.

Each fault is one sentence that ends in what to do about it.
"""

import json
import logging
import re
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from chart_binder.config import LLMConfig
from chart_binder.errors import ERROR_NUMBER, ConfigError, masked
from chart_binder.files import convert_json
from chart_binder.react.conversation import ChatError, Reply, plain_line

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
LONGEST_DETAIL = 200  # characters of the server's own words
DECLINING = frozenset({400, 422, 500, 501})
"""Statuses of a server that may accept the request without a part of it."""
_ERRORS = range(400, 600)
_log = logging.getLogger(__name__)


class PassingError(ChatError):
    """A fault that may be gone in a moment, or once the model is loaded; nothing had come yet."""

    def __init__(self, problem: str, retry_after_s: float = 0.0, *, is_loading: bool) -> None:
        super().__init__(problem)
        self.retry_after_s = retry_after_s
        self.is_loading = is_loading


class DeclinedError(ChatError):
    """A server refused a request that it may accept without some field.

    `is_known`: the kind of failure is known, so that only a field that is named is to blame.
    """

    def __init__(self, problem: str, answer: "ErrorAnswer", *, is_known: bool) -> None:
        super().__init__(problem)
        self.status = answer.status
        self.words = answer.words
        self.is_known = is_known


class OnlyThinkingError(ChatError):
    """A model stopped before the first word of its answer, though it was thinking.

    `is_object`: the thinking looks like the answer, by the schema that it was asked for.
    """

    def __init__(self, problem: str, *, is_object: bool) -> None:
        super().__init__(problem)
        self.is_object = is_object


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """What a server sent in place of a reply: its status (0 inside a stream) and its words."""

    status: int
    words: str
    retry_after_s: float = 0.0

    @property
    def detail(self) -> str:
        """The status with the words; nothing of an HTML page."""
        said = "" if self.words.lstrip().startswith("<") else self.words.strip()
        number = f"HTTP {self.status}" if self.status else ""
        return ": ".join(filter(None, (number, said)))


def parse_json(text: bytes) -> Any:
    """Return what the JSON says; raise `ValueError` or `RecursionError`."""
    # Half a letter in a piece is replaced, not refused: servers split text between tokens.
    return json.loads(text.decode("utf-8", "replace"))


def error_in(said: Any, status: int = 0, retry_after_s: float = 0.0) -> ErrorAnswer | None:
    """Return the error that a document holds, if any.

    Servers write `{"error": {"message"}}`, `{"error": "..."}`, `{"message"}` or `{"detail"}`, also
    under the status 200.
    """
    if not isinstance(said, dict) or ("choices" in said and not said.get("error")):
        return None
    about = said.get("error") or said.get("detail") or ("message" in said and said)
    if not about:
        return None
    if isinstance(about, str) and about.startswith("{"):  # Ollama hands on what llama.cpp says
        with suppress(ValueError, RecursionError):
            if inner := error_in(json.loads(about), status, retry_after_s):
                return inner
    words = about.get("message", about) if isinstance(about, dict) else about
    code = about.get("code") if isinstance(about, dict) else None
    inside = code if isinstance(code, int) and code in _ERRORS else 0
    text = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
    return ErrorAnswer(status or inside, text, retry_after_s)


def read_error(body: bytes, status: int, retry_after_s: float = 0.0) -> ErrorAnswer:
    """Return what an answer with an error status says, in whatever form."""
    try:
        said = error_in(parse_json(body), status, retry_after_s)
    except (ValueError, RecursionError):
        said = None
    return said or ErrorAnswer(status, body.decode("utf-8", "replace"), retry_after_s)


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of failure, and the statuses and words that mean it.

    `words` is a regular expression; without `statuses`, it counts for each. A `passing` fault may
    be gone in a moment, one of `loading` once the model is loaded, one that is `declining` without
    a field. The sentence may name `server`, `address`, `model`, `seconds` and `detail`.
    """

    sentence: str
    statuses: Container[int] = ()
    words: str = ""
    passing: bool = False
    loading: bool = False
    declining: bool = False

    def fits(self, answer: ErrorAnswer) -> bool:
        """Return whether this is the failure that a server speaks of."""
        has_status = not self.statuses or answer.status in self.statuses
        return has_status and bool(re.search(self.words, answer.words, re.IGNORECASE | re.DOTALL))

    def error(self, server: "Server", detail: str = "", retry_after_s: float = 0.0) -> ChatError:
        """Return the error to raise, with the server's own words in brief."""
        key = server.endpoint.key
        sentence = self.sentence.format(
            server=server.faults.server,
            address=server.endpoint.address,
            model=server.model_id,
            seconds=f"{server.deadline.seconds:g}",
            detail=plain_line(detail.replace(key, "***") if key else detail, LONGEST_DETAIL),
        )
        if self.passing or self.loading:
            return PassingError(sentence, retry_after_s, is_loading=self.loading)
        return ChatError(sentence)


LATE = Fault(
    "{server} at {address} did not finish its answer for model {model!r} within {seconds} s: "
    "raise llm.timeout_s, or choose a smaller model"
)
BROKEN_OFF = Fault(
    "the connection to {server} at {address} broke off ({detail}): look into the server's log",
    passing=True,
)
PROXY = Fault("the proxy refuses {address} ({detail}): set NO_PROXY")
PROXY_ABSENT = Fault(
    "{address} is not reached through the proxy in the environment ({detail}): set NO_PROXY, or "
    "another proxy",
    passing=True,
)
CERTIFICATE = Fault(
    "{address} has no certificate that is trusted ({detail}): set SSL_CERT_FILE to the file of its "
    "authority"
)
IMPOSSIBLE_ADDRESS = Fault("llm.base_url is no possible address")
UNUSABLE = Fault("{server} at {address} cannot be asked ({detail}): look into the log")
FAILED = Fault("{server} at {address} failed ({detail}): look into the server's log")

TOO_LONG = r"context.(?:length|size|window)|maximum context|prompt is too long|too many tokens"
"""Words of a server whose context the prompt does not fit."""
_LOADING = "{server} at {address} is not ready, or still loading model {model!r} ({detail}): "
_LOADING += "wait until it is, or raise llm.timeout_s"
_BY_WORDS = (
    Fault(
        _LOADING,
        (500, 502, 503, 504),
        r"^(?!.*(?:fail|unable|error loading)).*(?:\bloading (?:the )?model"
        r"|\bmodel\b.{0,200}\b(?:is (?:still |currently )?loading|being loaded)|still loading)",
        loading=True,
    ),
    # A proxy before the server has nothing to say of it: a page, or the name of the status.
    Fault(
        _LOADING, (502, 503), r"^\s*(?:<|(?:bad gateway|service unavailable)?\.?\s*$)", loading=True
    ),
    Fault(
        "{server} at {address} took the reply of model {model!r} for a tool call that it cannot "
        'read ({detail}): set llm.prompting = "raw"',
        words=r"pars(?:e|ing) tool call|tool call parsing failed|XML syntax error",
    ),
    Fault(
        "the template of model {model!r} at {address} refuses the messages ({detail}): "
        'set llm.prompting = "raw"',
        words=r"system role (?:is )?not supported|got system|only user(?:, \w+)*,? and \w+ roles"
        r"|roles must alternate",
    ),
    Fault(
        "model {model!r} needs more memory than {server} at {address} has ({detail}): choose a "
        "smaller model, or lower llm.num_ctx and what the server is started with",
        words=r"more system memory|out of memory|insufficient (?:system resources|memory)"
        r"|not enough memory|(?:failed|unable) to allocate|malloc failed",
    ),
    Fault(
        "model {model!r} at {address} cannot think as it is told ({detail}): set llm.think and "
        "llm.reasoning_effort to what it knows, or to nothing",
        words=r"not support thinking|think value|reasoning.?effort",
        declining=True,
    ),
)
_BY_STATUS = (
    Fault("{server} at {address} broke its reply off with an error: {detail}", (0,)),
    Fault("{address} redirects ({detail}): set llm.base_url to the server itself", range(300, 400)),
    Fault(
        "{server} at {address} refuses the key or wants one ({detail}): set llm.api_key_env to the "
        "variable that holds it",
        (401, 403),
    ),
    Fault(
        "{server} at {address} is busy or still loading ({detail}): ask later, or for less at a "
        "time",
        (429, 503),
        passing=True,
    ),
    Fault(
        "{server} at {address} refuses the request for model {model!r} ({detail}): choose another "
        "model, or another setting under [llm]",
        range(400, 500),
    ),
)
_OTHER_FORMAT = frozenset({*range(200, 300), 404, 405})


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one kind of server, beside those that all have.

    `server` is what sentences call it, `absent` is for an address where nothing answers,
    `wrong_format` for an answer that cannot be read or a path that is not there; those `by_words`
    come before the ones that servers of all kinds speak of.
    """

    server: str
    absent: Fault
    wrong_format: Fault
    by_words: tuple[Fault, ...]

    def recognise(self, answer: ErrorAnswer) -> Fault | None:
        """Return the fault that the server's words name, if any."""
        rows = (*self.by_words, *_BY_WORDS)
        return next((fault for fault in rows if fault.fits(answer)), None)


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
        """The variable that names a proxy for the server, and its value; none for this machine."""
        from chart_binder.net import named_proxy  # loads httpcore

        split = urlsplit(self.address)
        return named_proxy(split.netloc, split.scheme, "all")

    def _proxy(self) -> "httpx.Proxy | None":
        import httpx  # as below

        name, proxy = self.named_proxy
        try:
            found = httpx.Proxy(proxy if "://" in proxy else f"http://{proxy}") if proxy else None
            if found and found.url.scheme.startswith("socks"):
                import_module("socksio")  # which httpx needs for it
        except (ValueError, httpx.InvalidURL, ImportError) as error:
            raise ChatError(
                f"{self.address} cannot be asked through {name} = {masked(proxy)!r}: use a proxy"
                f" of http://, install httpx[socks] for socks5://, or name the host in NO_PROXY"
            ) from error
        return found

    def http_options(self, deadline: "Deadline", max_tokens: int = 0) -> dict[str, Any]:
        """Return the arguments of an `httpx.Client` for one request that ends with the deadline.

        A proxy from the environment serves remote servers only, and certificates are read for
        https only; a `ChatError` names the variable that holds no proxy or no certificates.
        Redirects are not followed: one would carry a prompt to a host nobody configured. An answer
        is cut off, with a `ChatError`, at 16 MB, or at 1 KB for each of `max_tokens` if that is
        more.
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
        """Return what to raise for an answer that is no reply."""
        known, faults = self.faults.recognise(answer), self.faults
        by_status = (row for row in _BY_STATUS if answer.status in row.statuses)
        other = faults.wrong_format if answer.status in _OTHER_FORMAT else next(by_status, FAILED)
        error = (known or other).error(self, answer.detail, answer.retry_after_s)
        if answer.status in DECLINING and (known is None or known.declining):
            return DeclinedError(str(error), answer, is_known=known is not None)
        return error

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
                LATE.error(self) if self.deadline.has_passed else self._failure(error)
            ) from error

    def _failure(self, error: Exception) -> ChatError:
        import httpx  # as above

        # The client library of Ollama hides a failed connection behind words of its own.
        cause = error.__context__ if isinstance(error, ConnectionError) else None
        detail = ERROR_NUMBER.sub("", str(cause or error)) or type(error).__name__
        absent = self.faults.absent
        if name := self.endpoint.named_proxy[0]:
            absent, detail = PROXY_ABSENT, f"{name}: {detail}"
        if "CERTIFICATE_VERIFY_FAILED" in detail:
            absent = CERTIFICATE
        rows: tuple[tuple[tuple[type[Exception], ...], Fault], ...] = (
            ((httpx.ConnectError, httpx.ConnectTimeout, ConnectionError), absent),
            ((httpx.TimeoutException,), LATE),
            ((httpx.ProxyError,), PROXY),
            ((httpx.TransportError,), BROKEN_OFF),
            ((httpx.InvalidURL,), IMPOSSIBLE_ADDRESS),
            ((OSError, ImportError), UNUSABLE),
        )
        fault = next((row for kinds, row in rows if isinstance(error, kinds)), None)
        if fault is None:
            # No JSON, another shape, too deep: what a library says of it tells little, but some
            # versions of Ollama send an error as a line in which it is the key.
            named = self.faults.recognise(ErrorAnswer(0, str(error)))
            detail = "an error in place of a reply" if named else "its answer cannot be read"
            return (named or self.faults.wrong_format).error(self, detail)
        return fault.error(self, detail)


def retry_passing(ask: Callable[[], Reply], deadline: "Deadline") -> Reply:
    """Return what `ask` returns, or raise its `ChatError`.

    A model that is loading is waited for until the deadline; of other faults, the third is final.
    """
    tries = 0
    is_told = False
    while True:
        try:
            return ask()
        except PassingError as error:
            wait_s = max(PAUSES_S[min(tries, 2)], error.retry_after_s)
            tries += 1
            if deadline.left_s <= wait_s or (tries > 2 and not error.is_loading):  # noqa: PLR2004
                raise
            if error.is_loading and not is_told:
                _log.warning("waiting for %.0f s at most: %s", deadline.left_s, error)
                is_told = True
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
