"""Writes, reads and replays transcripts: the events of a run, one JSON object a line."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path
from typing import IO, TypeAlias

import msgspec

from chart_binder.react.conversation import ChatError, GenerationOptions, Message, Reply, Role
from chart_binder.react.steps import (
    Document,
    Observation,
    ObservationStatus,
    ToolCall,
)

_log = logging.getLogger(__name__)
_REPLY_FIELDS = tuple(field.name for field in fields(Reply))
_OBSERVATION_FIELDS = tuple(field.name for field in fields(Observation))


class Event(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=False):
    """An event of a run."""


class MessageEvent(Event, frozen=True, tag="message"):
    """An opening message of the conversation."""

    role: Role
    content: str


class ReplyEvent(Event, frozen=True, tag="reply"):
    """A reply of the model. A canned transcript needs only the `content`."""

    content: str
    iteration: int = 0
    thinking: str | None = None
    done_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0

    @classmethod
    def of(cls, reply: Reply, iteration: int) -> "ReplyEvent":
        """Return the event of a reply in a turn."""
        return cls(iteration=iteration, **{name: getattr(reply, name) for name in _REPLY_FIELDS})

    @property
    def reply(self) -> Reply:
        """The reply as the model gave it."""
        return Reply(**{name: getattr(self, name) for name in _REPLY_FIELDS})


class StepEvent(Event, frozen=True, tag="step"):
    """The step of a reply; `kind` is `act`, `finish` or `malformed`.

    A step of `iteration` 0 was made by code before the first reply, and has its `thought`.
    """

    kind: str
    iteration: int = 0
    tool: str | None = None
    arguments: dict[str, object] | str | None = None
    notes: tuple[str, ...] = ()
    thought: str | None = None

    @property
    def call(self) -> ToolCall:
        """The call, as code makes it again before the first reply."""
        return ToolCall(self.tool or "", self.arguments or {}, self.thought or "")


class ObservationEvent(Event, frozen=True, tag="observation"):
    """The observation after a step; `iteration` 0 is before the first reply."""

    content: str
    iteration: int = 0
    sources: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    documents: tuple[Document, ...] = ()
    remark: str | None = None
    status: ObservationStatus = ObservationStatus.OK

    @classmethod
    def of(cls, observation: Observation, iteration: int) -> "ObservationEvent":
        """Return the event of an observation in a turn."""
        values = {name: getattr(observation, name) for name in _OBSERVATION_FIELDS}
        return cls(iteration=iteration, **values)

    @property
    def observation(self) -> Observation:
        """The observation as the model was shown it."""
        return Observation(**{name: getattr(self, name) for name in _OBSERVATION_FIELDS})


EngineEvent: TypeAlias = MessageEvent | ReplyEvent | StepEvent | ObservationEvent
"""The events of the engine; a program may record others among them."""
AnyEvent: TypeAlias = Event
EventHandler: TypeAlias = Callable[[AnyEvent], None]


_ENCODER = msgspec.json.Encoder()


class TranscriptDefectError(ValueError):
    """A line of a transcript cannot be read; the text names the line and what is wrong."""


def record_in(target: IO[bytes] | Path | str) -> EventHandler:
    """Return a handler that writes each event as one line and flushes it.

    `target` is an open binary file, or the path of a new file, which replaces an existing one.
    Raises `OSError`.
    """
    if isinstance(target, str | Path):
        path = Path(target)
        path.write_bytes(b"")

        def append(event: AnyEvent) -> None:
            with path.open("ab") as file:
                file.write(_ENCODER.encode(event) + b"\n")

        return append
    stream = target

    def record(event: AnyEvent) -> None:
        stream.write(_ENCODER.encode(event) + b"\n")
        stream.flush()

    return record


@contextmanager
def record_in_file(path: Path) -> Iterator[EventHandler | None]:
    """Yield a handler that writes events to a new file that only its owner can read.

    The handler is None if the file cannot be created. After the first write error no further event
    is written, and the run goes on. In both cases a warning is logged.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except OSError as error:
        _log.warning("the run is not recorded: %s: %s", path, error.strerror)
        yield None
        return
    record, has_failed = record_in(stream), False

    def on_event(event: AnyEvent) -> None:
        nonlocal has_failed
        if has_failed:
            return
        try:
            record(event)
        except OSError as error:
            has_failed = True
            _log.warning("the record of the run ends here: %s: %s", path, error.strerror)

    try:
        yield on_event
    finally:
        with suppress(OSError):  # closing flushes again what did not fit on a full disk
            stream.close()


