"""Reads a reply while a server sends it.

Server-sent events are read by our own code because `httpx-sse` loses `error:` fields, a last event
without an empty line after it, and invalid characters.
"""

import json
from codecs import BOM_UTF8
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from io import IncrementalNewlineDecoder
from itertools import chain
from typing import Final

from chart_binder.chat.faults import COMMON_FAULTS, OnlyThinkingError, TransientError
from chart_binder.chat.http import ModelServer
from chart_binder.react.conversation import ChatError, GenerationOptions, Reply

COUNTS_S = 2.0  # to wait for token counts after the last token
BYTES_A_TOKEN = 16  # of content and thinking; far more than in any text
FEWEST_BYTES = 1_000_000  # allowed in any case
_MOST_TOKENS: Final = 2**53  # a higher count is a defect


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A tool call or a piece of one; `index` and `id`, if set, tell to which call it belongs."""

    name: str
    arguments: str
    index: int | None = None
    id: str = ""

    def place_in(self, calls: Sequence["CallPiece"]) -> int:
        """Return the index of the call that this piece continues, or the number of calls.

        Some servers send no index, or the index 0 with every call; others send a new id or the name
        with each piece.
        """
        latest = range(len(calls) - 1, -1, -1)
        by_id = (place for place in latest if self.id and self.id == calls[place].id)
        continued = (place for place in latest if self._continues(calls[place]))
        return next(by_id, next(continued, len(calls)))

    def _continues(self, call: "CallPiece") -> bool:
        if self.index != call.index or not self.name:
            return self.index == call.index
        if (self.id and call.id) or (self.index is None and self.name != call.name):
            return False
        return not (self.arguments and _is_object(call.arguments))


def _is_object(text: str) -> bool:
    """Return whether a text is a whole JSON object."""
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def read_calls(calls: object, function: object = None) -> Iterator[CallPiece]:
    """Yield the pieces of `tool_calls` and of the old `function_call`, with arguments as JSON."""
    all_calls = calls if isinstance(calls, list) else [calls]
    for call in (*all_calls, {"function": function}):
        fields = call if isinstance(call, dict) else {}
        function = fields.get("function")
        if not isinstance(function, dict):
            continue
        name, index = function.get("name"), fields.get("index")
        arguments, call_id = function.get("arguments") or "", fields.get("id")
        yield CallPiece(
            name if isinstance(name, str) else "",
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False),
            index if isinstance(index, int) else None,
            call_id if isinstance(call_id, str) else "",
        )


@dataclass(frozen=True, slots=True)
class StreamPart:
    """A piece of a reply, or a whole one, as the server sends it.

    `done_reason` says that the model has ended, and `is_last` that the server has; token counts may
    come in between. `calls` are calls that the server's own parser took out of the text. `refusal`
    is the text of a model that refuses to answer.
    """

    content: str = ""
    thinking: str = ""
    done_reason: str | None = None
    prompt_tokens: object = None
    completion_tokens: object = None
    is_last: bool = False
    calls: tuple[CallPiece, ...] = ()
    refusal: str = ""


_CUT_SHORT = {
    # vLLM, SGLang; OpenRouter; Z.ai; DeepSeek
    **dict.fromkeys(("abort", "error", "network_error", "insufficient_system_resource"), "ABORTED"),
    **dict.fromkeys(("content_filter", "sensitive"), "FILTERED"),
}
"""The name of a fault for each `done_reason` with which servers end an incomplete reply."""


def read_stream(
    parts: Generator[StreamPart, None, None],
    options: GenerationOptions,
    max_tokens: int,
    server: ModelServer,
) -> Reply:
    """Return the reply in the parts, and close them once it is whole or too long.

    Raises `ChatError`; it is a `TransientError` only if no part of the reply has come.
    """
    reply = _PartialReply(options)
    max_bytes = max(FEWEST_BYTES, BYTES_A_TOKEN * max_tokens)
    try:
        with closing(parts):
            for part in parts:
                reply.add(part)
                if reply.bytes > max_bytes or reply.is_over:
                    break
                if reply.is_whole:
                    server.deadline.shorten(COUNTS_S)
    except ChatError as error:
        if isinstance(error, TransientError) and reply.has_begun and not reply.is_whole:
            raise ChatError(str(error)) from error
        if not reply.is_whole:
            raise
    if reply.bytes > max_bytes:
        raise COMMON_FAULTS["ENDLESS"].error(server.names, str(max_bytes))
    if not reply.is_whole:
        fault = "LATE" if server.deadline.has_passed else "UNFINISHED"
        raise COMMON_FAULTS[fault].error(server.names)
    return _whole_reply(reply, server)


def _whole_reply(reply: "_PartialReply", server: ModelServer) -> Reply:
    """Return the reply. Raises `ChatError` if the server cut it, or if it is empty."""
    if reason := _CUT_SHORT.get(reply.done_reason or ""):
        raise COMMON_FAULTS[reason].error(server.names, repr(reply.done_reason))
    result = reply.result()
    if result.content.strip() or (result.thinking and result.done_reason == "length"):
        return result  # too much thinking costs a turn, not the run
    if reply.refusal:
        raise COMMON_FAULTS["REFUSED"].error(server.names, reply.refusal)
    raise _empty(result, server)


def _empty(reply: Reply, server: ModelServer) -> ChatError:
    if reply.done_reason == "length":
        return COMMON_FAULTS["SPENT"].error(server.names)
    error = COMMON_FAULTS["EMPTY"].error(
        server.names, ", though it was thinking" if reply.thinking else ""
    )
    if reply.thinking and reply.done_reason in ("stop", None):
        return OnlyThinkingError(str(error), is_object=reply.thinking.lstrip().startswith("{"))
    return error


class _PartialReply:
    """A reply while it arrives."""

    def __init__(self, options: GenerationOptions) -> None:
        self.has_begun = False
        self.bytes = 0  # of content and thinking, counted or not
        self._on_token = options.on_token
        self._contents: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[CallPiece] = []
        self.refusal = ""
        self.is_over = False
        """Whether the server has ended, so that not even token counts follow."""
        self.done_reason: str | None = None
        self._prompt_tokens: int | None = None
        self._completion_tokens: int | None = None

    def add(self, part: StreamPart) -> None:
        """Add the next part."""
        self.has_begun = True
        self.bytes += len((part.content + part.thinking).encode("utf-8", "replace"))
        if part.thinking:
            self._thoughts.append(part.thinking)
        self.done_reason = part.done_reason or self.done_reason
        self._prompt_tokens = _token_count(part.prompt_tokens) or self._prompt_tokens
        self._completion_tokens = _token_count(part.completion_tokens) or self._completion_tokens
        for piece in part.calls:
            self._add_call(piece)
            self.bytes += len(piece.arguments)
        self.refusal += part.refusal
        self.is_over = part.is_last
        self._release(part.content)

    def _add_call(self, piece: CallPiece) -> None:
        place = piece.place_in(self._calls)
        if place == len(self._calls):
            self._calls.append(piece)
            return
        call = self._calls[place]
        name = piece.name if piece.name.startswith(call.name) else call.name + piece.name
        self._calls[place] = replace(call, name=name, arguments=call.arguments + piece.arguments)

    def _release(self, text: str) -> None:
        if text:
            self._contents.append(text)
            if self._on_token is not None:
                self._on_token(text)

    @property
    def is_whole(self) -> bool:
        """Whether the model has ended."""
        return self.is_over or self.done_reason is not None

    def result(self) -> Reply:
        """Return the reply, with calls as text after it."""
        self._release("".join(map(_call_as_text, self._calls)))
        return Reply(
            "".join(self._contents),
            thinking="".join(self._thoughts) or None,
            done_reason=self.done_reason,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
        )


def _call_as_text(call: CallPiece) -> str:
    if not call.name:
        return ""
    name, arguments = json.dumps(call.name, ensure_ascii=False), call.arguments or "{}"
    return f'\n<tool_call>\n{{"name": {name}, "arguments": {arguments}}}\n</tool_call>\n'


def _token_count(value: object) -> int | None:
    """Return a whole number above 0, else None; some servers count 0 if all was cached."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value <= _MOST_TOKENS and value == int(value) else None


