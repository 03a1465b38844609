"""Recorded runs to look at: real ones, with a scripted model."""

import json
from collections.abc import Sequence
from pathlib import Path

from chart_binder.chat.scripted import Scripted
from chart_binder.config import AcceptanceConfig, LLMConfig
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.react.conversation import Reply
from chart_binder.react.steps import Document
from chart_binder.react.tools import Observation, Tool, ToolError
from golden.bundles import Bundle, year_only_single

PAGE = "https://discography.example/single"
SEARCH = 'Thought: I look.\nAction: web_search\nAction Input: {"query": "Queen"}'
READ = f'Thought: I read.\nAction: web_fetch\nAction Input: {{"url": "{PAGE}"}}'
GONE = READ.replace(PAGE, "https://gone.example/")
ACCEPTANCE = AcceptanceConfig(trusted_sources=("discography.example",))
CONFIG = LLMConfig(enabled=True, model_id="llama3.2", acceptance=ACCEPTANCE)
QUOTE = "released 31 October 1975"
FACT = {
    "about": "C1", "field": "first_release_date", "value": "1975-10-31", "source": PAGE,
    "quote": QUOTE,
}  # fmt: skip


def answer(**changes: object) -> str:
    """Return a reply that ends the run."""
    given = {"crg_mbid": "C2", "confidence": 0.9, "rationale": "so", "facts": [FACT]} | changes
    return f"Thought: I know.\nFinal Answer: {json.dumps(given)}"


RUN = (SEARCH, "hm", GONE, READ, answer())


def web_search(query: str) -> Observation:
    """Search the web."""
    return Observation(f"1. {query}", (PAGE,))


def web_fetch(url: str) -> Observation:
    """Read a page."""
    if "gone" in url:
        raise ToolError(f"{url} answered 404")
    text = "Bohemian Rhapsody, released 31 October 1975."
    return Observation(text, (url,), documents=(Document(url, text=text, is_fetched=True),))


def recording(
    folder: Path,
    replies: Sequence[str | Reply] = RUN,
    *,
    config: LLMConfig = CONFIG,
    bundle: Bundle | None = None,
    reading: str = "first_release",
) -> Path:
    """Record a run in a new file of `folder`; `reading` is what its second reading says."""
    tools = [Tool.of(web_search), Tool.of(web_fetch)]
    chat = Scripted(replies, config.model_id, [reading])
    adjudicator = ReActAdjudicator(config, chat=chat, tools=tools, record=folder)
    return Path(str(adjudicator.adjudicate(bundle or year_only_single()).transcript))
