"""A recorded run answers again, without a model and without a network."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from chart_binder.react.calls import OVER, Recorded, identity
from chart_binder.react.conversation import ChatError, Message, Reply, Terms
from chart_binder.react.inert import inert
from chart_binder.react.tools import Call, Observation, is_refusal
from chart_binder.react.transcript import AnyEvent, Observed, Replied, Result, Run, Said, Stepped
from chart_binder.react.turns import Exchange, turns


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
            return replace(seen[place], content=inert(seen[place].content))
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
