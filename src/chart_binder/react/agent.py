"""`run`, which answers a question with a model and tools in one call."""

from collections.abc import Iterable
from typing import Any, Final, TypeVar, overload

from chart_binder.react.conversation import ChatModel, Message
from chart_binder.react.dialect import Classic, Dialect
from chart_binder.react.loop import (
    AnswerRefusedError,
    AnswerValidator,
    Ending,
    Hooks,
    Limits,
    Task,
    converse,
    ignore,
)
from chart_binder.react.tools import Toolbox, ToolLike
from chart_binder.react.transcript import EventHandler

T = TypeVar("T")
INSTRUCTIONS: Final = (
    "You answer questions with the help of tools. Call a tool for whatever it can find out: do not"
    " guess or answer from memory. If no tool can find it out, say so in your final answer."
)
"""The default first part of the system prompt."""
_DEFAULT_LIMITS: Final = Limits()


def system_prompt(instructions: str, dialect: Dialect, tools: Iterable[ToolLike] = ()) -> str:
    """Return a system prompt: the instructions, the tools, and the form of a step."""
    tools = Toolbox(tools).tools
    parts = (instructions, dialect.tools(tools) if tools else "", dialect.form(tools))
    return "\n\n".join(filter(None, parts))


def as_text(answer: str, is_last: bool) -> str:  # noqa: ARG001, FBT001 (an `AnswerValidator`)
    """Return an answer without space around it. Raises `AnswerRefusedError` if it is empty."""
    if not answer.strip():
        raise AnswerRefusedError("Your answer is empty. Write the answer itself.")
    return answer.strip()


@overload
def run(
    question: str,
    chat: ChatModel,
    tools: Iterable[ToolLike] = ...,
    *,
    instructions: str = ...,
    dialect: Dialect | None = ...,
    on_event: EventHandler = ...,
    limits: Limits = ...,
) -> Ending[str]: ...


@overload
def run(
    question: str,
    chat: ChatModel,
    tools: Iterable[ToolLike] = ...,
    *,
    validate_answer: AnswerValidator[T],
    instructions: str = ...,
    dialect: Dialect | None = ...,
    on_event: EventHandler = ...,
    limits: Limits = ...,
) -> Ending[T]: ...


def run(
    question: str,
    chat: ChatModel,
    tools: Iterable[ToolLike] = (),
    *,
    validate_answer: AnswerValidator[Any] = as_text,
    instructions: str = INSTRUCTIONS,
    dialect: Dialect | None = None,
    on_event: EventHandler = ignore,
    limits: Limits = _DEFAULT_LIMITS,
) -> Ending[Any]:
    """Answer a question: the model reasons, calls tools, reads the results, and answers.

    `tools` are typed functions with docstrings, or `Tool`s. `validate_answer` takes the text of an
    answer and whether the turn is the last; it returns what the answer means, or raises
    `AnswerRefusedError` with what to write instead. The default dialect is `Classic`.

    Raises `ChatError` if the model cannot be asked, and `ToolDefectError` for an unusable tool.
    Other exceptions of `validate_answer` and `on_event` are passed on.
    """
    toolbox, dialect = Toolbox(tools), Classic() if dialect is None else dialect
    instructions = system_prompt(instructions, dialect, toolbox.tools)
    task = Task((Message("system", instructions), Message("user", question)), validate_answer)
    return converse(chat, dialect, toolbox, task, Hooks(on_event), limits)
