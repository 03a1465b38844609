"""`canon drift` as a process: what a frozen batch would decide otherwise."""

from pathlib import Path

import pytest

from golden.bundles import Bundle, golden, year_only_single
from integration.conftest import Canon, in_store
from integration.services import ALBUM, SINGLE, asking, file_of, final, flac, replaying
from servers.musicbrainz import GARBAGE, MusicBrainzStandIn, always

BUNDLE = golden("lead-bohemian")
RECORDING = BUNDLE["recording_candidates"][0]["mb_recording_id"]
NO_LEAD = {"CANON_RULES__LEAD_WINDOW_DAYS": "1"}
"""With it the single, three weeks before the album, is where the recording appeared."""


NEW_RULES = {"CANON_RULES__LEAD_WINDOW_DAYS": "91"}
"""They come to the same."""


@pytest.fixture
def song(canon: Canon, home: Path) -> Path:
    """A file that was decided."""
    file = file_of(BUNDLE, home)
    decide(canon, file)
    return file


def decide(canon: Canon, *files: Path, bundle: Bundle = BUNDLE) -> None:
    assert canon("decide", *files, knowing=[bundle]).status == 0


def test_other_rules_make_other_decisions(canon: Canon, song: Path, home: Path) -> None:
    still = canon("drift")
    assert (still.status, still.out, still.err) == (0, "1 unchanged\n", "")
    ran = canon("drift", song, COLUMNS="60", **NO_LEAD).must_end(
        3, "would differ because of: rules", "next: canon batch --frozen"
    )
    assert "-> Bohemian Rhapsody (Single)" in " ".join(ran.out.split())
    (line,) = canon("--output=json", "drift", **NO_LEAD).lines
    assert (line["state"], line["causes"]) == ("differs", ["rules"])
    assert (line["old"]["crg_mbid"], line["new"]["crg_mbid"]) == (ALBUM, SINGLE)
    assert in_store(home, "SELECT count(*) FROM decisions") == [(1,)], "nothing is stored"
    canon("drift", song.with_name("nothing.flac")).must_end(1, "does not exist")


def test_a_frozen_batch_makes_the_decisions_that_were_listed(canon: Canon, song: Path) -> None:
    (listed,) = canon("drift", "--output=json", **NO_LEAD).lines
    batch = canon("batch", song, "--frozen", "--output=json", **NO_LEAD).must_end(0)
    assert batch.line["crg_mbid"] == listed["new"]["crg_mbid"] == SINGLE
    canon("drift", **NO_LEAD).must_end(0, "1 unchanged")
    (line,) = canon("write", song, "--policy=note", "--output=json").lines
    assert line["crg_mbid"] == SINGLE
    canon("drift", song).must_end(3, "(Single) -> A Night at the Opera (Album)")


def test_an_override_makes_a_decision_that_later_rules_leave(canon: Canon, song: Path) -> None:
    named = ("override", "set", RECORDING, f"--crg={SINGLE}", f"--rr={RECORDING}")
    canon(*named, "--reason=m", "--offline")
    ran = canon("drift", "--output=json")
    assert (ran.status, ran.line["causes"]) == (3, ["override"])
    assert ran.line["new"]["decided_by"] == "override"
    canon("batch", song, "--frozen").must_end(0)
    for rules in ({}, NO_LEAD):
        canon("drift", **rules).must_end(0, "1 unchanged")


def test_another_first_date_is_a_difference(canon: Canon, song: Path, home: Path) -> None:
    in_store(home, "UPDATE decisions SET document = replace(document, '1975-10-31', '1976-01-01')")
    in_store(home, "UPDATE decisions SET document = CAST(document AS BLOB)")
    canon("drift").must_end(0, "1 unchanged")  # no batch decides it again by the same rules
    canon("drift", **NEW_RULES).must_end(3, "first release  1976-01-01 -> 1975-10-31")


def test_a_file_that_is_gone_is_counted(canon: Canon, song: Path) -> None:
    song.unlink()
    assert canon("drift", "--output=json", **NO_LEAD).must_end(0, "1 gone").lines == []


