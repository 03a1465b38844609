"""`canon review` as a process: what waits for a person, what they say, and what comes of it."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from golden.bundles import Bundle, golden, year_only_single
from integration.conftest import Canon, in_store
from integration.services import ALBUM, LP, SINGLE, adjudicating, asking, file_of, final
from integration.terminal import walking
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng

BUNDLE = year_only_single()
RECORDING = BUNDLE["recording_candidates"][0]["mb_recording_id"]
UNSURE = final(confidence=0.7)


def bundle_of(recording: str) -> Bundle:
    """Return the open bundle as of another recording."""
    bundle = year_only_single()
    bundle["recording_candidates"][0]["mb_recording_id"] = recording
    return bundle


def adjudicated(canon: Canon, *files: Path) -> None:
    """Decide files with a model that proposes the album for each."""
    with (
        MusicBrainzStandIn([BUNDLE]) as mb,
        Searxng() as search,
        OllamaStandIn([UNSURE, UNSURE] * len(files)) as model,
    ):
        ran = canon("decide", *files, **asking(mb) | adjudicating(model, search))
    assert ran.status == 3, ran.err


def decided(canon: Canon, file: Path, bundle: Bundle = BUNDLE) -> dict[str, Any]:
    with MusicBrainzStandIn([bundle]) as mb:
        settings = asking(mb) | {"CANON_MUSICBRAINZ__CACHE_TTL_S": "0"}
        return canon("decide", file, "--output=json", **settings).line


@pytest.fixture
def open_song(canon: Canon, home: Path) -> Path:
    """A file that the rules left open, and no model was asked."""
    file = file_of(BUNDLE, home)
    assert decided(canon, file)["state"] == "undecided"
    return file


@pytest.fixture
def proposed(canon: Canon, home: Path) -> Path:
    """A file for which a model proposes the album, to be reviewed."""
    file = file_of(BUNDLE, home, "proposed.flac")
    adjudicated(canon, file)
    return file


def waiting(canon: Canon, *paths: Path) -> list[str]:
    ran = canon("review", "list", *paths, "--output=json")
    assert ran.status == (3 if ran.lines else 0)
    return [Path(line["path"]).name for line in ran.lines]


@pytest.mark.parametrize(("damage", "status"), [("document = 5", 1), ("document = x'7b'", 3)])
def test_a_damaged_decision_is_named(
    canon: Canon, open_song: Path, home: Path, damage: str, status: int
) -> None:
    other = bundle_of(SINGLE)
    sound = file_of(other, home, "sound.flac")
    decided(canon, sound, other)
    in_store(home, f"UPDATE decisions SET {damage} WHERE seq = 1")
    ((known,),) = in_store(home, "SELECT id FROM decisions WHERE seq = 1")
    listed, drift = canon("review", "list"), canon("drift")
    assert sound.name in listed.out
    assert known in listed.out + listed.err
    assert listed.status == (1 if "left out" in listed.err else 3)
    drift.must_end(status, "1 unchanged")
    canon("ls").must_end(1, sound.name, known)
    assert known in drift.out + drift.err
    with MusicBrainzStandIn([BUNDLE]) as mb:
        ran = canon("batch", open_song, sound, "--output=json", **asking(mb))
        again = canon("batch", open_song, "--output=json", **asking(mb))
    assert "decided again" in ran.err
    assert known in ran.err
    assert [line["state"] for line in ran.lines] == ["undecided"] * 2
    assert [line["resumed"] for line in again.lines] == [True]


def test_open_cases_are_listed_by_folder_and_state(canon: Canon, open_song: Path) -> None:
    line = canon("review", "list", "--output=json").must_end(3).line
    assert (line["state"], line["files"], line["proposal"]) == ("undecided", 1, None)
    open_song.rename(open_song.with_name("moved.flac"))
    folder, gone = open_song.parent, open_song.with_name("gone")
    for argument, status, told in (
        (folder, 3, "the file is gone: `canon review keep` takes it out"),
        ("--state=review", 0, ""),
        (gone, 1, "no such file"),
        ("--state=undecided,unmatched", 3, "1 case needs you"),
        ("--state=undecided", 3, "1 case needs you"),
        (
            "--state=decided",
            2,
            "--state 'decided': give one of review, undecided, unmatched, unreadable, year",
        ),
    ):
        canon("review", "list", argument).must_end(status, told)


def test_a_case_is_shown_with_candidates_and_transcript(canon: Canon, proposed: Path) -> None:
    ran = canon("review", "show", proposed)
    ran.must_end(
        3, "before or after 1975-08-23?", "C2 'A Night at the Opera', by the model",
        "if before 1975-08-23", "The single came out 21 days before the album.", "--transcript",
        f"next: canon review accept {proposed}",
    )  # fmt: skip
    canon("review", "show", "-v", proposed).must_end(
        3, "problem      a proposal, because rules decide",
        f"/release-group/{SINGLE}", 'C2.R1      1975-11-21, GB, 12" Vinyl',
    )  # fmt: skip
    narrow = canon("review", "show", proposed, COLUMNS="60").out.splitlines()[1:-1]
    assert [line for line in narrow if len(line) > 60 and "https:" not in line] == []
    assert "Final Answer:" in canon("review", "show", proposed, "--transcript").out
    line = canon("review", "show", proposed, "--output=json").line
    assert [row["label"] for row in line["candidates"]][:2] == ["C1", "C2"]
    assert (line["proposal"]["crg_mbid"], line["waits"]) == (ALBUM, True)
    assert canon("review", "show", line["decision_id"]).out == ran.out
    canon("review", "show", "nothing.flac").must_end(1, "neither a file nor")


def test_an_accepted_proposal_is_written_and_decided(canon: Canon, proposed: Path) -> None:
    assert canon("write", proposed).status == 3
    canon("review", "accept", proposed, "--reason", "I was there").must_end(
        0, "belongs to   A Night at the Opera (Album)"
    )
    assert waiting(canon) == []
    line = canon("write", proposed, "--apply", "--output=json").line
    assert (line["state"], line["crg_mbid"]) == ("written", ALBUM)
    now = decided(canon, proposed)
    assert (now["decided_by"], now["crg_mbid"], now["rr_mbid"]) == ("override", ALBUM, LP)
    assert "I was there" in now["rationale"]
    canon("review", "accept", proposed).must_end(1, "decided by a person's override")


def test_a_decision_by_a_removed_override_waits_again(canon: Canon, open_song: Path) -> None:
    named = canon("review", "list", "--output=json").line["decision_id"]
    ruled = canon("override", "set", named, "--crg", ALBUM, "--reason=I know", "--offline")
    ruled.must_end(0, f"/recording/{RECORDING}")
    assert waiting(canon) == []
    assert decided(canon, open_song)["decided_by"] == "override"
    again = f"to be decided again: {open_song}"
    canon("override", "remove", RECORDING).must_end(0, again)
    for shown in (canon("review", "show", open_song), canon("review", "list")):
        shown.must_end(3, "the override that decided it has been removed")
    assert decided(canon, open_song)["state"] == "undecided"
    assert waiting(canon) == ["song.flac"]


def test_the_rules_are_shown_where_they_say_something_else(canon: Canon, home: Path) -> None:
    """Nor is it asked what an override answers."""
    by_rules, opened = golden("lead-bohemian"), bundle_of(f"0{RECORDING[1:]}")
    sure, unsure = file_of(by_rules, home), file_of(opened, home, "open.flac")
    canon("decide", sure, unsure, knowing=[by_rules, opened]).must_end(3)
    canon("override", "set", unsure, f"--crg={ALBUM}", "--reason=mine", "--offline").must_end(0)
    for file, days, shown in ((sure, "90", []), (sure, "5", ["rules"]), (unsure, "90", [])):
        ran = canon("review", "show", "-v", file, CANON_RULES__LEAD_WINDOW_DAYS=days)
        ran.must_end(0)
        labels = (line.split()[0] for line in ran.out.splitlines() if line.strip())
        assert [each for each in labels if each in ("rules", "open", "missing")] == shown


def test_a_failed_file_is_shown_with_its_error_and_what_helps(canon: Canon, home: Path) -> None:
    broken = home / "broken.flac"
    broken.write_bytes(b"fLaC")
    assert canon("decide", broken).status == 3
    ran = canon("review", "show", broken).must_end(3)
    told = ("Needs you", "mend or replace the file", "appeared", "nobody")
    assert [words in " ".join(ran.out.split()) for words in told] == [True, True, False, False]


def test_the_right_candidate_is_named_by_label_id_or_address(canon: Canon, open_song: Path) -> None:
    canon("review", "accept", open_song).must_end(1, "canon review show")
    for crg, rr, status, said in (
        ("C9", None, 2, "one of C1, C2"),
        ("C2", "C2", 2, "'C2' is not a release id"),
        (None, "C2.R1", 2, "give both"),
    ):
        named = [f"--crg={crg}"] * bool(crg) + [f"--rr={rr}"] * bool(rr)
        canon("review", "reject", open_song, "--reason=x", *named).must_end(status, said)
    assert canon("review", "reject", open_song, "--reason= ").status == 2
    release, group = (
        f"https://musicbrainz.org/{one}" for one in (f"release/{LP}", f"release-group/{ALBUM}")
    )
    for named in (["--crg=c2.r1"], [f"--crg={release}"], [f"--crg={group}", "--rr=c2.r1"]):
        arguments = ("review", "reject", open_song, *named, "--reason=I know")
        line = canon(*arguments, "--dry-run", "--output=json").must_end(0).line
        assert (line["override"]["rr_mbid"], line["dry_run"]) == (LP, True)
    canon(*arguments, "--dry-run").must_end(0, "rejected (not stored: --dry-run)")
    assert waiting(canon) == [open_song.name]
    canon(*arguments).must_end(0)
    assert waiting(canon) == []
    now = decided(canon, open_song)
    assert (now["decided_by"], now["crg_mbid"], now["rr_mbid"]) == ("override", ALBUM, LP)


def test_a_rejected_proposal_is_not_written(canon: Canon, proposed: Path) -> None:
    same = canon("review", "reject", proposed, "--crg=C2", "--reason=x")
    same.must_end(1, "canon review accept")
    assert canon("review", "reject", proposed, "--reason", "a cover").status == 0
    assert waiting(canon) == []
    canon("review", "show", proposed).must_end(0, "a person said reject: a cover")
    assert "a person rejected it: a cover" in canon("write", proposed).out
    adjudicated(canon, proposed)
    assert waiting(canon) == [], "the same answer was rejected"
    assert "a person rejected it: a cover" in canon("write", proposed, "--apply").out
    assert waiting(canon) == [], "nor is it listed as not written"


@pytest.fixture
def four(canon: Canon, home: Path) -> list[Path]:
    """Four files with evidence of their own, all left open."""
    bundles = [bundle_of(f"{number}{RECORDING[1:]}") for number in range(4)]
    files = [file_of(bundle, home, f"{number}.flac") for number, bundle in enumerate(bundles)]
    assert canon("decide", *files, knowing=bundles).status == 3
    return files


def test_the_cases_of_an_album_are_together(
    canon: Canon, home: Path, environment: dict[str, str]
) -> None:
    """By folder, and in a folder by the release id or the album in the tags."""
    bundles = [bundle_of(f"{number}{RECORDING[1:]}") for number in range(6)]
    files = []
    for number, (name, bundle) in enumerate(zip("ABABAB", bundles, strict=True)):
        folder = home / "music" / ("mixed" if number < 4 else "own")
        folder.mkdir(parents=True, exist_ok=True)
        files.append(file_of(bundle, folder, f"{number}.flac", album=f"Album {name}"))
    canon("decide", *files, knowing=bundles).must_end(3)
    listed = canon("review", "list").must_end(3).out.splitlines()
    heads = [line.partition("  [")[0] for line in listed if line.startswith("Album")]
    assert heads == [f"Album {one[0]}: {one[1]} undecided" for one in ("A2", "B2", "A1", "B1")]
    assert waiting(canon) == ["0.flac", "2.flac", "1.flac", "3.flac", "4.flac", "5.flac"]
    with walking(home, environment, "review", "walk") as terminal:
        for place in (1, 2, 3):
            terminal.until(f"--- {place} of 6: {'021'[place - 1]}.flac [Album {'AAB'[place - 1]}]")
            terminal.press(("k", "kept out of the queue"))
        terminal.press(("q", "3 reviewed"))
    assert waiting(canon) == ["3.flac", "4.flac", "5.flac"]


@pytest.mark.slow
def test_single_keys_walk_it(
    canon: Canon, home: Path, environment: dict[str, str], proposed: Path, four: list[Path]
) -> None:
    player = home / "player.sh"
    player.write_text(f'#!/bin/sh\nprintf "%s;" "$@" > {home}/played\necho "it played"\n')
    player.chmod(0o755)
    with walking(home, environment, "review", "--interactive", f"{home}/0.flac") as terminal:
        assert "a accept" not in terminal.until("? keys")
        terminal.press(("a", "nothing is proposed"), ("p", "no player is configured"), ("q", ""))
    settings = environment | {"CANON_REVIEW__PLAYER": f"{player} --quiet {{path}}"}
    with walking(home, settings, "review", "walk") as terminal:
        case = terminal.until("? keys")
        assert "p play" in case
        assert len(case.partition("--- 1 of 5")[2].splitlines()) <= 24
        terminal.press(
            ("z", "no such key"),
            ("?", "\nr    reject: the proposal is wrong"), ("m", "/release-group/"),
            ("p", "it played"), ("b", "this is the first"), ("u", "there is no verdict to undo"),
            ("9", "no such candidate"), ("s", "--- 2 of 5"), ("t", "no run is stored"),
            ("2", "--- 3 of 5"),
        )  # fmt: skip
        assert (home / "played").read_text() == f"--quiet;{proposed};"
        assert "0.flac" not in waiting(canon), "kept at once"
        terminal.press(("b", "--- 2 of 5"))
        assert "your verdict: C2 is right; u takes it back" in terminal.until("? keys")
        terminal.press(("u", "--- 2 of 5"))
        assert "0.flac" in waiting(canon)
        terminal.press(("s", "--- 3 of 5"), ("b", "--- 2 of 5"), ("2", "--- 3 of 5"))
        terminal.press(("u", "--- 2 of 5"), ("2", "--- 3 of 5"), ("s", "--- 4 of 5"))
        terminal.press(("r", "what is wrong"))
        terminal.enter("no idea", "which is right")
        terminal.enter("", "--- 5 of 5")
        terminal.press(("x", ": not this recording"), ("q", "3 reviewed"))
        assert terminal.ended() == 3
    assert waiting(canon) == ["proposed.flac", "1.flac"]
    with walking(home, settings, "review", "walk") as terminal:
        terminal.press(("f", "accept 1 proposal?"))
        terminal.enter("n", "none accepted")
        terminal.press(("e", "accept 1 proposal?"))
        terminal.enter("y", "accepted")
        terminal.press(("q", "1 reviewed"))
    assert waiting(canon) == ["1.flac"]


def test_an_interrupted_walk_continues(
    canon: Canon, home: Path, environment: dict[str, str], proposed: Path, four: list[Path]
) -> None:
    for file in four[1:]:
        canon("review", "keep", file)
    with walking(home, environment, "review", "walk") as terminal:
        terminal.until("--- 1 of 2")
        terminal.press(("r", "what is wrong"))
        terminal.enter("a slip", "which is right")
        terminal.enter("C9", "C9: no such candidate")
        time.sleep(0.3)  # until it listens: the question is written before
        os.write(terminal.leader, b"\x03")
        terminal.until("not rejected")
        terminal.press(("r", "what is wrong (Ctrl-C: back) [a slip]"))
        terminal.enter("", "which is right")
        time.sleep(0.3)
        os.write(terminal.leader, b"\x03")
        terminal.until("not rejected")
        terminal.press(
            ("s", "--- 2 of 2"), ("k", "the end of the queue: 1 reviewed"), ("u", "taken back"),
            ("k", "the end of the queue: 1 reviewed"),
            ("x", "no such key; u undo the last, q quit"), ("q", ""),
        )  # fmt: skip
        assert terminal.ended() == 3
    assert len(waiting(canon)) == 1
    with walking(home, environment, "review", "walk", str(home)) as terminal:
        terminal.until("--- 1 of 1")
        terminal.press(("\x03", "canon: interrupted"))
        assert terminal.ended() == 130
    with walking(home, environment, "review", "walk") as terminal:
        terminal.until("--- 1 of 1")
        terminal.press(
            ("o", f"\nC1   https://musicbrainz.org/release-group/{SINGLE}"),
            ("a", "the end of the queue: 1 reviewed"),
            ("\x04", ""),
        )
        assert terminal.ended() == 0
    assert waiting(canon) == []
    assert canon("write", proposed).status == 0


def test_a_proposal_outlives_a_run_without_a_model(canon: Canon, proposed: Path) -> None:
    before = canon("review", "show", proposed, "--output=json").line
    assert decided(canon, proposed)["state"] == "review"
    after = canon("review", "show", proposed, "--output=json").line
    assert (after["proposal"], after["waits"]) == (before["proposal"], True)
    canon("batch", proposed, "--refresh", knowing=[BUNDLE]).must_end(
        3, "1 with an earlier decision", "review 1, a proposal waits"
    )
    assert canon("review", "show", proposed, "--output=json").line["proposal"] == before["proposal"]


def test_a_candidate_is_chosen_in_one_call(canon: Canon, proposed: Path) -> None:
    for arguments, group, why in (
        (("C1", "--reason", "it came first"), SINGLE, "it came first"),
        (("C2", "--rr", "C2.R1"), ALBUM, "it came first"),
        (("c2",), ALBUM, "it came first"),
        (("c2", "--reason", "the label says so"), ALBUM, "the label says so"),
    ):
        line = canon("review", "choose", proposed, *arguments, "--output=json").line
        assert line["override"]["crg_mbid"] == group
        assert why in line["override"]["reason"]
        assert line["override"]["rr_mbid"] or "--rr" not in arguments
    assert waiting(canon) == []
    assert decided(canon, proposed)["decided_by"] == "override"


def test_what_is_no_candidate_cannot_be_chosen(canon: Canon, proposed: Path) -> None:
    canon("review", "choose", proposed, "C9").must_end(2, "C1, C2")
    other = golden("pf-time")
    group = other["recording_candidates"][0]["rg_candidates"][0]["mb_rg_id"]
    with MusicBrainzStandIn([BUNDLE, other]) as mb:
        for words in (
            ("choose", proposed, group),
            ("reject", proposed, "--reason=x", "--crg", group),
        ):
            canon("review", *words, **asking(mb)).must_end(
                1, "nothing to do with the recording 'Queen - Bohemian Rhapsody'", "--force"
            )
    assert waiting(canon) == ["proposed.flac"]
    canon("review", *words, "--force").must_end(0, "not in the evidence")
    assert waiting(canon) == []
