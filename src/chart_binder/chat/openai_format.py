"""What a server writes in OpenAI's format, read as parts of a reply."""

import json
from typing import Any

import msgspec

from chart_binder.chat.draft import Part
from chart_binder.chat.faults import Answered
from chart_binder.typed import converted

_ERRORS = range(400, 600)


class _Message(msgspec.Struct):
    content: str | None = None
    reasoning_content: object = None  # vLLM, llama.cpp
    reasoning: object = None  # Ollama, OpenRouter


class _Choice(msgspec.Struct):
    delta: _Message | None = None  # of a chat, as it comes
    message: _Message | None = None  # of a chat, whole
    text: str | None = None  # of a completion
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice] | None
    usage: _Usage | None = None


def document(text: bytes) -> Any:
    """Return what the JSON says; raise `ValueError` or `RecursionError`.

    Half a letter in a piece is replaced, not refused: servers split text between tokens.
    """
    return json.loads(text.decode("utf-8", "replace"))


def part(said: Any) -> Part:
    """Return the part of a reply that a document holds; raise `ValueError` for another format."""
    answer = converted(said, _Answer)
    choice = answer.choices[0] if answer.choices else _Choice()
    message = choice.delta or choice.message or _Message(choice.text)
    usage = answer.usage or _Usage()
    return Part(
        message.content or "",
        _text(message.reasoning_content) or _text(message.reasoning),
        choice.finish_reason or None,
        usage.prompt_tokens,
        usage.completion_tokens,
    )


def complaint(said: Any, status: int = 0, after_s: float = 0.0) -> Answered | None:
    """Return what a document says is wrong, if it says so: servers have many ways to.

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
    return Answered(status or inside, words if isinstance(words, str) else _json(words), after_s)


def refusal(body: bytes, status: int, after_s: float = 0.0) -> Answered:
    """Return what an answer with an error status says, in whatever form; a page says nothing."""
    try:
        said = complaint(document(body), status, after_s)
    except (ValueError, RecursionError):
        said = None
    text = body.decode("utf-8", "replace").strip()
    return said or Answered(status, "" if text.startswith("<") else text, after_s)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
