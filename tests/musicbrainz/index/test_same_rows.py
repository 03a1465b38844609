"""An index of a dump gives the same evidence as a web service that serves the dump's rows."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import ReleaseGroupId, ReleaseId
from chart_binder.musicbrainz.evidence import whole_release
from make_dump import write_dump
from musicbrainz.index.building import DUMP, BothPaths, both_paths
from musicbrainz.index.test_same_evidence import assert_same_siblings, siblings_of


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothPaths]:
    """The small dump."""
    with both_paths(DUMP, tmp_path_factory.mktemp("small") / "index") as paths:
        yield paths


def column(paths: BothPaths, table: str, name: str) -> list[str]:
    """Return the values of a column, each once."""
    return [*dict.fromkeys(row[name] for row in paths.server.rows.all(table))]


def test_every_recording_has_the_same_evidence(small: BothPaths) -> None:
    recordings = column(small, "recording", "gid")
    bundles = [small.bundle(TrackTags(recording_mbid=mbid)) for mbid in recordings]
    assert len(bundles) == 313
    on_release = [bundle for bundle in bundles if bundle.groups]
    assert len(on_release) == 300


def test_every_merged_recording_has_the_evidence_of_its_new_id(small: BothPaths) -> None:
    merged = column(small, "recording_gid_redirect", "gid")
    assert len(merged) == 24
    for mbid in merged:
        (recording,) = small.bundle(TrackTags(recording_mbid=mbid)).recording_candidates
        assert recording.mb_recording_id == small.server.merged[mbid]


def test_every_isrc_has_the_same_evidence(small: BothPaths) -> None:
    counts = [
        len(small.bundle(TrackTags(isrcs=(isrc,))).recording_candidates)
        for isrc in column(small, "isrc", "isrc")
    ]
    assert len(counts) > 60
    assert max(counts) == 2, "one ISRC is on two recordings"


def test_every_release_has_the_same_tracks(small: BothPaths) -> None:
    ids = column(small, "release", "gid") + column(small, "release_gid_redirect", "gid")
    for mbid in map(ReleaseId, ids):
        ours, theirs = (source.client().release(mbid) for source in (small.index, small.web))
        assert ours
        assert theirs
        assert whole_release(ours) == whole_release(theirs)


def test_every_recording_has_the_same_siblings(small: BothPaths) -> None:
    recordings = column(small, "recording", "gid")
    tags = (TrackTags(recording_mbid=mbid) for mbid in recordings)
    bundles = [assert_same_siblings(small.index, small.web, each) for each in tags]
    assert sum(bool(siblings_of(bundle)) for bundle in bundles) == 32


@pytest.mark.parametrize("sample", [100, pytest.param(3_000, marks=pytest.mark.slow)])
def test_recordings_of_an_invented_dump_have_the_same_siblings(tmp_path: Path, sample: int) -> None:
    dump = write_dump(tmp_path / "dump", recordings=sample * 3, seed=3)
    with both_paths(dump, tmp_path / "index") as paths:
        row_ids = {row["entity0"] for row in paths.server.rows.all("l_recording_recording")}
        related = [row["gid"] for row in paths.server.rows.all("recording") if row["id"] in row_ids]
        bundles = [
            assert_same_siblings(paths.index, paths.web, TrackTags(recording_mbid=mbid))
            for mbid in (*related, *column(paths, "recording", "gid"))[:sample]
        ]
        assert sum(bool(siblings_of(bundle)) for bundle in bundles) > sample // 20
        for mbid in map(ReleaseGroupId, column(paths, "release_group", "gid")):
            ours, theirs = (each.client().links_of([mbid]) for each in (paths.index, paths.web))
            assert ours == theirs


@pytest.mark.parametrize("schema", [29, 30, 31])
@pytest.mark.parametrize(
    ("recordings", "sample"),
    [(300, 300), pytest.param(100_000, 10_000, marks=pytest.mark.slow)],
)
def test_an_invented_dump_gives_the_same_evidence(
    tmp_path: Path, schema: int, recordings: int, sample: int
) -> None:
    dump = tmp_path / "dump"
    write_dump(dump, recordings=recordings, seed=schema, schema=schema)
    with both_paths(dump, tmp_path / "index") as paths:
        chance = random.Random(schema)
        for mbid in chance.sample(column(paths, "recording", "gid"), sample):
            paths.bundle(TrackTags(recording_mbid=mbid))
        for mbid in column(paths, "recording_gid_redirect", "gid")[:sample]:
            paths.bundle(TrackTags(recording_mbid=mbid))
        for isrc in column(paths, "isrc", "isrc")[: sample // 3]:
            paths.bundle(TrackTags(isrcs=(isrc,)))
