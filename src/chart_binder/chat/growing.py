"""A conversation as one text that the model goes on writing.

The system prompt, the evidence, the turns and their observations follow each other as they are,
each with an empty line after it: the dialect has put a label on every step and observation. A
message changes nothing of what stands before it, so each text begins with the one of the turn
before, which is what a server's prompt cache asks for.
"""

from collections.abc import Sequence

from chart_binder.react.conversation import Message


def growing_text(messages: Sequence[Message]) -> str:
    """Return the conversation up to where the model goes on, at the beginning of a line."""
    return "".join(f"{message.content.rstrip()}\n\n" for message in messages)
