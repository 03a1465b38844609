"""This project's whole adjudicator: evidence as markdown, three turns, the answer checked."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.frameworks.script import ANSWER, KEYS, look_up
from chart_binder.config import LLMConfig
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.react.conversation import GenerationOptions, Message, Reply
from chart_binder.react.tools import Tool

GOLDEN = Path(__file__).parents[2] / "golden" / "decisions.jsonl"
BUNDLE = json.loads(GOLDEN.read_bytes().splitlines()[0])["bundle"]
FINAL = {"crg_mbid": "C1", "rr_mbid": None, "confidence": 0.9, "rationale": ANSWER}
REPLIES = (
    *(f'Thought: next\nAction: look_up\nAction Input: {{"key": "{key}"}}' for key in KEYS),
    f"Thought: done\nFinal Answer: {json.dumps(FINAL)}",
)


class Instant:
    """A model that has its replies ready."""

    model_id = "instant"

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the reply of this turn."""
        return Reply(REPLIES[len(messages) // 2 - 1])


ADJUDICATOR = ReActAdjudicator(LLMConfig(enabled=True), chat=Instant(), tools=(Tool.of(look_up),))


def run(times: int) -> Sequence[str | None]:
    """Return the answers of so many runs."""
    return [ADJUDICATOR.adjudicate(BUNDLE).rationale for _ in range(times)]
