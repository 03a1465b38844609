"""The example of docs/testing.md, as a project of its own."""

import re

import pytest

from docs.pages import blocks

PYTHON, (TRANSCRIPT,), (SHOWN,), (CUT,) = (
    blocks("docs/testing.md", each) for each in ("python", "jsonl", "text", "sh")
)


def laid_out(pytester: pytest.Pytester, transcript: str) -> None:
    pytester.makeconftest(PYTHON[0])
    pytester.makepyfile(test_premiere=PYTHON[1])
    (pytester.path / "killer_queen.jsonl").write_text(transcript, "utf-8")


def test_the_example_passes(pytester: pytest.Pytester) -> None:
    laid_out(pytester, TRANSCRIPT)
    pytester.runpytest_subprocess("-q", "-W", "error").assert_outcomes(passed=1)


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
