"""`canon write`, `undo` and `verify` as processes: real files, a real store."""

import os
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mediafile import MediaFile
from mutagen.flac import FLAC

from audio.odd_files import JPEG, ape_tag, bare, chunk, frame, id3, texts
from chart_binder.audio.containers import audio_hash, read_tag_set
from golden.bundles import golden, year_only_single
from integration.conftest import Canon, Start, in_store
from integration.services import ALBUM, LP, SINGLE, asking, file_of, flac, open_bundles
from servers.musicbrainz import MusicBrainzStandIn

BUNDLE = golden("lead-bohemian")
RECORDING = BUNDLE["recording_candidates"][0]["mb_recording_id"]


@pytest.fixture
def song(canon: Canon, home: Path) -> Path:
    """A file that was decided."""
    file = file_of(BUNDLE, home)
    decide(canon, file)
    return file


def decide(canon: Canon, *files: Path, bundle: dict[str, Any] = BUNDLE) -> None:
    ran = canon("decide", *files, "--output=json", knowing=[bundle])
    assert ran.status in (0, 3), ran.err


def tags_of(file: Path) -> dict[str, list[str]]:
    read: dict[str, list[str]] = dict(FLAC(file))
    return read


def killed_write(home: Path, song: Path) -> Path:
    """Make the only write one that was killed, and return its left-over copy."""
    in_store(home, "UPDATE writes SET state = 'intended', done_at_utc = NULL")
    ((temporary,),) = in_store(home, "SELECT temporary FROM writes")
    return Path(shutil.copy(song, os.fsdecode(temporary)))


def journal(home: Path) -> list[tuple[str, str]]:
    joined = "writes JOIN runs ON runs.id = run_id ORDER BY writes.seq"
    return in_store(home, f"SELECT runs.command, state FROM {joined}")


def test_a_diff_is_shown_and_nothing_is_written(canon: Canon, song: Path, home: Path) -> None:
    before, modified = song.read_bytes(), song.stat().st_mtime_ns
    (line,) = canon("write", song, "--output=json").lines
    assert (line["state"], line["policy"], line["crg_mbid"]) == ("planned", "dates", ALBUM)
    dates = {"field": "original_date", "old": [], "new": ["1975-10-31"]}
    assert line["changes"][0] == dates
    assert {each["field"] for each in line["changes"]} == {
        "original_date", "original_year", "decision_trace"
    }  # fmt: skip
    assert (song.read_bytes(), song.stat().st_mtime_ns) == (before, modified)
    assert journal(home) == []


def test_dates_alone_are_written_unless_the_release_is_asked_for(
    canon: Canon, song: Path, mb: MusicBrainzStandIn
) -> None:
    sound = audio_hash(song)
    canon("write", song, "--apply").must_end(0)
    tags = tags_of(song)
    assert tags["originaldate"] == ["1975-10-31"]  # of the single
    assert tags["musicbrainz_trackid"] == [RECORDING]
    assert tags["canon_trace"][0].startswith("evh=")
    assert not {"album", "musicbrainz_albumid", "musicbrainz_releasegroupid"} & tags.keys()
    moved = canon("write", song, "--policy=move", "--apply", "--output=json", **asking(mb))
    assert moved.line["state"] == "written"
    read = MediaFile(song)
    assert (read.album, read.mb_albumid, read.mb_releasegroupid) == (
        "A Night at the Opera", LP, ALBUM
    )  # fmt: skip
    assert (read.year, read.month, read.day, read.original_year) == (1975, 11, 21, 1975)
    assert (read.country, read.albumtypes, read.albumstatus) == ("GB", ["album"], "official")
    assert (read.track, read.tracktotal, read.disc, read.disctotal) == (1, 1, 1, 1)
    assert tags_of(song)["title"] == tags["title"]
    assert audio_hash(song) == sound


def test_a_second_apply_leaves_the_file_untouched(canon: Canon, song: Path, home: Path) -> None:
    os.utime(song, ns=(10**18, 10**18))
    canon("write", song, "--apply", "--keep-mtime")
    assert song.stat().st_mtime_ns == 10**18
    before = (song.stat().st_mtime_ns, song.stat().st_ino)
    (line,) = canon("write", song, "--apply", "--output=json").lines
    assert (line["state"], line["changes"], line["run_id"]) == ("unchanged", [], None)
    assert (song.stat().st_mtime_ns, song.stat().st_ino) == before
    assert journal(home) == [("write", "done")]


