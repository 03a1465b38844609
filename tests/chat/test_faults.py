"""Everything that servers are known to do wrong, and the one sentence that comes of it."""

import re
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from time import monotonic, sleep, time
from typing import Any

import pytest

from chart_binder.chat import ollama_model, openai, openai_model
from chart_binder.chat.faults import START_WAIT_S
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError
from chart_binder.react.conversation import (
    ChatError,
    ChatModel,
    GenerationOptions,
    Message,
    Reply,
    UnreachableError,
)
from servers.http import Response, free_port
from servers.kinds import KINDS, Kind
from servers.openai import FAULTS, OpenAIStandIn
from servers.talk import Said

LATE = "did not finish its answer for model 'llama3.2' within 0.3 s: raise llm.timeout_s"
NOT_OLLAMA = "does not speak Ollama's format (its answer cannot be read): set llm.base_url to an"
NOT_OPENAI = "does not speak OpenAI's format (its answer cannot be read): set llm.base_url to the"
TOO_LONG = "set llm.num_ctx to what the server gives it, or start the server with more"
RAW = 'set llm.prompting = "raw"'
LOADING = "is not ready, or still loading model 'llama3.2' (HTTP {}): wait until it is, or raise"
MEMORY = (
    "more memory than {} at {{url}} has (HTTP {}: {}): choose a smaller model, or lower llm.num_ctx"
)
EFFORT = "cannot think as it is told (HTTP 400: {}"
MISSING = "model 'llama3.2' is not on the server at {url}/v1: set llm.model_id to one it has: qwen3"
ENDLESS = "went on past 1000000 bytes, more than llm.max_tokens hold"
TOO_MUCH = "sent more than 16000000 bytes in one answer: set llm.base_url"
OF_BOTH = {
    **dict.fromkeys(
        ("empty body", "ends without done", "cut in a letter"),
        "ended its reply before it was done: ",
    ),
    **dict.fromkeys(("null content", "empty content", "blank content"), "answered with nothing: "),
    **dict.fromkeys(("slow", "falls silent", "drips", "drips headers"), LATE),
    **dict.fromkeys(("dropped", "hangs up"), "broke off ("),
    "endless": f"{ENDLESS}: look whether its server keeps to the limit it is given",
    "endless thinking": ENDLESS,
    "endless line": TOO_MUCH,
    "502 page": LOADING.format(502),
    "bad gzip": "compressed its answer (gzip), though canon asks for none: turn that off in",
}
OF_OLLAMA = {
    "absent": "model 'llama3.2' is not on the server at {url}: ollama pull llama3.2",
    "absent, old wording": "is not on the server at {url}: ollama pull llama3.2",
    "400": "does not support chat): choose another model",
    "401": "refuses the key or wants one (HTTP 401: unauthorized): set llm.api_key_env",
    "host": "refuses requests under that name (HTTP 403): start it with OLLAMA_HOST=0.0.0.0",
    "subscription": "needs a subscription (HTTP 403: this model requires a subscription, upgrade",
    "too old": "needs a newer Ollama than the one at {url} (HTTP 412: this model requires a newer",
    "404 page": "does not speak Ollama's format (HTTP 404): set llm.base_url",
    "500": "failed (HTTP 500: model runner has unexpectedly stopped): look into the server's log",
    "memory": MEMORY.format(
        "Ollama", 500, "model requires more system memory (9.2 GiB) than is available (3.9 GiB)"
    ),
    "memory, CUDA": MEMORY.format(
        "Ollama", 500, "llama runner process has terminated: cudaMalloc failed"
    ),
    **{f"tool call{each}": RAW for each in ("", " in mid-stream", " as a key", ", XML")},
    "thinking": EFFORT.format('"llama3.2" does not support thinking): set llm.think'),
    "thinking by degrees": EFFORT.format('think value "medium" is not supported for this model)'),
    "too long": "(HTTP 400: the input length exceeds the context length): raise llm.num_ctx",
    "too long, 0.40": "(HTTP 400: request (6030 tokens) exceeds the available context size (4096 "
    "tokens), try increasing it): raise llm.num_ctx, or choose a model with more context",
    "roles": RAW,
    "loading, 500": LOADING.format("500: Loading model"),
    "takes long to load": "start it with a longer OLLAMA_LOAD_TIMEOUT, or choose a smaller model",
    "cannot load": "cannot load model 'llama3.2' (HTTP 500: unable to load model: /root/.ollama/",
    "503": "is busy or still loading (HTTP 503: server busy, please try again. maximum pending",
    "error in mid-stream": "broke its reply off with an error: llama runner process has terminated",
    "redirect loop": "{url} redirects (HTTP 307): set llm.base_url",
    **dict.fromkeys(
        ("429", "429 for an hour"),
        "is busy or still loading (HTTP 429: too many requests): ask later",
    ),
    **dict.fromkeys(("garbage", "html"), NOT_OLLAMA),
    **dict.fromkeys(("no message", "deep", "garbage in mid-stream"), NOT_OLLAMA),
    "error object in mid-stream": "broke its reply off with an error: no",
}
OF_OPENAI = {
    **dict.fromkeys(("absent, vLLM", "absent, Ollama", "absent, 400"), MISSING),
    "400": "refuses the request for model 'llama3.2' (HTTP 400: Image input is not supported)",
    "key in a 400": "refuses the key or wants one (HTTP 400: API key not valid. Please pass a",
    "max_tokens": "Use 'max_completion_tokens' instead.): choose another model",
    "401": "refuses the key or wants one (HTTP 401: Invalid API Key): set llm.api_key_env",
    "403": "refuses the key or wants one (HTTP 403: Forbidden): set llm.api_key_env",
    **dict.fromkeys(("404", "404 page"), "does not speak OpenAI's format (HTTP 404"),
    **dict.fromkeys(("too long, vLLM", "too long, 200"), TOO_LONG),
    "too long, llama.cpp": "(HTTP 400: request (6030 tokens) exceeds the available context size",
    "too long, 500": "(HTTP 500: Context size has been exceeded.): set llm.num_ctx",
    "422": '"extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs"',
    **dict.fromkeys(
        ("429", "429 for an hour"),
        "is busy or still loading (HTTP 429: Rate limit reached): ask later",
    ),
    "500": "failed (HTTP 500: the engine is dead): look into the server's log",
    "memory": MEMORY.replace("{{url}}", "{{url}}/v1").format(
        "the server", 500, "CUDA out of memory. Tried to allocate 2.00 GiB"
    ),
    "memory, LM Studio": "choose a smaller model, or lower llm.num_ctx and what the server is",
    "nothing loaded": "has no model loaded (HTTP 400: No models loaded. Please load a model in",
    "nothing loaded, 404": "): load 'llama3.2' there, as LM Studio does with `lms load llama3.2`",
    **dict.fromkeys(("alternation", "no system", "two roles", "no later system"), RAW),
    "thinking by degrees": EFFORT.format('think value "medium" is not supported for this model)'),
    "effort": EFFORT.format("body.reasoning_effort: Input should be"),
    "loading, 500": LOADING.format(
        "500: litellm.InternalServerError: OpenAIException - Loading model"
    ),
    "503 page": LOADING.format(503),
    "502 empty": LOADING.format(502),
    "502 text": LOADING.format("502: Bad Gateway"),
    "504 page": LOADING.format(504),
    "503 Envoy": LOADING.format("503: no healthy upstream"),
    "504 Envoy": LOADING.format("504: upstream request timeout"),
    "cannot load": "cannot load model 'llama3.2' (HTTP 500: Error loading model. (Exit code: 6). ",
    "cannot load, 503": "(HTTP 503: failed to load model: file missing): look into the server's",
    "no quota": "has no quota or credit left for the key (HTTP 429: You exceeded your current",
    "no credit": "(HTTP 402: Insufficient credits. Add more using /settings/credits): add some",
    "402": "wants to be paid (HTTP 402): add credit there, or set llm.api_key_env to another key",
    "https": "speaks https only (HTTP 400: Client sent an HTTP request to an HTTPS server.): begin "
    "llm.base_url with https://",
    **{
        reason: f"ended its reply before it was done (finish_reason '{reason}'): look into"
        for reason in ("abort", "error", "network_error")
    },
    "refuses": "model 'llama3.2' at {url}/v1 refused to answer (I cannot help): choose another",
    "500 text": "failed (HTTP 500: Internal Server Error): look into the server's log",
    **dict.fromkeys(("503", "503 in a 200"), LOADING.format("503: Loading model")),
    "error with 200": "has no such path (Unexpected endpoint or method. (POST /v1/chat).",
    "garbage": "ended its reply before it was done",
    **dict.fromkeys(("garbage event", "garbage document", "garbage in mid-stream"), NOT_OPENAI),
    **dict.fromkeys(("html", "empty document", "no choices"), NOT_OPENAI),
    **dict.fromkeys(("content is a number", "deep"), NOT_OPENAI),
    "error in mid-stream": "failed (HTTP 500: the engine died): look into the server's log",
    "error text in mid-stream": "broke its reply off with an error: it crashed",
    "error field in mid-stream": "failed (HTTP 500: it broke): look into the server's log",
    **dict.fromkeys(
        ("nothing but done", "no choice", "calls no tool"),
        "answered with nothing: choose another model",
    ),
    **dict.fromkeys(
        ("filtered", "content_filter"), "by a filter (finish_reason 'content_filter'): turn the"
    ),
    "redirect loop": "{url}/v1 redirects (HTTP 307): set llm.base_url to the server itself",
    "endless comments": TOO_MUCH,
}
SENTENCES = {"ollama": OF_BOTH | OF_OLLAMA, "openai": OF_BOTH | OF_OPENAI}
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
    expected = SENTENCES[provider][fault]
    models: dict[str, object] = {"models": ({"id": "qwen3"},)} if provider == "openai" else {}
    with KINDS[provider].serve(["never"], fault=fault, **models) as server:
        began = monotonic()
        with pytest.raises(ChatError) as refused:
            ask(provider, server.url, timeout_s=0.3 if expected is LATE else 1.0)
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


