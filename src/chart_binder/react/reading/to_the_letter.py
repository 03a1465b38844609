"""A turn that keeps to the letter of its form is read at one look."""

import re
from typing import Final

from chart_binder.react.json.strict import LenientJSONError, read_strictly
from chart_binder.react.reading.calls import announces
from chart_binder.react.reading.turn_object import is_finisher, is_no_tool
from chart_binder.react.steps import Act, Finish

# Nothing in it can be a tag, a fence, a quotation, a label: those need a character left out here.
_THOUGHT: Final = r"[A-Za-z](?:[A-Za-z0-9 .,;!?()+-]|(?<=[a-z])'(?=[a-z]))*+(?<! )(?<!json)(?<!xml)"
_TOOL: Final = r"[a-z][a-z0-9_]{2,63}+"
_ON_ONE_LINE: Final = r"(?:[ -;=-Z\\\]-_a-~]|\[(?![/A-Za-z]))*+"
"""All of ASCII that can be seen, but for back-quotes or what may begin a tag."""


class Letter:
    """The form of a turn: the lines of a call, of `{tool}` and `{given}`, or those of an answer."""

    def __init__(self, call: str, answer: str) -> None:
        tool, given = f"(?P<tool>{_TOOL})", rf"(?P<given>\{{{_ON_ONE_LINE})"
        lines = re.escape(call).replace(r"\{tool\}", tool).replace(r"\{given\}", given)
        finish = rf"{re.escape(answer)}:\ (?P<answer>[A-Za-z0-9\{{]{_ON_ONE_LINE})"
        self._turn = re.compile(
            rf"(?:Thought:\ (?P<thought>{_THOUGHT})\n)?+(?:{lines}|{finish})\s?"
        )

    def read(self, reply: str) -> Act | Finish | None:
        """Return the step of a reply that is a turn to the letter, or None.

        It is the step that `read_reply` finds, which reads any reply, in a fraction of the time.
        """
        found = self._turn.fullmatch(reply)
        if found is None:
            return None
        thought = found["thought"] or ""
        if found["answer"]:
            return Finish(found["answer"].strip(), thought)
        tool = found["tool"]
        if is_finisher(tool) or is_no_tool(tool) or announces(tool):
            return None
        try:
            given = read_strictly(found["given"], 0)
        except LenientJSONError:
            return None
        if given is None or given.end < len(found["given"]) or not isinstance(given.value, dict):
            return None
        return Act(tool, given.value, thought)
