"""A large library in a batch, and slow services: `python tests/benchmarks/bench_batch.py`.

`size` decides N tiny files by rules on kept evidence (`--frozen`, with other rules than those they
were decided by), and prints files a second and the peak memory of the process, for 1,000 files and
for N (100,000), each in a process of its own. `bound` has MusicBrainz answer R requests a second
and a model that takes S seconds a reply, C at once, with a tenth of the files open, and prints how
near the whole comes to the longer of the two alone: the figures of the issue (1/s, 5 s, 4 at once)
at a tenth of their time.
"""

import argparse
import copy
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.batch import BatchOptions, run_batch
from chart_binder.config import (
    BatchConfig,
    Config,
    LLMConfig,
    MusicBrainzConfig,
    RulesConfig,
    SearxngConfig,
    StoreConfig,
)
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import RunRecord, new_id, now_utc
from chart_binder.jobs.pipeline import Pipeline, decide_bundle
from chart_binder.jobs.stored_decisions import RunVersions, rules_version, stored_case
from chart_binder.store import open_store
from golden.bundles import CASES, golden
from integration.services import file_of
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn

AN_ALBUM = 12
DISTINCT = 2_000
"""Bundles of evidence that the files share."""


def make_library(folder: Path, files: int, config: Config) -> None:
    """Make tiny files, each decided before by other rules, on evidence that is kept."""
    before = RulesConfig(lead_window_days=config.rules.lead_window_days + 1)
    under = RunVersions(new_id(), rules_version(before))
    names = list(CASES)
    with open_store(config.store.url) as store:
        store.runs.begin(RunRecord(id=under.run_id, command="batch", started_at_utc=now_utc()))
        cases = []
        for number in range(min(DISTINCT, files)):
            bundle = golden(names[number % len(names)])
            bundle["recording_candidates"][0]["length_ms"] = 100_000 + number
            cases.append(decide_bundle(Pipeline(before), read_bundle(bundle)))
        held = []
        for number in range(files):
            album = folder / f"{number // AN_ALBUM:05}"
            if number % AN_ALBUM == 0:
                album.mkdir(parents=True)
            file = album / f"{number % AN_ALBUM:02}.flac"
            file.write_bytes(b"tiny")
            held.append(stored_case(cases[number % len(cases)], file, file.stat(), under))
            if len(held) == 5_000:
                store.decisions.put_all(held)
                held = []
        store.decisions.put_all(held)


def size(files: int) -> None:
    """Decide a library of this size in this process, and print what it took."""
    with tempfile.TemporaryDirectory() as place:
        config = Config(store=StoreConfig(url=f"sqlite:///{place}/store.db"))
        made = subprocess.run(
            [sys.executable, __file__, "make", str(files), place], check=True, stdout=sys.stderr
        )
        del made
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        started = time.monotonic()
        found = run_batch([Path(place) / "music"], config, BatchOptions(frozen=True))
        taken_s = time.monotonic() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        assert found.measures.files == files
        print(json.dumps({
            "files": files, "seconds": round(taken_s, 1), "files_per_s": round(files / taken_s),
            "MB_before": round(before), "MB_peak": round(peak),
            "states": dict(found.measures.states),
        }))  # fmt: skip


def bound(files: int, rate: float, reply_s: float, at_once: int) -> None:
    """Decide a library against slow services, and print the time beside the bound."""
    sure, unsure = golden("lead-hanae"), golden("queen-wwry")
    bundles = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "music"
        for number in range(files):
            bundle = copy.deepcopy(unsure if number % 10 == 0 else sure)
            recording = bundle["recording_candidates"][0]
            recording["mb_recording_id"] = f"00000000-0000-4000-8000-{number:012}"
            recording["length_ms"] = 300_000 + number
            bundles.append(bundle)
            (folder / str(number // AN_ALBUM)).mkdir(parents=True, exist_ok=True)
            file_of(bundle, folder / str(number // AN_ALBUM), f"{number}.flac")
        answer = '{"crg_mbid": null, "rr_mbid": null, "confidence": 0.1, "rationale": "no"}'

        def reply(_: object) -> str:
            time.sleep(reply_s)
            return f"Final Answer:\n```json\n{answer}\n```"

        with MusicBrainzStandIn(bundles) as mb, OllamaStandIn(reply) as model:
            config = Config(
                store=StoreConfig(url=f"sqlite:///{place}/store.db"),
                musicbrainz=MusicBrainzConfig(
                    hostname=mb.hostname, https=False, rate_limit_per_s=rate
                ),
                llm=LLMConfig(
                    enabled=True, base_url=model.url, searxng=SearxngConfig(enabled=False)
                ),
                batch=BatchConfig(model_jobs=at_once),
            )
            os.environ["XDG_DATA_HOME"] = place
            found = run_batch([folder], config)
            requests, replies = len(mb.requests), len(model.chats)
    least_s = max(requests / rate, replies * reply_s / at_once)
    print(json.dumps({
        "files": files, "requests": requests, "replies": replies,
        "seconds": round(found.measures.seconds, 1), "bound_s": round(least_s, 1),
        "of_the_bound": round(least_s / found.measures.seconds, 3),
    }))  # fmt: skip


def main() -> None:
    """Run what the command line names, or all of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=["all", "size", "bound", "make"], default="all")
    parser.add_argument("files", nargs="?", type=int, default=100_000)
    parser.add_argument("place", nargs="?")
    given = parser.parse_args()
    if given.what == "make":
        store = StoreConfig(url=f"sqlite:///{given.place}/store.db")
        make_library(Path(given.place) / "music", given.files, Config(store=store))
    elif given.what == "size":
        size(given.files)
    elif given.what == "bound":
        bound(given.files, 10.0, 0.5, 4)
    else:
        for arguments in (["size", "1000"], ["size", "100000"], ["bound", "480"]):
            subprocess.run([sys.executable, __file__, *arguments], check=True)


if __name__ == "__main__":
    main()
