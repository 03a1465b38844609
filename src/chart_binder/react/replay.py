"""A recorded run answers again, without a model and without a network."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from chart_binder.react.conversation import ChatError, Message, Reply, Terms
from chart_binder.react.inert import inert
from chart_binder.react.tools import Call, Observation
from chart_binder.react.transcript import AnyEvent, Observed, Replied, Result, Run, Stepped


class Replay:
    """A chat model that plays the replies of a transcript and remembers what its tools said."""

    def __init__(self, events: Iterable[AnyEvent], model_id: str = "replay") -> None:
        recorded = tuple(events)
        self._replies = [event.reply for event in recorded if isinstance(event, Replied)]
        self._observed: dict[int, list[Observation]] = {}
        for event in recorded:
            if isinstance(event, Observed):
                self._observed.setdefault(event.iteration, []).append(event.observation)
        ends = (event.result.get("problem") for event in recorded if isinstance(event, Result))
        self._problem = next((text for text in ends if isinstance(text, str)), None)
        self._is_canned = not any(isinstance(event, Run | Stepped) for event in recorded)
        names = (event.model_id for event in recorded if isinstance(event, Run))
        self._model_id = next(filter(None, names), model_id)

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
            raise ChatError(
                f"the transcript ends after {len(self._replies)} replies, before the conversation"
            )
        return self._replies[turn]

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
