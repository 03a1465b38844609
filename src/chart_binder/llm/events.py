"""The transcript of an adjudicator's run: its events, and how a recorded run is played again."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import msgspec

from chart_binder.chat.scripted import Scripted
from chart_binder.errors import CanonError, ConfigError
from chart_binder.files import read_file
from chart_binder.react.conversation import ChatError, ChatModel, Message, Reply
from chart_binder.react.steps import ToolCall
from chart_binder.react.transcript import (
    AnyEvent,
    EngineEvent,
    Event,
    RecordedCalls,
    Replay,
    TranscriptDefectError,
    read_transcript,
)

if TYPE_CHECKING:
    from chart_binder.config import LLMConfig

VERSION = 1
NOT_ANSWERED = ""
"""The `reading` if the model's server did not answer."""


class StartEvent(Event, frozen=True, tag="run"):
    """The beginning of a run; `evidence` is its bundle, with which the run can be replayed."""

    id: str = ""
    started_at: str = ""
    model_id: str = ""
    dialect: str = ""
    prompt_version: str = ""
    evidence_hash: str = ""
    options: dict[str, object] = msgspec.field(default_factory=dict)
    evidence: dict[str, object] | None = None
    version: int = VERSION

    def __post_init__(self) -> None:
        """Raise `ValueError` for a transcript of another version."""
        if self.version != VERSION:
            raise ValueError(f"it is of version {self.version}, and only version {VERSION} is read")


class ReadingEvent(Event, frozen=True, tag="reading"):
    """A second reading of a passage (`content`) for the fact numbered `fact`, from 0.

    `kind` is `support` or `contradiction`. `answer` is what the model wrote; a replay reads it
    again. A canned transcript needs `reading` only.
    """

    iteration: int = 0
    fact: int = 0
    kind: str = "support"
    source: str = ""
    content: str = ""
    answer: str = ""
    reading: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0

    @property
    def reply(self) -> Reply:
        """The answer as a reply; without an `answer`, it is made from the `reading`."""
        tokens = self.prompt_tokens, self.completion_tokens
        answer = self.answer or f'{{"reading": "{self.reading}"}}'
        return Reply(answer, None, "stop", *tokens, self.seconds)


class EvidenceEvent(Event, frozen=True, tag="evidence"):
    """What a record that the model named (`release-group/ID`) adds to the evidence.

    `problem` says why it adds nothing.
    """

    iteration: int = 0
    record: str = ""
    added: dict[str, object] = msgspec.field(default_factory=dict)
    problem: str | None = None


class ResultEvent(Event, frozen=True, tag="result"):
    """The result of the run.

    `interruption` says what ended the run after an answer was sent back; without one, the result's
    `problem` says why there is no answer.
    """

    result: dict[str, object]
    interruption: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def ended_by(self) -> str:
        """What ended the run before an answer was taken; empty if an answer was taken."""
        return self.interruption or str(self.result.get("problem") or "")


AnyRunEvent: TypeAlias = EngineEvent | StartEvent | ReadingEvent | EvidenceEvent | ResultEvent


def read_run(lines: Iterable[bytes]) -> Iterator[AnyEvent]:
    """Yield the events of a run's transcript, as `read_transcript` does."""
    return read_transcript(lines, AnyRunEvent)


class ReadingScript:
    """Second readings from the `reading` lines of a transcript.

    A question is answered by the first unused line of its kind that has no other passage and no
    other source. If there is no such line, the reading is `unclear`.
    """

    def __init__(self, lines: Iterable[ReadingEvent] = ()) -> None:
        self._unused = list(lines)

    def reply(self, question: ReadingEvent) -> Reply:
        """Return the reply to a question. Raises `ChatError` if the recorded run got none."""
        fitting = (
            line
            for line in self._unused
            if line.kind == question.kind
            and line.content in ("", question.content)
            and line.source in ("", question.source)
        )
        line = next(fitting, None)
        if line is None:
            return msgspec.structs.replace(question, reading="unclear").reply
        self._unused.remove(line)
        if line.reading == NOT_ANSWERED:
            raise ChatError("the second reading was not answered")
        return line.reply


@dataclass(frozen=True, slots=True)
class Playback:
    """What a recorded or scripted run holds, used in place of what a live run asks for.

    `chat` plays the replies and `readings` the second readings. `opening_calls` are made before the
    first reply. `records` holds what was found at MusicBrainz; if it is None, MusicBrainz is asked.
    A whole recording also has its `start` and its `calls` with their results.
    """

    chat: ChatModel
    readings: ReadingScript
    opening_calls: tuple[ToolCall, ...] = ()
    records: Mapping[str, EvidenceEvent] | None = None
    calls: RecordedCalls | None = None
    start: StartEvent = field(default_factory=StartEvent)

    @classmethod
    def of(cls, events: Iterable[AnyEvent], model_id: str = "replay") -> "Playback":
        """Return a playback of a transcript; `model_id` is used if the transcript has no start."""
        recorded = tuple(events)
        start = next((event for event in recorded if isinstance(event, StartEvent)), StartEvent())
        endings = (event.ended_by for event in recorded if isinstance(event, ResultEvent))
        calls = RecordedCalls(recorded)
        return cls(
            Replay(recorded, start.model_id or model_id, next(filter(None, endings), "")),
            ReadingScript(event for event in recorded if isinstance(event, ReadingEvent)),
            tuple(calls.opening_calls()),
            {event.record: event for event in recorded if isinstance(event, EvidenceEvent)},
            calls,
            start,
        )

    def opening_about(self, evidence_hash: str) -> tuple[Message, ...]:
        """Return the recorded opening messages if they were about this evidence, else none."""
        if self.calls is None or self.start.evidence_hash != evidence_hash:
            return ()
        return self.calls.opening_messages

    def tool_names(self, installed: Collection[str]) -> Collection[str]:
        """Return the names of the tools that the model had, by default those installed."""
        names = self.start.options.get("tools")
        return names if isinstance(names, list) else installed


@runtime_checkable
class PlayedModel(ChatModel, Protocol):
    """A chat model of a test that has a whole canned run, not only its replies."""

    @property
    def playback(self) -> Playback:
        """What it plays besides its replies."""


def playback_of(chat: ChatModel) -> Playback | None:
    """Return the playback of a scripted or canned model; None for a live model."""
    if isinstance(chat, Scripted):
        readings = (ReadingEvent(reading=reading) for reading in chat.readings)
        return Playback(chat, ReadingScript(readings))
    return chat.playback if isinstance(chat, PlayedModel) else None


def read_playback(config: "LLMConfig") -> Playback:
    """Return the playback of the transcript file `model_id`. Raises `ConfigError`."""
    path = Path(config.model_id)
    try:
        lines = read_file(path).splitlines(keepends=True)
        return Playback.of(read_run(lines), model_id=path.name)
    except CanonError as error:
        raise ConfigError(f"llm.model_id: {error}") from error
    except TranscriptDefectError as error:
        raise ConfigError(f"llm.model_id: {str(path)!r} is not a transcript: {error}") from error


def connect(config: "LLMConfig") -> ChatModel:
    """Return a model that plays the transcript file `model_id`. Raises `ConfigError`."""
    return read_playback(config).chat
