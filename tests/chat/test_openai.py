"""Asking a model on a server that speaks OpenAI's format."""

from collections.abc import Iterator, Mapping
from time import monotonic

import pytest

from chart_binder.chat.http import Endpoint
from chart_binder.chat.openai import api_at
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatError, GenerationOptions, Message, Reply
from servers.http import Response
from servers.kinds import KINDS
from servers.openai import EVENTS, FAULTS, OpenAIStandIn, delta, event, stream
from servers.talk import Body

STOP = ("Observation:",)
ASKED = (Message("system", "You decide."), Message("user", "Which album?"))
NOBODY: Mapping[str, str] = {}
SCHEMA = {"type": "object", "properties": {"crg_mbid": {"enum": ["C1", None]}}}


model = KINDS["openai"].model


def ask(server: OpenAIStandIn, **changes: object) -> Reply:
    return model(server, **changes).reply(ASKED, GenerationOptions(STOP))


def answered(monkeypatch: pytest.MonkeyPatch, response: Response, **changes: object) -> Reply:
    """Return what is made of one answer of a server."""
    monkeypatch.setitem(FAULTS, "as told", lambda *_: response)
    with OpenAIStandIn(fault="as told") as server:
        return ask(server, **changes)


@pytest.mark.parametrize("streamed", [True, False])
def test_what_is_asked_is_on_the_wire(streamed: bool) -> None:
    with OpenAIStandIn(["well"]) as server:
        ask(server, max_tokens=128, temperature=0.5, seed=7, stream=streamed)
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.chats[0] == {
        "model": "llama3.2",
        "messages": [{"role": each.role, "content": each.content} for each in ASKED],
        "max_tokens": 128,
        "temperature": 0.5,
        "seed": 7,
        "stop": ["Observation:"],
        "stream": streamed,
        **({"stream_options": {"include_usage": True}} if streamed else {}),
    }


