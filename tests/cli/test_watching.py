"""A run on standard error, each reply while it is written."""

import pytest

from chart_binder.cli.progress import LiveRun
from chart_binder.react.transcript import Observed, Replied, Result, Run

REPLY = "Thought: hm\nAction: x"


def shown(capsys: pytest.CaptureFixture[str], *happened: object) -> str:
    """Return what is shown of pieces of replies and of events, in order."""
    watching = LiveRun()
    for each in happened:
        if isinstance(each, str):
            watching.listen(each)
        else:
            watching.watch(each)  # type: ignore[arg-type]
    out, err = capsys.readouterr()
    assert not out
    return err


@pytest.mark.parametrize(
    "letter",
    ["\x1b", "\x07", "\x9b", *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))],
)
def test_a_terminal_only_shows_what_a_model_writes(
    letter: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, f"a{letter}b", Observed(f"c{letter}d", 1))
    assert letter not in text
    assert "a\ufffdb" in text
    assert "c\ufffdd" in text


def test_a_piece_is_shown_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "Thought: h") == "--- turn 1: reply\nThought: h"


def test_a_reply_that_was_heard_is_not_shown_again(capsys: pytest.CaptureFixture[str]) -> None:
    replied = Replied(REPLY, 1, thinking="secretly", completion_tokens=9, seconds=2.1)
    assert shown(capsys, "Thought: hm\nAct", "ion: x", replied) == (
        f"--- turn 1: reply\n{REPLY}\n--- turn 1: said (2.1 s, 9 tokens)\n(thinking) secretly\n"
    )


def test_a_reply_that_nobody_heard_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, Replied(REPLY, 1)) == f"--- turn 1: reply (0.0 s)\n{REPLY}\n"


def test_a_reply_that_was_heard_in_part_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "Thought", Replied(REPLY, 1))
    assert text == f"--- turn 1: reply\nThought\n--- turn 1: reply (0.0 s)\n{REPLY}\n"


def test_a_reply_that_breaks_off_ends_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    result = Result({"outcome": "error", "problem": "the server went away"})
    text = shown(capsys, "Thought", result)
    assert text == "--- turn 1: reply\nThought\n=== error: the server went away\n"


def test_turns_are_counted_anew_in_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    turn = ("a", Replied("a", 1), Observed("b", 1), "c", Replied("c", 2))
    text = shown(capsys, Run(id="1"), *turn, Run(id="2"), *turn)
    heads = [line for line in text.splitlines() if line.endswith(": reply")]
    assert heads == ["--- turn 1: reply", "--- turn 2: reply"] * 2


def test_an_escape_sequence_does_nothing_however_it_is_split(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = shown(capsys, "\x1b", "[2J\x9b", "31m\r\a", Replied("\x1b[2J\x9b31m\r\a", 1))
    assert text.splitlines()[1] == "\ufffd[2J\ufffd31m\ufffd\ufffd"
    assert not {"\x1b", "\x9b", "\r", "\a"} & set(text)
