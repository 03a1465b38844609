"""`canon transcript show` and `replay`: whole runs, and what a killed one left."""

import json
from pathlib import Path

import pytest

from chart_binder.cli.main import run
from cli.recording import RUN, answer, recording

Shown = pytest.CaptureFixture[str]
COMMANDS = (["show"], ["show", "--output=json"], ["replay"], ["replay", "--output=json"], ["html"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return recording(tmp_path_factory.mktemp("runs")).read_bytes()


def test_a_run_is_shown_to_its_end_with_what_was_checked(
    tmp_path: Path, capsys: Shown, whole: bytes
) -> None:
    file = tmp_path / "run.jsonl"
    file.write_bytes(whole)
    assert run(["transcript", "show", str(file)]) == 0
    shown = capsys.readouterr().out
    for word in (
        "--- turn 1: reply", "Thought: I look.", "--- turn 3: observation", "answered 404",
        "=== accepted: so", "A Night at the Opera (Album)", "confidence     0.90", "ok: C2",
        "verified: first_release_date 1975-10-31", "took           5 turns",
    ):  # fmt: skip
        assert word in shown, word
    assert "killed" not in shown


@pytest.mark.parametrize("outcome", [RUN, ["hm"] * 3, [answer(crg_mbid=None, confidence=0.1)]])
def test_a_replay_comes_to_the_identical_result(
    tmp_path: Path, capsys: Shown, outcome: list[str]
) -> None:
    file = recording(tmp_path, outcome)
    assert run(["transcript", "replay", str(file), "--output=json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["same"], told["differs"]) == (True, [])


def test_wherever_a_run_is_killed_what_it_left_can_be_read(
    tmp_path: Path, capsys: Shown, whole: bytes
) -> None:
    """A kill leaves whole lines, and perhaps the beginning of one more."""
    lines = whole.splitlines(keepends=True)
    file = tmp_path / "killed.jsonl"
    for count in range(1, len(lines), 2):
        for rest in (b"", lines[count][:1], lines[count][: len(lines[count]) // 2]):
            file.write_bytes(b"".join(lines[:count]) + rest)
            for command in COMMANDS:
                status = run(["transcript", *command, str(file)])
                told = capsys.readouterr()
                assert status == (1 if command[0] == "replay" and count < len(lines) - 2 else 0)
                if command != ["replay", "--output=json"]:
                    said = (told.out + told.err).lower()
                    assert "no result was recorded" in said
                    assert ("half written" in said) == bool(rest)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_killed_before_its_first_line_was_whole_says_so(
    tmp_path: Path, capsys: Shown, whole: bytes, command: list[str]
) -> None:
    file = tmp_path / "killed.jsonl"
    file.write_bytes(whole[:50])
    assert run(["transcript", *command, str(file)]) == 1
    assert "it holds no whole line" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_json_nested_without_end_is_one_clear_line(
    tmp_path: Path, capsys: Shown, command: list[str]
) -> None:
    file = tmp_path / "deep.jsonl"
    file.write_text('{"type": "result", "result": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}\n")
    assert run(["transcript", *command, str(file)]) == 1
    assert "line 1" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_another_document_is_not_taken_for_a_line_cut_short(
    tmp_path: Path, capsys: Shown, command: list[str]
) -> None:
    file = tmp_path / "decided.json"
    file.write_text('{"path": "a.mp3", "state": "decided"}')
    assert run(["transcript", *command, str(file)]) == 1
    assert "no transcript: line 1: " in capsys.readouterr().err
