"""What the configuration asks of a model, as each server spells it, and calls unasked for.

The spellings are those of the servers' own documentation: Ollama's API (`think`, `keep_alive`,
`options`, from 0.12.6 `truncate` and `shift`), its /v1 (`reasoning_effort`, where `none` means not
to think: ollama#14820), vLLM's page on reasoning outputs (`chat_template_kwargs`), LM Studio's on
idle models (`ttl`).
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from chart_binder.llm.second_reading import ReadingQuestion, ask_reading
from chart_binder.react.conversation import ChatError, GenerationOptions, Message
from chart_binder.react.dialect import Classic, Pause, Xml
from chart_binder.react.loop import Task, converse
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import Tool, Toolbox
from corpus import rows
from servers.http import Response
from servers.kinds import KINDS, Kind
from servers.ollama import CREATED, FAULTS, OllamaStandIn
from servers.openai import FAULTS as OPENAI_FAULTS
from servers.openai import OpenAIStandIn, delta, error, stream
from servers.talk import Body

ASKED = (Message("system", "You decide."), Message("user", "Which album?"))
SERVERS = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
OURS = frozenset({
    "think", "keep_alive", "truncate", "shift", "reasoning_effort", "chat_template_kwargs", "ttl",
    "top_k", "top_p", "min_p",
})  # fmt: skip
UNCUT = {"truncate": False, "shift": False}
OFF = {"enable_thinking": False, "thinking": False}


def sent(provider: str, **settings: object) -> Body:
    """Return the body of a request."""
    with KINDS[provider].serve(["well"]) as server:
        KINDS[provider].model(server, **settings).reply(ASKED, GenerationOptions())
    return server.chats[0]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(("provider", "settings", "spelled"), rows(__file__, "spelled"))
def test_each_server_is_told_in_its_own_words(
    provider: str, settings: dict[str, object], spelled: Mapping[str, object], streamed: bool
) -> None:
    body = sent(provider, stream=streamed, **settings)
    assert {name: body[name] for name in body.keys() & OURS} == spelled


def test_options_of_ollama_are_added_to_those_that_are_sent() -> None:
    options = sent("ollama", extra_body={"options": {"top_k": 20, "num_ctx": 8_192}})["options"]
    assert options == {
        "top_k": 20, "num_ctx": 8_192, "num_predict": 1_024, "temperature": 0.0, "seed": 0,
        "stop": [],
    }  # fmt: skip


def test_letters_of_any_script_survive_what_is_added() -> None:
    with OllamaStandIn(["well"]) as server:
        KINDS["ollama"].model(server).reply(
            [Message("user", "Füße, 東京 \u2028")], GenerationOptions()
        )
    assert server.chats[0]["messages"][0]["content"] == "Füße, 東京 \u2028"


@pytest.mark.parametrize(
    ("provider", "settings", "spelled"),
    [
        ("ollama", {}, UNCUT),
        ("ollama", {"think": True, "keep_alive": "5m"},
         {**UNCUT, "think": True, "keep_alive": "5m"}),
        ("openai", {"think": True}, {}),  # no template, so nothing that one could read
        ("openai", {"reasoning_effort": "low", "extra_body": {"top_k": 1}},
         {"reasoning_effort": "low", "top_k": 1}),
    ],
)  # fmt: skip
def test_a_raw_prompt_is_told_what_needs_no_template(
    provider: str, settings: dict[str, object], spelled: Mapping[str, object]
) -> None:
    body = sent(provider, prompting="raw", **settings)
    assert {name: body[name] for name in body.keys() & OURS} == spelled


def read(kind: Kind, server: OllamaStandIn | OpenAIStandIn, **settings: object) -> list[Body]:
    """Ask two second readings, and return what of the options was sent with each request."""
    chat = kind.model(server, **settings)
    asked = ReadingQuestion("What?", "reading", {"first_release": "first_release"})
    assert [ask_reading(chat, asked)[0] for _ in range(2)] == ["first_release"] * 2
    names = OURS - UNCUT.keys()
    return [{name: each[name] for name in each.keys() & names} for each in server.chats]


READING = '{"reading": "first_release"}'
NOT_TOLD: dict[str, dict[str, object]] = {
    "ollama": {"think": False},
    "openai": {"chat_template_kwargs": OFF, "reasoning_effort": "none"},
}


@SERVERS
def test_a_second_reading_does_not_think_unless_told_to(kind: Kind) -> None:
    with kind.serve([READING] * 2) as server:
        assert read(kind, server) == [NOT_TOLD[kind.provider]] * 2
    with kind.serve([READING] * 2) as server:
        assert read(kind, server, prompting="raw") == [{}] * 2


@pytest.mark.parametrize(("provider", "settings", "spelled"), [
    ("ollama", {"think": True}, {"think": True}),
    ("ollama", {"reasoning_effort": "low"}, {"think": "low"}),
    ("openai", {"think": True}, {"chat_template_kwargs": dict.fromkeys(OFF, True)}),
    ("openai", {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
])  # fmt: skip
def test_a_second_reading_thinks_as_it_is_told(
    provider: str, settings: dict[str, object], spelled: dict[str, object]
) -> None:
    with KINDS[provider].serve([READING] * 2) as server:
        assert read(KINDS[provider], server, **settings) == [spelled] * 2


@pytest.mark.parametrize(
    "declined", ["chat_template_kwargs", "reasoning_effort", "chat_template_kwargs seed"]
)
def test_what_nobody_told_is_done_without_where_a_server_names_it(declined: str) -> None:
    names = tuple(declined.split())
    with OpenAIStandIn([READING] * 2, declines=names) as server:
        bodies = read(KINDS["openai"], server)
    left = {name: value for name, value in NOT_TOLD["openai"].items() if name not in names}
    assert bodies[0] == NOT_TOLD["openai"]
    assert bodies[len(names) :] == [left] * 2


def test_ollama_is_asked_again_where_it_does_not_know_how_not_to_think() -> None:
    with OllamaStandIn([READING] * 2, fault="thinking", times=1) as server:
        assert read(KINDS["ollama"], server) == [{"think": False}, {}, {}]


@pytest.mark.parametrize("declined", ["keep_alive", "ttl"])
def test_a_server_that_does_not_keep_models_loaded_is_asked_without(declined: str) -> None:
    with OpenAIStandIn(["one", "two"], declines=(declined,)) as server:
        chat = KINDS["openai"].model(server, keep_alive="5m")
        assert [chat.reply(ASKED, GenerationOptions()).content for _ in range(2)] == ["one", "two"]
    assert [declined in each for each in server.chats] == [True, False, False]
    assert all({"keep_alive", "ttl", "seed"} - {declined} <= each.keys() for each in server.chats)


@pytest.mark.parametrize(
    ("provider", "fault"),
    [("ollama", "thinking"), ("ollama", "thinking by degrees"), ("openai", "effort")],
)
def test_what_was_told_and_is_refused_is_an_error_with_its_key(provider: str, fault: str) -> None:
    with (
        KINDS[provider].serve(fault=fault) as server,
        pytest.raises(ChatError, match=r"set llm\.think and llm\.reasoning_effort to what it"),
    ):
        KINDS[provider].model(server, think="medium").reply(ASKED, GenerationOptions())
    assert len(server.chats) == 1


# Calls that nobody asked for. vLLM with --tool-call-parser, llama.cpp with --jinja, LM Studio and
# Ollama take what looks like a call out of the text, though no tools are in the request.

QUERY = {"query": "Killer Queen 東京", "note": 'a "quoted" </tool_call>'}


def function(name: str | None, arguments: str, index: int = 0) -> Body:
    call = {"index": index, "function": {"arguments": arguments}}
    if name:
        call |= {"id": f"chatcmpl-tool-{index}", "type": "function"}
        call["function"] = {"name": name, "arguments": arguments}
    return delta(None, tool_calls=[call])


def streamed(text: str) -> Response:
    """A call in pieces, as vLLM sends it, behind some text; then the beginning of another."""
    arguments = json.dumps(QUERY)
    cut = len(arguments) // 2
    return stream(
        delta(text, role="assistant"), function("web_search", ""),
        function(None, arguments[:cut]), function(None, arguments[cut:]),
        function("web_fetch", '{"url": "https://a.example"}', 1), delta(None, "tool_calls"),
        is_done=True,
    )  # fmt: skip


def whole(text: str) -> Response:
    """A call in one document, as llama.cpp's server sends it."""
    call = {"name": "web_search", "arguments": json.dumps(QUERY)}
    message = {
        "role": "assistant", "content": text or None,
        "tool_calls": [{"type": "function", "id": "x", "function": call}],
    }  # fmt: skip
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return Response(json.dumps({"choices": [choice]}), 200, "application/json")


