"""The adjudicator with a scripted model: every outcome, every check, every way to go wrong."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from chart_binder.chat.scripted import Scripted
from chart_binder.config import AcceptanceConfig, LLMConfig, RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import ConfigError, EvidenceError, PluginError
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import AdjudicationResult, Fact, Outcome
from chart_binder.llm.sources import independent_sources
from chart_binder.react.conversation import ChatError, Message, Reply, Terms
from chart_binder.react.tools import Observation, Tool, ToolError
from chart_binder.react.transcript import AnyEvent, Result, read_transcript
from chart_binder.rules.decide import decide
from golden.bundles import crowd, year_only_single

ALBUM, LP = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd", "6defd963-fe91-4550-b18e-82c685603c2b"
SINGLE = "361a28b7-4588-44a6-8c96-86c1efb8258f"
ELSEWHERE = "11111111-2222-4333-8444-555555555555"
PAGE = "https://discography.example/single"
DAY = {"about": "C1", "field": "first_release_date", "value": "1975-10-31", "source": PAGE}
LOOK = "Thought: look\nAction: web_fetch\nAction Input: " + json.dumps({"url": PAGE})


def web_search(query: str) -> Observation:
    """Search the web."""
    return Observation(f"Results for {query}: https://musicbrainz.org/release-group/{ELSEWHERE}")


def web_fetch(url: str) -> Observation:
    """Read a page."""
    if "gone" in url:
        raise ToolError("there is no such page")
    return Observation("Bohemian Rhapsody, released 31 October 1975.", (url,))


TOOLS = [Tool.of(web_search), Tool.of(web_fetch)]
CONFIG = LLMConfig(enabled=True)


def final(**changes: object) -> str:
    answer = {"crg_mbid": "C2", "rr_mbid": "C2.R1", "confidence": 0.9, "rationale": "so"} | changes
    return f"Thought: done\nFinal Answer:\n```json\n{json.dumps(answer)}\n```"


def adjudicated(
    *replies: str | Reply, config: LLMConfig = CONFIG, record: Path | None = None
) -> AdjudicationResult:
    bundle = read_bundle(year_only_single())
    adjudicator = ReActAdjudicator(config, chat=Scripted(replies), tools=TOOLS, record=record)
    return adjudicator.adjudicate(bundle, decide(bundle, RulesConfig()))


def check(result: AdjudicationResult, name: str) -> bool:
    (passed,) = [check.passed for check in result.checks if check.name == name]
    return passed


def _events(path: Path) -> tuple[AnyEvent, ...]:
    return tuple(read_transcript(path.read_bytes().splitlines(keepends=True)))


def test_an_answer_on_the_evidence_alone_needs_no_source() -> None:
    result = adjudicated(final())
    assert (result.outcome, result.crg_mbid, result.rr_mbid) == (Outcome.ACCEPTED, ALBUM, LP)
    assert (result.confidence, result.rationale, result.problem) == (0.9, "so", None)
    assert (result.iterations, result.dialect, result.prompt_version) == (1, "classic", "react-2")


@pytest.mark.parametrize("gives", [None, Reply(None), KeyError("k"), ConnectionError("c")])  # type: ignore[arg-type]
def test_a_defect_of_a_chat_model_is_an_error_and_the_run_is_kept(
    gives: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        model_id = "broken"
        asked = 0

        def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:
            self.asked += 1
            if self.asked == 1:
                return Reply(LOOK)
            if isinstance(gives, Exception):
                raise gives
            reply: Reply = gives
            return reply

    adjudicator = ReActAdjudicator(CONFIG, chat=Broken(), tools=TOOLS, record=tmp_path)
    result = adjudicator.adjudicate(year_only_single())
    assert (result.outcome, result.iterations) == (Outcome.ERROR, 1)
    assert "the chat model 'broken'" in (result.problem or "")
    assert bool(caplog.records) == isinstance(gives, Exception)
    (path,) = tmp_path.iterdir()
    assert isinstance(_events(path)[-1], Result)


def test_a_fact_that_was_read_is_verified_and_the_rules_confirm() -> None:
    result = adjudicated(LOOK, final(facts=[DAY]))
    assert result.outcome is Outcome.ACCEPTED
    assert [(fact.about, fact.verified) for fact in result.facts] == [(SINGLE, True)]
    assert check(result, "rules")
    assert result.usage.tool_seconds > 0


@pytest.mark.parametrize(
    "fact",
    [
        DAY | {"source": "https://never-read.example/"},
        DAY | {"value": "1975-10-30"},
        DAY | {"value": "not a date"},
        DAY | {"source": "https://gone.example/gone"},
        DAY | {"source": "https://[broken"},
    ],
)
def test_a_fact_that_does_not_hold_is_for_review(fact: dict[str, str]) -> None:
    gone = LOOK.replace(PAGE, "https://gone.example/gone")
    result = adjudicated(LOOK, gone, final(facts=[fact]))
    assert result.outcome is Outcome.REVIEW
    assert not check(result, "fact")
    assert result.problem


@pytest.mark.parametrize(
    "facts",
    [
        {"field": "released", "date": "1975-10-31", "url": PAGE},
        ["the single came out on 1975-10-31"],
        [DAY | {"about": ""}],
        [DAY | {"about": "the single"}],
        [{"about": "C1", "field": "title", "value": "e", "source": PAGE}],
    ],
)
def test_what_only_looks_like_a_fact_is_for_review(facts: object) -> None:
    assert adjudicated(LOOK, final(facts=facts)).outcome is Outcome.REVIEW


def test_a_date_that_the_model_put_into_an_address_proves_nothing() -> None:
    page = "https://empty.example/?day=1975-09-02"
    look = LOOK.replace(PAGE, page)
    result = adjudicated(look, final(facts=[DAY | {"value": "1975-09-02", "source": page}]))
    assert result.outcome is Outcome.REVIEW


def test_a_date_beside_one_hit_does_not_bear_out_another() -> None:
    def web_search(query: str) -> Observation:
        """Search the web."""
        hits = f"1. Queen ({PAGE})\n   {PAGE}\n   A single.\n2. Spam\n   https://spam.example/\n"
        return Observation(f"{hits}   Out on 31 October 1975.", (PAGE, "https://spam.example/"))

    def outcome(source: str) -> Outcome:
        replies = ["Action: web_search\nAction Input: x", final(facts=[DAY | {"source": source}])]
        tools = [Tool.of(web_search)]
        adjudicator = ReActAdjudicator(CONFIG, chat=Scripted(replies), tools=tools)
        return adjudicator.adjudicate(year_only_single()).outcome

    assert outcome(PAGE) is Outcome.REVIEW
    assert outcome("https://spam.example/") is Outcome.ACCEPTED


def test_hosts_of_one_site_are_one_source() -> None:
    facts = [
        Fact("C1", "date", "1975", f"https://{host}/", verified=True)
        for host in ("a.e.com", "b.e.com", "e.com.", "www.e.com", "x.co.uk", "y.co.uk")
    ]
    verified = [fact.source for fact in facts if fact.verified]
    assert independent_sources(verified) == {"e.com", "x.co.uk", "y.co.uk"}


def test_too_few_independent_hosts_are_for_review() -> None:
    config = LLMConfig(enabled=True, acceptance=AcceptanceConfig(min_sources=2))
    result = adjudicated(LOOK, final(facts=[DAY, DAY | {"about": "C1.R1"}]), config=config)
    assert result.outcome is Outcome.REVIEW
    assert not check(result, "sources")


def test_an_answer_that_the_rules_contradict_is_for_review() -> None:
    result = adjudicated(LOOK, final(crg_mbid="C1", rr_mbid="C1.R1", facts=[DAY]))
    assert result.outcome is Outcome.REVIEW
    assert not check(result, "rules")
    assert "ALBUM_LEAD_WINDOW" in (result.problem or "")


@pytest.mark.parametrize(
    ("confidence", "outcome"),
    [(0.85, Outcome.ACCEPTED), (0.84, Outcome.REVIEW), ("60%", Outcome.REVIEW),
     (0.59, Outcome.REJECTED), ("low", Outcome.REJECTED)],
)  # fmt: skip
def test_the_outcome_follows_the_thresholds(confidence: object, outcome: Outcome) -> None:
    assert adjudicated(final(confidence=confidence)).outcome is outcome


def test_not_knowing_is_rejected_however_sure() -> None:
    result = adjudicated(final(crg_mbid=None, rr_mbid=None, confidence=1.0))
    assert (result.outcome, result.crg_mbid) == (Outcome.REJECTED, None)
    assert result.problem == "the model cannot tell"


def test_ids_may_be_written_out_or_as_addresses() -> None:
    address = f"https://musicbrainz.org/release-group/{ALBUM.upper()}"
    assert adjudicated(final(crg_mbid=address, rr_mbid=LP)).rr_mbid == LP


def test_an_invented_id_is_refused_and_may_be_corrected() -> None:
    result = adjudicated(final(crg_mbid=ELSEWHERE), final())
    assert (result.outcome, result.iterations) == (Outcome.ACCEPTED, 2)


def test_an_invented_id_in_the_last_turn_is_dropped() -> None:
    result = adjudicated(
        final(crg_mbid=ELSEWHERE), config=LLMConfig(enabled=True, max_iterations=1)
    )
    assert (result.outcome, result.crg_mbid, result.rr_mbid) == (Outcome.REVIEW, None, None)
    assert not check(result, "candidate")


def test_an_id_that_only_an_observation_names_is_for_review() -> None:
    search = "Action: web_search\nAction Input: original single"
    result = adjudicated(search, final(crg_mbid=ELSEWHERE, rr_mbid=None))
    assert (result.outcome, result.crg_mbid) == (Outcome.REVIEW, ELSEWHERE)


def test_a_source_that_is_no_address_is_borne() -> None:
    def web_search(query: str) -> Observation:
        """Search the web."""
        return Observation(f"see {query}", ("https://[broken",))

    echo = f"Action: web_search\nAction Input: {ELSEWHERE}"
    script = Scripted([echo, final(crg_mbid=ELSEWHERE), final()])
    adjudicator = ReActAdjudicator(CONFIG, chat=script, tools=[Tool.of(web_search)])
    assert adjudicator.adjudicate(year_only_single()).outcome is Outcome.ACCEPTED


def test_an_id_that_only_echoes_the_models_own_call_is_not_known() -> None:
    echo = f"Action: web_search\nAction Input: {ELSEWHERE}"
    config = LLMConfig(enabled=True, max_iterations=2)
    assert adjudicated(echo, final(crg_mbid=ELSEWHERE), config=config).crg_mbid is None


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
    assert (result.outcome, result.crg_mbid) == (Outcome.REVIEW, None)


def test_a_release_of_another_group_is_replaced() -> None:
    result = adjudicated(final(rr_mbid="C3.R1"))
    assert (result.outcome, result.rr_mbid) == (Outcome.ACCEPTED, LP)
    assert check(result, "release")


def test_a_release_left_out_is_chosen_by_the_rules() -> None:
    assert adjudicated(final(rr_mbid=None)).rr_mbid == LP


def test_turns_that_run_out_are_an_error_with_what_was_learned(tmp_path: Path) -> None:
    result = adjudicated("hm", "hm", "hm", record=tmp_path)
    assert result.outcome is Outcome.ERROR
    assert "led nowhere" in (result.problem or "")
    assert len(_events(Path(str(result.transcript)))) > 6


class Broken:
    model_id = "broken"

    def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:
        raise ChatError("the server is on fire: call the fire brigade")


def test_a_model_that_fails_is_an_error_with_its_sentence() -> None:
    adjudicator = ReActAdjudicator(CONFIG, chat=Broken(), tools=TOOLS)
    result = adjudicator.adjudicate(year_only_single())
    assert (result.outcome, result.iterations) == (Outcome.ERROR, 0)
    assert result.problem == "the server is on fire: call the fire brigade"


def test_disabled_is_an_error_that_says_so_and_looks_nothing_up() -> None:
    result = ReActAdjudicator(LLMConfig(provider="telepathy")).adjudicate(year_only_single())
    assert (result.outcome, result.problem) == (Outcome.ERROR, "LLM adjudication is disabled")
    assert result.evidence_hash


def test_a_callers_mistakes_are_raised() -> None:
    with pytest.raises(EvidenceError, match="recording_candidates"):
        ReActAdjudicator(CONFIG, chat=Scripted([])).adjudicate({"artist": {"name": "x"}})
    with pytest.raises(PluginError, match="telepathy"):
        ReActAdjudicator(LLMConfig(enabled=True, provider="telepathy"))
    with pytest.raises(ConfigError, match="cannot be read"):
        ReActAdjudicator(LLMConfig(enabled=True, provider="replay", model_id="/nowhere"))


def test_a_result_survives_json(tmp_path: Path) -> None:
    for record in (None, tmp_path):
        result = adjudicated(LOOK, final(facts=[DAY]), record=record)
        assert AdjudicationResult.from_json(result.to_json()) == result


def test_the_transcript_is_recorded_as_it_happens_for_its_owner_alone(tmp_path: Path) -> None:
    result = adjudicated(LOOK, final(), record=tmp_path / "deep" / "folder")
    path = Path(str(result.transcript))
    assert path.stat().st_mode & 0o077 == 0
    events = _events(path)
    assert [type(event).__name__ for event in events] == [
        "Run", "Said", "Said", "Replied", "Stepped", "Observed", "Replied", "Stepped", "Result",
    ]  # fmt: skip
    assert isinstance(events[-1], Result)
    assert events[-1].result["crg_mbid"] == ALBUM


def test_a_folder_that_cannot_be_written_costs_the_record_not_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = adjudicated(final(), record=tmp_path / "file" / "folder")
    assert result.outcome is Outcome.ACCEPTED
    assert isinstance(result.transcript, tuple)


def test_a_watcher_sees_every_event() -> None:
    events: list[AnyEvent] = []
    adjudicator = ReActAdjudicator(
        CONFIG, chat=Scripted([final()]), tools=TOOLS, watch=events.append
    )
    result = adjudicator.adjudicate(year_only_single(), "because I say so")
    assert tuple(events[:-1]) == result.transcript
    assert "- because I say so" in result.transcript[2].content  # type: ignore[union-attr]


def test_the_system_prompt_is_the_same_for_every_recording_and_lists_what_is_on() -> None:
    scripts = [Scripted([final()]), Scripted([final()])]
    for script, bundle in zip(scripts, (year_only_single(), crowd()), strict=True):
        ReActAdjudicator(CONFIG, chat=script, tools=TOOLS).adjudicate(bundle)
    first, second = (script.asked[0][0] for script in scripts)
    assert first == second
    assert "web_search(query)" in first.content
    assert "1 to 90 days" in first.content
    without = ReActAdjudicator(CONFIG, chat=Scripted([]), tools=[]).system_prompt()
    assert "web_search" not in without
    assert "{" in without  # the form of the answer, its braces intact


def test_default_tools_follow_the_configuration() -> None:
    config = LLMConfig.model_validate({"enabled": True, "searxng": {"enabled": False}})
    prompt = ReActAdjudicator(config, chat=Scripted([])).system_prompt()
    assert "web_fetch(url, find (optional))" in prompt
    assert "web_search" not in prompt
