"""`canon undo` as a process: by run, folder, path and time, of files that others changed since."""

import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mutagen.flac import FLAC, Picture

from golden.bundles import golden
from integration.conftest import Canon, in_store
from integration.services import file_of

BUNDLE = golden("lead-bohemian")
TITLE = BUNDLE["recording_title"]
COUNT = "SELECT count(*) FROM writes"


@pytest.fixture
def songs(canon: Canon, home: Path) -> list[Path]:
    """Files in two folders that were decided and written."""
    files = []
    for name in ("a/1.flac", "a/2.flac", "b/3.flac"):
        path = home / "music" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        files.append(file_of(BUNDLE, home).rename(path))
    canon("decide", *files, knowing=[BUNDLE]).must_end(0)
    for file in files:
        shutil.copy(file, file.with_suffix(".before"))
    canon("write", *files, "--apply").must_end(0)
    return files


def is_back(path: Path) -> bool:
    """Say whether a file is what it was, byte for byte."""
    return path.read_bytes() == path.with_suffix(".before").read_bytes()


def states(canon: Canon, *arguments: object, status: int = 0) -> list[str]:
    ran = canon("undo", *arguments, "--output=json").must_end(status)
    return [line["state"] for line in ran.lines]


def test_undo_by_folder_path_and_run(canon: Canon, songs: list[Path]) -> None:
    lines = canon("undo", "../music/a", "--output=json").must_end(0).lines
    assert [(line["state"], line["why"]) for line in lines] == [("undone", None)] * 2
    assert list(map(is_back, songs)) == [True, True, False]
    canon("undo", songs[0].parent).must_end(1, "no tags were written there, or all are put back")
    assert states(canon) == ["undone"]
    assert all(map(is_back, songs))


def test_undo_since_a_time(canon: Canon, songs: list[Path]) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    canon("undo", "--since", tomorrow).must_end(1, "no tags were written since")
    today = datetime.now().astimezone().date().isoformat()
    assert states(canon, "--since", today, songs[2].parent) == ["undone"]
    canon("write", songs[0], "--apply", "--policy=note").must_end(0)
    assert states(canon, "--since", "2h", "--dry-run") == ["planned"] * 3
    assert states(canon, "--since", "2h") == ["undone"] * 3, "of one file both"
    assert all(map(is_back, songs))


def test_a_dry_run_changes_nothing(canon: Canon, songs: list[Path], home: Path) -> None:
    before, count = [song.read_bytes() for song in songs], in_store(home, COUNT)
    assert states(canon, "--dry-run") == ["planned"] * 3
    assert ([song.read_bytes() for song in songs], in_store(home, COUNT)) == (before, count)
    assert canon("undo").must_end(0, "3 files put back").status == 0


def test_what_others_changed_since_stays_and_is_shown(canon: Canon, songs: list[Path]) -> None:
    song = songs[2]
    audio = FLAC(song)
    audio["mood"] = ["calm"]
    del audio["title"]
    picture = Picture()
    picture.data = bytes(5_000)
    audio.add_picture(picture)
    audio.save()
    others = [
        {"field": "TITLE", "old": [TITLE], "new": []},
        {"field": "MOOD", "old": [], "new": ["calm"]},
        {"field": "PICTURE:1", "old": [], "new": ["(5032 bytes, 6618cd5f)"]},
    ]
    assert canon("verify", song, "--output=json").must_end(3).line["changes"] == others
    canon("verify", song).must_end(3, "only tags that were not written have changed since")
    line = canon("undo", song, "--output=json").must_end(0).line
    assert (line["state"], line["others"], line["kept"]) == ("undone", others, [])
    audio = FLAC(song)
    assert (audio["mood"], len(audio.pictures)) == (["calm"], 1)
    assert not {"title", "canon_trace"} & set(audio)


def test_a_changed_written_key_is_kept_unless_forced(canon: Canon, songs: list[Path]) -> None:
    song = songs[2]
    audio = FLAC(song)
    (written,) = audio["canon_trace"]
    audio["canon_trace"] = ["mine"]
    audio.save()
    kept = f"CANON_TRACE before - written {written} now mine"
    canon("verify", song, COLUMNS="200").must_end(3, kept)
    canon("undo", song).must_end(3, "to put the changed keys back too: canon undo")
    partly = canon("verify", song, "--output=json").must_end(3).line
    assert (partly["state"], partly["changes"][0]["field"]) == ("put back in part", "CANON_TRACE")
    assert states(canon, song, status=3) == ["refused"]
    assert states(canon, song, "--force") == ["undone"]
    assert "canon_trace" not in FLAC(song)
    canon("undo", song).must_end(1, "all are put back")


