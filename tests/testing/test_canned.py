"""Canned transcripts: what they check of a conversation, and the pytest fixture for them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from chart_binder.chat.scripted import Scripted
from chart_binder.config import AcceptanceConfig, LLMConfig
from chart_binder.errors import CanonError
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.react.conversation import ChatError, GenerationOptions, Message
from chart_binder.react.tools import Observation, Tool, ToolError
from chart_binder.testing import CannedModel, TranscriptMismatch, play
from golden.bundles import year_only_single

PAGE = "https://discography.example/single"
SEARCH = 'Thought: look\nAction: web_search\nAction Input: {"query": "Queen"}'
READ = f'Thought: read\nAction: web_fetch\nAction Input: {{"url": "{PAGE}"}}'
ANSWER = 'Final Answer: {"crg_mbid": "C2", "confidence": 0.9, "rationale": "so"}'
UNTOLD = 'Final Answer: {"crg_mbid": null, "confidence": 0.2}'
Line: TypeAlias = dict[str, Any]
CONFIG = LLMConfig(enabled=True)


def web_search(query: str) -> Observation:
    """Search the web."""
    return Observation(f"1. {query}\n{PAGE}\nA single <b>by</b> Queen.", (PAGE,))


def web_fetch(url: str) -> Observation:
    """Read a page."""
    raise ToolError(f"{url} cannot be read")


TOOLS = [Tool.of(web_search), Tool.of(web_fetch)]
REPLIES = [SEARCH, SEARCH, READ, "hm", ANSWER]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A whole recording: a search, the same again, a page that fails, nonsense, an answer."""
    adjudicator = ReActAdjudicator(CONFIG, chat=Scripted(REPLIES), tools=TOOLS, record=tmp_path)
    return Path(str(adjudicator.adjudicate(year_only_single()).transcript))


def played(run: CannedModel, config: LLMConfig = CONFIG) -> AdjudicationResult:
    return ReActAdjudicator(config, chat=run, tools=run.tools).adjudicate(year_only_single())


def lines_of(file: Path) -> list[Line]:
    return [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]


def changed(file: Path, change: Callable[[Line], None]) -> Path:
    """Rewrite a transcript with each of its lines changed."""
    lines = lines_of(file)
    for line in lines:
        change(line)
    file.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    return file


def test_a_whole_recording_plays_to_its_own_result(recorded: Path) -> None:
    with play(recorded, tools=TOOLS) as run:
        result = played(run).to_dict()
    assert run.evidence
    assert run.result
    for key in ("outcome", "crg_mbid", "facts", "checks", "iterations", "evidence_hash"):
        assert result[key] == run.result[key]


@pytest.mark.parametrize(
    "kept", [{"reply"}, {"reply", "observation"}, {"reply", "step"}, {"run", "reply", "result"}]
)
def test_what_is_left_out_of_a_recording_is_not_checked(recorded: Path, kept: set[str]) -> None:
    lines = [line for line in lines_of(recorded) if line["type"] in kept]
    if "step" not in kept:  # what was answered from memory is no answer of a tool
        lines = [line for line in lines if "this call before" not in str(line.get("content"))]
    recorded.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    with play(recorded, tools=[web_search, web_fetch]) as run:
        assert played(run).iterations == 5


def edit_argument(line: Line) -> None:
    if line.get("arguments") == {"url": PAGE}:
        line["arguments"] = {"url": "https://other.example/"}


def edit_prompt(line: Line) -> None:
    if line.get("role") == "system":
        line["content"] = f"{line['content']}\nBe brave."


def edit_evidence(line: Line) -> None:
    if line.get("role") == "user":
        line["content"] = f"{line['content']}\nOne line more."


def edit_advice(line: Line) -> None:
    if line["type"] == "observation" and line["iteration"] == 4:
        line["content"] = "Say something else."


def drop_call(line: Line) -> None:
    if line["type"] == "reply" and line["iteration"] == 1:
        line["content"] = "I would search for it."


A_DEPARTURE = rf"""a call in turn 3
  as recorded  turn 1: reply (?s:.*)
  expected     web_fetch {{"url": "https://other.example/"}}
  found        web_fetch {{"url": "{PAGE}"}}
"""


@pytest.mark.parametrize(("change", "told"), [
    (edit_argument, A_DEPARTURE),
    (edit_prompt, r"opening message 1 \(system\)(?s:.*)\n    -Be brave\."),
    (edit_advice, "what the model is shown after turn 4"),
    (drop_call, "what the model is shown after turn 1"),
])  # fmt: skip
def test_a_change_to_what_is_recorded_is_a_departure(
    recorded: Path, change: Callable[[Line], None], told: str
) -> None:
    with pytest.raises(TranscriptMismatch, match=told):
        played(play(changed(recorded, change), tools=TOOLS))


def canned(folder: Path, *lines: Line) -> Path:
    file = folder / "canned.jsonl"
    file.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    return file


