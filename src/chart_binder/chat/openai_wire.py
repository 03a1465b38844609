"""One request to an OpenAI-compatible server, and the parts of its answer."""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace

import httpx

from chart_binder.chat.concessions import Fields
from chart_binder.chat.draft import Draft, Part
from chart_binder.chat.faults import DECLINING, Answered, Asked, translated
from chart_binder.chat.growing import growing_text
from chart_binder.chat.openai_faults import (
    ABSENT,
    NO_COMPLETIONS,
    NOT_FOUND,
    OPENAI,
    ROLE,
    is_about_absence,
    is_about_role,
)
from chart_binder.chat.openai_format import complaint, document, part, refusal
from chart_binder.chat.openai_says import Server, advice
from chart_binder.chat.served import Question
from chart_binder.chat.server_names import OPENAI_NAME
from chart_binder.chat.sse import events
from chart_binder.chat.taking import take
from chart_binder.net.retry_after import retry_after_s
from chart_binder.react.conversation import ChatError, Message, Reply

MOST_STOPS = 4  # what OpenAI's own server takes; our own cut knows them all
_DONE = b"[DONE]"
_STREAM = (b"data:", b"event:", b":")


def ask(question: Question, optional: Fields) -> Reply:
    """Ask once, with these optional fields; raise `ChatError`."""
    config, endpoint, deadline = question.config, question.endpoint, question.deadline
    asked = Asked(endpoint.address, config.model_id, deadline.seconds, OPENAI_NAME, endpoint.key)
    parts = _parts(question, optional, asked)
    return take(parts, Draft(question.terms, config.max_tokens), asked, deadline)


def _parts(question: Question, optional: Fields, asked: Asked) -> Generator[Part, None, None]:
    """Yield what the server sends, and translate what goes wrong on the way."""
    http = question.endpoint.http(question.deadline, question.config.max_tokens)
    address, body = _request(question, optional)
    with (
        translated(OPENAI, asked, question.deadline),
        httpx.Client(**http) as client,
        client.stream("POST", address, json=body) as answer,
    ):
        if not answer.is_success:
            after_s = retry_after_s(answer.headers.get("retry-after", ""))
            said = refusal(answer.read(), answer.status_code, after_s)
            raise _explained(said, question, asked)
        for text, is_whole in _texts(answer):
            if text.strip() == _DONE:
                yield Part(is_last=True)
                return
            said = document(text)
            if wrong := complaint(said):
                raise _explained(wrong, question, asked)
            yield replace(part(said), is_last=is_whole)


def _texts(answer: httpx.Response) -> Iterator[tuple[bytes, bool]]:
    """Yield the documents of an answer, streamed or the one whole, whatever was asked for."""
    if "event-stream" in answer.headers.get("content-type", ""):
        yield from ((text, False) for text in events(answer.iter_bytes()))
        return
    body = answer.read()
    if body.lstrip().startswith(_STREAM):
        yield from ((text, False) for text in events([body]))
    else:
        yield body, True


def _request(question: Question, optional: Fields) -> tuple[str, Fields]:
    """Return where to ask, and what."""
    config, stop = question.config, question.stop[:MOST_STOPS]
    fields: dict[str, object] = {
        "model": config.model_id,
        "stream": config.stream,
        "max_tokens": config.max_tokens,
        "temperature": config.temperature,
        **({"stop": list(stop)} if stop else {}),
        **optional,
    }
    if config.prompting == "raw":
        path, fields["prompt"] = "/completions", growing_text(question.messages)
    else:
        path, fields["messages"] = "/chat/completions", list(_messages(question.messages))
    return question.endpoint.address + path, fields


def _messages(messages: Iterable[Message]) -> Iterator[dict[str, str]]:
    """Yield the messages as the format has them.

    A tool's message names the call it answers. There is none on the wire, as calls are text here:
    vLLM, llama.cpp, LM Studio and Ollama take an id all the same, OpenAI's own server does not. The
    templates of some models want nine letters or figures.
    """
    for number, message in enumerate(messages):
        said = {"role": message.role, "content": message.content}
        yield said | {"tool_call_id": f"call{number:05}"} if message.role == "tool" else said


def _explained(said: Answered, question: Question, asked: Asked) -> ChatError:
    """Return what to raise for an answer that is no reply, to this very question."""
    is_raw = question.config.prompting == "raw"
    if is_about_absence(said):
        return ABSENT.error(asked, _choice(question))
    if said.status in {NOT_FOUND, 405, 501} and is_raw:
        return NO_COMPLETIONS.error(asked, said.detail)
    has_tool = not is_raw and any(message.role == "tool" for message in question.messages)
    if has_tool and said.status in DECLINING and is_about_role(said):
        return ROLE.error(asked, said.detail)
    return OPENAI.explain_answer(said, asked)


def _choice(question: Question) -> str:
    """Return what to do about a model that the server lacks."""
    try:
        server = Server(question.endpoint, question.config.model_id, question.deadline)
        return advice(server.models())
    except ChatError:
        return advice(())
