"""Read and replay transcripts of the adjudicator's runs, and parse single replies of a model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from chart_binder import errors, plugins
from chart_binder.audio.open_file import AUDIO_SUFFIXES
from chart_binder.config import Config, LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import DecisionRecord
from chart_binder.files import convert_json, decode_json, read_file
from chart_binder.jobs.stored_decisions import path_bytes
from chart_binder.llm.answer import ANSWER_KEYS, read_answer
from chart_binder.llm.events import Playback, ReadingEvent, ResultEvent, StartEvent, read_run
from chart_binder.llm.prompt import Prompt, configured_prompt, prompt_settings
from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup
from chart_binder.llm.result import AdjudicationResult
from chart_binder.llm.tools import default_tools, with_installed_tools
from chart_binder.react.dialect import Dialect, read_step
from chart_binder.react.loop import AnswerRefusedError
from chart_binder.react.steps import FinalAnswer, Step, ToolCall, Unreadable
from chart_binder.react.tools import Toolbox, ToolError
from chart_binder.react.transcript import (
    AnyEvent,
    EventHandler,
    MessageEvent,
    TranscriptDefectError,
    TranscriptTurn,
    turns,
)
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import year_case

if TYPE_CHECKING:
    from chart_binder.store import Store

_Options = TypeVar("_Options", bound=BaseModel)


def load_dialect(name: str) -> Dialect:
    """Return a dialect. Raises `PluginError` if it is not installed."""
    dialect: Dialect = plugins.load("chart_binder.dialects", name)()
    return dialect


@dataclass(frozen=True)
class RecordedRun:
    """The events, evidence and result of a transcript; `is_cut`: its last line is incomplete."""

    events: tuple[AnyEvent, ...]
    bundle: EvidenceBundle | None = None
    result: AdjudicationResult | None = None
    is_cut: bool = False

    @cached_property
    def run(self) -> StartEvent | None:
        """The event that begins the run; None in a canned transcript."""
        return next((event for event in self.events if isinstance(event, StartEvent)), None)

    @cached_property
    def opening(self) -> tuple[MessageEvent, ...]:
        """The messages that open the conversation."""
        return tuple(event for event in self.events if isinstance(event, MessageEvent))

    @cached_property
    def turns(self) -> tuple[TranscriptTurn, ...]:
        """The turns of the conversation."""
        return tuple(turns(self.events))

    @cached_property
    def readings(self) -> Mapping[int, tuple[ReadingEvent, ...]]:
        """The second readings by the number of the turn whose answer they checked."""
        readings: dict[int, tuple[ReadingEvent, ...]] = {}
        for event in self.events:
            if isinstance(event, ReadingEvent):
                readings[event.iteration] = (*readings.get(event.iteration, ()), event)
        return readings

    @cached_property
    def result_document(self) -> dict[str, Any] | None:
        """The result as it was recorded, if there is one."""
        results = (
            event.result for event in reversed(self.events) if isinstance(event, ResultEvent)
        )
        return next(results, None)

    @cached_property
    def _dialect(self) -> Dialect | None:
        """The dialect of the run, if it is installed here."""
        try:
            return load_dialect((self.run and self.run.dialect) or LLMConfig().dialect)
        except errors.PluginError:
            return None

    def step(self, reply: str) -> Step | None:
        """Return the step in a reply, or None if the dialect is not installed here."""
        return read_step(self._dialect, reply, ANSWER_KEYS) if self._dialect else None

    @property
    def missing(self) -> str:
        """What the transcript lacks, as part of a sentence; empty if it is complete."""
        is_live = self.run is not None and self.run.started_at
        unfinished = "no result was recorded: the run was killed, or is still going on"
        defects = [unfinished] if is_live and self.result_document is None else []
        defects += ["its last line is only half written"] if self.is_cut else []
        return "; ".join(defects)


def read_recording(path: Path) -> RecordedRun:
    """Read a transcript file. Raises `CanonError`."""
    return _recorded_run(read_file(path), path)


def find_recording(open_store: Callable[[], "Store"], name: str) -> RecordedRun:
    """Return the run in a transcript file, of a decision, or the last run on an audio file.

    `name` is a path, or the id of a decision. Raises `CanonError`.
    """
    path = Path(name)
    is_audio = path.suffix.lower() in AUDIO_SUFFIXES
    if name == "-" or (path.exists() and not is_audio):
        return read_recording(path)
    with open_store() as store:
        by_id = None if path.exists() else store.decisions.by_id(name)
        decisions = (by_id,) if by_id else store.decisions.history(path_bytes(name))
        if decisions:
            return stored_recording(store, decisions, name)
    raise errors.FileError(
        f"{name}: neither a transcript, nor an audio file with a decision, nor a decision's id;"
        " `canon transcript list` lists the runs"
    )


def stored_recording(store: "Store", decisions: Sequence[DecisionRecord], name: str) -> RecordedRun:
    """Return the run of the first decision that has one. Raises `CanonError`."""
    transcript_ids = (record.transcript_id for record in decisions if record.transcript_id)
    transcript_id = next(transcript_ids, None)
    transcript = store.transcripts.get(transcript_id) if transcript_id else None
    if transcript is None:
        raise errors.TranscriptError(
            f"{name}: no run is stored, because no model was asked about it"
        )
    return _recorded_run(transcript.document, name)


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A stored run, with its file, the last decision that it led to, or both."""

    recorded: RecordedRun
    file: Path | None
    decision: DecisionRecord | None