def lines(text: str) -> Response:
    """A call of Ollama's: whole, with arguments as an object, before the line that ends it."""
    head = {"model": "llama3.2", "created_at": CREATED}
    call = {"function": {"index": 0, "name": "web_search", "arguments": QUERY}}
    said: dict[str, Any] = {"role": "assistant", "content": ""}
    parts = [
        {**head, "message": {**said, "content": text}, "done": False},
        {**head, "message": {**said, "tool_calls": [call]}, "done": False},
        {**head, "message": said, "done": True, "done_reason": "stop", "eval_count": 9},
    ]
    return Response([json.dumps(each).encode() + b"\n" for each in parts], 200)


WORDS = json.dumps(QUERY)
FIRST, LAST = WORDS[:9], WORDS[9:]
FETCH = {"name": "web_fetch", "arguments": '{"url": "https://a.example"}'}


def calling(*pieces: Body) -> Response:
    """A call in pieces; each is an entry of `tool_calls`."""
    said = [delta(None, tool_calls=[piece]) for piece in pieces]
    return stream(*said, delta(None, "tool_calls"), is_done=True)


def piece(arguments: str, name: str | None = None, **more: object) -> Body:
    return {**more, "function": {"arguments": arguments, **({"name": name} if name else {})}}


def old(*pieces: Body) -> Response:
    """The field of 2023, before `tool_calls`."""
    said = [delta(None, function_call=piece) for piece in pieces]
    return stream(*said, delta(None, "function_call"), is_done=True)


