"""Runs the calls of a turn: a call becomes an observation, or advice if it cannot be run."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from chart_binder.react.context import CallResult
from chart_binder.react.conversation import encodable, wrap_plugin_errors
from chart_binder.react.sanitize import bounded_observation, sanitize, sanitized_observation
from chart_binder.react.steps import Observation, ObservationStatus, ToolCall
from chart_binder.react.tools import (
    BoundCall,
    ServiceFailedError,
    Toolbox,
    ToolError,
    call_key,
)
from chart_binder.react.transcript import (
    EventHandler,
    Exchange,
    ObservationEvent,
    RecordedCalls,
    StepEvent,
)

_log = logging.getLogger(__name__)

MAX_CALLS: Final = 4
"""The number of calls that run in one turn; the model is told if it made more."""
_OUT_OF_TIME: Final = "Not run: the time for this run is over."

Remark = Callable[[Observation], str]
"""Returns what code adds below an observation; an empty text adds nothing."""


def call_tool(call: BoundCall) -> Observation:
    """Return a tool's observation with its time. Raises `ToolError` for any failure of the tool."""

    def wrap(error: Exception) -> ToolError:
        _log.warning("tool %r failed", call.tool.name, exc_info=error)
        return ToolError(f"{call.tool.name} failed; try something else")

    started = time.monotonic()
    with wrap_plugin_errors(wrap, ToolError):
        observation = call.run()
    return replace(observation, seconds=time.monotonic() - started)


def advice(text: str) -> Observation:
    """Return the observation for a step that was not carried out."""
    return Observation(text, error=text, status=ObservationStatus.REFUSED)


@dataclass(slots=True)
class CallRunner:
    """Runs the calls of a conversation, reports each as an event, and remembers the results.

    Every observation is sanitized, so that it has no label of the protocol and none of
    `reserved_labels`; its text and its documents are each cut to `max_chars` characters. No call is
    run after `is_out_of_time` returns True. The results of a `recording` are used instead of
    running the call. `remark` returns what to add below an observation.
    """

    toolbox: Toolbox
    on_event: EventHandler
    max_chars: int
    is_out_of_time: Callable[[], bool]
    recording: RecordedCalls | None = None
    remark: Remark | None = None
    reserved_labels: frozenset[str] = frozenset()
    _results: dict[str, Observation] = field(init=False, default_factory=dict)

    def run(self, call: ToolCall, turn: int, first_place: int = 0) -> Iterator[CallResult]:
        """Yield the result of each call of a turn; `first_place` is the number of the first call.

        If there are more than `MAX_CALLS`, the last result is advice about those that were not run.
        """
        for place, single_call in enumerate(call.calls[:MAX_CALLS], first_place):
            yield self._run_call(single_call, turn, place)
        for skipped in call.calls[MAX_CALLS : MAX_CALLS + 1]:
            self.on_event(_step_event(skipped, skipped.tool, skipped.arguments, turn))
            not_run = f"Not run, nor any behind it: a turn has at most {MAX_CALLS} calls."
            yield CallResult(skipped, self.show(advice(not_run), turn))

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

    def _run_call(self, call: ToolCall, turn: int, place: int) -> CallResult:
        recorded = self.recording.exchange(turn, place) if self.recording else Exchange()
        if recorded.is_call and recorded.step and recorded.observation:
            return self._recorded_result(call, turn, recorded.step, recorded.observation)
        try:
            bound = self.toolbox.resolve(call, is_by_code=turn == 0)
        except ToolError as error:
            self.on_event(_step_event(call, call.tool, call.arguments, turn))
            return CallResult(call, self.show_with_remark(advice(str(error)), turn))
        annotated = replace(call, notes=call.notes + bound.notes)
        self.on_event(_step_event(annotated, bound.tool.name, bound.arguments, turn))
        key = call_key(bound.tool.name, bound.arguments)
        previous = self._results.get(key)
        if previous and previous.error is None:
            reminder = "You made this call before. It returned:\n"
            repeated = replace(previous, content=reminder + previous.content, seconds=0.0)
            return CallResult(call, self.show_with_remark(repeated, turn))
        if self.is_out_of_time():
            return CallResult(call, self.show(advice(_OUT_OF_TIME), turn))
        result = self.show_with_remark(self._observe(bound, recorded), turn)
        return CallResult(call, result, self._is_progress(key, result))

    def _observe(self, call: BoundCall, recorded: Exchange) -> Observation:
        try:
            if self.recording:
                return self._sanitized(recorded.observed(call.tool.name))
            return self._sanitized(call_tool(call))
        except ToolError as error:
            status, reason = ObservationStatus.FAILED, str(error)
            if isinstance(error, ServiceFailedError):
                status, reason = ObservationStatus.UNAVAILABLE, error.reason
            content = sanitize(str(error), self.reserved_labels)
            return Observation(content, error=encodable(reason), status=status)

    def _sanitized(self, observation: Observation) -> Observation:
        return sanitized_observation(observation, self.reserved_labels)

    def _recorded_result(
        self, call: ToolCall, turn: int, step: StepEvent, event: ObservationEvent
    ) -> CallResult:
        tool, arguments = step.tool or "", {} if step.arguments is None else step.arguments
        annotated = replace(call, notes=step.notes or call.notes)
        self.on_event(_step_event(annotated, tool, arguments, turn))
        # An error may be advice, which contains labels on purpose; it was recorded as shown.
        observation = event.observation
        if not event.error:
            observation = self._sanitized(observation)
        result = self.show(observation, turn)
        is_run = result.status is not ObservationStatus.REFUSED
        is_progress = is_run and self._is_progress(call_key(tool, arguments), result)
        return CallResult(call, result, is_progress)

    def _is_progress(self, key: str, result: Observation) -> bool:
        """Remember a result, and return whether it is the first or the first that succeeded."""
        previous = self._results.get(key)
        self._results[key] = result
        return previous is None or (previous.error is not None and result.error is None)


def _step_event(
    call: ToolCall, tool: str, arguments: Mapping[str, object] | str, turn: int
) -> StepEvent:
    plain = arguments if isinstance(arguments, str) else dict(arguments)
    thought = call.thought if turn == 0 else None
    return StepEvent("act", turn, tool, plain, call.notes, thought)
