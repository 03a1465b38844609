"""What holds for a model behind any kind of server."""

import re
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest

from chart_binder.config import LLMConfig
from chart_binder.llm.second_reading import ReadingQuestion, ask_reading
from chart_binder.react.conversation import ChatError, GenerationOptions, Message
from chart_binder.react.dialect import Classic
from chart_binder.react.loop import FinalRequest, Limits, Task, converse
from chart_binder.react.tools import Toolbox
from servers.http import Response
from servers.kinds import KINDS, Kind
from servers.talk import Said

STOP = ("\nObservation:", "\n観察:")
CALL = 'Thought: hm\nAction: web_search\nAction Input: {"query": "K"}'
ANSWER = "Final Answer: C1"
THINKING = "<think>\nI must write\nObservation: x\n</think>"
ASKED = (Message("system", "You decide."), Message("user", "Which album?"))
WAYS = pytest.mark.parametrize("prompting", ["chat", "raw"])
SERVERS = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
FAULTS = [(kind, fault) for kind in KINDS.values() for fault in kind.faults]


@SERVERS
@WAYS
@pytest.mark.parametrize("streamed", [True, False])
def test_a_reply_has_its_counts_and_its_time(kind: Kind, prompting: str, streamed: bool) -> None:
    with kind.serve(["Thought: look it up.\nAction: web_search"]) as server:
        reply = kind.model(server, stream=streamed, prompting=prompting).reply(
            ASKED, GenerationOptions(STOP)
        )
    assert reply.content == "Thought: look it up.\nAction: web_search"
    assert (reply.done_reason, reply.thinking) == ("stop", None)
    assert (reply.prompt_tokens, reply.completion_tokens) == (15 if prompting == "chat" else 13, 13)
    assert 0 < reply.seconds < 5


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("provider", "more"),
    [("ollama", {}), *(("openai", {"thinks_in": f"reasoning{end}"}) for end in ("_content", ""))],
)
def test_thinking_is_no_content(provider: str, more: dict[str, str], streamed: bool) -> None:
    said = Said("Final Answer: 1", thinking="Observation: is it 1?")
    with KINDS[provider].serve([said], **more) as server:
        reply = KINDS[provider].model(server, stream=streamed).reply(ASKED, GenerationOptions(STOP))
    assert (reply.content, reply.thinking) == ("Final Answer: 1", "Observation: is it 1?")


@SERVERS
def test_messages_and_the_configured_key_are_sent(kind: Kind) -> None:
    with kind.serve(["well"]) as server:
        config = LLMConfig(base_url=server.url, api_key_env="MY_KEY")
        kind.connect(config, {"MY_KEY": "s3cret\n"}).reply(ASKED, GenerationOptions(STOP))
    sent = [(each["role"], each["content"]) for each in server.chats[0]["messages"]]
    assert sent == [(each.role, each.content) for each in ASKED]
    assert server.requests[0].headers["authorization"] == "Bearer s3cret"


@SERVERS
def test_a_prompt_that_cannot_fit_the_context_is_not_sent(kind: Kind) -> None:
    long = Message("user", "0383dadf-2a4e-4d10 " * 400)
    with kind.serve() as server, pytest.raises(ChatError, match=r"raise llm\.num_ctx"):
        kind.model(server, num_ctx=2_048).reply([long], GenerationOptions(STOP))
    assert not server.requests


@SERVERS
@pytest.mark.parametrize("streamed", [True, False])
def test_thinking_that_a_stop_string_ended_is_asked_for_again(kind: Kind, streamed: bool) -> None:
    text = f"{THINKING}\n{ANSWER}"
    with kind.serve([text, text, Said("", thinking="hm"), text]) as server:
        chat = kind.model(server, stream=streamed)
        assert [chat.reply(ASKED, GenerationOptions(STOP)).content for _ in range(2)] == [
            text,
            text,
        ]
        sent = [str(each) for each in server.chats]
    assert [STOP[1].strip() in each for each in sent] == [True, False, True, False]


