"""The calls of a turn: run in order, each once in a run unless it failed, or replayed."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from chart_binder.react.conversation import wrap_plugin_errors
from chart_binder.react.sanitize import bounded, sanitize
from chart_binder.react.steps import Act, Observation
from chart_binder.react.tools import OUT_OF_TIME, Call, Toolbox, ToolError, call_key
from chart_binder.react.transcript import Observed, Recall, Stepped, Watch

_log = logging.getLogger(__name__)

MAX_CALLS: Final = 4
"""Calls run in one turn; the model is told that the rest were not."""

Perform = Callable[[Call, int, int], Observation]
"""Runs a call and returns sanitized text, or raises `ToolError`.

The numbers are the turn, from 1, and the call's place in it, from 0.
"""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What the model is shown for one call, or for a turn without a call.

    `is_progress` is false for what was malformed, refused, repeated or not run.
    """

    call: Act | None
    observation: Observation
    is_progress: bool = False


def call_tool(call: Call, turn: int, place: int) -> Observation:  # noqa: ARG001 (a `Perform`)
    """Call the tool itself and time it. Raises `ToolError`, also for any defect of a plug-in."""

    def wrap(error: Exception) -> ToolError:
        _log.warning("tool %r failed", call.tool.name, exc_info=error)
        return ToolError(f"{call.tool.name} failed; try something else")

    started = time.monotonic()
    with wrap_plugin_errors(wrap, ToolError):
        answer = call.run()
    seconds = time.monotonic() - started
    sources = tuple(map(_encodable, answer.sources))
    error = answer.error and _encodable(answer.error)
    return Observation(sanitize(answer.content), sources, error, seconds)


def _encodable(text: str) -> str:
    """Return a text without lone surrogates, which no transcript can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def advice(text: str) -> Observation:
    """Return the observation for a turn that went wrong."""
    return Observation(text, error=text)


@dataclass(slots=True)
class CallRunner:
    """Runs the calls of a conversation, reports each as an event, remembers what it returned.

    Observations are cut to `max_chars` characters; no call starts once `out_of_time` returns a
    sentence. A call that `recall` knows is taken from the record, whatever tools there are now.
    """

    toolbox: Toolbox
    perform: Perform
    watch: Watch
    max_chars: int
    out_of_time: Callable[[], str | None]
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
        if self.out_of_time():
            return CallResult(act, self.show(advice(OUT_OF_TIME), turn))
        try:
            answer = self.perform(call, turn, place)
        except ToolError as error:
            answer = Observation(sanitize(str(error)), error=_encodable(str(error)))
        # Remembered as it was shown, which is all that a replay knows of it.
        shown = self._answers[key] = self.show(answer, turn)
        # What failed before is tried again, and is progress where it succeeds now.
        return CallResult(act, shown, is_progress=before is None or shown.error is None)


def _stepped(act: Act, tool: str, arguments: Mapping[str, object] | str, turn: int) -> Stepped:
    written = arguments if isinstance(arguments, str) else dict(arguments)
    return Stepped("act", turn, tool, written, act.notes)
