"""Runs of the adjudicator with a scripted model, and one tool that reads a page."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from chart_binder.chat.scripted import Scripted
from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.jobs.transcripts import replay
from chart_binder.llm.events import Playback, ReadingEvent, ReadingScript
from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup
from chart_binder.llm.result import AdjudicationResult, Check
from chart_binder.react.conversation import ChatModel, Reply
from chart_binder.react.steps import Document
from chart_binder.react.tools import Observation, Tool, ToolError, ToolLike
from chart_binder.rules.decide import decide
from golden.bundles import year_only_single

SINGLE, ALBUM = "361a28b7-4588-44a6-8c96-86c1efb8258f", "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
LP = "6defd963-fe91-4550-b18e-82c685603c2b"
ELSEWHERE = "11111111-2222-4333-8444-555555555555"
TRUSTED = "https://en.wikipedia.org/wiki/Bohemian_Rhapsody"
PAGE, OTHER = "https://discography.example/single", "https://archive.example/single"
QUOTE = "Bohemian Rhapsody came out on 31 October 1975"
DAY = {"about": "C1", "field": "first_release_date", "value": "1975-10-31"}
DAY |= {"quote": QUOTE, "source": TRUSTED}
TWICE = [DAY | {"source": PAGE}, DAY | {"source": OTHER}]
CONFIG = LLMConfig(enabled=True)
YES = ("first_release",) * 8


def web_search(query: str) -> Observation:
    """Search the web."""
    return Observation(f"Results for {query}: https://musicbrainz.org/release-group/{ELSEWHERE}")


def page_observation(url: str, shown: str) -> Observation:
    """Return what a tool that reads a page returns: `Title: ...` and quoted lines below it."""
    head = re.match("Title: (.*)\n", shown)
    text = re.sub("^> ?", "", shown[head.end() :] if head else shown, flags=re.MULTILINE)
    document = Document(url, head[1] if head else "", text=text, is_fetched=True)
    return Observation(shown, (url,), documents=(document,))


def look(url: str = TRUSTED) -> str:
    """Return a reply that reads a page."""
    return f"Thought: look\nAction: web_fetch\nAction Input: {json.dumps({'url': url})}"


def final(crg: str | None = "C2", **changes: object) -> str:
    """Return a reply that answers with a candidate and its first release."""
    answer: dict[str, object] = {"crg_mbid": crg, "rr_mbid": crg and f"{crg}.R1"}
    answer |= {"confidence": 0.9, "rationale": "so"} | changes
    return f"Thought: done\nFinal Answer:\n```json\n{json.dumps(answer)}\n```"


DECIDED = (look(), final(facts=[DAY]))
"""A run that rules decide: it reads a trusted page, and cites it for what was open."""


def adjudicated(
    *replies: str | Reply,
    chat: ChatModel | None = None,
    page: str | Mapping[str, str] = f"{QUOTE}.",
    readings: Iterable[str | ReadingEvent] = YES,
    evidence: Mapping[str, Any] | None = None,
    record: Path | None = None,
    offered: Sequence[ToolLike] | None = None,
    setup: RunSetup = RunSetup(),  # noqa: B008 (frozen)
    **config: Any,
) -> AdjudicationResult:
    """Return the result of a run, by default with tools that search in vain and read pages.

    `page` is what every page says, or what each does; `readings` answer second readings.
    """

    def web_fetch(url: str) -> Observation:
        """Read a page."""
        text = page if isinstance(page, str) else page.get(url)
        if text is None or "gone" in url:
            raise ToolError("there is no such page")
        return page_observation(url, text)

    lines = (
        reading if isinstance(reading, ReadingEvent) else ReadingEvent(reading=reading)
        for reading in readings
    )
    adjudicator = ReActAdjudicator(
        LLMConfig(enabled=True, **config), chat=chat,
        tools=[Tool.of(web_search), Tool.of(web_fetch)] if offered is None else offered,
        record=record, setup=setup,
        playback=None if chat else Playback(Scripted(replies), ReadingScript(lines)),
    )  # fmt: skip
    bundle = read_bundle(evidence or year_only_single())
    return adjudicator.adjudicate(bundle, decide(bundle, RulesConfig()))


def check(result: AdjudicationResult, name: str) -> Check:
    """Return the only check of a name."""
    (found,) = [check for check in result.checks if check.name == name]
    return found


def failed(result: AdjudicationResult) -> list[str]:
    """Return the names of the checks that failed."""
    return [check.name for check in result.checks if not check.passed]


def is_replayed(result: AdjudicationResult) -> bool:
    """Return whether a replay of the recorded run comes to the same result."""
    again, before = replay(Path(str(result.transcript))).to_dict(), result.to_dict()
    return all(again[key] == before[key] for key in before.keys() - {"usage", "transcript"})