@pytest.mark.parametrize(
    ("base_url", "api"),
    [
        ("http://h:1", "http://h:1/v1"), ("http://h:1/", "http://h:1/v1"),
        ("http://h:1/v1", "http://h:1/v1"), ("http://h:1/v1/", "http://h:1/v1"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1"),
        ("http://h:1/v1/models", "http://h:1/v1"), ("http://h:1/vllm", "http://h:1/vllm/v1"),
        ("https://h/api/v1", "https://h:443/api/v1"),
        ("https://h/v1beta/openai", "https://h:443/v1beta/openai"),
    ],
)  # fmt: skip
def test_the_version_may_be_left_out_of_the_address(base_url: str, api: str) -> None:
    assert api_at(Endpoint.of(LLMConfig(base_url=base_url), NOBODY)).address == api


def test_four_stop_strings_are_sent_and_no_empty_list() -> None:
    with OpenAIStandIn(["one", "two"]) as server:
        model(server).reply(ASKED, GenerationOptions(("one:", "two:", "three:", "four:", "five:")))
        model(server).reply(ASKED, GenerationOptions())
    assert server.chats[0]["stop"] == ["one:", "two:", "three:", "four:"]
    assert server.chats[1].keys().isdisjoint({"stop", "response_format"})


SAID = (
    *ASKED, Message("assistant", "Action: x"), Message("tool", "Observation: 1"),
    Message("assistant", "Action: y"), Message("tool", "Observation: 2"),
)  # fmt: skip


def test_each_names_a_call_of_its_own_which_stays_the_same() -> None:
    with OpenAIStandIn(["one", "two"]) as server:
        chat = model(server)
        chat.reply(SAID[:4], GenerationOptions(STOP))
        chat.reply(SAID, GenerationOptions(STOP))
    first, second = (each["messages"] for each in server.chats)
    assert second[: len(first)] == first
    tools = [each for each in second if each["role"] == "tool"]
    assert [each["tool_call_id"] for each in tools] == ["call00003", "call00005"]


@pytest.mark.parametrize("field", ["stream_options", "seed", "response_format", "temperature"])
def test_a_field_that_it_names_is_done_without(field: str) -> None:
    with OpenAIStandIn(["one", "two"], declines=(field,)) as server:
        chat = model(server)
        assert chat.reply(ASKED, GenerationOptions(STOP, SCHEMA)).content == "one"
        assert chat.reply(ASKED, GenerationOptions(STOP, SCHEMA)).content == "two"
    assert [field in each for each in server.chats] == [True, False, False]
    others = {"stream_options", "seed", "response_format", "temperature"} - {field}
    assert all(others <= each.keys() for each in server.chats)


def test_a_model_that_wants_the_newer_name_of_max_tokens_gets_it() -> None:
    with OpenAIStandIn(["one", "two"], fault="max_tokens", times=1) as server:
        chat = model(server, max_tokens=128)
        assert [chat.reply(ASKED, GenerationOptions(STOP)).content for _ in range(2)] == [
            "one",
            "two",
        ]
    limits = [(each.get("max_tokens"), each.get("max_completion_tokens")) for each in server.chats]
    assert limits == [(128, None), (None, 128), (None, 128)]


@pytest.mark.parametrize("status", [400, 422, 500, 501])
def test_a_refusal_that_says_nothing_counts_for_one_reply(status: int) -> None:
    with OpenAIStandIn(["one", "two"], refuses={"response_format": status}) as server:
        chat = model(server)
        assert chat.reply(ASKED, GenerationOptions(STOP, SCHEMA)).content == "one"
        assert chat.reply(ASKED, GenerationOptions(STOP, SCHEMA)).content == "two"
    assert [("response_format" in each) for each in server.chats] == [True, False] * 2


def test_fields_whose_absence_did_not_help_are_sent_again() -> None:
    with OpenAIStandIn(["one"], fault="400", times=2) as server:
        chat = model(server)
        with pytest.raises(ChatError, match="HTTP 400"):
            chat.reply(ASKED, GenerationOptions(STOP))
        assert chat.reply(ASKED, GenerationOptions(STOP)).content == "one"
    assert ["seed" in each for each in server.chats] == [True, False, True]


@pytest.mark.parametrize("prompting", ["chat", "raw"])
def test_a_schema_is_sent_as_the_format_has_it(prompting: str) -> None:
    with OpenAIStandIn(["{}"]) as server:
        model(server, prompting=prompting).reply(ASKED, GenerationOptions(STOP, SCHEMA))
    assert server.chats[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
    }


WELL = (delta("we"), delta("ll"), delta("", "stop"))
ODD_STREAMS = [
    ("another type", Response(event(delta("well")) + event(delta("", "stop")), 200, "text/plain")),
    ("no [DONE]", stream(delta("well"), delta("", "stop"))),
    ("no reason", stream(delta("well"), is_done=True)),
    ("DOS line ends", stream(*(event(each).replace(b"\n", b"\r\n") for each in WELL))),
    ("an empty reason", stream(delta("we", ""), delta("ll", "stop"), is_done=True)),
    ("broken after the last word", stream(delta("well"), delta("", "stop"), b"data: garbage\n\n")),
]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(answer, None if name == "no reason" else "stop") for name, answer in ODD_STREAMS],
    ids=[name for name, _ in ODD_STREAMS],
)
def test_odd_streams_are_read(
    answer: Response, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = answered(monkeypatch, answer)
    assert (reply.content, reply.done_reason) == ("well", reason)


def test_a_server_that_never_streams_is_read_all_the_same() -> None:
    with OpenAIStandIn(["well"], streams=False) as server:
        assert ask(server).content == "well"


@pytest.mark.parametrize("half", [b'"\\ud834"', b'"\xf0\x9d\x84"'], ids=["escaped", "as bytes"])
def test_half_a_letter_is_no_error(half: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    torn = b'data: {"choices": [{"delta": {"content": ' + half + b"}}]}\n\n"
    reply = answered(monkeypatch, stream(torn, delta("well"), is_done=True))
    assert reply.content.endswith("well")


def test_a_second_choice_is_not_mixed_into_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(content: str, reason: str | None = None) -> Body:
        begun = delta(content, reason)
        return {**begun, "choices": [{**begun["choices"][0], "index": 1}]}

    both = delta("ell")
    both["choices"] = [*other("OTHER")["choices"], *both["choices"]]
    answer = stream(
        delta("w"), other("OTHER"), both, other("", "stop"), delta("."), delta("", "length")
    )
    reply = answered(monkeypatch, answer)
    assert (reply.content, reply.done_reason) == ("well.", "length")


def test_content_may_be_a_list_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = [thinking, {"type": "reference", "reference_ids": [1]}, "we"]
    said: list[Body] = [delta(), delta()]
    said[0]["choices"][0]["delta"]["content"] = parts
    said[1]["choices"][0]["delta"]["content"] = [{"type": "text", "text": "ll"}]
    reply = answered(monkeypatch, stream(*said, delta("", "stop")))
    assert (reply.content, reply.thinking) == ("well", "hm")


def test_odd_counts_cost_no_more_than_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = {"prompt_tokens": 1500.0, "completion_tokens": 0}
    answer = stream({**delta("well", "stop"), "usage": usage}, is_done=True)
    reply = answered(monkeypatch, answer)
    assert (reply.content, reply.prompt_tokens, reply.completion_tokens) == ("well", 1500, None)


def test_a_line_kept_open_at_the_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chart_binder.chat.streaming.COUNTS_S", 0.2)

    def kept_open(server: OpenAIStandIn, _: object) -> Response:
        def lines() -> Iterator[bytes]:
            yield event(delta("well")) + event(delta("", "stop"))
            server.closing.wait(60)

        return Response(lines(), 200, EVENTS)

    monkeypatch.setitem(FAULTS, "kept open", kept_open)
    began = monotonic()
    with OpenAIStandIn(fault="kept open") as server:
        assert ask(server).content == "well"
    assert monotonic() - began < 2
