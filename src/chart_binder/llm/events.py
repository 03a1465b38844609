"""The transcript of an adjudicator's run: the events about evidence, and a run played again."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

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
"""The `reading` of a second reading that the model's server did not answer."""


class StartEvent(Event, frozen=True, tag="run"):
    """The beginning of a run. `evidence` is its bundle, so that the run can be replayed."""

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

    `kind` is `support` or `contradiction`; `answer` is what the model wrote, from which a replay
    reads anew. In a canned transcript only `reading` is needed.
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
        """What the model answered."""
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
    """The result of the run."""

    result: dict[str, object]


AnyRunEvent: TypeAlias = EngineEvent | StartEvent | ReadingEvent | EvidenceEvent | ResultEvent


def read_run(lines: Iterable[bytes]) -> Iterator[AnyEvent]:
    """Yield the events of a run's transcript, as `read_transcript` does."""
    return read_transcript(lines, AnyRunEvent)


class ReadingScript:
    """Second readings known beforehand, from the `reading` lines of a transcript.

    A question is answered by the first unused line of its kind: first by one with its passage, then
    by one with its source, then by one with neither. If there is no such line, the reading is
    `unclear`.
    """

    def __init__(self, lines: Iterable[ReadingEvent]) -> None:
        self._left = list(lines)

    def reply(self, question: ReadingEvent) -> Reply:
        """Return the reply to a question; raise `ChatError` if the recorded run got none."""

        def fits(line: ReadingEvent) -> tuple[bool, bool] | None:
            same = line.content == question.content, line.source == question.source
            is_other = (line.content and not same[0]) or (line.source and not same[1])
            return None if is_other or line.kind != question.kind else same

        fitting = [(fit, -at) for at, line in enumerate(self._left) if (fit := fits(line))]
        if not fitting:
            return msgspec.structs.replace(question, reading="unclear").reply
        line = self._left.pop(-max(fitting)[1])
        if line.reading == NOT_ANSWERED:
            raise ChatError("the second reading was not answered")
        return line.reply


def scripted_reply(chat: ChatModel, question: ReadingEvent) -> Reply | None:
    """Return the reply that a transcript or a script holds for a second reading.

    Returns None for any other model, which must be asked. Raises `ChatError`.
    """
    script = getattr(chat, "readings", None)
    if isinstance(script, ReadingScript):
        return script.reply(question)
    if not isinstance(chat, Scripted):
        return None
    is_answered = question.kind == "support" and chat.readings
    left = [ReadingEvent(reading=chat.readings.pop(0))] if is_answered else ()
    return ReadingScript(left).reply(question)


class ReplayedRun(Replay):
    """A chat model that plays a run: also its second readings and the records that it looked up."""

    def __init__(self, events: Iterable[AnyEvent], model_id: str = "replay") -> None:
        recorded = tuple(events)
        run = next((event for event in recorded if isinstance(event, StartEvent)), StartEvent())
        ends = (event.result.get("problem") for event in recorded if isinstance(event, ResultEvent))
        # The problem of the answer comes first, what ended the run after it.
        problem = next((end.rpartition("; then ")[2] for end in ends if isinstance(end, str)), "")
        super().__init__(recorded, run.model_id or model_id, problem)
        self.calls = RecordedCalls(recorded)
        self.readings = ReadingScript(
            event for event in recorded if isinstance(event, ReadingEvent)
        )
        self.records = {
            event.record: event for event in recorded if isinstance(event, EvidenceEvent)
        }
        self._evidence_hash = run.evidence_hash
        self._tools = run.options.get("tools")

    def opening(self, evidence_hash: str) -> tuple[Message, ...]:
        """Return the messages that opened the conversation, if they were about this evidence."""
        return self.calls.opening_messages if self._evidence_hash == evidence_hash else ()

    def opening_calls(self) -> Iterator[ToolCall]:
        """Yield the calls that code made before the first reply, as they were recorded."""
        return self.calls.opening_calls()

    def tools_of(self, installed: Collection[str]) -> Collection[str]:
        """Return the names of the tools that the model had, or those installed for a canned run."""
        return self._tools if isinstance(self._tools, list) else installed


def connect(config: "LLMConfig") -> ReplayedRun:
    """Return a model that plays the transcript file `model_id`; raise `ConfigError`."""
    path = Path(config.model_id)
    try:
        lines = read_file(path).splitlines(keepends=True)
        return ReplayedRun(read_run(lines), model_id=path.name)
    except CanonError as error:
        raise ConfigError(f"llm.model_id: {error}") from error
    except TranscriptDefectError as error:
        raise ConfigError(f"llm.model_id: {str(path)!r} is not a transcript: {error}") from error
