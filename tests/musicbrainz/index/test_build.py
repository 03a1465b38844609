"""Building an index from the small dump."""

import sqlite3
from pathlib import Path

from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.build import BuildOptions, build_index
from chart_binder.musicbrainz.index.dump import Meter
from chart_binder.musicbrainz.index.verify import check_index

DUMP = Path(__file__).parents[1] / "mbdump"


class SilentMeter(Meter):
    def begin(self, stage: str, total: float = 0, unit: str = "") -> None: ...
    def show(self, done: float) -> None: ...
    def follow(self, done: object) -> None: ...


def test_the_small_dump_becomes_an_index_that_passes_its_checks(tmp_path: Path) -> None:
    path = tmp_path / "musicbrainz.index"
    summary = build_index(DUMP, BuildOptions(path), SilentMeter())
    assert summary.counts["recording"] == 313
    assert summary.counts["release"] == 332
    assert summary.schema == 31
    assert check_index(path, SilentMeter()) == summary
    assert [*tmp_path.iterdir()] == [path]


def test_a_recording_has_its_facts(tmp_path: Path) -> None:
    path = tmp_path / "musicbrainz.index"
    build_index(DUMP, BuildOptions(path), SilentMeter())
    file: sqlite3.Connection = layout.open_index(path)
    (name,) = file.execute("SELECT name FROM recording WHERE name LIKE '%tab%'").fetchone()
    assert "\t" in name or "\\N" in name
    file.close()
