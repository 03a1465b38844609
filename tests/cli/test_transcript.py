"""`canon transcript show`, `replay` and `diff`, also on runs that were killed."""

import json
from pathlib import Path

import pytest

from chart_binder.cli.main import run
from cli.recording import FACT, PAGE, QUOTE, RUN, answer, recording

Shown = pytest.CaptureFixture[str]
COMMANDS = (["show"], ["show", "--output=json"], ["replay"], ["replay", "--output=json"], ["html"])


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return recording(tmp_path)


def test_show_prints_the_whole_run_and_its_checks(capsys: Shown, one: Path) -> None:
    assert run(["transcript", "show", str(one)]) == 0
    shown = capsys.readouterr().out
    for word in (
        "--- turn 1: reply", "Thought: I look.", "--- turn 3: observation", "answered 404",
        "=== accepted: so", "A Night at the Opera (Album)", "confidence     0.90", "ok: C2",
        "--- turn 5: second reading (of fact 1, support, ", " s): first_release\n",
        "facts          first_release_date 1975 -> 1975-10-31 of Bohemian Rhapsody (Single)\n",
        f'\n{"":15}verified: {PAGE}, trusted\n{"":15}quote: "{QUOTE}"\n',
        f"\n{'':15}second reading (support): first_release\n", "took           5 turns, 1 second",
    ):  # fmt: skip
        assert word in shown, word
    assert "killed" not in shown
    assert shown.count("C1 'Bohemian Rhapsody': ") == 0, "a check repeats no fact"


def test_what_is_not_verified_says_why_and_what_is_missing(tmp_path: Path, capsys: Shown) -> None:
    file = recording(
        tmp_path, [*RUN[:-1], answer(facts=[FACT | {"source": ""}])], reading="unclear"
    )
    assert run(["transcript", "show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "problem        a proposal, because rules decide: " in shown
    assert f"NOT verified: {PAGE}: a second reading of {PAGE} says unclear\n" in shown
    nowhere = FACT | {"source": "", "quote": "", "value": "1975-10-30"}
    run(["transcript", "show", str(recording(tmp_path, [*RUN[:-1], answer(facts=[nowhere])]))])
    assert f"{'':15}NOT verified: no source: " in capsys.readouterr().out


@pytest.mark.parametrize("outcome", [RUN, ["hm"] * 3, [answer(crg_mbid=None, confidence=0.1)]])
def test_a_replay_has_the_identical_result(
    tmp_path: Path, capsys: Shown, outcome: list[str]
) -> None:
    file = recording(tmp_path, outcome)
    assert run(["transcript", "replay", str(file), "--output=json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["same"], printed["differs"]) == (True, [])


def test_the_transcript_of_a_killed_run_can_be_read(
    tmp_path: Path, capsys: Shown, one: Path
) -> None:
    """A kill leaves whole lines, and perhaps the beginning of one more."""
    lines = one.read_bytes().splitlines(keepends=True)
    file = tmp_path / "killed.jsonl"
    for count in range(1, len(lines), 2):
        for rest in (b"", lines[count][:1], lines[count][: len(lines[count]) // 2]):
            file.write_bytes(b"".join(lines[:count]) + rest)
            for command in COMMANDS:
                status = run(["transcript", *command, str(file)])
                printed = capsys.readouterr()
                assert status == (1 if command[0] == "replay" and count < len(lines) - 2 else 0)
                if command != ["replay", "--output=json"]:
                    said = (printed.out + printed.err).lower()
                    assert "no result was recorded" in said
                    assert ("half written" in said) == bool(rest)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"type": "run", "id"', "it has no complete line"),
        ('{"type": "result", "result": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}\n", "line 1"),
        ('{"path": "a.mp3", "state": "decided"}', "not a transcript: line 1: "),
        ('{"type": "run", "version": 2}', "line 1: it is of version 2, and only version 1 is read"),
        (
            '{"type": "run", "evidence": {"version": 99}}',
            "cannot read its evidence or result: ",
        ),
        (
            '{"type": "result", "result": {"outcome": "perhaps"}}',
            "cannot read its evidence or result: ",
        ),
    ],
    ids=[
        "cut in the first line",
        "nested too deep",
        "another document",
        "another version",
        "evidence of another form",
        "result of another form",
    ],
)
def test_a_file_that_is_no_transcript_is_one_clear_line(
    tmp_path: Path, capsys: Shown, command: list[str], content: str, problem: str
) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(content)
    assert run(["transcript", *command, str(file)]) == 1
    assert problem in capsys.readouterr().err