def test_what_was_not_decided_is_listed_and_exits_3(canon: Canon, home: Path) -> None:
    file = file_of(BUNDLE, home)
    canon("write", file, "--apply").must_end(3, "canon decide")
    open_case = year_only_single()
    decide(canon, file, bundle=open_case)
    (line,) = canon("write", file, "--policy=note", "--output=json").must_end(3).lines
    assert line["state"] == "refused"
    assert line["why"].startswith("undecided")
    canon("override", "set", RECORDING, "--crg", SINGLE, "--reason=x", "--offline")
    for policy in ("dates", "note"):
        (line,) = canon("write", file, f"--policy={policy}", "--output=json").must_end(3).lines
        assert line["why"] == "a person decided on it since: decide again"
    gone = home / "nothing.flac"
    told = canon("write", gone).must_end(1).out.split()
    assert " ".join(told).endswith(f"1 failed failed: '{gone}' does not exist")
    assert canon("write").status == 2
    (home / "two").mkdir()
    for name in ("1.flac", "2.flac"):
        file_of(BUNDLE, home / "two", name)
    ran = canon("write", home / "two").must_end(
        3, "all 2 files: not written: not decided yet", f"next: canon decide {home}/two"
    )
    assert "1.flac" not in ran.out, "one reason holds for the whole album"


def test_an_unmatched_file_is_decided_again_once_its_tags_are_corrected(
    canon: Canon, home: Path
) -> None:
    file = flac(home, artist="Nobody", title="Nothing")
    canon("decide", file, knowing=[BUNDLE]).must_end(3, "unmatched")
    helps = "correct artist and title in its tags, or tag its recording id; then `canon decide`"
    canon("write", file).must_end(3, "knows no 'Nothing'", helps, "next: canon review")
    audio = FLAC(file)
    audio["artist"], audio["title"] = ["Queen"], ["Bohemian Rhapsody"]
    audio.save()
    ran = canon("write", file).must_end(3, "its tags changed since", f"next: canon decide {file}")
    assert "Nothing" not in ran.out


def test_the_certain_year_of_an_open_case_is_written(canon: Canon, home: Path) -> None:
    file = file_of(BUNDLE, home)
    decide(canon, file, bundle=year_only_single())
    (line,) = canon("write", file, "--apply", "--output=json").must_end(3).lines
    assert (line["state"], line["crg_mbid"]) == ("written", None)
    assert "its release group is undecided" in line["notes"][0]
    assert tags_of(file)["originaldate"] == ["1975"]


def test_what_has_no_certain_year_keeps_its_dates_and_exits_3(canon: Canon, home: Path) -> None:
    bundle = golden("archival-live-not-looked-up")
    file = file_of(bundle, home)
    decide(canon, file, bundle=bundle)
    for status, state in ((3, "written"), (3, "unchanged")):
        (line,) = canon("write", file, "--apply", "--output=json").must_end(status).lines
        assert line["state"] == state
        assert line["why"].startswith(
            "its dates stay: the year of the first release is not certain"
        )
    assert "originaldate" not in tags_of(file)
    assert "canon_trace" in tags_of(file)
    canon("write", file).must_end(3, "0 of 1 file would change, 1 without a new date")


def test_a_date_of_an_earlier_decision_is_replaced(canon: Canon, song: Path, home: Path) -> None:
    canon("write", song, "--apply").must_end(0)
    later = golden("lead-bohemian")
    groups = later["recording_candidates"][0]["rg_candidates"]
    later["recording_candidates"][0]["rg_candidates"] = [
        each for each in groups if each["primary_type"] == "Album"
    ]
    decide(canon, song, bundle=later)
    canon("write", song, "--apply", "-v").must_end(0, "1975-10-31 -> 1975-11-21")
    audio = FLAC(song)
    audio["originaldate"] = ["1975-10-31"]  # by hand
    audio.save()
    canon("write", song, "--apply").must_end(0, "original date 1975-10-31 stays")
    assert tags_of(song)["originaldate"] == ["1975-10-31"]


