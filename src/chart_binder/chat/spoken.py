"""Messages as any server takes them."""

from collections.abc import Sequence
from dataclasses import replace

from chart_binder.react.conversation import Message


def speakable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages that say something, in text that UTF-8 can hold.

    Lone surrogates, as file names and broken pages hold them, are replaced. A message without
    content would be sent without the field by some libraries, and be refused by some servers.
    """
    return tuple(
        replace(message, content=message.content.encode("utf-8", "replace").decode())
        for message in messages
        if message.content
    )
