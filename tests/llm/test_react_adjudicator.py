"""The adjudicator with a scripted model: ids, outcomes, records, and every way to go wrong."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from msgspec import UNSET

from chart_binder import plugins
from chart_binder.chat.scripted import Scripted
from chart_binder.config import LLMConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import ConfigError, EvidenceError, PluginError
from chart_binder.llm import react_adjudicator
from chart_binder.llm.events import ResultEvent, read_run
from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup, search_topic
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.llm.run_log import failed_services
from chart_binder.react.conversation import GenerationOptions, Message, Reply
from chart_binder.react.steps import ObservationStatus
from chart_binder.react.tools import Observation, RunContext, Tool
from chart_binder.react.transcript import AnyEvent, ObservationEvent, ReplyEvent, StepEvent
from chart_binder.testing import Play
from golden.bundles import crowd, year_only_single
from llm.scripted_runs import (
    ALBUM,
    CONFIG,
    DAY,
    DECIDED,
    ELSEWHERE,
    LP,
    adjudicated,
    failed,
    final,
    look,
    web_search,
)
from servers.http import free_port
from servers.ollama import OllamaStandIn


def search(query: str) -> str:
    return f"Action: web_search\nAction Input: {query}"


def _events(path: Path) -> tuple[AnyEvent, ...]:
    return tuple(read_run(path.read_bytes().splitlines(keepends=True)))


def test_not_knowing_is_rejected_however_sure() -> None:
    result = adjudicated(final(crg_mbid=None, rr_mbid=None, confidence=1.0))
    assert (result.outcome, result.crg_mbid, result.iterations) == (Outcome.REJECTED, None, 1)
    assert result.checks == ()


UNKNOWN_ID = final(crg_mbid=ELSEWHERE, rr_mbid=None)


@pytest.mark.parametrize(("replies", "turns", "outcome", "crg"), [
    ([look(), UNKNOWN_ID, final(facts=[DAY])], 5, Outcome.ACCEPTED, ALBUM),  # may be corrected
    ([UNKNOWN_ID], 1, Outcome.REJECTED, None),
    ([search("original single"), UNKNOWN_ID], 5, Outcome.REVIEW, ELSEWHERE),
    ([search(ELSEWHERE), UNKNOWN_ID], 2, Outcome.REJECTED, None),  # its own word comes back
])  # fmt: skip
def test_an_id_that_is_no_candidates_counts_only_where_an_observation_names_it(
    replies: list[str], turns: int, outcome: Outcome, crg: str | None
) -> None:
    result = adjudicated(*replies, max_iterations=turns)
    assert (result.outcome, result.crg_mbid, result.iterations) == (outcome, crg, len(replies))
    assert result.crg_mbid == ALBUM or "candidate" in failed(result)


def test_a_source_that_is_no_address_is_borne() -> None:
    def web_search(query: str) -> Observation:
        """Search the web."""
        return Observation(f"see {query}", ("https://[broken",))

    script = Scripted([search(ELSEWHERE), final(crg_mbid=ELSEWHERE), final()])
    adjudicator = ReActAdjudicator(CONFIG, chat=script, tools=[Tool.of(web_search)])
    assert adjudicator.adjudicate(year_only_single()).crg_mbid == ALBUM


def test_an_id_that_one_of_several_calls_echoes_is_not_known() -> None:
    def web_search(query: str) -> str:
        """Search the web."""
        return f"nothing for {query}"

    def call(query: str) -> str:
        asked = {"name": "web_search", "arguments": {"query": query}}
        return f"<tool_call>{json.dumps(asked)}</tool_call>"

    answer = json.dumps({"crg_mbid": ELSEWHERE, "confidence": 1})
    replies = [call(ELSEWHERE) + call("b"), f"<response>{answer}</response>"]
    config = LLMConfig(enabled=True, max_iterations=2, dialect="xml")
    chat = Scripted(replies)
    result = ReActAdjudicator(config, chat=chat, tools=[web_search]).adjudicate(year_only_single())
    assert "nothing for b" in chat.asked[1][-1].content
    assert (result.outcome, result.crg_mbid) == (Outcome.REJECTED, None)


@pytest.mark.parametrize(("written", "replaced"), [("C3.R1", True), (None, False)])
def test_the_rules_choose_the_release_where_the_model_names_none_of_the_group(
    written: str | None, replaced: bool
) -> None:
    result = adjudicated(look(), final(rr_mbid=written, facts=[DAY]))
    assert (result.outcome, result.rr_mbid) == (Outcome.ACCEPTED, LP)
    assert [each.passed for each in result.checks if each.name == "release"] == [True] * replaced


def test_a_server_that_starts_late_is_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(react_adjudicator, "ASK_AGAIN_S", 1.0)
    server = OllamaStandIn(["Final Answer: none"] * 3)
    server.wanted_port = free_port()
    config = LLMConfig(enabled=True, base_url=f"http://127.0.0.1:{server.wanted_port}")
    adjudicator = ReActAdjudicator(config, tools=[])
    assert adjudicator.adjudicate(year_only_single()).is_unreachable
    with server:
        assert adjudicator.adjudicate(year_only_single()).is_unreachable
        assert not server.requests
        time.sleep(1.0)
        result = adjudicator.adjudicate(year_only_single())
    assert (result.is_unreachable, bool(result.iterations)) == (UNSET, True)


def test_disabled_is_an_error_that_says_so_and_looks_nothing_up() -> None:
    result = ReActAdjudicator(LLMConfig(provider="telepathy")).adjudicate(year_only_single())
    assert (result.outcome, result.iterations, result.checks) == (Outcome.ERROR, 0, ())
    assert result.problem
    assert result.evidence_hash


def test_a_callers_mistakes_are_raised() -> None:
    with pytest.raises(EvidenceError, match="recording_candidates"):
        ReActAdjudicator(CONFIG, chat=Scripted([])).adjudicate({"artist": {"name": "x"}})
    with pytest.raises(PluginError, match="telepathy"):
        ReActAdjudicator(LLMConfig(enabled=True, provider="telepathy"))
    with pytest.raises(ConfigError, match="cannot be read"):
        ReActAdjudicator(LLMConfig(enabled=True, provider="replay", model_id="/nowhere"))


def test_the_transcript_is_recorded_as_it_happens_for_its_owner_alone(tmp_path: Path) -> None:
    result = adjudicated(look(), final(facts=[DAY]), record=tmp_path / "deep" / "folder")
    path = Path(str(result.transcript))
    assert path.stat().st_mode & 0o077 == 0
    events = _events(path)
    assert [type(event).__name__ for event in events] == [
        "StartEvent", "MessageEvent", "MessageEvent", "ReplyEvent", "StepEvent", "ObservationEvent",
        "ReplyEvent", "StepEvent", "ReadingEvent", "ResultEvent",
    ]  # fmt: skip
    assert isinstance(events[-1], ResultEvent)
    assert events[-1].result["crg_mbid"] == ALBUM
    assert AdjudicationResult.from_json(result.to_json()) == result


def test_a_folder_that_cannot_be_written_costs_the_record_not_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = adjudicated(*DECIDED, record=tmp_path / "file" / "folder")
    assert result.outcome is Outcome.ACCEPTED
    assert isinstance(result.transcript, tuple)
    assert AdjudicationResult.from_json(result.to_json()) == result


def test_a_watcher_sees_every_event_and_a_listener_hears_what_is_written() -> None:
    heard: list[str] = []
    events: list[AnyEvent] = []

    class Aloud(Scripted):
        def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
            assert options.on_token
            options.on_token("so")
            return super().reply(messages, options)

    setup = RunSetup(on_event=events.append, on_token=heard.append)
    adjudicator = ReActAdjudicator(CONFIG, chat=Aloud([final()]), tools=[], setup=setup)
    result = adjudicator.adjudicate(year_only_single(), "because I say so")
    assert tuple(events[:-1]) == result.transcript
    assert "- because I say so" in result.transcript[2].content  # type: ignore[union-attr]
    assert heard == ["so"]


def test_the_system_prompt_is_the_same_for_every_recording_and_lists_what_is_on() -> None:
    scripts = [Scripted([final()]), Scripted([final()])]
    for script, bundle in zip(scripts, (year_only_single(), crowd()), strict=True):
        ReActAdjudicator(CONFIG, chat=script, tools=[web_search]).adjudicate(bundle)
    first, second = (script.asked[0][0] for script in scripts)
    assert first == second
    assert "web_search(query)" in first.content
    without = ReActAdjudicator(CONFIG, chat=Scripted([]), tools=[]).system_prompt()
    assert "web_search" not in without
    assert "{" in without  # the form of the answer, its braces intact


def test_a_topic_names_artist_title_and_candidates_once_and_is_bounded() -> None:
    topics = (
        search_topic(read_bundle(bundle))
        for bundle in (
            year_only_single(),
            crowd(),
            {"recording_title": "x", "recording_candidates": []},
        )
    )
    named, bounded, bare = topics
    assert named == "Queen / Bohemian Rhapsody / A Night at the Opera / Greatest Hits"
    assert bounded.count(" / ") == 13
    assert bare == "x"


def test_each_case_has_tools_of_its_own() -> None:
    told: list[str] = []

    def for_run(run: RunContext) -> Callable[..., Observation]:
        told.append(run.about)
        return web_search

    adjudicator = ReActAdjudicator(
        CONFIG,
        chat=Scripted([final()] * 4),
        tools=[replace(Tool.of(web_search), per_run=for_run)],
    )
    bundle = read_bundle(year_only_single())
    adjudicator.adjudicate(bundle)
    adjudicator.adjudicate({"recording_title": "Time", "recording_candidates": []})
    assert told == [search_topic(bundle), "Time"]


DOWN = "The search service refused the connection."


def call(
    tool: str, error: str | None, status: ObservationStatus = ObservationStatus.OK
) -> tuple[AnyEvent, ...]:
    return (
        ReplyEvent("..."),
        StepEvent("act", 1, tool, {}),
        ObservationEvent(error or "1. A page", 1, (), error, status=status),
    )


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([call("web_search", DOWN, ObservationStatus.UNAVAILABLE), call("web_fetch", None)],
         ["web_search: The search service refused the connection."]),
        ([call("web_search", DOWN, ObservationStatus.UNAVAILABLE), call("web_search", None)], []),
        ([call("web_search", "query: a text is needed"), call("web_fetch", "404.")], []),
    ],
)  # fmt: skip
def test_a_service_that_failed_last_is_named_with_what_it_said(
    calls: list[tuple[AnyEvent, ...]], told: list[str]
) -> None:
    assert [check.detail for check in failed_services(chain(*calls))] == told


TRANSCRIPTS = Path(__file__).parent / "transcripts"
FILES = sorted(TRANSCRIPTS.glob("*/*.jsonl"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_canned_run_comes_to_what_its_file_says(file: Path, canned: Play) -> None:
    run = canned(file)
    config = LLMConfig(enabled=True, dialect=file.parent.name)
    adjudicator = ReActAdjudicator(config, chat=run, tools=run.tools)
    result = adjudicator.adjudicate(year_only_single()).to_dict()
    assert run.result
    assert {key: result[key] for key in run.result} == run.result


def test_every_dialect_has_a_canned_run() -> None:
    assert {file.parent.name for file in FILES} == set(plugins.names("chart_binder.dialects"))
