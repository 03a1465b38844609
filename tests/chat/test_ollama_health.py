"""Whether an Ollama server can do what the configuration asks of it."""

import httpx
import pytest

from chart_binder.chat.ollama import check
from chart_binder.chat.served_model import Health
from chart_binder.config import LLMConfig
from servers.ollama import FAULTS, OllamaStandIn

QUESTIONS = ("/api/version", "/api/tags", "/api/show", "/api/ps")


def examine(server: OllamaStandIn, **changes: object) -> Health:
    settings = {"base_url": server.url, "timeout_s": 5.0, **changes}
    return check(LLMConfig.model_validate(settings), {})


def test_a_server_with_the_model_is_well() -> None:
    with OllamaStandIn() as server:
        health = examine(server)
    assert health == Health(server.url, "llama3.2", "Ollama 0.33.1", ("llama3.2:latest",), 131_072)
    assert health.is_well
    assert tuple(each.path for each in server.requests) == QUESTIONS


def test_the_context_that_a_loaded_model_really_has_is_told() -> None:
    with OllamaStandIn(["yes"], allotted=2_048) as server:
        assert examine(server).loaded_length is None
        chat = {"model": "llama3.2", "messages": [{"role": "user", "content": "?"}]}
        httpx.post(f"{server.url}/api/chat", json=chat)
        health = examine(server)
    assert (health.loaded_length, health.is_well) == (2_048, True)


@pytest.mark.parametrize("fault", ["500", "html", "hangs up"])
def test_a_server_that_does_not_tell_what_is_loaded_is_well(fault: str) -> None:
    with OllamaStandIn(fault=fault, on=("/api/ps",)) as server:
        assert examine(server).is_well


def test_an_absent_model_is_named_with_those_that_are_there() -> None:
    with OllamaStandIn(models=("qwen3:4b", "gemma3:latest")) as server:
        health = examine(server)
    (problem,) = health.problems
    assert "model 'llama3.2' is not on the server" in problem
    assert "ollama pull llama3.2" in problem
    assert problem.endswith("(or set llm.model_id to one it has: qwen3:4b, gemma3:latest)")
    assert health.server == "Ollama 0.33.1"


@pytest.mark.parametrize(
    ("server", "changes", "problem"),
    [
        ({"context_length": 2_048}, {}, "llm.num_ctx = 8192 is more than the 2048 tokens"),
        ({"capabilities": ("embedding",)}, {}, "cannot chat, only: embedding"),
        (
            {"capabilities": ("completion",)},
            {"observation_role": "tool"},
            "has no place for messages of the role 'tool': set llm.observation_role = \"user\"",
        ),
        ({}, {"api_key_env": "NOT_SET"}, "llm.api_key_env names 'NOT_SET'"),
        ({}, {"base_url": "http://127.0.0.1:1"}, "start it with `ollama serve`"),
    ],
)
def test_a_misfit_is_a_problem_with_its_remedy(
    server: dict[str, object], changes: dict[str, object], problem: str
) -> None:
    with OllamaStandIn(**server) as stand_in:  # type: ignore[arg-type]
        health = examine(stand_in, **changes)
    assert [problem in each for each in health.problems] == [True]


ROWS = [
    *(("/api/version", fault) for fault in FAULTS if "absent" not in fault),
    *(("/api/tags", fault) for fault in ("500", "html", "list", "hangs up", "slow", "drips")),
    *(("/api/show", fault) for fault in ("500", "html", "list", "hangs up", "slow", "absent")),
]


@pytest.mark.parametrize(("path", "fault"), ROWS)
def test_checking_never_raises_for_what_a_server_does(path: str, fault: str) -> None:
    with OllamaStandIn(fault=fault, on=(path,)) as server:
        health = examine(server, timeout_s=0.8)
    assert len(health.problems) == 1
    assert (health.server is None) == (path == "/api/version")


def test_a_server_without_any_model_says_null() -> None:
    with OllamaStandIn(models=()) as server:
        health = examine(server)
    assert health.models == ()
    assert health.problems[0].endswith("ollama pull llama3.2")
