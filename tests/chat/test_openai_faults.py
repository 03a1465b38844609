"""Everything a server of OpenAI's format is known to do wrong, and the sentence it ends as."""

import socket
from email.utils import formatdate
from time import monotonic, time

import pytest

from chart_binder.chat.openai import connect
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatError, Message, Reply, Terms
from servers.http import Response
from servers.openai import FAULTS, OpenAIStandIn

STRANGER = "does not speak OpenAI's format: set llm.base_url to the server's API, with or without"
NO_SERVER = "what answers at {url}/v1 is no OpenAI-compatible server (HTTP 404"
LATE = "did not finish its answer for model 'llama3.2' within 0.3 s: raise llm.timeout_s"
TOO_LONG = "set llm.num_ctx to what the server gives it, or start the server with more"
ABSENT = "model 'llama3.2' is not on the server at {url}/v1: set llm.model_id to one it has: qwen3"
NOTHING = "answered with nothing: choose another model, give it more context, or look into"

SENTENCES = {
    "absent, vLLM": ABSENT,
    "absent, Ollama": ABSENT,
    "absent, 400": ABSENT,
    "400": "refuses the request for model 'llama3.2' (HTTP 400: Image input is not supported)",
    "401": "wants a key (HTTP 401: Invalid API Key): set llm.api_key_env to the variable",
    "403": "wants a key (HTTP 403: Forbidden): set llm.api_key_env to the variable",
    "404": NO_SERVER,
    "404 page": NO_SERVER,
    "too long, vLLM": TOO_LONG,
    "too long, llama.cpp": "(HTTP 400: the request exceeds the available context size, try incr",
    "too long, 500": "(HTTP 500: Context size has been exceeded.): set llm.num_ctx",
    "too long, 200": TOO_LONG,
    "422": '"extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs"',
    "429": "has had enough requests for now (HTTP 429: Rate limit reached): ask later",
    "429 for an hour": "has had enough requests for now (HTTP 429: Rate limit reached): ask later",
    "500": "failed (HTTP 500: CUDA out of memory): look into the server's log",
    "500 text": "failed (HTTP 500: Internal Server Error): look into the server's log",
    "500 list": 'failed (HTTP 500: ["no"]): look into the server\'s log',
    "502 page": "failed (HTTP 502): look into the server's log",
    "503": "is busy or still loading (HTTP 503: Loading model): ask later",
    "503 in a 200": "is busy or still loading (HTTP 503: Loading model): ask later",
    "error with 200": "broke its reply off with an error: Unexpected endpoint or method. (POST",
    "garbage": "ended its reply before it was done",
    "garbage event": STRANGER,
    "garbage document": STRANGER,
    "html": STRANGER,
    "empty body": "ended its reply before it was done",
    "empty document": STRANGER,
    "list": STRANGER,
    "list event": STRANGER,
    "number": STRANGER,
    "no choices": STRANGER,
    "choices are text": STRANGER,
    "choice is text": STRANGER,
    "content is a number": STRANGER,
    "deep": STRANGER,
    "bad gzip": STRANGER,
    "error in mid-stream": "failed (HTTP 500: the engine died): look into the server's log",
    "error text in mid-stream": "broke its reply off with an error: it crashed",
    "error field in mid-stream": "failed (HTTP 500: it broke): look into the server's log",
    "garbage in mid-stream": STRANGER,
    "ends without done": "ended its reply before it was done",
    "dropped": "the connection to the server at {url}/v1 broke off",
    "hangs up": "the connection to the server at {url}/v1 broke off",
    "nothing but done": NOTHING,
    "null content": NOTHING,
    "empty content": NOTHING,
    "blank content": NOTHING,
    "no choice": NOTHING,
    "calls a tool": "answered with a tool call of its server's own, where text was asked for",
    "filtered": "filtered its whole answer out: choose another model or server",
    "redirect loop": "{url}/v1 redirects (HTTP 307): set llm.base_url to the server itself",
    "endless": "went on past 1000000 bytes, more than llm.max_tokens hold: look whether its server",
    "endless thinking": "went on past 1000000 bytes, more than llm.max_tokens hold",
    "endless comments": "sent more than 16000000 bytes in one answer: set llm.base_url",
    "endless line": "sent more than 16000000 bytes in one answer: set llm.base_url",
    "slow": LATE,
    "falls silent": LATE,
    "drips": LATE,
    "drips headers": LATE,
}
TRIED_AGAIN = {"429": 3, "503": 3, "503 in a 200": 3, "hangs up": 3}
ASKED_FOR_LESS = {"400": 2, "422": 2}
"""Refusals that do not say what is refused: one more request, without counts and seed."""