def read_transcript(
    lines: Iterable[bytes] | Path | str, kinds: object = EngineEvent
) -> Iterator[AnyEvent]:
    """Yield the events of a transcript, with the iterations that a canned one omits.

    `lines` are the lines of an open binary file, or the path of a file. `kinds` is the
    union of the allowed events. An incomplete last line, as a killed run leaves it, is skipped.
    Raises `TranscriptDefectError`, and `OSError` if a file cannot be read.
    """
    if isinstance(lines, str | Path):
        lines = Path(lines).read_bytes().splitlines(keepends=True)
    decoder = msgspec.json.Decoder[AnyEvent](kinds)
    turn = 0
    defect: TranscriptDefectError | None = None
    for number, line in enumerate(lines, start=1):
        if defect:
            raise defect
        if not line.strip():
            continue
        try:
            event = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            defect = TranscriptDefectError(f"line {number}: {error}")
            # A line that is complete JSON was not cut short, but is not an event.
            if line.endswith(b"\n") or isinstance(error, msgspec.ValidationError):
                raise defect from error
            continue
        turn += isinstance(event, ReplyEvent)
        if getattr(event, "iteration", None) == 0:
            event = msgspec.structs.replace(event, iteration=turn)
        yield event


@dataclass(frozen=True, slots=True)
class Exchange:
    """A step and its observation; in a canned transcript or a killed run either may be missing."""

    step: StepEvent | None = None
    observation: ObservationEvent | None = None

    @property
    def is_call(self) -> bool:
        """Whether both a call and its observation were recorded."""
        return bool(self.step and self.step.kind == "act" and self.observation)

    def observed(self, tool: str) -> Observation:
        """Return the observation, or a note that no result of the tool was recorded."""
        if self.observation is None:
            return Observation(f"(no answer of {tool} was recorded)")
        return self.observation.observation


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """A reply and its exchanges; `number` counts from 1.

    Turn 0 has no reply, but what code looked up before the first one.
    """

    number: int
    reply: ReplyEvent | None
    exchanges: tuple[Exchange, ...]


def turns(events: Iterable[AnyEvent]) -> Iterator[TranscriptTurn]:
    """Yield the turns in order. A reply begins a turn; turn 0 is skipped if it is empty."""
    replies: list[ReplyEvent | None] = [None]
    steps: list[list[StepEvent]] = [[]]
    observations: list[list[ObservationEvent]] = [[]]
    for event in events:
        match event:
            case ReplyEvent():
                replies.append(event)
                steps.append([])
                observations.append([])
            case StepEvent():
                steps[-1].append(event)
            case ObservationEvent():
                observations[-1].append(event)
            case _:
                pass
    for number, reply in enumerate(replies):
        # Steps and observations are both in the order of the calls.
        pairs = zip_longest(steps[number], observations[number])
        exchanges = tuple(Exchange(step, observation) for step, observation in pairs)
        if reply or exchanges:
            yield TranscriptTurn(number, reply, exchanges)


class RecordedCalls:
    """The calls of a recorded run with their results, and the messages that opened it."""

    def __init__(self, events: Iterable[AnyEvent]) -> None:
        events = tuple(events)
        self._exchanges = {
            (turn.number, place): exchange
            for turn in turns(events)
            for place, exchange in enumerate(turn.exchanges)
        }
        self.opening_messages = tuple(
            Message(event.role, event.content)
            for event in events
            if isinstance(event, MessageEvent)
        )

    def opening_calls(self) -> Iterator[ToolCall]:
        """Yield the calls that code made before the first reply."""
        for (turn, _), exchange in self._exchanges.items():
            if turn == 0 and exchange.step:
                yield exchange.step.call

    def exchange(self, turn: int, place: int) -> Exchange:
        """Return what was recorded for call `place` (from 0) of a turn (from 1)."""
        return self._exchanges.get((turn, place), Exchange())


class Replay:
    """A chat model that gives the replies of a transcript again.

    `problem` says why the run ended without an answer; it is raised after the last reply.
    """

    def __init__(
        self, events: Iterable[AnyEvent], model_id: str = "replay", problem: str = ""
    ) -> None:
        self.model_id = model_id
        self._problem = problem
        self._replies = [event.reply for event in events if isinstance(event, ReplyEvent)]

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:  # noqa: ARG002
        """Return the recorded reply of this turn; raise `ChatError` past the last one."""
        turn = sum(message.role == "assistant" for message in messages)
        if turn < len(self._replies):
            return self._replies[turn]
        if self._problem:  # what the model's server said when the run was recorded
            raise ChatError(self._problem)
        raise ChatError(
            f"the transcript ends after reply {len(self._replies)}, before the run does"
        )
