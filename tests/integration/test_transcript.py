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
        if len(messages) == 2:
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
        "run", "message", "message", "reply", "step", "observation",
    ]  # fmt: skip
    assert lines[4]["arguments"] == {"query": "Queen single"}

    told = "the transcript ends after reply 1, before the run does"
    canon("transcript", "replay", file).must_end(1, told)
