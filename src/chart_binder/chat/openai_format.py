"""What a server writes in OpenAI's format, read as parts of a reply."""

import json
from typing import Any

import msgspec

from chart_binder.chat.draft import Part
from chart_binder.chat.faults import Answered
from chart_binder.typed import converted

_ERRORS = range(400, 600)


class _Thought(msgspec.Struct):
    text: str = ""


class _Piece(msgspec.Struct):
    """A part of a content that is a list: words, Magistral's thinking, or neither."""

    text: str | None = None
    thinking: str | list[_Thought] | None = None


class _Message(msgspec.Struct):
    content: str | list[str | _Piece] | None = None
    reasoning_content: object = None  # vLLM, llama.cpp
    reasoning: object = None  # Ollama, OpenRouter
    tool_calls: object = None


class _Choice(msgspec.Struct):
    delta: _Message | None = None  # of a chat, as it comes
    message: _Message | None = None  # of a chat, whole
    text: str | None = None  # of a completion
    finish_reason: str | None = None
    index: object = 0


class _Answer(msgspec.Struct):
    choices: list[_Choice] | None
    usage: object = None


def document(text: bytes) -> Any:
    """Return what the JSON says; raise `ValueError` or `RecursionError`.

    Half a letter in a piece is replaced, not refused: servers split text between tokens.
    """
    return json.loads(text.decode("utf-8", "replace"))


def part(said: Any) -> Part:
    """Return the part of a reply that a document holds; raise `ValueError` for another format."""
    answer = converted(said, _Answer)
    choices = answer.choices or ()
    choice = next((each for each in choices if each.index in (0, None)), _Choice())
    message = choice.delta or choice.message or _Message(choice.text)
    content, thinking = _parted(message.content)
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    return Part(
        content,
        _text(message.reasoning_content) or _text(message.reasoning) or thinking,
        choice.finish_reason or None,
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        calls=bool(message.tool_calls),
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


def _parted(content: str | list[str | _Piece] | None) -> tuple[str, str]:
    """Return the words of a content, with what it holds of thinking."""
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


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
