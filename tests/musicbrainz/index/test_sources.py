"""`[musicbrainz] source`: which of an index and the web service is asked, and when."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.errors import IndexFileError, LookupFailedError, NothingFoundError
from chart_binder.musicbrainz.source import Source, open_source
from musicbrainz.harness import Harness, StoreInMemory, warned
from musicbrainz.index.small_index import write_index
from servers.musicbrainz import MusicBrainzStandIn
from servers.musicbrainz_world import id_of, world

OLD = id_of("Old song")
NEW = id_of("New song")
ISRC = "GBAAA7400001"
TABLE = f"""
Blur | Single | First | 1974-02 GB | one Old song 3:20 {ISRC}
Blur | Album | Second | 1975-03 GB | one Old song 3:20 {ISRC}; two Other song 4:00
"""
LATER = f"Blur | Album | Third | 2026-09 GB | new New song 3:00 {ISRC}; two Other song 4:00"
IN_INDEX, ON_WEB = (TrackTags(recording_mbid=id_of(name)) for name in ("one", "new"))


@pytest.fixture
def index_path(tmp_path: Path) -> Path:
    return write_index(tmp_path / "index", world(TABLE))


@pytest.fixture
def server() -> Iterator[MusicBrainzStandIn]:
    with MusicBrainzStandIn(world(TABLE + LATER)) as stand_in:
        yield stand_in


def opened(server: MusicBrainzStandIn, path: Path, source: str, **settings: Any) -> Source:
    """Return the source that the settings name."""
    config = Harness.settings(server.hostname, source=source, **settings)
    store = StoreInMemory()
    return open_source(config, path, store.answers, store.slots)


def dump_of(bundle: EvidenceBundle) -> str | None:
    """Return which index a bundle is from; None for the web service."""
    assert bundle.provenance
    assert bundle.provenance.sources_used == ("MB",)
    return bundle.provenance.index


def test_an_index_alone_sends_no_request(server: MusicBrainzStandIn, index_path: Path) -> None:
    source = opened(server, index_path, "index")
    bundle = source.with_siblings(source.gather(IN_INDEX))
    assert (dump_of(bundle) or "").startswith("dump of 20")
    with pytest.raises(NothingFoundError, match="the index of 20"):
        source.gather(ON_WEB)
    assert source.check().is_reachable
    assert server.requests == []


@pytest.mark.parametrize("mode", ["auto", "index_then_web"])
def test_the_web_is_asked_for_what_the_index_lacks(
    mode: str, server: MusicBrainzStandIn, index_path: Path
) -> None:
    source = opened(server, index_path, mode)
    assert dump_of(source.gather(IN_INDEX))
    assert server.requests == []
    bundle = source.gather(ON_WEB)
    assert dump_of(bundle) is None
    assert bundle.recording_candidates[0].mb_recording_id == id_of("new")
    with pytest.raises(NothingFoundError, match=server.hostname):
        source.gather(TrackTags(recording_mbid=id_of("nowhere")))


def test_an_id_that_the_index_lacks_is_not_replaced_by_an_isrc_in_it(
    server: MusicBrainzStandIn, index_path: Path
) -> None:
    tags = TrackTags(recording_mbid=id_of("new"), isrcs=(ISRC,), title="New song", artist="Blur")
    bundle = opened(server, index_path, "index_then_web").gather(tags)
    assert bundle.recording_candidates[0].mb_recording_id == id_of("new")


def test_each_file_of_an_album_has_one_source(server: MusicBrainzStandIn, index_path: Path) -> None:
    source = opened(server, index_path, "index_then_web")
    album = [IN_INDEX, ON_WEB, TrackTags(recording_mbid=id_of("two"))]
    gather = source.together(album)
    bundles = [gather(tags) for tags in album]
    assert [bool(dump_of(bundle)) for bundle in bundles] == [True, False, True]
    titles = {group.title for group in bundles[2].groups}
    assert titles == {"Second"}, "the web has a third album, which would mix the two"


def test_siblings_are_from_the_source_of_the_evidence(
    server: MusicBrainzStandIn, index_path: Path
) -> None:
    source = opened(server, index_path, "index_then_web")
    ours, theirs = (source.gather(tags) for tags in (IN_INDEX, ON_WEB))
    before = source.requests
    widen = source.siblings_together([ours, theirs])
    assert dump_of(widen(ours))
    assert source.requests == before
    assert dump_of(source.with_siblings(theirs)) is None
    assert source.requests > before


def test_an_old_index_is_left_aside_and_said_once(
    server: MusicBrainzStandIn, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_index(tmp_path / "index", world(TABLE), days_old=91)
    for _ in range(2):
        assert dump_of(opened(server, path, "auto").gather(IN_INDEX)) is None
    (warning,) = warned(caplog)
    assert "older than musicbrainz.max_age_days = 90" in warning
    assert dump_of(opened(server, path, "auto", max_age_days=92).gather(IN_INDEX))
    assert dump_of(opened(server, path, "index_then_web").gather(IN_INDEX))
    assert dump_of(opened(server, path, "auto", offline=True).gather(IN_INDEX))


def test_offline_the_index_is_read_and_no_request_is_sent(
    server: MusicBrainzStandIn, index_path: Path
) -> None:
    source = opened(server, index_path, "auto", offline=True)
    assert dump_of(source.gather(IN_INDEX))
    with pytest.raises(LookupFailedError, match="canon is offline"):
        source.gather(ON_WEB)
    assert source.client().current_id("recording", id_of("new")) == id_of("new")
    assert server.requests == []


@pytest.mark.parametrize("mode", ["index", "index_then_web"])
def test_an_index_that_is_needed_must_be_there(
    mode: str, server: MusicBrainzStandIn, tmp_path: Path
) -> None:
    with pytest.raises(IndexFileError, match="canon index build"):
        opened(server, tmp_path / "none", mode)
    assert dump_of(opened(server, tmp_path / "none", "auto").gather(IN_INDEX)) is None


def test_what_is_no_index_is_left_aside_only_by_auto(
    server: MusicBrainzStandIn, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "text"
    path.write_text("not a database, but a text that is long enough to have a header\n" * 10)
    assert dump_of(opened(server, path, "auto").gather(IN_INDEX)) is None
    assert "the index is not used" in warned(caplog)[0]
    with pytest.raises(IndexFileError):
        opened(server, path, "index")


def test_single_look_ups_ask_both(server: MusicBrainzStandIn, index_path: Path) -> None:
    source = opened(server, index_path, "index_then_web")
    client = source.client()
    assert client.release_group(ReleaseGroupId(id_of("First")))
    assert source.requests == 0
    group = client.release_group(ReleaseGroupId(id_of("Third")))
    assert group
    assert group.title == "Third"
    groups, count = client.first_releases_of("release-group", group.id)
    assert (len(groups), count) == (1, 1)
    of_index = source.client(source.gather(IN_INDEX))
    assert of_index.release_group(ReleaseGroupId(id_of("Third"))) is None


def test_an_index_that_is_replaced_is_read_to_the_end(
    server: MusicBrainzStandIn, index_path: Path
) -> None:
    source = opened(server, index_path, "index")
    before = source.gather(IN_INDEX)
    write_index(index_path, world(TABLE + LATER))
    assert source.gather(IN_INDEX).recording_candidates == before.recording_candidates
    with pytest.raises(NothingFoundError):
        source.gather(ON_WEB)
    assert dump_of(opened(server, index_path, "index").gather(ON_WEB))


def test_threads_share_a_source(server: MusicBrainzStandIn, index_path: Path) -> None:
    source = opened(server, index_path, "index")
    bundles: list[EvidenceBundle] = []
    threads = [
        threading.Thread(target=lambda: bundles.extend(source.gather(IN_INDEX) for _ in range(50)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(bundles) == 200
    assert len({bundle.recording_candidates for bundle in bundles}) == 1


def test_damage_is_a_failed_look_up_that_names_the_file(
    server: MusicBrainzStandIn, index_path: Path
) -> None:
    source = opened(server, index_path, "index")
    content = bytearray(index_path.read_bytes())
    for start in range(8_192, len(content), 8_192):
        content[start : start + 200] = b"\xff" * 200
    with index_path.open("r+b") as file:
        file.write(content)
    with pytest.raises(LookupFailedError, match=str(index_path)):
        source.gather(IN_INDEX)
