"""The ReAct loop: a reply, its step, an observation, turn by turn until there is an answer."""

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, Generic, TypeVar, get_args

from chart_binder.react.context import CallResult, Context, ContextFullError, Round
from chart_binder.react.conversation import (
    ChatError,
    ChatModel,
    GenerationOptions,
    Message,
    ModelWithContext,
    Reply,
    Role,
    StopCheck,
    ask,
    encodable,
    wrap_plugin_errors,
)
from chart_binder.react.dialect import Dialect, is_same_step, read_step
from chart_binder.react.parsing.answers import whole_answer
from chart_binder.react.parsing.labels import begins_observation
from chart_binder.react.parsing.lenient_json import LenientJSONError, read_json
from chart_binder.react.sanitize import bounded, bounded_observation, inert, sanitize
from chart_binder.react.steps import FinalAnswer, Observation, Step, ToolCall, Unreadable
from chart_binder.react.tools import (
    OUT_OF_TIME,
    BoundCall,
    Toolbox,
    ToolError,
    call_key,
    is_refusal,
)
from chart_binder.react.transcript import (
    EventHandler,
    ObservationEvent,
    ReplyEvent,
    ResultLookup,
    StepEvent,
)

_log = logging.getLogger(__name__)

MAX_CALLS: Final = 4
"""Calls run in one turn; the model is told that the rest were not."""

ToolRunner = Callable[[BoundCall, int, int], Observation]
"""Runs a call and returns its observation, or raises `ToolError`.

The numbers are the turn, from 1, and the call's place in it, from 0.
"""


Remark = Callable[[Observation], str]
"""Returns what code adds below an observation, or an empty text."""


def call_tool(call: BoundCall, turn: int, place: int) -> Observation:  # noqa: ARG001 (a `ToolRunner`)
    """Call the tool itself and time it. Raises `ToolError`, also for any defect of a plug-in."""

    def wrap(error: Exception) -> ToolError:
        _log.warning("tool %r failed", call.tool.name, exc_info=error)
        return ToolError(f"{call.tool.name} failed; try something else")

    started = time.monotonic()
    with wrap_plugin_errors(wrap, ToolError):
        answer = call.run()
    return replace(answer, seconds=time.monotonic() - started)


def advice(text: str) -> Observation:
    """Return the observation for a turn that went wrong."""
    return Observation(text, error=text)


@dataclass(slots=True)
class CallRunner:
    """Runs the calls of a conversation, reports each as an event, remembers what it returned.

    Observations are sanitized here, and their text and documents are each cut to `max_chars`
    characters, before anything else sees them. No call starts once `out_of_time` returns a
    sentence. If `recorded_result` returns a record of a call, it is used in place of the call.
    `remark` returns what to add below an observation.
    """

    toolbox: Toolbox
    run_tool: ToolRunner
    on_event: EventHandler
    max_chars: int
    out_of_time: Callable[[], str | None]
    recorded_result: ResultLookup | None = None
    remark: Remark | None = None
    _answers: dict[str, Observation] = field(init=False, default_factory=dict)

    def run(self, act: ToolCall, turn: int, first_place: int = 0) -> Iterator[CallResult]:
        """Yield the result of each call of a turn; the first is the `first_place`-th of it."""
        for place, call in enumerate(act.calls[:MAX_CALLS], first_place):
            yield self._run_one(call, turn, place)
        rest = act.calls[MAX_CALLS:]
        if rest:
            self.on_event(_stepped(rest[0], rest[0].tool, rest[0].arguments, turn))
            not_run = f"Not run, nor any behind it: a turn has at most {MAX_CALLS} calls."
            yield CallResult(rest[0], self.show(advice(not_run), turn))

    def show(self, observation: Observation, turn: int) -> Observation:
        """Report an observation and return it, cut to the length that the model is shown."""
        return self._report(bounded_observation(observation, self.max_chars), turn)

    def show_with_remark(self, observation: Observation, turn: int) -> Observation:
        """Report an observation with a remark below it, and return it."""
        observation = bounded_observation(observation, self.max_chars)
        remark = self.remark(observation) if self.remark else ""
        return self._report(replace(observation, remark=remark or None), turn)

    def _report(self, observation: Observation, turn: int) -> Observation:
        self.on_event(ObservationEvent.of(observation, turn))
        return observation

    def _run_one(self, act: ToolCall, turn: int, place: int) -> CallResult:
        if self.recorded_result and (known := self.recorded_result(turn, place)):
            step, seen = known
            arguments = {} if step.arguments is None else step.arguments
            noted = replace(act, notes=step.notes or act.notes)
            self.on_event(_stepped(noted, step.tool or "", arguments, turn))
            # An error may be advice, which has labels on purpose; it was recorded as shown.
            shown = self.show(seen.observation if seen.error else inert(seen.observation), turn)
            is_run = shown.error is None or not is_refusal(shown.error)
            key = call_key(step.tool or "", arguments)
            return CallResult(act, shown, is_run and self._is_progress(key, shown))
        try:
            call = self.toolbox.resolve(act, is_by_code=turn == 0)
        except ToolError as error:
            self.on_event(_stepped(act, act.tool, act.arguments, turn))
            return CallResult(act, self.show_with_remark(advice(str(error)), turn))
        noted = replace(act, notes=act.notes + call.notes)
        self.on_event(_stepped(noted, call.tool.name, call.arguments, turn))
        key = call_key(call.tool.name, call.arguments)
        before = self._answers.get(key)
        if before and before.error is None:
            reminder = "You made this call before. It returned:\n"
            again = replace(before, content=reminder + before.content, seconds=0.0)
            return CallResult(act, self.show_with_remark(again, turn))
        if self.out_of_time():
            return CallResult(act, self.show(advice(OUT_OF_TIME), turn))
        try:
            answer = inert(self.run_tool(call, turn, place))
        except ToolError as error:
            answer = Observation(sanitize(str(error)), error=encodable(str(error)))
        shown = self.show_with_remark(answer, turn)
        return CallResult(act, shown, self._is_progress(key, shown))

    def _is_progress(self, key: str, shown: Observation) -> bool:
        """Remember what a call came to; what failed before leads on where it succeeds now."""
        before = self._answers.get(key)
        self._answers[key] = shown
        return before is None or (before.error is not None and shown.error is None)