def whole_old() -> Response:
    call = {"name": "web_search", "arguments": WORDS}
    message = {"role": "assistant", "content": None, "function_call": call}
    choice = {"index": 0, "message": message, "finish_reason": "function_call"}
    return Response(json.dumps({"choices": [choice]}), 200, "application/json")


SPLIT: dict[str, Any] = {
    # Gemini's endpoint of this format (openai-python#2806, OpenMAIC#1556).
    "no index": calling(piece(WORDS, "web_search", id="a"), {"id": "b", "function": FETCH}),
    "no index, no id": calling(piece(WORDS, "web_search"), {"function": FETCH}),
    "no index, in pieces": calling(piece(FIRST, "web_search", id="a"), piece(LAST)),
    "no index, id with each": calling(
        piece(FIRST, "web_search", id="a"), piece(LAST, "web_search", id="a"),
        {"id": "b", "function": FETCH},
    ),
    # Ollama's /v1 (ollama#15457), LiteLLM; SGLang with the id at each piece (lmdeploy#3412).
    "always index 0": calling(
        piece(WORDS, "web_search", id="a", index=0), {"id": "b", "index": 0, "function": FETCH}
    ),
    "always index 0, in pieces": calling(
        piece(FIRST, "web_search", id="a", index=0), {"id": "b", "index": 0, "function": FETCH},
        piece(LAST, id="a", index=0),
    ),
    # LiteLLM makes up an id for each piece that has none (litellm#11528).
    "another id with each": calling(
        piece(FIRST, "web_search", id="a", index=0), piece(LAST, id="b", index=0)
    ),
    "name with each": calling(*(piece(each, "web_search", index=0) for each in ("", FIRST, LAST))),
    "name with each, no index": calling(*(piece(each, "web_search") for each in (FIRST, LAST, ""))),
    "name that grows": calling(
        piece("", "web", index=0), piece(FIRST, "web_search", index=0), piece(LAST, index=0)
    ),
    "name in pieces": calling(
        piece("", "web_", index=0), piece("", "search", index=0), piece(WORDS, index=0)
    ),
    "always index 0, no id": calling(
        piece(WORDS, "web_search", index=0), {"index": 0, "function": FETCH}
    ),
    "an object": calling({"index": 0, "function": {"name": "web_search", "arguments": QUERY}}),
    "function_call": old({"name": "web_search", "arguments": ""}, *(
        {"arguments": each} for each in (FIRST, LAST)
    )),
    "function_call, whole": whole_old(),
}  # fmt: skip