def list_recordings(
    store: "Store", folder: Path, limit: int, on_unreadable: Callable[[str], None]
) -> Iterator[ListedRun]:
    """Yield the stored runs, newest first; pass errors of unreadable ones to `on_unreadable`."""
    files = {file.stem: file for file in folder.glob("*.jsonl")}
    decisions = {record.transcript_id: record for record in store.decisions.by_model(limit)}
    # The name of a file begins with the time at which the run began, without colons.
    moments = {name: name for name in files}
    for name, record in decisions.items():
        if name:
            moments.setdefault(name, record.decided_at_utc.replace(":", ""))
    for name in sorted(moments, key=lambda name: moments[name], reverse=True)[:limit]:
        file = files.get(name)
        try:
            transcript = None if file else store.transcripts.get(name)
            if file:
                recorded = read_recording(file)
            elif transcript:
                recorded = _recorded_run(transcript.document, name)
            else:
                continue
        except errors.CanonError as error:
            on_unreadable(str(error))
            continue
        yield ListedRun(recorded, file, decisions.get(name))


def _recorded_run(document: bytes, path: str | Path) -> RecordedRun:
    lines = document.splitlines(keepends=True)
    try:
        events = tuple(read_run(lines))
    except TranscriptDefectError as error:
        raise errors.TranscriptError(f"{path}: not a transcript: {error}") from error
    if not events:
        raise errors.TranscriptError(f"{path}: not a transcript: it has no complete line")
    is_cut = len(events) < sum(1 for line in lines if line.strip())
    recorded = RecordedRun(events, is_cut=is_cut)
    run, recorded_result = recorded.run, recorded.result_document
    try:
        bundle = read_bundle(run.evidence) if run and run.evidence else None
        result = convert_json(recorded_result, AdjudicationResult) if recorded_result else None
    except (errors.EvidenceError, msgspec.ValidationError) as error:
        raise errors.TranscriptError(
            f"{path}: this version cannot read its evidence or result: {error}; record it again"
        ) from error
    return replace(recorded, bundle=bundle, result=result)


def replay(path: Path, on_event: EventHandler | None = None) -> AdjudicationResult:
    """Play a recorded conversation again with the present code. Raises `TranscriptError`."""
    recorded = read_recording(path)
    run = recorded.run
    if run is None or run.evidence is None:
        raise errors.TranscriptError(
            f"{path}: has no run line with evidence, so nothing can be compared: a canned"
            " transcript is played by canon decide, with llm.provider = replay and llm.model_id ="
            " its file"
        )
    config = with_installed_tools(_options(LLMConfig, run, "llm", path))
    rules = _options(RulesConfig, run, "rules", path)
    setup = RunSetup(
        on_event=on_event,
        rules=rules,
        prompt=_recorded_prompt(run, path),
        reads_prose=run.options.get("reads_prose") is not False,
    )
    adjudicator = ReActAdjudicator(
        config.model_copy(update={"enabled": True}),
        setup=setup,
        playback=Playback.of(recorded.events),
    )
    trace = None
    if recorded.bundle and run.options.get("asks") == "year":
        trace = year_case(recorded.bundle, decide(recorded.bundle, rules), rules)
    return adjudicator.adjudicate(run.evidence, trace)


def _recorded_prompt(run: StartEvent, path: Path) -> Prompt | None:
    """Return the recorded prompt of a run, or None if its settings determine it."""
    if (sections := run.options.get("prompt")) is None:
        return None
    try:
        return convert_json(sections, Prompt)
    except (msgspec.ValidationError, errors.ConfigError) as error:
        raise errors.TranscriptError(f"{path}: its prompt cannot be read: {error}") from error


