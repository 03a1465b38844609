"""`canon drift` as a process: what would now be decided otherwise, and what people make of it."""

from pathlib import Path

import pytest

from golden.bundles import Bundle, golden
from integration.conftest import Canon, in_store
from integration.services import ALBUM, SINGLE, asking, file_of, flac
from servers.http import Response
from servers.musicbrainz import GARBAGE, MusicBrainzStandIn, always

BUNDLE = golden("lead-bohemian")
RECORDING = BUNDLE["recording_candidates"][0]["mb_recording_id"]
NO_LEAD = {"CANON_RULES__LEAD_WINDOW_DAYS": "1"}
"""With it the single, three weeks before the album, is where the recording appeared."""


@pytest.fixture
def song(canon: Canon, home: Path) -> Path:
    """A file that was decided."""
    file = file_of(BUNDLE, home)
    decide(canon, file)
    return file


def decide(canon: Canon, *files: Path, bundle: Bundle = BUNDLE) -> None:
    assert canon("decide", *files, knowing=[bundle]).status == 0


def test_other_rules_make_other_decisions(canon: Canon, song: Path) -> None:
    still = canon("drift")
    assert (still.status, still.out) == (0, ""), still.err
    assert "1 unchanged" in still.err
    ran = canon("drift", song, COLUMNS="60", **NO_LEAD).must_end(
        3, "would differ: by rules", f"- {ALBUM}", f"+ {SINGLE}"
    )
    assert "Bohemian Rhapsody (Single)" in " ".join(ran.out.split())
    (line,) = canon("--output=json", "drift", **NO_LEAD).lines
    assert (line["state"], line["causes"]) == ("differs", ["rules"])
    assert (line["old"]["crg_mbid"], line["new"]["crg_mbid"]) == (ALBUM, SINGLE)
    assert canon("drift", song.with_name("nothing.flac")).status == 1


def test_other_evidence_makes_other_decisions(canon: Canon, song: Path) -> None:
    moved = golden("lead-bohemian")
    single = moved["recording_candidates"][0]["rg_candidates"][0]
    assert single["mb_rg_id"] == SINGLE
    for one in (single, *single["releases"]):
        key = "date" if "date" in one else "first_release_date"
        one[key] = "1974-01-01"
    with MusicBrainzStandIn([moved]) as mb:
        kept = canon("drift", "--output=json", **asking(mb))
        fresh = canon("drift", "--refresh", "--output=json", **asking(mb))
        both = canon("drift", "list", "--refresh", "--output=json", **asking(mb), **NO_LEAD)
    assert (kept.status, kept.lines) == (0, [])
    assert (fresh.status, fresh.lines[0]["causes"]) == (3, ["evidence"])
    assert fresh.lines[0]["new"]["crg_mbid"] == SINGLE
    assert "rules" in both.lines[0]["causes"]
    song.unlink()
    gone = canon("drift", "--refresh", "--output=json", **asking(mb)).must_end(0, "1 gone")
    assert gone.lines == []


def test_no_old_answer_stands_in_for_new_evidence(canon: Canon, song: Path, home: Path) -> None:
    with MusicBrainzStandIn([BUNDLE]) as mb:
        others = [file_of(BUNDLE, home, f"{number}.flac") for number in range(4)]
        assert canon("decide", *others, **asking(mb)).status == 0
        answered = len(mb.requests)
        mb.behave = always(Response("no", status=403))
        ran = canon("drift", "--refresh", **asking(mb))
        assert len(mb.requests) - answered == 3
        (*_, last) = canon("drift", "--refresh", "--output=json", **asking(mb)).lines
    assert ran.status == 1
    assert ran.out.count("\n  failed: ") == 3
    assert "3 failed, 2 not asked\n2 not asked: 3 look-ups in a row had failed" in ran.err
    assert "old musicbrainz answer" not in ran.err
    assert (last["state"], last["new"]) == ("not asked", None)


