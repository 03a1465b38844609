"""`canon override` as a process: a person's verdict is kept, applied, listed and taken back."""

import json
from pathlib import Path
from typing import Any

import pytest

from golden.bundles import golden
from integration.conftest import Canon, Ran, in_store
from integration.services import ALBUM, LP, RHAPSODY, SINGLE, asking, flac
from servers.http import Response
from servers.musicbrainz import MusicBrainzStandIn, always

RECORDING = RHAPSODY["bundle"]["recording_candidates"][0]["mb_recording_id"]
ELSEWHERE = "12345678-1234-4234-8234-123456789abc"
SITE = "https://musicbrainz.org"


@pytest.fixture
def bundle(home: Path) -> Path:
    path = home / "bundle.json"
    path.write_text(json.dumps(RHAPSODY["bundle"]))
    return path


def put(canon: Canon, named: object, crg: str, *options: object, **settings: str) -> Ran:
    return canon("override", "set", named, f"--crg={crg}", "--reason=x", *options, **settings)


def decided(canon: Canon, bundle: Path) -> dict[str, Any]:
    return canon("decide", "--evidence", bundle, "--output=json").line


def listed(canon: Canon) -> list[dict[str, Any]]:
    return canon("override", "list", "--output=json").lines


def test_an_override_precedes_the_rules_until_removed(canon: Canon, bundle: Path) -> None:
    named = ("override", "set", RECORDING, "--crg", SINGLE)
    canon(*named, "--reason", "the 7-inch edit", "--offline").must_end(0, "the 7-inch edit")
    line = decided(canon, bundle)
    assert (line["state"], line["decided_by"], line["crg_mbid"]) == ("decided", "override", SINGLE)
    assert (line["crg_rule"], line["confidence"]) == ("CRG:MANUAL_OVERRIDE", 1.0)
    assert line["rr_rule"] == "RR:WORLD_EARLIEST"
    assert (line["rationale"], line["recording_mbid"]) == ("the 7-inch edit", RECORDING)
    assert ";crg=MANUAL_OVERRIDE;" in line["trace"]

    (kept,) = listed(canon)
    assert (kept["crg_mbid"], kept["rr_mbid"], kept["reason"]) == (SINGLE, None, "the 7-inch edit")
    explained = canon("explain", "--evidence", bundle)
    assert "CRG:MANUAL_OVERRIDE: see above" in explained.out
    assert explained.out.count("the 7-inch edit") == 1, "a reason is said once"

    assert canon("override", "remove", RECORDING).status == 0
    line = decided(canon, bundle)
    assert (line["decided_by"], line["crg_mbid"]) == ("rules", ALBUM)
    canon("override", "remove", RECORDING).must_end(1, f"there is no override for {RECORDING}")


def test_ids_come_as_addresses_and_in_capitals_of_a_file_or_a_bundle(
    canon: Canon, song: Path, bundle: Path, mb: MusicBrainzStandIn
) -> None:
    group = f"{SITE}/release-group/{SINGLE.upper()}"
    release = f"--rr=musicbrainz.org/release/{ELSEWHERE}"
    put(canon, song, group, release, **asking(mb)).must_end(1, f"no release {ELSEWHERE}")
    put(canon, song, SINGLE, f"--rr={SINGLE}", **asking(mb)).must_end(1, f"no release {SINGLE}")
    kept = put(canon, song, group, release, "--force", "--output=json", **asking(mb)).line
    assert (kept["recording_mbid"], kept["crg_mbid"]) == (RECORDING, SINGLE)
    assert f"release {ELSEWHERE} is not in the evidence" in kept["notes"][0]
    line = canon("decide", song, "--output=json", **asking(mb)).line
    assert (line["decided_by"], line["crg_mbid"]) == ("override", SINGLE)
    assert (line["rr_rule"], line["rr_mbid"]) == ("RR:MANUAL_OVERRIDE", ELSEWHERE)
    assert canon("override", "remove", "--offline", song).status == 0
    bundle.write_text(bundle.read_text().replace(RECORDING, RECORDING.upper()))
    kept = put(canon, bundle, ELSEWHERE.upper(), "--force", "--output=json").line
    assert (kept["recording_mbid"], kept["crg_mbid"]) == (RECORDING, ELSEWHERE)
    assert "not in the evidence" in kept["notes"][0]
    line = decided(canon, bundle)
    assert (line["rr_rule"], line["rr_mbid"]) == ("RR:INDETERMINATE", None)
    canon("decide", "--evidence", bundle).must_end(0, "a release group the evidence lacks")
    assert canon("override", "remove", RECORDING.upper()).status == 0
    assert listed(canon) == []


def test_overrides_are_listed_by_the_names_and_files_that_the_store_knows(
    canon: Canon, home: Path, song: Path, mb: MusicBrainzStandIn
) -> None:
    other = flac(home, "other.flac", recording=ELSEWHERE, title="x")
    canon("decide", song, **asking(mb))
    unknown = f"knows no recording with the id {ELSEWHERE}: check the id; --force stores it"
    put(canon, ELSEWHERE, SINGLE, **asking(mb)).must_end(1, unknown)
    for recording in (RECORDING, ELSEWHERE):
        put(canon, recording, SINGLE, "--force", **asking(mb))
    assert [(line["name"], line["crg_title"], line["files"]) for line in listed(canon)] == [
        ("Queen - Bohemian Rhapsody", "Bohemian Rhapsody", [str(song)]), (None, None, []),
    ]  # fmt: skip
    offline = asking(mb) | {"CANON_MUSICBRAINZ__OFFLINE": "true"}
    for name, meant in ((song, RECORDING), (RECORDING, RECORDING), (other, ELSEWHERE)):
        line = canon("override", "list", name, "--output=json", **offline).line
        assert line["recording_mbid"] == meant
    missing = canon("override", "list", LP)
    assert (missing.status, missing.out) == (1, "")
    assert f"there is no override for {LP}" in missing.err


