"""A preview of 1,000 files beside reading them: `python tests/benchmarks/bench_preview.py`.

The files are FLAC, MP3 and M4A in albums of eight, each decided, on evidence that is kept. *read*
is what identifying does: the tags and the length. *check* asks of each file what a save asks: the
new file put together in memory and read by two readers; room, rights and links. *preview* is all:
the album's fields, decisions and evidence from the store, the plan, *check*, the differences. Each
round does all of them, album by album; CPU time counts, and medians of the ratios in a round.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.audio.fields import with_fields
from chart_binder.audio.reading import read_tags
from chart_binder.audio.save import check_tags
from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import RunRecord, new_id, now_utc
from chart_binder.jobs.pipeline import Pipeline, decide_bundle
from chart_binder.jobs.stored_decisions import RunVersions, rules_version, stored_case
from chart_binder.jobs.write import TagPlan, TagPlanner
from chart_binder.jobs.write_albums import albums_in, plan_album
from chart_binder.store import Store, open_store
from integration.compilation import CERTAIN, bundle, compilation_files

KINDS = ("flac", "mp3-2.4", "aac")
ALBUMS, ROUNDS = 125, 5
LIMITS = {"check": 3.0, "preview": 6.0}
"""How many times as long as reading the files the others may take."""

Album = Sequence[Path]
FIELDS = {"original_date": ["1974-10-11"], "original_year": ["1974"], "decision_trace": ["evh=1"]}


def make_albums(store: Store, folder: Path) -> list[Album]:
    """Make the files, and store the decision on each."""
    versions = RunVersions(new_id(), rules_version(RulesConfig()))
    store.runs.begin(RunRecord(id=versions.run_id, command="batch", started_at_utc=now_utc()))
    cases = [decide_bundle(Pipeline(RulesConfig()), read_bundle(bundle(song))) for song in CERTAIN]
    albums: list[Album] = []
    for number in range(ALBUMS):
        kind = KINDS[number % len(KINDS)]
        files = compilation_files(folder / str(number), kind, with_ids=False, songs=CERTAIN)
        decided = zip(cases, files, strict=True)
        store.decisions.put_all(
            [stored_case(case, file, file.stat(), versions) for case, file in decided]
        )
        albums.append(files)
    return albums


def read(album: Album) -> None:
    """Read the tags and the length of an album's files."""
    for path in album:
        read_tags(path)


def check(album: Album) -> None:
    """Ask of each file what a save asks."""
    for path in album:
        check_tags(path, lambda tags: with_fields(tags, FIELDS))


def preview(planner: TagPlanner, album: Album) -> None:
    """Plan an album, of which every file changes."""
    (files,) = albums_in(album)
    for planned in plan_album(planner, files):
        assert isinstance(planned, TagPlan), planned
        assert planned.is_changed


def cpu_seconds(use: Callable[[], None]) -> float:
    """Return how long a call takes this process."""
    begun = time.process_time()
    use()
    return time.process_time() - begun


def one_round(planner: TagPlanner, albums: Sequence[Album]) -> dict[str, float]:
    """Return the seconds of each way over all albums."""
    ways: dict[str, Callable[[Album], None]]
    ways = {"read": read, "check": check, "preview": partial(preview, planner)}
    return {
        name: sum(cpu_seconds(partial(way, album)) for album in albums)
        for name, way in ways.items()
    }


def main() -> int:
    """Print times a file and ratios; return 1 if a limit is passed."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(f"sqlite:///{folder}/store.db") as store,
    ):
        albums = make_albums(store, Path(folder))
        planner = TagPlanner(store, {})
        one_round(planner, albums)  # fills the caches
        rounds = [one_round(planner, albums) for _ in range(ROUNDS)]
    files = len(albums) * len(CERTAIN)
    ratios = {}
    for way in rounds[0]:
        ratios[way] = statistics.median(spent[way] / spent["read"] for spent in rounds)
        each = statistics.median(spent[way] for spent in rounds) / files
        print(f"{way:8}{each * 1000:6.2f} ms a file, {ratios[way]:.1f} x")
    return int(any(ratios[way] > limit for way, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
