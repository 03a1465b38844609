"""OpenAI's format: parts of replies, errors in their many forms, and what they mean."""

import json
from dataclasses import dataclass
from typing import Any

from chart_binder.chat.faults import ErrorAnswer, Fault, Faults, RequestInfo
from chart_binder.chat.streaming import Part
from chart_binder.typed_json import convert_json

_ERRORS = range(400, 600)


@dataclass(frozen=True)
class _Thought:
    text: str = ""


@dataclass(frozen=True)
class _Piece:
    """A part of a content that is a list: words, Magistral's thinking, or neither."""

    text: str | None = None
    thinking: str | list[_Thought] | None = None


@dataclass(frozen=True)
class _Message:
    content: str | list[str | _Piece] | None = None
    reasoning_content: object = None  # vLLM, llama.cpp
    reasoning: object = None  # Ollama, OpenRouter
    tool_calls: object = None


@dataclass(frozen=True)
class _Choice:
    delta: _Message | None = None  # of a chat, as it comes
    message: _Message | None = None  # of a chat, whole
    text: str | None = None  # of a completion
    finish_reason: str | None = None
    index: object = 0


@dataclass(frozen=True)
class _Answer:
    choices: list[_Choice] | None
    usage: object = None


def parse_json(text: bytes) -> Any:
    """Return what the JSON says; raise `ValueError` or `RecursionError`.

    Half a letter in a piece is replaced, not refused: servers split text between tokens.
    """
    return json.loads(text.decode("utf-8", "replace"))


def read_part(document: Any) -> Part:
    """Return the part of a reply that a document holds; raise `ValueError` for another format."""
    answer = convert_json(document, _Answer)
    choices = answer.choices or ()
    choice = next((each for each in choices if each.index in (0, None)), _Choice())
    message = choice.delta or choice.message or _Message(choice.text)
    content, thinking = _split_thinking(message.content)
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    return Part(
        content,
        _text(message.reasoning_content) or _text(message.reasoning) or thinking,
        choice.finish_reason or None,
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        calls_tool=bool(message.tool_calls),
    )


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
    """Return what an answer with an error status says, in whatever form; a page says nothing."""
    try:
        said = error_in(parse_json(body), status, retry_after_s)
    except (ValueError, RecursionError):
        said = None
    text = body.decode("utf-8", "replace").strip()
    return said or ErrorAnswer(status, "" if text.startswith("<") else text, retry_after_s)


def _split_thinking(content: str | list[str | _Piece] | None) -> tuple[str, str]:
    """Return the text of a content and the thinking in it."""
    if not isinstance(content, list):
        return content or "", ""
    words: list[str] = []
    thoughts: list[str] = []
    for piece in content:
        if isinstance(piece, str):
            words.append(piece)
            continue
        words.append(piece.text or "")
        thinking = piece.thinking or ""
        thoughts += [thinking] if isinstance(thinking, str) else [each.text for each in thinking]
    return "".join(words), "".join(thoughts)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_UNAUTHORIZED = frozenset({401, 403})
NOT_FOUND = 404
_TOO_LONG = (
    "context length",
    "context size",
    "context window",
    "context_length",
    "maximum context",
    "prompt is too long",
    "too many tokens",
)
_MISSING = ("does not exist", "not found", "not_found", "no such", "unknown model", "invalid model")
_ROLES = ("role", "tool")

NO_MODEL = Fault("model {model!r} is not on the server at {address}: {detail}")
NO_TOOL_ROLE = Fault(
    "{server} at {address} refuses the role 'tool' for an observation ({detail}): "
    'set llm.observation_role = "user"'
)
NO_COMPLETIONS = Fault(
    '{server} at {address} has no /completions ({detail}): set llm.prompting = "chat"'
)
_WRONG_FORMAT = Fault(
    "what answers at {address} does not speak OpenAI's format: set llm.base_url to the server's "
    "API, with or without /v1"
)
_OVERFLOW = Fault(
    "the prompt with llm.max_tokens is over the context of model {model!r} at {address} "
    "({detail}): set llm.num_ctx to what the server gives it, or start the server with more"
)
_NO_KEY = Fault(
    "{server} at {address} wants a key ({detail}): set llm.api_key_env to the variable that holds "
    "it"
)
_WRONG_KEY = Fault(
    "{server} at {address} refuses the key ({detail}): look at the variable that llm.api_key_env "
    "names"
)


def is_missing_model(answer: ErrorAnswer) -> bool:
    """Tell whether the server says that it has no such model."""
    words = answer.words.casefold()
    return (
        answer.status in {0, 400, NOT_FOUND, 422}
        and "model" in words
        and any(mark in words for mark in _MISSING)
    )


def is_about_roles(answer: ErrorAnswer) -> bool:
    """Tell whether the server's words are about who says a message."""
    return any(mark in answer.words.casefold() for mark in _ROLES)


def _recognise(answer: ErrorAnswer, info: RequestInfo) -> Fault | None:
    words = answer.words.casefold()
    if any(mark in words for mark in _TOO_LONG):
        return _OVERFLOW
    if answer.status in _UNAUTHORIZED:
        return _WRONG_KEY if info.key else _NO_KEY
    return None


FAULTS = Faults(
    absent=Fault(
        "no server answers at {address} ({detail}): start it, or set llm.base_url (usual ports: "
        "vLLM 8000, llama.cpp 8080, LM Studio 1234, Ollama 11434)",
        passing=True,
    ),
    wrong_format=_WRONG_FORMAT,
    recognise=_recognise,
    statuses=(
        (
            range(300, 400),
            Fault("{address} redirects ({detail}): set llm.base_url to the server itself"),
        ),
        (
            (NOT_FOUND, 405),
            Fault(
                "what answers at {address} is no OpenAI-compatible server ({detail}): "
                "set llm.base_url to the server's API, with or without /v1"
            ),
        ),
        (
            (503,),
            Fault(
                "{server} at {address} is busy or still loading ({detail}): ask later, or for less "
                "at a time",
                passing=True,
            ),
        ),
        (
            range(400, 500),
            Fault(
                "{server} at {address} refuses the request for model {model!r} ({detail}): "
                "choose another model, or another setting under [llm]"
            ),
        ),
    ),
)
