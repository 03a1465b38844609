"""`canon transcript show`, `replay` and `diff`, also on runs that were killed."""

import json
import time
from pathlib import Path

import pytest

from chart_binder.cli.main import run
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import Reply
from cli.recording import FACT, PAGE, QUOTE, READ, RUN, SEARCH, answer, recording
from golden.bundles import year_only_single

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
    assert "problem        a proposal, because rules decide ([llm.acceptance] basis): " in shown
    assert f"NOT verified: {PAGE}: a second reading of {PAGE} says unclear\n" in shown
    nowhere = FACT | {"source": "", "quote": "", "value": "1975-10-30"}
    run(["transcript", "show", str(recording(tmp_path, [*RUN[:-1], answer(facts=[nowhere])]))])
    assert f"{'':15}NOT verified: no source: " in capsys.readouterr().out


def test_a_second_reading_that_differs_is_a_difference(
    tmp_path: Path, capsys: Shown, one: Path
) -> None:
    other = recording(tmp_path, reading="other_release")
    found = {str(where): (a, b) for where, a, b in differing(capsys, one, other)}
    a, b = found["second reading 1"]
    assert str(a).startswith(f"first_release (support of fact 1, {PAGE})\n")
    assert str(b).startswith("other_release (")


OLD = Path(__file__).parent / "run_of_react_2.jsonl"
"""A run that version 0.1 recorded: an answer that was accepted for its confidence."""


def test_a_run_of_an_earlier_version_is_shown_and_replayed_beside_todays_result(
    capsys: Shown,
) -> None:
    assert run(["transcript", "show", str(OLD)]) == 0
    shown = capsys.readouterr().out
    assert "=== accepted: so" in shown
    assert "stale          the model's answer was accepted under an earlier acceptance" in shown
    assert run(["transcript", "replay", str(OLD)]) == 1
    today, _, before = capsys.readouterr().out.partition("=== as recorded\n")
    assert today.startswith("=== today\nreview: so\n")
    assert "as recorded    NOT the same: outcome, confidence, facts, " in today
    assert before.startswith("accepted: so\n")
    assert run(["transcript", "replay", str(OLD), "--output=json"]) == 1
    line = json.loads(capsys.readouterr().out)
    assert (line["result"]["outcome"], line["recorded"]["outcome"]) == ("review", "accepted")


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
        ('{"type": "run", "id"', "it holds no whole line"),
        ('{"type": "result", "result": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}\n", "line 1"),
        ('{"path": "a.mp3", "state": "decided"}', "no transcript: line 1: "),
    ],
    ids=["cut in the first line", "nested too deep", "another document"],
)
def test_a_file_that_is_no_transcript_is_one_clear_line(
    tmp_path: Path, capsys: Shown, command: list[str], content: str, problem: str
) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(content)
    assert run(["transcript", *command, str(file)]) == 1
    assert problem in capsys.readouterr().err


