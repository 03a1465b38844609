"""What a run's prompts weigh: in all, turn by turn, and what of it a prompt cache can reuse.

A four-turn run (two searches, a page, the answer) over an evidence of four groups with twelve
releases, in every installed dialect. No tokenizer is installed with the project, and those of
models differ: tokens are told as characters / 4, beside the bytes they were estimated from (ids,
which are hexadecimal, take more). The shared prefix is counted in bytes of the conversation laid
out in one chat template.
"""

import json
import re
import sys
import uuid
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder import plugins
from chart_binder.chat.scripted import Scripted
from chart_binder.config import LLMConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.llm.evidence_markdown import evidence_markdown
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.react.conversation import Message
from chart_binder.react.dialect import Dialect
from chart_binder.react.steps import FinalAnswer, ToolCall
from chart_binder.react.tools import Tool
from golden.bundles import Bundle, crowd

SEEN = "1. Record - Discography (https://discography.example/record): released 3 May 1974. " * 24
STEPS = (
    ToolCall(
        "web_search", {"query": "A T single release date"}, "The single has no day. I look it up."
    ),
    ToolCall(
        "web_search", {"query": "A T single UK 1974"}, "Nothing on the day yet. I look closer."
    ),
    ToolCall(
        "web_fetch", {"url": "https://discography.example/record"}, "This page may have the day."
    ),
)
ANSWER = """```json
{"crg_mbid": "C1", "rr_mbid": "C1.R1", "confidence": 0.9, "rationale": "The first album."}
```"""


def web_search(query: str) -> str:
    """Search the web. Returns titles, addresses and snippets of the best results."""
    return f"{query}: {SEEN}"


def web_fetch(url: str) -> str:
    """Read a web page. Returns its title and the passages about dates, labels and releases."""
    return f"{url}: {SEEN}"


def laid_out(messages: Sequence[Message]) -> bytes:
    """Return a conversation as most servers would lay it out."""
    turns = (f"<|im_start|>{each.role}\n{each.content}<|im_end|>\n" for each in messages)
    return ("".join(turns) + "<|im_start|>assistant\n").encode()


def evidence_of(groups: int, releases: int, artist: str = "Some Artist") -> Bundle:
    """Return evidence with ids as long as MusicBrainz' are."""
    document = json.dumps(crowd(groups, releases))
    bundle: Bundle = json.loads(
        re.sub(
            r'"(?:group|release)-[\d-]+"',
            lambda found: f'"{uuid.uuid5(uuid.NAMESPACE_OID, artist + found.group())}"',
            document,
        )
    )
    bundle["artist"]["name"] = artist
    return bundle


def prompts(dialect: Dialect, bundle: Bundle) -> list[list[Message]]:
    """Return what a model is sent in each turn of a run."""
    script = Scripted(
        [*map(dialect.render, STEPS), dialect.render(FinalAnswer(ANSWER, "It is told."))]
    )
    config = LLMConfig(enabled=True, num_ctx=32_768)
    tools = [Tool.of(web_search), Tool.of(web_fetch)]
    adjudicator = ReActAdjudicator(config, chat=script, dialect=dialect, tools=tools)
    result = adjudicator.adjudicate(bundle)
    if result.problem or len(script.asked) != len(STEPS) + 1:
        raise SystemExit(f"the run went another way: {result.problem}")
    return [list(asked) for asked in script.asked]


def told(text: str) -> str:
    """Return the weight of a text."""
    return f"{len(text) / 4:,.0f} ({len(text.encode()):,} B)"


def shared(first: bytes, second: bytes) -> float:
    """Return how much of the second, in per cent, begins like the first."""
    return 100 * prefix(first, second) / len(second)


def prefix(first: bytes, second: bytes) -> int:
    """Return how many bytes two conversations begin with alike."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))


def show(name: str) -> None:
    """Print the figures of one dialect."""
    dialect: Dialect = plugins.load("chart_binder.dialects", name)()
    turns = prompts(dialect, evidence_of(4, 3))
    sent = [laid_out(messages) for messages in turns]
    sizes = [len(each.decode()) / 4 for each in sent]
    system, evidence = turns[0][0].content, turns[0][1].content
    grown = [after - before for before, after in pairwise(sizes)]
    between = [shared(before, after) for before, after in pairwise(sent)]
    kept = [100 * prefix(before, after) / len(before) for before, after in pairwise(sent)]
    other = laid_out(prompts(dialect, evidence_of(5, 2, "Another Artist"))[0])
    print(name)
    print(f"  system prompt   {told(system)}; evidence {told(evidence)}")
    print(f"  turn by turn    {', '.join(f'{size:,.0f}' for size in sizes)} tokens sent")
    print(f"  growth a turn   {', '.join(f'{size:,.0f}' for size in grown)} tokens")
    print(
        f"  whole run       {sum(sizes):,.0f} tokens, {sum(sizes) / sizes[0]:.1f} x the first turn"
    )
    print(f"  turn to turn    {min(kept):.0f} % of a prompt is the next one's prefix,"
          f" {', '.join(f'{share:.0f}' for share in between)} % of the next one")  # fmt: skip
    print(f"  file to file    {shared(other, sent[0]):.0f} % of the first prompt is any file's")


def main() -> None:
    """Print the figures of every dialect."""
    print("evidence of 4 groups with 12 releases; tokens are characters / 4")
    for name in plugins.names("chart_binder.dialects"):
        show(name)
    crowded = evidence_markdown(read_bundle(evidence_of(4, 12)))
    print(f"with 12 releases in each group the evidence is {told(crowded)}")


if __name__ == "__main__":
    main()
