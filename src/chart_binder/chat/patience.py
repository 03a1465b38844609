"""A fault that passes is met by asking again, a few times, before the deadline."""

from collections.abc import Callable
from time import sleep

from chart_binder.chat.deadline import Deadline
from chart_binder.react.conversation import ChatError, Reply

PAUSES_S = (0.1, 0.4)  # before the second try and before the third


class PassingError(ChatError):
    """A fault that may be gone in a moment, met before anything of a reply had come.

    `after_s` is how long its server asks to wait, in seconds.
    """

    def __init__(self, problem: str, after_s: float = 0.0) -> None:
        super().__init__(problem)
        self.after_s = after_s


def patiently(ask: Callable[[], Reply], deadline: Deadline) -> Reply:
    """Return what `ask` returns; its third `PassingError` is final, and any other `ChatError`."""
    for pause_s in PAUSES_S:
        try:
            return ask()
        except PassingError as error:
            wait_s = max(pause_s, error.after_s)
            if deadline.left <= wait_s:
                raise
            sleep(wait_s)
    return ask()
