"""`canon batch` as a process: a library that is decided, resumed, written, interrupted."""

import json
import shutil
import signal
import threading
import time
from base64 import b64encode
from collections import Counter
from pathlib import Path

import pytest
from mutagen.flac import FLAC

from golden.bundles import Bundle, golden, year_only_single
from integration.conftest import Canon, Ran, Start, in_store
from integration.services import UNSURE, adjudicating, asking, file_of, flac, open_bundles
from servers.http import Request, Response
from servers.musicbrainz import GARBAGE, MusicBrainzStandIn, always
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng

NAMES = ("lead-bohemian", "lead-hanae", "s90-aiko", "s90-bump")
BUNDLES = [golden(name) for name in NAMES]


@pytest.fixture
def library(home: Path) -> Path:
    """A folder with a folder for each of four recordings."""
    for name, bundle in zip(NAMES, BUNDLES, strict=True):
        (home / "music" / name).mkdir(parents=True)
        file_of(bundle, home / "music" / name)
    return home / "music"


def decided(home: Path) -> int:
    """How many decisions are kept, of all files and runs."""
    return int(in_store(home, "SELECT count(*) FROM decisions")[0][0])


def batch(canon: Canon, *arguments: object, bundles: list[Bundle] = BUNDLES) -> tuple[Ran, int]:
    """Run a batch, and return it with the number of requests that MusicBrainz got."""
    with MusicBrainzStandIn(bundles) as mb:
        ran = canon("batch", *arguments, **asking(mb))
        return ran, len(mb.requests)


def test_the_same_call_asks_for_nothing_twice(canon: Canon, library: Path, home: Path) -> None:
    batch(canon, library)
    file_of(golden("s90-deen"), library / "s90-bump", "new.flac")
    report = home / "report.jsonl"
    bundles = [*BUNDLES, golden("s90-deen")]
    ran, requests = batch(canon, library, f"--report={report}", "--output=json", bundles=bundles)
    assert ran.status == 0, ran.err
    assert Counter(line.get("resumed", False) for line in ran.lines) == {True: 4, False: 1}
    assert report.read_text() == ran.out
    assert 0 < requests <= 4
    assert decided(home) == 5
    ran, requests = batch(canon, library, bundles=bundles)
    assert (ran.status, requests, decided(home)) == (0, 0, 5)


def test_what_musicbrainz_does_not_know_is_named_by_its_tags(canon: Canon, home: Path) -> None:
    nowhere = "00000000-0000-4000-8000-000000000000"
    file = flac(home, recording=nowhere, artist="Nobody", title="Nothing")
    for command in ("decide", "batch", "batch"):
        line = canon(command, file, "--output=json", knowing=BUNDLES).line
        assert (line["artist"], line["title"], line["first_release"]) == ("Nobody", "Nothing", None)
    ((kept,),) = in_store(home, "SELECT artifact FROM decisions")
    assert json.loads(kept)["tags"]["title"] == "Nothing"


def test_only_a_failed_look_up_is_made_again(canon: Canon, home: Path) -> None:
    file = file_of(BUNDLES[0], home)
    unknown = flac(home, "unknown.flac", recording="00000000-0000-4000-8000-000000000000")
    with MusicBrainzStandIn(BUNDLES, behave=always(GARBAGE)) as mb:
        ran = canon("batch", file, unknown, "--output=json", **asking(mb))
    assert ran.status == 1
    assert {line["cause"] for line in ran.lines} == {"lookup_failed"}
    ran, _ = batch(canon, file, unknown, "--output=json")
    assert ran.status == 3
    states = {Path(line["path"]).name: line["state"] for line in ran.lines}
    assert states == {"song.flac": "decided", "unknown.flac": "unmatched"}
    ran, requests = batch(canon, file, unknown, "--output=json")
    assert [line["resumed"] for line in ran.lines] == [True, True]
    assert (ran.status, requests) == (3, 0)


