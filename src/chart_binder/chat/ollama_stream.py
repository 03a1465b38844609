"""One reply of a model, read as an Ollama server writes it."""

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

from ollama import ChatResponse, Client, ResponseError

from chart_binder.chat.deadline import Deadline
from chart_binder.chat.endpoint import Endpoint
from chart_binder.chat.ollama_faults import (
    FOREIGN_ERRORS,
    LATE,
    UNFINISHED,
    Asked,
    Fault,
    explain,
    explain_status,
)
from chart_binder.chat.patience import PassingError
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatError, Message, Reply

SPENT = Fault(
    "model {model!r} at {address} spent all its tokens without a word of an answer{detail}: "
    "raise llm.max_tokens"
)
ENDLESS = Fault(
    "model {model!r} at {address} went on past {detail} bytes, more than llm.max_tokens hold: "
    "look whether its server honours num_predict"
)
SILENT = Fault(
    "model {model!r} at {address} answered with nothing{detail}: choose another model, "
    "or look into the server's log"
)

_BYTES_A_TOKEN = 16  # of content and thinking: the average of any text stays far below
_FEWEST_BYTES = 1_000_000


def stream_reply(
    endpoint: Endpoint,
    config: LLMConfig,
    messages: Sequence[Message],
    stop: Sequence[str],
    deadline: Deadline,
) -> Reply:
    """Ask once, and return what the model says before any of `stop`.

    Raises `ChatError`; `PassingError` only while nothing of the reply has come.
    """
    asked = Asked(endpoint.address, config.model_id, deadline.seconds)
    draft = _Draft(stop, max(_FEWEST_BYTES, _BYTES_A_TOKEN * config.max_tokens))
    try:
        request = _request(config, messages, stop)
        with closing(_parts(endpoint, request, asked, deadline)) as parts:
            for part in parts:
                draft.add(part)
                if draft.overflows:
                    raise ENDLESS.error(asked, str(draft.most_bytes))
                if draft.ended:
                    break
    except PassingError as error:
        if draft.begun:
            raise ChatError(str(error)) from error
        raise
    if not draft.ended:
        raise (LATE if deadline.passed else UNFINISHED).error(asked)
    if not draft.content.strip():
        raise _wordless(draft, asked)
    return draft.reply()


class _Draft:
    """A reply as far as it has come."""

    def __init__(self, stop: Sequence[str], most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._bytes = 0
        self.begun = False
        self._stop = tuple(filter(None, stop))
        self._reach = max(map(len, self._stop), default=1)
        self._tail = ""
        self._contents: list[str] = []
        self._thoughts: list[str] = []
        self._last = ChatResponse.model_construct()
        self._stopped = False

    @property
    def overflows(self) -> bool:
        """Whether more has come than so many tokens can hold, with words or without."""
        return self._bytes > self.most_bytes

    @property
    def ended(self) -> bool:
        return self._stopped or bool(self._last.done)

    @property
    def done_reason(self) -> str | None:
        return "stop" if self._stopped else self._last.done_reason

    @property
    def content(self) -> str:
        text = "".join(self._contents)
        cuts = [at for at in map(text.find, self._stop) if at >= 0]
        return text[: min(cuts, default=len(text))]

    @property
    def thinking(self) -> str | None:
        return "".join(self._thoughts) or None

    def add(self, part: ChatResponse) -> None:
        """Take the next part; a stop string the server let through ends the reply as well."""
        piece = part.message.content or ""
        thought = part.message.thinking or ""
        self.begun = True
        self._bytes += len(piece.encode("utf-8", "replace"))
        self._bytes += len(thought.encode("utf-8", "replace"))
        if piece:
            self._contents.append(piece)
        if thought:
            self._thoughts.append(thought)
        self._last = part
        self._tail = self._tail[-self._reach :] + piece
        self._stopped = any(text in self._tail for text in self._stop)

    def reply(self) -> Reply:
        return Reply(
            self.content,
            thinking=self.thinking,
            done_reason=self.done_reason,
            prompt_tokens=self._last.prompt_eval_count or None,  # 0: an old server's full cache hit
            completion_tokens=self._last.eval_count or None,
        )


def _request(config: LLMConfig, messages: Sequence[Message], stop: Sequence[str]) -> dict[str, Any]:
    """Return the request; the options are the same each time, as a change reloads the model."""
    return {
        "model": config.model_id,
        "messages": [
            {"role": message.role, "content": _encodable(message.content)} for message in messages
        ],
        "options": {
            "num_ctx": config.num_ctx,
            "num_predict": config.max_tokens,
            "temperature": config.temperature,
            "seed": config.seed,
            "stop": list(stop),
        },
    }


def _parts(
    endpoint: Endpoint, request: dict[str, Any], asked: Asked, deadline: Deadline
) -> Generator[ChatResponse, None, None]:
    """Yield what the server sends, and translate what goes wrong on the way."""
    try:
        client = Client(
            endpoint.address, **endpoint.http(deadline, request["options"]["num_predict"])
        )
        yield from client.chat(**request, stream=True)
    except ResponseError as error:
        raise explain_status(error.status_code, str(error.error), asked) from error
    except FOREIGN_ERRORS as error:
        raise (LATE.error(asked) if deadline.passed else explain(error, asked)) from error


def _wordless(draft: _Draft, asked: Asked) -> ChatError:
    fault = SPENT if draft.done_reason == "length" else SILENT
    return fault.error(asked, ", though it was thinking" if draft.thinking else "")


def _encodable(text: str) -> str:
    """Replace lone surrogates, as file names and broken pages hold them: UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()
