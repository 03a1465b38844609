"""`canon decide` as a process, from audio file to decision, by rules and by the adjudicator."""

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chart_binder.jobs.decision import Cause
from golden.bundles import CASES, golden, year_only_single
from integration.conftest import REPOSITORY, Canon, in_store
from integration.services import (
    ALBUM,
    LP,
    RHAPSODY,
    TRUSTING,
    adjudicating,
    answering,
    asking,
    call,
    dated_page,
    file_of,
    final,
    flac,
)
from integration.terminal import walking
from servers.musicbrainz import GARBAGE, MusicBrainzStandIn, always
from servers.ollama import OllamaStandIn
from servers.searxng import Mode, Searxng

KEYS = [
    "path", "state", "decided_by", "artist", "title", "first_release", "crg_mbid", "crg_title",
    "crg_type", "rr_mbid", "recording_mbid", "crg_rule", "rr_rule", "confidence", "rationale",
    "missing_facts", "questions", "evidence_hash", "trace", "adjudication", "error",
    "siblings",
]  # fmt: skip
SEARCH = call("web_search", query="queen single")
NOWHERE = "00000000-0000-4000-8000-000000000000"


def test_a_recording_id_is_decided(canon: Canon, song: Path, mb: MusicBrainzStandIn) -> None:
    ran = canon("decide", song, "--output", "json", **asking(mb))
    assert (ran.status, ran.err) == (0, "")
    line = ran.line
    assert list(line) == KEYS
    assert (line["path"], line["state"], line["decided_by"]) == (str(song), "decided", "rules")
    given = ("crg_mbid", "rr_mbid", "crg_rule", "rr_rule")
    assert [line[key] for key in given] == [RHAPSODY["expected"][key] for key in given]
    assert line["confidence"] == 1.0
    assert line["trace"] == (
        f"evh={line['evidence_hash'][:8]};crg=ALBUM_LEAD_WINDOW;rr=ORIGIN_COUNTRY_EARLIEST;"
        "src=mb;cfg=lw90,rg10"
    )
    expected = RHAPSODY["expected"]["first_release"] | {"country": "NL", "via_sibling": False}
    assert {key: line["first_release"][key] for key in expected} == expected
    names = ("Queen", "Bohemian Rhapsody", "A Night at the Opera", "Album")
    assert tuple(line[key] for key in ("artist", "title", "crg_title", "crg_type")) == names


def test_answers_are_used_again_offline(
    canon: Canon, home: Path, song: Path, mb: MusicBrainzStandIn
) -> None:
    first = canon("decide", song, "--output=json", **asking(mb))
    asked = len(mb.requests)
    again = canon("decide", song, "--output=json", **asking(mb))
    offline = canon("decide", "--offline", song, "--output=json", **asking(mb))
    assert first.lines == again.lines == offline.lines
    canon("explain", song, "--offline", **asking(mb)).must_end(0)
    assert in_store(home, "SELECT count(*) FROM decisions") == [(3,)], "none by `explain`"
    unknown = flac(home, "other.flac", recording=NOWHERE)
    refused = canon("decide", "--offline", unknown, "--output=json", **asking(mb))
    refused.must_end(1, "run once without --offline")
    assert len(mb.requests) == asked


def test_a_folder_ends_with_a_summary_beside_the_results(canon: Canon, home: Path) -> None:
    bundle = golden("lead-hanae")
    file_of(bundle, home, "0.flac", date="2004")
    flac(home, "unknown.flac", recording=NOWHERE)
    with MusicBrainzStandIn([bundle]) as mb:
        settings = asking(mb)
        for command in ("decide", "explain"):
            ran = canon(command, home, "--output=json", **settings)
            ran.must_end(3, "files 2 in", "unmatched 1,", "first release year certain for 1")
            quiet = canon(command, home, "-q", "--output=json", **settings)
            assert (quiet.out, quiet.err, len(ran.lines)) == (ran.out, "", 2)
            assert "files" not in canon(command, home / "0.flac", **settings).err


def test_a_terminal_shows_progress_below_results(home: Path, environment: dict[str, str]) -> None:
    (home / "music").mkdir()
    bundles = [golden("lead-bohemian"), golden("lead-hanae")]
    for number, bundle in enumerate(bundles):
        file_of(bundle, home / "music", f"{number}.flac")
    with MusicBrainzStandIn(bundles) as mb:
        for command in ("decide", "explain"):
            with walking(home, environment | asking(mb), command, f"{home}/music") as terminal:
                shown = terminal.until("first release  year certain for 2")
                assert terminal.ended() == 0
            assert re.findall(r"\r\[?[#-]*\]? ?[01] of 2 files[^\r]*\r", shown), shown
            lines = [line.rpartition("\r")[2] for line in shown.splitlines()]
            assert f"{home}/music/0.flac" in lines, "a result stands in place of the bar"


