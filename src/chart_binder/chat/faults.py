"""What a model server does wrong, as one sentence with what to do about it."""

import re
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from chart_binder.chat.capabilities import DeclinedError, PassingError
from chart_binder.chat.http import Deadline
from chart_binder.react.conversation import ChatError, plain_line

LONGEST_DETAIL = 200  # characters of the server's own words
DECLINING = frozenset({400, 422, 500, 501})
"""Statuses of a server that may do without a part of the request."""
_NUMBER = re.compile(r"\[Errno -?\d+\] ")
"""What the system calls an error among its own; its words stand behind."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked about what, as the sentences name it.

    `seconds` is what was allowed, `server` how sentences call what stands at `address`; the `key`
    is kept out of them.
    """

    address: str
    model_id: str
    seconds: float
    server: str
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Answered:
    """What a server said in place of a reply: the status (0 inside a stream), its words.

    `after_s` is how long it asks to wait.
    """

    status: int
    words: str
    after_s: float = 0.0

    @property
    def detail(self) -> str:
        """The status with the words; an HTML page says nothing."""
        said = "" if self.words.lstrip().startswith("<") else self.words.strip()
        number = f"HTTP {self.status}" if self.status else ""
        return ": ".join(filter(None, (number, said)))


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong.

    Its sentence names `server`, `address`, `model`, `seconds`, `detail`; `passing` may be gone in a
    moment.
    """

    sentence: str
    passing: bool = False

    def error(self, asked: Asked, detail: str = "", after_s: float = 0.0) -> ChatError:
        """Return the error to raise, with the server's own words in brief."""
        sentence = self.sentence.format(
            server=asked.server,
            address=asked.address,
            model=asked.model_id,
            seconds=f"{asked.seconds:g}",
            detail=plain_line(
                detail.replace(asked.key, "***") if asked.key else detail, LONGEST_DETAIL
            ),
        )
        return PassingError(sentence, after_s) if self.passing else ChatError(sentence)


LATE = Fault(
    "{server} at {address} did not finish its answer for model {model!r} within {seconds} s: "
    "raise llm.timeout_s, or choose a smaller model"
)
BROKEN_OFF = Fault(
    "the connection to {server} at {address} broke off ({detail}): look into the server's log",
    passing=True,
)
_PROXY = Fault("the proxy refuses {address} ({detail}): set NO_PROXY")
_IMPOSSIBLE = Fault("llm.base_url, or a proxy in the environment, is no possible address")
FAILED = Fault("{server} at {address} failed ({detail}): look into the server's log")

Errors = tuple[tuple[tuple[type[Exception], ...], Fault], ...]
Statuses = tuple[tuple[Container[int], Fault], ...]
Knows = Callable[[Answered, Asked], Fault | None]


@dataclass(frozen=True, slots=True)
class Faults:
    """How the faults of one kind of server are told apart.

    `absent` is for an address where nothing answers, `stranger` for an answer in another format;
    `knows` recognises a fault by the server's words, else `statuses` has it, first match first.
    """

    absent: Fault
    stranger: Fault
    statuses: Statuses
    knows: Knows

    def explain(self, error: Exception, asked: Asked) -> ChatError:
        """Return what to raise for one of `FOREIGN_ERRORS`."""
        rows: Errors = (
            ((httpx.ConnectError, httpx.ConnectTimeout, ConnectionError), self.absent),
            ((httpx.TimeoutException,), LATE),
            ((httpx.ProxyError,), _PROXY),
            ((httpx.TransportError,), BROKEN_OFF),
            ((httpx.InvalidURL,), _IMPOSSIBLE),
        )
        # Else a body is not what its reader takes it for: no JSON, another shape, nested too deep.
        fault = next((fault for kinds, fault in rows if isinstance(error, kinds)), self.stranger)
        # The client library of Ollama hides a failed connection behind words of its own.
        cause = error.__context__ if isinstance(error, ConnectionError) else None
        told = _NUMBER.sub("", str(cause or error))
        return fault.error(asked, told or type(error).__name__)

    def explain_answer(self, answered: Answered, asked: Asked) -> ChatError:
        """Return what to raise for an answer that is no reply."""
        known = self.knows(answered, asked)
        if known is not None:
            return known.error(asked, answered.detail, answered.after_s)
        status = answered.status
        fault = next((fault for statuses, fault in self.statuses if status in statuses), FAILED)
        error = fault.error(asked, answered.detail, answered.after_s)
        if status in DECLINING:
            return DeclinedError(str(error), status, answered.words)
        return error


FOREIGN_ERRORS: tuple[type[Exception], ...] = (
    httpx.HTTPError,
    httpx.InvalidURL,
    ConnectionError,
    ValueError,
    AttributeError,
    TypeError,
    RecursionError,
)
"""What libraries raise for what a server does."""


@contextmanager
def translated(faults: Faults, asked: Asked, deadline: Deadline) -> Iterator[None]:
    """Raise `ChatError` for whatever a library raises within."""
    try:
        yield
    except FOREIGN_ERRORS as error:
        late = deadline.passed
        raise (LATE.error(asked) if late else faults.explain(error, asked)) from error
