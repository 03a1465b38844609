"""Transcripts: the events of one run, one JSON object a line, written and read."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import IO, TypeAlias

import msgspec

from chart_binder.react.conversation import Reply, Role
from chart_binder.react.parsing.lenient_json import MAX_DEPTH, is_deep
from chart_binder.react.steps import Observation

VERSION = 1
_REPLY_FIELDS = tuple(each.name for each in fields(Reply))


class Event(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=False):
    """An event of a run."""


class Run(Event, frozen=True, tag="run"):
    """The beginning of a run. `evidence` is its bundle, so that the run can be replayed."""

    id: str = ""
    started_at: str = ""
    model_id: str = ""
    dialect: str = ""
    prompt_version: str = ""
    evidence_hash: str = ""
    options: dict[str, object] = {}
    evidence: dict[str, object] | None = None
    version: int = VERSION


class Said(Event, frozen=True, tag="message"):
    """An opening message of the conversation."""

    role: Role
    content: str


class Replied(Event, frozen=True, tag="reply"):
    """A reply of the model. In a canned transcript only `content` is needed."""

    content: str
    iteration: int = 0
    thinking: str | None = None
    done_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0

    @classmethod
    def of(cls, reply: Reply, iteration: int) -> "Replied":
        """Return the event of a reply in a turn."""
        return cls(iteration=iteration, **{name: getattr(reply, name) for name in _REPLY_FIELDS})

    @property
    def reply(self) -> Reply:
        """The reply as the model gave it."""
        return Reply(**{name: getattr(self, name) for name in _REPLY_FIELDS})


class Stepped(Event, frozen=True, tag="step"):
    """The step of a reply; `kind` is `act`, `finish` or `malformed`."""

    kind: str
    iteration: int = 0
    tool: str | None = None
    arguments: dict[str, object] | str | None = None
    notes: tuple[str, ...] = ()


class Observed(Event, frozen=True, tag="observation"):
    """The observation that the model was shown after a step."""

    content: str
    iteration: int = 0
    sources: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0

    @property
    def observation(self) -> Observation:
        """The observation as the tool gave it."""
        return Observation(self.content, self.sources, self.error, self.seconds)


class Result(Event, frozen=True, tag="result"):
    """The result of the run."""

    result: dict[str, object]


AnyEvent: TypeAlias = Run | Said | Replied | Stepped | Observed | Result
Watch: TypeAlias = Callable[[AnyEvent], None]


class TranscriptDefectError(ValueError):
    """A line of a transcript cannot be read; the text names the line and the defect."""


def record_in(stream: IO[bytes]) -> Watch:
    """Return a watcher that appends each event to `stream` as one flushed line."""

    def record(event: AnyEvent) -> None:
        stream.write(_ENCODER.encode(event) + b"\n")
        stream.flush()

    return record


def read_transcript(lines: Iterable[bytes]) -> Iterator[AnyEvent]:
    """Yield the events of a transcript, iterations filled in where a canned one leaves them out.

    An incomplete last line, as a killed run leaves it, is skipped. Raises `TranscriptDefectError`.
    """
    turn = 0
    unread: TranscriptDefectError | None = None
    for number, line in enumerate(lines, start=1):
        if unread:
            raise unread
        if not line.strip():
            continue
        try:
            event = _decoded(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            unread = TranscriptDefectError(f"line {number}: {error}")
            # What is whole JSON and still no event was not cut short: it is another document.
            if line.endswith(b"\n") or isinstance(error, msgspec.ValidationError):
                raise unread from error
            continue
        turn += isinstance(event, Replied)
        if isinstance(event, Replied | Stepped | Observed) and not event.iteration:
            event = msgspec.structs.replace(event, iteration=turn)
        yield event


def _decoded(line: bytes) -> AnyEvent:
    """Decode a line, and refuse what is nested deeper than any recorded event."""
    event: AnyEvent = _DECODER.decode(line)
    match event:
        case Stepped():
            free: tuple[object, ...] = (event.arguments,)
        case Run():
            free = (event.options, event.evidence)
        case Result():
            free = (event.result,)
        case _:
            free = ()
    if any(map(is_deep, free)):
        raise msgspec.ValidationError(f"it is nested more than {MAX_DEPTH} deep")
    return event


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(AnyEvent)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A step and what the model was shown for it; a canned or a killed run may lack either."""

    step: Stepped | None = None
    observation: Observed | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply and the exchanges it led to; `number` counts from 1."""

    number: int
    reply: Replied
    exchanges: tuple[Exchange, ...]


def turns(events: Iterable[AnyEvent]) -> Iterator[Turn]:
    """Yield the turns in order. A reply begins a turn; events before the first are left out."""
    replied: list[tuple[Replied, list[Stepped], list[Observed]]] = []
    for event in events:
        if isinstance(event, Replied):
            replied.append((event, [], []))
        elif replied and isinstance(event, Stepped):
            replied[-1][1].append(event)
        elif replied and isinstance(event, Observed):
            replied[-1][2].append(event)
    for number, (reply, steps, shown) in enumerate(replied, start=1):
        # Both are in the order of the calls.
        exchanges = tuple(Exchange(step, seen) for step, seen in zip_longest(steps, shown))
        yield Turn(number, reply, exchanges)
