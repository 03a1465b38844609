"""`chart_binder.react` and `chart_binder.chat` as libraries of other programs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from chart_binder import chat, react
from chart_binder.chat import Scripted, ollama_model, openai_model
from chart_binder.errors import ConfigError
from chart_binder.react import ChatError, Limits, Message, Terms, Toolbox, ToolDefectError, run
from chart_binder.react.agent import system_prompt
from chart_binder.react.dialect import Classic, Pause, Xml
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
    assert ending.answer is None
    assert "no answer in 2 turns" in str(ending.problem)
    with pytest.raises(ChatError, match="the script has 0 replies"):
        run("What is 20+8?", Scripted([]))
    with pytest.raises(ToolDefectError, match="has no docstring"):
        run("What is 20+8?", Scripted([]), [lambda: 1])


def test_an_ollama_model_is_made_of_its_name_address_and_options() -> None:
    with OllamaStandIn([DONE]) as server:
        model = ollama_model("llama3.2", server.url, max_tokens=128, seed=7, num_ctx=4_096)
        assert run("What is 20+8?", model).answer == "28"
    options = server.chats[0]["options"]
    assert (options["num_predict"], options["seed"], options["num_ctx"]) == (128, 7, 4_096)


def test_an_impossible_option_is_refused_before_a_server_is_asked() -> None:
    with pytest.raises(ValueError, match="temperature"):
        openai_model("m", "http://127.0.0.1:1/v1", temperature=9)
    with pytest.raises(ConfigError, match="'NO_SUCH_KEY', which is not set"):
        openai_model("m", "http://127.0.0.1:1/v1", api_key_env="NO_SUCH_KEY")
    with pytest.raises(ChatError, match=r"127\.0\.0\.1:1"):
        openai_model("m", "http://127.0.0.1:1/v1").reply([Message("user", "?")], Terms())
