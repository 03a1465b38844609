"""The ReAct loop: in each turn a reply, its step and an observation, until there is an answer."""

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, Generic, TypeVar, get_args

from chart_binder.react.call_runner import CallRunner, Remark, advice
from chart_binder.react.context import CallResult, Context, ContextFullError, Turn
from chart_binder.react.conversation import (
    ChatError,
    ChatModel,
    GenerationOptions,
    Message,
    ModelWithContext,
    Reply,
    Role,
    ask,
)
from chart_binder.react.dialect import Dialect, is_same_step, read_step
from chart_binder.react.parsing.lenient_json import LenientJSONError, read_json
from chart_binder.react.sanitize import LOOKED_UP, bounded
from chart_binder.react.steps import FinalAnswer, Step, ToolCall, Unreadable
from chart_binder.react.tools import Toolbox
from chart_binder.react.transcript import (
    AnyEvent,
    EventHandler,
    RecordedCalls,
    ReplyEvent,
    StepEvent,
)

_log = logging.getLogger(__name__)

T = TypeVar("T")
Clock = Callable[[], float]
AnswerValidator = Callable[[str, bool], T]
"""Takes the text of an answer and whether the turn is the last.

Returns what the answer means, or raises `AnswerRefusedError`.
"""

_CUT_OFF: Final = (
    "Your reply was cut off because it was too long: be brief, and write your call or answer again,"
    " whole."
)
_APPENDED: Final = "x0"  # not a word of any dialect, and not JSON outside a string
_MAX_REPLY_CHARS: Final = 4_000
_LAST_TURN: Final = "(1 turn left. It is the last: give your final answer now.)"
_SHORT_OF_TIME: Final = "(The time for this run is nearly over: give your final answer now.)"


class AnswerRefusedError(Exception):
    """An answer is not accepted; the text tells the model why, and what to write instead.

    If it `stands`, it counts unless another answer follows, and the text says what to do next, so
    that the conversation does not add the remark of `Hooks`.
    """

    def __init__(self, text: str, *, stands: bool = False) -> None:
        super().__init__(text)
        self.stands = stands


_LEAST: Final = {
    **dict.fromkeys(("iterations", "observation_chars", "patience"), 1),
    **dict.fromkeys(("max_run_s", "max_run_tokens", "num_ctx", "max_tokens"), 0),
}
"""The least value of each limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a conversation; a limit of 0 tokens means that there is none.

    `iterations` is the number of turns, and `patience` the number of turns in a row without
    progress (unreadable, refused or repeated). An observation is cut to `observation_chars`
    characters and shown in a message of `observation_role`. `max_run_s` limits the seconds of a
    run, and `max_run_tokens` the tokens of all prompts and replies. A prompt has at most `num_ctx`
    minus `max_tokens` tokens; the model's own values replace None.

    Raises `ValueError` for an impossible value.
    """

    iterations: int = 5
    observation_chars: int = 2_000
    observation_role: Role = "user"
    patience: int = 3
    max_run_s: float = math.inf
    max_run_tokens: int = 0
    num_ctx: int | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.observation_role not in get_args(Role):
            allowed = ", ".join(map(repr, get_args(Role)))
            raise ValueError(
                f"observation_role is {self.observation_role!r}; {allowed} are allowed"
            )
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise ValueError(f"{name} is {value}; at least {least} is allowed")

    def window(self, chat: ChatModel) -> int:
        """Return the largest number of tokens in a prompt for this model; 0 means no limit."""
        num_ctx, max_tokens = self.num_ctx, self.max_tokens
        if isinstance(chat, ModelWithContext):
            num_ctx = chat.num_ctx if num_ctx is None else num_ctx
            max_tokens = chat.max_tokens if max_tokens is None else max_tokens
        return max(0, (num_ctx or 0) - (max_tokens or 0))


@dataclass(frozen=True, slots=True)
class FinalRequest:
    """A request for the answer alone, with the JSON schema of the answer.

    An answer without its label needs `Task.answer_keys`.
    """

    request: str
    schema: Mapping[str, object]


class EndedBy(Enum):
    """What ended a conversation: the answer, or the limit that was reached."""

    ANSWER = "answer"
    ITERATIONS = "iterations"
    PATIENCE = "patience"
    TIME = "time"
    TOKENS = "tokens"
    CONTEXT = "context"
    """Even the shortest form of the conversation does not fit into the context of the model."""
    MODEL = "model"
    """The model could not be asked. `run` and `converse` raise `ChatError` instead."""
    UNREACHABLE = "unreachable"
    """Nothing answers at the model's address. They raise `UnreachableError` instead."""


