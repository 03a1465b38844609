"""A run killed in the middle leaves all it had, and that can be read, compared and played."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from golden.bundles import year_only_single
from integration.conftest import Canon
from integration.services import adjudicating
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng

SEARCH = 'Thought: I look.\nAction: web_search\nAction Input: {"query": "Queen single"}'


@contextmanager
def thinking_forever() -> Iterator[tuple[OllamaStandIn, threading.Event]]:
    """A model that searches once, then is asked again and does not answer."""
    asked_again, never = threading.Event(), threading.Event()

    def talk(messages: list[dict[str, Any]]) -> str:
        if len(messages) == 2:
            return SEARCH
        asked_again.set()
        never.wait(60)
        return ""

    with OllamaStandIn(talk) as model:
        yield model, asked_again
        never.set()


def test_a_run_that_is_killed_leaves_all_it_had(
    canon: Canon, home: Path, environment: dict[str, str]
) -> None:
    bundle = home / "bundle.json"
    bundle.write_text(json.dumps(year_only_single()))
    with thinking_forever() as (model, asked_again), Searxng() as search:
        settings = adjudicating(model, search) | {"CANON_LLM__TIMEOUT_S": "60"}
        process = subprocess.Popen(
            [sys.executable, "-m", "chart_binder", "decide", "--evidence", str(bundle)],
            env=environment | settings,
            cwd=home / "work",
        )
        assert asked_again.wait(60)
        process.kill()
        assert process.wait(10) == -signal.SIGKILL
    (file,) = (home / "data" / "canon" / "transcripts").glob("*.jsonl")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [line["type"] for line in lines] == [
        "run", "message", "message", "reply", "step", "observation",
    ]  # fmt: skip
    assert lines[4]["arguments"] == {"query": "Queen single"}

    shown = canon("transcript", "show", file)
    assert shown.status == 0
    assert "no result was recorded: the run was killed, or is still going on" in shown.out
    replayed = canon("transcript", "replay", file)
    assert replayed.status == 1
    assert "the transcript ends after 1 reply, before the run does" in replayed.out
    page = canon("transcript", "html", file)
    assert page.status == 0
    assert "No result was recorded" in page.out
    assert canon("transcript", "diff", file, file).status == 0


def test_a_page_and_a_difference_go_to_standard_output(canon: Canon, home: Path) -> None:
    one, other = home / "one.jsonl", home / "other.jsonl"
    one.write_text(json.dumps({"type": "reply", "content": "<b>東京"}))
    other.write_text(json.dumps({"type": "reply", "content": "x"}))
    page = canon("transcript", "html", one, PYTHONUTF8="0", LC_ALL="C")
    assert "&lt;b&gt;東京" in page.out
    assert (page.status, page.err) == (0, "")
    differs = canon("transcript", "diff", one, other)
    assert (differs.status, differs.err) == (1, "")
    assert canon("transcript", "diff", one, home / "none").status == 2
