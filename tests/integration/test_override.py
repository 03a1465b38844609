"""`canon override` as a process: a person's verdict is kept, applied, listed and taken back."""

import json
import sqlite3
from pathlib import Path

import pytest

from golden.bundles import golden
from integration.conftest import Canon
from integration.services import ALBUM, LP, RHAPSODY, SINGLE, asking, file_of, flac
from servers.http import Response
from servers.musicbrainz import MusicBrainzStandIn, always
from store.make_version_1 import version_1

RECORDING = RHAPSODY["bundle"]["recording_candidates"][0]["mb_recording_id"]
ELSEWHERE = "12345678-1234-4234-8234-123456789abc"
DOCUMENT = json.dumps(RHAPSODY["bundle"]).encode()
SITE = "https://musicbrainz.org"


def test_an_override_has_precedence_over_the_rules_until_it_is_removed(
    canon: Canon, home: Path
) -> None:
    put = canon("override", "set", RECORDING, "--crg", SINGLE, "--reason", "the 7-inch edit")
    assert put.status == 0, put.err
    assert "the 7-inch edit" in put.out
    (line,) = canon("decide", "--evidence=-", "--output=json", stdin=DOCUMENT).lines
    assert (line["state"], line["decided_by"], line["crg_mbid"]) == ("decided", "override", SINGLE)
    assert (line["crg_rule"], line["confidence"]) == ("CRG:MANUAL_OVERRIDE", 1.0)
    assert line["rr_rule"] == "RR:WORLD_EARLIEST"
    assert (line["rationale"], line["recording_mbid"]) == ("the 7-inch edit", RECORDING)
    assert ";crg=MANUAL_OVERRIDE;" in line["trace"]

    (listed,) = canon("override", "list", "--output=json").lines
    assert list(listed) == [
        "recording_mbid", "crg_mbid", "rr_mbid", "reason", "set_at_utc",
        "name", "crg_title", "files",
    ]  # fmt: skip
    assert (listed["crg_mbid"], listed["rr_mbid"]) == (SINGLE, None)
    explained = canon("explain", "--evidence=-", stdin=DOCUMENT)
    assert "CRG:MANUAL_OVERRIDE: the 7-inch edit" in explained.out

    assert canon("override", "remove", RECORDING).status == 0
    (line,) = canon("decide", "--evidence=-", "--output=json", stdin=DOCUMENT).lines
    assert (line["decided_by"], line["crg_mbid"]) == ("rules", ALBUM)
    again = canon("override", "remove", RECORDING)
    assert again.status == 1
    assert f"no override is kept for {RECORDING}" in again.err


def test_an_override_is_set_by_a_file(canon: Canon, home: Path) -> None:
    bundle = golden("lead-bohemian")
    file = file_of(bundle, home)
    with MusicBrainzStandIn([bundle]) as mb:
        put = canon(
            "override", "set", file, "--crg", f"{SITE}/release-group/{SINGLE.upper()}",
            "--rr", f"musicbrainz.org/release/{ELSEWHERE}", "--reason=heard it", "--output=json",
            **asking(mb),
        )  # fmt: skip
        (line,) = canon("decide", file, "--output=json", **asking(mb)).lines
    (kept,) = put.lines
    assert (kept["recording_mbid"], kept["crg_mbid"]) == (RECORDING, SINGLE)
    assert len(kept["notes"]) == 1
    assert f"release {ELSEWHERE} is not in the evidence" in kept["notes"][0]
    assert (line["decided_by"], line["crg_mbid"], line["rr_mbid"]) == (
        "override", SINGLE, ELSEWHERE,
    )  # fmt: skip
    assert line["rr_rule"] == "RR:MANUAL_OVERRIDE"
    offline = canon("override", "remove", "--offline", file)
    assert offline.status == 0, offline.err
    assert canon("override", "list", "--output=json").lines == []