@dataclass(frozen=True, slots=True)
class Ending(Generic[T]):
    """How a conversation ended, and after how many turns.

    If `is_answered`, `answer` is what the validator returned, which may be 0 or None. Otherwise
    `problem` is a sentence that says why there is no answer.
    """

    iterations: int
    answer: T | None = None
    problem: str | None = None
    ended_by: EndedBy = EndedBy.ANSWER

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer."""
        return self.ended_by is EndedBy.ANSWER


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """What a conversation is about: its opening messages, and what counts as an answer.

    `validate_answer` takes the text of an answer and whether the turn is the last. It returns what
    the answer means, or raises `AnswerRefusedError`. A reply that consists of one JSON object with
    `answer_keys` is an answer without its label (`read_step`). `opening_calls` are made before the
    model is asked, as turn 0; they cost no iteration, and their results stand below the last
    opening message. If there is a `final_request`, the last turn asks for the answer alone.
    `reserved_labels`, in lower case, begin what the refusals and remarks of the program say; an
    observation cannot use them.
    """

    messages: Sequence[Message]
    validate_answer: AnswerValidator[T]
    answer_keys: Sequence[str] = ()
    opening_calls: Iterable[ToolCall] = ()
    final_request: Callable[[], FinalRequest] | None = None
    reserved_labels: frozenset[str] = frozenset()


def ignore(event: AnyEvent) -> None:
    """Ignore an event."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Functions that a conversation calls while it takes place.

    `on_event` takes each event, and `on_token` each piece of a reply while it is written. `remark`
    returns what to add below an observation. `clock` returns a time in seconds.
    """

    on_event: EventHandler = ignore
    on_token: Callable[[str], None] | None = None
    remark: Remark | None = None
    clock: Clock = time.monotonic


def converse(
    chat: ChatModel,
    dialect: Dialect,
    toolbox: Toolbox,
    task: Task[T],
    hooks: Hooks = Hooks(),
    limits: Limits = Limits(),
    recording: RecordedCalls | None = None,
) -> Ending[T]:
    """Converse until there is an answer or a limit is reached.

    The results in a `recording` are used instead of running the calls. Raises `ChatError` if the
    model cannot be asked, and whatever the functions of `task` and `hooks` raise.
    """
    budget = Budget(limits.max_run_s, limits.max_run_tokens, hooks.clock)
    calls = CallRunner(
        toolbox,
        hooks.on_event,
        limits.observation_chars,
        lambda: budget.time_problem() is not None,
        recording,
        hooks.remark,
        task.reserved_labels,
    )
    opening = _opening_with_lookups(task, calls, dialect)
    context = Context(opening, dialect, limits.observation_role, limits.window(chat))
    options = GenerationOptions(dialect.stop, on_token=hooks.on_token)
    parts = (hooks.on_event, limits, budget, context, calls, options)
    return _Conversation(chat, dialect, task, *parts).run()


def _opening_with_lookups(task: Task[T], calls: CallRunner, dialect: Dialect) -> Sequence[Message]:
    """Make the opening calls, and return the opening messages with the results below the last.

    The results do not stand in replies, because a small model copies the call in the last reply.
    """
    lookups: list[str] = []
    for place, call in enumerate(task.opening_calls):
        [result, *_] = calls.run(call, 0, place)
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        observation = dialect.observation(result.observation.shown, call)
        lookups.append(f"{LOOKED_UP} {call.tool} {arguments}\n{observation}")
    if not lookups:
        return task.messages
    *messages, last = task.messages
    return (*messages, replace(last, content="\n\n".join((last.content, *lookups))))


class Budget:
    """The seconds from now on and the tokens of all prompts and replies; 0 tokens mean no limit."""

    def __init__(
        self, seconds: float = math.inf, tokens: int = 0, clock: Clock = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._max_tokens = tokens or math.inf
        self._clock = clock
        self._began = clock()
        self._turns = 0
        self._prompt_tokens = 0
        self._reply_tokens = 0
        self._last_prompt = 0

    @property
    def seconds_left(self) -> float:
        """The seconds that are left, at least 0."""
        return max(0.0, self._seconds - self._elapsed)

    @property
    def _elapsed(self) -> float:
        return self._clock() - self._began

    def record(self, reply: Reply, prompt_estimate: int, reply_estimate: int) -> None:
        """Add the tokens of a turn, as the server counted them or as estimated here."""
        self._last_prompt = prompt_estimate if reply.prompt_tokens is None else reply.prompt_tokens
        counted = reply.completion_tokens
        self._turns += 1
        self._reply_tokens += reply_estimate if counted is None else counted
        self._prompt_tokens += self._last_prompt

    def time_problem(self) -> str | None:
        """Return a sentence that says that the time is over, or None if it is not."""
        if self.seconds_left > 0:
            return None
        return f"the run took longer than max_run_s = {self._seconds:g} allows"

    def token_problem(self, prompt: int) -> str | None:
        """Return a sentence if a turn with a prompt of so many tokens takes too many, else None."""
        used, needed = self._prompt_tokens + self._reply_tokens, self._tokens_after(1, prompt)
        if needed <= self._max_tokens:
            return None
        return (
            f"the run took {used} tokens and one more turn about {needed - used},"
            f" over max_run_tokens = {self._max_tokens}"
        )

    def is_short_of_tokens(self, prompt: int) -> bool:
        """Return whether there are too few tokens for two more turns."""
        return self._tokens_after(2, prompt) > self._max_tokens

    def is_short_of_time(self) -> bool:
        """Return whether there is too little time for two more turns of average length."""
        return self._turns > 0 and 2 * self._elapsed / self._turns > self.seconds_left

    def _tokens_after(self, turns: int, prompt: int) -> int:
        """Estimate the tokens after more turns, in which no prompt is shorter than the last."""
        tokens_per_reply = self._reply_tokens // self._turns if self._turns else 0
        used = self._prompt_tokens + self._reply_tokens
        return used + turns * (max(prompt, self._last_prompt) + tokens_per_reply)


@dataclass(slots=True)
class _Conversation(Generic[T]):
    """A conversation in progress; `idle` counts the turns in a row without progress.

    `max_turns` falls below the limit of turns if there are too few tokens for them.
    """

    chat: ChatModel
    dialect: Dialect
    task: Task[T]
    on_event: EventHandler
    limits: Limits
    budget: Budget
    context: Context
    calls: CallRunner
    options: GenerationOptions
    max_turns: int = field(init=False)
    turn: int = 0
    idle: int = 0
    last_shown: str = ""

    def __post_init__(self) -> None:
        self.max_turns = self.limits.iterations

    def run(self) -> Ending[T]:
        try:
            return self.take_turns()
        except ContextFullError as error:
            return self.end(EndedBy.CONTEXT, str(error))
        except ChatError as error:
            if problem := self.budget.time_problem():
                _log.info("the time was over when the model was asked: %s", error)
                return self.end(EndedBy.TIME, problem)
            raise

    def take_turns(self) -> Ending[T]:
        while (limit := self.limit_reached()) is None:
            if self.task.final_request and self.turn + 1 >= self.max_turns:
                return self.force(
                    self.task.final_request(), self.turns_ended_by(), self.cut_short()
                )
            if ending := self.take_turn():
                return ending
        ended_by, problem = limit
        if self.task.final_request and self.turn < self.max_turns and not self.budget_reached():
            return self.force(self.task.final_request(), ended_by, f"{problem}, and ")
        return self.end(ended_by, problem)

    def end(self, ended_by: EndedBy, problem: str) -> Ending[T]:
        if self.turn:
            problem += f"; the last thing said to the model was: {_brief(self.last_shown)}"
        return Ending(self.turn, problem=problem, ended_by=ended_by)

    def limit_reached(self) -> tuple[EndedBy, str] | None:
        # Time is checked last, because a replay takes none and must end for the same reason.
        if self.idle >= self.limits.patience:
            return EndedBy.PATIENCE, f"{self.idle} turns in a row led nowhere"
        if self.turn < self.max_turns:
            return self.budget_reached()
        ended_by = self.turns_ended_by()
        allowed = f", all that max_run_tokens = {self.limits.max_run_tokens} allows"
        plural = "" if self.turn == 1 else "s"
        fewer = allowed if ended_by is EndedBy.TOKENS else ""
        return ended_by, f"no answer in {self.turn} turn{plural}{fewer}"

    def turns_ended_by(self) -> EndedBy:
        """Return which limit `max_turns` comes from."""
        fewer = self.max_turns < self.limits.iterations
        return EndedBy.TOKENS if fewer else EndedBy.ITERATIONS

    def budget_reached(self) -> tuple[EndedBy, str] | None:
        if problem := self.budget.token_problem(self.context.tokens):
            return EndedBy.TOKENS, problem
        problem = self.budget.time_problem()
        return (EndedBy.TIME, problem) if problem else None

    def cut_short(self) -> str:
        """Return a clause if the tokens allow fewer turns than configured, else an empty text."""
        if self.turns_ended_by() is EndedBy.ITERATIONS:
            return ""
        return f"max_run_tokens = {self.limits.max_run_tokens} allows no more turns, and "

    def ask(self, schema: Mapping[str, object] | None = None) -> tuple[Reply, Step]:
        messages, prompt_estimate = self.context.messages(), self.context.tokens
        seconds = self.budget.seconds_left if self.limits.max_run_s < math.inf else None
        options = replace(self.options, schema=schema, seconds=seconds)
        reply = ask(self.chat, messages, options)
        self.turn += 1
        self.context.estimate.learn(messages, reply.prompt_tokens)
        reply_estimate = self.context.estimate.tokens([Message("assistant", reply.content)])
        self.budget.record(reply, prompt_estimate, reply_estimate)
        self.on_event(ReplyEvent.of(reply, self.turn))
        step = read_step(self.dialect, reply.content, self.task.answer_keys)
        return reply, _unless_cut_off(step, reply, self.dialect)

    def take_turn(self) -> Ending[T] | None:
        reply, step = self.ask()
        if isinstance(step, ToolCall):
            self.remember(step, reply, tuple(self.calls.run(step, self.turn)))
            return None
        if isinstance(step, Unreadable):
            self.on_event(StepEvent("malformed", self.turn, notes=step.notes))
            refusal = AnswerRefusedError(step.advice)
        else:
            self.on_event(StepEvent("finish", self.turn, notes=step.notes))
            try:
                is_last = self.turn == self.max_turns
                return Ending(self.turn, self.task.validate_answer(step.answer, is_last))
            except AnswerRefusedError as error:
                refusal = error
        show = self.calls.show if refusal.stands else self.calls.show_with_remark
        result = CallResult(None, show(advice(str(refusal)), self.turn))
        self.remember(step, reply, (result,), answer_stands=refusal.stands)
        return None

    def remember(
        self,
        step: Step,
        reply: Reply,
        results: tuple[CallResult, ...],
        *,
        answer_stands: bool = False,
    ) -> None:
        """Add a turn to the context, with a closing line on the turns that are left."""
        self.idle = 0 if any(result.is_progress for result in results) else self.idle + 1
        newest = results[-1].observation
        self.last_shown = newest.error or newest.content
        call = step if isinstance(step, ToolCall) else None
        text = _reply_text(step, reply, self.dialect)
        self.context.add(Turn(text, call, results, answer_stands=answer_stands))
        if self.budget.is_short_of_tokens(self.context.tokens):
            self.max_turns = min(self.max_turns, self.turn + 1)
        turns_left = self.max_turns - self.turn
        closing = (
            _SHORT_OF_TIME if self.budget.is_short_of_time() else f"({turns_left} turns left.)"
        )
        self.context.close(closing if turns_left > 1 else _LAST_TURN)

    def force(self, final_request: FinalRequest, ended_by: EndedBy, limit: str) -> Ending[T]:
        """Ask for the answer alone, and return the ending; `limit` is the clause that says why.

        The reply is validated like any other answer.
        """
        if self.turn:
            self.context.close(final_request.request)
        reply, step = self.ask(final_request.schema)
        answer = step.answer if isinstance(step, FinalAnswer) else None
        kind = "malformed" if answer is None else "finish"
        self.on_event(StepEvent(kind, self.turn, notes=(*step.notes, "asked for the answer alone")))
        try:
            if answer is not None:
                return Ending(self.turn, self.task.validate_answer(answer, True))  # noqa: FBT003 (no turn follows)
            refusal = f"it is not an answer: {_brief(repr(reply.content))}"
        except AnswerRefusedError as error:
            refusal = _brief(str(error))
        problem = f"{limit}the forced last answer was refused: {refusal}"
        return Ending(self.turn, problem=problem, ended_by=ended_by)


def _unless_cut_off(step: Step, reply: Reply, dialect: Dialect) -> Step:
    """Return the step of a reply, or `Unreadable` if the token limit cut the step itself."""
    if reply.done_reason != "length":
        return step
    is_whole = not isinstance(step, Unreadable) and (
        is_same_step(dialect.parse(reply.content + _APPENDED), step)
        or (
            isinstance(step, FinalAnswer)
            and _object(step.answer) == _object(step.answer + _APPENDED)
        )
    )
    return step if is_whole else Unreadable(_CUT_OFF, step.notes)


def _object(answer: str) -> object:
    """Return the first JSON object in an answer, or the answer itself if there is none."""
    try:
        return read_json(answer)[0]
    except LenientJSONError:
        return answer


def _reply_text(step: Step, reply: Reply, dialect: Dialect) -> str:
    """Return a reply as the conversation keeps it: shortened, or a repaired call in its form."""
    if isinstance(step, ToolCall) and step.notes:
        return dialect.render(step)
    return bounded(reply.content.strip() or "(nothing)", _MAX_REPLY_CHARS)


def _brief(text: str) -> str:
    return " ".join(text.split())[:200]
