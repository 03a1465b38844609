"""`canon ls`, `canon audit` and `canon playlist` as processes, over a library that was decided."""

import csv
import io
import json
import os
from pathlib import Path

import pytest

from golden.bundles import golden
from integration.conftest import Canon
from integration.forked import Forking
from integration.services import file_of, flac, open_bundles
from integration.terminal import walking
from integration.walkthrough import run_on_terminal

BUNDLES = {
    "queen": golden("lead-bohemian"), "hanae": golden("lead-hanae"), "open": open_bundles(1)[0],
}  # fmt: skip


@pytest.fixture
def library(canon: Canon, home: Path) -> Path:
    """Four decided files, one of which MusicBrainz does not know."""
    (home / "music").mkdir()
    for name, bundle in BUNDLES.items():
        file_of(bundle, home / "music", f"{name}.flac", album="Best\tof", date="2004-05-01")
    flac(home / "music", "unknown.flac", artist="Nobody", title="Nothing")
    canon("batch", home / "music", knowing=BUNDLES.values()).must_end(3)
    return home / "music"


def test_decisions_are_listed_in_every_form(canon: Canon, library: Path) -> None:
    rows = canon("ls", "artist:queen state:decided", "--format=jsonl").must_end(0)
    unquoted = ("title:bohemian rhapsody", "state:decided")  # as the shell leaves it
    assert rows.out == canon("--output=json", "ls", *unquoted).out
    line = rows.line
    assert (line["artist"], line["title"], line["album"], line["year"]) == (
        "Queen", "Bohemian Rhapsody", "Best\tof", 2004,
    )  # fmt: skip
    assert (line["first_release"]["date"], line["crg_title"]) == (
        "1975-10-31", "A Night at the Opera",
    )  # fmt: skip
    (row,) = csv.DictReader(
        io.StringIO(canon("ls", "year:1975 -state:undecided", "--format=csv").out)
    )
    assert (row["first_release"], row["first_release_on"], row["state"], row["rule"]) == (
        "1975-10-31", "Bohemian Rhapsody", "decided", "ALBUM_LEAD_WINDOW",
    )  # fmt: skip
    assert row["path"] == line["path"] == str(library / "queen.flac")
    assert row["address"] == f"https://musicbrainz.org/release-group/{line['crg_mbid']}"
    head, *lines = canon("ls").out.splitlines()
    assert {len(each.split("\t")) for each in lines} == {len(head.split("\t"))}
    assert len(lines) == 4
    undecided = canon("ls", "-0", "-state:decided", "-q", "-year:none").out
    assert undecided == f"{library / 'open'}.flac\0"
    paths = canon("ls", "-0", "state:decided").out.split("\0")
    assert [Path(each).name for each in paths] == ["hanae.flac", "queen.flac", ""]
    assert len(canon("ls", "--sample=1", "--by=rule", "-0").out.split("\0")) == 4
    assert canon("ls", "-0", "--limit=1").out == f"{library / 'hanae'}.flac\0"


def test_names_that_a_playlist_cannot_hold_are_left_out(canon: Canon, library: Path) -> None:
    odd = [library / os.fsdecode(name) for name in (b"two\nlines.flac", b"\xff.flac")]
    for path in odd:
        file_of(BUNDLES["queen"], library, path.name)
    canon("decide", *odd, knowing=BUNDLES.values()).must_end(0)
    ran = canon("playlist").must_end(1)
    assert ran.err.count("an M3U8 file cannot hold this name") == 2
    assert ran.out.count("#EXTINF") == 3
    assert "\n#EXTINF:0,Queen - Bohemian Rhapsody\n" in ran.out
    assert "path_b64" in canon("ls", "--output=json").out
    rows = csv.DictReader(io.StringIO(canon("ls", "--format=csv").out))
    assert str(odd[0]) in [row["path"] for row in rows], "with its line break in quotes"


def test_a_terminal_shows_a_list_that_fits_it(
    library: Path, home: Path, environment: dict[str, str], forked: Forking
) -> None:
    (library / "queen.flac").unlink()
    for options, columns in (((), 60), (("-v",), 100)):
        words = ["ls", "artist:queen state:decided", *options]
        status, lines = run_on_terminal(words, home / "work", environment, forked, columns)
        heading, track, *reason = lines
        assert (status, max(map(len, lines)) <= columns) == (0, True)
        assert heading.startswith("Best of, 2004  [")
        assert track.split()[0] == "1975-10-31"
        assert track.split()[-1] == "gone"
        assert ("queen.flac (album lead window): " in "".join(reason)) is bool(options)
        assert "`canon forget PATH` forgets it" in " ".join(" ".join(reason).split())


def test_a_record_chosen_since_is_listed_once_it_is_decided_again(
    canon: Canon, library: Path, home: Path, environment: dict[str, str], forked: Forking
) -> None:
    group = BUNDLES["open"]["recording_candidates"][0]["rg_candidates"][0]["mb_rg_id"]
    choice = ("override", "set", library / "open.flac", f"--crg={group}")
    canon(*choice, knowing=BUNDLES.values()).must_end(0)
    for step in (f"next: canon decide {library}", "next: canon review"):
        _, lines = run_on_terminal(["ls"], home / "work", environment, forked, columns=200)
        assert lines[-1] == step
        canon("decide", library, knowing=BUNDLES.values())