def test_an_override_with_damaged_records_is_listed_and_removed(
    canon: Canon, home: Path, song: Path, mb: MusicBrainzStandIn
) -> None:
    canon("decide", song, **asking(mb))
    put(canon, RECORDING, SINGLE, "--offline")
    for statement in ("UPDATE evidence SET document = 'x'", "DELETE FROM cached_answers"):
        in_store(home, statement)
    (line,) = listed(canon)
    assert (line["name"], len(line["files"])) == (None, 1)
    in_store(home, "UPDATE overrides SET recording_mbid = 'my-own-7'")
    assert canon("override", "remove", "my-own-7").status == 0
    assert listed(canon) == []


OTHER_WORLDS = [
    golden("pf-time"), golden("policy-new-song-on-best-of"), golden("comp-kosmonova"),
    golden("lead-kessoku"),
]  # fmt: skip
_SAMPLER = OTHER_WORLDS[2]["recording_candidates"][0]["rg_candidates"][0]
_SAMPLER["artist_credit"] = "Various Artists"
_OPERA = OTHER_WORLDS[3]["recording_candidates"][0]["rg_candidates"][0]
_OPERA |= {"title": "Opera", "artist_credit": "Artist of Opera"}
BY_OTHERS, BY_QUEEN, BY_VARIOUS, OPERA = (
    "f5093c06-23e3-404f-aeaa-40f72885ee3a", "8db87251-8e8b-5675-9dba-268ebad7eac3",
    _SAMPLER["mb_rg_id"], _OPERA["mb_rg_id"],
)  # fmt: skip
_MOON = OTHER_WORLDS[0]["recording_candidates"][0]["rg_candidates"][0]
OF_OTHERS = f"--rr={_MOON['releases'][0]['mb_release_id']}"
UNRELATED = "has nothing to do with the recording 'Queen - Bohemian Rhapsody'"
UNCHECKED = "it was not checked whether it has to do with the recording"


GROUPS: list[tuple[tuple[str, ...], int, str]] = [
    ((SINGLE,), 0, ""),
    ((SINGLE, f"--rr={LP}"), 1,
        f"release {LP} is of release group {ALBUM} 'A Night at the Opera', not"),
    ((BY_OTHERS,), 1, UNRELATED), ((OPERA,), 1, UNRELATED),
    ((BY_OTHERS, "--force"), 0, "not in the evidence"), ((BY_OTHERS, "--offline"), 0, UNCHECKED),
    ((ALBUM, OF_OTHERS), 1, f"is of release group {BY_OTHERS} 'The Dark Side of the Moon'"),
    ((ALBUM, OF_OTHERS, "--force"), 0, "not in the evidence"),
    ((ALBUM, OF_OTHERS, "--offline"), 0, "it was not checked whether the release is of"),
    ((BY_QUEEN,), 0, "not in the evidence"), ((BY_VARIOUS,), 0, "not in the evidence"),
    ((ELSEWHERE,), 1, f"MusicBrainz knows no release group {ELSEWHERE}"),
    ((ELSEWHERE, "--force"), 0, "not in the evidence"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("named", "options", "status", "words"),
    [("song", *row) for row in GROUPS]
    + [(named, *row) for named in ("id", "new id") for row in (GROUPS[0], *GROUPS[2:6])],
)
def test_a_group_that_has_nothing_to_do_with_the_recording_is_refused(
    canon: Canon, song: Path, named: str, options: tuple[str, ...], status: int, words: str
) -> None:
    with MusicBrainzStandIn([RHAPSODY["bundle"], *OTHER_WORLDS]) as mb:
        if named != "new id":
            canon("decide", song, **asking(mb))
        subject = song if named == "song" else RECORDING
        ran = put(canon, subject, *options, **asking(mb))
    if named == "new id" and "--offline" in options:
        words = "could not be compared with the evidence"
    ran.must_end(status, words)
    assert len(listed(canon)) == (status == 0)


def test_a_recording_id_is_enough_if_a_look_up_fails(canon: Canon, home: Path, song: Path) -> None:
    nameless = flac(home, "other.flac", artist="Queen", title="Bohemian Rhapsody")
    with MusicBrainzStandIn([], behave=always(Response("", 403))) as mb:
        ran, lost = (put(canon, file, ALBUM, **asking(mb)) for file in (song, nameless))
    ran.must_end(0, "could not be compared with the evidence")
    assert (lost.status, lost.out) == (1, "")


def test_a_bundle_of_several_recordings_is_ambiguous(canon: Canon, bundle: Path) -> None:
    document = golden("lead-bohemian")
    twin = document["recording_candidates"][0] | {"mb_recording_id": ELSEWHERE, "length_ms": None}
    document["recording_candidates"].append(twin)
    bundle.write_text(json.dumps(document))
    put(canon, bundle, SINGLE, "--offline").must_end(1, RECORDING, ELSEWHERE)
    for recording, crg in ((RECORDING, ALBUM), (ELSEWHERE, SINGLE)):
        put(canon, recording, crg, "--offline")
    line = decided(canon, bundle)
    assert (line["crg_mbid"], line["recording_mbid"]) == (SINGLE, ELSEWHERE), "the last one set"
