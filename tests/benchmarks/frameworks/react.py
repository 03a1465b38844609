"""This project's loop: classic dialect, one typed function as the tool, every event watched."""

from collections.abc import Sequence

from benchmarks.frameworks.script import QUESTION, in_labels, look_up
from chart_binder.chat.scripted import Scripted
from chart_binder.react.conversation import Message
from chart_binder.react.dialect import Classic
from chart_binder.react.loop import Hooks, Task, converse
from chart_binder.react.tools import Tool, Toolbox
from chart_binder.react.transcript import AnyEvent

REPLIES = in_labels('{"key": "%s"}', "Final Answer:")
DIALECT = Classic()
TOOLBOX = Toolbox([Tool.of(look_up)])
SYSTEM = Message("system", f"{DIALECT.tools(TOOLBOX.tools)}\n\n{DIALECT.form(TOOLBOX.tools)}")


def run(times: int) -> Sequence[str | None]:
    """Return the answers of so many runs."""
    return [_once() for _ in range(times)]


def _once() -> str | None:
    events: list[AnyEvent] = []
    opening = (SYSTEM, Message("user", QUESTION))
    ending = converse(
        Scripted(REPLIES),
        DIALECT,
        TOOLBOX,
        Task(opening, lambda text, _: text),
        Hooks(events.append),
    )
    return ending.answer
