"""A person's last word on the first date: `override set --first`, `--same-as`, and in review."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mutagen.flac import FLAC

from golden.bundles import year_only_single
from integration.conftest import Canon, in_store
from integration.services import (
    adjudicating,
    answering,
    asking,
    dated_page,
    file_of,
    final,
    flac,
)
from integration.terminal import walking
from servers.musicbrainz import BUSY, MusicBrainzStandIn
from servers.musicbrainz_world import id_of, world
from servers.ollama import OllamaStandIn

WORLD = """
Trams | Album | Night Opera | 1975-11-21 GB | tram Night Tram 5:55
Trams | Album+Compilation | Hits | 2004 GB | again Night Tram 5:20
Trams | Album | Late Opera | 1976-05-01 GB | late Night Tram 5:20
Trams | Single | Late Single | 1976 GB | late Night Tram 5:20
Trams | Album | Early Songs | 1973-03-01 GB | bus Day Bus 3:10
Others | Album | Covers | 1974-02-01 GB | cover Night Tram 5:55
"""
AGAIN, LATE, TRAM, COVER = map(id_of, ("again", "late", "tram", "cover"))
HITS, OPERA, COVERS = map(id_of, ("Hits", "Night Opera", "Covers"))
OTHER = id_of("Early Songs")
OPERA_1975 = id_of("Night Opera 1975-11-21 GB")
UNKNOWN = "99999999-9999-4999-8999-999999999999"
SITE = "https://musicbrainz.org"


@pytest.fixture
def mb() -> Iterator[MusicBrainzStandIn]:
    with MusicBrainzStandIn(world(WORLD)) as server:
        yield server


@pytest.fixture
def alone(mb: MusicBrainzStandIn) -> dict[str, str]:
    """The settings with which no other recordings of a song are looked up."""
    return asking(mb) | {"CANON_MUSICBRAINZ__SIBLINGS": "never"}


@pytest.fixture
def song(home: Path) -> Path:
    return flac(home / "work", recording=AGAIN, title="Night Tram", artist="Trams", date="2004")


def first_of(canon: Canon, song: Path, **settings: str) -> dict[str, Any]:
    line = canon("decide", song, "--output=json", **settings).line
    assert line["first_release"] is not None, line
    return {**line, **line["first_release"]}


def original(song: Path) -> list[str]:
    return list(FLAC(song).get("originaldate", []))


def test_a_date_by_a_person_holds_everywhere_until_it_is_removed(
    canon: Canon, song: Path, alone: dict[str, str]
) -> None:
    before = first_of(canon, song, **alone)
    assert (before["date"], before["year_certain"]) == ("2004", False)
    assert "by" not in before["first_release"]
    canon(
        "override", "set", song, "--first=7 October 1977", "--reason=the label", **alone
    ).must_end(0, "first date   1977-10-07", f"next: canon write {song}")
    (listed,) = canon("ls", "year:1977", "certain:yes", "--output=json", **alone).lines
    assert listed["first_release"]["date"] == "1977-10-07"
    canon("playlist", "decade:1970s", **alone).must_end(0, str(song))
    canon("playlist", "year:2004", **alone).must_end(1, "no file with a first release matches")
    canon("write", song, "--apply", **alone).must_end(0)
    assert original(song) == ["1977-10-07"]
    canon("drift", song, **alone).must_end(3, "because of: override")
    canon("batch", "--frozen", song, **alone)
    now = first_of(canon, song, **alone)
    assert (now["date"], now["year_certain"], now["by"]) == ("1977-10-07", True, "person")
    assert now["because"] == "a person says so: the label"
    assert [now[key] for key in ("state", "crg_mbid")] == [
        before[key] for key in ("state", "crg_mbid")
    ]
    assert now["decided_by"] != "override"
    canon("drift", song, **alone).must_end(0)
    canon("batch", song, **alone).must_end(0 if now["state"] == "decided" else 3, "unchanged since")
    canon("explain", song, **alone).must_end(
        0 if now["state"] == "decided" else 3, "certain: a person says so: the label"
    )
    (listed,) = canon("ls", "--output=json", **alone).lines
    assert listed["first_release"]["date"] == "1977-10-07"
    (kept,) = canon("override", "list", "--output=json", **alone).lines
    assert (kept["first_date"], kept["crg_mbid"]) == ("1977-10-07", None)
    assert kept["files"] == [str(song)]
    canon("override", "remove", song, **alone).must_end(0, "first date   1977-10-07", str(song))
    canon("write", song, **alone).must_end(
        3, "the override that decided it has been removed", f"next: canon decide {song}"
    )
    after = first_of(canon, song, **alone)
    assert (after["date"], after["year_certain"]) == ("2004", False)


def test_a_recording_that_a_person_names_is_evidence_as_long_as_they_say_so(
    canon: Canon, song: Path, mb: MusicBrainzStandIn, alone: dict[str, str]
) -> None:
    first_of(canon, song, **alone)
    page = f"{SITE}/recording/{TRAM}"
    canon("override", "set", song, f"--same-as={page}", **alone).must_end(
        0, "the recording 'Night Tram' by 'Trams', 5:55", page
    )
    canon("write", song, **alone).must_end(3, "a person decided")
    offline = alone | {"CANON_MUSICBRAINZ__OFFLINE": "true"}
    canon("batch", "--frozen", song, **offline).must_end(0)
    for settings in (offline, alone):
        now = first_of(canon, song, **settings)
        assert (now["date"], now["crg_mbid"]) == ("1975-11-21", OPERA)
        assert (now["via_sibling"], now["recording_mbid"]) == (True, TRAM)
        assert now["siblings"]["found"] == 1
    canon("explain", song, **alone).must_end(0, "a person says so")
    canon("drift", song, **alone).must_end(0)
    canon("override", "remove", song, **alone).must_end(0, page)
    canon("batch", "--frozen", song, **offline)
    after = first_of(canon, song, **offline)
    assert (after["date"], after["siblings"]["found"]) == ("2004", 0)


def test_a_recording_that_cannot_be_looked_up_is_an_error(
    canon: Canon, home: Path, song: Path, mb: MusicBrainzStandIn, alone: dict[str, str]
) -> None:
    first_of(canon, song, **alone)
    for named, said in (
        (UNKNOWN, "MusicBrainz knows no recording"),
        (COVER, "another artist"),
        (AGAIN, f"recording {AGAIN} and its"),
    ):
        canon("override", "set", song, f"--same-as={named}", **alone).must_end(1, said)
    mb.behave = lambda _, request, honest: BUSY if TRAM in request.target else honest
    canon("override", "set", song, f"--same-as={TRAM}", **alone).must_end(1, "MusicBrainz")
    assert canon("override", "list", "--output=json", **alone).lines == []
    mb.behave = None
    canon("override", "set", song, f"--same-as={TRAM}", **alone).must_end(0)
    mb.behave = lambda _, request, honest: BUSY if TRAM in request.target else honest
    in_store(home, "DELETE FROM cached_answers WHERE key LIKE ?", f"%{TRAM}%")
    canon("decide", song, **alone).must_end(
        1, f"recording {TRAM}, which a person says is the same performance, could not be looked up"
    )


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (("--first=2005",), "2005 is later than 2004, when MusicBrainz lists it on 'Hits' (Album)"),
        (("--first=1861",), "1861 is before 1877, when a recording could first be played"),
        ((f"--same-as={TRAM}", "--first=1990"), "1990 is later than 1975-11-21"),
    ],
)
def test_a_date_that_contradicts_what_is_listed_is_kept_only_on_purpose(
    canon: Canon,
    home: Path,
    environment: dict[str, str],
    song: Path,
    alone: dict[str, str],
    named: tuple[str, ...],
    told: str,
) -> None:
    call = ("override", "set", "song.flac", *named)
    canon(*call, **alone).must_end(1, told, "store it anyway with --force")
    assert canon("override", "list", "--output=json", **alone).lines == []
    for sure in ("--yes", "--force"):
        canon(*call, sure, **alone).must_end(0, told, "stored anyway")
        canon("override", "remove", song, **alone).must_end(0)
    with walking(home, environment | alone, *call, "--dry-run") as terminal:
        if "--first=1990" in named:
            terminal.until("store it?")
            terminal.enter("y", "")
        terminal.until("store it anyway?")
        terminal.enter("n", "nothing was stored")
        assert terminal.ended() == 1


def test_a_group_that_the_evidence_lacks_is_read(
    canon: Canon, song: Path, mb: MusicBrainzStandIn, alone: dict[str, str]
) -> None:
    """Its title and dates are shown, and it is gone when the person names another group."""
    offline = alone | {"CANON_MUSICBRAINZ__OFFLINE": "true"}
    for release in ((), (f"--rr={OPERA_1975}",)):
        named = (f"--crg={OPERA}", *release)
        canon("override", "set", song, *named, **alone).must_end(0, "its track 'Night Tram' (5:55)")
        assert canon("override", "list", "--output=json", **alone).line["first_date"] is None
        for settings in (offline, alone):
            now = first_of(canon, song, **settings)
            assert (now["date"], now["year_certain"]) == ("1975-11-21", True)
            assert now["first_release"]["title"] == "Night Opera"
            assert (now["crg_mbid"], now["rr_mbid"]) == (OPERA, OPERA_1975)
            canon("decide", song, **settings).must_end(0, "Night Opera", "1975-11-21")
            canon("batch", "--frozen", song, **settings).must_end(0)
        canon("ls", **alone).must_end(0, "Night Opera")
        canon("override", "set", song, f"--crg={HITS}", **alone).must_end(0)
        canon("batch", "--frozen", song, **offline)
        for settings in (offline, alone):
            now = first_of(canon, song, **settings)
            assert (now["date"], now["crg_mbid"], now["siblings"]["found"]) == ("2004", HITS, 0)
        canon("override", "remove", song, **alone).must_end(0)


def test_the_date_of_a_group_without_the_song_counts_if_a_person_says_so(
    canon: Canon, song: Path, alone: dict[str, str]
) -> None:
    group = ("override", "set", song, f"--crg={OTHER}")
    canon(*group, **alone).must_end(0, "it has no track of this title; --first 1973-03-01")
    assert first_of(canon, song, **alone)["date"] == "2004"
    canon("override", "set", song, "--first=1973-03-01", **alone).must_end(0)
    now = first_of(canon, song, **alone)
    assert (now["date"], now["year_certain"], now["by"]) == ("1973-03-01", True, "person")


def test_later_words_leave_earlier_ones(canon: Canon, song: Path, alone: dict[str, str]) -> None:
    canon("override", "set", song, "--first=1975", **alone).must_end(0)
    there = canon("override", "set", song, f"--crg={OPERA}", "--reason=there", **alone)
    there.must_end(0, "group 'Night Opera' by 'Trams', Album, 1975-11-21", "in place of")
    now = first_of(canon, song, **alone)
    assert (now["decided_by"], now["crg_mbid"], now["date"]) == ("override", OPERA, "1975")
    assert (now["release_group_mbid"], now["by"]) == (OPERA, "person")
    canon("override", "set", song, "--first=1975-11", **alone).must_end(0, "because there")
    moved = canon("override", "set", song, f"--crg={HITS}", **alone)
    moved.must_end(0, "the date 1975-11 of the earlier override stays", "because there")
    now = first_of(canon, song, **alone)
    assert (now["crg_mbid"], now["date"], now["year_certain"]) == (HITS, "1975-11", True)
    assert now["by"] == "person"


def test_a_later_choice_in_review_leaves_the_date_and_the_reason(
    canon: Canon, open_song: Path, alone: dict[str, str]
) -> None:
    first = ("--first=1975-10", "--reason=the label told me")
    chosen = canon("review", "choose", open_song, *first, **alone)
    chosen.must_end(0, "1975-10 is right", f"next: canon write {open_song}")
    said = "a person said: first released 1975-10: the label told me"
    canon("review", "show", open_song, **alone).must_end(0, said)
    for group in ("C1", "C2"):
        canon("review", "choose", open_song, group, **alone).must_end(
            0,
            "the date 1975-10 of the earlier override stays",
            "the reason 'the label told me' of the earlier override stays",
        )
        override = canon("override", "list", "--output=json", **alone).line
        assert (override["first_date"], override["reason"]) == ("1975-10", "the label told me")
    canon("review", "choose", open_song, "C1", "--reason=mine", **alone).must_end(0, "mine")
    assert first_of(canon, open_song, **alone)["date"] == "1975-10"


@pytest.fixture
def open_song(canon: Canon, home: Path, alone: dict[str, str]) -> Path:
    """A file that the rules leave open: its single is dated by the year alone."""
    song = flac(home / "work", "open.flac", recording=LATE, title="Night Tram", artist="Trams")
    assert canon("decide", song, "--output=json", **alone).line["state"] == "undecided"
    return song


def test_a_model_that_does_not_answer_leaves_a_dated_case_undecided(
    canon: Canon, open_song: Path, alone: dict[str, str]
) -> None:
    absent = {"CANON_LLM__ENABLED": "true", "CANON_LLM__BASE_URL": "http://127.0.0.1:1"}
    canon("decide", open_song, **alone).must_end(
        3, "to do        answer it with `canon review`; no language model was asked"
    )
    canon("decide", open_song, **alone | absent).must_end(1, "does not answer")
    canon("review", "choose", open_song, "--first=1975-10", **alone).must_end(1)
    canon("override", "set", open_song, "--first=1975-10", **alone).must_end(0)
    dated = canon("decide", open_song, **alone).must_end(3, "first released 1975-10")
    assert "to do" not in dated.out
    assert "siblings" not in dated.out
    asked = canon("decide", open_song, **alone | absent)
    asked.must_end(3, "to do", "does not answer", "`ollama serve`")
    canon("batch", open_song, "--only=undecided", **alone | absent).must_end(3, "undecided")
    written = canon("write", open_song, "--apply", **alone).must_end(3, "1 file written")
    assert "next:" not in written.err
    assert original(open_song) == ["1975-10"]


def test_review_names_the_pages_on_which_to_mend_a_case(
    canon: Canon, home: Path, open_song: Path, alone: dict[str, str]
) -> None:
    """The release without a day, the group without a type; screens show the recording."""
    shown = canon("review", "show", open_song, "--output=json", **alone).line
    assert shown["to_mend"] == [f"{SITE}/release/{id_of('Late Single 1976 GB')}/edit"]
    canon("review", "show", open_song, **alone).must_end(3, *shown["to_mend"])
    bundle = year_only_single()
    (recording,) = bundle["recording_candidates"]
    single = recording["rg_candidates"][0]
    del single["primary_type"]
    single["releases"][0]["date"] = single["first_release_date"] = "1975-11-20"
    song = file_of(bundle, home)
    canon("decide", song, knowing=[bundle]).must_end(3)
    shown = canon("review", "show", song, "--output=json").line
    assert shown["to_mend"] == [f"{SITE}/release-group/{single['mb_rg_id']}/edit"]


def test_review_takes_a_date_a_record_and_a_recording(
    canon: Canon, open_song: Path, alone: dict[str, str]
) -> None:
    for named, said in (
        ((), "say what is right"), (("--there", "--first=1975"), "are about CANDIDATE"),
        ((OPERA, "--there", "--first=1970"), "both give the date"),
        (("C1.R1", "--rr=C2.R1"), "C1.R1 and --rr C2.R1 are two releases"),
        (("--first=2999",), "in the future"),
    ):  # fmt: skip
        canon("review", "choose", open_song, *named, **alone).must_end(2, said)
    canon("review", "choose", open_song, "--first=1975-10", **alone).must_end(0, "1975-10 is right")
    canon("review", "list", **alone).must_end(0)
    now = first_of(canon, open_song, **alone)
    assert (now["state"], now["date"], now["by"]) == ("undecided", "1975-10", "person")
    canon("review", "list", **alone).must_end(0)
    canon("write", open_song, "--apply", **alone).must_end(3, "open.flac: written")
    assert original(open_song) == ["1975-10"]
    canon("override", "remove", open_song, **alone).must_end(0)
    canon("decide", open_song, **alone).must_end(3)
    release = f"{SITE}/release/{OPERA_1975}"
    for record in (release, OPERA_1975, OPERA, f"{SITE}/release-group/{OPERA}"):
        canon("review", "choose", open_song, record, "--there", **alone).must_end(
            0, "'Night Opera' by 'Trams'", "first date   1975-11-21"
        )
        now = first_of(canon, open_song, **alone)
        assert (now["decided_by"], now["crg_mbid"]) == ("override", OPERA)
        assert (now["date"], now["year_certain"], now["by"]) == ("1975-11-21", True, "person")
        canon("override", "remove", open_song, **alone).must_end(0)
        canon("decide", open_song, **alone).must_end(3)
    canon("review", "choose", open_song, COVERS, **alone).must_end(1, "has nothing to do with")
    canon("review", "choose", open_song, UNKNOWN, **alone).must_end(1, "knows no release group")
    canon("review", "choose", open_song, "--same-as", TRAM, **alone).must_end(0, "Night Tram")
    now = first_of(canon, open_song, **alone)
    assert (now["state"], now["crg_mbid"], now["date"]) == ("decided", OPERA, "1975-11-21")


def test_the_keys_of_a_walk(
    canon: Canon, home: Path, environment: dict[str, str], open_song: Path, alone: dict[str, str]
) -> None:
    with walking(home, environment | alone, "review", "walk") as terminal:
        assert "d first date, w first record, = same performance" in " ".join(
            terminal.until("? keys").split()
        )
        terminal.press(("d", "when it first came out"))
        terminal.enter("2999", "2999 is in the future")
        terminal.enter("", "no date is stored")
        terminal.press(("w", "where it first came out"))
        terminal.enter(OPERA_1975, "the release 'Night Opera' by 'Trams', GB, 1975-11-21")
        terminal.until("store it?")
        terminal.enter("", "nothing was stored")
        terminal.enter("", "no record is stored")
        terminal.press(("=", "the id or address of the recording"))
        terminal.enter(COVER, "another artist")
        terminal.enter("", "nothing was stored")
        terminal.enter("", "no recording is stored")
        terminal.press(("w", "where it first came out"))
        terminal.enter(OPERA, "store it?")
        terminal.enter("y", "first date")
        terminal.press(("u", "taken back"))
        terminal.press(("d", "when it first came out"))
        terminal.enter("1975", "1975 is right")
        terminal.press(("q", f"next: canon write {open_song.parent}"))
        assert terminal.ended() == 0
    (kept,) = canon("override", "list", "--output=json", **alone).lines
    assert (kept["first_date"], kept["crg_mbid"]) == ("1975", None)


def test_an_id_that_is_pasted_for_an_unmatched_file_belongs_into_its_tags(
    canon: Canon, home: Path, environment: dict[str, str], alone: dict[str, str]
) -> None:
    nowhere = flac(home / "work", "nowhere.flac", title="Nowhere", artist="Nobody")
    canon("decide", nowhere, **alone).must_end(3, "unmatched")
    with walking(home, environment | alone, "review", "walk") as terminal:
        terminal.until("? keys")
        for pressed in (TRAM, f"{SITE}/recording/{TRAM}", "d", "w", "="):
            terminal.press((pressed, "no recording was found"))
            terminal.until("correct artist and title in its tags, or tag its recording id")
            terminal.until("`canon decide` looks again")
        terminal.press(("q", ""))
        assert terminal.ended() == 3
    canon("review", "choose", nowhere, "--first=1973", **alone).must_end(
        1, "knows no 'Nowhere'", "or tag its recording id; then `canon decide` looks again"
    )


def test_a_verdict_that_somebody_else_replaced_is_not_taken_back(
    canon: Canon, home: Path, environment: dict[str, str], open_song: Path, alone: dict[str, str]
) -> None:
    with walking(home, environment | alone, "review", "walk") as terminal:
        terminal.until("? keys")
        terminal.press(("1", "is right"))
        (first,) = canon("override", "list", "--output=json", **alone).lines
        named = (first["recording_mbid"], "--first=1970", "--reason=theirs")
        canon("override", "set", *named, **alone).must_end(0)
        (theirs,) = canon("override", "list", "--output=json", **alone).lines
        terminal.press(("u", "changed since, so nothing is taken back"))
        assert terminal.ended() == 0
    assert canon("override", "list", "--output=json", **alone).lines == [theirs]


def test_a_verdict_is_not_taken_back_below_a_newer_one_without_an_override(
    canon: Canon, home: Path, environment: dict[str, str], open_song: Path, alone: dict[str, str]
) -> None:
    with walking(home, environment | alone, "review", "walk") as terminal:
        terminal.until("? keys")
        terminal.press(("k", "kept out of the queue"))
        canon("review", "reject", open_song, "--reason=theirs").must_end(0)
        terminal.press(("u", "changed since, so nothing is taken back"))
        assert terminal.ended() == 0
    verdict = canon("review", "show", open_song, "--output=json").line["verdict"]
    assert (verdict["verdict"], verdict["reason"]) == ("reject", "theirs")


def test_a_file_that_was_forgotten_meanwhile_is_not_judged(
    canon: Canon, home: Path, environment: dict[str, str], open_song: Path, alone: dict[str, str]
) -> None:
    with walking(home, environment | alone, "review", "walk") as terminal:
        terminal.until("? keys")
        canon("forget", open_song).must_end(0)
        terminal.press(("1", "it was deleted"), ("q", ""))
    assert canon("override", "list", "--output=json", **alone).lines == []


def test_on_a_terminal_what_was_looked_up_is_asked_about(
    canon: Canon, home: Path, environment: dict[str, str], song: Path, alone: dict[str, str]
) -> None:
    call = ("override", "set", "song.flac", f"--crg={COVERS}")
    with walking(home, environment | alone, *call) as terminal:
        terminal.until("store it anyway?")
        terminal.enter("n", "nothing was stored")
        assert terminal.ended() == 1
    with walking(home, environment | alone, *call, "--yes") as terminal:
        terminal.until("has nothing to do with")
        assert terminal.ended() == 1
    with walking(home, environment | alone, *call) as terminal:
        terminal.until("store it anyway?")
        terminal.enter("y", "belongs to")
        assert terminal.ended() == 0


def test_an_accepted_proposal_keeps_its_verified_day(canon: Canon, home: Path) -> None:
    """One page says it: too few for a decision, and enough for a person."""
    bundle = year_only_single()
    song = file_of(bundle, home)
    with MusicBrainzStandIn([bundle]) as mb, dated_page() as (pages, search, calls, fact):
        with OllamaStandIn(answering(*calls, *[final(facts=[fact])] * 2)) as model:
            settings = asking(mb) | adjudicating(model, search, pages)
            line = canon("decide", song, "--output=json", **settings).line
        assert (line["state"], line["first_release"]["date"]) == ("review", "1975")
        assert [one["verified"] for one in line["adjudication"]["facts"]] == [True]
        canon("review", "accept", song).must_end(0, "first date   1975-10-31")
        canon("write", song, "--apply").must_end(0)
        assert original(song) == ["1975-10-31"]
        now = first_of(canon, song, **asking(mb))
        assert (now["date"], now["by"], now["decided_by"]) == ("1975-10-31", "person", "override")
        canon("write", song).must_end(0)


def test_a_dry_run_creates_no_store(
    canon: Canon, home: Path, song: Path, alone: dict[str, str]
) -> None:
    canon("--version")  # its streams are files of the home
    before = sorted(home.rglob("*"))
    for command, status in (
        (("batch", song, "--dry-run"), 0),
        (("batch", song, "--estimate"), 0),
        (("override", "set", song, "--first=1975", "--dry-run"), 0),
        (("override", "remove", song, "--dry-run"), 1),
        (("review", "keep", song, "--dry-run"), 1),
        (("undo", "--dry-run"), 1),
        (("forget", song, "--dry-run"), 0),
    ):
        assert canon(*command, **alone).status == status, command
        assert sorted(home.rglob("*")) == before, command


def test_a_named_recording_that_musicbrainz_has_no_more_is_no_failure_of_a_service(
    canon: Canon, song: Path, alone: dict[str, str]
) -> None:
    canon("override", "set", song, f"--same-as={TRAM}", **alone).must_end(0)
    canon("decide", song, **alone).must_end(0)
    with MusicBrainzStandIn(world(WORLD.replace("tram Night Tram", "gone Night Tram"))) as later:
        settings = alone | asking(later)
        ran = canon("batch", song, "--refresh", **settings)
        ran.must_end(1, f"MusicBrainz knows no recording {TRAM}", "`canon override remove`")
    for words in ("earlier", "may succeed later", "canon doctor"):
        assert words not in ran.out
