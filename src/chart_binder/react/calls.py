"""The calls of a turn are carried out in order, each once in a run unless it failed."""

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chart_binder.react.conversation import ChatError, Message, Reply, Terms, foreign
from chart_binder.react.sanitize import bounded, sanitize
from chart_binder.react.steps import Act
from chart_binder.react.tools import Call, Observation, Toolbox, ToolError, is_refusal
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

Clock = Callable[[], float]


class Budget:
    """Seconds of wall-clock time from now on, and tokens of all prompts and replies together.

    No limit is infinite seconds, 0 tokens.
    """

    def __init__(
        self, seconds: float = math.inf, tokens: int = 0, clock: Clock = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._most_tokens = tokens
        self._clock = clock
        self._began = clock()
        self._turns = 0
        self._tokens = 0
        self._prompt = 0
        self._written = 0

    @property
    def seconds_left(self) -> float:
        """Seconds until the time is over; 0 after it."""
        return max(0.0, self._seconds - self._spent)

    @property
    def _spent(self) -> float:
        return self._clock() - self._began

    def take(self, reply: Reply, prompt: int, written: int) -> None:
        """Take a turn's tokens: as its server counted them, else by these estimates."""
        self._prompt = prompt if reply.prompt_tokens is None else reply.prompt_tokens
        written = written if reply.completion_tokens is None else reply.completion_tokens
        self._turns += 1
        self._tokens += self._prompt + written
        self._written += written

    def out_of_time(self) -> str | None:
        """Return a sentence if the time is over."""
        if self.seconds_left > 0:
            return None
        return f"the run took longer than max_run_s = {self._seconds:g} allows"

    def out_of_tokens(self, prompt: int) -> str | None:
        """Return a sentence if a next turn, with a prompt of so many tokens, is not affordable."""
        if not self._most_tokens or self._after(1, prompt) <= self._most_tokens:
            return None
        return (
            f"the run took {self._tokens} tokens and one more turn about"
            f" {self._after(1, prompt) - self._tokens}, over max_run_tokens = {self._most_tokens}"
        )

    def has_one_turn(self, prompt: int) -> bool:
        """Tell whether the tokens do not last for two more turns."""
        return bool(self._most_tokens) and self._after(2, prompt) > self._most_tokens

    def is_short_of_time(self) -> bool:
        """Tell whether the time left does not last for two more turns like those before."""
        return self._turns > 0 and 2 * self._spent / self._turns > self.seconds_left

    def _after(self, turns: int, prompt: int) -> int:
        """Return the tokens after so many more turns, no prompt shorter than the last one."""
        written = self._written // self._turns if self._turns else 0
        return self._tokens + turns * (max(prompt, self._prompt) + written)


_log = logging.getLogger(__name__)

MOST_CALLS = 4
"""Calls carried out in one turn; the rest are told that they were not."""
OVER = "Not run: the time for this run is over."

Perform = Callable[[Call, int, int], Observation]
"""Runs a call and returns inert text, or raises `ToolError`.

It is told the turn, from 1, and the place in it, from 0.
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call as it was carried out once: what was called, what was shown, whether that led on."""

    tool: str
    arguments: Mapping[str, object] | str
    shown: Observation
    led_on: bool


Recall = Callable[[int, int], Recorded | None]
"""Returns what was recorded of a call, in place of resolving and making it; told as `Perform`."""


def call_live(call: Call, turn: int, place: int) -> Observation:
    """Call the tool itself, its time taken; whatever a plug-in raises is a `ToolError`."""
    del turn, place

    def defect(error: Exception) -> ToolError:
        _log.warning("tool %r failed", call.tool.name, exc_info=error)
        return ToolError(f"{call.tool.name} failed; try something else")

    started = time.monotonic()
    with foreign(defect, ToolError):
        answer = call.run()
    seconds = time.monotonic() - started
    return Observation(sanitize(answer.content), answer.sources, answer.error, seconds)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a call, or of a turn that called nothing; and whether that led on."""

    call: Act | None
    shown: Observation
    led_on: bool


class Calls:
    """Carries calls out, tells each as it happens, and remembers what came of it.

    An observation has at most `most_chars` characters; no call begins when the time is over. What
    `recall` knows is taken as it was, whatever tools there are now.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        perform: Perform,
        watch: Watch,
        most_chars: int,
        budget: Budget,
        recall: Recall | None = None,
    ) -> None:
        self._toolbox = toolbox
        self._perform = perform
        self._watch = watch
        self._most_chars = most_chars
        self._budget = budget
        self._recall = recall
        self._answers: dict[str, Observation] = {}

    def carry_out(self, act: Act, turn: int) -> Iterator[Done]:
        """Yield what came of each call of a turn."""
        for place, each in enumerate(act.calls[:MOST_CALLS]):
            yield self._one(each, turn, place)
        rest = act.calls[MOST_CALLS:]
        if rest:
            self._watch(_stepped(rest[0], rest[0].tool, rest[0].arguments, turn))
            which = "This call was" if len(rest) == 1 else f"These {len(rest)} calls were"
            told = advice(f"{which} not run: a turn has at most {MOST_CALLS} calls.")
            yield Done(rest[0], self.show(told, turn), led_on=False)

    def show(self, seen: Observation, turn: int) -> Observation:
        """Tell what the model is shown, in full length at most."""
        content = bounded(seen.content, self._most_chars)
        shown = seen if content is seen.content else replace(seen, content=content)
        self._watch(Observed(shown.content, turn, shown.sources, shown.error, shown.seconds))
        return shown

    def _one(self, act: Act, turn: int, place: int) -> Done:
        known = self._recall(turn, place) if self._recall else None
        if known:
            self._watch(_stepped(act, known.tool, known.arguments, turn))
            return Done(act, self.show(known.shown, turn), known.led_on)
        return self._made(act, turn, place)

    def _made(self, act: Act, turn: int, place: int) -> Done:
        try:
            call = self._toolbox.resolve(act)
        except ToolError as error:
            self._watch(_stepped(act, act.tool, act.arguments, turn))
            return Done(act, self.show(advice(str(error)), turn), led_on=False)
        self._watch(_stepped(act, call.tool.name, call.arguments, turn))
        key = identity(call.tool.name, call.arguments)
        known = self._answers.get(key)
        if known and known.error is None:
            reminder = "You made this very call before; nothing new was looked up. It said:\n"
            again = replace(known, content=reminder + known.content, seconds=0.0)
            return Done(act, self.show(again, turn), led_on=False)
        if self._budget.out_of_time():
            return Done(act, self.show(advice(OVER), turn), led_on=False)
        try:
            answer = self._perform(call, turn, place)
        except ToolError as error:
            answer = Observation(sanitize(str(error)), error=str(error))
        # As it was shown, so that a replay, which knows no more, remembers the same.
        shown = self.show(answer, turn)
        self._answers[key] = shown
        # What failed before is tried again, and leads on where it now succeeds.
        return Done(act, shown, led_on=known is None or shown.error is None)


