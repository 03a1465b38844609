"""Asking a model on an Ollama server."""

import json
from collections.abc import Mapping

import pytest

from chart_binder.chat.ollama import check, connect
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError
from chart_binder.react.conversation import GenerationOptions, Message, Reply
from servers.http import Response
from servers.kinds import KINDS
from servers.ollama import FAULTS, OllamaStandIn, Said

STOP = ("Observation:",)
ASKED = (Message("system", "You decide."), Message("user", "Which album?"))
NOBODY: Mapping[str, str] = {}


model = KINDS["ollama"].model


def ask(server: OllamaStandIn, **changes: object) -> Reply:
    return model(server, **changes).reply(ASKED, GenerationOptions(STOP))


def test_every_call_sends_the_same_options() -> None:
    options = {"num_ctx": 4_096, "num_predict": 128, "temperature": 0.5, "seed": 7}
    with OllamaStandIn(["one", "two"]) as server:
        chat = model(server, num_ctx=4_096, max_tokens=128, temperature=0.5, seed=7)
        chat.reply(ASKED, GenerationOptions(STOP))
        chat.reply(
            (*ASKED, Message("assistant", "one"), Message("user", "go on")), GenerationOptions(STOP)
        )
    assert [each["options"] for each in server.chats] == [{**options, "stop": [*STOP]}] * 2
    assert all(each["stream"] for each in server.chats)


SCHEMA = {"type": "object", "properties": {"crg_mbid": {"enum": ["C1", None]}}}


@pytest.mark.parametrize("status", [400, 501])
def test_a_server_that_knows_no_schemas_is_asked_without_one(status: int) -> None:
    with OllamaStandIn(["one", "two"], declines_schema=status) as server:
        chat = model(server)
        assert chat.reply(ASKED, GenerationOptions(STOP, SCHEMA)).content == "one"
        assert chat.reply(ASKED, GenerationOptions(STOP, SCHEMA)).content == "two"
    assert ["format" in each for each in server.chats] == [True, False, False]


def test_arguments_as_text_and_blank_lines_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    call = {"function": {"name": "web_search", "arguments": '{"query": "K\\u2028"}'}}
    head = {"role": "assistant", "content": "Look.\u2028"}
    documents = (
        {"message": head, "done": False},
        {"message": {**head, "content": "", "tool_calls": [call]}, "done": False},
        {"message": {**head, "content": ""}, "done": True},
    )
    body = "\n\r\n\n".join(json.dumps(each, ensure_ascii=False) for each in documents)
    monkeypatch.setitem(FAULTS, "as told", lambda *_: Response(body))
    with OllamaStandIn(fault="as told") as server:
        content = ask(server).content
    assert content.startswith("Look.\u2028\n<tool_call>")
    assert json.loads(content.split("\n")[2]) == {
        "name": "web_search", "arguments": {"query": "K\u2028"},
    }  # fmt: skip


def test_the_client_library_asks_the_server() -> None:
    with OllamaStandIn(["well"]) as server:
        ask(server)
        check(LLMConfig(base_url=server.url), NOBODY)
    senders = {each.path: each.headers["user-agent"].split("/")[0] for each in server.requests}
    paths = ("/api/chat", "/api/tags", "/api/show", "/api/ps")
    assert [senders[path] for path in paths] == ["ollama-python"] * 4


def test_a_raw_prompt_passes_the_template_by_with_the_same_options() -> None:
    with OllamaStandIn(["one", Said("two", thinking="hm")]) as server:
        chat, raw = model(server), model(server, prompting="raw")
        chat.reply(ASKED, GenerationOptions(STOP))
        reply = raw.reply(ASKED, GenerationOptions(STOP, SCHEMA))
    first, second = server.chats
    assert server.requests[1].path == "/api/generate"
    assert (second["prompt"], second["raw"]) == ("You decide.\n\nWhich album?\n\n", True)
    assert (second["options"], second["format"]) == (first["options"], SCHEMA)
    assert (reply.content, reply.thinking, reply.done_reason) == ("two", "hm", "stop")
    assert (reply.prompt_tokens, reply.completion_tokens) == (13, 1)


def test_a_key_nobody_configured_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "meant for another host")
    with OllamaStandIn(["well"]) as server:
        ask(server)
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("environ", [{}, {"MY_KEY": " "}, {"MY_KEY": "s3\ncret"}])
def test_a_key_that_cannot_be_sent_is_refused_unseen(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"api_key_env.*'MY_KEY'|'MY_KEY'.*api_key_env") as no:
        connect(LLMConfig(api_key_env="MY_KEY"), environ)
    assert "s3" not in str(no.value)


LONG = (Message("system", "rules " * 100), Message("user", "0383dadf-2a4e-4d10 " * 400))


def test_a_count_without_the_cached_tokens_is_no_cut() -> None:
    turn = (Message("assistant", "one"), Message("user", "Observation: nothing"))
    with OllamaStandIn(["one", Said("two", prompt_tokens=12), "three"]) as server:
        chat = model(server, num_ctx=16_384)
        chat.reply(LONG, GenerationOptions(STOP))
        assert chat.reply((*LONG, *turn), GenerationOptions(STOP)).prompt_tokens == 12
        assert chat.reply(ASKED, GenerationOptions(STOP)).content == "three", (
            "another may be shorter"
        )
    assert sum(each.path == "/api/chat" for each in server.requests) == 3
