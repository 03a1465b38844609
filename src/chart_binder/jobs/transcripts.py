"""Recorded runs: read and replay transcripts; parse single replies of a model."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from chart_binder import errors, plugins
from chart_binder.audio.file_access import AUDIO_SUFFIXES
from chart_binder.config import Config, LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import DecisionRecord
from chart_binder.files import convert_json, decode_json, read_file
from chart_binder.jobs.stored_decisions import path_bytes
from chart_binder.llm.answer import ANSWER_KEYS, read_answer
from chart_binder.llm.events import Playback, ReadingEvent, ResultEvent, StartEvent, read_run
from chart_binder.llm.prompt import Prompt, configured_prompt, prompt_numbers
from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup
from chart_binder.llm.result import AdjudicationResult
from chart_binder.llm.tools import default_tools, turned_off, with_installed_tools
from chart_binder.react.dialect import Dialect, read_step
from chart_binder.react.loop import AnswerRefusedError
from chart_binder.react.steps import FinalAnswer, Step, ToolCall, Unreadable
from chart_binder.react.tools import Toolbox, ToolError, find_tool
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
    """Return a dialect. Raises `PluginError` for one that is not installed."""
    dialect: Dialect = plugins.load("chart_binder.dialects", name)()
    return dialect


@dataclass(frozen=True)
class RecordedRun:
    """The events of a transcript, its evidence and result; `is_cut`: its last line is cut short."""

    events: tuple[AnyEvent, ...]
    bundle: EvidenceBundle | None = None
    outcome: AdjudicationResult | None = None
    is_cut: bool = False

    @cached_property
    def run(self) -> StartEvent | None:
        """The event that begins the run; a canned transcript has none."""
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
        """The second readings by the number of the turn whose answer they were asked for."""
        found: dict[int, tuple[ReadingEvent, ...]] = {}
        for event in self.events:
            if isinstance(event, ReadingEvent):
                found[event.iteration] = (*found.get(event.iteration, ()), event)
        return found

    @cached_property
    def result(self) -> dict[str, Any] | None:
        """The result of the run as recorded, if it has one."""
        return next(
            (one.result for one in reversed(self.events) if isinstance(one, ResultEvent)), None
        )

    @cached_property
    def _dialect(self) -> Dialect | None:
        """The dialect of the run, if it is installed here."""
        try:
            return load_dialect((self.run and self.run.dialect) or LLMConfig().dialect)
        except errors.PluginError:
            return None

    def step(self, reply: str) -> Step | None:
        """Return the step that a reply asks for, or None if the dialect is not installed here."""
        return read_step(self._dialect, reply, ANSWER_KEYS) if self._dialect else None

    @property
    def missing(self) -> str:
        """What an incomplete run lacks, as half a sentence; empty for a complete one."""
        is_live = self.run is not None and self.run.started_at
        unfinished = "no result was recorded: the run was killed, or is still going on"
        lacks = [unfinished] if is_live and self.result is None else []
        lacks += ["its last line is only half written"] if self.is_cut else []
        return "; ".join(lacks)


def read_recording(path: Path) -> RecordedRun:
    """Read a transcript file. Raises `CanonError`."""
    return _recorded_run(read_file(path), path)


def find_recording(open_store: Callable[[], "Store"], name: str) -> RecordedRun:
    """Return the run in a transcript file, or the last one on an audio file or of a decision.

    `name` is a path or a decision's id. Raises `CanonError`.
    """
    path = Path(name)
    is_audio = path.suffix.lower() in AUDIO_SUFFIXES
    if name == "-" or (path.exists() and not is_audio):
        return read_recording(path)
    with open_store() as store:
        by_id = None if path.exists() else store.decisions.by_id(name)
        decisions = (by_id,) if by_id else store.decisions.history(path_bytes(name))
        known = next((kept.transcript_id for kept in decisions if kept.transcript_id), None)
        document = store.transcripts.get(known) if known else None
    if document:
        return _recorded_run(document.document, name)
    if decisions:
        raise errors.TranscriptError(f"{name}: no run is kept: no model was asked about it")
    raise errors.FileError(
        f"{name}: neither a transcript, nor an audio file with a decision, nor a decision's id;"
        " `canon transcript list` lists the runs"
    )


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run that is kept: in a file, with the last decision that it led to, or both."""

    recorded: RecordedRun
    file: Path | None
    decision: DecisionRecord | None


def list_recordings(
    store: "Store", folder: Path, limit: int, unread: Callable[[str], None]
) -> Iterator[ListedRun]:
    """Yield the runs that are kept, the newest first; `unread` is told of those not readable."""
    files = {file.stem: file for file in folder.glob("*.jsonl")}
    decisions = {kept.transcript_id: kept for kept in store.decisions.by_model(limit)}
    # The name of a file begins with when the run began, without colons.
    moments = {name: name for name in files}
    for name, kept in decisions.items():
        if name:
            moments.setdefault(name, kept.decided_at_utc.replace(":", ""))
    for name in sorted(moments, key=lambda name: moments[name], reverse=True)[:limit]:
        file = files.get(name)
        try:
            document = None if file else store.transcripts.get(name)
            if file:
                recorded = read_recording(file)
            elif document:
                recorded = _recorded_run(document.document, name)
            else:
                continue
        except errors.CanonError as error:
            unread(str(error))
            continue
        yield ListedRun(recorded, file, decisions.get(name))


