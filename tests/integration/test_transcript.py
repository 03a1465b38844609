"""A run killed in the middle leaves all it had, and that can be read and played."""

import json
import signal
import threading
from pathlib import Path
from typing import Any

from integration.conftest import Canon, Start
from integration.services import adjudicating, call
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng


def test_a_run_that_is_killed_leaves_all_it_had(
    canon: Canon, home: Path, start: Start, open_bundle: Path
) -> None:
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