def test_a_musicbrainz_that_fails_is_asked_about_no_more_files(canon: Canon, home: Path) -> None:
    for number in range(6):
        flac(home, f"{number}.flac", recording=NOWHERE)
    with MusicBrainzStandIn([], behave=always(GARBAGE)) as mb:
        ran = canon("decide", home, "--output=json", **asking(mb))
        text = canon("decide", home, **asking(mb))
    assert len(ran.must_end(1).lines) == 3
    assert (text.out + text.err).count("the look-up at MusicBrainz") == 1, "a cause is said once"
    assert text.out.count("the look-up failed for the same reason as above") == 2
    told = "stopped: MusicBrainz failed 3 times in a row; 3 files not tried"
    assert told in " ".join(ran.err.split())
    offline = canon("decide", home, "--output=json", "--offline")
    assert len(offline.lines) == 6, "offline nothing is asked, and cached evidence may follow"


@pytest.mark.parametrize(("title", "artist", "is_said"), [
    ("Don't wanna cry", "安室奈美恵", True), ("甘い罠", "安室奈美恵", True),
    ("甘い罠", "Queen", False), ("Bohemian Rhapsody (Remastered 2011)", "Freddie", False),
])  # fmt: skip
def test_a_recording_id_of_another_song_is_believed_and_named(
    canon: Canon, home: Path, title: str, artist: str, is_said: bool
) -> None:
    bundle = golden("lead-bohemian")
    recording = bundle["recording_candidates"][0]["mb_recording_id"]
    file = flac(home, recording=recording, title=title, artist=artist)
    ran = canon("decide", file, knowing=[bundle]).must_end(0, "A Night at the Opera (Album)")
    assert ("the recording id in the tags belongs to another song" in ran.err) is is_said


@pytest.mark.parametrize(("seconds", "is_said"), [(354, False), (410, False), (180, True)])
def test_a_recording_id_of_another_length_is_believed_and_named(
    canon: Canon, song: Path, seconds: int, is_said: bool
) -> None:
    content = bytearray(song.read_bytes())  # STREAMINFO: 20 bits of rate, 36 bits of samples
    rate = int.from_bytes(content[18:21]) >> 4
    content[21] &= 0xF0
    content[22:26] = (rate * seconds).to_bytes(4)
    song.write_bytes(content)
    ran = canon("decide", song, knowing=[golden("lead-bohemian")]).must_end(0)
    assert ("belongs to a recording of another length" in " ".join(ran.err.split())) is is_said
    assert ("3:00 long" in ran.err) is is_said


def test_an_open_case_names_the_missing_facts(canon: Canon, open_bundle: Path) -> None:
    ran = canon("decide", "--evidence", open_bundle, "--output=json")
    text = canon("decide", "--evidence", open_bundle)
    assert (ran.status, text.status) == (3, 3)
    line = ran.line
    assert (line["state"], line["crg_mbid"]) == ("undecided", None)
    assert (line["crg_rule"], line["rr_rule"]) == ("CRG:INDETERMINATE", "RR:INDETERMINATE")
    assert "1975" in line["missing_facts"][0]
    assert [one["text"] for one in line["questions"]] == line["missing_facts"]
    assert list(line["questions"][0]) == [
        "kind",
        "text",
        "about",
        "possibilities",
        "without_answers",
    ]
    assert "llm.enabled" in line["hint"]
    assert line["missing_facts"][0].split()[0] in text.out