def test_a_file_without_audio_or_match_is_no_error_and_does_not_come_back(
    canon: Canon, home: Path
) -> None:
    song = file_of(BUNDLES[0], home)
    flac(home, "unknown.flac", recording="00000000-0000-4000-8000-000000000000")
    flac(home, "bare.flac", title="Untitled")
    for name in ("text.mp3", "text.txt"):
        (home / "work" / name).write_text("no audio at all, whatever it is called")
    (home / "work" / "empty.ogg").write_bytes(b"")
    shutil.move(song, home / "work")
    for name in ("unknown.flac", "bare.flac"):
        shutil.move(home / name, home / "work")
    ran, _ = batch(canon, home / "work", "--output=json")
    assert ran.status == 3
    assert {Path(line["path"]).name: (line["state"], line.get("cause")) for line in ran.lines} == {
        "song.flac": ("decided", None),
        "unknown.flac": ("unmatched", "nothing_found"),
        "bare.flac": ("unmatched", "unidentified"),
        "text.mp3": ("unreadable", "file"),
        "empty.ogg": ("unreadable", "file"),
    }
    for line in ran.lines:
        assert line["error"] is None
        assert line["rationale"]
    again, requests = batch(canon, home / "work", "--output=json")
    assert (again.status, requests) == (3, 0)
    assert {line["resumed"] for line in again.lines} == {True}
    assert ["reasons" in each.err for each in (ran, again)] == [True, False]
    waiting = canon("review", "list", "--output=json")
    assert sorted(line["state"] for line in waiting.lines) == ["unmatched"] * 2 + ["unreadable"] * 2
    assert "knows no recording" in canon("review", "list").out
    for name in ("unknown.flac", "text.mp3"):
        canon("review", "keep", home / "work" / name).must_end(0)
    batch(canon, home / "work")
    waiting = canon("review", "list", "--output=json")
    assert {Path(line["path"]).name for line in waiting.lines} == {"bare.flac", "empty.ogg"}
    only, _ = batch(canon, home / "work", "--only=unmatched", "--output=json")
    assert {line["state"] for line in only.lines} == {"unmatched"}
    canon("decide", home / "work" / "text.txt").must_end(1, "not audio that can be read")
    canon("decide", home / "work" / "text.mp3").must_end(3, "unreadable")


def test_identical_evidence_is_adjudicated_once(canon: Canon, home: Path) -> None:
    bundle = year_only_single()
    (home / "a").mkdir()
    (home / "b").mkdir()
    files = [file_of(bundle, home / folder, f"{n}.flac") for folder in "ab" for n in range(3)]
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Searxng() as search,
        OllamaStandIn([UNSURE, UNSURE]) as model,
    ):
        settings = asking(mb) | adjudicating(model, search)
        assert canon("batch", files[0], "--dry-run", **settings).status == 3
        assert len(model.chats) == 1
        assert not (home / "data" / "canon" / "transcripts").exists(), "a dry run records nothing"
        ran = canon("batch", *files[:4], "--output=json", **settings).must_end(3)
        assert [line["state"] for line in ran.lines] == ["undecided"] * 4
        for line in ran.lines:
            assert [one["text"] for one in line["questions"]] == line["missing_facts"]
        assert len(model.chats) == 2
        ran = canon("batch", *files, "--output=json", **settings)
        assert [line.get("resumed", False) for line in ran.lines].count(True) == 4
        assert len(model.chats) == 2
        ran = canon("batch", *files, "--output=json", **asking(mb))
        stands = [(line.get("resumed"), bool(line["adjudication"])) for line in ran.lines]
        assert stands == [(True, True)] * 6, "the model is turned off, and its answers stay"