def reply(content: str) -> Line:
    return {"type": "reply", "content": content}


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([reply(UNTOLD), reply("and more")], "ends after turn 1, 1 reply unplayed"),
        ([reply(ANSWER), reply(ANSWER), reply("and more")], "ends after turn 2, 1 reply unplayed"),
        ([reply("hm")], "goes on after turn 1, the last"),
        ([reply("hm"), {"type": "observation", "content": "1."}, reply(ANSWER)],
         "turn 1 calls no tool"),
    ],
)  # fmt: skip
def test_a_turn_too_few_or_many_departs(tmp_path: Path, lines: list[Line], told: str) -> None:
    run = play(canned(tmp_path, *lines))
    with pytest.raises(TranscriptMismatch, match=told):  # noqa: PT012 (in either of the two)
        played(run)
        run.finish()


def test_an_answer_that_is_sent_back_where_the_transcript_ends_stands(tmp_path: Path) -> None:
    with play(canned(tmp_path, reply(ANSWER))) as run:
        result = played(run)
    assert (result.outcome, result.iterations) == (Outcome.REVIEW, 1)


FACT = {"about": "C1", "field": "date", "value": "1975-10-31", "source": PAGE}
WITH_FACT = {"crg_mbid": "C2", "confidence": 0.9, "facts": [FACT]}
SAID = "Bohemian Rhapsody: 31 October 1975."
TOLD = {
    "type": "observation", "content": SAID, "sources": [PAGE],
    "documents": [{"address": PAGE, "text": SAID, "is_fetched": True}],
}  # fmt: skip
FIRST = {"type": "reading", "reading": "first_release"}
OTHERS = [FIRST | changes for changes in (
    {"kind": "contradiction"}, {"source": "https://other.example/"}, {"reading": "other_release"},
)]  # fmt: skip


@pytest.mark.parametrize(
    ("readings", "outcome"),
    [
        ([FIRST], Outcome.ACCEPTED),
        ([*OTHERS[:2], FIRST | {"source": PAGE, "content": SAID}],
         Outcome.ACCEPTED),
        ([], Outcome.REVIEW),  # what no line answers is unclear
        *(([line], Outcome.REVIEW) for line in OTHERS),
    ],
)  # fmt: skip
def test_second_readings_are_answered_by_reading_lines_alone(
    tmp_path: Path, readings: list[Line], outcome: Outcome
) -> None:
    answer = reply(f"Final Answer: {msgspec.json.encode(WITH_FACT).decode()}")
    trusting = AcceptanceConfig(trusted_sources=("discography.example",))
    with play(canned(tmp_path, reply(READ), TOLD, answer, *readings)) as run:
        result = played(run, LLMConfig(enabled=True, acceptance=trusting))
    assert result.outcome is outcome
    assert result.usage.readings == 1


def test_a_departure_that_was_swallowed_comes_up_at_the_end(tmp_path: Path) -> None:
    step = {"type": "step", "kind": "act", "tool": "web_search", "arguments": {"query": "Abba"}}
    run = play(canned(tmp_path, reply(SEARCH), step, reply(ANSWER)))
    run.reply([], GenerationOptions())
    with pytest.raises(ToolError):
        run.tools[0].function(query="Queen")
    with pytest.raises(TranscriptMismatch, match="Abba"):
        run.reply([Message("user", "go on")], GenerationOptions())
    with pytest.raises(TranscriptMismatch, match="Abba"):
        run.finish()


def test_a_recorded_failure_of_the_model_fails_again(tmp_path: Path) -> None:
    result = {"type": "result", "result": {"outcome": "error", "problem": "the server is gone"}}
    run = play(canned(tmp_path, reply("hm"), result))
    assert played(run).problem == "the server is gone"
    run.finish()
    with pytest.raises(ChatError):
        run.reply([], GenerationOptions())


@pytest.mark.parametrize("text", ["", "{", '{"type": "reply", "content": "x"}\n{"type": "re'])
def test_what_is_no_whole_transcript_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text(text)
    with pytest.raises(CanonError, match=r"broken\.jsonl"):
        play(file)


TEST_FILE = """
    from chart_binder.react.conversation import GenerationOptions

    def test_it(canned):
        run = canned("canned.jsonl", tools=[])
        {}
"""


DEPARTS = "*the conversation departs from canned.jsonl: {}*"


@pytest.mark.parametrize(("body", "told"), [
    ("run.reply([], GenerationOptions())", []), ("pass", [DEPARTS.format("it never began")]),
    ("run.reply([], GenerationOptions()); run.reply([], GenerationOptions())",
        [DEPARTS.format("it goes on")]),
])  # fmt: skip
def test_a_departure_fails_the_test_and_is_shown_without_the_way_it_came(
    pytester: pytest.Pytester, body: str, told: list[str]
) -> None:
    pytester.makepyfile(TEST_FILE.format(body))
    (pytester.path / "canned.jsonl").write_text('{"type": "reply", "content": "hm"}\n', "utf-8")
    result = pytester.runpytest_inprocess("-q", "-p", "chart_binder.testing")
    result.assert_outcomes(failed=bool(told), passed=not told)
    result.stdout.fnmatch_lines(told)
    result.stdout.no_fnmatch_line("*testing.py:*")
