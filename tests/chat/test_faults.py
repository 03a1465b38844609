"""Everything that servers are known to do wrong, and the one sentence that comes of it."""

from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from time import monotonic, sleep, time

import pytest

from chart_binder.chat import openai
from chart_binder.chat.faults import START_WAIT_S
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError
from chart_binder.react.conversation import (
    ChatError,
    GenerationOptions,
    Message,
    Reply,
    UnreachableError,
)
from corpus import rows
from servers.http import Response, free_port
from servers.kinds import KINDS, Kind
from servers.openai import FAULTS, OpenAIStandIn

LATE = "did not finish its answer for model 'llama3.2' within 0.3 s: raise llm.timeout_s"
SENTENCES = {
    (provider, fault): sentence
    for servers, faults, sentence in rows(__file__, "sentences")
    for provider in servers.split()
    for fault in faults.split(" | ")
}
"""What comes of each fault, `{url}` for the address of the server."""
TRIES = {
    **{(kind, fault): 3 for kind in KINDS for fault in ("429", "hangs up")},
    ("ollama", "503"): 3,
    # Refusals that do not say what is refused: one more request, without counts and seed.
    **{("openai", fault): 2 for fault in ("400", "422")},
    ("openai", "max_tokens"): 3,  # with the newer name, too
}
NOT_THERE = {
    "ollama": r"Ollama does not answer at {} \([^\[]*refused\): start it with `ollama serve`, or",
    "openai": r"no server answers at {}/v1 \([^\[]*refused\): start it, or set llm\.base_url "
    r"\(usual ports: vLLM 8000, llama\.cpp 8080, LM Studio 1234, Ollama 11434\)",
}


def ask(provider: str, url: str, **changes: object) -> Reply:
    config = LLMConfig.model_validate({"base_url": url, "timeout_s": 5.0, **changes})
    chat = KINDS[provider].connect(config, {})
    return chat.reply([Message("user", "Which album?")], GenerationOptions(("Observation:",)))


@pytest.mark.parametrize(
    ("provider", "fault"),
    [(kind.provider, fault) for kind in KINDS.values() for fault in kind.rows],
)
def test_a_fault_is_one_sentence_with_its_remedy(provider: str, fault: str) -> None:
    expected = SENTENCES[provider, fault]
    models: dict[str, object] = {"models": ({"id": "qwen3"},)} if provider == "openai" else {}
    with KINDS[provider].serve(["never"], fault=fault, **models) as server:
        began = monotonic()
        with pytest.raises(ChatError) as refused:
            ask(provider, server.url, timeout_s=0.3 if expected == LATE else 1.0)
        took_s = monotonic() - began
    sentence = str(refused.value)
    assert expected.format(url=server.url) in sentence
    assert "\n" not in sentence
    assert len(sentence) < 450
    is_waited_for = "or still loading model" in expected
    assert len(server.chats) == (3 if is_waited_for else TRIES.get((provider, fault), 1))
    assert took_s < 3.0  # what drips or keeps silent would do so for ten seconds and more


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("provider", KINDS)
def test_a_server_that_is_not_there_is_named_with_what_to_do(provider: str, streamed: bool) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    began = monotonic()
    with pytest.raises(UnreachableError, match=NOT_THERE[provider].format(url)):
        ask(provider, url, stream=streamed, timeout_s=120.0)
    assert START_WAIT_S < monotonic() - began < START_WAIT_S + 1


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_server_that_starts_within_two_seconds_is_asked_again(kind: Kind) -> None:
    server = kind.serve(["well"])
    server.wanted_port = free_port()
    config = LLMConfig(base_url=f"http://127.0.0.1:{server.wanted_port}")
    with ThreadPoolExecutor() as pool:
        reply = pool.submit(
            kind.connect(config, {}).reply, [Message("user", "?")], GenerationOptions()
        )
        sleep(1.0)
        with server:
            assert reply.result().content == "well"
    assert len(server.chats) == 1


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_server_that_has_replied_may_come_back(kind: Kind) -> None:
    with kind.serve(["well"]) as server:
        chat = kind.model(server)
        chat.reply([Message("user", "?")], GenerationOptions())
    with pytest.raises(ChatError, match="refused") as gone:
        chat.reply([Message("user", "?")], GenerationOptions())
    assert not isinstance(gone.value, UnreachableError)


@pytest.mark.parametrize(
    "secret", ["u:hunter2@h:x", "u:hunter2/@h", "u:p/hunter2@h", "u:1/hunter2@h", "u:hunter2@"]
)
def test_a_password_in_the_address_is_not_told(secret: str) -> None:
    with pytest.raises(ConfigError, match=r"llm\.base_url = 'http://\*\*\*@") as refused:
        ask("ollama", f"http://{secret}")
    assert "hunter" not in str(refused.value)


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (OpenAIStandIn(models=tuple({"id": f"model-{number}"} for number in range(300))),
         r"one it has: model-0, .*, model-7 and 292 more$"),
        (OpenAIStandIn(fault="absent, vLLM", on=("/v1/chat/completions", "/v1/models")),
         r"load it there, or set llm\.model_id to one it has$"),
    ],
)  # fmt: skip
def test_an_absent_model_is_named_with_some_present_ones(server: OpenAIStandIn, words: str) -> None:
    with server, pytest.raises(ChatError, match=words):
        ask("openai", server.url)


def test_a_wrong_key_is_refused_without_being_told() -> None:
    with OpenAIStandIn(key="right") as server:
        chat = openai.connect(LLMConfig(base_url=server.url, api_key_env="KEY"), {"KEY": "s3cret"})
        with pytest.raises(ChatError, match=r"refuses the key .*api_key_env to") as refused:
            chat.reply([Message("user", "?")], GenerationOptions())
    assert "Bearer ***" in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_missing_completions_route_is_told_from_a_missing_server() -> None:
    with (
        OpenAIStandIn(fault="404") as server,
        pytest.raises(ChatError, match=r'has no /completions .*: set llm\.prompting = "chat"'),
    ):
        ask("openai", server.url, prompting="raw")


def test_a_role_the_server_refuses_is_named() -> None:
    said = [Message("user", "?"), Message("assistant", "Action"), Message("tool", "Observation")]
    with (
        OpenAIStandIn(["never"], roles=("user", "assistant")) as server,
        pytest.raises(ChatError, match=r"refuses the role 'tool'.*observation_role = \"user\""),
    ):
        openai.connect(LLMConfig(base_url=server.url), {}).reply(said, GenerationOptions())
    assert len(server.chats) == 1


def test_a_server_that_is_busy_until_a_date_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    until = formatdate(time() + 3600, usegmt=True)
    busy = Response("{}", 429, headers=(("Retry-After", until),))
    monkeypatch.setitem(FAULTS, "busy", lambda *_: busy)
    with OpenAIStandIn(fault="busy") as server, pytest.raises(ChatError, match="HTTP 429"):
        ask("openai", server.url)
    assert len(server.chats) == 1