@pytest.mark.parametrize("answer", SPLIT.values(), ids=SPLIT)
def test_a_call_is_read_from_any_pieces(answer: Response, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPENAI_FAULTS, "calls", lambda *_: answer)
    with OpenAIStandIn(fault="calls") as server:
        content = KINDS["openai"].model(server).reply(ASKED, GenerationOptions()).content
    first, *more = (json.loads(each) for each in content.split("\n")[2::4])
    assert first == {"name": "web_search", "arguments": QUERY}
    assert [each["name"] for each in more] == ["web_fetch"] * ("web_fetch" in content)


CALLS = {"vLLM": ("openai", streamed), "llama.cpp": ("openai", whole), "Ollama": ("ollama", lines)}


@pytest.mark.parametrize("text", ["", "Thought: I look it up."])
@pytest.mark.parametrize(("provider", "answer"), CALLS.values(), ids=CALLS)
def test_a_call_that_arrives_unasked_is_read_as_a_call(
    provider: str, answer: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    rows = FAULTS if provider == "ollama" else OPENAI_FAULTS
    monkeypatch.setitem(rows, "calls", lambda *_: answer(text))
    with KINDS[provider].serve(fault="calls") as server:
        chat = KINDS[provider].model(server)
        reply = chat.reply(ASKED, GenerationOptions(on_token=heard.append))
    assert "".join(heard) == reply.content
    for dialect in (Classic(), Pause(), Xml()):
        step = dialect.parse(reply.content)
        assert isinstance(step, ToolCall)
        assert (step.tool, step.arguments) == ("web_search", QUERY)
        assert step.thought == text.removeprefix("Thought: ")


def test_the_tool_of_such_a_call_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def web_search(query: str, note: str) -> str:
        """Search."""
        return f"{query}: 1974 {note[:1]}"

    monkeypatch.setitem(FAULTS, "calls", lambda *_: lines(""))
    with OllamaStandIn(["Final Answer: 1974"], fault="calls", times=1) as server:
        ending = converse(
            KINDS["ollama"].model(server), Classic(), Toolbox([Tool.of(web_search)]),
            Task(ASKED, lambda answer, _: answer),
        )  # fmt: skip
        shown = server.chats[1]["messages"][-1]["content"]
    assert ending.answer == "1974"
    assert "Killer Queen 東京: 1974" in shown


def test_a_refusal_that_quotes_an_option_names_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = error(400, "Unrecognized request argument supplied: top_k")
    monkeypatch.setitem(OPENAI_FAULTS, "strict", lambda *_: refusal)
    with (
        OpenAIStandIn(fault="strict") as server,
        pytest.raises(ChatError, match=r"other options such as llm\.extra_body"),
    ):
        KINDS["openai"].model(server, extra_body={"top_k": 3}).reply(ASKED, GenerationOptions())