def identity(tool: str, arguments: object) -> str:
    """Return what two calls have in common that are the same, but for white space."""
    return f"{tool} {json.dumps(_spaced(arguments), sort_keys=True, default=str)}"


def _spaced(value: object) -> object:
    """Write white space inside of strings as one blank, take it off their ends."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return {key: _spaced(inner) for key, inner in value.items()}
    return [_spaced(inner) for inner in value] if isinstance(value, list | tuple) else value


def advice(text: str) -> Observation:
    """Return what a turn that went wrong is told."""
    return Observation(text, error=text)


def _stepped(act: Act, tool: str, arguments: Mapping[str, object] | str, turn: int) -> Stepped:
    written = arguments if isinstance(arguments, str) else dict(arguments)
    return Stepped("act", turn, tool, written, act.notes)


class Replay:
    """A chat model that plays the replies of a transcript and remembers what its tools said."""

    def __init__(self, events: Iterable[AnyEvent], model_id: str = "replay") -> None:
        recorded = tuple(events)
        self._replies = [event.reply for event in recorded if isinstance(event, Replied)]
        self._observed: dict[int, list[Observation]] = {}
        for event in recorded:
            if isinstance(event, Observed):
                self._observed.setdefault(event.iteration, []).append(event.observation)
        self._calls = {turn.number: tuple(turn.exchanges) for turn in turns(recorded)}
        self._led_on = dict(_leading_on(self._calls))
        self._opening = tuple(
            Message(event.role, event.content) for event in recorded if isinstance(event, Said)
        )
        ends = (event.result.get("problem") for event in recorded if isinstance(event, Result))
        self._problem = next((text for text in ends if isinstance(text, str)), None)
        self._is_canned = not any(isinstance(event, Run | Stepped) for event in recorded)
        run = next((event for event in recorded if isinstance(event, Run)), Run())
        self._model_id = run.model_id or model_id
        self._evidence_hash = run.evidence_hash

    @property
    def model_id(self) -> str:
        """The model that was recorded."""
        return self._model_id

    def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:
        """Return the recorded reply of this turn; raise `ChatError` past the last one."""
        del terms  # what was recorded was cut when it was said
        turn = sum(message.role == "assistant" for message in messages)
        if turn >= len(self._replies):
            if self._problem:  # what the model's server said when it was recorded
                raise ChatError(self._problem)
            count = len(self._replies)
            replies = "1 reply" if count == 1 else f"{count} replies"
            raise ChatError(f"the transcript ends after {replies}, before the run does")
        return self._replies[turn]

    def opening(self, evidence_hash: str) -> tuple[Message, ...]:
        """Return the messages that opened the conversation, if they were about this evidence."""
        return self._opening if self._evidence_hash == evidence_hash else ()

    def recall(self, turn: int, place: int) -> Recorded | None:
        """Return what was recorded of a call, if its step and its observation were."""
        calls = self._calls.get(turn, ())
        if place >= len(calls) or (turn, place) not in self._led_on:
            return None
        step, seen = calls[place].step, calls[place].observation
        if step is None or seen is None:
            return None
        arguments = {} if step.arguments is None else step.arguments
        led_on = self._led_on[turn, place]
        return Recorded(step.tool or "", arguments, seen.observation, led_on)

    def perform(self, call: Call, turn: int, place: int) -> Observation:
        """Return what was observed at this place of this turn, in place of calling the tool.

        What was recorded is as the model was shown it; what somebody wrote by hand is made inert.
        """
        seen = self._observed.get(turn, [])
        if place >= len(seen):
            return Observation(f"(no answer of {call.tool.name} was recorded)")
        if self._is_canned:
            return replace(seen[place], content=sanitize(seen[place].content))
        return seen[place]


def _leading_on(
    calls: dict[int, tuple[Exchange, ...]],
) -> Iterator[tuple[tuple[int, int], bool]]:
    """Yield the turn and the place of each recorded call, with whether it led on.

    One did not that could not be made, or was not for want of time, or was made before; unless it
    had failed, and now did not.
    """
    failed: dict[str, bool] = {}
    for turn, exchanges in calls.items():
        for place, exchange in enumerate(exchanges):
            step, seen = exchange.step, exchange.observation
            if step is None or step.kind != "act" or seen is None:
                continue
            key = identity(step.tool or "", step.arguments)
            is_made = seen.error is None or not (is_refusal(seen.error) or seen.error == OVER)
            succeeds_now = failed.get(key, True) and seen.error is None
            yield (turn, place), is_made and (key not in failed or succeeds_now)
            if is_made:
                failed[key] = seen.error is not None
