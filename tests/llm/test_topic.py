"""Tools are told what a run is about, and remember no more than one run."""

import json
from collections.abc import Callable
from dataclasses import replace

from chart_binder.chat.scripted import Scripted
from chart_binder.config import FetchConfig, LLMConfig, RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.llm.react_adjudicator import ReActAdjudicator, search_topic
from chart_binder.react.tools import Tool
from chart_binder.rules.decide import decide
from golden.bundles import crowd, year_only_single
from servers.pages import Pages

ANSWER = 'Final Answer: {"crg_mbid": "C2", "confidence": 0.9, "rationale": "so"}'


def test_a_topic_names_artist_title_and_candidates_once() -> None:
    assert search_topic(read_bundle(year_only_single())) == (
        "Queen / Bohemian Rhapsody / A Night at the Opera / Greatest Hits"
    )


def test_a_topic_of_many_candidates_is_bounded() -> None:
    assert search_topic(read_bundle(crowd())).count(" / ") <= 13


def test_nothing_known_is_no_topic() -> None:
    assert search_topic(read_bundle({"recording_title": "x", "recording_candidates": []})) == "x"


def test_each_case_has_tools_of_its_own_and_its_samples_share_them() -> None:
    told: list[str] = []

    def look() -> str:
        """Look."""
        return "nothing"

    def for_run(about: str) -> Callable[..., str]:
        told.append(about)
        return look

    adjudicator = ReActAdjudicator(
        LLMConfig(enabled=True, samples=2),
        chat=Scripted([ANSWER] * 4),
        tools=[replace(Tool.of(look), per_run=for_run)],
    )
    bundle = read_bundle(year_only_single())
    adjudicator.adjudicate(bundle)
    adjudicator.adjudicate({"recording_title": "Time", "recording_candidates": []})
    assert told == [search_topic(bundle), "Time"]


def test_a_run_reads_of_a_long_page_what_it_is_about_and_asks_for_it_once() -> None:
    filler = "".join(f"<p>The band toured again in {1950 + n % 70}, take {n}." for n in range(900))
    page = f"{filler}<p>Bohemian Rhapsody was out on 31 October 1975.{filler}"
    with Pages({"*": page}) as server:
        calls = [{"url": server.url}, {"url": server.url, "find": "saxophone"}]
        replies = [f"Action: web_fetch\nAction Input: {json.dumps(call)}" for call in calls]
        fetch = FetchConfig(ports=(server.port,), allow_private_hosts=("127.0.0.1",))
        chat = Scripted([*replies, ANSWER])
        adjudicator = ReActAdjudicator(LLMConfig(enabled=True, fetch=fetch), chat=chat)
        bundle = read_bundle(year_only_single())
        adjudicator.adjudicate(bundle, decide(bundle, RulesConfig()))
    first, second = (asked[-1].content for asked in chat.asked[1:])
    assert "Bohemian Rhapsody was out on 31 October 1975." in first
    assert "nothing on the page says 'saxophone'" in second
    assert len(server.requests) == 1