@pytest.mark.parametrize("key", ["originaldate", "date"])
def test_an_earlier_year_of_the_file_waits_for_a_person(canon: Canon, song: Path, key: str) -> None:
    audio = FLAC(song)
    audio[key] = ["1969"]
    audio.save()
    ran = canon("write", song, "--apply").must_end(
        3, "without a new date: its own date is before the first release that is listed",
        "date 1969 stays: it is before 1975-10-31", f"canon override set {song} --first DATE",
    )  # fmt: skip
    assert "--best-known" not in ran.err
    assert tags_of(song).get("originaldate", ["1969"]) == ["1969"]
    canon("review").must_end(3, "not written, 1 file: its own date is before", str(song))
    other = open_bundles(1)[0]
    dated = file_of(other, song.parent, "dated.flac")
    decide(canon, dated, bundle=other)
    canon("review", "choose", dated, "--first=1975", knowing=[other]).must_end(0)
    canon("write", song.parent, "--apply").must_end(3, f"override set {song} --first DATE")
    canon("override", "set", song, "--first=1975-10-31", knowing=[BUNDLE]).must_end(0)
    canon("write", song, "--apply").must_end(0, "1 file written")
    assert tags_of(song)["originaldate"] == ["1975-10-31"]
    canon("review").must_end(0)


def test_a_decision_without_evidence_is_not_written(canon: Canon, song: Path, home: Path) -> None:
    in_store(home, "DELETE FROM evidence")
    (line,) = canon("write", song, "--output=json").must_end(3).lines
    assert line["why"] == "its evidence is not in the store: decide again"


def test_a_file_that_means_another_recording_since_is_refused(canon: Canon, song: Path) -> None:
    audio = FLAC(song)
    audio["comment"] = ["mine"]
    audio.save()
    (line,) = canon("write", song, "--output=json").lines
    assert line["state"] == "planned"
    audio["musicbrainz_trackid"] = ["11111111-1111-4111-8111-111111111111"]
    audio.save()
    ran = canon("write", song, "--apply", "--output=json").must_end(3)
    assert "changed since it was decided" in ran.lines[0]["why"]


def test_a_ruling_since_asks_for_a_new_decision(canon: Canon, song: Path) -> None:
    other = "12345678-1234-4234-8234-123456789abc"
    refused = (3, "refused", "a person decided otherwise since: decide again")
    for ruled, told in (
        (("--crg", ALBUM), (0, "planned", None)),
        (("--crg", ALBUM, "--rr", other), refused),
        (("--crg", other), refused),
    ):
        canon("override", "set", RECORDING, *ruled, "--reason=x", "--offline")
        ran = canon("write", song, "--output=json")
        assert (ran.status, ran.line["state"], ran.line.get("why")) == told
    decide(canon, song)
    assert canon("write", song).status == 0
    canon("override", "remove", RECORDING)
    ran = canon("write", song, "--output=json")
    assert (ran.status, ran.line["state"]) == (3, "refused")
    assert "has been removed: decide again" in ran.line["why"]


def test_the_preview_refuses_what_a_save_would(canon: Canon, home: Path) -> None:
    song = home / "song.wav"
    recording = frame("UFID", b"http://musicbrainz.org\0" + RECORDING.encode(), 4)
    tag = chunk(b"id3 ", id3(4, 0, texts(4) + recording), "<")
    song.write_bytes(bare("bare.wav") + tag + b"junk" * 5)
    decide(canon, song)
    for options in ((), ("--apply",)):
        ran = canon("write", song, "--output=json", *options)
        assert (ran.status, ran.line["state"]) == (3, "refused")
        assert "may be sound, and the file has" in ran.line["why"]
    assert canon("ls", "--output=json").line["state"] == "decided"
    assert "may be sound" in canon("review", "list").must_end(3).out


def test_a_hard_link_gets_a_copy_on_request_and_undo_restores_the_bytes(
    canon: Canon, song: Path, home: Path
) -> None:
    seeded = home / "seeded.flac"
    seeded.hardlink_to(song)
    before = song.read_bytes()
    for options in ((), ("--apply",)):
        ran = canon("write", song, "--output=json", *options).must_end(3)
        assert ran.line["state"] == "refused"
        assert "use --copy-links" in ran.line["why"]
    for options, state in (((), "planned"), (("--apply",), "written")):
        ran = canon("write", song, "--copy-links", "--output=json", *options).must_end(0)
        assert ran.line["state"] == state
    assert (seeded.read_bytes(), seeded.stat().st_nlink) == (before, 1)
    assert canon("verify", song).status == 0
    canon("undo").must_end(0)
    assert song.read_bytes() == before
    assert not song.samefile(seeded)
    canon("batch", song, "--write", "--copy-links").must_end(0)
    assert tags_of(song)["originaldate"] == ["1975-10-31"]


