"""The year of a decided file: what the commands ask a model, keep, and say."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.fields import all_fields
from golden.bundles import Bundle, year_only_single
from integration.conftest import Canon, Start, in_store
from integration.services import (
    TRUSTING,
    UNSURE,
    adjudicating,
    answering,
    asking,
    call,
    file_of,
    final,
    flac,
)
from integration.terminal import walking
from llm.verdicts.play import load_evidence
from servers.musicbrainz import MusicBrainzStandIn
from servers.musicbrainz_world import id_of, world
from servers.ollama import OllamaStandIn
from servers.pages import Pages
from servers.searxng import Searxng, hit

RAW = {
    "artist": "Lena Frost", "country": "GB", "title": "Slow Tram",
    "records": ['C | Album+Compilation | Best | 1981-03-02 GB [Rowan RWL 4, 12" Vinyl]'],
}  # fmt: skip


def compilation(title: str = "Slow Tram") -> Bundle:
    """Return the evidence of a song on a lone compilation, with the ids that MusicBrainz gives."""
    bundle = load_evidence(f"year of {title}", RAW | {"title": title}).document
    artist = "11111111-2222-4333-8444-555555555555"
    return bundle | {"artist": bundle["artist"] | {"mb_artist_id": artist}}


PAGE = (
    "<title>Slow Tram</title><table><tr><th colspan=2>Slow Tram</th></tr>"
    "<tr><th>Single by</th><td>Lena Frost</td></tr>"
    "<tr><th>Released</th><td>7 October 1977</td></tr></table>"
)
ANSWER = (
    'Final Answer:\n```json\n{"crg_mbid": "C1", "confidence": 0.9, "rationale": "the box"}\n```'
)
ALONE = {"CANON_MUSICBRAINZ__SIBLINGS": "never"}
QUERY = '"Slow Tram" original single release date'


def test_a_batch_asks_for_years_once_a_performance_decide_at_once(canon: Canon, home: Path) -> None:
    bundle = compilation()
    (home / "a").mkdir()
    files = [file_of(bundle, home / "a", f"{n}.flac", date="1999") for n in range(2)]
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Pages({"/tram": PAGE}) as pages,
        Searxng({f"Lena Frost {QUERY}": [hit(f"{pages.url}/tram", "Slow Tram")]}) as search,
        OllamaStandIn(answering(*[ANSWER] * 3)) as model,
    ):
        settings = asking(mb) | adjudicating(model, search, pages) | TRUSTING | ALONE
        ran = canon("batch", home / "a", "--output=json", **settings).must_end(0)
        assert [line["first_release"]["year_certain"] for line in ran.lines] == [False, False]
        assert not model.chats, "a batch asks about open cases alone"
        years = (home / "a", "--ask-years", "--output=json")
        [found] = canon("batch", *years, "--estimate", **settings).lines
        assert (found["years"]["files"], found["years"]["runs"]) == (2, 1)
        ran = canon("batch", *years, **settings).must_end(0)
        assert [line["first_release"]["date"] for line in ran.lines] == ["1977-10-07"] * 2
        assert [line["decided_by"] for line in ran.lines] == ["rules"] * 2
        assert len(model.chats) == 1
        ran = canon("batch", *years, "--refresh", **settings)
        assert [line["first_release"]["date"] for line in ran.lines] == ["1977-10-07"] * 2
        assert len(model.chats) == 1, "the answer to the same evidence stays"
        ran = canon("decide", files[0], CANON_LLM__ASK="open", **settings).must_end(0)
        assert len(model.chats) == 1
        [line] = canon("decide", files[0], "--output=json", **settings).must_end(0).lines
        assert line["first_release"]["year_certain"]
        assert line["year_answer"]["outcome"] == "accepted"
        assert len(model.chats) == 2


def test_a_year_that_nobody_tells_leaves_the_decision_and_says_what_is_missing(
    canon: Canon, home: Path
) -> None:
    bundle = compilation()
    file = file_of(bundle, home)
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Searxng() as search,
        OllamaStandIn([UNSURE] * 9) as model,
    ):
        settings = asking(mb) | adjudicating(model, search) | ALONE
        [line] = canon("decide", file, "--output=json", **settings).must_end(0).lines
        assert (line["state"], line["first_release"]["year_certain"]) == ("decided", False)
        assert line["year_answer"]["outcome"] == "rejected"
        shown = canon("decide", file, **settings).must_end(0).out
        assert "the model cannot tell" in shown


def test_a_batch_that_is_interrupted_while_it_asks_for_years_says_so(
    canon: Canon, home: Path, start: Start
) -> None:
    bundles = [compilation(title) for title in ("Slow Tram", "Fast Tram")]
    (home / "a").mkdir()
    for number, bundle in enumerate(bundles):
        file_of(bundle, home / "a", f"{number}.flac", date="1999")
    begun: list[subprocess.Popen[bytes]] = []
    interrupted = Event()

    def interrupting(messages: object) -> str:
        del messages
        if not interrupted.is_set():
            interrupted.set()
            begun[0].send_signal(signal.SIGINT)
            time.sleep(1)
        return UNSURE

    with (
        MusicBrainzStandIn(bundles) as mb,
        Searxng() as search,
        OllamaStandIn(interrupting) as model,
    ):
        settings = asking(mb) | adjudicating(model, search) | ALONE
        settings |= {"CANON_BATCH__MODEL_JOBS": "1"}
        canon("batch", home / "a", **settings).must_end(0)
        begun.append(start("batch", home / "a", "--ask-years", **settings))
        out, err = begun[0].communicate(timeout=60)
    assert begun[0].returncode == 130, (out, err)
    assert b"1 uncertain year left: the same command continues" in err
    assert canon("runs", "list", "--output=json").lines[0]["status"] == 130


@contextmanager
def proposing(bundle: Bundle) -> Iterator[tuple[dict[str, str], OllamaStandIn]]:
    """Yield settings with a model that finds the year on one page, and that model."""
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Pages({"/tram": PAGE}) as pages,
        Searxng({f"Lena Frost {QUERY}": [hit(f"{pages.url}/tram", "Slow Tram")]}) as search,
        OllamaStandIn(answering(*[ANSWER] * 9)) as model,
    ):
        yield asking(mb) | adjudicating(model, search, pages) | ALONE, model


def test_a_proposed_year_waits_beside_open_cases_and_is_accepted(canon: Canon, home: Path) -> None:
    bundle = compilation()
    files = [file_of(bundle, home, f"{n}.flac", date="1999") for n in range(2)]
    with proposing(bundle) as (settings, model):
        canon("batch", home, **settings).must_end(0)
        asked = canon("batch", home, "--ask-years", **settings)
        asked.must_end(0, "; 2 proposed by a model, for you to accept", "next: canon review")
        assert "proposed" not in canon("batch", home, "--ask-years", **settings).must_end(0).out
        canon("ls", "state:review,undecided").must_end(0)
        nothing = canon("review", "list", "--state=review,undecided").must_end(0)
        assert nothing.out == "nothing needs you\n"
        told = "the group is decided, and a first date is proposed: 1977-10-07"
        assert told in " ".join(canon("review", "list").must_end(3, "(and 1 more)").out.split())
        line = canon("review", "list", "--state=year", "--output=json").must_end(3).line
        assert (line["state"], line["files"]) == ("decided", 2)
        assert line["proposal"]["first_date"] == "1977-10-07"
        shown = canon("review", "show", files[0])
        shown.must_end(3, told, "found 1977-10-07", "next: canon review accept")
        assert "quote" not in shown.out
        runs = len(model.chats)
        explained = canon("explain", files[0], **settings).must_end(0, "model", "transcript")
        assert "1977-10-07" in explained.out
        assert len(model.chats) == runs, "the stored answer is shown"
        canon("review", "reject", files[1], "--reason=no", "--dry-run").must_end(0)
        canon("review", "accept", files[0]).must_end(0, "first date   1977-10-07")
        canon("review", "list").must_end(0)
        ran = canon("decide", *files, "--output=json", **settings).must_end(0)
    for line in ran.lines:
        assert (line["decided_by"], line["crg_title"]) == ("rules", "Best")
        assert (line["first_release"]["date"], line["first_release"]["by"]) == (
            "1977-10-07", "person",
        )  # fmt: skip
    canon("review", "accept", files[0]).must_end(1, "decided by the rules")


def decided_and_explained(canon: Canon, home: Path, record: str) -> list[dict[str, Any]]:
    """Return what `decide` and `explain` tell where a model names the recording on `record`."""
    records = f"""
    Trams | Album+Compilation | Hits | 2004 GB | again Night Tram 5:20
    Trams | {record} GB | other Night Tram 5:21
    """
    song = flac(home / "work", recording=id_of("again"), title="Night Tram", artist="Trams")
    fact = {
        "about": "song", "field": "recording", "value": id_of("other"), "quote": "",
        "source": "musicbrainz",
    }  # fmt: skip
    asked = call("musicbrainz", query="Night Tram", artist="Trams", what="recordings")
    answer = final(crg_mbid="C1", rr_mbid=None, facts=[fact])
    with (
        MusicBrainzStandIn(world(records)) as mb,
        Searxng() as search,
        OllamaStandIn(answering(*[asked, answer] * 3)) as model,
    ):
        settings = asking(mb) | adjudicating(model, search) | ALONE
        return [
            canon(command, song, "--output=json", **settings).must_end(0).line
            for command in ("decide", "explain")
        ]


def test_explain_tells_the_year_that_decide_told_by_a_models_answer(
    canon: Canon, home: Path
) -> None:
    """The answer names a single that MusicBrainz has: group and year follow it."""
    decided, explained = decided_and_explained(canon, home, "Single | Night Tram | 1974-03-01")
    assert decided["first_release"]["date"] == "1974-03-01"
    for field in ("first_release", "crg_title", "state", "decided_by", "rr_mbid"):
        assert explained[field] == decided[field]


@pytest.mark.parametrize("kind", ["Live", "Demo", "Remix"])
def test_a_recording_that_is_only_on_other_versions_is_not_the_same_performance(
    canon: Canon, home: Path, kind: str
) -> None:
    decided, _ = decided_and_explained(canon, home, f"Album+{kind} | Others | 1970")
    assert (decided["crg_title"], decided["first_release"]["date"]) == ("Hits", "2004")
    assert not decided["first_release"]["year_certain"]
    assert "only on records of live takes, remixes or demos" in str(decided["year_answer"])


def test_a_record_of_an_answer_that_is_not_accepted_dates_nothing(canon: Canon, home: Path) -> None:
    """The compilation that the answer brings in is earlier, and its year is not certain either."""
    lines = decided_and_explained(canon, home, "Album+Compilation | More Hits | 1981")
    for line in lines:
        assert (line["crg_title"], line["first_release"]["date"]) == ("Hits", "2004")
        assert line["year_answer"]["outcome"] == "review"
        assert [added["mb_recording_id"] for added in line["year_answer"]["added"]] == [
            id_of("other")
        ]
    listed = canon("ls", "--output=json").must_end(0).line
    assert listed["first_release"]["date"] == "2004"
    assert "1981" not in canon("write", home / "work" / "song.flac", "--best-known").out


def test_a_rejected_year_leaves_the_queue_and_the_decision(canon: Canon, home: Path) -> None:
    bundle = compilation()
    file = file_of(bundle, home, date="1999")
    with proposing(bundle) as (settings, _):
        canon("decide", file, **settings).must_end(0)
    canon("review", "reject", file, "--reason=another song").must_end(0)
    assert canon("review", "list").must_end(0).out == "nothing needs you\n"
    canon("write", file, "--best-known", "--apply").must_end(0, "not certain: 1981?")


def test_the_best_known_year_is_written_with_its_mark_and_undone(canon: Canon, home: Path) -> None:
    bundle = compilation()
    file = file_of(bundle, home, date="1999")
    with MusicBrainzStandIn([bundle]) as mb:
        canon("decide", file, **asking(mb) | ALONE).must_end(0)
    canon("write", file, "--apply").must_end(
        3,
        "the year of the first release is not certain",
        f"next: canon write --apply {file} --best-known",
    )
    canon("review").must_end(3, "1 file not written", f"next: canon write {file}")
    before = file.read_bytes()
    canon("write", file, "--best-known", "--apply").must_end(0, "not certain: 1981?")
    fields = all_fields(read_tag_set(file))
    assert fields["original_date"] == fields["note_uncertain_date"] == ("1981",)
    canon("write", file, "--best-known").must_end(0)
    canon("undo", file).must_end(0)
    assert file.read_bytes() == before
    earlier = file_of(bundle, home, "earlier.flac", date="1977")
    with MusicBrainzStandIn([bundle]) as mb:
        canon("decide", earlier, **asking(mb) | ALONE).must_end(0)
    canon("write", earlier, "--best-known", "--apply").must_end(
        3, "the earliest known year, 1981, is not before its own",
        f"next: canon override set {earlier} --first DATE",
    )  # fmt: skip


def test_the_review_asks_the_model_about_the_case_on_the_screen(
    canon: Canon, home: Path, environment: dict[str, str]
) -> None:
    """What it answers is kept for both files with that evidence, and is shown with the case."""
    bundle = year_only_single()
    files = [file_of(bundle, home, f"{n}.flac") for n in range(2)]
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Searxng() as search,
        OllamaStandIn(answering(*[final(confidence=0.7)] * 2)) as model,
    ):
        canon("decide", *files, **asking(mb)).must_end(3)
        settings = environment | asking(mb) | adjudicating(model, search)
        with walking(home, environment | asking(mb), "review", "walk") as terminal:
            assert "let the model look" not in terminal.until("? keys")
        refused = settings | {"CANON_LLM__BASE_URL": "http://127.0.0.1:1"}
        with walking(home, refused, "review", "walk") as terminal:
            terminal.until("? keys")
            terminal.press(("l", "http://127.0.0.1:1"), ("q", "0 reviewed"))
        with walking(home, settings, "review", "walk") as terminal:
            assert "l let the model look" in terminal.until("? keys")
            terminal.press(("l", "asking llama3.2"))
            seen = terminal.until("proposed     C2")
            assert "--- turn 1: finish" in seen
            assert "--- 1 of 1" in seen
            terminal.press(("a", "accepted, with 1 more file"))
        [run] = in_store(home, "SELECT command, counts FROM runs ORDER BY seq DESC LIMIT 1")
        assert run == ("review", '{"review": 2}')