def test_files_that_were_never_decided_are_left_out(canon: Canon, song: Path, home: Path) -> None:
    unknown = flac(home, "unknown.flac", recording="00000000-0000-4000-8000-000000000000")
    (home / "broken.flac").write_bytes(b"no audio")
    failed = flac(home, "failed.flac", recording="00000000-0000-4000-8000-000000000001")
    with MusicBrainzStandIn([], behave=always(GARBAGE)) as mb:
        canon("decide", failed, **asking(mb)).must_end(1)
    with MusicBrainzStandIn([BUNDLE]) as mb:
        canon("decide", unknown, home / "broken.flac", **asking(mb)).must_end(3)
        asked = len(mb.requests)
        for arguments in ((), (home,), ("list", "--refresh")):
            ran = canon("drift", *arguments, **asking(mb)).must_end(0)
            assert ran.out == ""
            never = "1 unmatched, 1 unreadable, 1 never decided, for an error"
            assert ran.err == f"1 unchanged, {never}\n"
        paths = [target for target in mb.targets[asked:] if "00000000" in target]
    assert paths == [], "what was never decided is not looked up"


def test_a_decision_whose_evidence_is_lost_is_named(canon: Canon, song: Path, home: Path) -> None:
    in_store(home, "DELETE FROM evidence")
    canon("drift").must_end(1, "the evidence that it was made by is not stored: `canon decide`")


def test_what_is_accepted_is_what_is_written(canon: Canon, song: Path) -> None:
    ran = canon("drift", "accept", song, "--output=json", **NO_LEAD)
    assert (ran.status, ran.lines[0]["done"]) == (0, "accepted")
    assert canon("drift", song, **NO_LEAD).status == 0
    (line,) = canon("write", song, "--output=json").lines
    assert (line["state"], line["crg_mbid"]) == ("planned", SINGLE)
    assert canon("drift", song).status == 3  # the other way round


def test_what_is_kept_is_not_listed_until_yet_another_comes_out(canon: Canon, song: Path) -> None:
    assert canon("drift", "keep", song, **NO_LEAD).status == 0
    again = canon("drift", **NO_LEAD)
    assert (again.status, again.out) == (0, "")
    assert "1 kept" in again.err
    (line,) = canon("write", song, "--output=json").lines
    assert line["crg_mbid"] == ALBUM
    named = ("override", "set", RECORDING, f"--crg={SINGLE}", f"--rr={RECORDING}")
    canon(*named, "--reason=m", "--offline")
    ran = canon("drift", "--output=json")
    assert (ran.status, ran.line["causes"]) == (3, ["override"])
    assert ran.line["new"]["decided_by"] == "override"


def test_a_pinned_decision_holds_against_later_ones(canon: Canon, song: Path) -> None:
    (line,) = canon("drift", "pin", song, "--output=json").lines
    assert line["pinned"] is True
    assert canon("drift", **NO_LEAD).status == 0
    with MusicBrainzStandIn([BUNDLE]) as mb:
        canon("decide", song, **asking(mb), **NO_LEAD)
        (told,) = canon("decide", song, "--output=json", **asking(mb), **NO_LEAD).lines
        shown = canon("explain", song, **asking(mb), **NO_LEAD).out
        batch = canon("batch", song, "--refresh", "--output=json", **asking(mb), **NO_LEAD)
    assert (batch.lines[0]["crg_mbid"], batch.lines[0]["pinned"]) == (ALBUM, True)
    assert "1 decided before (1 pinned: a pinned decision does not change)" in batch.err
    assert (told["crg_mbid"], told["pinned_decision"]["decision_id"]) == (
        SINGLE,
        line["decision_id"],
    )
    assert "  pinned       A Night at the Opera (Album) is kept, as decided on 20" in shown
    (line,) = canon("write", song, "--output=json").lines
    assert line["crg_mbid"] == ALBUM
    canon("drift", "unpin", song)
    (line,) = canon("write", song, "--output=json").lines
    assert line["crg_mbid"] == SINGLE


def test_a_pin_is_not_written_into_another_recording(canon: Canon, song: Path, home: Path) -> None:
    (old,) = canon("drift", "pin", song, "--output=json").lines
    other = golden("album-kylie")
    file_of(other, home, "other.flac").replace(song)
    decide(canon, song, bundle=other)
    (line,) = canon("write", song, "--output=json").lines
    assert (line["state"], line["decision_id"]) == ("refused", old["decision_id"])
    assert "unpin" in line["why"]

    canon("drift", "unpin", song)
    assert canon("write", song, "--apply").status == 0
    canon("drift", "pin", old["decision_id"])
    ran = canon("write", song, "--output=json")
    assert (ran.status, ran.lines[0]["state"]) == (3, "refused")
