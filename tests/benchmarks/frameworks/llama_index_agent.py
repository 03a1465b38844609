"""LlamaIndex's ReActAgent, not streaming; all runs share one event loop."""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.tools import FunctionTool

from benchmarks.frameworks.script import QUESTION, in_labels, look_up

REPLIES = in_labels('{"key": "%s"}', "Answer:")


class Instant(CustomLLM):
    """A model that has its replies ready."""

    told: int = 0

    @property
    def metadata(self) -> Any:
        """What the agent wants to know of a model."""
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Return the next reply, the first after the last."""
        self.told += 1
        return CompletionResponse(text=REPLIES[(self.told - 1) % len(REPLIES)])

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Return the next reply in one piece."""
        yield self.complete(prompt)


AGENT = ReActAgent(tools=[FunctionTool.from_defaults(look_up)], llm=Instant(), streaming=False)


def run(times: int) -> Sequence[str | None]:
    """Return the answers of so many runs."""
    return asyncio.run(_all(times))


async def _all(times: int) -> list[str | None]:
    return [str(await AGENT.run(QUESTION)) for _ in range(times)]
