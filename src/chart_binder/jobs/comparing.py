"""Two recorded runs, held against each other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

import msgspec

from chart_binder.jobs.flattening import flat
from chart_binder.jobs.one_sided import folded
from chart_binder.jobs.recorded import Recorded
from chart_binder.react.transcript import Run
from chart_binder.react.turns import Exchange, Turn


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


def compare(a: Recorded, b: Recorded) -> Comparison:
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


def _opening(recorded: Recorded) -> dict[str, object]:
    said = enumerate(recorded.opening, start=1)
    return {f"message {number}, {each.role}": each.content for number, each in said}


def _result(recorded: Recorded) -> dict[str, object]:
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
