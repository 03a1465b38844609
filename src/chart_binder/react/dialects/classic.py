"""The classic dialect: Thought, Action, Action Input, Observation, Final Answer."""

from typing import Final

from chart_binder.react.dialects.labelled import Labelled, Labels

_LABELS: Final = Labels(
    answer="Final Answer",
    given="Action Input",
    call="Action: {tool}\nAction Input: {given}",
    tool="the name of one tool, nothing else",
)


class Classic(Labelled):
    """A label for each part of a step, the form most models know."""

    def __init__(self) -> None:
        super().__init__("classic", _LABELS)
