"""Whether a server of OpenAI's format can do what the configuration asks of it."""

import pytest

from chart_binder.chat.openai import check
from chart_binder.chat.served_model import Health
from chart_binder.config import LLMConfig
from servers.openai import FAULTS, OpenAIStandIn


def examine(server: OpenAIStandIn, **changes: object) -> Health:
    settings = {"base_url": server.url, "timeout_s": 5.0, **changes}
    return check(LLMConfig.model_validate(settings), {})


def test_a_server_with_the_model_is_well() -> None:
    models = ({"id": "llama3.2", "max_model_len": 16_384}, {"id": "qwen3"})
    with OpenAIStandIn(models=models) as server:
        health = examine(server)
    assert health == Health(
        f"{server.url}/v1", "llama3.2", None, ("llama3.2", "qwen3"), context_length=16_384
    )
    assert health.is_well


def test_a_server_that_tells_no_context_is_well() -> None:
    with OpenAIStandIn() as server:
        health = examine(server)
    assert (health.is_well, health.context_length) == (True, None)
    assert {each.method for each in server.requests} == {"GET"}


def test_ollamas_own_name_of_a_model_is_known() -> None:
    with OpenAIStandIn(models=({"id": "llama3.2:latest"},)) as server:
        assert examine(server).is_well


def test_an_absent_model_is_named_with_those_that_are_there() -> None:
    with OpenAIStandIn(models=({"id": "qwen3"}, {"id": "gemma3"})) as server:
        (problem,) = examine(server).problems
    sentence = f"model 'llama3.2' is not on the server at {server.url}/v1: set llm.model_id to one"
    assert problem == f"{sentence} it has: qwen3, gemma3"


@pytest.mark.parametrize(
    ("server", "changes", "problem"),
    [
        (
            {"tells": {"/props": {"default_generation_settings": {"n_ctx": 4_096}}}},
            {},
            "llm.num_ctx = 8192 is more than the 4096 tokens that model 'llama3.2' has at",
        ),
        ({"models": ()}, {}, "load it there, or set llm.model_id to one it has"),
        ({"key": "right"}, {}, "wants a key (HTTP 401"),
        ({}, {"api_key_env": "NOT_SET"}, "llm.api_key_env names 'NOT_SET'"),
        ({}, {"base_url": "http://127.0.0.1:1"}, "start it, or set llm.base_url (usual ports"),
        (
            {"tells": {"/v1/models": {"error": "Unexpected endpoint. Returning 200 anyway"}}},
            {},
            "error: Unexpected endpoint. Returning 200 anyway",
        ),
    ],
)
def test_a_misfit_is_a_problem_with_its_remedy(
    server: dict[str, object], changes: dict[str, object], problem: str
) -> None:
    with OpenAIStandIn(**server) as stand_in:  # type: ignore[arg-type]
        health = examine(stand_in, **changes)
    assert [problem in each for each in health.problems] == [True]


def test_a_server_without_any_model_may_say_null() -> None:
    with OpenAIStandIn(tells={"/v1/models": {"object": "list", "data": None}}) as server:
        assert examine(server).models == ()


@pytest.mark.parametrize("fault", FAULTS)
def test_checking_never_raises_for_what_a_server_does(fault: str) -> None:
    with OpenAIStandIn(fault=fault, on=("/v1/models",)) as server:
        health = examine(server, timeout_s=0.3)
    assert len(health.problems) == 1