@SERVERS
def test_half_a_thought_is_better_than_none(kind: Kind) -> None:
    with kind.serve([THINKING]) as server:
        reply = kind.model(server).reply(ASKED, GenerationOptions(STOP))
        assert len(server.chats) == 2
    assert reply.content == THINKING.partition(STOP[0])[0]


@SERVERS
@WAYS
def test_a_listener_hears_the_reply_piece_by_piece(kind: Kind, prompting: str) -> None:
    heard: list[str] = []
    said = Said(f"Thought: hm\n{'look ' * 20}\nObserve this", thinking="secretly")
    with kind.serve([said]) as server:
        chat = kind.model(server, prompting=prompting)
        reply = chat.reply(ASKED, GenerationOptions(STOP, on_token=heard.append))
    assert "".join(heard) == reply.content == said.content
    assert len(heard) > 8
    assert all(heard)
    heard.clear()
    with kind.serve([said]) as server:
        chat = kind.model(server, prompting=prompting, stream=False)
        chat.reply(ASKED, GenerationOptions(STOP, on_token=heard.append))
    assert heard == [said.content], "what comes whole is heard at once"


@SERVERS
def test_a_listener_that_fails_is_no_fault_of_the_server(kind: Kind) -> None:
    def listen(piece: str) -> None:
        raise BrokenPipeError(piece)

    with kind.serve([Said("x", goes_on="\ny")]) as server:
        with pytest.raises(BrokenPipeError, match=r"^x$"):
            kind.model(server).reply(ASKED, GenerationOptions(STOP, on_token=listen))
        assert server.hung_up.wait(5)


@SERVERS
@pytest.mark.parametrize("seconds", [0.2, 0.0])
def test_a_reply_has_no_more_time_than_its_terms_give(kind: Kind, seconds: float) -> None:
    began = monotonic()
    with (
        kind.serve(fault="slow") as server,
        pytest.raises(ChatError, match=rf"did not finish .* within {seconds:g} s"),
    ):
        kind.model(server).reply(ASKED, GenerationOptions(STOP, seconds=seconds))
    assert monotonic() - began < 2


@SERVERS
def test_a_prompt_that_grows_begins_with_the_one_before(kind: Kind) -> None:
    turn = (Message("assistant", "Action: x "), Message("tool", "Observation: 1\n"))
    with kind.serve(["one", "two"]) as server:
        chat = kind.model(server, prompting="raw")
        chat.reply(ASKED, GenerationOptions(STOP))
        chat.reply((*ASKED, *turn), GenerationOptions(STOP))
        first, second = (each["prompt"] for each in server.chats)
    assert first == "You decide.\n\nWhich album?\n\n"
    assert second == f"{first}Action: x\n\nObservation: 1\n\n"


@SERVERS
@pytest.mark.parametrize(("fault", "times"), [("503", 1), ("503", 2), ("429", 2), ("hangs up", 2)])
def test_a_passing_fault_is_met_by_asking_again(kind: Kind, fault: str, times: int) -> None:
    with kind.serve(["well"], fault=fault, times=times) as server:
        assert kind.model(server).reply(ASKED, GenerationOptions(STOP)).content == "well"
    assert len(server.chats) == times + 1
    assert all(each == server.chats[0] for each in server.chats)


LOADING = {"ollama": "loading, 500", "openai": "503"}


