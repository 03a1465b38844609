"""What a report of a library costs: `python tests/benchmarks/bench_library.py`.

The store has golden cases as the rules decided them, each under many paths, with a year in the
tags that is a few years, or a few decades, after the first release.
"""

import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import StoredCase
from chart_binder.jobs.decision import Case
from chart_binder.jobs.library import library_figures
from chart_binder.jobs.listing import listing, read_query
from chart_binder.jobs.pipeline import Pipeline, decide_bundle
from chart_binder.jobs.stored_decisions import NO_RUN, stored_case
from chart_binder.store import open_store
from golden.bundles import CASES

AT_ONCE = 500
LIMITS = {"view s": 10.0, "seconds": 30.0, "MB": 120.0, "kB": 2000.0}
"""For 100,000 decisions."""


def golden_cases() -> list[tuple[EvidenceBundle, Case]]:
    """Return the golden cases with their evidence, as the rules decide them."""
    pipeline = Pipeline(RulesConfig())
    bundles = [read_bundle(line["bundle"]) for line in CASES.values()]
    return [(bundle, decide_bundle(pipeline, bundle)) for bundle in bundles]


def records(rows: int) -> Iterator[StoredCase]:
    """Yield the records of so many files."""
    for number, (bundle, case) in zip(range(rows), itertools.cycle(golden_cases()), strict=False):
        first = case.decision.first_release
        date = str(min(first.year + number % 37, 2026)) if first else "unknown"
        artifact = Artifact(180_000, {"album": f"Album {number // 12}", "date": date})
        made = Case(case.decision, replace(bundle, artifact=artifact), case.verdict)
        path = Path(f"/music/artist {number // 100}/album {number // 12}/{number}.flac")
        record, _, _ = stored_case(made, path, None, NO_RUN)
        yield record, None, None


def main() -> int:
    """Print seconds and memory; return 1 if one is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows: int = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/store.db"
        with open_store(url) as store:
            made = records(rows)
            while some := list(itertools.islice(made, AT_ONCE)):
                store.decisions.put_all(some)
            began = time.perf_counter()
            query = read_query([])
            library_figures(listing(store, query, lambda _: None), query)
            view = time.perf_counter() - began
        page = Path(folder) / "report.html"
        call = [sys.executable, "-m", "chart_binder", "report", "--html", str(page)]
        began = time.perf_counter()
        subprocess.run(call, env=os.environ | {"CANON_STORE__URL": url}, check=True)
        measured = {
            "view s": view,
            "seconds": time.perf_counter() - began,
            "MB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
            "kB": page.stat().st_size / 1000,
        }
    for name, value in measured.items():
        print(f"{name:<8} {value:8.1f} (limit {LIMITS[name]:g})")
    return int(any(value > LIMITS[name] for name, value in measured.items()))


if __name__ == "__main__":
    sys.exit(main())