def test_overrides_are_listed_by_the_names_and_files_that_the_store_knows(
    canon: Canon, home: Path
) -> None:
    bundle = golden("lead-bohemian")
    file, other = file_of(bundle, home), flac(home, "other.flac", recording=ELSEWHERE, title="x")
    with MusicBrainzStandIn([bundle]) as mb:
        canon("decide", file, **asking(mb))
        for recording in (RECORDING, ELSEWHERE):
            canon("override", "set", recording, f"--crg={SINGLE}", "--reason=x", **asking(mb))
        offline = asking(mb) | {"CANON_MUSICBRAINZ__OFFLINE": "true"}
    text = canon("override", "list")
    known, _, unknown = text.out.partition("\n\n")
    for words in (
        "recording    Queen - Bohemian Rhapsody\n",
        f"belongs to   Bohemian Rhapsody (Single)\n{'':15}{SITE}/release-group/{SINGLE}\n",
        f"files        {file}",
    ):
        assert words in known
        assert words not in unknown
    listed = canon("override", "list", "--output=json").lines
    found = [(line["name"], line["crg_title"], line["files"]) for line in listed]
    assert found == [
        ("Queen - Bohemian Rhapsody", "Bohemian Rhapsody", [str(file)]), (None, None, []),
    ]  # fmt: skip
    for name, meant in ((file, RECORDING), (RECORDING, RECORDING), (other, ELSEWHERE)):
        (line,) = canon("override", "list", name, "--output=json", **offline).lines
        assert line["recording_mbid"] == meant
    missing = canon("override", "list", LP)
    assert (missing.status, missing.out) == (1, "")
    assert f"no override is kept for {LP}" in missing.err


def test_a_damaged_record_leaves_an_override_without_its_name(canon: Canon, home: Path) -> None:
    bundle = golden("lead-bohemian")
    with MusicBrainzStandIn([bundle]) as mb:
        canon("decide", file_of(bundle, home), **asking(mb))
    canon("override", "set", RECORDING, f"--crg={SINGLE}", "--reason=x")
    (store,) = (home / "data").rglob("*.db")
    connection = sqlite3.connect(store)
    connection.execute("UPDATE evidence SET document = 'x'")
    connection.execute("DELETE FROM cached_answers")
    connection.commit()
    connection.close()
    (line,) = canon("override", "list", "--output=json").lines
    assert (line["name"], len(line["files"])) == (None, 1)


def test_a_release_of_another_group_is_refused_with_both_groups(canon: Canon, home: Path) -> None:
    bundle = home / "bundle.json"
    bundle.write_bytes(DOCUMENT)
    of_the_album = ("--rr", LP, "--reason=x")
    refused = canon("override", "set", bundle, f"--crg={SINGLE}", *of_the_album)
    assert refused.status == 1
    assert f"release {LP} is of release group {ALBUM} 'A Night at the Opera'" in refused.err
    assert f"not of {SINGLE} 'Bohemian Rhapsody'" in refused.err
    assert canon("override", "list", "--output=json").lines == []
    assert canon("override", "set", bundle, f"--crg={ALBUM}", *of_the_album).status == 0


def test_an_override_is_set_by_a_bundle(canon: Canon, home: Path) -> None:
    bundle = home / "bundle.json"
    bundle.write_bytes(DOCUMENT)
    put = canon("override", "set", bundle, f"--crg={ELSEWHERE}", "--reason=x", "--output=json")
    (kept,) = put.lines
    assert kept["recording_mbid"] == RECORDING
    assert any("not in the evidence" in note for note in kept["notes"])
    assert any("--rr" in note for note in kept["notes"])
    (line,) = canon("decide", "--evidence", bundle, "--output=json").lines
    assert (line["crg_mbid"], line["rr_mbid"]) == (ELSEWHERE, None)
    assert line["rr_rule"] == "RR:INDETERMINATE"
    assert canon("override", "remove", bundle).status == 0


def test_an_id_that_stored_evidence_lacks_is_noted_without_a_look_up(
    canon: Canon, home: Path
) -> None:
    bundle = golden("lead-bohemian")
    with MusicBrainzStandIn([bundle]) as mb:
        canon("decide", file_of(bundle, home), **asking(mb))
        asked, environment = len(mb.requests), asking(mb)
        doubted, known = (
            canon("override", "set", RECORDING, "--crg", crg, "--reason=x", **environment)
            for crg in (ELSEWHERE, SINGLE)
        )
        assert len(mb.requests) == asked, "an id alone is looked up nowhere"
    assert "not in the evidence" in doubted.out
    assert "not in the evidence" not in known.out
    assert f"in place of  {SITE}/release-group/{ELSEWHERE}" in known.out


def test_a_recording_id_in_the_tags_is_enough_where_a_look_up_fails(
    canon: Canon, home: Path
) -> None:
    file = file_of(golden("lead-bohemian"), home)
    with MusicBrainzStandIn([], behave=always(Response("", 403))) as mb:
        ran = canon("override", "set", file, f"--crg={ALBUM}", "--reason=x", **asking(mb))
        nameless = flac(home, "other.flac", artist="Queen", title="Bohemian Rhapsody")
        lost = canon("override", "set", nameless, f"--crg={ALBUM}", "--reason=x", **asking(mb))
    assert ran.status == 0, ran.err
    assert "could not be held against evidence" in ran.out
    assert (lost.status, lost.out) == (1, "")


