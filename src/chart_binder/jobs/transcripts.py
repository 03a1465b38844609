"""Two recorded runs, held against each other."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from chart_binder import plugins
from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import ConfigError, EvidenceError, PluginError, TranscriptError
from chart_binder.files import read_file
from chart_binder.llm.confidence import ConfidenceMap
from chart_binder.llm.prompt import Prompt
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import AdjudicationResult, counted
from chart_binder.llm.tools import with_installed_tools
from chart_binder.react.calls import Replay
from chart_binder.react.dialect import Dialect
from chart_binder.react.transcript import (
    AnyEvent,
    Exchange,
    Result,
    Run,
    Said,
    TranscriptDefectError,
    Turn,
    Watch,
    read_transcript,
    turns,
)
from chart_binder.typed_json import convert_json


@dataclass(frozen=True)
class RecordedRun:
    """What a transcript file holds; `is_cut` when its last line was only half written."""

    events: tuple[AnyEvent, ...]
    is_cut: bool = False

    @cached_property
    def run(self) -> Run | None:
        """How the run began; a canned transcript does not say."""
        return next((event for event in self.events if isinstance(event, Run)), None)

    @cached_property
    def opening(self) -> tuple[Said, ...]:
        """The messages that opened the conversation."""
        return tuple(event for event in self.events if isinstance(event, Said))

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """What was said and done."""
        return tuple(turns(self.events))

    @cached_property
    def result(self) -> dict[str, Any] | None:
        """What the run came to, if it came to anything."""
        results = (event.result for event in reversed(self.events) if isinstance(event, Result))
        return next(results, None)

    @cached_property
    def outcome(self) -> AdjudicationResult | None:
        """The result as the value it was, if it can still be read as one."""
        try:
            return convert_json(self.result, AdjudicationResult) if self.result else None
        except msgspec.ValidationError:
            return None

    @cached_property
    def bundle(self) -> EvidenceBundle | None:
        """The evidence the run was about, if it was recorded and can still be read."""
        try:
            return read_bundle(self.run.evidence) if self.run and self.run.evidence else None
        except EvidenceError:
            return None

    @cached_property
    def dialect(self) -> Dialect | None:
        """The dialect the model wrote in, if it is installed here."""
        try:
            dialect: Dialect = plugins.load("chart_binder.dialects", self._dialect)()
        except PluginError:
            return None
        return dialect

    @property
    def _dialect(self) -> str:
        return (self.run and self.run.dialect) or LLMConfig().dialect

    @property
    def missing(self) -> str:
        """What a run that did not end lacks, in one sentence; empty for one that did."""
        cut = "its last line is only half written" if self.is_cut else ""
        is_canned = self.run is None or not self.run.started_at
        if self.result is not None or is_canned:
            return cut
        unfinished = "no result was recorded: the run was killed, or is still going on"
        return f"{unfinished}; {cut}" if cut else unfinished


def read_recording(path: Path) -> RecordedRun:
    """Read a transcript file, or raise `CanonError`."""
    lines = read_file(path).splitlines(keepends=True)
    try:
        events = tuple(read_transcript(lines))
    except TranscriptDefectError as error:
        raise TranscriptError(f"{path}: no transcript: {error}") from error
    if not events:
        raise TranscriptError(f"{path}: no transcript: it holds no whole line")
    return RecordedRun(events, is_cut=len(events) < sum(1 for line in lines if line.strip()))


Options = TypeVar("Options", bound=BaseModel)
Part = TypeVar("Part")


def replay(path: Path, watch: Watch | None = None) -> AdjudicationResult:
    """Return what the recorded run comes to today. Raises `TranscriptError`."""
    recorded = read_recording(path)
    run = recorded.run
    if run is None or run.evidence is None:
        raise TranscriptError(
            f"{path}: has no run line with evidence: a canned transcript is played with"
            " llm.provider = replay and llm.model_id = its file"
        )
    config = with_installed_tools(_options(LLMConfig, run, "llm", path))
    adjudicator = ReActAdjudicator(
        config.model_copy(update={"enabled": True}),
        chat=Replay(recorded.events),
        watch=watch,
        knobs=_options(RulesConfig, run, "rules", path),
        prompt=_handed_over(Prompt, run, "prompt", path),
        calibration=_handed_over(ConfidenceMap, run, "calibration", path),
    )
    return adjudicator.adjudicate(run.evidence)


def _handed_over(kind: type[Part], run: Run, key: str, path: Path) -> Part | None:
    """Return a part that is recorded whole, for the configuration does not lead to it."""
    if (recorded := run.options.get(key)) is None:
        return None
    try:
        return convert_json(recorded, kind)
    except (msgspec.ValidationError, ConfigError) as error:
        raise TranscriptError(f"{path}: its {key} is not understood: {error}") from error


def _options(kind: type[Options], run: Run, key: str, path: Path) -> Options:
    try:
        return kind.model_validate(run.options.get(key) or {})
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise TranscriptError(f"{path}: its options are not understood: {told}") from error


_IDS = ("mb_recording_id", "mb_rg_id", "mb_release_id")


def flat(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield each scalar of a nested value with its path, such as `llm.fetch.ports[0]`.

    What has a MusicBrainz id stands under it in place of its number in a list: two bundles that
    list the same candidates in another order are alike. What is null or empty is left out.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from flat(inner, f"{path}[{_named(inner, number)}]")
    elif value is not None and value != "":
        yield path, value


def _named(value: object, number: int) -> str:
    if not isinstance(value, Mapping):
        return str(number)
    ids: Iterable[object] = (value.get(key) for key in _IDS)
    return str(next(filter(None, ids), number))


_MEMBER = re.compile(r"\](?=\.)")
_NAMES = ("title", "first_release_date", "date", "country", "label")
"""What tells a recording, a release group or a release from another, where it is known."""


def folded(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    """Return the first table with each member of a list that the second lacks in one line.

    A table is that of `flat`: `recording_candidates[ID].rg_candidates[ID].title`.
    """
    there = {member for path in other for member in _members(path)}
    alone: dict[str, list[str]] = {}
    rest: dict[str, object] = {}
    for path, value in one.items():
        outermost = next((member for member in _members(path) if member not in there), None)
        if outermost is None:
            rest[path] = value
        else:
            alone.setdefault(outermost, []).append(path)
    return rest | {member: _described(member, paths, one) for member, paths in alone.items()}


def _members(path: str) -> Iterator[str]:
    """Yield the members of lists that a path is in, the outermost first."""
    return (path[: found.end()] for found in _MEMBER.finditer(path))


def _described(member: str, paths: list[str], table: Mapping[str, object]) -> str:
    known = (table.get(f"{member}.{name}") for name in _NAMES)
    named = ", ".join(str(each) for each in known if each)
    return f"{named or 'unnamed'} (in this run alone, {counted(len(paths), 'field')})"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same in both runs; `null` is what a run does not have.

    `part` is settings, evidence, opening, turn or result; `where` names the thing inside it.
    """

    part: str
    where: str
    a: object
    b: object


