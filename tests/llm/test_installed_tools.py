"""A plug-in is a tool, a function that makes one, or the plain function of one."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from pydantic import ValidationError

from chart_binder.cli.main import run
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError, PluginError
from chart_binder.llm.tools import as_tool, default_tools, without_network
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import Tool, Toolbox


def days(first: str) -> str:
    """Count."""
    return first


def show(config: str) -> str:
    """Show."""
    return config


def makes_by_name(config):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    return Tool.of(days)


def makes_by_type(settings: LLMConfig) -> Any:
    return Tool.of(days)


def makes_by_written_type(settings: "LLMConfig") -> Any:
    return days


def makes_by_what_it_returns() -> Tool:
    return Tool.of(days)


@pytest.mark.parametrize(
    "found",
    [days, Tool.of(days), makes_by_name, makes_by_type, makes_by_written_type,
     makes_by_what_it_returns],
)  # fmt: skip
def test_a_plug_in_is_known_by_what_it_says_of_itself(found: object) -> None:
    assert as_tool(found, "days", LLMConfig()).signature == "days(first)"
    assert as_tool(show, "show", LLMConfig()).signature == "show(config)"


def breaks(config: LLMConfig) -> Tool:
    raise ZeroDivisionError("by zero")


def explains(config: LLMConfig) -> Tool:
    raise ConfigError("my.key: found nothing")


def untyped(settings):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    return settings


@pytest.mark.parametrize(("found", "error", "told"), [
    (untyped, PluginError, r"'mine' of .*no docstring.*'settings' has no type"),
    ("text", PluginError, "'mine' of"),
    (breaks, PluginError, "makes no tool: by zero"),
    (explains, ConfigError, r"my\.key"),  # one that explains itself is heard
])  # fmt: skip
def test_a_plug_in_that_is_no_tool_or_breaks_says_what_is_missing(
    found: object, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        as_tool(found, "mine", LLMConfig())


PACKAGE = '''
    """Somebody else's package."""
    from typing import Annotated, Literal


    def tell_key(
        letter: Annotated[str, "the white key, A to G"],
        mode: Literal["major", "minor"] = "major",
        sharps: int = 0,
    ) -> str:
        """Tell a key."""
        return f"{letter} {mode} {sharps}"


    def unfinished(thing):
        return thing
'''


Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Lay a package out as pip would, with entry points by name, and let Python find it."""

    def lay_out(**points: str) -> None:
        (tmp_path / "keys.py").write_text(dedent(PACKAGE))
        info = tmp_path / "keys-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: keys\nVersion: 1\n")
        lines = "\n".join(f"{name} = keys:{what}" for name, what in points.items())
        (info / "entry_points.txt").write_text(f"[chart_binder.tools]\n{lines}")
        monkeypatch.syspath_prepend(tmp_path)

    return lay_out


def test_a_plain_function_of_another_package_is_listed_called_turned_off(install: Install) -> None:
    install(tell_key="tell_key")
    tools = {tool.name: tool for tool in default_tools(LLMConfig())}
    assert {*tools} == {*BUILT_IN, "tell_key"}
    tool = tools["tell_key"]
    signature = 'tell_key(letter, mode: "major" | "minor" = "major", sharps: integer = 0)'
    assert (tool.signature, tool.about) == (signature, {"letter": "the white key, A to G"})
    call = ToolCall("tell-key", {"Letter": "C", "mode": "MINOR", "sharps": "3"})
    assert Toolbox([tool]).resolve(call).run().content == "C minor 3"
    assert names(LLMConfig.model_validate({"tools": {"tell_key": False}})) == BUILT_IN


@pytest.mark.parametrize(("points", "told"), [
    ({"odd": "unfinished"}, ["plug-in 'odd'", "keys.unfinished cannot be a tool",
                             "'thing' has no type annotation"]),
    ({"one": "tell_key", "two": "tell_key"},
     ["2 plug-ins of 'chart_binder.tools' have a tool called 'tell_key'"]),
])  # fmt: skip
def test_a_plug_in_that_is_no_tool_or_a_second_one_stops_the_program(
    install: Install, points: dict[str, str], told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    install(**points)
    assert run(["tools", "list"]) == 2
    told_of = capsys.readouterr().err
    assert [words for words in told if words not in told_of] == []


def names(config: LLMConfig) -> list[str]:
    return [tool.name for tool in default_tools(config)]


BUILT_IN = ["web_search", "web_fetch", "musicbrainz", "wikipedia"]


def test_every_built_in_tool_is_on_unless_the_configuration_says_otherwise() -> None:
    assert names(LLMConfig()) == BUILT_IN
    for name in BUILT_IN:
        off = LLMConfig.model_validate({"tools": {name: False}})
        assert names(off) == [each for each in BUILT_IN if each != name]
    off = LLMConfig.model_validate({"searxng": {"enabled": False}})
    assert names(off) == BUILT_IN[1:]


def test_without_a_network_no_built_in_tool_is_left() -> None:
    assert names(without_network(LLMConfig())) == []


def test_a_tool_that_is_not_installed_cannot_be_turned_on_or_off() -> None:
    config = LLMConfig.model_validate({"tools": {"wikipeda": False}})
    with pytest.raises(ConfigError, match=r"llm\.tools\.wikipeda: no such tool .*wikipedia"):
        default_tools(config)
    with pytest.raises(ValidationError, match="valid boolean"):
        LLMConfig.model_validate({"tools": {"wikipedia": "maybe"}})
