"""Everything an Ollama server is known to do wrong, and the one sentence that comes of it."""

import socket
from time import monotonic

import pytest

from chart_binder.chat.ollama import connect
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError
from chart_binder.react.conversation import ChatError, Message, Reply, Terms
from servers.ollama import FAULTS, OllamaStandIn

NOT_OLLAMA = "does not speak Ollama's format: set llm.base_url to an Ollama server"
LATE = "did not finish its answer for model 'llama3.2' within 0.3 s: raise llm.timeout_s"

SENTENCES = {
    "absent": "model 'llama3.2' is not on the server at {url}: ollama pull llama3.2",
    "absent, old wording": "is not on the server at {url}: ollama pull llama3.2",
    "400": "does not support chat): choose a model that can chat",
    "401": "(HTTP 401: unauthorized): set llm.api_key_env",
    "404 page": "what answers at {url} is no Ollama server (HTTP 404): set llm.base_url",
    "500": "failed (HTTP 500: model requires more system memory (9.2 GiB) than is available)",
    "502 page": "failed (HTTP 502): look into the server's log",
    "429": "has had enough requests for now (HTTP 429: too many requests): ask later",
    "429 for an hour": "has had enough requests for now (HTTP 429: too many requests): ask later",
    "503": "is busy (HTTP 503: server busy, please try again. maximum pending",
    "500 list": NOT_OLLAMA,
    "garbage": NOT_OLLAMA,
    "html": NOT_OLLAMA,
    "empty body": "ended its reply before it was done",
    "list": NOT_OLLAMA,
    "number": NOT_OLLAMA,
    "message is text": NOT_OLLAMA,
    "no message": NOT_OLLAMA,
    "deep": NOT_OLLAMA,
    "bad gzip": NOT_OLLAMA,
    "error in mid-stream": "broke its reply off with an error: llama runner process has terminated",
    "error object in mid-stream": NOT_OLLAMA,
    "garbage in mid-stream": NOT_OLLAMA,
    "ends without done": "ended its reply before it was done",
    "dropped": "the connection to Ollama at {url} broke off",
    "hangs up": "the connection to Ollama at {url} broke off",
    "null content": "answered with nothing",
    "empty content": "answered with nothing",
    "blank content": "answered with nothing",
    "calls a tool": "answered with a tool call of its server's own, where text was asked for",
    "redirect loop": "{url} redirects (HTTP 307): set llm.base_url",
    "endless": "went on past 1000000 bytes, more than llm.max_tokens hold: look whether its server",
    "endless thinking": "went on past 1000000 bytes, more than llm.max_tokens hold",
    "endless line": "sent more than 16000000 bytes in one answer: set llm.base_url",
    "slow": LATE,
    "falls silent": LATE,
    "drips": LATE,
    "drips headers": LATE,
}
TRIED_AGAIN = {"429": 3, "503": 3, "hangs up": 3}


def ask(url: str, **changes: object) -> Reply:
    config = LLMConfig.model_validate({"base_url": url, "timeout_s": 5.0, **changes})
    return connect(config, {}).reply([Message("user", "Which album?")], Terms(("Observation:",)))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_sentence_with_its_remedy(fault: str) -> None:
    patience_s = 0.3 if SENTENCES[fault] is LATE else 5.0
    with OllamaStandIn(["never"], fault=fault) as server:
        began = monotonic()
        with pytest.raises(ChatError) as refused:
            ask(server.url, timeout_s=patience_s)
        took_s = monotonic() - began
    sentence = str(refused.value)
    assert SENTENCES[fault].format(url=server.url) in sentence
    assert "\n" not in sentence
    assert len(sentence) < 400
    assert len(server.chats) == TRIED_AGAIN.get(fault, 1)
    assert took_s < 3.0  # what drips or keeps silent would do so for ten seconds and more


@pytest.mark.parametrize("streamed", [True, False])
def test_a_server_that_is_not_there_is_named_with_its_port(streamed: bool) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    sentence = (
        rf"Ollama does not answer at {url} \([^\[]*refused\): start it with `ollama serve`, "
        r"or set llm\.base_url"
    )
    with pytest.raises(ChatError, match=sentence):
        ask(url, stream=streamed)


def test_an_address_without_a_port_is_shown_with_the_port_it_means() -> None:
    with pytest.raises(ChatError, match=r"at http://127\.255\.255\.254:80 "):
        ask("http://user:password@127.255.255.254/")


@pytest.mark.parametrize(
    "secret", ["u:hunter2@h:x", "u:hunter2/@h", "u:p/hunter2@h", "u:1/hunter2@h", "u:hunter2@"]
)
def test_a_password_in_the_address_is_not_told(secret: str) -> None:
    with pytest.raises(ConfigError, match=r"llm\.base_url = 'http://\*\*\*@") as refused:
        ask(f"http://{secret}")
    assert "hunter" not in str(refused.value)


def test_a_conversation_without_a_word_is_a_chat_error() -> None:
    with OllamaStandIn() as server, pytest.raises(ChatError, match="answered with nothing"):
        connect(LLMConfig(base_url=server.url), {}).reply([], Terms())
