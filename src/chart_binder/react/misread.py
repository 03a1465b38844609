"""Whether a text from outside would be a step, were it what a model replied."""

from typing import Final

from chart_binder.react.reading.advice import Wording
from chart_binder.react.reading.manner import Manner
from chart_binder.react.reading.reply import read_reply
from chart_binder.react.steps import Act, Finish

_ANY: Final = Manner("any", Wording("call", "answer", "observation", "call", "call", "answer"))


def is_step(text: str) -> bool:
    """Tell whether a reply of these words would be a call or an answer."""
    return isinstance(read_reply(text, _ANY), Act | Finish)
