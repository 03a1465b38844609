"""`canon transcript diff`: what two runs did otherwise, and nothing that only cost more."""

import json
import time
from pathlib import Path

import pytest

from chart_binder.cli.main import run
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import Reply
from cli.recording import READ, RUN, SEARCH, answer, recording
from golden.bundles import year_only_single


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return recording(tmp_path)


Shown = pytest.CaptureFixture[str]


def differing(capsys: Shown, a: Path, b: Path) -> list[tuple[object, object, object]]:
    """Return where two runs differ, and what stands there in either."""
    assert run(["transcript", "diff", str(a), str(b), "--output", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert not told["same"]
    parts = [*told["before"], *told["result"]]
    parts += [each for pair in told["turns"] for each in pair["differences"]]
    return [(each["where"], each["a"], each["b"]) for each in parts]


def test_the_same_run_made_twice_is_the_same(tmp_path: Path, capsys: Shown, one: Path) -> None:
    slower = [Reply(text, None, None, 7, 7, 3.0) for text in RUN]
    other = recording(tmp_path, slower)
    assert other != one
    assert run(["transcript", "diff", str(one), str(other)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == [f"--- {one}", f"+++ {other}", "the same in all 5 turns"]


def test_the_turn_where_two_runs_part_is_named_first(
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


def test_another_call_shows_the_call_and_what_came_of_it(
    tmp_path: Path, capsys: Shown, one: Path
) -> None:
    other = recording(tmp_path, [SEARCH.replace("Queen", "Abba"), *RUN[1:]])
    found = differing(capsys, one, other)
    assert ("step", 'web_search {"query":"Queen"}', 'web_search {"query":"Abba"}') in found
    assert ("observation", "1. Queen", "1. Abba") in found


def test_settings_are_named_by_their_keys(tmp_path: Path, capsys: Shown, one: Path) -> None:
    config = LLMConfig(enabled=True, model_id="qwen3", temperature=0.5)
    found = differing(capsys, one, recording(tmp_path, config=config))
    assert ("model_id", "llama3.2", "qwen3") in found
    assert ("llm.temperature", 0.0, 0.5) in found


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


def test_a_candidate_that_one_run_lacks_is_one_difference(
    tmp_path: Path, capsys: Shown, one: Path
) -> None:
    bundle = year_only_single()
    (recorded,) = bundle["recording_candidates"]
    gone = recorded["rg_candidates"].pop()
    kept = recorded["rg_candidates"][0]
    lost = kept["releases"].pop()
    other = recording(tmp_path, bundle=bundle)
    found = differing(capsys, one, other)
    home = f"recording_candidates[{recorded['mb_recording_id']}].rg_candidates"
    in_evidence = {str(where): (a, b) for where, a, b in found if home in str(where)}
    assert set(in_evidence) == {
        f"{home}[{gone['mb_rg_id']}]",
        f"{home}[{kept['mb_rg_id']}].releases[{lost['mb_release_id']}]",
    }
    a, b = in_evidence[f"{home}[{gone['mb_rg_id']}]"]
    assert str(a).startswith(f"{gone['title']}, ")
    assert "(in this run alone, " in str(a)
    assert b is None
    (_, a, b), *_ = [
        each for each in differing(capsys, other, one) if gone["mb_rg_id"] in str(each)
    ]
    assert a is None
    assert "(in this run alone, " in str(b)


def test_evidence_in_another_order_is_the_same_evidence(tmp_path: Path, one: Path) -> None:
    bundle = year_only_single()
    bundle["recording_candidates"][0]["rg_candidates"].reverse()
    assert run(["transcript", "diff", str(one), str(recording(tmp_path, bundle=bundle))]) == 0


def test_a_run_that_did_not_end_is_told(tmp_path: Path, capsys: Shown, one: Path) -> None:
    killed = tmp_path / "killed.jsonl"
    whole = one.read_bytes().splitlines(keepends=True)
    killed.write_bytes(b"".join(whole[:-3]) + whole[-3][:9])
    assert run(["transcript", "diff", str(one), str(killed)]) == 1
    shown = capsys.readouterr().out
    assert "killed.jsonl (no result was recorded: the run was killed" in shown
    assert "half written" in shown
    assert "\nresult: outcome\n- accepted\n" in shown


def test_a_canned_transcript_can_be_compared_too(tmp_path: Path, capsys: Shown, one: Path) -> None:
    canned = tmp_path / "canned.jsonl"
    replies = [line for line in one.read_text().splitlines() if '"type":"reply"' in line]
    canned.write_text("\n".join(replies))
    found = differing(capsys, one, canned)
    assert not any(where == "reply" for where, _, _ in found)
    assert run(["transcript", "diff", str(canned), str(canned)]) == 0


@pytest.mark.parametrize("text", [None, "", "no JSON\n{}\n", '{"type": "sermon"}\n'])
def test_a_file_that_cannot_be_read_is_trouble_not_a_difference(
    tmp_path: Path, capsys: Shown, one: Path, text: str | None
) -> None:
    other = tmp_path / "other"
    if text is not None:
        other.write_text(text)
    for pair in ([one, other], [other, one]):
        assert run(["transcript", "diff", *map(str, pair)]) == 2
        assert str(other) in capsys.readouterr().err


def test_escape_sequences_of_a_page_do_nothing(tmp_path: Path, capsys: Shown, one: Path) -> None:
    other = recording(tmp_path, [f"\x1b[2J{RUN[0]}", *RUN[1:]])
    run(["transcript", "diff", str(one), str(other)])
    assert "\x1b" not in capsys.readouterr().out


def test_long_texts_are_compared_in_a_moment(tmp_path: Path, one: Path) -> None:
    text = "\n".join(str(number % 7) for number in range(60_000))
    a, b = (recording(tmp_path, [first + text, *RUN[1:]]) for first in ("a", "b"))
    started = time.process_time()
    assert run(["transcript", "diff", str(a), str(b)]) == 1
    assert time.process_time() - started < 5