@pytest.mark.parametrize("option", ["--report", "--metrics"])
def test_audio_is_never_written_over(canon: Canon, library: Path, home: Path, option: str) -> None:
    song = library / "lead-bohemian" / "song.flac"
    (home / "link").symlink_to(song)
    before = song.read_bytes()
    for place in (song, home / "link", home / "video.MP4"):
        ran = canon("batch", library, option, place)
        assert (ran.status, "an audio file is never replaced" in ran.err) == (2, True)
    assert song.read_bytes() == before
    assert not (home / "video.MP4").exists()


def test_written_tags_are_unchanged_in_the_next_run(
    canon: Canon, library: Path, home: Path
) -> None:
    ran, _ = batch(canon, library, "--write", "--output=json")
    assert ran.status == 0, ran.err
    assert {line["tags"]["fate"] for line in ran.lines} == {"written"}
    song = FLAC(library / "lead-bohemian" / "song.flac")
    assert song["originaldate"] == ["1975-10-31"]
    ran, requests = batch(canon, library, "--write", "--output=json")
    assert ran.status == 0, ran.err
    assert {(line["resumed"], line["tags"]["fate"]) for line in ran.lines} == {(True, "unchanged")}
    assert (requests, decided(home)) == (0, 4)
    assert canon("undo").status == 0
    assert "musicbrainz_releasegroupid" not in FLAC(library / "lead-bohemian" / "song.flac")


def test_a_batch_after_writing_counts_no_track_as_older_than_its_tags(
    canon: Canon, library: Path
) -> None:
    for name in NAMES:  # as on a reissue: only then an original date is to be written
        song = FLAC(library / name / "song.flac")
        song["date"] = ["2024"]
        song.save()
    ran, _ = batch(canon, library)
    assert "4 of 4 tracks are older than their tags say" in ran.out
    assert ran.err.endswith(f"next: canon write {library}\n")
    assert canon("write", library, "--apply").status == 0
    for again in ((), ("--refresh",)):
        ran, _ = batch(canon, library, *again)
        assert "4 tracks, none of them older than its tags say" in ran.out
        assert "next: canon write" not in ran.err


def test_a_dry_run_decides_and_leaves_no_trace(canon: Canon, library: Path, home: Path) -> None:
    canon("ls")  # creates the store
    before = {path: path.read_bytes() for path in library.rglob("*.flac")}
    ran, _ = batch(canon, library, "--dry-run", "--write", "--output=json")
    assert ran.status == 0, ran.err
    assert {(line["state"], line["tags"]["fate"]) for line in ran.lines} == {("decided", "planned")}
    assert {path: path.read_bytes() for path in library.rglob("*.flac")} == before
    assert decided(home) == 0
    assert in_store(home, "SELECT * FROM runs") == []
    assert "run            dry run: nothing was stored or written\n" in ran.err
    assert "canon runs show" not in ran.err


def test_only_those_are_decided_that_were_chosen(canon: Canon, library: Path, home: Path) -> None:
    canon("batch", library, knowing=BUNDLES[1:])
    ran, requests = batch(
        canon, library, "--only", "undecided, unmatched", "--output=json", "--refresh"
    )
    assert Path(ran.must_end(0).line["path"]).parent.name == "lead-bohemian"
    assert 0 < requests <= 4


def test_frozen_decides_by_stored_evidence(canon: Canon, library: Path, home: Path) -> None:
    batch(canon, library)
    new = file_of(golden("s90-deen"), library / "s90-bump", "new.flac")
    with MusicBrainzStandIn(BUNDLES, behave=always(GARBAGE)) as mb:
        canon("batch", new, **asking(mb))
    narrow = {"CANON_RULES__LEAD_WINDOW_DAYS": "10"}
    ran = canon("batch", library, "--frozen", "--output=json", **narrow)
    rules = {Path(line["path"]).parent.name: line["crg_rule"] for line in ran.lines}
    assert ran.status == 1
    assert rules["lead-bohemian"] == "CRG:SINGLE_TRUE_PREMIERE"
    (failed,) = (line for line in ran.lines if line["state"] == "error")
    assert "without --frozen" in failed["error"]
    assert failed["cause"] == "not_looked_up"
    (last,) = in_store(
        home, "SELECT document FROM decisions WHERE CAST(path AS TEXT) LIKE '%new.flac'"
    )
    assert json.loads(last[0])["cause"] == "lookup_failed", "what it was before stays"
    for failing in (["batch", "--refresh"], ["decide"]):
        canon(*failing, library, "--offline").must_end(1)  # it fails for all of them
        kept = canon("ls", library, "--output=json").lines
        assert [line["state"] for line in kept].count("decided") == 4
    ran = canon("batch", library, "--frozen", "--output=json", **narrow)
    assert [line["state"] for line in ran.lines].count("decided") == 4


