"""How many decisions a second the rules make, beside a trivial loop over the same data.

    python tests/benchmarks/bench_rules.py

Figures are the best of many short runs, taken in turn, so that a busy machine disturbs all alike.
`loop` parses the JSON with the standard library and looks at the status of every release: the
least that any program must do with such a document.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, read_bundle
from chart_binder.domain.verdict import Verdict
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from rules.making import Json, album, compilation, document, record, recording, release

KINDS = ("Single", "Album", "Album+Compilation", "Album+Live")
COUNTRIES = ("GB", "US", "DE", "JP")
KNOBS = RulesConfig()
GOLDEN = Path(__file__).parents[1] / "golden" / "decisions.jsonl"


def evidence(groups: int, releases: int) -> bytes:
    """A bundle in which every release says what MusicBrainz usually knows of it."""
    made = [
        record(
            f"{group:08x}-0000-4000-8000-000000000000",
            KINDS[group % len(KINDS)],
            *(
                release(
                    f"{1950 + group // 12}-{group % 12 + 1:02}-{number % 28 + 1:02}",
                    COUNTRIES[number % len(COUNTRIES)],
                    mb_release_id=f"{group:08x}-0000-4000-8000-{number:012}",
                    title="Sheer Heart Attack",
                    label="EMI",
                    catno=f"EMC {group * releases + number}",
                    format='12" Vinyl',
                )
                for number in range(releases)
            ),
        )
        for group in range(groups)
    ]
    return json.dumps(document(recording(*made))).encode()


def mixed(seed: int) -> bytes:
    """A bundle of 100 groups with 10 releases as uneven as those of a song that everybody knows.

    A quarter of the dates is vague or unknown, a sixth of the releases is not official; so most of
    these cases are open, with the days to be tried that would settle them.
    """
    chance = random.Random(seed)

    def date() -> str | None:
        year, month, day = (chance.randrange(*span) for span in ((1970, 2010), (1, 13), (1, 29)))
        form = chance.choices(("{0}-{1:02}-{2:02}", "{0}-{1:02}", "{0}", None), (75, 8, 12, 5))[0]
        return form and form.format(year, month, day)

    def edition(group: int, number: int) -> Json:
        return release(
            date(),
            chance.choice((*COUNTRIES, None)),
            status=chance.choices(("Official", "Promotion", "Bootleg"), (85, 8, 7))[0],
            mb_release_id=f"{group:08x}-0000-4000-8000-{number:012}",
            catno=f"EMC {group * 10 + number}",
        )

    groups = [
        record(
            f"{group:08x}-0000-4000-8000-000000000000",
            chance.choice((*KINDS, "EP", "Album+Soundtrack", "Album+Compilation")),
            *(edition(group, number) for number in range(10)),
        )
        for group in range(100)
    ]
    return json.dumps(document(recording(*groups))).encode()


def crowds(size: int) -> dict[str, Json]:
    """Evidence in which very many records or releases may each be the first."""
    vague = [compilation(f"C{number}", "1975") for number in range(size)]
    statuses = [album(f"A{number}", release(None, status=None)) for number in range(size)]
    pressings = [
        release("1975-01-01", title=f"A {number}", catno=f"EMI {number}", format="CD")
        for number in range(size)
    ]
    takes = [
        recording(album(f"A{n}", "1975"), mb_recording_id=f"r{n}", length_ms=20_000 * n, isrcs=[])
        for n in range(size)
    ]
    return {
        "vague compilations": document(recording(*vague, album("A", "1980"))),
        "vague albums": document(recording(*(album(f"A{n}", "1975") for n in range(size)))),
        "albums of one day": document(
            recording(*(album(f"A{n}", "1975-01-01") for n in range(size)))
        ),
        "pressings of one day": document(recording(album("A", *pressings))),
        "albums of no status": document(recording(album("A", "1975"), *statuses)),
        "recordings": document(*takes),
    }


def measure_growth(small: int = 500, factor: int = 8) -> None:
    """Print how the cost of one decision grows with the size of such evidence."""
    few, many = crowds(small), crowds(small * factor)
    for name, evidence_of_few in few.items():
        runs: dict[str, Callable[[], object]] = {
            "few": partial(decide_anew, read_bundle(evidence_of_few)),
            "many": partial(decide_anew, read_bundle(many[name])),
        }
        best = best_seconds(runs, 2.0)
        print(
            f"{name:24} {small}: {best['few'] * 1e3:7.1f} ms  {small * factor}:"
            f" {best['many'] * 1e3:7.1f} ms  {best['many'] / best['few']:5.1f} x for {factor} x"
        )


def decide_anew(bundle: EvidenceBundle) -> Verdict:
    """Decide a copy of a bundle, because a bundle keeps what was made of it."""
    return decide(replace(bundle), KNOBS)


def best_seconds(runs: dict[str, Callable[[], object]], seconds: float = 1.5) -> dict[str, float]:
    """Return the shortest time of each, run in turn."""
    best = dict.fromkeys(runs, float("inf"))
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def loop(text: bytes) -> int:
    """What any program must do at least."""
    found = 0
    plain: Any = json.loads(text)
    for one in plain["recording_candidates"]:
        for group in one["rg_candidates"]:
            for edition in group["releases"]:
                if edition["status"] == "Official":
                    found += 1
    return found


def measure(name: str, texts: list[bytes]) -> float:
    """Print the figures for some bundles; return the seconds of one decision."""
    bundles = [read_bundle(text) for text in texts]
    ruled = [(bundle, decide(bundle, KNOBS)) for bundle in bundles]
    best = best_seconds(
        {
            "loop": lambda: [loop(text) for text in texts],
            "parse": lambda: [read_bundle(text) for text in texts],
            "decide": lambda: [decide_anew(bundle) for bundle in bundles],
            "first": lambda: [first_release(*pair, KNOBS) for pair in ruled],
            "both": lambda: [decide(read_bundle(text), KNOBS) for text in texts],
            "hash": lambda: [evidence_hash(bundle) for bundle in bundles],
        }
    )
    each = {step: seconds / len(texts) for step, seconds in best.items()}
    microseconds = "  ".join(f"{step} {seconds * 1e6:7.1f}" for step, seconds in each.items())
    ratio = each["both"] / each["loop"]
    print(f"{name:24} {1 / each['both']:8.0f}/s  {ratio:5.2f} x loop   us: {microseconds}")
    return each["both"]


def main() -> None:
    cases = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
    measure("golden bundles", [json.dumps(case["bundle"]).encode() for case in cases])
    measure("4 groups, 12 releases", [evidence(4, 3)])
    thousand = measure("100 groups x 10", [evidence(100, 10)])
    measure("100 x 10, uneven, open", [mixed(seed) for seed in range(20)])
    ten_thousand = measure("100 groups x 100", [evidence(100, 100)])
    measure("1,000 groups x 10", [evidence(1_000, 10)])
    print(f"ten times the releases cost {ten_thousand / thousand:.1f} times as much")
    measure_growth()


if __name__ == "__main__":
    main()