@dataclass(frozen=True, slots=True)
class Pair:
    """The same turn of two runs, or a turn that only one of them has, by their numbers."""

    a: int | None
    b: int | None
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two runs differ; times, costs, run ids and file names are not compared."""

    before: tuple[Difference, ...]
    turns: tuple[Pair, ...]
    result: tuple[Difference, ...]

    @property
    def departure(self) -> Pair | None:
        """The first turn in which the conversations part."""
        return next((pair for pair in self.turns if pair.differences), None)

    @property
    def same(self) -> bool:
        """Whether there is no difference at all."""
        return not (self.before or self.result or self.departure)


def compare(a: RecordedRun, b: RecordedRun) -> Comparison:
    """Return how two runs differ, turns laid side by side by what they did."""
    before = (
        *_differing("settings", _settings(a.run), _settings(b.run)),
        *_evidence(a.run, b.run),
        *_differing("opening", _opening(a), _opening(b)),
    )
    results = _differing("result", _result(a), _result(b))
    if a.result is None or b.result is None:  # one word says it all
        results = tuple(each for each in results if each.where == "outcome")
    return Comparison(before, tuple(_paired(a.turns, b.turns)), results)


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
    return dict(flat(named | run.options))


def _evidence(a: Run | None, b: Run | None) -> tuple[Difference, ...]:
    """Compare the hashes; where they differ, the hashed fields too, if both have them.

    A candidate or a release that one of the two lacks is one difference.
    """
    known = [run.evidence_hash if run else "" for run in (a, b)]
    if known[0] == known[1]:
        return ()
    hashes = Difference("evidence", "hash", known[0] or None, known[1] or None)
    if not (a and b and a.evidence and b.evidence):
        return (hashes,)
    one, other = _fields(a.evidence), _fields(b.evidence)
    return (hashes, *_differing("evidence", folded(one, other), folded(other, one)))


def _fields(evidence: dict[str, object]) -> dict[str, object]:
    hashed = {key: value for key, value in evidence.items() if key != "artifact"}
    return {path: value for path, value in flat(hashed) if path not in _FETCHING}


def _opening(recorded: RecordedRun) -> dict[str, object]:
    said = enumerate(recorded.opening, start=1)
    return {f"message {number}, {each.role}": each.content for number, each in said}


def _result(recorded: RecordedRun) -> dict[str, object]:
    result = recorded.result or {}
    return dict(flat({key: value for key, value in result.items() if key not in _TOLD_ELSEWHERE}))


def _paired(a: tuple[Turn, ...], b: tuple[Turn, ...]) -> Iterator[Pair]:
    """Lay turns side by side: those that did the same belong together."""
    matcher = SequenceMatcher(None, [_deed(turn) for turn in a], [_deed(turn) for turn in b])
    for _, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        for one, other in zip_longest(a[a_from:a_to], b[b_from:b_to]):
            yield Pair(
                one.number if one else None,
                other.number if other else None,
                _differing("turn", _shown(one), _shown(other)),
            )


def _deed(turn: Turn) -> str:
    """Return what a turn did; of a canned one only what was said is known."""
    done = [_call(each) for each in turn.exchanges if each.step]
    return repr(done) if done else repr(turn.reply and turn.reply.content)


def _shown(turn: Turn | None) -> dict[str, object]:
    """Return what can be compared of a turn, by name."""
    if turn is None or turn.reply is None:
        return {}
    shown: dict[str, object] = {
        "reply": turn.reply.content,
        "thinking": turn.reply.thinking,
        "end of the reply": turn.reply.done_reason,
    }
    for number, exchange in enumerate(turn.exchanges, start=1):
        which = f" {number}" if len(turn.exchanges) > 1 else ""
        shown |= {f"{name}{which}": value for name, value in _exchanged(exchange)}
    return {name: value for name, value in shown.items() if value}


def _exchanged(exchange: Exchange) -> Iterator[tuple[str, object]]:
    step, seen = exchange.step, exchange.observation
    if step:
        yield "step", _call(exchange)
        yield "notes", list(step.notes)
    if seen:
        yield "observation", seen.content
        yield "sources", list(seen.sources)
        yield "failure", seen.error


def _call(exchange: Exchange) -> str:
    step = exchange.step
    if step is None or step.tool is None:
        return step.kind if step else ""
    return f"{step.tool} {msgspec.json.encode(step.arguments, order='sorted').decode()}"


_TOLD_ELSEWHERE = frozenset(
    {"usage", "transcript", "model_id", "dialect", "prompt_version", "evidence_hash"}
)
"""What of a result is a cost, a place, or a setting."""
_FETCHING = frozenset({"provenance.fetched_at_utc", "provenance.cache_age_s"})
"""When the evidence was fetched, which the hash leaves out as it does the file's own tags."""
