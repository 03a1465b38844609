"""A conversation goes turn by turn: a reply, its step, an observation, until there is an answer."""

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from chart_binder.react.conversation import ChatModel, Message, Reply, Role, Terms
from chart_binder.react.dialect import Dialect
from chart_binder.react.inert import bounded, inert
from chart_binder.react.steps import Act, Finish, Malformed, Step
from chart_binder.react.tools import Call, Observation, Toolbox, ToolError
from chart_binder.react.transcript import Observed, Replied, Stepped, Watch

_log = logging.getLogger(__name__)

T = TypeVar("T")
Perform = Callable[[Call, int], Observation]
"""Runs a call in a turn, or raises `ToolError`."""
Judge = Callable[[str, bool], T]
"""Reads an answer's text, or raises `RefusedError`; told whether no turn is left to ask again."""


class RefusedError(Exception):
    """An answer cannot be taken; the text tells the model why, and what to write instead."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a conversation may go.

    `patience` is how many turns in a row may lead nowhere: malformed, refused or repeated.
    """

    iterations: int = 5
    observation_chars: int = 2_000
    observation_role: Role = "user"
    patience: int = 3


@dataclass(frozen=True, slots=True)
class Ending(Generic[T]):
    """How a conversation ended: with an answer, or with the problem that kept it from one."""

    iterations: int
    answer: T | None = None
    problem: str | None = None


def call_live(call: Call, iteration: int) -> Observation:
    """Call the tool itself, its time taken; whatever a plug-in raises is a `ToolError`."""
    del iteration
    started = time.monotonic()
    try:
        answer = call.run()
    except ToolError:
        raise
    except Exception as error:  # a tool is somebody else's code, and the run must go on
        _log.warning("tool %r failed", call.tool.name, exc_info=True)
        raise ToolError(f"{call.tool.name} failed; try something else") from error
    return replace(answer, seconds=time.monotonic() - started)


def converse(
    chat: ChatModel,
    dialect: Dialect,
    toolbox: Toolbox,
    opening: Sequence[Message],
    *,
    judge: Judge[T],
    watch: Watch,
    limits: Limits = Limits(),
    perform: Perform = call_live,
) -> Ending[T]:
    """Converse until there is an answer or the turns are used up; raises `ChatError`."""
    messages = list(opening)
    memory = _Memory(toolbox, perform)
    idle, turn, shown = 0, 0, Observation("")
    while turn < limits.iterations and idle < limits.patience:
        turn += 1
        reply = _legible(chat.reply(messages, Terms(dialect.stop)))
        watch(_replied(reply, turn))
        step = _completed(dialect.parse(reply.content), reply)
        watch(_stepped(step, toolbox, turn))
        try:
            if isinstance(step, Finish):
                return Ending(turn, judge(step.answer, turn == limits.iterations))
            led_on, shown = memory.observe(step, turn)
        except RefusedError as refusal:
            led_on, shown = False, _advice(str(refusal))
        idle = 0 if led_on else idle + 1
        shown = replace(shown, content=bounded(shown.content, limits.observation_chars))
        watch(Observed(shown.content, turn, shown.sources, shown.error, shown.seconds))
        messages.append(Message("assistant", _as_kept(step, reply, dialect)))
        seen = dialect.observation(shown.content, step if isinstance(step, Act) else None)
        messages.append(Message(limits.observation_role, _with_turns_left(seen, turn, limits)))
    spent = (
        f"{idle} turns in a row led nowhere"
        if turn < limits.iterations
        else f"no answer in {turn} turns"
    )
    return Ending(turn, problem=f"{spent}; the last thing said to the model was: {_brief(shown)}")


class _Memory:
    """Calls tools, each call once."""

    def __init__(self, toolbox: Toolbox, perform: Perform) -> None:
        self._toolbox = toolbox
        self._perform = perform
        self._answers: dict[str, Observation] = {}

    def observe(self, step: Act | Malformed, turn: int) -> tuple[bool, Observation]:
        """Return whether the step led on, and what to show the model."""
        if isinstance(step, Malformed):
            return False, _advice(step.advice)
        try:
            call = self._toolbox.resolve(step)
        except ToolError as error:
            return False, _advice(str(error))
        key = f"{call.tool.name} {json.dumps(call.arguments, sort_keys=True, default=str)}"
        if key in self._answers:
            known = self._answers[key]
            reminder = "You made this very call before; nothing new was looked up. It said:\n"
            return False, replace(known, content=reminder + known.content, seconds=0.0)
        try:
            answer = self._perform(call, turn)
        except ToolError as error:
            answer = Observation(str(error), error=str(error))
        self._answers[key] = answer = replace(answer, content=inert(answer.content))
        return True, answer


def _advice(text: str) -> Observation:
    return Observation(text, error=text)


def _completed(step: Step, reply: Reply) -> Step:
    """Name the token limit where it is why a reply makes no sense."""
    if isinstance(step, Malformed) and reply.done_reason == "length":
        return replace(
            step, advice=f"Your reply was cut off because it was too long: be brief. {step.advice}"
        )
    return step


def _as_kept(step: Step, reply: Reply, dialect: Dialect) -> str:
    """Return what of a reply stays in the conversation: an action without what followed it."""
    if isinstance(step, Act) and step.notes:
        return dialect.render(step)
    return bounded(reply.content.strip() or "(nothing)", 4_000)


def _with_turns_left(content: str, turn: int, limits: Limits) -> str:
    left = limits.iterations - turn
    if left > 1:
        return f"{content}\n\n({left} turns left.)"
    return f"{content}\n\n(1 turn left. It is the last: give your final answer now.)"


def _brief(shown: Observation) -> str:
    return " ".join((shown.error or shown.content).split())[:200]


def _legible(reply: Reply) -> Reply:
    """Replace lone surrogates: a server that streams tokens may send half a letter."""
    thinking = reply.thinking and _whole(reply.thinking)
    return replace(reply, content=_whole(reply.content), thinking=thinking)


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _replied(reply: Reply, turn: int) -> Replied:
    return Replied(
        content=reply.content,
        iteration=turn,
        thinking=reply.thinking,
        done_reason=reply.done_reason,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        seconds=reply.seconds,
    )


def _stepped(step: Step, toolbox: Toolbox, turn: int) -> Stepped:
    match step:
        case Finish(notes=notes):
            return Stepped("finish", turn, notes=notes)
        case Malformed(notes=notes):
            return Stepped("malformed", turn, notes=notes)
        case Act(tool=tool, arguments=arguments, notes=notes):
            written = arguments if isinstance(arguments, str) else dict(arguments)
            try:
                call = toolbox.resolve(step)
            except ToolError:
                return Stepped("act", turn, tool, written, notes)
            return Stepped("act", turn, call.tool.name, call.arguments, notes)
