"""The calls of a turn are carried out in order, each once in a run unless it failed."""

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from chart_binder.react.budget import Budget
from chart_binder.react.foreign import foreign
from chart_binder.react.inert import bounded, inert
from chart_binder.react.steps import Act
from chart_binder.react.tools import Call, Observation, Toolbox, ToolError
from chart_binder.react.transcript import Observed, Stepped, Watch

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
    return Observation(inert(answer.content), answer.sources, answer.error, seconds)


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
            answer = Observation(inert(str(error)), error=str(error))
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
