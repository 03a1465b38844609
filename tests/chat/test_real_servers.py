"""A real server answers as the stand-ins do, where one runs on this machine.

`CANON_TEST_OLLAMA` and `CANON_TEST_OPENAI` say where, if not at the usual ports.
"""

import json
import os
from dataclasses import replace

import pytest

from chart_binder.chat import ollama, openai
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatModel, Message, Terms
from servers.kinds import KINDS

pytestmark = pytest.mark.slow

OLLAMA = os.environ.get("CANON_TEST_OLLAMA", "http://127.0.0.1:11434")
LLAMA_CPP = os.environ.get("CANON_TEST_OPENAI", "http://127.0.0.1:8080")
CHECKS = {"ollama": ollama.check, "openai": openai.check}
ASKED = (
    Message("system", "You count in words, one a line, and say nothing else."),
    Message("user", "Count from one to ten."),
)
SCHEMA = {
    "type": "object",
    "properties": {"word": {"enum": ["one", "two"]}},
    "required": ["word"],
    "additionalProperties": False,
}


@pytest.fixture(
    params=[("ollama", OLLAMA), ("openai", OLLAMA), ("openai", LLAMA_CPP)],
    ids=["ollama", "openai at ollama", "openai at llama.cpp"],
)
def config(request: pytest.FixtureRequest) -> LLMConfig:
    """A configuration for the first model that the server has."""
    provider, base_url = request.param
    config = LLMConfig(provider=provider, base_url=base_url, num_ctx=2_048, max_tokens=64)
    health = CHECKS[provider](config, {})
    if not health.models:
        pytest.skip(f"no real server: {'; '.join(health.problems) or 'it has no model'}")
    return config.model_copy(update={"model_id": health.models[0]})


def model(config: LLMConfig, **changes: object) -> ChatModel:
    return KINDS[config.provider].connect(config.model_copy(update=changes), {})


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("prompting", ["chat", "raw"])
def test_a_reply_has_words_counts_and_an_end(
    config: LLMConfig, prompting: str, streamed: bool
) -> None:
    heard: list[str] = []
    chat = model(config, prompting=prompting, stream=streamed)
    reply = chat.reply(ASKED, Terms(("three",), listen=heard.append))
    assert "".join(heard) == reply.content
    assert "three" not in reply.content
    assert reply.done_reason in {"stop", "length"}
    assert (reply.prompt_tokens or 1) > 0


def test_a_schema_leads_to_an_object_or_is_done_without(config: LLMConfig) -> None:
    said = replace(ASKED[1], content="Which word comes first? Answer in JSON: word.")
    reply = model(config).reply((said,), Terms(schema=SCHEMA))
    if reply.content.lstrip().startswith("{") and reply.done_reason == "stop":
        assert "word" in json.loads(reply.content)


def test_the_same_question_gets_the_same_answer(config: LLMConfig) -> None:
    chat = model(config, max_tokens=64)
    assert chat.reply(ASKED, Terms()).content == chat.reply(ASKED, Terms()).content
