"""A run killed in the middle leaves all it had, and that can be read and played."""

import json
import signal
import threading
from pathlib import Path
from typing import Any

from golden.bundles import year_only_single
from integration.conftest import Canon, Start
from integration.services import adjudicating, answering, asking, call, file_of, final
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng


def test_a_killed_run_keeps_all(canon: Canon, home: Path, start: Start, open_bundle: Path) -> None:
    asked_again, killed = threading.Event(), threading.Event()

    def search_then_think(messages: list[dict[str, Any]]) -> str:
        if len(messages) == 2:  # with what code looked up below the evidence
            return call("web_search", query="Queen single")
        asked_again.set()
        killed.wait(60)
        return ""

    with OllamaStandIn(search_then_think) as model, Searxng() as search:
        settings = adjudicating(model, search) | {"CANON_LLM__TIMEOUT_S": "60"}
        process = start("decide", "--evidence", open_bundle, **settings)
        assert asked_again.wait(60)
        process.kill()
        assert process.wait(10) == -signal.SIGKILL
        killed.set()
    (file,) = (home / "data" / "canon" / "transcripts").glob("*.jsonl")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [line["type"] for line in lines] == [
        "run", "message", "message", *("step", "observation") * 2, "reply", "step", "observation",
    ]  # fmt: skip
    steps = [line for line in lines if line["type"] == "step"]
    assert [(step["iteration"], step["tool"]) for step in steps] == [
        (0, "linked_pages"), (0, "web_search"), (1, "web_search"),
    ]  # fmt: skip
    assert steps[1]["thought"].startswith("It is open: the single 'Bohemian Rhapsody'")
    assert [step["arguments"].get("query") for step in steps[1:]] == [
        'Queen "Bohemian Rhapsody" single release date', "Queen single",
    ]  # fmt: skip

    told = "the transcript ends after reply 1, before the run does"
    canon("transcript", "replay", file).must_end(1, told)


def test_runs_are_listed_and_shown_by_file_and_by_decision(canon: Canon, home: Path) -> None:
    assert "no run of a model is stored" in canon("transcript", "list").must_end(0).err
    bundle = year_only_single()
    song = file_of(bundle, home)
    with (
        MusicBrainzStandIn([bundle]) as mb,
        OllamaStandIn(answering(final(rationale="I cannot tell."))) as model,
        Searxng() as search,
    ):
        settings = asking(mb) | adjudicating(model, search)
        decided = canon("decide", song, **settings).must_end(3)
    assert decided.out
    folder = home / "data" / "canon" / "transcripts"
    (file,) = folder.glob("*.jsonl")
    (line,) = canon("transcript", "list", "--json").must_end(0).lines
    assert (line["path"], line["transcript"]) == (str(song), str(file))
    assert (line["model_id"], line["about"]) == ("llama3.2", "Queen - Bohemian Rhapsody")
    listed = canon("transcript", "list").must_end(0).out.splitlines()
    assert listed[0].endswith("  Queen - Bohemian Rhapsody (llama3.2)")
    assert listed[1:] == [f"  {song}"]
    shown = canon("transcript", "show", file).must_end(0, "I cannot tell.").out
    for name in (song, line["decision"]):
        assert canon("transcript", "show", name).must_end(0).out == shown
        assert "I cannot tell." in canon("transcript", "html", name).must_end(0).out
    file.unlink()  # the store has the run, too
    assert canon("transcript", "show", song).must_end(0).out == shown
    assert canon("transcript", "list", "--json").line == line | {"transcript": None}
    (folder / "by-hand.jsonl").write_text('{"type": "run", "started_at": "soon"}\n')
    (folder / "broken.jsonl").write_text("{\n")
    canon("transcript", "list").must_end(1, "left out: ", "broken.jsonl: not", str(song))
    canon("transcript", "show", "absent").must_end(1, "absent: neither a transcript, nor an audio")
    undecided = file_of(bundle, home, "other.flac")
    canon("transcript", "show", undecided).must_end(1, "nor an audio file with a decision")
