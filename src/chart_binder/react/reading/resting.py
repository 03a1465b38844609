"""No answer counts that rests on what the model made up, or that it just passes on."""

import re
from dataclasses import replace
from typing import Final

from chart_binder.react.reading.advice import Defect
from chart_binder.react.reading.calls import Taken
from chart_binder.react.reading.live import Script
from chart_binder.react.reading.near import lowered
from chart_binder.react.reading.own_words import is_passed_on
from chart_binder.react.reading.unlabelled import first_call
from chart_binder.react.steps import Finish

# In small letters.
_OBSERVED_KEY: Final = re.compile(
    r"[\"'“](?:observations?|obs|观察(?:结果)?|觀察|観察|tool_?(?:result|response|output)s?)[\"'”]"
    r"\s{0,8}+[:：]\s{0,8}+(?!null|none|\"\"|''|\[\]|\{\})"
)
_ANNOUNCED: Final = re.compile(r"[^\w\n]*+(?:[^\W_]{1,24}[ ]?){1,3}+\W*+(?:json\b\W*+)?+")


def sound(taken: Taken, said: Script) -> Taken:
    """Return a step, or what counts in its place.

    Behind a call without a label that is the call, behind anything else that no answer can rest on
    a defect.
    """
    if _OBSERVED_KEY.search(lowered(said.text), 0, taken.start):
        return replace(taken, step=Defect("observation"))
    if not isinstance(taken.step, Finish):
        return taken
    if call := first_call(said, taken.start):
        return call
    if said.result is not None and said.result < taken.start and not _announces(said, taken):
        return replace(taken, step=Defect("observation"))
    if is_passed_on(said.text, taken.start):
        return replace(taken, step=Defect("passed on"))
    return taken


def _announces(said: Script, taken: Taken) -> bool:
    """Tell whether a result is the answer itself, for which it is another name."""
    between = said.text[said.result : min(taken.start, (said.result or 0) + 80)]
    return _ANNOUNCED.fullmatch(between) is not None
