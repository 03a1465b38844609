"""What goes wrong at a model server, each as one sentence that ends in what to do about it."""

import json
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chart_binder.errors import ERROR_NUMBER
from chart_binder.react.conversation import ChatError, plain_line

if TYPE_CHECKING:
    from chart_binder.net import Deadline

LONGEST_DETAIL = 200  # characters of the server's own words
DECLINING = frozenset({400, 422, 500, 501})
"""Statuses of a server that may accept the request without a part of it."""
_ERRORS = range(400, 600)


class PassingError(ChatError):
    """A fault that may be gone in a moment, met before anything of a reply had come.

    `retry_after_s` is how many seconds the server asks to wait.
    """

    def __init__(self, problem: str, retry_after_s: float = 0.0) -> None:
        super().__init__(problem)
        self.retry_after_s = retry_after_s


class DeclinedError(ChatError):
    """A server refused a request that it may accept without some field."""

    def __init__(self, problem: str, status: int, words: str) -> None:
        super().__init__(problem)
        self.status = status
        self.words = words


class OnlyThinkingError(ChatError):
    """A model stopped before the first word of its answer, though it was thinking."""


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What the sentences say of a request: its server, its model, the seconds it was given.

    `server` is what the server is called; the `key` is masked in the server's own words.
    """

    address: str
    model_id: str
    seconds: float
    server: str
    key: str = field(default="", repr=False)


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
    """Return what the JSON says; raise `ValueError` or `RecursionError`.

    Half a letter in a piece is replaced, not refused: servers split text between tokens.
    """
    return json.loads(text.decode("utf-8", "replace"))


def error_in(said: Any, status: int = 0, retry_after_s: float = 0.0) -> ErrorAnswer | None:
    """Return the error that a document holds, if any: servers have many ways to tell.

    They are `{"error": {"message"}}`, `{"error": "..."}`, `{"message"}`, `{"detail"}`, and any of
    them under the status 200 with the code inside.
    """
    if not isinstance(said, dict) or ("choices" in said and not said.get("error")):
        return None
    about = said.get("error") or said.get("detail") or ("message" in said and said)
    if not about:
        return None
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
    """A kind of failure, and the statuses that mean it.

    Its sentence may name `server`, `address`, `model`, `seconds` and `detail`; a `passing` one may
    be gone in a moment.
    """

    sentence: str
    statuses: Container[int] = ()
    passing: bool = False

    def error(
        self, request: RequestInfo, detail: str = "", retry_after_s: float = 0.0
    ) -> ChatError:
        """Return the error to raise, with the server's own words in brief."""
        masked = detail.replace(request.key, "***") if request.key else detail
        sentence = self.sentence.format(
            server=request.server,
            address=request.address,
            model=request.model_id,
            seconds=f"{request.seconds:g}",
            detail=plain_line(masked, LONGEST_DETAIL),
        )
        return PassingError(sentence, retry_after_s) if self.passing else ChatError(sentence)


LATE = Fault(
    "{server} at {address} did not finish its answer for model {model!r} within {seconds} s: "
    "raise llm.timeout_s, or choose a smaller model"
)
BROKEN_OFF = Fault(
    "the connection to {server} at {address} broke off ({detail}): look into the server's log",
    passing=True,
)
PROXY = Fault("the proxy refuses {address} ({detail}): set NO_PROXY")
IMPOSSIBLE_ADDRESS = Fault("llm.base_url, or a proxy in the environment, is no possible address")
FAILED = Fault("{server} at {address} failed ({detail}): look into the server's log")

_OF_ALL_SERVERS = (
    Fault("{server} at {address} broke its reply off with an error: {detail}", (0,)),
    Fault(
        "{server} at {address} has had enough requests for now ({detail}): ask later, or for "
        "less at a time",
        (429,),
        passing=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one kind of server.

    `server` is what sentences call it, `absent` is for an address where nothing answers,
    `wrong_format` for an answer that cannot be read; `recognise` knows a fault by the server's
    words, else the status decides: what is the same for all servers, then the first of `others`
    that has it, then `FAILED`.
    """

    server: str
    absent: Fault
    wrong_format: Fault
    others: tuple[Fault, ...]
    recognise: Callable[[ErrorAnswer, RequestInfo], Fault | None]

    def for_exception(self, error: Exception, request: RequestInfo) -> ChatError:
        """Return what to raise for what a library raised."""
        import httpx  # loaded by now, as it raised or was about to

        rows: tuple[tuple[tuple[type[Exception], ...], Fault], ...] = (
            ((httpx.ConnectError, httpx.ConnectTimeout, ConnectionError), self.absent),
            ((httpx.TimeoutException,), LATE),
            ((httpx.ProxyError,), PROXY),
            ((httpx.TransportError,), BROKEN_OFF),
            ((httpx.InvalidURL,), IMPOSSIBLE_ADDRESS),
        )
        # Else the body is not what its reader takes it for: no JSON, another shape, too deep.
        fault = next((row for kinds, row in rows if isinstance(error, kinds)), self.wrong_format)
        # The client library of Ollama hides a failed connection behind words of its own.
        cause = error.__context__ if isinstance(error, ConnectionError) else None
        words = ERROR_NUMBER.sub("", str(cause or error))
        return fault.error(request, words or type(error).__name__)

    def for_answer(self, answer: ErrorAnswer, request: RequestInfo) -> ChatError:
        """Return what to raise for an answer that is no reply."""
        known = self.recognise(answer, request)
        rows = (*_OF_ALL_SERVERS, self.wrong_format, *self.others)
        fault = known or next((row for row in rows if answer.status in row.statuses), FAILED)
        error = fault.error(request, answer.detail, answer.retry_after_s)
        if known is None and answer.status in DECLINING:
            return DeclinedError(str(error), answer.status, answer.words)
        return error


@contextmanager
def translated(faults: Faults, request: RequestInfo, deadline: "Deadline") -> Iterator[None]:
    """Raise `ChatError` for whatever a library raises for what a server does."""
    import httpx  # as above

    try:
        yield
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        ConnectionError,
        ValueError,
        AttributeError,
        TypeError,
        RecursionError,
    ) as error:
        if deadline.has_passed:
            raise LATE.error(request) from error
        raise faults.for_exception(error, request) from error