def test_ctrl_c_ends_a_batch_and_the_next_goes_on(canon: Canon, home: Path, start: Start) -> None:
    for number in range(40):  # the last ones are of other recordings, so more is asked for them
        (home / "music" / f"{number:02}" / "album").mkdir(parents=True)
        file_of(BUNDLES[number // 10], home / "music" / f"{number:02}" / "album")
    with MusicBrainzStandIn(BUNDLES) as mb:
        settings = asking(mb) | {"CANON_MUSICBRAINZ__RATE_LIMIT_PER_S": "10"}
        process = start(
            "batch", home / "music", "--jobs=1", "--output=json", "--refresh", **settings
        )
        assert process.stdout
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert b"stops within two seconds, and keeps what is decided" in err
    assert b"stopped: interrupted; the same command continues" in err
    lines = (first + out).splitlines()
    assert len(lines) == decided(home)
    assert 0 < len(lines) < 40
    ran, _ = batch(canon, home / "music", "--output=json", "--refresh")
    assert ran.status == 0
    assert "goes on with the refresh that began 2" in ran.err
    resumed = [line.get("resumed", False) for line in ran.lines]
    assert (sum(resumed), len(ran.lines), decided(home)) == (len(lines), 40, 40)
    ran, _ = batch(canon, home / "music", "--output=json", "--refresh")
    assert "goes on with" not in ran.err
    assert decided(home) == 80, "that one came to its end: this one began anew"


@pytest.mark.parametrize(
    ("command", "number"),
    [("batch", signal.SIGINT), ("batch", signal.SIGTERM), ("decide", signal.SIGINT)],
)
def test_a_run_that_waits_ends_within_two_seconds(
    home: Path, start: Start, command: str, number: signal.Signals
) -> None:
    for name, bundle in zip(NAMES, BUNDLES, strict=True):
        (home / "music" / name / "album").mkdir(parents=True)
        file_of(bundle, home / "music" / name / "album")
    hanging = threading.Event()

    def hang(count: int, request: Request, honest: Response) -> Response:
        if count >= 3:
            hanging.set()
            time.sleep(6)
        return honest

    with MusicBrainzStandIn(BUNDLES, behave=hang) as mb:
        settings = asking(mb) | {"CANON_MUSICBRAINZ__TIMEOUT_S": "60"}
        options = ["--jobs=1"] if command == "batch" else []
        process = start(command, home / "music", *options, "--output=json", **settings)
        assert hanging.wait(30)
        asked = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        taken_s = time.monotonic() - asked
    assert process.returncode == 130, err
    assert taken_s < 2, f"{taken_s:.1f} s"
    assert len(out.splitlines()) == decided(home), "what is printed is kept"
    assert (b"stopped: interrupted; the same command continues" in err) is (command == "batch")
    assert err.endswith(b"canon: interrupted\n") is (command == "decide")
    ((status, ended),) = in_store(home, "SELECT status, ended_at_utc FROM runs")
    assert (status, bool(ended)) == (130, True)


def test_collections_go_first_or_alone(canon: Canon, library: Path, home: Path) -> None:
    """The last album in the order of paths is called a best-of."""
    file_of(BUNDLES[3], library / "s90-bump", album="Greatest Hits", date="2004")
    for name, bundle in zip(NAMES[:3], BUNDLES, strict=False):
        (library / name / "cd").mkdir()
        (library / name / "song.flac").unlink()
        file_of(bundle, library / name / "cd", album="An Album", date="2004")
    (library / NAMES[3] / "cd").mkdir()
    (library / NAMES[3] / "song.flac").rename(library / NAMES[3] / "cd" / "song.flac")

    def names(ran: Ran) -> list[str]:
        return [Path(line["path"]).parts[-3] for line in ran.must_end(0).lines]

    dry = ("--dry-run", "--jobs=1", "--output=json")
    first, _ = batch(canon, library, *dry)
    assert names(first)[0] == NAMES[3]
    by_path, _ = batch(canon, library, "--order=path", *dry)
    assert names(by_path)[-1] == NAMES[3]
    alone, requests = batch(canon, library, "--only=compilations", *dry, "--refresh")
    assert names(alone) == [NAMES[3]]
    assert 0 < requests <= 4


def test_an_estimate_is_near_what_the_run_takes(canon: Canon, library: Path) -> None:
    file_of(BUNDLES[3], library / "s90-bump", album="Greatest Hits", date="2004")
    (library / "dated").mkdir()
    file_of(BUNDLES[1], library / "dated", album="An Album", date="2016")
    (library / "broken.mp3").write_bytes(b"no audio")
    flac(library, "untagged.flac")
    ran, requests = batch(canon, library, "--estimate", "--output=json")
    assert (ran.status, ran.err, requests) == (0, "", 0)
    estimate = ran.line
    counted = ("files", "resumed", "unreadable", "unidentified", "rate_per_s")
    assert [estimate[name] for name in counted] == [7, 0, 1, 1, 0.0]
    text = canon("batch", library, "--estimate", COLUMNS="100").must_end(
        0, "files 7", "to decide", "pace 1.0/s (musicbrainz.rate_limit_per_s)", "1 best-of",
        "`--only compilations` saves about",
    )  # fmt: skip
    assert "note" in text.out
    absent = canon("batch", library / "absent", "--estimate").must_end(1, "files 0")
    assert "absent' does not exist" in absent.err
    _, taken = batch(canon, library)
    about, most = estimate["all"]["requests"], estimate["all"]["most_requests"]
    assert about / 2 <= taken <= about * 2
    assert taken <= most
    again, _ = batch(canon, library, "--estimate", "--output=json")
    assert (again.line["resumed"], again.line["all"]["requests"]) == (7, 0)


SONG = "../music/lead-bohemian/song.flac"
LINES: list[tuple[object, str]] = [
    ({"id": "one", "path": SONG}, ""),
    ({"id": 2, "bundle": BUNDLES[1]}, ""),
    (BUNDLES[2], ""),
    ({"id": "again", "path": SONG}, ""),
    ({"path_b64": b64encode(SONG.encode()).decode()}, ""),
    ({"id": "file", "path": "line 2"}, "does not exist"),  # a file may be named as a line
    ({"bundle": 3}, "evidence bundle: "),
    ({"recording_candidates": 3}, "recording_candidates"),
    ({"what": "is this"}, """found '{"what": "is this"}'; allowed is"""),
    *((odd, "; allowed is") for odd in (
        "text", [1], {}, {"path": 8}, {"path": "a\0b.flac"}, {"path_b64": "YQBi"},
        {"path_b64": "%"}, {"path": SONG, "bundle": {}}, {"path_b64": "YQ==", "bundle": {}},
        {"bundle": None}, b"{", b"[" * 5_000, b"\xff",
    )),
]  # fmt: skip
"""Lines of another program, and what is said of one that cannot be answered."""


def test_json_lines_are_answered_one_by_one(canon: Canon, library: Path) -> None:
    lines = [line if isinstance(line, bytes) else json.dumps(line).encode() for line, _ in LINES]
    ran = canon("batch", "--stdin", stdin=b"\n".join([*lines, b""]), knowing=BUNDLES)
    assert ran.status == 1
    told = sorted(ran.lines, key=lambda answer: int(answer["line"]))
    assert [answer["id"] for answer in told[:6]] == ["one", 2, None, "again", None, "file"]
    assert [answer["path"] for answer in told[:5]] == [SONG, None, None, SONG, SONG]
    for number, (answer, (_, problem)) in enumerate(zip(told, LINES, strict=True), 1):
        assert (answer["line"], answer["state"]) == (number, "error" if problem else "decided")
        assert problem in (answer["error"] or "")
        assert "allowed" not in problem or answer["error"].startswith(f"line {number}: found")


def test_a_model_that_is_not_there_is_given_up_within_seconds(canon: Canon) -> None:
    lines = [
        json.dumps({"id": one, "bundle": bundle}) for one, bundle in enumerate(open_bundles(30))
    ]
    with Searxng() as search, OllamaStandIn() as model:
        settings = adjudicating(model, search) | {"CANON_LLM__TIMEOUT_S": "120"}
    settings["CANON_LLM__SEARXNG__ENABLED"] = "false"
    began = time.monotonic()
    stdin = "\n".join(lines).encode()
    ran = canon("batch", "--stdin", stdin=stdin, knowing=BUNDLES, **settings)
    assert time.monotonic() - began < 20, "it took a minute and more"
    assert ran.status == 1
    assert len(ran.lines) == 30
    for line in ran.lines:
        assert "start it with `ollama serve`, or set llm.base_url" in line["error"]
        assert line["missing_facts"]


def test_a_program_that_waits_for_each_answer_gets_it(start: Start) -> None:
    process = start("batch", "--stdin")
    assert process.stdin
    assert process.stdout
    for number in range(3):
        process.stdin.write(json.dumps({"id": number, "bundle": BUNDLES[1]}).encode() + b"\n")
        assert json.loads(process.stdout.readline())["id"] == number
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 130, "an open input holds up no end"


def test_verbose_tells_of_each_finished_file(canon: Canon, library: Path, home: Path) -> None:
    ran, _ = batch(canon, library, home / "absent.flac", "-v")
    told = [json.loads(line) for line in ran.err.splitlines() if '"finished"' in line]
    assert {(Path(line["path"]).name, line["state"]) for line in told} == {
        ("song.flac", "decided"), ("absent.flac", "error"),
    }  # fmt: skip
    assert {line["first_release"] for line in told if line["state"] == "decided"} > {"2016-02-10"}
    assert "\nfiles          5 in " in f"\n{ran.out}"


def test_a_case_left_open_by_a_failed_search_is_asked_again(canon: Canon, home: Path) -> None:
    bundle = year_only_single()
    file = file_of(bundle, home)
    search = 'Thought: look.\nAction: web_search\nAction Input: {"query": "queen single"}'
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Searxng(mode="crashed") as engine,
        OllamaStandIn([search, *[UNSURE] * 3]) as model,
    ):
        settings = asking(mb) | adjudicating(model, engine)

        def again() -> tuple[object, int]:
            (line,) = canon("batch", file, "--output=json", **settings).lines
            assert line["state"] == "undecided"
            names = [check["name"] for check in line["adjudication"]["checks"]]
            assert names == ["unanswered"] * (engine.mode == "crashed")
            return line.get("resumed"), len(model.chats)

        assert again() == (None, 2)
        assert again() == (None, 3), "code's own search fails, too"
        engine.mode = "well"
        assert again() == (None, 4)
        assert again() == (True, 4)


def test_a_report_that_cannot_be_written_on_ends_there(canon: Canon, library: Path) -> None:
    canon("batch", library, "--report", "/dev/full", "--offline").must_end(
        1, "--report /dev/full: No space left on device; the report ends here", "files"
    )
