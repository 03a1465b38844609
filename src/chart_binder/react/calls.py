"""The calls of a turn: run in order, each once in a run unless it failed, or replayed.

The budget of a run, which may forbid a call, is here too.
"""

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chart_binder.react.conversation import ChatError, Message, Reply, Terms, wrap_plugin_errors
from chart_binder.react.sanitize import bounded, sanitize
from chart_binder.react.steps import Act, Observation
from chart_binder.react.tools import Call, Toolbox, ToolError, is_refusal
from chart_binder.react.transcript import (
    AnyEvent,
    Exchange,
    Observed,
    Replied,
    Result,
    Run,
    Said,
    Stepped,
    Watch,
    turns,
)

_log = logging.getLogger(__name__)

MAX_CALLS: Final = 4
"""Calls run in one turn; the model is told that the rest were not."""
OUT_OF_TIME: Final = "Not run: the time for this run is over."

Clock = Callable[[], float]
Perform = Callable[[Call, int, int], Observation]
"""Runs a call and returns sanitized text, or raises `ToolError`.

The numbers are the turn, from 1, and the call's place in it, from 0.
"""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call of a recorded run: what was called, what was shown, and whether it was progress."""

    tool: str
    arguments: Mapping[str, object] | str
    observation: Observation
    is_progress: bool


Recall = Callable[[int, int], RecordedCall | None]
"""Returns what was recorded of the call at a turn and a place, in place of making it."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What the model is shown for one call, or for a turn without a call.

    `is_progress` is false for what was malformed, refused, repeated or not run.
    """

    call: Act | None
    observation: Observation
    is_progress: bool = False


class Budget:
    """Wall-clock seconds from now on, and tokens of all prompts and replies together.

    Infinite seconds and 0 tokens mean no limit.
    """

    def __init__(
        self, seconds: float = math.inf, tokens: int = 0, clock: Clock = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._max_tokens = tokens
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
        if not self._max_tokens or self._after(1, prompt) <= self._max_tokens:
            return None
        return (
            f"the run took {self._tokens} tokens and one more turn about"
            f" {self._after(1, prompt) - self._tokens}, over max_run_tokens = {self._max_tokens}"
        )

    def is_short_of_tokens(self, prompt: int) -> bool:
        """Return whether the tokens do not last for two more turns."""
        return bool(self._max_tokens) and self._after(2, prompt) > self._max_tokens

    def is_short_of_time(self) -> bool:
        """Return whether the time does not last for two more turns like those before."""
        return self._turns > 0 and 2 * self._spent / self._turns > self.seconds_left

    def _after(self, turns: int, prompt: int) -> int:
        """Return the tokens after so many more turns, no prompt shorter than the last one."""
        written = self._written // self._turns if self._turns else 0
        return self._tokens + turns * (max(prompt, self._last_prompt) + written)


def call_tool(call: Call, turn: int, place: int) -> Observation:  # noqa: ARG001 (a `Perform`)
    """Call the tool itself and time it. Raises `ToolError`, also for any defect of a plug-in."""

    def wrap(error: Exception) -> ToolError:
        _log.warning("tool %r failed", call.tool.name, exc_info=error)
        return ToolError(f"{call.tool.name} failed; try something else")

    started = time.monotonic()
    with wrap_plugin_errors(wrap, ToolError):
        answer = call.run()
    seconds = time.monotonic() - started
    return Observation(sanitize(answer.content), answer.sources, answer.error, seconds)


def advice(text: str) -> Observation:
    """Return the observation for a turn that went wrong."""
    return Observation(text, error=text)


@dataclass(slots=True)
class CallRunner:
    """Runs the calls of a conversation, reports each as an event, remembers what it returned.

    Observations are cut to `max_chars` characters; no call starts when the time is over. A call
    that `recall` knows is taken from the record, whatever tools there are now.
    """

    toolbox: Toolbox
    perform: Perform
    watch: Watch
    max_chars: int
    budget: Budget
    recall: Recall | None = None
    _answers: dict[str, Observation] = field(init=False, default_factory=dict)

    def run(self, act: Act, turn: int) -> Iterator[CallResult]:
        """Yield the result of each call of a turn."""
        for place, each in enumerate(act.calls[:MAX_CALLS]):
            yield self._run_one(each, turn, place)
        rest = act.calls[MAX_CALLS:]
        if rest:
            self.watch(_stepped(rest[0], rest[0].tool, rest[0].arguments, turn))
            which = "This call was" if len(rest) == 1 else f"These {len(rest)} calls were"
            not_run = advice(f"{which} not run: a turn has at most {MAX_CALLS} calls.")
            yield CallResult(rest[0], self.show(not_run, turn))

    def show(self, observation: Observation, turn: int) -> Observation:
        """Report an observation and return it, cut to the length that the model is shown."""
        content = bounded(observation.content, self.max_chars)
        if content is not observation.content:
            observation = replace(observation, content=content)
        self.watch(
            Observed(content, turn, observation.sources, observation.error, observation.seconds)
        )
        return observation

    def _run_one(self, act: Act, turn: int, place: int) -> CallResult:
        if self.recall and (known := self.recall(turn, place)):
            self.watch(_stepped(act, known.tool, known.arguments, turn))
            return CallResult(act, self.show(known.observation, turn), known.is_progress)
        try:
            call = self.toolbox.resolve(act)
        except ToolError as error:
            self.watch(_stepped(act, act.tool, act.arguments, turn))
            return CallResult(act, self.show(advice(str(error)), turn))
        self.watch(_stepped(act, call.tool.name, call.arguments, turn))
        key = call_key(call.tool.name, call.arguments)
        before = self._answers.get(key)
        if before and before.error is None:
            reminder = "You made this very call before; nothing new was looked up. It said:\n"
            again = replace(before, content=reminder + before.content, seconds=0.0)
            return CallResult(act, self.show(again, turn))
        if self.budget.out_of_time():
            return CallResult(act, self.show(advice(OUT_OF_TIME), turn))
        try:
            answer = self.perform(call, turn, place)
        except ToolError as error:
            answer = Observation(sanitize(str(error)), error=str(error))
        # Remembered as it was shown, which is all that a replay knows of it.
        shown = self._answers[key] = self.show(answer, turn)
        # What failed before is tried again, and is progress where it succeeds now.
        return CallResult(act, shown, is_progress=before is None or shown.error is None)


def call_key(tool: str, arguments: object) -> str:
    """Return a key that is the same for two calls that differ by white space alone."""
    return f"{tool} {json.dumps(_normal_space(arguments), sort_keys=True, default=str)}"


def _normal_space(value: object) -> object:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return {key: _normal_space(inner) for key, inner in value.items()}
    return [_normal_space(inner) for inner in value] if isinstance(value, list | tuple) else value


def _stepped(act: Act, tool: str, arguments: Mapping[str, object] | str, turn: int) -> Stepped:
    written = arguments if isinstance(arguments, str) else dict(arguments)
    return Stepped("act", turn, tool, written, act.notes)


class Replay:
    """A chat model that plays the replies of a transcript, and knows what its tools returned."""

    def __init__(self, events: Iterable[AnyEvent], model_id: str = "replay") -> None:
        recorded = tuple(events)
        self._replies = [event.reply for event in recorded if isinstance(event, Replied)]
        exchanges = [
            ((turn.number, place), exchange)
            for turn in turns(recorded)
            for place, exchange in enumerate(turn.exchanges)
        ]
        self._observed = {
            at: seen.observation for at, exchange in exchanges if (seen := exchange.observation)
        }
        self._calls = dict(_recorded_calls(exchanges))
        self._opening = tuple(
            Message(event.role, event.content) for event in recorded if isinstance(event, Said)
        )
        ends = (event.result.get("problem") for event in recorded if isinstance(event, Result))
        self._problem = next((text for text in ends if isinstance(text, str)), None)
        self._is_canned = not any(isinstance(event, Run | Stepped) for event in recorded)
        run = next((event for event in recorded if isinstance(event, Run)), Run())
        self.model_id = run.model_id or model_id
        self._evidence_hash = run.evidence_hash

    def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:  # noqa: ARG002
        """Return the recorded reply of this turn; raise `ChatError` past the last one."""
        turn = sum(message.role == "assistant" for message in messages)
        if turn < len(self._replies):
            return self._replies[turn]
        if self._problem:  # what the model's server said when it was recorded
            raise ChatError(self._problem)
        count = len(self._replies)
        replies = "1 reply" if count == 1 else f"{count} replies"
        raise ChatError(f"the transcript ends after {replies}, before the run does")

    def opening(self, evidence_hash: str) -> tuple[Message, ...]:
        """Return the messages that opened the conversation, if they were about this evidence."""
        return self._opening if self._evidence_hash == evidence_hash else ()

    def recall(self, turn: int, place: int) -> RecordedCall | None:
        """Return what was recorded of a call, if both its step and its observation were."""
        return self._calls.get((turn, place))

    def perform(self, call: Call, turn: int, place: int) -> Observation:
        """Return what was observed at this place of this turn, in place of calling the tool.

        A recording holds what the model was shown; what somebody wrote by hand is sanitized first.
        """
        observed = self._observed.get((turn, place))
        if observed is None:
            return Observation(f"(no answer of {call.tool.name} was recorded)")
        if self._is_canned:
            return replace(observed, content=sanitize(observed.content))
        return observed


def _recorded_calls(
    exchanges: Iterable[tuple[tuple[int, int], Exchange]],
) -> Iterator[tuple[tuple[int, int], RecordedCall]]:
    """Yield turn and place of each recorded call, with the call.

    It was no progress if it was refused, not run for want of time, or made before; but a call that
    had failed before and now succeeded was.
    """
    failed: dict[str, bool] = {}
    for at, exchange in exchanges:
        step, seen = exchange.step, exchange.observation
        if step is None or step.kind != "act" or seen is None:
            continue
        key = call_key(step.tool or "", step.arguments)
        was_run = seen.error is None or not (is_refusal(seen.error) or seen.error == OUT_OF_TIME)
        succeeds_now = failed.get(key, True) and seen.error is None
        is_progress = was_run and (key not in failed or succeeds_now)
        arguments = {} if step.arguments is None else step.arguments
        yield at, RecordedCall(step.tool or "", arguments, seen.observation, is_progress)
        if was_run:
            failed[key] = seen.error is not None
