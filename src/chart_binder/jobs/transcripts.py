"""Recorded runs: read, replay and compare transcripts; parse single replies of a model."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from chart_binder import errors, plugins
from chart_binder.config import Config, LLMConfig, RulesConfig
from chart_binder.config.load import KEYS_OF_EARLIER_VERSIONS
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import ConfidenceMap
from chart_binder.files import convert_json, decode_json, read_file
from chart_binder.llm.answer import read_answer
from chart_binder.llm.prompt import Prompt, configured_prompt, prompt_numbers
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import AdjudicationResult
from chart_binder.llm.tools import default_tools, with_installed_tools
from chart_binder.react.dialect import Dialect
from chart_binder.react.loop import RefusedError
from chart_binder.react.steps import Act, Finish, Malformed
from chart_binder.react.tools import Toolbox, ToolError
from chart_binder.react.transcript import (
    AnyEvent,
    Exchange,
    Read,
    Replay,
    Result,
    Run,
    Said,
    TranscriptDefectError,
    Turn,
    Watch,
    read_transcript,
    turns,
)

_Options = TypeVar("_Options", bound=BaseModel)
_Part = TypeVar("_Part")

_IDS = ("mb_recording_id", "mb_rg_id", "mb_release_id")
_LIST_ITEM = re.compile(r"\](?=\.)")
_NOT_COMPARED = frozenset(
    {"usage", "transcript", "model_id", "dialect", "prompt_version", "evidence_hash"}
)
"""The fields of a result that are costs, file names, or compared as settings."""
_NOT_HASHED = frozenset(
    {"provenance.fetched_at_utc", "provenance.cache_age_s", "provenance.unread"}
)
"""When the evidence was fetched and what was not read, which its hash leaves out."""


def load_dialect(name: str) -> Dialect:
    """Return a dialect. Raises `PluginError` for one that is not installed."""
    dialect: Dialect = plugins.load("chart_binder.dialects", name)()
    return dialect


@dataclass(frozen=True)
class RecordedRun:
    """The events of a transcript file; `is_cut` if its last line is incomplete."""

    events: tuple[AnyEvent, ...]
    is_cut: bool = False

    @cached_property
    def run(self) -> Run | None:
        """The event that begins the run; a canned transcript has none."""
        return next((event for event in self.events if isinstance(event, Run)), None)

    @cached_property
    def opening(self) -> tuple[Said, ...]:
        """The messages that open the conversation."""
        return tuple(event for event in self.events if isinstance(event, Said))

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the conversation."""
        return tuple(turns(self.events))

    @cached_property
    def readings(self) -> Mapping[int, tuple[Read, ...]]:
        """The second readings by the number of the turn whose answer they were asked for."""
        found: dict[int, tuple[Read, ...]] = {}
        for event in self.events:
            if isinstance(event, Read):
                found[event.iteration] = (*found.get(event.iteration, ()), event)
        return found

    @cached_property
    def result(self) -> dict[str, Any] | None:
        """The result of the run, if it has one."""
        return next((one.result for one in reversed(self.events) if isinstance(one, Result)), None)

    @cached_property
    def outcome(self) -> AdjudicationResult | None:
        """The result as a value, if it can still be read as one."""
        try:
            return convert_json(self.result, AdjudicationResult) if self.result else None
        except msgspec.ValidationError:
            return None

    @cached_property
    def bundle(self) -> EvidenceBundle | None:
        """The evidence of the run, if it was recorded and can still be read."""
        try:
            return read_bundle(self.run.evidence) if self.run and self.run.evidence else None
        except errors.EvidenceError:
            return None

    @cached_property
    def dialect(self) -> Dialect | None:
        """The dialect of the run, if it is installed here."""
        try:
            return load_dialect((self.run and self.run.dialect) or LLMConfig().dialect)
        except errors.PluginError:
            return None

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
    lines = read_file(path).splitlines(keepends=True)
    try:
        events = tuple(read_transcript(lines))
    except TranscriptDefectError as error:
        raise errors.TranscriptError(f"{path}: no transcript: {error}") from error
    if not events:
        raise errors.TranscriptError(f"{path}: no transcript: it holds no whole line")
    return RecordedRun(events, is_cut=len(events) < sum(1 for line in lines if line.strip()))


def replay(path: Path, watch: Watch | None = None) -> AdjudicationResult:
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
    # A forced last turn of an earlier version came after the others.
    turns = max(config.max_iterations, len(recorded.turns))
    adjudicator = ReActAdjudicator(
        config.model_copy(update={"enabled": True, "max_iterations": turns}),
        chat=Replay(recorded.events),
        watch=watch,
        rules_config=_options(RulesConfig, run, "rules", path),
        prompt=_recorded_part(Prompt, run, "prompt", path),
        calibration=_recorded_part(ConfidenceMap, run, "calibration", path),
    )
    return adjudicator.adjudicate(run.evidence)


