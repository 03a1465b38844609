"""Recorded runs are replayed without network or model."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chart_binder.chat.scripted import Scripted
from chart_binder.config import LLMConfig
from chart_binder.jobs.transcripts import replay
from chart_binder.llm.events import read_run
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.react.conversation import Reply
from chart_binder.react.tools import Observation, ToolError
from chart_binder.react.transcript import AnyEvent, ObservationEvent, StepEvent
from golden.bundles import year_only_single
from integration.services import call

PAGE = "https://discography.example/single"
ALBUM = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"


def look(where: str, times: int = 1) -> Observation:
    """Look into a shelf."""
    return Observation(f"{where}: Bohemian Rhapsody, 31 October 1975. " * times, (PAGE,))


def stuck(where: str) -> str:
    """Fail."""
    raise ToolError("the drawer is stuck")


def final(**changes: object) -> str:
    answer = {"crg_mbid": "C2", "confidence": 0.9, "rationale": "so"} | changes
    return f"Thought: done\nFinal Answer: {json.dumps(answer)}"


FACT = {"about": "C1", "field": "first_release_date", "value": "1975-10-31", "source": PAGE}
SAME, OTHER, THIRD = (call("look", where=place) for place in ("a", "b", "c"))
RUNS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "three calls": ((SAME, OTHER, THIRD, final(facts=[FACT])), {}),
    "a repeated call": ((SAME, SAME, final()), {}),
    "calls that led nowhere": ((SAME, SAME, SAME, SAME, final()), {}),
    "an unknown tool": ((SAME, call("nope", x=1), OTHER, final()), {}),
    "unknown tools to the end": ((call("nope"), call("nope"), call("nope"), final()), {}),
    "wrong arguments": ((call("look"), call("look", times="x"), SAME, final()), {}),
    "a spelling of its own": (("Action: Look\nAction Input: a", SAME, SAME, final()), {}),
    "a tool that fails": ((call("stuck", where="x"), call("stuck", where="x"), final()), {}),
    "several calls of a turn": (
        (
            "\n".join(
                f'<tool_call>{{"name": "look", "arguments": {{"where": "{place}"}}}}</tool_call>'
                for place in "abcade"
            ),
            '<tool_call>{"name": "look", "arguments": {"where": "a"}}</tool_call>',
            f"<response>{json.dumps({'crg_mbid': 'C1', 'confidence': 0.9})}</response>",
        ),
        {"dialect": "xml"},
    ),
    "a window that is too small": (
        tuple(f"Thought: {'z' * 1_500}\n{call('look', where=str(n), times=80)}" for n in range(8)),
        {"num_ctx": 2_600, "max_tokens": 400, "max_iterations": 8},
    ),
    "no answer": ((SAME, OTHER, THIRD, "hm", "hm"), {}),
    "no model any more": ((SAME,), {}),
    "a tool of a name unknown here": ((SAME, final()), {"tools": {"look": True}}),
}


def told(path: Path) -> list[AnyEvent]:
    """Return the steps and the observations of a recorded run."""
    events = read_run(path.read_bytes().splitlines(keepends=True))
    return [event for event in events if isinstance(event, StepEvent | ObservationEvent)]


def recorded(folder: Path, *replies: str | Reply, **config: Any) -> tuple[Path, AdjudicationResult]:
    tools: list[Callable[..., object]] = [look, stuck]
    adjudicator = ReActAdjudicator(
        LLMConfig.model_validate({"enabled": True, **config}),
        chat=Scripted(replies, readings=["first_release"]),
        tools=tools,
        record=folder,
    )
    result = adjudicator.adjudicate(year_only_single())
    return Path(str(result.transcript)), result


@pytest.mark.parametrize("name", RUNS)
def test_a_run_comes_to_the_same_without_its_tools(name: str, tmp_path: Path) -> None:
    replies, config = RUNS[name]
    path, result = recorded(tmp_path, *replies, **config)
    again: list[AnyEvent] = []
    before, after = result.to_dict(), replay(path, again.append).to_dict()
    took = before["usage"].pop("model_seconds"), after["usage"].pop("model_seconds")
    assert max(took) < 0.5
    assert after | {"transcript": None} == before | {"transcript": None}
    assert [event for event in again if isinstance(event, StepEvent | ObservationEvent)] == told(
        path
    )


def test_a_fact_that_a_foreign_tool_brought_is_checked_as_it_was(tmp_path: Path) -> None:
    answer = final(crg_mbid="C1", facts=[FACT])
    path, result = recorded(tmp_path, SAME, answer, answer)
    assert (result.outcome, result.crg_mbid) == (Outcome.REVIEW, ALBUM)
    again = replay(path)
    assert (again.facts, again.checks) == (result.facts, result.checks)
    assert [fact.verified for fact in again.facts] == [True]
    assert [item.reading for fact in again.facts for item in fact.readings] == ["first_release"]
