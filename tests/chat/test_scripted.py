"""A model that says what it was told to say."""

import pytest

from chart_binder.chat.scripted import Scripted
from chart_binder.react.conversation import ChatError, Message, Reply, Terms

ASKED = [Message("user", "Which album?")]


def test_replies_come_in_order_and_conversations_are_remembered_as_they_were() -> None:
    second = Reply("two", thinking="hm", done_reason="length", prompt_tokens=5)
    chat = Scripted(["one\nObservation: invented", second], model_id="canned")
    assert chat.model_id == "canned"
    growing = list(ASKED)
    assert chat.reply(growing, Terms(("Observation:",))) == Reply("one\nObservation: invented")
    growing.append(Message("assistant", "one"))
    assert chat.reply(growing, Terms()) == second
    assert chat.asked == [tuple(ASKED), tuple(growing)]
    with pytest.raises(ChatError, match=r"script has 2 replies .* asks for one more"):
        chat.reply(ASKED, Terms())