def test_a_bundle_of_several_recordings_is_ambiguous(canon: Canon, home: Path) -> None:
    document = golden("lead-bohemian")
    twin = document["recording_candidates"][0] | {"mb_recording_id": ELSEWHERE, "length_ms": None}
    document["recording_candidates"].append(twin)
    bundle = home / "bundle.json"
    bundle.write_text(json.dumps(document))
    several = canon("override", "set", bundle, f"--crg={SINGLE}", "--reason=x")
    assert several.status == 1
    assert RECORDING in several.err
    assert ELSEWHERE in several.err
    for recording, crg in ((RECORDING, ALBUM), (ELSEWHERE, SINGLE)):
        canon("override", "set", recording, f"--crg={crg}", "--reason=x")
    (line,) = canon("decide", "--evidence", bundle, "--output=json").lines
    assert (line["crg_mbid"], line["recording_mbid"]) == (SINGLE, ELSEWHERE), "the last one set"


def test_ids_are_the_same_in_capitals(canon: Canon, home: Path) -> None:
    document = golden("lead-bohemian")
    bundle = home / "bundle.json"
    bundle.write_text(json.dumps(document).replace(SINGLE, SINGLE.upper()))
    bundle.write_text(bundle.read_text().replace(RECORDING, RECORDING.upper()))
    put = canon("override", "set", bundle, f"--crg={SINGLE.upper()}", "--reason=x", "--output=json")
    (kept,) = put.lines
    assert (kept["recording_mbid"], kept["crg_mbid"], kept["notes"]) == (RECORDING, SINGLE, [])
    (line,) = canon("decide", "--evidence", bundle, "--output=json").lines
    assert (line["decided_by"], line["crg_mbid"]) == ("override", SINGLE)
    assert canon("override", "remove", RECORDING.upper()).status == 0


def test_an_override_needs_a_musicbrainz_id(canon: Canon, home: Path) -> None:
    bundle = home / "bundle.json"
    bundle.write_text(json.dumps(golden("lead-bohemian")).replace(RECORDING, "my-own-7"))
    refused = canon("override", "set", bundle, f"--crg={SINGLE}", "--reason=x")
    assert (refused.status, refused.out) == (1, "")
    assert "'my-own-7'; a MusicBrainz id (a UUID) is required" in refused.err
    assert not (home / "data").exists()


def test_an_override_with_an_odd_id_can_be_removed(canon: Canon, home: Path) -> None:
    canon("override", "set", RECORDING, f"--crg={SINGLE}", "--reason=x")
    (store,) = (home / "data").rglob("*.db")
    connection = sqlite3.connect(store)
    connection.execute("UPDATE overrides SET recording_mbid = 'my-own-7'")
    connection.commit()
    connection.close()
    assert canon("override", "remove", "my-own-7").status == 0
    assert canon("override", "list", "--output=json").lines == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (
            ["no-such-file.mp3", "--crg", ALBUM, "--reason", "x"],
            "a file that exists, a decision's id, a UUID",
        ),
        ([RECORDING, "--crg", "C1", "--reason", "x"], "'C1' is no release group id"),
        ([RECORDING, "--crg", ALBUM], "--reason"),
    ],
)
def test_misuse_is_refused_with_what_is_allowed(
    canon: Canon, home: Path, arguments: list[str], word: str
) -> None:
    ran = canon("override", "set", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert word in ran.err
    assert not (home / "data").exists()


def test_listing_overrides_creates_no_store(canon: Canon, home: Path) -> None:
    assert "no overrides" in canon("override", "list").out
    assert canon("override", "remove", RECORDING).status == 1
    assert not (home / "data").exists()


def test_a_store_that_cannot_be_read_is_an_error_not_a_decision(canon: Canon, home: Path) -> None:
    canon("override", "set", RECORDING, "--crg", SINGLE, "--reason", "x")
    (store,) = (home / "data").rglob("*.db")
    store.write_bytes(b"x" * 5_000)
    ran = canon("decide", "--evidence=-", "--output=json", stdin=DOCUMENT)
    assert ran.status == 1
    assert "no SQLite database" in ran.lines[0]["error"]


def test_an_old_store_without_the_table_can_be_used(canon: Canon, home: Path) -> None:
    (home / "data" / "canon").mkdir(parents=True)
    version_1(home / "data" / "canon" / "canon.db", has_overrides=False)
    assert canon("decide", "--evidence=-", stdin=DOCUMENT).status == 0
    assert canon("override", "set", RECORDING, "--crg", SINGLE, "--reason", "x").status == 0
    assert len(canon("override", "list", "--output=json").lines) == 1