def lines(_: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of an answer, except blank ones, as they arrive."""
    return (line for line in _lines(pieces) if line.strip())


_DATA = (b"data", b"error")  # old llama.cpp sends a failure in a field `error`


def events(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each server-sent event.

    The format is https://html.spec.whatwg.org/multipage/server-sent-events.html; the last event
    may lack the empty line that ends it.
    """
    data: list[bytes] = []
    for line in _lines(pieces):
        name, _, value = line.partition(b":")
        if not line and data:
            yield b"\n".join(data)
            data = []
        elif name in _DATA:
            data.append(value.removeprefix(b" "))
    if data:
        yield b"\n".join(data)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines, without any of the three kinds of line ends, as they arrive.

    A last line without an end is left out if the connection was cut inside its JSON.
    """
    ends = IncrementalNewlineDecoder(
        None, translate=True
    )  # each byte is decoded as a character of Latin-1
    pieces_of_line: list[str] = []
    for piece in chain(filter(None, pieces), (b"",)):
        first, *later_lines = ends.decode(piece.decode("latin-1"), final=not piece).split("\n")
        pieces_of_line.append(first)
        for line in later_lines:
            yield "".join(pieces_of_line).encode("latin-1").removeprefix(BOM_UTF8)
            pieces_of_line = [line]
    last = "".join(pieces_of_line).encode("latin-1").removeprefix(BOM_UTF8)
    document = last.removeprefix(b"data:").strip().decode("utf-8", "replace")
    if not document.startswith("{") or _is_object(document):
        yield last