def test_the_adjudicator_decides_an_open_case_with_two_tool_calls(canon: Canon, home: Path) -> None:
    bundle = year_only_single()
    file = file_of(bundle, home)
    with (
        MusicBrainzStandIn([bundle]) as mb,
        dated_page() as (pages, search, calls, fact),
        OllamaStandIn(answering(*calls, final(facts=[fact]))) as model,
    ):
        settings = asking(mb) | adjudicating(model, search, pages) | TRUSTING
        ran = canon("-vv", "decide", file, "--output=json", **settings)
        chats = model.chats
    assert ran.status == 0, ran.err
    line = ran.line
    assert (line["state"], line["decided_by"]) == ("decided", "llm")
    assert (line["crg_mbid"], line["rr_mbid"]) == (ALBUM, LP)
    assert (line["crg_rule"], line["rr_rule"]) == ("CRG:LLM_ADJUDICATION", "RR:LLM_ADJUDICATION")
    result = line["adjudication"]
    assert (result["outcome"], result["iterations"], result["confidence"]) == ("accepted", 3, 0.95)
    (shown,) = result["facts"]
    assert (shown["verified"], shown["trusted"], shown["before"]) == (True, True, "1975")
    assert line["first_release"]["date"] == "1975-10-31"  # by the fact: the evidence has the year
    assert [each["reading"] for each in shown["readings"]] == ["first_release"]
    assert result["usage"]["readings"] == 1
    assert {check["name"]: check["passed"] for check in result["checks"]} == {
        "candidate": True, "fact": True, "sources": True, "rules": True,
    }  # fmt: skip
    rules = next(check for check in result["checks"] if check["name"] == "rules")
    assert "CRG:ALBUM_LEAD_WINDOW" in rules["detail"]
    # The first is code's own, and costs no turn; its page is the last message that opens the run.
    assert search.queries == ['Queen "Bohemian Rhapsody" single release date', "queen single"]
    assert "Already looked up: web_search" in chats[0]["messages"][1]["content"]
    assert [message["role"] for message in chats[2]["messages"]] == [
        "system", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert all(chat["options"] == chats[0]["options"] for chat in chats[:3])
    assert chats[3]["messages"][0]["content"].startswith("# Second reading\n")
    for word in (
        "# Recording Evidence", "Action: web_search", "31 October 1975", "Final Answer",
        "--- turn 3: second reading (of fact 1, support, ",
    ):  # fmt: skip
        assert word in ran.err

    canon("transcript", "replay", result["transcript"]).must_end(0, "the same")
    assert "31 October 1975" in canon("transcript", "show", result["transcript"]).out


INVENTED = final(crg_mbid="12345678-1234-4234-8234-123456789abc")


@pytest.mark.parametrize(("replies", "mode", "state", "crg"), [
    ([final(rr_mbid="C1.R1")] * 2, "well", "review", ALBUM),
    ([INVENTED] * 5, "well", "undecided", None),
    ([SEARCH, final(), final()], "json_off", "review", ALBUM),
])  # fmt: skip
def test_what_a_model_says_without_a_new_fact_is_reviewed_or_leaves_the_case_open(
    canon: Canon, open_bundle: Path, replies: list[str], mode: Mode, state: str, crg: str | None
) -> None:
    with Searxng(mode=mode) as search, OllamaStandIn(replies) as model:
        settings = adjudicating(model, search)
        ran = canon("decide", "--evidence", open_bundle, "--output=json", **settings)
    line = ran.line
    assert (line["state"], line["crg_mbid"]) == (state, crg)
    assert ran.status == 3
    assert line["rr_mbid"] == (LP if crg else None), "a release of another group is replaced"
    assert line["missing_facts"] or crg


def test_an_absent_model_is_an_error_with_missing_facts(canon: Canon, open_bundle: Path) -> None:
    with Searxng() as search, OllamaStandIn(models=("other:latest",)) as model:
        settings = adjudicating(model, search)
        for url, word in ((model.url, "ollama pull llama3.2"), ("http://127.0.0.1:1", "ollama se")):
            settings["CANON_LLM__BASE_URL"] = url
            ran = canon("decide", "--evidence", open_bundle, "--output=json", **settings)
            ran.must_end(1, word)
            assert ran.line["state"] == "error"
            assert ran.line["missing_facts"]


def test_paths_come_by_line_or_by_nul_and_any_name_is_kept(
    cold_canon: Canon, home: Path, song: Path, mb: MusicBrainzStandIn
) -> None:
    odd = file_of(golden("lead-bohemian"), home, "with\nnewline.flac")
    named = home / os.fsdecode(b"caf\xe9.flac")
    file_of(golden("lead-bohemian"), home, named.name)
    for listed, paths in (
        (b"%b\n%b\n", [song, named]), (b"%b\0%b\0", [song, odd]),
    ):  # fmt: skip
        stdin = listed % tuple(map(bytes, paths))
        lines = cold_canon("decide", "-", "--output=json", stdin=stdin, **asking(mb)).lines
        assert [line["state"] for line in lines] == ["decided"] * 2
        shown = [str(path).replace("\udce9", "\ufffd") for path in paths]
        assert [line["path"] for line in lines] == shown
        assert ("path_b64" in lines[1]) is (named in paths)


def test_a_bundle_is_decided_without_a_store(canon: Canon, home: Path) -> None:
    bundle = home / "bundle.json"
    bundle.write_text(json.dumps(CASES["pf-time"]["bundle"]))
    by_file = canon("decide", "--evidence", bundle, "--output=json")
    by_pipe = canon("--output=json", "decide", "--evidence=-", stdin=bundle.read_bytes())
    assert by_file.status == by_pipe.status == 0
    assert by_file.line["crg_mbid"] == CASES["pf-time"]["expected"]["crg_mbid"]
    assert by_pipe.line["evidence_hash"] == by_file.line["evidence_hash"]
    assert not (home / "data").exists()


def test_an_unreadable_bundle_is_an_error_that_names_the_place(canon: Canon, home: Path) -> None:
    bundle = home / "bundle.json"
    named = ("decide", "--evidence", bundle, "--output=json")
    assert canon(*named).must_end(1, "No such file").line["cause"] == "file"
    bundle.write_text('{"recording_candidates": null, "artist": {"name": "x"}}')
    assert canon(*named).must_end(1, "recording_candidates").line["cause"] == "evidence"


def test_logs_are_json_with_run_and_file(canon: Canon, song: Path, mb: MusicBrainzStandIn) -> None:
    ran = canon("-vv", "decide", song, "--output=json", **asking(mb))
    logged = [json.loads(line) for line in ran.err.splitlines()]
    assert logged
    assert all(line["file"] == str(song) and line["run"] == logged[0]["run"] for line in logged)
    assert any("/ws/2/recording/" in str(line.get("path")) for line in logged)


def test_a_decision_that_cannot_be_stored_is_shown_as_an_error(
    canon: Canon, home: Path, song: Path, mb: MusicBrainzStandIn
) -> None:
    place = home / "canon.db"
    settings = asking(mb) | {"CANON_STORE__URL": f"sqlite:///{place}?timeout=0.1"}
    canon("decide", song, **settings)
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        ran = canon("decide", song, **settings)
    ran.must_end(1, "locked by another program", "decided A Night at the Opera (Album)")


def test_the_page_on_output_lists_every_key_of_a_line(canon: Canon, home: Path) -> None:
    line = canon("decide", "--evidence", home / "absent.json", "--output=json").line
    page = (REPOSITORY / "docs" / "output.md").read_text("utf-8")
    listed = page.partition("| key | what it is |")[2]
    assert [name for name in (*line, *Cause) if f"`{name}`" not in listed] == []


def test_a_country_that_is_no_code_is_warned_of(canon: Canon) -> None:
    for country, is_told in (("Great Britain", True), ("uk", False), (None, False)):
        bundle = year_only_single() | {"artist": {"name": "Q", "begin_area_country": country}}
        ran = canon("decide", "--evidence=-", stdin=json.dumps(bundle).encode())
        assert ("artist.begin_area_country: 'Great Britain' is not the code" in ran.err) is is_told


def test_a_type_or_status_that_musicbrainz_lacks_is_warned_of(canon: Canon) -> None:
    bundle = year_only_single()
    single, album = bundle["recording_candidates"][0]["rg_candidates"][:2]
    single |= {"primary_type": "Maxi-Singel", "secondary_types": ["Compilation", "Karaokee"]}
    album["primary_type"] = "Live"
    single["releases"][0]["status"] = "Offical"
    ran = canon("decide", "--evidence=-", stdin=json.dumps(bundle).encode())
    warnings = re.findall(r"(\w+): MusicBrainz has no '(.*?)', so it is read as unknown", ran.err)
    assert warnings == [
        ("primary_type", "Maxi-Singel"), ("secondary_types", "Karaokee"), ("status", "Offical"),
    ]  # fmt: skip


def test_an_area_with_a_code_of_its_own_is_named(canon: Canon, home: Path) -> None:
    bundle = golden("lead-bohemian")
    for group in bundle["recording_candidates"][0]["rg_candidates"]:
        for release in group["releases"]:
            release["country"] = "XW" if release["country"] == "GB" else "XE"
    path = home / "bundle.json"
    path.write_text(json.dumps(bundle), "utf-8")
    for command in (("decide",), ("explain", "-v")):
        ran = canon(*command, "--evidence", path).must_end(0, "worldwide")
        assert not re.search(r"\bX[EW]\b", ran.out)
    line = canon("decide", "--evidence", path, "--output=json").line
    assert line["first_release"]["country"] in ("XE", "XW")