def test_what_is_not_copied_is_named_before_anything_is_written(canon: Canon, home: Path) -> None:
    song = home / "song.mp3"
    items = {"Title": "Bohemian Rhapsody", "Artist": "Queen", "MUSICBRAINZ_TRACKID": RECORDING}
    song.write_bytes(bare("bare.mp3") + ape_tag(**items, Cover=b"front.jpg\0" + JPEG))
    decide(canon, song)
    hidden = ["APE Cover"]
    ran = canon("write", song, "--output=json").must_end(0)
    assert (ran.line["state"], ran.line["not_copied"]) == ("planned", hidden)
    canon("write", song).must_end(0, "not copied: APE Cover")
    ran = canon("write", song, "--apply", "--output=json").must_end(0)
    assert (ran.line["state"], ran.line["not_copied"]) == ("written", hidden)
    assert canon("write", song, "--output=json").must_end(0).line["not_copied"] == []


def test_verify_tells_other_audio_from_other_tags(canon: Canon, song: Path, home: Path) -> None:
    assert canon("verify", song).status == 3  # nothing was written yet
    odd = home / "odd.flac"
    odd.write_bytes(b"no audio at all")
    assert canon("verify", song.parent).status == 0
    odd.unlink()
    canon("write", song, "--apply")
    content = bytearray(song.read_bytes())
    content[-20] ^= 1
    song.write_bytes(content)
    (line,) = (ran := canon("verify", song, "--output=json")).lines
    assert (ran.status, line["state"]) == (1, "audio differs")
    for options in ((), ("--dry-run",), ("--force",)):
        canon("undo", *options).must_end(3, "its audio is not the audio that the tags")
    assert song.read_bytes() == content
    song.unlink()
    assert canon("verify", song).status == 1


def test_a_killed_write_is_repaired_by_the_next(canon: Canon, song: Path, home: Path) -> None:
    """An intent without an outcome, with the left-over copy of a process that is dead."""
    before, first = song.read_bytes(), read_tag_set(song)
    canon("write", song, "--apply")
    after = song.read_bytes()
    left = killed_write(home, song)
    song.write_bytes(before)
    assert canon("verify", song, "--output=json").lines[0]["state"] == "open"
    ran = canon("write", song, "--apply", "--output=json")
    assert (ran.status, ran.lines[0]["state"]) == (0, "written")
    assert f"{left}: left over by a save that was cut short, removed" in ran.err
    assert f"{song}: a run was cut short before it wrote the tags" in ran.err
    assert not left.exists()
    assert song.read_bytes() == after
    assert journal(home) == [("write", "failed"), ("write", "done")]

    in_store(home, "UPDATE writes SET state = 'intended' WHERE state = 'done'")
    ran = canon("undo", "--output=json")
    assert "cut short after it wrote the tags" in ran.err
    assert ran.lines[0]["state"] == "undone"
    assert read_tag_set(song) == first


def test_ctrl_c_finishes_the_file_in_hand(canon: Canon, home: Path, start: Start) -> None:
    files = [file_of(BUNDLE, home, f"{number:03}.flac") for number in range(60)]
    decide(canon, *files)
    process = start("write", home, "--apply", "--output=json")
    assert process.stdout
    lines = [process.stdout.readline()]
    process.send_signal(signal.SIGINT)
    rest, told = process.communicate(timeout=30)
    lines += rest.splitlines()
    assert process.returncode == 130, told
    assert 0 < len(lines) < len(files)
    assert b"stops after the current file" in told
    assert journal(home) == [("write", "done")] * len(lines)
    assert not list(home.glob(".canon-save-*"))
    states = Counter(
        line["state"] for line in canon("write", home, "--apply", "--output=json").lines
    )
    assert states == {"unchanged": len(lines), "written": len(files) - len(lines)}


def test_names_of_any_bytes_are_written_and_put_back(canon: Canon, home: Path) -> None:
    folder = home / os.fsdecode(b"caf\xe9\n")
    folder.mkdir()
    song = file_of(BUNDLE, home).rename(folder / os.fsdecode(b"\xff \x1b[31m.flac"))
    link = home / "link.flac"
    link.symlink_to(song)
    decide(canon, link)
    assert canon("write", song, "--output=json").line["state"] == "planned"
    before = read_tag_set(song)
    (line,) = canon("write", link, "--apply", "--output=json").lines
    assert line["state"] == "written"
    assert link.is_symlink()
    ran = canon("verify", folder)
    assert (ran.status, ran.out, ran.err) == (0, "1 as written\n", "")
    (line,) = canon("undo", "--output=json").lines
    assert (line["state"], "path_b64" in line) == ("undone", True)
    assert read_tag_set(song) == before
    shown = canon("write", link)
    assert "\x1b" not in shown.out


