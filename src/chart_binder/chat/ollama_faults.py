"""What an Ollama server does wrong, as one sentence with what to do about it."""

from collections.abc import Container
from dataclasses import dataclass

import httpx

from chart_binder.chat.patience import PassingError
from chart_binder.react.conversation import ChatError

LONGEST_DETAIL = 200  # characters of the server's own words
NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked about what, as the sentences name it; `seconds` is what was allowed."""

    address: str
    model_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong; its sentence names `address`, `model`, `seconds`, `detail`."""

    sentence: str
    passing: bool = False

    def error(self, asked: Asked, detail: str = "") -> ChatError:
        """Return the error to raise, with the server's own words in brief."""
        kind = PassingError if self.passing else ChatError
        sentence = self.sentence.format(
            address=asked.address,
            model=asked.model_id,
            seconds=f"{asked.seconds:g}",
            detail=_brief(detail),
        )
        return kind(sentence)


NOT_THERE = Fault(
    "Ollama does not answer at {address} ({detail}): start it with `ollama serve`, "
    "or set llm.base_url",
    passing=True,
)
LATE = Fault(
    "Ollama at {address} did not finish its answer for model {model!r} within {seconds} s: "
    "raise llm.timeout_s, or choose a smaller model"
)
BROKEN_OFF = Fault(
    "the connection to Ollama at {address} broke off ({detail}): look into the server's log",
    passing=True,
)
UNFINISHED = Fault(
    "Ollama at {address} ended its reply before it was done: look into the server's log"
)
NOT_OLLAMA = Fault(
    "what answers at {address} does not speak Ollama's format: set llm.base_url to an Ollama server"
)
ABSENT = Fault("model {model!r} is not on the server at {address}: ollama pull {model}")

_ERRORS: tuple[tuple[tuple[type[Exception], ...], Fault], ...] = (
    ((httpx.ConnectError, httpx.ConnectTimeout), NOT_THERE),
    ((httpx.TimeoutException,), LATE),
    ((httpx.ProxyError,), Fault("the proxy refuses {address} ({detail}): set NO_PROXY")),
    ((httpx.TransportError,), BROKEN_OFF),
    (
        (httpx.InvalidURL,),
        Fault("llm.base_url, or a proxy in the environment, is no possible address"),
    ),
    # A body that is not what its reader takes it for: no JSON, of another shape, nested too deep.
    ((httpx.HTTPError, ValueError, AttributeError, TypeError, RecursionError), NOT_OLLAMA),
)
FOREIGN_ERRORS = tuple(kind for kinds, _ in _ERRORS for kind in kinds)

_STATUSES: tuple[tuple[Container[int], Fault], ...] = (
    ((-1,), Fault("Ollama at {address} broke its reply off with an error: {detail}")),
    (
        range(300, 400),
        Fault("{address} redirects ({detail}): set llm.base_url to the Ollama server itself"),
    ),
    (
        (401, 403),
        Fault(
            "Ollama at {address} refuses the request ({detail}): "
            "set llm.api_key_env to the variable that holds its key"
        ),
    ),
    (
        (NOT_FOUND, 405),
        Fault(
            "what answers at {address} is no Ollama server ({detail}): "
            "set llm.base_url to an Ollama server"
        ),
    ),
    (
        (503,),
        Fault(
            "Ollama at {address} is busy ({detail}): ask for less at a time, or raise its "
            "OLLAMA_MAX_QUEUE",
            passing=True,
        ),
    ),
    (
        range(400, 500),
        Fault(
            "Ollama at {address} refuses the request for model {model!r} ({detail}): "
            "choose a model that can chat, or another setting under [llm]"
        ),
    ),
    (
        range(500, 600),
        Fault("Ollama at {address} failed ({detail}): look into the server's log"),
    ),
)


def explain(error: Exception, asked: Asked) -> ChatError:
    """Return what to raise for one of `FOREIGN_ERRORS`."""
    fault = next(fault for kinds, fault in _ERRORS if isinstance(error, kinds))
    return fault.error(asked, str(error) or type(error).__name__)


def explain_status(status: int, words: str, asked: Asked) -> ChatError:
    """Return what to raise for an HTTP status, or for -1, an error inside a stream."""
    if status == NOT_FOUND and "model" in words and "not found" in words:
        return ABSENT.error(asked)
    fault = next((fault for statuses, fault in _STATUSES if status in statuses), NOT_OLLAMA)
    said = "" if words.lstrip().startswith("<") else words.strip()  # an HTML page says nothing
    number = f"HTTP {status}" if status > 0 else ""
    return fault.error(asked, ": ".join(filter(None, (number, said))))


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_DETAIL else f"{line[:LONGEST_DETAIL]}..."
