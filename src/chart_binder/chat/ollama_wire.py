"""One request to an Ollama server, and the parts of its answer."""

from collections.abc import Generator
from contextlib import closing
from typing import Any

from ollama import ChatResponse, Client, GenerateResponse, ResponseError

from chart_binder.chat.concessions import Fields
from chart_binder.chat.draft import Draft, Part
from chart_binder.chat.faults import Answered, Asked, translated
from chart_binder.chat.growing import growing_text
from chart_binder.chat.ollama_faults import OLLAMA
from chart_binder.chat.served import Question
from chart_binder.chat.server_names import OLLAMA_NAME
from chart_binder.chat.taking import take
from chart_binder.net.retry_after import retry_after_s
from chart_binder.react.conversation import Reply


def ask(question: Question, optional: Fields) -> Reply:
    """Ask once, with these optional fields; raise `ChatError`."""
    config, deadline = question.config, question.deadline
    asked = Asked(question.endpoint.address, config.model_id, deadline.seconds, OLLAMA_NAME)
    parts = _parts(question, optional, asked)
    return take(parts, Draft(question.terms, config.max_tokens), asked, deadline)


def _parts(question: Question, optional: Fields, asked: Asked) -> Generator[Part, None, None]:
    """Yield what the server sends, and translate what goes wrong on the way."""
    http = question.endpoint.http(question.deadline, question.config.max_tokens)
    waits: list[str] = []  # the library keeps no headers of a refusal
    http["event_hooks"]["response"].append(
        lambda response: waits.append(response.headers.get("retry-after", ""))
    )
    with (
        translated(OLLAMA, asked, question.deadline),
        Client(question.endpoint.address, **http) as client,
    ):
        try:
            with closing(_answers(client, question, optional)) as answers:
                for answer in answers:
                    yield _part(answer)
        except ResponseError as error:
            after_s = retry_after_s("".join(waits))
            answered = Answered(max(error.status_code, 0), str(error.error), after_s)
            raise OLLAMA.explain_answer(answered, asked) from error


def _answers(
    client: Client, question: Question, optional: Fields
) -> Generator[ChatResponse | GenerateResponse, None, None]:
    """Send the request; the options are the same each time, as a change reloads the model."""
    config, messages = question.config, question.messages
    common: dict[str, Any] = {
        "model": config.model_id,
        "stream": config.stream,
        "options": {
            "num_ctx": config.num_ctx,
            "num_predict": config.max_tokens,
            "temperature": config.temperature,
            "seed": config.seed,
            "stop": list(question.stop),
        },
        **optional,
    }
    if config.prompting == "raw":
        answer = client.generate(prompt=growing_text(messages), raw=True, **common)
    else:
        said = [{"role": message.role, "content": message.content} for message in messages]
        answer = client.chat(messages=said, **common)
    yield from answer if config.stream else (answer,)


def _part(answer: ChatResponse | GenerateResponse) -> Part:
    calls = False
    if isinstance(answer, ChatResponse):
        content, thinking = answer.message.content, answer.message.thinking
        calls = bool(answer.message.tool_calls)
    else:
        content, thinking = answer.response, answer.thinking
    return Part(
        content or "",
        thinking or "",
        answer.done_reason,
        answer.prompt_eval_count,
        answer.eval_count,
        is_last=bool(answer.done),
        calls=calls,
    )