def _recorded_part(kind: type[_Part], run: Run, key: str, path: Path) -> _Part | None:
    """Return a part that is recorded itself, because its file is not part of the settings."""
    if (recorded := run.options.get(key)) is None:
        return None
    try:
        return convert_json(recorded, kind)
    except (msgspec.ValidationError, errors.ConfigError) as error:
        raise errors.TranscriptError(f"{path}: its {key} is not understood: {error}") from error


def _options(kind: type[_Options], run: Run, key: str, path: Path) -> _Options:
    try:
        return kind.model_validate(_of_today(run.options.get(key) or {}, f"{key}."))
    except ValidationError as error:
        odd = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise errors.TranscriptError(f"{path}: its options are not understood: {odd}") from error


def _of_today(options: object, prefix: str) -> object:
    """Return recorded options without the keys that there were in earlier versions alone."""
    if not isinstance(options, Mapping):
        return options
    return {
        name: _of_today(value, f"{prefix}{name}.")
        for name, value in options.items()
        if f"{prefix}{name}" not in KEYS_OF_EARLIER_VERSIONS
    }


def _flatten(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield each scalar of a nested value with its path, such as `llm.fetch.ports[0]`.

    Items of lists that have a MusicBrainz id have it in their path in place of a number, so that
    the order of candidates does not matter. Null and empty texts are left out.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            ids = (inner.get(key) for key in _IDS) if isinstance(inner, Mapping) else ()
            yield from _flatten(inner, f"{path}[{next(filter(None, ids), number)}]")
    elif value is not None and value != "":
        yield path, value


def _with_items_alone(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    """Return fields of `_flatten`, those of a list item that the other lacks as one with a sum."""
    there = {path[: item.end()] for path in other for item in _LIST_ITEM.finditer(path)}
    fields: dict[str, object] = {}
    alone: Counter[str] = Counter()
    for path, value in one.items():
        items = (path[: item.end()] for item in _LIST_ITEM.finditer(path))
        if outermost := next((item for item in items if item not in there), None):
            alone[outermost] += 1
        else:
            fields[path] = value
    for item, count in alone.items():
        title = one.get(f"{item}.title", "unnamed")
        fields[item] = f"{title} (in this run alone, {errors.counted(count, 'field')})"
    return fields


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs in a part of two runs, `where` in it; `None` is what a run does not have."""

    part: str
    where: str
    a: object
    b: object


@dataclass(frozen=True, slots=True)
class Pair:
    """The numbers of two turns that correspond, or of one that only one run has."""

    a: int | None
    b: int | None
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences of two runs; times, costs, run ids and file names are not compared."""

    before: tuple[Difference, ...]
    turns: tuple[Pair, ...]
    result: tuple[Difference, ...]

    @property
    def departure(self) -> Pair | None:
        """The first turn in which the conversations differ."""
        return next((pair for pair in self.turns if pair.differences), None)

    @property
    def same(self) -> bool:
        """Whether there is no difference at all."""
        return not (self.before or self.result or self.departure)


def compare(a: RecordedRun, b: RecordedRun) -> Comparison:
    """Compare two runs, turn by turn; turns that did the same correspond."""
    before = (
        *_differing("settings", _settings(a.run), _settings(b.run)),
        *_evidence(a.run, b.run),
        *_differing("opening", _opening(a), _opening(b)),
    )
    results = _differing("result", _result(a), _result(b))
    if a.result is None or b.result is None:  # the other fields all differ then
        results = tuple(each for each in results if each.where == "outcome")
    return Comparison(before, tuple(_paired(a, b)), results)


def _differing(
    part: str, a: Mapping[str, object], b: Mapping[str, object]
) -> tuple[Difference, ...]:
    return tuple(
        Difference(part, where, a.get(where), b.get(where))
        for where in {**a, **b}
        if a.get(where) != b.get(where)
    )


def _settings(run: Run | None) -> dict[str, object]:
    if run is None:
        return {}
    named = {key: getattr(run, key) for key in ("model_id", "dialect", "prompt_version", "version")}
    return dict(_flatten(named | run.options))


def _evidence(a: Run | None, b: Run | None) -> tuple[Difference, ...]:
    """Compare the hashes; if they differ, also the hashed fields, if both runs have them."""
    known = [run.evidence_hash if run else "" for run in (a, b)]
    if known[0] == known[1]:
        return ()
    hashes = Difference("evidence", "hash", known[0] or None, known[1] or None)
    if not (a and b and a.evidence and b.evidence):
        return (hashes,)
    one, other = (
        {path: value for path, value in _flatten(each) if path not in _NOT_HASHED}
        for each in (a.evidence | {"artifact": None}, b.evidence | {"artifact": None})
    )
    fields = _with_items_alone(one, other), _with_items_alone(other, one)
    return (hashes, *_differing("evidence", *fields))


def _opening(recorded: RecordedRun) -> dict[str, object]:
    return {f"message {n}, {one.role}": one.content for n, one in enumerate(recorded.opening, 1)}


def _result(recorded: RecordedRun) -> dict[str, object]:
    result = recorded.result or {}
    return dict(_flatten({key: value for key, value in result.items() if key not in _NOT_COMPARED}))


def _paired(a: RecordedRun, b: RecordedRun) -> Iterator[Pair]:
    """Yield the turns in pairs; those that did the same correspond."""
    matcher = SequenceMatcher(None, [*map(_action_text, a.turns)], [*map(_action_text, b.turns)])
    for _, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        for one, other in zip_longest(a.turns[a_from:a_to], b.turns[b_from:b_to]):
            yield Pair(
                one.number if one else None,
                other.number if other else None,
                _differing("turn", _turn_parts(a, one), _turn_parts(b, other)),
            )


def _action_text(turn: Turn) -> str:
    done = [_call(each) for each in turn.exchanges if each.step]
    return repr(done or turn.reply.content)


def _turn_parts(recorded: RecordedRun, turn: Turn | None) -> dict[str, object]:
    if turn is None:
        return {}
    shown: dict[str, object] = {
        "reply": turn.reply.content,
        "thinking": turn.reply.thinking,
        "end of the reply": turn.reply.done_reason,
    }
    for number, exchange in enumerate(turn.exchanges, start=1):
        which = f" {number}" if len(turn.exchanges) > 1 else ""
        step, seen = exchange.step, exchange.observation
        if step:
            shown |= {f"step{which}": _call(exchange), f"notes{which}": list(step.notes)}
        if seen:
            shown[f"observation{which}"] = seen.content
            shown[f"sources{which}"] = list(seen.sources)
            shown[f"failure{which}"] = seen.error
    for number, read in enumerate(recorded.readings.get(turn.number, ()), start=1):
        asked = f"{read.kind} of fact {read.fact + 1}, {read.source}"
        shown[f"second reading {number}"] = f"{read.reading} ({asked})\n{read.content}"
    return {name: value for name, value in shown.items() if value}


def _call(exchange: Exchange) -> str:
    step = exchange.step
    if step is None or step.tool is None:
        return step.kind if step else ""
    return f"{step.tool} {msgspec.json.encode(step.arguments, order='sorted').decode()}"


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
        match self.dialect(reply.dialect).parse(reply.text):
            case Act() as act:
                return self._call(act)
            case Finish(answer=answer, notes=notes) if self._takes_any:
                return ParsedReply("finish", answer=answer, notes=notes)
            case Finish(answer=text, notes=notes):
                return _parsed_answer(text, notes)
            case Malformed(advice=advice, notes=notes):
                return ParsedReply("malformed", problem=advice, notes=notes)

    @cached_property
    def _toolbox(self) -> Toolbox:
        return Toolbox(default_tools(self._config))

    def _call(self, act: Act) -> ParsedReply:
        """Return the first call of a turn; the notes name the others."""
        notes = (*act.notes, *(f"also calls {other.tool}" for other in act.also))
        if self._takes_any:
            given = act.arguments if isinstance(act.arguments, str) else dict(act.arguments)
            return ParsedReply("act", act.tool, given, notes=notes)
        try:
            call = self._toolbox.resolve(act)
        except ToolError as error:
            return ParsedReply("malformed", problem=str(error), notes=notes)
        return ParsedReply("act", call.tool.name, call.arguments, notes=notes)


_CLAIMED = ("about", "field", "value", "quote", "source", "question")
"""What a model says of a fact; the rest of it says how it was verified."""


def _parsed_answer(text: str, notes: tuple[str, ...]) -> ParsedReply:
    try:
        answer = read_answer(text)
    except RefusedError as refusal:
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
    tools = () if config.llm.method == "direct" else default_tools(config.llm)
    system = prompt.render(load_dialect(dialect), tools, values)
    return EffectivePrompt(prompt.name, dialect, system, prompt.question(values))
