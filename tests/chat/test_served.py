"""What holds for a model behind any kind of server.

It ends a reply at a stop string whatever the server does, and does not leave the server writing.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest

from chart_binder.react.conversation import ChatError, Message, Terms
from servers.kinds import KINDS, Kind
from servers.talk import Said

STOP = ("\nObservation:", "\n観察:")
ASKED = (Message("system", "You decide."), Message("user", "Which album?"))
WAYS = pytest.mark.parametrize("prompting", ["chat", "raw"])
SERVERS = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
FAULTS = [(kind, fault) for kind in KINDS.values() for fault in kind.faults]


@SERVERS
@WAYS
def test_a_server_that_ignores_stop_is_hung_up_on(kind: Kind, prompting: str) -> None:
    invented = Said("Action: web_search\nObservation: it is C1", goes_on="\nand so on ")
    with kind.serve([invented], obeys_stop=False) as server:
        reply = kind.model(server, prompting=prompting).reply(ASKED, Terms(STOP))
        assert server.hung_up.wait(5)  # it would go on for ever
    assert (reply.content, reply.done_reason) == ("Action: web_search", "stop")


@SERVERS
@WAYS
@pytest.mark.parametrize("streamed", [True, False])
def test_a_stop_string_is_kept_to_streamed_or_not(
    kind: Kind, prompting: str, streamed: bool
) -> None:
    with kind.serve(["Action: web_search\n観察: C1"], obeys_stop=False) as server:
        chat = kind.model(server, prompting=prompting, stream=streamed)
        assert chat.reply(ASKED, Terms(STOP)).content == "Action: web_search"
        assert bool(server.chats[0]["stream"]) is streamed


@SERVERS
@WAYS
def test_a_listener_hears_the_reply_piece_by_piece(kind: Kind, prompting: str) -> None:
    heard: list[str] = []
    said = Said("Thought: hm\nAction: x\nObserve this\nObservation: 1", thinking="secretly")
    with kind.serve([said], obeys_stop=False) as server:
        chat = kind.model(server, prompting=prompting)
        reply = chat.reply(ASKED, Terms(STOP, listen=heard.append))
    assert "".join(heard) == reply.content == "Thought: hm\nAction: x\nObserve this"
    assert len(heard) > 8
    assert all(heard)


@SERVERS
def test_a_listener_hears_a_whole_reply_at_once(kind: Kind) -> None:
    heard: list[str] = []
    with kind.serve(["Thought: hm"]) as server:
        kind.model(server, stream=False).reply(ASKED, Terms(STOP, listen=heard.append))
    assert heard == ["Thought: hm"]


@SERVERS
def test_a_listener_that_fails_is_no_fault_of_the_server(kind: Kind) -> None:
    def listen(piece: str) -> None:
        raise BrokenPipeError(piece)

    with kind.serve([Said("x", goes_on="y")]) as server:
        with pytest.raises(BrokenPipeError, match=r"^x$"):
            kind.model(server).reply(ASKED, Terms(STOP, listen=listen))
        assert server.hung_up.wait(5)


@SERVERS
@pytest.mark.parametrize("seconds", [0.2, 0.0])
def test_a_reply_has_no_more_time_than_its_terms_give(kind: Kind, seconds: float) -> None:
    began = monotonic()
    with (
        kind.serve(fault="slow") as server,
        pytest.raises(ChatError, match=rf"did not finish .* within {seconds:g} s"),
    ):
        kind.model(server).reply(ASKED, Terms(STOP, seconds=seconds))
    assert monotonic() - began < 2


@SERVERS
def test_a_prompt_that_grows_begins_with_the_one_before(kind: Kind) -> None:
    turn = (Message("assistant", "Action: x "), Message("tool", "Observation: 1\n"))
    with kind.serve(["one", "two"]) as server:
        chat = kind.model(server, prompting="raw")
        chat.reply(ASKED, Terms(STOP))
        chat.reply((*ASKED, *turn), Terms(STOP))
        first, second = (each["prompt"] for each in server.chats)
    assert first == "You decide.\n\nWhich album?\n\n"
    assert second == f"{first}Action: x\n\nObservation: 1\n\n"


@pytest.mark.parametrize("changes", [{"stream": False}, {"prompting": "raw"}])
@pytest.mark.parametrize(
    ("kind", "fault"), FAULTS, ids=lambda each: getattr(each, "provider", each)
)
def test_no_fault_is_anything_but_a_chat_error(
    kind: Kind, fault: str, changes: dict[str, object]
) -> None:
    with kind.serve(["never"], fault=fault) as server, pytest.raises(ChatError) as refused:
        kind.model(server, timeout_s=0.3, **changes).reply(ASKED, Terms(STOP))
    assert "\n" not in str(refused.value)


@SERVERS
@pytest.mark.parametrize(("fault", "times"), [("503", 1), ("503", 2), ("hangs up", 2)])
def test_a_passing_fault_is_met_by_asking_again(kind: Kind, fault: str, times: int) -> None:
    with kind.serve(["well"], fault=fault, times=times) as server:
        assert kind.model(server).reply(ASKED, Terms(STOP)).content == "well"
    assert len(server.chats) == times + 1
    assert all(each == server.chats[0] for each in server.chats)


@SERVERS
def test_tries_stay_within_the_one_deadline(kind: Kind) -> None:
    with kind.serve(fault="503") as server, pytest.raises(ChatError, match="busy"):
        kind.model(server, timeout_s=0.3).reply(ASKED, Terms(STOP))
    assert len(server.chats) < 3


@SERVERS
def test_text_that_utf8_cannot_hold_is_replaced(kind: Kind) -> None:
    with kind.serve(["well"]) as server:
        kind.model(server).reply([Message("user", "caf\udce9")], Terms(STOP))
    assert server.chats[0]["messages"][0]["content"] == "caf?"


@SERVERS
def test_a_message_without_content_is_never_sent(kind: Kind) -> None:
    with kind.serve(["well"]) as server:
        kind.model(server).reply((*ASKED, Message("assistant", "")), Terms(STOP))
    assert [each["role"] for each in server.chats[0]["messages"]] == ["system", "user"]


@SERVERS
def test_a_reply_that_ran_out_of_tokens_says_so(kind: Kind) -> None:
    with kind.serve(["a" * 1_000]) as server:
        reply = kind.model(server, max_tokens=64).reply(ASKED, Terms(STOP))
    assert (reply.done_reason, len(reply.content)) == ("length", 192)


@SERVERS
def test_a_model_that_only_thinks_needs_more_tokens(kind: Kind) -> None:
    with kind.serve([Said("", thinking="hm"), Said("", thinking="hm " * 500)]) as server:
        chat = kind.model(server, max_tokens=64)
        with pytest.raises(ChatError, match="answered with nothing, though it was thinking"):
            chat.reply(ASKED, Terms(STOP))
        with pytest.raises(ChatError, match=r"spent all its tokens .*: raise llm\.max_tokens"):
            chat.reply(ASKED, Terms(STOP))


@SERVERS
def test_threads_share_a_model(kind: Kind) -> None:
    with kind.serve(lambda messages: messages[-1]["content"]) as server:
        chat = kind.model(server)
        with ThreadPoolExecutor(8) as pool:
            questions = [f"question {number}" for number in range(24)]
            replies = pool.map(lambda text: chat.reply([Message("user", text)], Terms()), questions)
            assert [reply.content for reply in replies] == questions


@SERVERS
def test_connecting_loads_no_library_and_opens_no_socket(kind: Kind) -> None:
    program = f"""
import sys
heard = []
sys.addaudithook(lambda event, _: event.startswith("socket.") and heard.append(event))
from chart_binder.chat.{kind.provider} import connect
from chart_binder.config import LLMConfig
assert connect(LLMConfig()).model_id == "llama3.2"
print(heard, {{"ollama", "httpx", "ssl", "msgspec"}} & set(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[] set()\n", "")