def test_a_list_leads_to_review_only_if_something_waits(
    canon: Canon, library: Path, home: Path, environment: dict[str, str], forked: Forking
) -> None:
    (library / "unknown.flac").unlink()
    canon("forget", library / "unknown.flac").must_end(0)
    for is_waiting in (True, False):
        _, lines = run_on_terminal(["ls"], home / "work", environment, forked, columns=200)
        assert (lines[-1] == "next: canon review") is is_waiting
        canon("override", "set", library / "open.flac", "--first=1970", knowing=BUNDLES.values())
    canon("review").must_end(0, "nothing needs you")
    recording = BUNDLES["open"]["recording_candidates"][0]["mb_recording_id"]
    line = canon("ls", "state:undecided", "--output=json").line
    assert line["address"] == f"https://musicbrainz.org/recording/{recording}"


def test_a_track_stays_older_than_its_album_once_it_is_written(canon: Canon, library: Path) -> None:
    song = library / "queen.flac"
    canon("write", song, "--apply").must_end(0)
    canon("decide", song, knowing=BUNDLES.values()).must_end(0)
    line = canon("ls", "older:29 artist:queen state:decided", "--output=json").must_end(0).line
    assert (line["path"], line["year"]) == (str(song), 2004)


def test_what_is_gone_or_no_audio_is_no_row(canon: Canon, library: Path, home: Path) -> None:
    cover = library / "cover.jpg"
    cover.write_bytes(b"no audio")
    canon("decide", cover).must_end(1, "is not audio that can be read")
    canon("batch", cover).must_end(1, "is not audio that can be read")
    assert len(canon("ls", "--output=json").lines) == 4
    (library / "queen.flac").unlink()
    canon("forget", library / "queen.flac", "--dry-run").must_end(0, "would forget 1 file")
    assert len(canon("ls", "--output=json").lines) == 4
    canon("forget", library / "queen.flac").must_end(0, "forgot 1 file and 1 decision")
    canon("forget", library / "queen.flac").must_end(0, "canon knows no such file")
    for path in library.iterdir():
        path.unlink()
    library.rmdir()
    assert canon("forget", library, "--output=json").line == {
        "files": 3, "decisions": 3, "dry_run": False,
    }  # fmt: skip
    assert canon("ls", "--output=json").out == ""


def test_a_sample_is_judged_with_keys_and_goes_on(
    canon: Canon, library: Path, home: Path, environment: dict[str, str]
) -> None:
    with walking(home, environment, "audit") as terminal:
        first = terminal.until("q quit")
        assert "--- 1 of 2" in first
        assert "first released" in first
        assert "your tags    Best of, 2004" in first
        terminal.press(
            ("x", "no such key"), ("?", "w  wrong: one of them is not"),
            ("r", "stored: right"), ("b", "taken back"),
            ("w", "stored: wrong"), ("q", "left to judge"),
        )  # fmt: skip
        assert terminal.ended() == 3
    with walking(home, environment, "audit") as terminal:
        assert "--- 1 of 1" in terminal.until("q quit")
        terminal.press(
            ("w", "the end of the sample; b takes back"), ("b", "taken back"),
            ("r", "the end of the sample"), ("q", "95% interval"),
        )  # fmt: skip
        assert terminal.ended() == 0
    report = canon("audit", "--report").must_end(0)
    assert "all 1 1 0 50.0% 9.5% to 90.5%" in " ".join(report.out.split())
    assert canon("audit", "--output=json").line["all"]["wrong"] == 1
    for size, status, said in (((), 0, "all"), (("--sample=3",), 3, "1 of the sample left")):
        canon("audit", "--report", "state:decided,undecided", *size).must_end(status, said)
    assert canon("review", "list", "--output=json").lines, "the queue is as it was"


def test_playlists_are_written(canon: Canon, library: Path, home: Path) -> None:
    out = home / "first.m3u8"
    told = "3 files by first release, 1 without a first release left out"
    canon("playlist", "-o", out).must_end(0, told)
    assert [Path(line).stem for line in out.read_text("utf-8").splitlines()[2::2]] == [
        "open", "queen", "hanae",
    ]  # fmt: skip
    assert canon("playlist", "certain:yes", "year:1975").out.count("#EXTINF") == 2
    smart = home / "The Seventies.nsp"
    canon("playlist", "decade:1970s", "-o", smart).must_end(0, "its player chooses the files")
    made = json.loads(smart.read_bytes())
    assert (made["name"], made["sort"]) == ("The Seventies", "originaldate")
    canon("playlist", "year:1900").must_end(1, "no file with a first release matches")
    (library / "queen.flac").unlink()
    rows = canon("ls", "--output=json").lines
    assert [Path(row["path"]).stem for row in rows if not row["is_there"]] == ["queen"]
    canon("playlist", "-o", out).must_end(0, "2 files by first release", "1 gone left out")
    canon("playlist", "-o", home / "no" / "list.m3u").must_end(1, "cannot be written")