def test_files_that_were_never_decided_are_left_out(canon: Canon, song: Path, home: Path) -> None:
    unknown = flac(home, "unknown.flac", recording="00000000-0000-4000-8000-000000000000")
    (home / "broken.flac").write_bytes(b"no audio")
    failed = flac(home, "failed.flac", recording="00000000-0000-4000-8000-000000000001")
    with MusicBrainzStandIn([], behave=always(GARBAGE)) as mb:
        canon("decide", failed, **asking(mb)).must_end(1)
    with MusicBrainzStandIn([BUNDLE]) as mb:
        canon("decide", unknown, home / "broken.flac", **asking(mb)).must_end(3)
        asked = len(mb.requests)
        for arguments in ((), (home,)):
            ran = canon("drift", *arguments, **asking(mb)).must_end(0)
            never = "1 unmatched, 1 unreadable, 1 never decided because of an error"
            assert (ran.out, ran.err) == (f"1 unchanged, {never}\n", "")
        assert len(mb.requests) == asked, "nothing is looked up"


DAMAGE = {
    "document.flac": "document = x'7b'", "row.flac": "document = 5",
    "tags.flac": "artifact = x'7b'", "lost.flac": "evidence_hash = 'gone'",
}  # fmt: skip


@pytest.mark.parametrize("rules", [{}, NEW_RULES], ids=["same rules", "other rules"])
def test_drift_says_what_a_frozen_batch_does_about_each_file(
    canon: Canon, song: Path, home: Path, rules: dict[str, str]
) -> None:
    """Damaged decisions, those without a recording, and one whose evidence a second one has."""
    twice = file_of(BUNDLE, home, "twice.flac")
    decide(canon, twice, *(file_of(BUNDLE, home, name) for name in DAMAGE))
    (home / "broken.flac").write_bytes(b"no audio")
    with MusicBrainzStandIn([BUNDLE]) as mb:
        canon("decide", flac(home, "untagged.flac"), home / "broken.flac", **asking(mb))
        canon("decide", twice, **asking(mb))
    in_store(home, "UPDATE decisions SET document = 5 WHERE seq = (SELECT max(seq) FROM decisions)")
    for name, damage in DAMAGE.items():
        in_store(home, f"UPDATE decisions SET {damage} WHERE instr(path, ?)", f"/{name}".encode())
    drift = canon("drift", home, "--output=json", **rules).must_end(1, "1 unmatched, 1 unreadable")
    batch = canon("batch", home, "--frozen", "--dry-run", "--output=json", **rules).must_end(1)
    expected = {}
    for line in batch.lines:
        if line["state"] == "error":
            expected[line["path"]] = ("failed", None)
        elif not line.get("resumed") and line["path"] != str(song):
            expected[line["path"]] = ("differs", line["crg_mbid"])
    listed = {line["path"]: line for line in drift.lines}
    assert {
        path: (line["state"], line["new"] and line["new"]["crg_mbid"])
        for path, line in listed.items()
    } == expected
    failed = {Path(path).name for path, (state, _) in expected.items() if state == "failed"}
    assert failed == {"row.flac", "tags.flac", *(["lost.flac"] if rules else [])}
    assert len(expected) == len(failed) + 2, "the document and the row are decided again"
    for name in ("document.flac", "twice.flac"):
        assert listed[str(home / name)]["causes"] == ["damage"]
        assert listed[str(home / name)]["changes"][0] == {
            "field": "state", "old": [], "new": ["decided"],
        }  # fmt: skip
        assert "is damaged" in listed[str(home / name)]["why"]


def test_what_a_model_would_be_asked_about_is_counted(canon: Canon, home: Path) -> None:
    bundle = year_only_single()
    file_of(bundle, home)
    model = replaying(home, final())
    canon("decide", home / "song.flac", knowing=[bundle], **model)
    for settings in ({}, model):
        canon("drift", **settings).must_end(0, "1 unchanged")
    canon("drift", CANON_LLM__SEED="7", **model).must_end(0, "1 for the model")
