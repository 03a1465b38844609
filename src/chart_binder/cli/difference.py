"""How two recorded runs differ, as lines for a person."""

from collections.abc import Iterator
from difflib import unified_diff
from itertools import islice

import msgspec

from chart_binder.jobs.comparing import Comparison, Difference, Pair

_HEAD = 3
"""How many lines a unified difference begins with, before the first line of text."""
_MOST_LINES = 2_000
"""Above this many lines a text is shown whole: comparing them takes time by the square."""


def comparison_lines(a: str, b: str, comparison: Comparison) -> Iterator[str]:
    """Yield the verdict first, then every difference; `a` and `b` are what the runs are called."""
    yield f"--- {a}"
    yield f"+++ {b}"
    yield _verdict(comparison)
    for difference in comparison.before:
        yield from _shown(f"{difference.part}: {difference.where}", difference)
    for pair in comparison.turns if comparison.departure else ():
        yield from _turn(pair)
    for difference in comparison.result:
        yield from _shown(f"result: {difference.where}", difference)


def comparison_object(comparison: Comparison) -> dict[str, object]:
    """Return the same as plain values, for JSON."""
    first = comparison.departure
    return {
        "same": comparison.same,
        "departure": first and {**_numbers(first), "where": first.differences[0].where},
        "before": msgspec.to_builtins(comparison.before),
        "turns": msgspec.to_builtins(comparison.turns),
        "result": msgspec.to_builtins(comparison.result),
    }


def _verdict(comparison: Comparison) -> str:
    if comparison.same:
        return f"the same in all {len(comparison.turns)} turns"
    first = comparison.departure
    if first:
        return f"different: they part in {_named(first)}, {first.differences[0].where}"
    return f"different, but all {len(comparison.turns)} turns are the same"


def _turn(pair: Pair) -> Iterator[str]:
    name = _named(pair)
    if not pair.differences:
        yield from ("", f"{name}: the same")
    for difference in pair.differences:
        yield from _shown(f"{name}: {difference.where}", difference)


def _named(pair: Pair) -> str:
    if pair.a is None:
        return f"turn {pair.b} of the second run alone"
    if pair.b is None:
        return f"turn {pair.a} of the first run alone"
    return f"turn {pair.a}" if pair.a == pair.b else f"turn {pair.a} and {pair.b}"


def _numbers(pair: Pair) -> dict[str, int | None]:
    return {"a": pair.a, "b": pair.b}


def _shown(title: str, difference: Difference) -> Iterator[str]:
    yield from ("", title)
    a, b = _lines(difference.a), _lines(difference.b)
    if a == b:  # line ends, or a number here and its text there
        a, b = [_json(difference.a)], [_json(difference.b)]
    if max(len(a), len(b)) > _MOST_LINES:
        yield from (f"- {line}" for line in a)
        yield from (f"+ {line}" for line in b)
        return
    for line in islice(unified_diff(a, b, lineterm="", n=1), _HEAD, None):
        yield "  ..." if line.startswith("@@") else f"{line[0]} {line[1:]}"


def _lines(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.splitlines() or [""]
    return [_json(value)]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
