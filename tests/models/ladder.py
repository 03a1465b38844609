"""The ladder: how many cases are decided, rightly and wrongly, by chat and reader.

`python tests/models/ladder.py [--chat CHAT] [--reader READER] [--set SET] [--every N] [--only WORD]
[--list]` plays the worlds of this folder, the conversations of `tests/llm/verdicts` and its dated
statements, and prints a line for each set with Wilson intervals of 95 in 100; `--list` adds what
was not decided rightly. README.md says what the columns are.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from llm.verdicts.play import case_of, cases, statements
from models.playing import CHATS, READERS, Played, play, world_of
from models.worlds import SETS, YEAR_SETS, World, worlds

VERDICTS = {"verdicts, right": True, "verdicts, wrong": False}
STATEMENTS = {"statements, release": True, "statements, other": False}
OUTCOMES = ("right", "untold", "wrong", "proposed right", "proposed other", "cannot tell")
_Z = 1.96


def interval(count: int, total: int) -> tuple[float, float]:
    """Return the Wilson interval of a share, in percent."""
    if not total:
        return 0.0, 100.0
    share, spread = count / total, _Z * _Z / total
    middle = share + spread / 2
    wide = _Z * sqrt(share * (1 - share) / total + spread / total / 4)
    low, high = (100 * (middle + way * wide) / (1 + spread) for way in (-1, 1))
    return max(0.0, round(low, 9)), min(100.0, round(high, 9))


def sets(names: Sequence[str] = ()) -> Mapping[str, Sequence[World]]:
    """Return the worlds by the set they are of; those whose name begins with one of `names`."""
    found: dict[str, Sequence[World]] = {}
    for name in (*SETS, *YEAR_SETS):
        for world in worlds(name):
            told = f", told by {world.told_by}" if name in ("right", "year_right") else ""
            found[name + told] = (*found.get(name + told, ()), world)
    for name, is_right in VERDICTS.items():
        found[name] = [world_of(case) for case in cases() if bool(case.wanted) is is_right]
    stated = [case_of(number, each) for number, each in enumerate(statements(), 1)]
    for name, is_release in STATEMENTS.items():
        found[name] = [world_of(case) for case in stated if bool(case.wanted) is is_release]
    return {
        name: each for name, each in found.items() if not names or name.startswith(tuple(names))
    }


def line(name: str, played: Sequence[Played]) -> str:
    """Return what came of a set, as a line of the table."""
    counts = Counter(each.outcome for each in played)
    total = len(played)
    shares = [
        f"{counts[key]:3} ({low:.0f}-{high:.0f})"
        for key in ("right", "wrong")
        for low, high in [interval(counts[key], total)]
    ]
    readings = [each.result.usage.readings for each in played]
    tokens = [each.result.usage.prompt_tokens + each.result.usage.completion_tokens
              for each in played]  # fmt: skip
    costs = (
        f"{median(each.result.iterations for each in played):g}",
        f"{median(each.pages for each in played):g}/{max(each.pages for each in played)}",
        f"{median(readings):g}/{max(readings)}",
        f"{median(tokens):.0f}",
        f"{median(each.seconds for each in played):.1f}",
    )
    rest = [counts[key] for key in OUTCOMES if key not in ("right", "wrong")]
    return _row((name, total, *shares, *rest, *costs))


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


HEAD = _row(
    ("set", "cases", "right", "wrong", "untold", "proposed right", "proposed other", "cannot tell",
     "turns", "pages", "readings", "tokens", "seconds")
)  # fmt: skip


def report(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the table, and behind it what is to be looked at."""
    yield f"chat {options.chat}, reader {options.reader}\n{HEAD}\n{_row(['---'] * 13)}"
    missed: list[Played] = []
    for name, chosen in sets(options.set).items():
        wanted = [each for each in chosen if not options.only or options.only in each.id]
        played = [play(each, options.chat, options.reader) for each in wanted[:: options.every]]
        if played:
            yield line(name, played)
        missed += [each for each in played if each.outcome != "right"]
    for each in missed if options.list else ():
        yield f"{each.outcome:15} {each.world.set}/{each.world.id}: {each.result.problem}"
    for each in missed if options.only else ():
        yield f"\n{each.world.id}: {each.outcome} {each.named}, answer {each.world.answer}"
        for check in each.result.checks:
            yield f"  {check.name} {check.passed}: {check.detail}"
        yield from (f"  {reading}: {asked!r}" for asked, reading in each.asked)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chat", choices=CHATS, default="robot")
    parser.add_argument("--reader", choices=READERS, default="honest")
    parser.add_argument("--set", action="append", default=[], help="a set, or how it begins")
    parser.add_argument("--every", type=int, default=1, help="play every Nth case")
    parser.add_argument("--only", default="", help="cases whose id has this, with their checks")
    parser.add_argument("--list", action="store_true", help="list what was not decided rightly")
    for text in report(parser.parse_args()):
        print(text, flush=True)  # noqa: T201 (a command)


if __name__ == "__main__":
    main()