@pytest.mark.parametrize("hinder", ["read-only", "hard link"])
def test_what_may_not_be_written_is_refused(
    canon: Canon, songs: list[Path], home: Path, hinder: str
) -> None:
    link = home / "link.flac"
    if hinder == "read-only":
        songs[0].chmod(0o444)
    else:
        link.hardlink_to(songs[0])
    for option, others in (("--dry-run", "planned"), ("--keep-mtime", "undone")):
        assert sorted(states(canon, option, status=3)) == sorted(["refused", others, others])
    if hinder == "hard link":
        written = link.read_bytes()
        assert "use --copy-links" in canon("undo", songs[0]).must_end(3).out
        assert states(canon, songs[0], "--dry-run", "--copy-links") == ["planned"]
        assert states(canon, songs[0], "--copy-links") == ["undone"]
        assert link.read_bytes() == written
    else:
        songs[0].chmod(0o644)
        canon("undo").must_end(0, "1 file put back")
    assert all(map(is_back, songs))


def test_what_a_later_run_wrote_is_no_change_by_others(canon: Canon, songs: list[Path]) -> None:
    first = canon("verify", songs[0], "--output=json").must_end(0).line["run_id"]
    canon("write", *songs, "--apply", "--policy=note").must_end(0)
    later = canon("verify", songs[0], "--output=json").must_end(0).line["run_id"]
    written = [song.read_bytes() for song in songs]
    for option in ("--dry-run", "--keep-mtime"):
        reason = f"run {later} has written its tags since: `canon undo {later}` first"
        canon("undo", first, option).must_end(3, reason)
    assert [song.read_bytes() for song in songs] == written
    assert states(canon, first, "--dry-run", "--force") == ["planned"] * 3
    for run in (later, first):
        assert states(canon, run) == ["undone"] * 3
    assert all(map(is_back, songs))


def test_the_copy_of_a_killed_save_is_removed(canon: Canon, songs: list[Path]) -> None:
    module = "chart_binder.audio.locks"
    make = f"import sys, pathlib; from {module} import new_temporary_name as name"
    make += "; path = pathlib.Path(sys.argv[1]); path.with_name(name(path)).touch()"
    for song, arguments in ((songs[0], [songs[0].parent]), (songs[2], [])):
        subprocess.run([sys.executable, "-c", make, song], check=True)
        canon("undo", *arguments, "--dry-run").must_end(0)
        assert len(list(song.parent.glob(".canon-save-*"))) == 1
        canon("undo", *arguments).must_end(0, "left over by a save that was cut short, removed")
        assert not list(song.parent.glob(".canon-save-*"))


@pytest.fixture
def copies(canon: Canon, home: Path) -> tuple[list[Path], list[bytes]]:
    """Two copies of one recording on albums of other years, written, and what they were before."""
    files = []
    for album, year in (("A", "1991"), ("B", "2004")):
        folder = home / "music" / album
        folder.mkdir(parents=True)
        files.append(file_of(BUNDLE, folder, album=album, date=year))
    canon("decide", *files, knowing=[BUNDLE]).must_end(0)
    before = [file.read_bytes() for file in files]
    canon("write", *files, "--apply", "--also-date").must_end(0)
    return files, before


@pytest.mark.parametrize("name", ["run", "folder"])
def test_copies_of_which_the_names_were_swapped_get_their_own_tags_back(
    canon: Canon, home: Path, copies: tuple[list[Path], list[bytes]], name: str
) -> None:
    (first, second), (old_first, old_second) = copies
    between = home / "between"
    first.rename(between)
    second.rename(first)
    between.rename(second)
    canon("verify", first, second).must_end(0, "2 as written")
    arguments = () if name == "run" else (home / "music",)
    assert states(canon, *arguments, "--dry-run") == ["planned"] * 2
    canon("undo", *arguments).must_end(
        0, "2 files put back", f"it was '{first}' when its tags were"
    )
    assert (first.read_bytes(), second.read_bytes()) == (old_second, old_first)
    canon("verify", first, second).must_end(0, "2 put back")


def test_undo_of_a_run_finds_files_that_were_renamed_or_decided_again(
    canon: Canon, songs: list[Path], home: Path
) -> None:
    renamed, moved = songs[0].with_name("01.flac"), home / "elsewhere.flac"
    songs[0].rename(renamed)
    songs[2].rename(moved)
    canon("decide", moved, knowing=[BUNDLE]).must_end(0)
    assert states(canon, "--dry-run") == ["planned"] * 3
    canon("undo").must_end(0, "3 files put back", f"it was '{songs[2]}' when its")
    old = [song.with_suffix(".before").read_bytes() for song in songs]
    assert [path.read_bytes() for path in (renamed, songs[1], moved)] == old
    canon("verify", renamed, songs[1]).must_end(0, "2 put back")
