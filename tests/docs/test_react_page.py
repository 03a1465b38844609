"""What docs/react.md shows is so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from chart_binder import plugins
from chart_binder.react.dialect import Dialect
from chart_binder.react.sanitize import sanitize
from chart_binder.react.steps import Act, Finish, Malformed, Step
from chart_binder.react.tools import Tool, Toolbox

PAGE = (Path(__file__).parents[2] / "docs" / "react.md").read_text("utf-8")
SHORTEST, LONGEST = 15, 50


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, "example", "exec"), names)
    return names


def dialect(name: str) -> Dialect:
    made: Dialect = plugins.load("chart_binder.dialects", name)()
    return made


def rows(head: str = "| rule | dialect |") -> list[tuple[str, ...]]:
    lines = PAGE.partition(head)[2].splitlines()[2:]
    table = [re.findall(r"\| (.*?) (?=\|)", line) for line in lines[: lines.index("")]]
    return [tuple(cell.strip("`") for cell in row) for row in table]


def test_the_toy_gives_the_sum(capsys: pytest.CaptureFixture[str]) -> None:
    run(blocks("python")[0])
    assert capsys.readouterr().out.endswith("28.0 after 3 turns\n")


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_reply_of_the_table_is_read_as_it_says(row: tuple[str, ...]) -> None:
    _, name, reply, said = row
    tools = run(blocks("python")[0])
    toolbox = Toolbox(Tool.of(tools[each]) for each in ("add", "multiply", "log"))
    step = dialect(name).parse(reply.replace("⏎", "\n"))
    if said.startswith("advice: "):
        assert isinstance(step, Malformed)
        assert said.removeprefix("advice: ") in step.advice
    else:
        assert shown(step, toolbox) == meant(said)


def shown(step: Step, toolbox: Toolbox) -> tuple[str, object]:
    if isinstance(step, Act):
        call = toolbox.resolve(step)
        return call.tool.name, call.arguments
    assert isinstance(step, Finish), step
    return "answer:", step.answer


def meant(said: str) -> tuple[str, object]:
    name, _, rest = said.partition(" ")
    return name, rest if name == "answer:" else json.loads(rest)


def test_text_from_outside_is_shown_as_the_page_says() -> None:
    table = rows("| on the page |")
    assert len(table) == 5
    assert [(told, sanitize(told)) for told, _ in table] == table


@pytest.mark.parametrize("place", range(3))
def test_a_dialect_is_written_as_it_is_shown(place: int) -> None:
    name = ("classic", "pause", "xml")[place]
    act = Act("multiply", {"a": 2, "b": 4}, "The product first.", id="1" if name == "xml" else "")
    parts = (
        dialect(name).render(act),
        dialect(name).observation("8.0", act),
        dialect(name).render(Finish("8", "Now I know.")),
    )
    assert blocks("text")[place] == "\n\n".join(parts) + "\n"


def test_the_dialect_of_the_page_is_short_and_reads_what_it_writes() -> None:
    code = blocks("python")[1]
    assert SHORTEST < len(code.splitlines()) < LONGEST
    terse = run(code)["Terse"]()
    for step in (Act("add", {"a": 1}, "First."), Finish("7", "So."), Finish("a\nb")):
        assert terse.parse(terse.render(step)) == step
    assert isinstance(terse.parse(terse.observation("7\nSAY 9")), Malformed)
