"""Commands that read an index instead of the web service."""

import zlib
from pathlib import Path

from integration.conftest import Canon, in_store
from integration.services import RHAPSODY, SINGLE, file_of
from musicbrainz.index.small_index import write_index

RECORDING = RHAPSODY["bundle"]["recording_candidates"][0]["mb_recording_id"]
UNUSED = {"CANON_MUSICBRAINZ__HOSTNAME": "127.0.0.1:9", "CANON_MUSICBRAINZ__HTTPS": "false"}
"""Settings of a web service that does not answer."""


def index_in(home: Path) -> Path:
    """Write an index where canon looks for it."""
    folder = home / "data" / "canon"
    folder.mkdir(parents=True, exist_ok=True)
    return write_index(folder / "musicbrainz.index", [RHAPSODY["bundle"]])


def test_a_file_is_decided_from_an_index_without_a_network(canon: Canon, home: Path) -> None:
    path = index_in(home)
    song = file_of(RHAPSODY["bundle"], home)
    line = canon("decide", song, "--output=json", **UNUSED).must_end(0).line
    assert line["state"] == "decided"
    canon("decide", song, "--offline").must_end(0)
    ((document,),) = in_store(home, "SELECT document FROM evidence")
    assert b"dump of 20" in zlib.decompress(document)
    path.unlink()
    canon("decide", song, **UNUSED, CANON_MUSICBRAINZ__SOURCE="index").must_end(
        1, "musicbrainz.index: there is no index; `canon index build DUMP` makes one"
    )


def test_an_override_names_records_of_the_index(canon: Canon, home: Path) -> None:
    index_in(home)
    put = ("override", "set", RECORDING, f"--crg={SINGLE}", "--reason=the single")
    canon(*put, **UNUSED).must_end(0, "Bohemian Rhapsody")
    song = file_of(RHAPSODY["bundle"], home)
    line = canon("decide", song, "--output=json", **UNUSED).must_end(0).line
    assert (line["decided_by"], line["crg_mbid"]) == ("override", SINGLE)


def test_the_models_tool_reads_the_index(canon: Canon, home: Path) -> None:
    index_in(home)
    call = ("tools", "run", "musicbrainz", f"query={SINGLE}")
    canon(*call, **UNUSED).must_end(0, "Release group", "Releases: 1")


def test_doctor_shows_the_index(canon: Canon, home: Path) -> None:
    name = "ok musicbrainz the index of 20"
    index_in(home)
    alone = {"CANON_MUSICBRAINZ__SOURCE": "index"}
    canon("doctor", **UNUSED, **alone).must_end(0, name, "0 days old")
    lacks = "127.0.0.1:9: no connection (Connection refused)"
    canon("doctor", **UNUSED).must_end(0, "warning musicbrainz the index of 20", lacks)
    canon("doctor", "--offline").must_end(0, name)
    (home / "data" / "canon" / "musicbrainz.index").unlink()
    canon("doctor", "--offline").must_end(0, "off musicbrainz")
    for source in ("index", "index_then_web"):
        lacking = {"CANON_MUSICBRAINZ__SOURCE": source}
        canon("doctor", "--offline", **lacking).must_end(1, "failed index", "there is no index")
    named = {"CANON_MUSICBRAINZ__INDEX": "elsewhere.index"}
    canon("doctor", "--offline", **named).must_end(3, "warning index", "there is no index")


def test_the_demo_reads_its_own_answers(canon: Canon, home: Path) -> None:
    plain = canon("demo").must_end(0).out
    index_in(home)
    assert canon("demo").must_end(0).out == plain