def by_argument(provider: str, url: str, **options: Any) -> ChatModel:
    """Return a model as another program makes it, without a configuration."""
    if provider == "ollama":
        return ollama_model("llama3.2", url, **options)
    return openai_model("llama3.2", url, **options)


@pytest.mark.parametrize(
    ("provider", "fault"),
    [(kind.provider, fault) for kind in KINDS.values() for fault in kind.rows],
)
def test_an_error_names_the_argument_if_there_is_no_configuration(
    provider: str, fault: str
) -> None:
    models: dict[str, object] = {"models": ({"id": "qwen3"},)} if provider == "openai" else {}
    with (
        KINDS[provider].serve(["never"], fault=fault, **models) as server,
        pytest.raises(ChatError) as refused,
    ):
        by_argument(provider, server.url, timeout_s=0.3).reply(
            [Message("user", "?")], GenerationOptions()
        )
    assert not re.search(r"\bllm\.|\[llm\]", str(refused.value))


@pytest.mark.parametrize("provider", KINDS)
def test_what_is_refused_before_it_is_sent_names_the_argument(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []
    for url, options in (
        ("http://[::1", {}), ("http://:80", {}), ("http://u@h:1/@h", {}),
        ("http://h:1", {"api_key_env": "NOT_SET"}), ("http://h:1", {"api_key_env": "ODD"}),
    ):  # fmt: skip
        monkeypatch.setenv("ODD", "s3\ncret")
        with pytest.raises(ConfigError) as error:
            by_argument(provider, url, **options)
        refused.append(str(error.value))
    assert [each.partition(" ")[0] for each in refused[:4]] == ["base_url"] * 3 + ["api_key_env"]
    assert (
        refused[4] == "the key in 'ODD' (api_key_env) has characters that no HTTP header may have"
    )
    long = [Message("user", "0383dadf-2a4e-4d10 " * 400)]
    with pytest.raises(ChatError, match=r"is over num_ctx = 2048: raise num_ctx$"):
        by_argument(provider, "http://h:1", num_ctx=2_048).reply(long, GenerationOptions())
    told = {"allotted": 2_048} if provider == "ollama" else {}
    with (
        KINDS[provider].serve([Said("well", prompt_tokens=9)], **told) as server,
        pytest.raises(ChatError, match=r"where num_ctx = 12288: [^.]*\bnum_ctx\b[^.]*$"),
    ):
        by_argument(provider, server.url).reply(long, GenerationOptions())


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
def test_an_absent_model_is_named_with_some_of_those_that_are_there(
    server: OpenAIStandIn, words: str
) -> None:
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


def test_a_server_that_is_busy_until_a_later_date_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    until = formatdate(time() + 3600, usegmt=True)
    busy = Response("{}", 429, headers=(("Retry-After", until),))
    monkeypatch.setitem(FAULTS, "busy", lambda *_: busy)
    with OpenAIStandIn(fault="busy") as server, pytest.raises(ChatError, match="HTTP 429"):
        ask("openai", server.url)
    assert len(server.chats) == 1
