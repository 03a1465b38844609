"""`chart_binder.react` and `chart_binder.chat` as libraries of other programs."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chart_binder import chat, react
from chart_binder.chat import Scripted, ollama_model, openai_model
from chart_binder.errors import ConfigError
from chart_binder.react import (
    ChatError,
    EndedBy,
    GenerationOptions,
    Limits,
    Message,
    Toolbox,
    ToolDefectError,
    run,
)
from chart_binder.react.agent import system_prompt
from chart_binder.react.dialect import Classic, Pause, Xml
from corpus import rows
from servers.ollama import OllamaStandIn

DONE = "Thought: so\nFinal Answer: 28"


def test_every_name_that_is_typed_is_there_and_no_other() -> None:
    source = Path(react.__file__).read_text("utf-8")
    typed = re.findall(r"^    from (\S+) import (\w+) as \2$", source, re.MULTILINE)
    exported = {name for names in react._EXPORTS.values() for name in names}
    assert {name for _, name in typed} == exported
    for module, name in typed:
        assert getattr(react, name) is getattr(sys.modules[module], name)
    assert exported <= set(dir(react))
    assert "Scripted" in dir(chat)
    for package in (react, chat):
        with pytest.raises(AttributeError, match="has no attribute 'converse_twice'"):
            package.converse_twice  # noqa: B018


def test_a_library_that_is_imported_loads_nothing_heavy() -> None:
    program = (
        "import sys\nimport chart_binder.react, chart_binder.chat\n"
        "loaded = [name for name in sys.modules if name.startswith('chart_binder.')]\n"
        "print(sorted(loaded), {'httpx', 'pydantic', 'msgspec', 'ollama'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['chart_binder.chat', 'chart_binder.lazy', 'chart_binder.react'] set()\n"


def test_a_run_without_tools_has_no_call_in_its_prompt() -> None:
    model = Scripted([DONE])
    assert run("What is 20+8?", model).answer == "28"
    system, question = model.asked[0]
    assert (system.role, question) == ("system", Message("user", "What is 20+8?"))
    assert "Action Input" not in system.content


@pytest.mark.parametrize("dialect", [Classic(), Pause(), Xml()])
def test_a_prompt_has_instructions_tools_and_form(dialect: react.Dialect) -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    tools = Toolbox([add]).tools
    prompt = system_prompt("You add.", dialect, tools)
    assert prompt == f"You add.\n\n{dialect.tools(tools)}\n\n{dialect.form(tools)}"
    assert "Add two numbers." in prompt


def test_an_empty_answer_is_refused_by_default() -> None:
    model = Scripted(["<response>\n\n</response>", "<response> 28 </response>"])
    ending = run("What is 20+8?", model, dialect=Xml())
    assert (ending.answer, ending.iterations) == ("28", 2)


def test_a_run_ends_at_its_limits_with_the_problem() -> None:
    ending = run("What is 20+8?", Scripted(["hm", "hm"]), limits=Limits(iterations=2))
    assert (ending.answer, ending.is_answered, ending.ended_by) == (None, False, EndedBy.ITERATIONS)
    assert ending.ended_by is EndedBy.ITERATIONS
    with pytest.raises(ChatError, match="the script has 0 replies"):
        run("What is 20+8?", Scripted([]))
    with pytest.raises(ToolDefectError, match="has no docstring"):
        run("What is 20+8?", Scripted([]), [lambda: 1])


def test_an_answer_that_means_nothing_or_zero_is_an_answer() -> None:
    for value in (0, None, ""):
        ending = run("?", Scripted([DONE]), validate_answer=lambda *_, value=value: value)
        assert (ending.answer, ending.is_answered, ending.problem) == (value, True, None)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("limits", [
    {"iterations": 0}, {"max_run_s": -1}, {"max_run_s": float("nan")}, {"num_ctx": -1},
    {"observation_role": "robot"},
])  # fmt: skip
def test_an_impossible_limit_is_refused(limits: dict[str, Any]) -> None:
    [(name, value)] = limits.items()
    with pytest.raises(ValueError, match=f"^{name} is {value!r}; .* allowed$"):
        Limits(**limits)


def test_a_script_is_a_list_and_a_prompt_takes_functions() -> None:
    with pytest.raises(TypeError, match=r"replies must be a list of texts, such as \['Final"):
        Scripted("Final Answer: 1")
    assert system_prompt("Add.", Xml(), [add]) == system_prompt("Add.", Xml(), Toolbox([add]).tools)


def essay(topic: str) -> str:
    """Write about a topic."""
    return topic * 400


def test_a_model_that_knows_its_context_has_observations_shortened() -> None:
    calls = [f'Action: essay\nAction Input: {{"topic": "number {n}"}}' for n in range(5)]
    limits = Limits(iterations=6, observation_chars=8_000)
    with OllamaStandIn([*calls, DONE]) as server:
        model = ollama_model("llama3.2", server.url, max_tokens=128, num_ctx=4_096)
        assert run("?", model, [essay], limits=limits).answer == "28"
    with OllamaStandIn([*calls, DONE]) as server:
        model = ollama_model("llama3.2", server.url, max_tokens=128, num_ctx=4_096)
        narrow = replace(limits, num_ctx=400)
        ending = run("?", model, [essay], limits=narrow)
    assert (ending.ended_by, ending.iterations) == (EndedBy.CONTEXT, 1)
    assert "num_ctx" in str(ending.problem)


@pytest.mark.parametrize(("arguments", "name"), rows(__file__, "options"))
def test_an_option_that_cannot_be_used_is_named(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(name)) as caught:
        ollama_model(**{"model_id": "m", **arguments})
    assert "secret" not in str(caught.value)


def test_an_encrypted_address_of_a_plain_server_is_said_to_be_wrong() -> None:
    with OllamaStandIn([DONE]) as server:
        address = server.url.replace("http:", "https:")
        for model in (ollama_model("m", address), openai_model("m", address)):
            with pytest.raises(ChatError, match=r"begin llm\.base_url with http:// in place of"):
                model.reply([Message("user", "?")], GenerationOptions())
