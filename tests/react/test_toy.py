"""The engine does arithmetic: nothing in it knows what it is for."""

import math
import subprocess
import sys
from collections.abc import Iterable, Sequence

import pytest

from chart_binder.react.conversation import Message, Reply, Terms
from chart_binder.react.dialect import Dialect
from chart_binder.react.dialects.classic import Classic
from chart_binder.react.dialects.pause import Pause
from chart_binder.react.dialects.xml import Xml
from chart_binder.react.loop import Ending, RefusedError, converse
from chart_binder.react.steps import Act, Finish
from chart_binder.react.tools import Tool, Toolbox
from chart_binder.react.transcript import AnyEvent, Observed

every_dialect = pytest.mark.parametrize(
    "dialect", [Classic(), Pause(), Xml()], ids=lambda dialect: dialect.name
)


class Pupil:
    """Does what it is told, in the dialect it is asked in."""

    model_id = "pupil"

    def __init__(self, replies: Iterable[str]) -> None:
        self._replies = iter(replies)
        self.seen: list[Message] = []

    def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:
        self.seen = list(messages)
        return Reply(next(self._replies))


def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


def log(x: float) -> float:
    """Return the natural logarithm of a number."""
    return math.log(x)


TOOLBOX = Toolbox([Tool.of(add), Tool.of(multiply), Tool.of(log)])


def number(answer: str, is_last: bool) -> float:
    try:
        return float(answer)
    except ValueError as error:
        raise RefusedError("Your answer is not a number.") from error


def ask(question: str, dialect: Dialect, *replies: str) -> tuple[Ending[float], list[str], Pupil]:
    """Return how it ended, what was observed, and the pupil."""
    pupil, events = Pupil(replies), list[AnyEvent]()
    prompt = f"{dialect.tools(TOOLBOX.tools)}\n\n{dialect.form(TOOLBOX.tools)}"
    opening = [Message("system", prompt), Message("user", question)]
    ending = converse(pupil, dialect, TOOLBOX, opening, judge=number, watch=events.append)
    return ending, [event.content for event in events if isinstance(event, Observed)], pupil


@every_dialect
def test_twenty_and_two_times_four(dialect: Dialect) -> None:
    ending, observed, _ = ask(
        "What is 20+(2*4)?",
        dialect,
        dialect.render(Act("multiply", {"a": 2, "b": 4}, "The product first.")),
        dialect.render(Act("add", {"a": 20, "b": 8}, "Now the sum.")),
        dialect.render(Finish("28", "That is all.")),
    )
    assert ending == Ending(3, 28.0)
    assert observed == ["8.0", "28.0"]


@every_dialect
def test_the_logarithm_of_a_product_of_a_sum(dialect: Dialect) -> None:
    ending, observed, _ = ask(
        "What is log((1234+5678)*5)?",
        dialect,
        dialect.render(Act("add", {"a": 1234, "b": 5678})),
        dialect.render(Act("multiply", {"a": 6912, "b": 5})),
        dialect.render(Act("log", {"x": 34560})),
        dialect.render(Finish("10.45")),
    )
    assert ending == Ending(4, 10.45)
    assert observed[:2] == ["6912.0", "34560.0"]
    assert observed[2].startswith("10.450")


def test_several_calls_of_a_turn_are_answered_each_by_its_id() -> None:
    calls = Act("add", {"a": 1, "b": 2}, id="sum", also=(Act("log", {"x": 1}, id="log"),))
    dialect = Xml()
    ending, observed, pupil = ask(
        "Both, please.", dialect, dialect.render(calls), dialect.render(Finish("3"))
    )
    assert ending == Ending(2, 3.0)
    assert observed == ["3.0", "0.0"]
    told = pupil.seen[-1].content
    assert '<observation id="sum">\n3.0\n</observation>' in told
    assert '<observation id="log">\n0.0\n</observation>' in told


@every_dialect
def test_an_invented_result_is_never_the_answer(dialect: Dialect) -> None:
    call, result = Act("add", {"a": 1, "b": 1}), dialect.observation("3")
    guessed = f"{dialect.render(call)}\n{result}\n{dialect.render(Finish('3'))}"
    ending, observed, _ = ask("What is 1+1?", dialect, guessed, dialect.render(Finish("2")))
    assert ending == Ending(2, 2.0)
    assert observed == ["2.0"]


def test_the_engine_loads_nothing_of_what_it_is_used_for() -> None:
    code = (
        "import sys, pkgutil, importlib, chart_binder.react as react\n"
        "before = set(sys.modules)\n"
        "for module in pkgutil.walk_packages(react.__path__, 'chart_binder.react.'):\n"
        "    importlib.import_module(module.name)\n"
        "print(*{name for name in set(sys.modules) - before if name.count('.') < 2})"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())
    ours = {name for name in loaded if name.startswith("chart_binder.")}
    assert all(name.startswith("chart_binder.react") for name in ours), ours
    others = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names
    assert others <= {"chart_binder", "msgspec", "typing_extensions"}
