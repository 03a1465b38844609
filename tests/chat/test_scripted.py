"""A model that says what it was told to say."""

import pytest

from chart_binder.chat.scripted import Scripted
from chart_binder.react.conversation import ChatError, ChatModel, Message, Reply, Terms

ASKED = [Message("user", "Which album?")]


def test_replies_come_in_order_as_they_are_given() -> None:
    second = Reply("two", thinking="hm", done_reason="length", prompt_tokens=5)
    chat: ChatModel = Scripted(["one\nObservation: invented", second], model_id="canned")
    assert chat.model_id == "canned"
    assert chat.reply(ASKED, Terms(("Observation:",))) == Reply("one\nObservation: invented")
    assert chat.reply(ASKED, Terms()) == second


def test_a_script_that_has_come_to_its_end_says_so() -> None:
    chat = Scripted(["one"])
    chat.reply(ASKED, Terms())
    with pytest.raises(ChatError, match=r"script has 1 replies .* asks for one more"):
        chat.reply(ASKED, Terms())


def test_conversations_are_remembered_as_they_were() -> None:
    chat = Scripted(["one", "two"])
    growing = list(ASKED)
    chat.reply(growing, Terms())
    growing.append(Message("assistant", "one"))
    chat.reply(growing, Terms())
    assert chat.asked == [tuple(ASKED), tuple(growing)]