def _stepped(
    act: ToolCall, tool: str, arguments: Mapping[str, object] | str, turn: int
) -> StepEvent:
    written = arguments if isinstance(arguments, str) else dict(arguments)
    thought = act.thought if turn == 0 else None
    return StepEvent("act", turn, tool, written, act.notes, thought)


T = TypeVar("T")
Clock = Callable[[], float]
AnswerValidator = Callable[[str, bool], T]
"""Reads an answer's text, or raises `AnswerRefusedError`; told whether this is the last turn."""

_CUT_OFF: Final = (
    "Your reply was cut off because it was too long: be brief, and write your call or answer again,"
    " whole."
)
_APPENDED: Final = "x0"  # no dialect's word, and in no JSON outside a string
_MAX_REPLY_CHARS: Final = 4_000
LOOKED_UP: Final = "Already looked up:"
_LAST_TURN: Final = "(1 turn left. It is the last: give your final answer now.)"
_SHORT_OF_TIME: Final = "(The time for this run is nearly over: give your final answer now.)"


class AnswerRefusedError(Exception):
    """An answer cannot be taken; the text tells the model why, and what to write instead."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a conversation may go; 0 tokens mean no limit.

    `iterations` is the number of turns, and `patience` how many in a row may make no progress
    (malformed, refused or repeated). An observation is cut to `observation_chars` and shown in a
    message of `observation_role`. `max_run_s` and `max_run_tokens` limit the time and the tokens of
    all prompts and replies. A prompt takes at most `num_ctx` less `max_tokens`, which are those of
    the model if they are None. Raises `ValueError` or `TypeError` for an impossible value.
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
            roles = ", ".join(map(repr, get_args(Role)))
            raise ValueError(f"observation_role must be one of {roles}: {self.observation_role!r}")
        for name in ("iterations", "observation_chars", "patience"):
            _require_number(name, getattr(self, name), 1)
        for name in ("max_run_tokens", "num_ctx", "max_tokens"):
            _require_number(name, getattr(self, name) or 0, 0)
        _require_number("max_run_s", self.max_run_s, 0, int | float)

    def window(self, chat: ChatModel) -> int:
        """Return the most tokens that a prompt for this model may take; 0 means no limit."""
        num_ctx, max_tokens = self.num_ctx, self.max_tokens
        if isinstance(chat, ModelWithContext):
            num_ctx = chat.num_ctx if num_ctx is None else num_ctx
            max_tokens = chat.max_tokens if max_tokens is None else max_tokens
        return max(0, (num_ctx or 0) - (max_tokens or 0))


def _require_number(name: str, value: object, least: int, kind: Any = int) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not value >= least:
        raise ValueError(f"{name} must be at least {least}, not {value}")


@dataclass(frozen=True, slots=True)
class FinalRequest:
    """The last turn, for the answer alone: the request for it, and its JSON schema."""

    request: str
    schema: Mapping[str, object]


class EndedBy(Enum):
    """What ended a conversation: the answer, or the limit that was reached before."""

    ANSWER = "answer"
    ITERATIONS = "iterations"
    PATIENCE = "patience"
    TIME = "time"
    TOKENS = "tokens"
    CONTEXT = "context"
    """The shortest form of the conversation does not fit into the context of the model."""
    MODEL = "model"
    """The model could not be asked, for which `run` and `converse` raise `ChatError`."""


@dataclass(frozen=True, slots=True)
class Ending(Generic[T]):
    """How a conversation ended, after how many turns.

    If `is_answered`, `answer` is what the validator returned, which may be 0 or None; if not,
    `problem` is a sentence that says what prevented an answer.
    """

    iterations: int
    answer: T | None = None
    problem: str | None = None
    ended_by: EndedBy = EndedBy.ANSWER

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer."""
        return self.ended_by is EndedBy.ANSWER


