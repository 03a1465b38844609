"""smolagents' ToolCallingAgent: calls as JSON objects in the reply's text, printing nothing."""

import json
from collections.abc import Sequence

from smolagents import ToolCallingAgent, tool
from smolagents.monitoring import LogLevel

from benchmarks.frameworks.script import ANSWER, KEYS, QUESTION, THOUGHTS, look_up
from benchmarks.frameworks.smolagents_model import Instant

CALLS = (
    *({"name": "look_up", "arguments": {"key": key}} for key in KEYS),
    {"name": "final_answer", "arguments": {"answer": ANSWER}},
)
REPLIES = [
    f"Thought: {thought}\nAction:\n{json.dumps(call)}"
    for thought, call in zip(THOUGHTS, CALLS, strict=True)
]
AGENT = ToolCallingAgent(
    tools=[tool(look_up)], model=Instant(REPLIES), verbosity_level=LogLevel.OFF
)


def run(times: int) -> Sequence[str | None]:
    """Return the answers of so many runs."""
    return [str(AGENT.run(QUESTION)) for _ in range(times)]
