"""A step that a reply broke off in, for want of tokens, is none."""

from dataclasses import replace
from typing import Final

from chart_binder.react.conversation import Reply
from chart_binder.react.dialect import Dialect
from chart_binder.react.dialects.writing import same
from chart_binder.react.json.lenient import read_json
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.steps import Act, Finish, Malformed, Step

_ADVICE: Final = "Your reply was cut off because it was too long"
_MORE: Final = "x0"  # no dialect's word, and in no JSON outside a string


def whole_step(step: Step, reply: Reply, dialect: Dialect) -> Step:
    """Return the step of a reply, `Malformed` where the token limit cut it in the middle.

    What could have gone on is cut: bare text at the end of the reply, an object that had to be
    closed. What follows a whole step may be cut as it likes.
    """
    if reply.done_reason != "length":
        return step
    if isinstance(step, Malformed):
        return replace(step, advice=f"{_ADVICE}: be brief. {step.advice}")
    if _is_open(step, reply.content, dialect):
        which = "call" if isinstance(step, Act) else "answer"
        advice = f"{_ADVICE}, in the middle of your {which}: be brief, and write it again, whole."
        return Malformed(advice, step.notes)
    return step


def _is_open(step: Act | Finish, text: str, dialect: Dialect) -> bool:
    """Tell whether a step would be another one with more letters after it."""
    if same(dialect.parse(text + _MORE), step):
        return False
    return isinstance(step, Act) or _object(step.answer) != _object(step.answer + _MORE)


def _object(answer: str) -> object:
    """Return the JSON object in an answer, else the answer."""
    try:
        return read_json(answer)[0]
    except LenientJSONError:
        return answer
