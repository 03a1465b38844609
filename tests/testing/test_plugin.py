"""The pytest fixture, in a test run of its own."""

import pytest

CANNED = '{"type": "reply", "content": "hm"}\n'
TEST = """
    from chart_binder.react.conversation import Terms

    def test_it(canned):
        run = canned("canned.jsonl", tools=[])
        {}
"""


def ran(pytester: pytest.Pytester, body: str, transcript: str = CANNED) -> pytest.RunResult:
    pytester.makepyfile(TEST.format(body))
    (pytester.path / "canned.jsonl").write_text(transcript, "utf-8")
    return pytester.runpytest_inprocess("-q", "-p", "chart_binder.testing")


def test_a_conversation_played_to_its_end_passes(pytester: pytest.Pytester) -> None:
    ran(pytester, "run.reply([], Terms())").assert_outcomes(passed=1)


def test_a_reply_left_over_fails_the_test_not_its_teardown(pytester: pytest.Pytester) -> None:
    result = ran(pytester, "pass")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the conversation departs from canned.jsonl: it never began*"])


def test_a_departure_is_shown_without_the_way_it_came(pytester: pytest.Pytester) -> None:
    result = ran(pytester, "run.reply([], Terms()); run.reply([], Terms())")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*canned.py:*")


def test_another_failure_names_the_departure_that_was_swallowed(
    pytester: pytest.Pytester,
) -> None:
    body = """
        try:
            run.reply([], Terms())
            run.reply([], Terms())
        except AssertionError:
            pass
        assert 1 == 2
    """
    result = ran(pytester, body)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*", "*departs from canned.jsonl: it goes on*"])


def test_a_test_that_plays_nothing_is_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest_inprocess("-q", "-p", "chart_binder.testing").assert_outcomes(passed=1)