def test_what_an_undo_of_an_undo_wrote_is_taken_back_like_a_write(canon: Canon, song: Path) -> None:
    first = read_tag_set(song)
    canon("undo").must_end(1, "nothing to undo")
    canon("undo", "no-such-run").must_end(1)
    canon("write", song, "--apply")
    second = read_tag_set(song)
    for names in ((), (song,)):
        taken = canon("undo", "--output=json").lines[0]["run_id"]
        assert read_tag_set(song) == first
        assert canon("undo", taken).status == 0
        assert read_tag_set(song) == second
        again = canon("undo", *names, "--output=json").must_end(0)
        assert read_tag_set(song) == first
        assert canon("undo", song).status == 1
        assert canon("undo").status == 1
        assert canon("undo", again.lines[0]["run_id"]).status == 0


def test_a_left_over_copy_did_not_write(canon: Canon, song: Path, home: Path) -> None:
    canon("write", song, "--apply")
    killed_write(home, song)
    ran = canon("write", song, "--apply", "--output=json")
    assert ran.lines[0]["state"] == "unchanged"
    assert journal(home) == [("write", "failed")]


def test_keys_set_along_are_shown_before_they_are_written(
    canon: Canon, song: Path, mb: MusicBrainzStandIn
) -> None:
    audio = FLAC(song)
    audio["date"], audio["year"] = ["1975-11-21"], ["1999"]
    audio["albumartist"], audio["album artist"] = ["Queen"], ["Quen"]
    audio.save()
    assert canon("write", song, "--apply").status == 0
    planned = canon("write", song, "--policy=move", "--output=json", **asking(mb)).lines[0]
    assert {"field": "album artist", "old": ["Quen"], "new": ["Queen"]} in planned["changes"]
    assert {"field": "YEAR", "old": ["1999"], "new": ["1975"]} in planned["changes"]
    written = canon(
        "write", song, "--policy=move", "--apply", "--output=json", "--offline", **asking(mb)
    ).lines[0]
    assert written["changes"] == planned["changes"]


def test_names_of_another_case_or_order_are_no_change(canon: Canon, song: Path) -> None:
    first = tags_of(song)
    canon("write", song, "--apply")
    audio = FLAC(song)
    comments: Any = audio.tags
    comments[:] = [(name.lower(), text) for name, text in reversed(comments)]
    audio.save()
    assert canon("verify", song).status == 0
    ran = canon("undo", "--output=json")
    assert (ran.status, ran.lines[0]["state"]) == (0, "undone"), ran.out
    assert tags_of(song) == first


def test_a_moved_file_is_known_again_by_its_audio(canon: Canon, song: Path, home: Path) -> None:
    first = read_tag_set(song)
    canon("write", song, "--apply")
    copy = Path(shutil.copy(song, home / "copy.flac"))
    assert canon("undo", copy).status == 1, "nothing was written into a copy"
    copy.unlink()
    (home / "new").mkdir()
    moved = song.rename(home / "new" / "moved.flac")
    assert canon("verify", moved).status == 0
    lost = canon("undo", "--output=json").must_end(1)
    assert "name the folder that it is in now: `canon undo FOLDER`" in lost.lines[0]["why"]
    (line,) = canon("undo", home, "--output=json").lines
    assert (line["state"], line["path"]) == ("undone", str(moved))
    assert f"it was '{song}'" in line["why"]
    assert read_tag_set(moved) == first
    assert canon("undo", moved).status == 1
    assert journal(home) == [("write", "undone"), ("undo", "done")]


def test_an_old_failure_is_told_with_its_time_and_what_helps(canon: Canon, home: Path) -> None:
    damaged, untagged = home / "damaged.flac", flac(home, "untagged.flac")
    damaged.write_bytes(b"no audio at all")
    files = [file_of(BUNDLE, home), damaged, untagged]
    assert canon("decide", *files, "--offline").status == 1
    helps = (
        "`canon decide` tries again", "; mend or replace the file, then", "; give it tags (artist",
    )  # fmt: skip
    for line, help_ in zip(canon("write", *files, "--output=json").lines, helps, strict=True):
        assert " (looked at 20" in line["why"]
        assert help_ in line["why"]
    canon("write", files[0]).must_end(3, f"next: canon decide {files[0]}")
    canon("write", untagged).must_end(3, "next: canon review")