def ask(url: str, **changes: object) -> Reply:
    config = LLMConfig.model_validate({"base_url": url, "timeout_s": 5.0, **changes})
    return connect(config, {}).reply([Message("user", "Which album?")], Terms(("Observation:",)))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_sentence_with_its_remedy(fault: str) -> None:
    patience_s = 0.3 if SENTENCES[fault] is LATE else 5.0
    with OpenAIStandIn(["never"], fault=fault, models=({"id": "qwen3"},)) as server:
        began = monotonic()
        with pytest.raises(ChatError) as refused:
            ask(server.url, timeout_s=patience_s)
        took_s = monotonic() - began
    sentence = str(refused.value)
    assert SENTENCES[fault].format(url=server.url) in sentence
    assert "\n" not in sentence
    assert len(sentence) < 450
    assert len(server.chats) == {**TRIED_AGAIN, **ASKED_FOR_LESS}.get(fault, 1)
    assert took_s < 3.0  # what drips or keeps silent would do so for ten seconds and more


def test_a_server_that_is_not_there_is_named_with_the_usual_ports() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    sentence = (
        rf"no server answers at {url}/v1 \([^\[]*refused\): start it, or set llm\.base_url \(usual "
        r"ports: vLLM 8000, llama\.cpp 8080, LM Studio 1234, Ollama 11434\)"
    )
    with pytest.raises(ChatError, match=sentence):
        ask(url)


def test_an_absent_model_is_named_with_some_of_those_that_are_there() -> None:
    models = tuple({"id": f"model-{number}"} for number in range(300))
    with (
        OpenAIStandIn(models=models) as server,
        pytest.raises(ChatError, match=r"one it has: model-0, .*, model-7 and 292 more$"),
    ):
        ask(server.url)


def test_an_absent_model_is_named_where_the_server_lists_none() -> None:
    with (
        OpenAIStandIn(fault="absent, vLLM", on=("/v1/chat/completions", "/v1/models")) as server,
        pytest.raises(ChatError, match=r"load it there, or set llm\.model_id to one it has$"),
    ):
        ask(server.url)


def test_a_wrong_key_is_refused_without_being_told() -> None:
    with OpenAIStandIn(key="right") as server:
        chat = connect(LLMConfig(base_url=server.url, api_key_env="KEY"), {"KEY": "s3cret"})
        with pytest.raises(ChatError, match=r"refuses the key .*api_key_env names") as refused:
            chat.reply([Message("user", "?")], Terms())
    assert "Bearer ***" in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_missing_completions_route_is_told_from_a_missing_server() -> None:
    with (
        OpenAIStandIn(fault="404") as server,
        pytest.raises(ChatError, match=r'has no /completions .*: set llm\.prompting = "chat"'),
    ):
        ask(server.url, prompting="raw")


def test_a_role_the_server_refuses_is_named() -> None:
    said = [Message("user", "?"), Message("assistant", "Action"), Message("tool", "Observation")]
    with (
        OpenAIStandIn(["never"], roles=("user", "assistant")) as server,
        pytest.raises(ChatError, match=r"refuses the role 'tool'.*observation_role = \"user\""),
    ):
        connect(LLMConfig(base_url=server.url), {}).reply(said, Terms())
    assert len(server.chats) == 1


@pytest.mark.parametrize(
    ("fault", "times"), [("503", 1), ("503", 2), ("429", 2), ("hangs up", 2), ("503 in a 200", 1)]
)
def test_a_passing_fault_is_met_by_asking_again(fault: str, times: int) -> None:
    with OpenAIStandIn(["well"], fault=fault, times=times) as server:
        assert ask(server.url).content == "well"
    assert len(server.chats) == times + 1
    assert all(each == server.chats[0] for each in server.chats)


def busy_until(retry_after: str, status: int) -> Response:
    return Response("{}", status, headers=(("Retry-After", retry_after),))


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_is_left_alone_for_as_long_as_it_asks(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FAULTS, "busy", lambda *_: busy_until("1", status))
    began = monotonic()
    with OpenAIStandIn(["well"], fault="busy", times=1) as server:
        assert ask(server.url).content == "well"
    assert monotonic() - began >= 1.0


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_a_server_that_asks_for_more_time_than_there_is_is_not_asked_again(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = "3600" if form == "seconds" else formatdate(time() + 3600, usegmt=True)
    monkeypatch.setitem(FAULTS, "busy", lambda *_: busy_until(until, 429))
    with OpenAIStandIn(fault="busy") as server, pytest.raises(ChatError, match="HTTP 429"):
        ask(server.url)
    assert len(server.chats) == 1
