"""The example of docs/testing.md, as a project of its own."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")


def block(language: str, number: int = 0) -> str:
    found: str = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[number]
    return found


def laid_out(pytester: pytest.Pytester, transcript: str) -> None:
    pytester.makeconftest(block("python", 0))
    pytester.makepyfile(test_premiere=block("python", 1))
    (pytester.path / "killer_queen.jsonl").write_text(transcript, "utf-8")


def test_the_example_passes(pytester: pytest.Pytester) -> None:
    laid_out(pytester, block("jsonl"))
    pytester.runpytest_subprocess("-q", "-W", "error").assert_outcomes(passed=1)


def test_the_example_fails_as_the_page_shows(pytester: pytest.Pytester) -> None:
    call = '"arguments": {"query": "Killer Queen %s"}'
    laid_out(pytester, block("jsonl").replace(call % "single", call % "45"))
    ran = pytester.runpytest_inprocess("-q", "-W", "error")
    ran.assert_outcomes(failed=1)
    assert block("text") in ran.stdout.str()


def test_a_whole_recording_is_cut_down_as_the_page_says() -> None:
    command = block("sh")
    (pattern,) = re.findall(r"grep -E '(.*?)'", command)
    assert re.match(pattern, '{"type":"reply","content":"x"}')
    assert not re.match(pattern, '{"type":"result","result":{}}')
