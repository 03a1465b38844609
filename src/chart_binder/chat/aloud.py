"""A model whose thinking was ended by a stop string is asked once more, without any."""

from collections.abc import Callable

from chart_binder.react.conversation import ChatError, Reply
from chart_binder.react.reading.thinking import spoken


class UnsaidError(ChatError):
    """A model stopped before it had said a word, though it was thinking."""


def aloud(ask: Callable[[tuple[str, ...]], Reply], stop: tuple[str, ...]) -> Reply:
    """Return what `ask` returns, told the stop strings to send; raise `ChatError` as it does.

    A model that thinks about its format writes the very words that are to end its turn, and a
    server looks for them in the thinking, too.
    """
    try:
        reply = ask(stop)
    except UnsaidError:
        if not stop:
            raise
        return ask(())
    if not (stop and reply.done_reason == "stop" and spoken(reply.content).unclosed):
        return reply
    try:
        return ask(())
    except ChatError:  # half a thought is better than none: the model is told what to write
        return reply