def converse(
    chat: ChatModel,
    dialect: Dialect,
    toolbox: Toolbox,
    opening: Sequence[Message],
    *,
    validate_answer: AnswerValidator[T],
    on_event: EventHandler,
    limits: Limits = Limits(),
    run_tool: ToolRunner = call_tool,
    recorded_result: ResultLookup | None = None,
    opening_calls: Iterable[ToolCall] = (),
    remark: Remark | None = None,
    answer_keys: Sequence[str] = (),
    final_request: Callable[[], FinalRequest] | None = None,
    on_token: Callable[[str], None] | None = None,
    clock: Clock = time.monotonic,
) -> Ending[T]:
    """Converse until there is an answer or a limit is reached.

    Raises `ChatError` if the model cannot be asked.

    `run_tool` makes a call, unless `recorded_result` knows it from a record. `opening_calls` are
    made before the model is asked, one by one, as turn 0, which costs no iteration and is shown
    below the opening. `remark` returns what to add below an observation. A reply that is nothing
    but one object with `answer_keys` is an answer without a label (`read_step`). `final_request`
    makes the last turn, or one after too many without progress, ask for the answer alone.
    """
    budget = Budget(limits.max_run_s, limits.max_run_tokens, clock)
    most = limits.observation_chars
    calls = CallRunner(
        toolbox, run_tool, on_event, most, budget.out_of_time, recorded_result, remark
    )
    opening = _with_lookups(opening, opening_calls, calls, dialect)
    context = Context(opening, dialect, limits.observation_role, limits.window(chat))
    options = GenerationOptions(dialect.stop, on_token=on_token, stop_when=stop_after_step(dialect))
    return _Conversation(
        chat, dialect, context, calls, budget, validate_answer, on_event, limits, answer_keys,
        final_request, options, limits.iterations,
    ).run()  # fmt: skip


def _with_lookups(
    opening: Sequence[Message], acts: Iterable[ToolCall], calls: CallRunner, dialect: Dialect
) -> Sequence[Message]:
    """Make the calls of turn 0, and return the opening with what they returned below it.

    They stand in the last opening message, not in replies of the model's: a small model copies
    the call that stands in the last one.
    """
    shown: list[str] = []
    for place, act in enumerate(acts):
        [result, *_] = calls.run(act, 0, place)
        arguments = json.dumps(act.arguments, ensure_ascii=False)
        returned = dialect.observation(result.observation.shown, act)
        shown.append(f"{LOOKED_UP} {act.tool} {arguments}\n{returned}")
    if not shown:
        return opening
    last = opening[-1]
    return (*opening[:-1], replace(last, content="\n\n".join((last.content, *shown))))


