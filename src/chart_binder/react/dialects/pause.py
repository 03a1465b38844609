"""The pause dialect: `Action: name: input`, then PAUSE; `Answer:` at the end."""

from chart_binder.react.dialects.classic import Labelled


class Pause(Labelled):
    """The call on one line: the shortest form there is.

    A server is not asked to stop at PAUSE, which would take the word out of what the model sees of
    its own turns, so that it would soon leave it out.
    """

    def __init__(self) -> None:
        call = "Action: {tool}: {given}\nPAUSE"
        super().__init__("pause", "Answer", given="Action's input", call=call)
