"""Whether a server can do what the configuration asks of it."""

from dataclasses import replace

import httpx
import pytest

from chart_binder.chat import ollama, openai
from chart_binder.chat.served_model import ModelHealth
from chart_binder.config import LLMConfig
from servers.kinds import AnyStandIn
from servers.ollama import OllamaStandIn
from servers.openai import OpenAIStandIn

QUESTIONS = ("/api/version", "/api/tags", "/api/show", "/api/ps")


def examine(server: AnyStandIn, **changes: object) -> ModelHealth:
    settings = {"base_url": server.url, "timeout_s": 5.0, **changes}
    check = ollama.check if isinstance(server, OllamaStandIn) else openai.check
    return check(LLMConfig.model_validate(settings), {})


PASSING = ("500", "html", "hangs up", "slow", "drips", "garbage", "endless", "bad gzip")
ROWS = [
    *((OllamaStandIn, "/api/version", fault) for fault in (*PASSING, "401", "deep")),
    *((OllamaStandIn, "/api/tags", fault) for fault in PASSING),
    *((OllamaStandIn, "/api/show", fault) for fault in (*PASSING, "absent")),
    *((OpenAIStandIn, "/v1/models", fault) for fault in (*PASSING, "401", "deep", "no choices")),
]


def test_an_ollama_server_with_the_model_is_well() -> None:
    with OllamaStandIn() as server:
        health = examine(server)
    found = ModelHealth(server.url, "llama3.2", "Ollama 0.33.1", ("llama3.2:latest",), 131_072)
    assert health == replace(found, build=server.digest)
    assert not health.problems
    assert tuple(each.path for each in server.requests) == QUESTIONS


def test_the_context_that_a_loaded_model_really_has_is_told() -> None:
    with OllamaStandIn(["yes"], allotted=2_048) as server:
        assert examine(server).loaded_length is None
        chat = {"model": "llama3.2", "messages": [{"role": "user", "content": "?"}]}
        httpx.post(f"{server.url}/api/chat", json=chat)
        health = examine(server)
    assert (health.loaded_length, health.problems) == (2_048, ())


@pytest.mark.parametrize("fault", ["500", "html", "hangs up"])
def test_a_server_that_does_not_tell_what_is_loaded_is_well(fault: str) -> None:
    with OllamaStandIn(fault=fault, on=("/api/ps",)) as server:
        assert not examine(server).problems


@pytest.mark.parametrize(("kind", "path", "fault"), ROWS)
def test_a_check_raises_for_no_server(kind: type[AnyStandIn], path: str, fault: str) -> None:
    with kind(fault=fault, on=(path,)) as server:
        health = examine(server, timeout_s=0.8)
    assert len(health.problems) == 1
    assert (health.server is None) == (path in {"/api/version", "/v1/models"})


def test_an_openai_server_with_the_model_is_well() -> None:
    models = ({"id": "llama3.2", "max_model_len": 16_384}, {"id": "qwen3"})
    with OpenAIStandIn(models=models) as server:
        health = examine(server)
    assert health == ModelHealth(
        f"{server.url}/v1", "llama3.2", None, ("llama3.2", "qwen3"), context_length=16_384
    )
    assert not health.problems


def test_a_server_that_tells_no_context_is_well_and_a_missing_tag_means_latest() -> None:
    with OpenAIStandIn(models=({"id": "llama3.2:latest"},)) as server:
        health = examine(server)
    assert (health.problems, health.context_length) == ((), None)
    assert {each.method for each in server.requests} == {"GET"}


@pytest.mark.parametrize("prompting", ["chat", "raw"])
def test_a_server_that_answers_to_any_name_is_well_with_a_remark(prompting: str) -> None:
    served = OpenAIStandIn(["h"], models=({"id": "qwen3.gguf"},), answers_any_name=True)
    with served as server:
        health = examine(server, prompting=prompting)
    assert (health.problems, health.models) == ((), ("qwen3.gguf",))
    assert health.remark == (
        "the server lists qwen3.gguf, not 'llama3.2', and answers to that name as well:"
        " set llm.model_id to a name that it lists"
    )
    assert [chat["max_tokens"] for chat in server.chats] == [1]


def test_a_server_that_lists_no_models_and_replies_is_well_with_a_remark() -> None:
    with OpenAIStandIn(["h"], fault="404", on=("/v1/models",)) as server:
        health = examine(server)
    assert (health.problems, health.models) == ((), ())
    assert health.remark.startswith("the server replies, but does not list its models at /models")


@pytest.mark.parametrize(("server", "path"), [
    (OpenAIStandIn, "/v1/models"),
    *((OllamaStandIn, f"/api/{name}") for name in ("tags", "version")),
])  # fmt: skip
def test_a_list_that_takes_too_long_blames_no_model(server: type[AnyStandIn], path: str) -> None:
    with server(fault="drips headers", on=(path,)) as slow:
        [problem] = examine(slow, timeout_s=0.4).problems
    assert "did not answer within 0.4 s: look into its log" in problem
    assert "model" not in problem


def test_ollama_is_not_asked_about_a_name_that_it_knows_under_another_spelling() -> None:
    class AnyCase(OllamaStandIn):
        def _known(self) -> dict[str, str]:
            return {"Llama3.2": "llama3.2:latest"}  # Ollama ignores the case of letters

    with AnyCase() as server:
        health = examine(server, model_id="Llama3.2")
    assert not health.problems
    assert health.remark.startswith("the server lists llama3.2:latest, not 'Llama3.2'")


SMALL = {"default_generation_settings": {"n_ctx": 4_096}}
NO_PLACE = "has no place for messages of the role 'tool': set llm.observation_role = \"user\""
LOAD = "load it there, or set llm.model_id to one it has"
ODD = {"error": "Unexpected endpoint. Returning 200"}
MISFITS = [
    (OllamaStandIn(context_length=2_048), {}, "llm.num_ctx = 12288 is more than the 2048 tokens"),
    (OpenAIStandIn(tells={"/props": SMALL}), {}, "more than the 4096 tokens that model 'llama3.2'"),
    (OllamaStandIn(capabilities=("embedding",)), {}, "cannot chat, only: embedding"),
    (OllamaStandIn(capabilities=("completion",)), {"observation_role": "tool"}, NO_PLACE),
    (OllamaStandIn(models=()), {}, "ollama pull llama3.2"),  # says null
    (OllamaStandIn(models=("qwen3:4b", "gemma3:latest")), {},
     "'llama3.2' is not on the server at http://127.0.0.1"),
    (OllamaStandIn(models=("qwen3:4b", "gemma3:latest")), {},
     "pull llama3.2 (or set llm.model_id to one it has: qwen3:4b, gemma3:latest)"),
    (OpenAIStandIn(models=({"id": "qwen3"}, {"id": "gemma3"})), {},
     "/v1: set llm.model_id to one it has: qwen3, gemma3"),
    (OpenAIStandIn(models=()), {}, LOAD),
    (OpenAIStandIn(tells={"/v1/models": {"object": "list", "data": None}}), {}, LOAD),
    (OpenAIStandIn(tells={"/v1/models": ODD}), {}, f"no such path ({ODD['error']}): set llm"),
    (OllamaStandIn(), {"api_key_env": "NOT_SET"}, "llm.api_key_env names 'NOT_SET'"),
]  # fmt: skip


@pytest.mark.parametrize(("server", "changes", "problem"), MISFITS)
def test_a_misfit_is_a_problem_with_its_remedy(
    server: AnyStandIn, changes: dict[str, object], problem: str
) -> None:
    with server:
        health = examine(server, **changes)
    assert [problem in each for each in health.problems] == [True]