class Budget:
    """Wall-clock seconds from now on, and tokens of all prompts and replies (0: no limit)."""

    def __init__(
        self, seconds: float = math.inf, tokens: int = 0, clock: Clock = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._max_tokens = tokens or math.inf
        self._clock = clock
        self._began = clock()
        self._turns = 0
        self._tokens = 0
        self._last_prompt = 0
        self._written = 0

    @property
    def seconds_left(self) -> float:
        """Seconds until the time is over; 0 after it."""
        return max(0.0, self._seconds - self._spent)

    @property
    def _spent(self) -> float:
        return self._clock() - self._began

    def record(self, reply: Reply, prompt: int, written: int) -> None:
        """Add the tokens of a turn: the server's counts, or these estimates where it has none."""
        self._last_prompt = prompt if reply.prompt_tokens is None else reply.prompt_tokens
        written = written if reply.completion_tokens is None else reply.completion_tokens
        self._turns += 1
        self._tokens += self._last_prompt + written
        self._written += written

    def out_of_time(self) -> str | None:
        """Return a sentence if the time is over."""
        if self.seconds_left > 0:
            return None
        return f"the run took longer than max_run_s = {self._seconds:g} allows"

    def out_of_tokens(self, prompt: int) -> str | None:
        """Return a sentence if the tokens do not last for a turn with a prompt of this size."""
        if self._after(1, prompt) <= self._max_tokens:
            return None
        return (
            f"the run took {self._tokens} tokens and one more turn about"
            f" {self._after(1, prompt) - self._tokens}, over max_run_tokens = {self._max_tokens}"
        )

    def is_short_of_tokens(self, prompt: int) -> bool:
        """Return whether the tokens do not last for two more turns."""
        return self._after(2, prompt) > self._max_tokens

    def is_short_of_time(self) -> bool:
        """Return whether the time does not last for two more turns like those before."""
        return self._turns > 0 and 2 * self._spent / self._turns > self.seconds_left

    def _after(self, turns: int, prompt: int) -> int:
        """Return the tokens after so many more turns, no prompt shorter than the last one."""
        written = self._written // self._turns if self._turns else 0
        return self._tokens + turns * (max(prompt, self._last_prompt) + written)


@dataclass(slots=True)
class _Conversation(Generic[T]):
    """A conversation under way; `idle` counts the turns in a row without progress.

    `max_turns` becomes less than the limit when tokens run short.
    """

    chat: ChatModel
    dialect: Dialect
    context: Context
    calls: CallRunner
    budget: Budget
    validate_answer: AnswerValidator[T]
    on_event: EventHandler
    limits: Limits
    answer_keys: Sequence[str]
    final_request: Callable[[], FinalRequest] | None
    options: GenerationOptions
    max_turns: int
    turn: int = 0
    idle: int = 0
    last_shown: str = ""

    def run(self) -> Ending[T]:
        try:
            return self.take_turns()
        except ContextFullError as error:
            return self.end(EndedBy.CONTEXT, str(error))
        except ChatError as error:
            if late := self.budget.out_of_time():
                _log.info("the time was over when the model was asked: %s", error)
                return self.end(EndedBy.TIME, late)
            raise

    def take_turns(self) -> Ending[T]:
        while (limit := self.limit_reached()) is None:
            if self.final_request and self.turn + 1 >= self.max_turns:
                return self.force(self.final_request(), self.turns_ended_by(), self.cut_short())
            if ending := self.take_turn():
                return ending
        ended_by, spent = limit
        if self.final_request and self.turn < self.max_turns and not self.budget_reached():
            return self.force(self.final_request(), ended_by, f"{spent}, and ")
        return self.end(ended_by, spent)

    def end(self, ended_by: EndedBy, problem: str) -> Ending[T]:
        if self.turn:
            problem += f"; the last thing said to the model was: {_brief(self.last_shown)}"
        return Ending(self.turn, problem=problem, ended_by=ended_by)

    def limit_reached(self) -> tuple[EndedBy, str] | None:
        # Time is asked last: a replay, which takes none, finds another reason where there is one.
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
        fewer = self.max_turns < self.limits.iterations
        return EndedBy.TOKENS if fewer else EndedBy.ITERATIONS

    def budget_reached(self) -> tuple[EndedBy, str] | None:
        if spent := self.budget.out_of_tokens(self.context.tokens):
            return EndedBy.TOKENS, spent
        late = self.budget.out_of_time()
        return (EndedBy.TIME, late) if late else None

    def cut_short(self) -> str:
        if self.turns_ended_by() is EndedBy.ITERATIONS:
            return ""
        return f"max_run_tokens = {self.limits.max_run_tokens} allows no more turns, and "

    def ask(self, schema: Mapping[str, object] | None = None) -> tuple[Reply, Step]:
        messages, prompt_estimate = self.context.messages(), self.context.tokens
        left = self.budget.seconds_left
        options = replace(self.options, schema=schema, seconds=left if left < math.inf else None)
        reply = ask(self.chat, messages, options)
        self.turn += 1
        self.context.estimate.learn(messages, reply.prompt_tokens)
        written = self.context.estimate.tokens([Message("assistant", reply.content)])
        self.budget.record(reply, prompt_estimate, written)
        self.on_event(ReplyEvent.of(reply, self.turn))
        step = read_step(self.dialect, reply.content, () if schema else self.answer_keys)
        return reply, _unless_cut_off(step, reply, self.dialect)

    def take_turn(self) -> Ending[T] | None:
        reply, step = self.ask()
        if isinstance(step, ToolCall):
            self.remember(step, reply, tuple(self.calls.run(step, self.turn)))
            return None
        if isinstance(step, Unreadable):
            self.on_event(StepEvent("malformed", self.turn, notes=step.notes))
            refusal = step.advice
        else:
            self.on_event(StepEvent("finish", self.turn, notes=step.notes))
            try:
                return Ending(
                    self.turn, self.validate_answer(step.answer, self.turn == self.max_turns)
                )
            except AnswerRefusedError as error:
                refusal = str(error)
        shown = self.calls.show_with_remark(advice(refusal), self.turn)
        self.remember(step, reply, (CallResult(None, shown),))
        return None

    def remember(self, step: Step, reply: Reply, results: tuple[CallResult, ...]) -> None:
        self.idle = 0 if any(each.is_progress for each in results) else self.idle + 1
        newest = results[-1].observation
        self.last_shown = newest.error or newest.content
        act = step if isinstance(step, ToolCall) else None
        self.context.add(Round(_kept_text(step, reply, self.dialect), act, results))
        if self.budget.is_short_of_tokens(self.context.tokens):
            self.max_turns = min(self.max_turns, self.turn + 1)
        left = self.max_turns - self.turn
        closing = _SHORT_OF_TIME if self.budget.is_short_of_time() else f"({left} turns left.)"
        self.context.close(closing if left > 1 else _LAST_TURN)

    def force(self, final_request: FinalRequest, ended_by: EndedBy, spent: str) -> Ending[T]:
        """Ask for the answer alone. The reply is read and judged like any other."""
        if self.turn:
            self.context.close(final_request.request)
        reply, step = self.ask(final_request.schema)
        answer = step.answer if isinstance(step, FinalAnswer) else whole_answer(reply.content)
        kind = "malformed" if answer is None else "finish"
        self.on_event(StepEvent(kind, self.turn, notes=(*step.notes, "asked for the answer alone")))
        try:
            if answer is not None:
                return Ending(self.turn, self.validate_answer(answer, True))  # noqa: FBT003 (no other turn)
            refusal = f"it is no answer: {_brief(repr(reply.content))}"
        except AnswerRefusedError as error:
            refusal = _brief(str(error))
        problem = f"{spent}the forced last answer was refused: {refusal}"
        return Ending(self.turn, problem=problem, ended_by=ended_by)


def _unless_cut_off(step: Step, reply: Reply, dialect: Dialect) -> Step:
    """Return the step of a reply, or `Unreadable` where the token limit cut the step itself."""
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
    try:
        return read_json(answer)[0]
    except LenientJSONError:
        return answer


def stop_after_step(dialect: Dialect) -> StopCheck:
    """Return what stops a reply which invents an observation after a complete step.

    One within a thought, a quotation or an answer changes the step, and so does not stop the reply.
    """
    marks = tuple(filter(None, (each.strip() for each in dialect.stop)))

    def is_end(line: str, text: Callable[[], str]) -> bool:
        if not (line.lstrip().startswith(marks) or begins_observation(line)):
            return False
        before = text()
        step = dialect.parse(before)
        return not isinstance(step, Unreadable) and is_same_step(dialect.parse(before + line), step)

    return is_end


def _kept_text(step: Step, reply: Reply, dialect: Dialect) -> str:
    if isinstance(step, ToolCall) and step.notes:
        return dialect.render(step)
    return bounded(reply.content.strip() or "(nothing)", _MAX_REPLY_CHARS)


def _brief(text: str) -> str:
    return " ".join(text.split())[:200]