def _options(kind: type[_Options], run: StartEvent, key: str, path: Path) -> _Options:
    try:
        return kind.model_validate(run.options.get(key) or {})
    except ValidationError as error:
        keys = ", ".join(".".join(map(str, problem["loc"])) for problem in error.errors())
        raise errors.TranscriptError(
            f"{path}: its options cannot be read ({key}: {keys}), because another version of canon"
            " recorded it: record the run again"
        ) from error


class ReplyToParse(msgspec.Struct, frozen=True):
    """A reply with its dialect."""

    text: str
    dialect: str = "classic"


class ParsedReply(msgspec.Struct, frozen=True):
    """The step in a reply, with the arguments for the tool or the answer in normal form."""

    kind: str
    tool: str | None = None
    arguments: dict[str, Any] | str | None = None
    answer: dict[str, Any] | str | None = None
    problem: str | None = None
    notes: tuple[str, ...] = ()


def read_reply_line(line: bytes | str) -> ReplyToParse:
    """Read one JSON line. Raises `UsageError`."""
    try:
        return decode_json(line, ReplyToParse)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise errors.UsageError(f"not a reply: {error}") from error


class ReplyParser:
    """Parses replies as the adjudicator does; if it `takes_any`, every tool call and answer."""

    def __init__(self, config: LLMConfig, *, takes_any: bool = False) -> None:
        self._config = config
        self._takes_any = takes_any
        self.dialect = cache(load_dialect)

    def parse(self, reply: ReplyToParse) -> ParsedReply:
        """Parse a reply. Raises `PluginError` if its dialect is not installed."""
        keys = () if self._takes_any else ANSWER_KEYS
        match read_step(self.dialect(reply.dialect), reply.text, keys):
            case ToolCall() as call:
                return self._parsed_call(call)
            case FinalAnswer(answer=answer, notes=notes) if self._takes_any:
                return ParsedReply("finish", answer=answer, notes=notes)
            case FinalAnswer(answer=text, notes=notes):
                return _parsed_answer(text, notes)
            case Unreadable(advice=advice, notes=notes):
                return ParsedReply("malformed", problem=advice, notes=notes)

    @cached_property
    def _toolbox(self) -> Toolbox:
        return Toolbox(default_tools(self._config))

    def _parsed_call(self, call: ToolCall) -> ParsedReply:
        """Return the first call of a turn; the notes name its further calls."""
        notes = (*call.notes, *(f"also calls {further.tool}" for further in call.further_calls))
        if self._takes_any:
            arguments = call.arguments if isinstance(call.arguments, str) else dict(call.arguments)
            return ParsedReply("act", call.tool, arguments, notes=notes)
        try:
            resolved = self._toolbox.resolve(call)
        except ToolError as error:
            return ParsedReply("malformed", problem=str(error), notes=notes)
        return ParsedReply("act", resolved.tool.name, resolved.arguments, notes=notes)


_CLAIMED = ("about", "field", "value", "quote", "source", "question")
"""The fields of a fact that a model states; the other fields tell how it was verified."""


def _parsed_answer(text: str, notes: tuple[str, ...]) -> ParsedReply:
    try:
        answer = read_answer(text)
    except AnswerRefusedError as refusal:
        return ParsedReply("malformed", problem=str(refusal), notes=notes)
    parsed = {
        "crg_mbid": answer.crg,
        "rr_mbid": answer.rr,
        "confidence": answer.confidence,
        "rationale": answer.rationale,
        "facts": [{key: getattr(fact, key) for key in _CLAIMED} for fact in answer.facts],
    }
    return ParsedReply("finish", answer=parsed, notes=notes + answer.notes)


@dataclass(frozen=True, slots=True)
class EffectivePrompt:
    """The prompt of every run; its `task` follows the evidence."""

    prompt_version: str
    dialect: str
    system: str
    task: str


def effective_prompt(config: Config) -> EffectivePrompt:
    """Return the configured prompt. Raises `ConfigError` and `PluginError`."""
    prompt, dialect = configured_prompt(config.llm.prompt), config.llm.dialect
    values = prompt_settings(config.llm, config.rules)
    system = prompt.render(load_dialect(dialect), default_tools(config.llm), values)
    return EffectivePrompt(prompt.name, dialect, system, prompt.question(values))
