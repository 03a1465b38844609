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

LONGEST_DETAIL = 200  # characters of the server's own words
STARTING_S = 2.0
DECLINING = frozenset({400, 422, 500, 501})
"""Statuses with which a server refuses a request that it may accept without some field."""
_ERRORS = range(400, 600)
_OTHER_FORMAT = frozenset({*range(200, 300), 404, 405})


class PassingError(ChatError):
    """A fault that may pass, before any part of a reply came; `max_tries` requests are worth it."""

    def __init__(self, problem: str, wait_s: float = 0.0, *, max_tries: float) -> None:
        super().__init__(problem)
        self.wait_s = wait_s
        self.max_tries = max_tries


class AbsentError(PassingError, UnreachableError):
    """Nothing answers at the address; a server that is starting will after `STARTING_S`."""


class DeclinedError(ChatError):
    """A server refused a request that it may accept without some field.

    `is_known`: a row of faults.toml recognized the failure, so that only a field that the server
    names can be the cause.
    """

    def __init__(self, problem: str, answer: "ErrorAnswer", *, is_known: bool) -> None:
        super().__init__(problem)
        self.status = answer.status
        self.words = answer.words
        self.is_known = is_known


class OnlyThinkingError(ChatError):
    """A model thought, and stopped before the first word of its answer.

    `is_object`: the thinking begins like the object that the schema of the request asks for.
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
        words = "" if self.words.lstrip().startswith("<") else self.words.strip()
        number = f"HTTP {self.status}" if self.status else ""
        return ": ".join(filter(None, (number, words)))


def parse_json(text: bytes) -> Any:
    """Return what the JSON says; raise `ValueError` or `RecursionError`."""
    # Half a letter in a piece is replaced, not refused: servers split text between tokens.
    return json.loads(text.decode("utf-8", "replace"))


def error_in(document: Any) -> ErrorAnswer | None:
    """Return the error that a JSON document reports, if any.

    Servers write `{"error": {"message"}}`, `{"error": "..."}`, `{"message": "..."}` or
    `{"detail"}`, also under the status 200; some versions of Ollama `{"error parsing ...": "..."}`.
    """
    if not isinstance(document, dict) or ("choices" in document and not document.get("error")):
        return None
    named = (f"{name}: {words}" for name, words in document.items() if name.startswith("error "))
    is_message = isinstance(document.get("message"), str) and document
    error = document.get("error") or document.get("detail") or is_message or next(named, None)
    if not error:
        return None
    if isinstance(error, str) and error.startswith("{"):  # Ollama hands on what llama.cpp says
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
    """Return what an answer with an error status says, in whatever form."""
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

    def fits(self, answer: ErrorAnswer) -> bool:
        """Return whether this is the failure that a server reports."""
        has_status = not self.status or re.fullmatch(self.status, str(answer.status))
        words = re.search(self.words, answer.words, re.IGNORECASE | re.DOTALL)
        return bool(has_status and words)

    def error(
        self, names: Mapping[str, str], detail: str = "", retry_after_s: float = 0.0
    ) -> ChatError:
        """Return the error to raise, with what `Server.names` has and the server's words in brief.

        The key of the server is not shown.
        """
        key = names["key"]
        brief = plain_line(detail.replace(key, "***") if key else detail, LONGEST_DETAIL)
        sentence = self.sentence.format(**names, detail=brief)
        if self.absent:
            return AbsentError(sentence, STARTING_S, max_tries=self.max_tries)
        if self.max_tries > 1:
            return PassingError(sentence, retry_after_s, max_tries=self.max_tries)
        return ChatError(sentence)


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one kind of server, besides those that all servers have.

    `server` is what sentences call it. `absent`: nothing answers at the address. `wrong_format`:
    the answer cannot be read, or the path does not exist. The rows `by_words` are tried before
    those for all servers. Code raises those `by_name`.
    """

    server: str
    absent: Fault
    wrong_format: Fault
    by_words: tuple[Fault, ...]
    by_name: Mapping[str, Fault] = field(default_factory=dict)

    def recognise(self, answer: ErrorAnswer) -> Fault | None:
        """Return the fault that the server's words name, if any."""
        rows = (*self.by_words, *_TABLE.by_words)
        return next((fault for fault in rows if fault.fits(answer)), None)

    def refusal(self, names: Mapping[str, str], answer: ErrorAnswer) -> ChatError:
        """Return the error to raise for an answer that is not a reply (`Fault.error`)."""
        fault = self.recognise(answer)
        by_status = (row for row in _TABLE.by_status if row.fits(answer))
        is_other = answer.status in _OTHER_FORMAT
        other = self.wrong_format if is_other else next(by_status, BY_NAME["FAILED"])
        error = (fault or other).error(names, answer.detail, answer.retry_after_s)
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
BY_NAME: Final = _TABLE.by_name
OLLAMA: Final = _TABLE.ollama
OPENAI: Final = _TABLE.openai