@SERVERS
def test_a_model_that_is_loading_is_waited_for_with_a_line_that_says_so(
    kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    with kind.serve(["well"], fault=LOADING[kind.provider], times=4) as server:
        chat = kind.model(server, timeout_s=20.0)
        assert chat.reply(ASKED, GenerationOptions(STOP)).content == "well"
    assert len(server.chats) == 5
    (line,) = caplog.messages
    assert re.match(r"waiting for (19|20) s at most: .* still loading model 'llama3\.2'", line)


@SERVERS
def test_a_model_that_never_loads_is_waited_for_in_time(kind: Kind) -> None:
    began = monotonic()
    with (
        kind.serve(fault=LOADING[kind.provider]) as server,
        pytest.raises(ChatError, match=r"wait until it is, or raise llm\.timeout_s"),
    ):
        kind.model(server, timeout_s=3.0).reply(ASKED, GenerationOptions(STOP))
    assert 1.9 < monotonic() - began < 3.2
    assert len(server.chats) >= 4


@SERVERS
@pytest.mark.parametrize(("status", "streamed"), [(429, True), (503, False)])
def test_a_server_is_left_alone_for_as_long_as_it_asks(
    kind: Kind, status: int, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = Response("{}", status, "application/json", headers=(("Retry-After", "1"),))
    monkeypatch.setitem(kind.rows, "busy", lambda *_: busy)
    began = monotonic()
    with kind.serve(["well"], fault="busy", times=1) as server:
        assert (
            kind.model(server, stream=streamed).reply(ASKED, GenerationOptions(STOP)).content
            == "well"
        )
    assert monotonic() - began >= 1.0


@SERVERS
def test_text_that_utf8_cannot_hold_is_replaced_and_nothing_empty_is_sent(kind: Kind) -> None:
    with kind.serve(["well"]) as server:
        said = [Message("user", "caf\udce9"), Message("assistant", "")]
        kind.model(server).reply(said, GenerationOptions(STOP))
    assert [each["content"] for each in server.chats[0]["messages"]] == ["caf?"]


@SERVERS
def test_a_reply_that_ran_out_of_tokens_says_so(kind: Kind) -> None:
    with kind.serve(["a" * 1_000]) as server:
        reply = kind.model(server, max_tokens=64).reply(ASKED, GenerationOptions(STOP))
    assert (reply.done_reason, len(reply.content)) == ("length", 192)


@SERVERS
def test_a_model_that_only_thinks_has_given_no_reply(kind: Kind) -> None:
    silent = Said("", thinking="hm")
    with kind.serve([silent, silent]) as server, pytest.raises(ChatError) as refused:
        kind.model(server).reply(ASKED, GenerationOptions(STOP))
    assert "answered with nothing, though it was thinking" in str(refused.value)


@SERVERS
@pytest.mark.parametrize("streamed", [True, False])
def test_one_that_thought_for_too_long_costs_a_turn(kind: Kind, streamed: bool) -> None:
    with kind.serve([Said("", thinking="hm " * 500), ANSWER]) as server:
        chat = kind.model(server, max_tokens=64, stream=streamed)
        ending = converse(
            chat, Classic(), Toolbox([]), Task(ASKED, lambda text, _: text),
        )  # fmt: skip
        last = server.chats[1]["messages"][-1]["content"]
    assert (ending.answer, ending.iterations) == ("C1", 2)
    assert "Your reply was cut off because it was too long" in last


# LM Studio with Qwen 3.5 (lmstudio-bug-tracker#1698, #1773), Ollama with qwen3-next (harper#1805),
# vLLM 0.23.1 (vllm#48863): the object of a schema stands in the thinking, and the content is empty.
SCHEMA = {"type": "object", "properties": {"answer": {"enum": ["C1", "C2"]}}}


@pytest.mark.parametrize(
    ("provider", "prompting"), [("ollama", "chat"), ("ollama", "raw"), ("openai", "chat")]
)
@pytest.mark.parametrize("streamed", [True, False])
def test_what_was_written_by_schema_into_the_thinking_is_asked_for_without(
    provider: str, prompting: str, streamed: bool
) -> None:
    kind = KINDS[provider]
    said = '{"answer": "C1"}'
    with kind.serve([said] * 5, thinks_by_schema=True) as server:
        chat = kind.model(server, prompting=prompting, stream=streamed)
        for _ in range(2):
            assert chat.reply(ASKED, GenerationOptions(STOP, SCHEMA)).content == said
        field = "format" if kind.provider == "ollama" else "response_format"
        assert [field in each for each in server.chats] == [True, False, False]


@SERVERS
def test_such_a_server_gets_no_schema_when_a_stop_string_ended_the_thinking(kind: Kind) -> None:
    said, text = '{"answer": "C1"}', f"{THINKING}\n{ANSWER}"
    with kind.serve([said, said, text, text], thinks_by_schema=True) as server:
        chat = kind.model(server)
        contents = [chat.reply(ASKED, GenerationOptions(STOP, SCHEMA)).content for _ in range(2)]
    assert contents == [said, text]


@SERVERS
def test_thinking_that_is_no_object_says_nothing_about_schemas(kind: Kind) -> None:
    with kind.serve([Said("", thinking="hm"), "C1", "C2"]) as server:
        chat = kind.model(server)
        contents = [chat.reply(ASKED, GenerationOptions(STOP, SCHEMA)).content for _ in range(2)]
        field = "format" if kind.provider == "ollama" else "response_format"
        assert [field in each for each in server.chats] == [True, False, True]
    assert contents == ["C1", "C2"]


@SERVERS
def test_the_last_turn_and_a_second_reading_are_asked_again(kind: Kind) -> None:
    with kind.serve(['{"crg": "C1"}'] * 2, thinks_by_schema=True) as server:
        ending = converse(
            kind.model(server), Classic(), Toolbox([]),
            Task(
                ASKED, lambda answer, _: answer, ("crg",),
                final_request=lambda: FinalRequest("Answer.", SCHEMA),
            ),
            limits=Limits(iterations=1),
        )  # fmt: skip
    assert ending.answer == '{"crg": "C1"}'
    with kind.serve(['{"reading": "first_release"}'] * 2, thinks_by_schema=True) as server:
        asked = ReadingQuestion("What?", "reading", {"first_release": "first_release"})
        assert ask_reading(kind.model(server), asked)[0] == "first_release"


@SERVERS
def test_threads_share_a_model(kind: Kind) -> None:
    with kind.serve(lambda messages: messages[-1]["content"]) as server:
        chat = kind.model(server)
        with ThreadPoolExecutor(8) as pool:
            questions = [f"question {number}" for number in range(24)]
            replies = pool.map(
                lambda text: chat.reply([Message("user", text)], GenerationOptions()), questions
            )
            assert [reply.content for reply in replies] == questions


LONG = (Message("system", "rules " * 100), Message("user", "0383dadf-2a4e-4d10 " * 400))
OF_2048 = {
    "/v1/models": {"data": [{"id": "llama3.2", "max_model_len": 2_048}]},
    "/props": {"default_generation_settings": {"n_ctx": 2_048}},
    "/api/ps": {"models": [{"name": "llama3.2:latest", "context_length": 2_048}]},
    "/api/v0/models": {"data": [{"id": "llama3.2", "loaded_context_length": 2_048}]},
}
"""Where servers of OpenAI's format tell the context of a model."""


@pytest.mark.parametrize(
    ("provider", "said", "server", "sentence"),
    [
        ("ollama", Said("well"), {"allotted": 2_048}, r"1026 tokens \(it has 2048\).*raise"),
        *(
            ("openai", Said("well"), {"window": 2_048, "tells": {place: told}},
             r"1026 tokens \(it has 2048\).*set")
            for place, told in OF_2048.items()
        ),
        # One that does not tell its context is not believed.
        ("ollama", Said("well", prompt_tokens=9), {"fault": "500", "on": ("/api/ps",)}, "9 tokens"),
        ("openai", Said("well", prompt_tokens=9), {}, "9 tokens, where"),
    ],
)  # fmt: skip
def test_a_prompt_that_a_server_cut_is_noticed(
    provider: str, said: Said, server: dict[str, object], sentence: str
) -> None:
    with (
        KINDS[provider].serve([said], **server) as stand_in,
        pytest.raises(ChatError, match=rf"cut the prompt .* to {sentence}"),
    ):
        KINDS[provider].model(stand_in).reply(LONG, GenerationOptions(STOP))


def test_a_few_tokens_prove_no_cut_where_the_context_is_large_or_the_prompt_short() -> None:
    told = {"/props": {"default_generation_settings": {"n_ctx": 16_384}}}
    few = Said("well", prompt_tokens=9)
    with KINDS["openai"].serve([few, few], tells=told) as server:
        chat = KINDS["openai"].model(server)
        assert chat.reply(LONG, GenerationOptions(STOP)).prompt_tokens == 9
        asked = len(server.requests)
        assert chat.reply(ASKED[1:], GenerationOptions(STOP)).content == "well"
        assert len(server.requests) == asked + 1, "of a short prompt nothing is asked"
