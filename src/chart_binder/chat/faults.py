"""Failures of model servers: how a server reports one, and the sentence that a person reads."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

import tomli

from chart_binder.files import convert_json
from chart_binder.react.conversation import ChatError, UnreachableError, plain_line

MAX_DETAIL_CHARS = 200  # of the server's message
START_WAIT_S = 2.0  # how long to wait for a server that is starting
DECLINING = frozenset({400, 422, 500, 501})
"""Statuses of a refused request that the server may accept without one of its fields."""
_ERRORS = range(400, 600)
_OTHER_FORMAT = frozenset({*range(200, 300), 404, 405})


class TransientError(ChatError):
    """A fault before the first part of a reply that may pass, so that the request is made again.

    At most `max_tries` requests are made; the next one is made after `wait_s` seconds.
    """

    def __init__(self, problem: str, wait_s: float = 0.0, *, max_tries: float) -> None:
        super().__init__(problem)
        self.wait_s = wait_s
        self.max_tries = max_tries


class AbsentError(TransientError, UnreachableError):
    """Nothing answers at the address; a server that is starting answers after `START_WAIT_S`."""


class DeclinedError(ChatError):
    """A server refused a request that it may accept without one of its fields.

    If a row of faults.toml describes the failure, it `is_known`, and only a field that the server
    names can be its cause.
    """

    def __init__(self, problem: str, answer: "ErrorAnswer", *, is_known: bool) -> None:
        super().__init__(problem)
        self.status = answer.status
        self.words = answer.words
        self.is_known = is_known


class OnlyThinkingError(ChatError):
    """A model thought, and stopped before the first word of its answer.

    `is_object` says that the thinking begins like the object that the request's schema describes.
    """

    def __init__(self, problem: str, *, is_object: bool) -> None:
        super().__init__(problem)
        self.is_object = is_object


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An error from a server: the HTTP status (0 inside a stream) and the message."""

    status: int
    words: str
    retry_after_s: float = 0.0

    @property
    def detail(self) -> str:
        """The status and the message; an HTML page is left out."""
        words = "" if self.words.lstrip().startswith("<") else self.words.strip()
        number = f"HTTP {self.status}" if self.status else ""
        return ": ".join(filter(None, (number, words)))


def parse_json(text: bytes) -> Any:
    """Return the value of a JSON text. Raises `ValueError` or `RecursionError`."""
    # Invalid UTF-8 is replaced, because servers may split a character between two pieces.
    return json.loads(text.decode("utf-8", "replace"))


def error_in(document: Any) -> ErrorAnswer | None:
    """Return the error that a JSON document reports, if any.

    Servers send `{"error": {"message"}}`, `{"error": "..."}`, `{"message": "..."}` or `{"detail"}`,
    sometimes with the status 200; some versions of Ollama send `{"error parsing ...": "..."}`.
    """
    if not isinstance(document, dict) or ("choices" in document and not document.get("error")):
        return None
    texts = (f"{name}: {words}" for name, words in document.items() if name.startswith("error "))
    is_message = isinstance(document.get("message"), str) and document
    error = document.get("error") or document.get("detail") or is_message or next(texts, None)
    if not error:
        return None
    if isinstance(error, str) and error.startswith("{"):  # Ollama forwards an error of llama.cpp
        with suppress(ValueError, RecursionError):
            if inner := error_in(json.loads(error)):
                return inner
    words = error.get("message", error) if isinstance(error, dict) else error
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and code in _ERRORS else 0
    return ErrorAnswer(
        status, words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
    )


def read_error(body: bytes, status: int, retry_after_s: float) -> ErrorAnswer:
    """Return the error in the body of an answer with an error status."""
    answer = None
    with suppress(ValueError, RecursionError):
        answer = error_in(parse_json(body))
    words = answer.words if answer else body.decode("utf-8", "replace")
    return ErrorAnswer(status, words, retry_after_s)


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of failure: a row of faults.toml."""

    sentence: str
    status: str = ""
    words: str = ""
    max_tries: float = 1
    absent: bool = False
    declining: bool = False

    def matches(self, answer: ErrorAnswer) -> bool:
        """Return whether a server reports this failure."""
        has_status = not self.status or re.fullmatch(self.status, str(answer.status))
        words = re.search(self.words, answer.words, re.IGNORECASE | re.DOTALL)
        return bool(has_status and words)

    def error(
        self, names: Mapping[str, str], detail: str = "", retry_after_s: float = 0.0
    ) -> ChatError:
        """Return the error to raise; `detail` is the server's message, which is shortened.

        `names` are those of `ModelServer.names`. The API key is not shown.
        """
        key = names["key"]
        brief = plain_line(detail.replace(key, "***") if key else detail, MAX_DETAIL_CHARS)
        sentence = self.sentence.format(**names, detail=brief)
        if self.absent:
            return AbsentError(sentence, START_WAIT_S, max_tries=self.max_tries)
        if self.max_tries > 1:
            return TransientError(sentence, retry_after_s, max_tries=self.max_tries)
        return ChatError(sentence)


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one kind of server, besides the faults of all servers.

    `server` is its name in sentences. `absent` is the fault if nothing answers at the address, and
    `wrong_format` if the answer cannot be read or the path does not exist. The rows `by_words` are
    tried before those of all servers. Code raises the faults `by_name`.
    """

    server: str
    absent: Fault
    wrong_format: Fault
    by_words: tuple[Fault, ...]
    by_name: Mapping[str, Fault] = field(default_factory=dict)

    def find(self, answer: ErrorAnswer) -> Fault | None:
        """Return the fault that the server's message describes, if any."""
        rows = (*self.by_words, *_TABLE.by_words)
        return next((fault for fault in rows if fault.matches(answer)), None)

    def refusal(self, names: Mapping[str, str], answer: ErrorAnswer) -> ChatError:
        """Return the error to raise for an error answer (`Fault.error`)."""
        fault = self.find(answer)
        by_status = (row for row in _TABLE.by_status if row.matches(answer))
        is_other_format = answer.status in _OTHER_FORMAT
        default = self.wrong_format if is_other_format else next(by_status, COMMON_FAULTS["FAILED"])
        error = (fault or default).error(names, answer.detail, answer.retry_after_s)
        if answer.status in DECLINING and (fault is None or fault.declining):
            return DeclinedError(str(error), answer, is_known=fault is not None)
        return error


@dataclass(frozen=True, slots=True)
class _Table:
    by_name: Mapping[str, Fault]
    by_words: tuple[Fault, ...]
    by_status: tuple[Fault, ...]
    ollama: Faults
    openai: Faults


_TABLE: Final = convert_json(
    tomli.loads(files("chart_binder.chat").joinpath("faults.toml").read_text("utf-8")), _Table
)
COMMON_FAULTS: Final = _TABLE.by_name
OLLAMA: Final = _TABLE.ollama
OPENAI: Final = _TABLE.openai
