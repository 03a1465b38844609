"""smolagents' CodeAgent: calls as Python code in the reply's text, printing nothing."""

from collections.abc import Sequence

from smolagents import CodeAgent, tool
from smolagents.monitoring import LogLevel

from benchmarks.frameworks.script import ANSWER, KEYS, QUESTION, THOUGHTS, look_up
from benchmarks.frameworks.smolagents_model import Instant

CODE = (*(f'print(look_up("{key}"))' for key in KEYS), f'final_answer("{ANSWER}")')
REPLIES = [
    f"Thought: {thought}\n<code>\n{code}\n</code>"
    for thought, code in zip(THOUGHTS, CODE, strict=True)
]
AGENT = CodeAgent(tools=[tool(look_up)], model=Instant(REPLIES), verbosity_level=LogLevel.OFF)


def run(times: int) -> Sequence[str | None]:
    """Return the answers of so many runs."""
    return [str(AGENT.run(QUESTION)) for _ in range(times)]
