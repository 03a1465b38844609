"""The example of docs/testing.md, as a project of its own."""

import re
from pathlib import Path

import pytest

from chart_binder.config import LLMConfig
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import Outcome
from chart_binder.testing import play
from docs.pages import blocks
from golden.bundles import year_only_single

PYTHON, (TRANSCRIPT, LOOKED_UP), (SHOWN,), (CUT,) = (
    blocks("docs/testing.md", each) for each in ("python", "jsonl", "text", "sh")
)


def laid_out(pytester: pytest.Pytester, transcript: str) -> None:
    pytester.makeconftest(PYTHON[0])
    pytester.makepyfile(test_premiere=PYTHON[1])
    (pytester.path / "killer_queen.jsonl").write_text(transcript, "utf-8")


def test_the_example_passes(pytester: pytest.Pytester) -> None:
    laid_out(pytester, TRANSCRIPT)
    pytester.runpytest_inprocess("-q", "-W", "error").assert_outcomes(passed=1)


def test_what_code_looks_up_is_played_before_the_first_reply(tmp_path: Path) -> None:
    file = tmp_path / "looked_up.jsonl"
    file.write_text(LOOKED_UP, "utf-8")
    with play(file) as run:
        adjudicator = ReActAdjudicator(LLMConfig(enabled=True), chat=run, tools=run.tools)
        result = adjudicator.adjudicate(year_only_single())
    assert (result.outcome, result.iterations) == (Outcome.REJECTED, 1)
    assert isinstance(result.transcript, tuple)
    assert [type(event).__name__ for event in result.transcript] == [
        "StartEvent", "MessageEvent", "MessageEvent", "StepEvent", "ObservationEvent", "ReplyEvent",
        "StepEvent",
    ]  # fmt: skip


def test_a_replay_plays_a_file_in_place_of_a_model(tmp_path: Path) -> None:
    file = tmp_path / "replayed.jsonl"
    file.write_text(TRANSCRIPT, "utf-8")
    config = LLMConfig(enabled=True, provider="replay", model_id=str(file))
    assert ReActAdjudicator(config).adjudicate(year_only_single()).iterations == 2


def test_the_example_fails_as_the_page_shows(pytester: pytest.Pytester) -> None:
    call = '"arguments": {"query": "Killer Queen %s"}'
    laid_out(pytester, TRANSCRIPT.replace(call % "single", call % "45"))
    ran = pytester.runpytest_inprocess("-q", "-W", "error")
    ran.assert_outcomes(failed=1)
    assert SHOWN in ran.stdout.str()


def test_a_whole_recording_is_cut_down_as_the_page_says() -> None:
    (pattern,) = re.findall(r"grep -E '(.*?)'", CUT)
    assert re.match(pattern, '{"type":"reply","content":"x"}')
    assert not re.match(pattern, '{"type":"result","result":{}}')
