"""A reply ends at a stop string whatever its server does, and the server is not left writing."""

from collections.abc import Callable, Mapping
from time import monotonic

import pytest

from chart_binder.chat import ollama, openai
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatError, ChatModel, Message, Terms
from servers.ollama import OllamaStandIn
from servers.openai import OpenAIStandIn
from servers.talk import Said

Kind = tuple[Callable[..., OllamaStandIn | OpenAIStandIn], Callable[..., ChatModel]]

STOP = ("\nObservation:", "\n観察:")
ASKED = (Message("system", "You decide."), Message("user", "Which album?"))
KINDS: Mapping[str, Kind] = {
    "ollama": (OllamaStandIn, ollama.connect),
    "openai": (OpenAIStandIn, openai.connect),
}
WAYS = pytest.mark.parametrize("prompting", ["chat", "raw"])
SERVERS = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def model(kind: Kind, server: OllamaStandIn | OpenAIStandIn, **changes: object) -> ChatModel:
    settings = {"base_url": server.url, "timeout_s": 5.0, **changes}
    return kind[1](LLMConfig.model_validate(settings), {})


@SERVERS
@WAYS
def test_a_server_that_ignores_stop_is_hung_up_on(kind: Kind, prompting: str) -> None:
    invented = Said("Action: web_search\nObservation: it is C1", goes_on="\nand so on ")
    with kind[0]([invented], obeys_stop=False) as server:
        reply = model(kind, server, prompting=prompting).reply(ASKED, Terms(STOP))
        assert server.hung_up.wait(5)  # it would go on for ever
    assert (reply.content, reply.done_reason) == ("Action: web_search", "stop")


@SERVERS
@WAYS
@pytest.mark.parametrize("streamed", [True, False])
def test_a_stop_string_is_kept_to_streamed_or_not(
    kind: Kind, prompting: str, streamed: bool
) -> None:
    with kind[0](["Action: web_search\n観察: C1"], obeys_stop=False) as server:
        chat = model(kind, server, prompting=prompting, stream=streamed)
        assert chat.reply(ASKED, Terms(STOP)).content == "Action: web_search"
        assert bool(server.chats[0]["stream"]) is streamed


@SERVERS
@WAYS
def test_a_listener_hears_the_reply_piece_by_piece(kind: Kind, prompting: str) -> None:
    heard: list[str] = []
    said = Said("Thought: hm\nAction: x\nObserve this\nObservation: 1", thinking="secretly")
    with kind[0]([said], obeys_stop=False) as server:
        chat = model(kind, server, prompting=prompting)
        reply = chat.reply(ASKED, Terms(STOP, listen=heard.append))
    assert "".join(heard) == reply.content == "Thought: hm\nAction: x\nObserve this"
    assert len(heard) > 8
    assert all(heard)


@SERVERS
def test_a_listener_hears_a_whole_reply_at_once(kind: Kind) -> None:
    heard: list[str] = []
    with kind[0](["Thought: hm"]) as server:
        model(kind, server, stream=False).reply(ASKED, Terms(STOP, listen=heard.append))
    assert heard == ["Thought: hm"]


@SERVERS
def test_a_listener_that_fails_is_no_fault_of_the_server(kind: Kind) -> None:
    def listen(piece: str) -> None:
        raise BrokenPipeError(piece)

    with kind[0]([Said("x", goes_on="y")]) as server:
        with pytest.raises(BrokenPipeError, match=r"^x$"):
            model(kind, server).reply(ASKED, Terms(STOP, listen=listen))
        assert server.hung_up.wait(5)


@SERVERS
@pytest.mark.parametrize("seconds", [0.2, 0.0])
def test_a_reply_has_no_more_time_than_its_terms_give(kind: Kind, seconds: float) -> None:
    began = monotonic()
    with (
        kind[0](fault="slow") as server,
        pytest.raises(ChatError, match=rf"did not finish .* within {seconds:g} s"),
    ):
        model(kind, server).reply(ASKED, Terms(STOP, seconds=seconds))
    assert monotonic() - began < 2


@SERVERS
def test_a_prompt_that_grows_begins_with_the_one_before(kind: Kind) -> None:
    turn = (Message("assistant", "Action: x "), Message("tool", "Observation: 1\n"))
    with kind[0](["one", "two"]) as server:
        chat = model(kind, server, prompting="raw")
        chat.reply(ASKED, Terms(STOP))
        chat.reply((*ASKED, *turn), Terms(STOP))
        first, second = (each["prompt"] for each in server.chats)
    assert first == "You decide.\n\nWhich album?\n\n"
    assert second == f"{first}Action: x\n\nObservation: 1\n\n"