def differing(capsys: Shown, a: Path, b: Path) -> list[tuple[object, object, object]]:
    """Return where two runs differ, and what stands there in either."""
    assert run(["transcript", "diff", str(a), str(b), "--output", "json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert not printed["same"]
    parts = [*printed["before"], *printed["result"]]
    parts += [each for pair in printed["turns"] for each in pair["differences"]]
    return [(each["where"], each["a"], each["b"]) for each in parts]


def test_the_same_run_twice_does_not_differ(tmp_path: Path, capsys: Shown, one: Path) -> None:
    slower = [Reply(text, None, None, 7, 7, 3.0) for text in RUN]
    other = recording(tmp_path, slower)
    assert other != one
    assert run(["transcript", "diff", str(one), str(other)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == [f"--- {one}", f"+++ {other}", "the same in all 5 turns"]


def test_the_first_turn_that_differs_is_named_first(
    tmp_path: Path, capsys: Shown, one: Path
) -> None:
    other = recording(tmp_path, [SEARCH, "hm", READ, answer(confidence=0.7)])
    assert run(["transcript", "diff", str(one), str(other)]) == 1
    shown = capsys.readouterr().out
    assert shown.splitlines()[2] == "different: they part in turn 3 of the first run alone, reply"
    assert "turn 2: the same" in shown
    assert "turn 4 and 3: the same" in shown
    assert "\n- Action Input: " in shown
    assert "\nresult: confidence\n- 0.9\n+ 0.7\n" in shown


def test_different_calls_and_settings_are_named(tmp_path: Path, capsys: Shown, one: Path) -> None:
    config = LLMConfig(enabled=True, model_id="qwen3", temperature=0.5)
    other = recording(tmp_path, [SEARCH.replace("Queen", "Abba"), *RUN[1:]], config=config)
    assert {*differing(capsys, one, other)} >= {
        ("step", 'web_search {"query":"Queen"}', 'web_search {"query":"Abba"}'),
        ("observation", "1. Queen", "1. Abba"),
        ("model_id", "llama3.2", "qwen3"), ("llm.temperature", 0.0, 0.5),
    }  # fmt: skip


def test_evidence_is_compared_by_hash_then_by_field(
    tmp_path: Path, capsys: Shown, one: Path
) -> None:
    bundle = year_only_single()
    groups = bundle["recording_candidates"][0]["rg_candidates"]
    groups.reverse()
    group, release = groups[0]["mb_rg_id"], groups[0]["releases"][0]
    before, release["date"] = release["date"], "2001"
    found = differing(capsys, one, recording(tmp_path, bundle=bundle))
    changed = [(where, a, b) for where, a, b in found if group in str(where)]
    (where, a, b) = next(each for each in changed if str(each[0]).endswith(".date"))
    assert release["mb_release_id"] in str(where)
    assert (a, b) == (before, "2001")
    assert any(where == "hash" for where, _, _ in found)


def test_evidence_in_another_order_is_the_same_evidence(tmp_path: Path, one: Path) -> None:
    bundle = year_only_single()
    bundle["recording_candidates"][0]["rg_candidates"].reverse()
    assert run(["transcript", "diff", str(one), str(recording(tmp_path, bundle=bundle))]) == 0


def test_a_run_without_an_end_is_compared_and_named(
    tmp_path: Path, capsys: Shown, one: Path
) -> None:
    killed = tmp_path / "killed.jsonl"
    whole = one.read_bytes().splitlines(keepends=True)
    killed.write_bytes(b"".join(whole[:-3]) + whole[-3][:9])
    assert run(["transcript", "diff", str(one), str(killed)]) == 1
    shown = capsys.readouterr().out
    assert "killed.jsonl (no result was recorded: the run was killed" in shown
    assert "half written" in shown
    assert "\nresult: outcome\n- accepted\n" in shown


def test_a_canned_transcript_can_be_compared(tmp_path: Path, capsys: Shown, one: Path) -> None:
    canned = tmp_path / "canned.jsonl"
    replies = [line for line in one.read_text().splitlines() if '"type":"reply"' in line]
    canned.write_text("\n".join(replies))
    found = differing(capsys, one, canned)
    assert not any(where == "reply" for where, _, _ in found)
    assert run(["transcript", "diff", str(canned), str(canned)]) == 0


def test_a_candidate_that_one_run_lacks_is_one_difference(
    tmp_path: Path, capsys: Shown, one: Path
) -> None:
    bundle = year_only_single()
    (recorded,) = bundle["recording_candidates"]
    gone = recorded["rg_candidates"].pop()
    home = f"recording_candidates[{recorded['mb_recording_id']}].rg_candidates"
    found = differing(capsys, one, recording(tmp_path, bundle=bundle))
    ((where, a, b),) = (each for each in found if home in str(each[0]))
    assert (where, b) == (f"{home}[{gone['mb_rg_id']}]", None)
    assert str(a).startswith(f"{gone['title']} (in this run alone, ")


@pytest.mark.parametrize("text", [None, "", "no JSON\n{}\n", '{"type": "sermon"}\n'])
def test_a_file_that_cannot_be_read_has_another_status_than_a_difference(
    tmp_path: Path, capsys: Shown, one: Path, text: str | None
) -> None:
    other = tmp_path / "other"
    if text is not None:
        other.write_text(text)
    for pair in ([one, other], [other, one]):
        assert run(["transcript", "diff", *map(str, pair)]) == 2
        assert str(other) in capsys.readouterr().err


def test_long_texts_are_compared_in_a_moment(tmp_path: Path, one: Path) -> None:
    text = "\n".join(str(number % 7) for number in range(60_000))
    a, b = (recording(tmp_path, [first + text, *RUN[1:]]) for first in ("a", "b"))
    started = time.process_time()
    assert run(["transcript", "diff", str(a), str(b)]) == 1
    assert time.process_time() - started < 5