def _recorded_run(document: bytes, path: str | Path) -> RecordedRun:
    lines = document.splitlines(keepends=True)
    try:
        events = tuple(read_run(lines))
    except TranscriptDefectError as error:
        raise errors.TranscriptError(f"{path}: no transcript: {error}") from error
    if not events:
        raise errors.TranscriptError(f"{path}: no transcript: it holds no whole line")
    is_cut = len(events) < sum(1 for line in lines if line.strip())
    recorded = RecordedRun(events, is_cut=is_cut)
    run, result = recorded.run, recorded.result
    try:
        bundle = read_bundle(run.evidence) if run and run.evidence else None
        outcome = convert_json(result, AdjudicationResult) if result else None
    except (errors.EvidenceError, msgspec.ValidationError) as error:
        raise errors.TranscriptError(
            f"{path}: its evidence or its result is not in today's form: {error}; record it again"
        ) from error
    return replace(recorded, bundle=bundle, outcome=outcome)


def replay(path: Path, on_event: EventHandler | None = None) -> AdjudicationResult:
    """Run a recorded conversation again by today's code. Raises `TranscriptError`."""
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
    """Return the prompt of a run, or None if it is the one that its settings ask for."""
    if (sections := run.options.get("prompt")) is None:
        return None
    try:
        return convert_json(sections, Prompt)
    except (msgspec.ValidationError, errors.ConfigError) as error:
        raise errors.TranscriptError(f"{path}: its prompt is not understood: {error}") from error


def _options(kind: type[_Options], run: StartEvent, key: str, path: Path) -> _Options:
    try:
        return kind.model_validate(run.options.get(key) or {})
    except ValidationError as error:
        keys = ", ".join(".".join(map(str, problem["loc"])) for problem in error.errors())
        raise errors.TranscriptError(
            f"{path}: its options are not understood ({key}: {keys}), so it was recorded by another"
            " version of canon: record the run again"
        ) from error


class ReplyToParse(msgspec.Struct, frozen=True):
    """A reply, and the dialect to parse it by."""

    text: str
    dialect: str = "classic"


class ParsedReply(msgspec.Struct, frozen=True):
    """The step in a reply: arguments as the tool would get them, the answer in normal form."""

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
        raise errors.UsageError(f"no reply to read: {error}") from error


class ReplyParser:
    """Parses replies as the adjudicator does, or with `takes_any` by their dialect alone."""

    def __init__(self, config: LLMConfig, *, takes_any: bool = False) -> None:
        self._config = config
        self._takes_any = takes_any
        self.dialect = cache(load_dialect)

    def parse(self, reply: ReplyToParse) -> ParsedReply:
        """Parse a reply. Raises `PluginError` for a dialect that is not installed."""
        keys = () if self._takes_any else ANSWER_KEYS
        match read_step(self.dialect(reply.dialect), reply.text, keys):
            case ToolCall() as act:
                return self._call(act)
            case FinalAnswer(answer=answer, notes=notes) if self._takes_any:
                return ParsedReply("finish", answer=answer, notes=notes)
            case FinalAnswer(answer=text, notes=notes):
                return _parsed_answer(text, notes)
            case Unreadable(advice=advice, notes=notes):
                return ParsedReply("malformed", problem=advice, notes=notes)

    @cached_property
    def _toolbox(self) -> Toolbox:
        return Toolbox(default_tools(self._config))

    def _call(self, act: ToolCall) -> ParsedReply:
        """Return the first call of a turn; the notes name the others."""
        notes = (*act.notes, *(f"also calls {other.tool}" for other in act.further_calls))
        if self._takes_any:
            given = act.arguments if isinstance(act.arguments, str) else dict(act.arguments)
            return ParsedReply("act", act.tool, given, notes=notes)
        try:
            call = self._toolbox.resolve(act)
        except ToolError as error:
            off = turned_off(self._config)
            name = find_tool(act.tool, off)
            why = f" ({name} is installed, and {off[name]} = false turns it off)" if name else ""
            return ParsedReply("malformed", problem=f"{error}{why}", notes=notes)
        return ParsedReply("act", call.tool.name, call.arguments, notes=notes)


_CLAIMED = ("about", "field", "value", "quote", "source", "question")
"""What a model says of a fact; the rest of it says how it was verified."""


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
    """The prompt of every run; `task` follows the evidence."""

    prompt_version: str
    dialect: str
    system: str
    task: str


def effective_prompt(config: Config) -> EffectivePrompt:
    """Return the configured prompt. Raises `ConfigError` and `PluginError`."""
    prompt, dialect = configured_prompt(config.llm.prompt), config.llm.dialect
    values = prompt_numbers(config.llm, config.rules)
    system = prompt.render(load_dialect(dialect), default_tools(config.llm), values)
    return EffectivePrompt(prompt.name, dialect, system, prompt.question(values))
