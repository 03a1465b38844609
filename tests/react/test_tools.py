"""Tools: derived from typed functions and models, and found by the names that models write."""

import dataclasses
import datetime as dt
import enum
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from annotated_types import Ge, Len
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chart_binder.react.coercion import folded, same_name
from chart_binder.react.dialect import Classic
from chart_binder.react.steps import FinalAnswer, ToolCall
from chart_binder.react.tool_definition import ToolDefectError
from chart_binder.react.tools import Observation, Tool, Toolbox, ToolError, find_tool


class Kind(enum.Enum):
    ALBUM = "Album"
    SINGLE = "Single"


def discography(
    artist: str,
    kind: Kind = Kind.ALBUM,
    since: dt.date | None = None,
    most: Annotated[int, Ge(1), "how many at most"] = 10,
    labels: list[str] = [],  # noqa: B006
    order: Literal["date", "title"] = "date",
) -> dict[str, object]:
    """List the records of an artist.

    The oldest come first.

    Args:
        artist: the name, as it is
            on the record
        kind (Kind): what to list

    Raises:
        ToolError: nobody of that name
    """
    return {"artist": artist, "kind": kind, "since": since, "most": most, "labels": labels}


class Query(pydantic.BaseModel):
    """What to look for."""

    model_config = pydantic.ConfigDict(strict=True)
    title: str = pydantic.Field(description="the title of the song")
    year: int | None = pydantic.Field(default=None, ge=1900)
    day: dt.date | None = None


def lookup(query: Query) -> str:
    """Look a song up."""
    return f"{query.title} {query.year} {query.day!r}"


class DaysBetween(pydantic.BaseModel):
    """Count the days from one date to another."""

    first: dt.date
    second: dt.date

    def __call__(self) -> int:
        return (self.second - self.first).days


@dataclasses.dataclass
class Share:
    """Tell a share in per cent."""

    part: Annotated[float, Ge(0)]
    whole: float = 1.0

    def __post_init__(self) -> None:
        if self.whole == 0:
            raise ValueError("`whole` is zero")

    def __call__(self) -> str:
        return f"{self.part / self.whole:.0%}"


class Length(pydantic.BaseModel):
    """How long."""

    minutes: float
    most: float = float("inf")

    def __call__(self) -> str:
        return repr(self)


class Track(msgspec.Struct):
    name: str
    minutes: Annotated[int, msgspec.Meta(le=90)] = 3


def play(track: Track) -> Track:
    """Play a track."""
    return track


def call(function: Callable[..., object], arguments: dict[str, object] | str) -> str:
    name = Tool.of(function).name
    return Toolbox([function]).resolve(ToolCall(name, arguments)).run().content


def test_everything_a_prompt_needs_is_derived() -> None:
    tool = Tool.of(discography)
    assert tool.name == "discography"
    assert tool.description == "List the records of an artist.\n\nThe oldest come first."
    assert tool.signature == (
        'discography(artist, kind: "Album" | "Single" = "Album", since: YYYY-MM-DD (optional),'
        ' most: integer = 10, labels: list of text (optional), order: "date" | "title" = "date")'
    )
    assert tool.about == {
        "artist": "the name, as it is on the record",
        "kind": "what to list",
        "most": "how many at most",
    }
    schema: Any = json.loads(json.dumps(tool.schema))
    assert schema["required"] == ["artist"]
    assert schema["properties"]["most"] == {
        "type": "integer", "minimum": 1, "default": 10, "description": "how many at most",
    }  # fmt: skip
    reference = schema["properties"]["kind"]["$ref"]
    assert schema["$defs"][reference.removeprefix("#/$defs/")]["enum"] == ["Album", "Single"]


def test_values_are_fitted_checked_and_defaults_filled_in() -> None:
    made = Tool.of(discography).call(
        {"Artist": 1975, "kind": "single", "since": "1975/10/31", "most": "3", "labels": "EMI"}
    )
    assert made.arguments == {
        "artist": "1975", "kind": "Single", "since": "1975-10-31", "most": 3, "labels": ["EMI"],
        "order": "date",
    }  # fmt: skip
    assert made.keywords["kind"] is Kind.SINGLE
    assert made.keywords["since"] == dt.date(1975, 10, 31)
    assert json.loads(made.run().content)["labels"] == ["EMI"]


@pytest.mark.parametrize(("function", "arguments", "words"), [
    (discography, {"artist": "Queen", "most": 0}, ">= 1"),
    (discography, {"artist": "Queen", "kind": "EP"}, '"kind": "Album" | "Single"'),
    (discography, {"artist": "Queen", "labels": "EMI, Elektra"}, "labels"),
    (discography, {"artist": "\ud800"}, "surrogates not allowed"),
    (discography, {"kind": "Album"}, "missing required field `artist`"),
    (lookup, {"title": "x", "year": 12}, "greater than or equal to 1900 - at `year`"),
    (Share, {"part": 1, "whole": 0}, "`whole` is zero"),
    (play, {"name": "x", "minutes": 91}, "<= 90"),
])  # fmt: skip
def test_what_does_not_hold_is_told_with_what_does(
    function: Callable[..., object], arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(ToolError, match="wrong arguments") as caught:
        call(function, arguments)
    assert words in str(caught.value)
    assert "It takes {" in str(caught.value)


@pytest.mark.parametrize(("function", "arguments", "answer"), [
    (lookup, {"title": 39, "year": "1975"}, "39 1975 None"),
    (lookup, "Killer Queen", "Killer Queen None None"),
    (lookup, {"arguments": '{"title": "x"}'}, "x None None"),
    (lookup, {"title": "x", "day": "1975.10.31"}, "x None datetime.date(1975, 10, 31)"),
    (DaysBetween, {"first": "1975-10-31", "second": "1975-11-21"}, "21"),
    (DaysBetween, "first: 1975-10-31\nsecond: 1975-11-21", "21"), (Share, {"part": "0.5"}, "50%"),
    (play, {"name": "x", "minutes": "4"}, '{"name":"x","minutes":4}'),
    (Length, {"minutes": 3}, "Length(minutes=3.0, most=inf)"),
])  # fmt: skip
def test_a_model_gives_its_members_as_the_arguments(
    function: Callable[..., object], arguments: dict[str, object] | str, answer: str
) -> None:
    assert call(function, arguments) == answer


def test_a_model_is_named_as_functions_are_and_described_by_its_fields() -> None:
    assert Tool.of(DaysBetween).signature == "days_between(first: YYYY-MM-DD, second: YYYY-MM-DD)"
    tool = Tool.of(lookup)
    assert tool.about == {"title": "the title of the song"}
    assert set(tool.schema["properties"]) == {"title", "year", "day"}  # type: ignore[call-overload]


def test_limits_are_kept_whichever_library_they_are_from() -> None:
    def note(
        text: Annotated[str | None, pydantic.Field(max_length=3, description="short")] = None,
        tags: Annotated[list[Annotated[int, Ge(0)]], Len(1, 2)] = [1],  # noqa: B006
        code: Annotated[str, pydantic.Field(pattern="^[a-z]$")] = "x",
    ) -> str:
        """Note."""
        return f"{text} {tags} {code}"

    assert Tool.of(note).about == {"text": "short"}
    assert call(note, {"text": None}) == "None [1] x"
    for wrong in ({"text": "long"}, {"tags": [-1]}, {"tags": [1, 2, 3]}, {"code": "X"}):
        with pytest.raises(ToolError):
            call(note, dict(wrong))


def test_arguments_that_are_all_unknown_are_not_taken_for_none_and_null_is_the_default() -> None:
    def note(text: str = "a", more: str | None = "b") -> str:
        """Note."""
        return f"{text} {more}"

    assert call(note, {}) == "a b"
    assert call(note, {"text": None, "more": None}) == "a None"
    assert call(note, {"input": {"text": "c"}}) == "c b"
    for wrong in ({"a": 1, "b": 2}, {"a": 1}):
        with pytest.raises(ToolError, match=r"it has no arguments? `a`"):
            call(note, dict(wrong))


@dataclasses.dataclass(frozen=True)
class Dish:
    name: str
    servings: int = 1


def scale_recipe(name: str, servings: int = 1, dishes: list[Dish] = []) -> str:  # noqa: B006
    """Scale a recipe."""
    return f"{name} {servings} {[dish.servings for dish in dishes]}"


def find_recipe(words: str) -> str:
    """Find a recipe."""
    return words


def open_recipe(name: str, find: str | None = None) -> str:
    """Open a recipe."""
    return f"{name} {find}"


@pytest.mark.parametrize(("function", "arguments", "path"), [
    (scale_recipe, {"name": "Dal", "portions": 4}, "portions"),
    (scale_recipe, {"name": "Dal", "limit": 4}, "limit"),
    (scale_recipe, {"name": "Dal", "portions": False}, "portions"),
    (scale_recipe, "name: Dal\nportions: 4", "portions"),
    (scale_recipe, {"dish": "Dal", "portions": 4}, None),
    (find_recipe, {"words": "Dal", "dry_run": True}, "dry_run"),
    (open_recipe, {"name": "Dal", "type": "starter"}, "type"),
])  # fmt: skip
def test_an_argument_of_an_unknown_name_comes_back_with_the_right_names(
    function: Callable[..., object], arguments: dict[str, object] | str, path: str | None
) -> None:
    with pytest.raises(ToolError, match=re.escape(f"`{path or 'name'}`")) as caught:
        call(function, arguments)
    first = "words" if function is find_recipe else "name"
    assert f'It takes {{"{first}": ...' in str(caught.value)


@pytest.mark.parametrize(("function", "arguments"), [
    (scale_recipe, {"name": "Dal", "Reason": "they are four", "portions": None}),
    (find_recipe, {"words": "Dal", "limit": 5, "id": "call_1"}),
    (open_recipe, {"name": "Dal", "limit": "5"}),
    (scale_recipe, {"name": "Dal", "dishes": [{"name": "Dal", "thought": "so"}]}),
])  # fmt: skip
def test_what_changes_nothing_is_ignored_with_a_note(
    function: Callable[..., object], arguments: dict[str, object]
) -> None:
    made = Tool.of(function).call(arguments)
    assert made.run().content.startswith("Dal")
    ignored = [key for key in arguments if key not in made.arguments]
    assert list(made.notes) == [f"ignored the argument `{key}`" for key in ignored]


def test_a_model_that_takes_any_member_is_given_all() -> None:
    class Open(pydantic.BaseModel, extra="allow"):
        name: str

    def note(arguments: Open) -> str:
        """Note."""
        return str(arguments.model_extra)

    assert call(note, {"name": "Dal", "portions": 4}) == "{'portions': 4}"


def unresolved(name: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821
    """Never."""
    return str(name)


async def slow(name: str) -> str:
    """Wait."""
    return name


def bare(name, *more, query: Query):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN201
    return name, more, query


def odd(thing: object) -> str:
    """Take anything."""
    return str(thing)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (bare, ["bare cannot be a tool", "no docstring", "'name' has no type annotation",
                "'*more' cannot be given by name", "'query' is a pydantic model"]),
        (unresolved, ["cannot be resolved", "Nowhere"]),
        (slow, ["coroutine"]),
        (odd, ["parameter 'thing' has a type without a JSON schema"]),
        (lambda x: x, ["'<lambda>' cannot be the name"]),
        (Kind, ["a class must be a model", "`__call__`"]),
    ],
)  # fmt: skip
def test_all_that_is_missing_is_said(function: Callable[..., object], words: list[str]) -> None:
    with pytest.raises(ToolDefectError) as caught:
        Tool.of(function)
    for word in words:
        assert word in str(caught.value)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefectError, match="two tools called 'lookup'"):
        Toolbox([lookup, Tool.of(lookup)])


@pytest.mark.parametrize(
    "name", ["answer", "FinalAnswer", "submit", "respond", "done", "final_answer"]
)
def test_a_tool_whose_call_would_be_read_as_the_answer_is_refused(name: str) -> None:
    step = Classic().parse(f'Action: {name}\nAction Input: {{"title": "x"}}')
    assert isinstance(step, FinalAnswer)
    with pytest.raises(ToolDefectError, match=f"called '{name}', because .* the final answer"):
        Toolbox([dataclasses.replace(Tool.of(lookup), name=name)])


def test_a_tool_whose_call_would_be_read_as_none_is_refused() -> None:
    with pytest.raises(ToolDefectError, match=r"called 'nothing', because .* no call"):
        Toolbox([dataclasses.replace(Tool.of(lookup), name="nothing")])


@pytest.mark.parametrize(
    ("answer", "shown"),
    [(28, "28"), (None, "Done."), ("text", "text"), (Observation("seen"), "seen"), ({1.5}, "[1.5]"),
     (Query(title="x"), '{"title":"x","year":null,"day":null}'), (ValueError("odd"), '"odd"')],
)  # fmt: skip
def test_whatever_a_function_returns_is_shown(answer: object, shown: str) -> None:
    tool = Tool.of(lambda: answer, name="answer", description="Answer.")
    assert (tool.signature, tool.description) == ("answer()", "Answer.")
    assert tool.call({}).run().content == shown


def test_members_without_an_order_are_written_in_one() -> None:
    def tag(names: set[str]) -> str:
        """Tag."""
        return " ".join(sorted(names))

    assert Tool.of(tag).call({"names": ["b", "c", "a"]}).arguments == {"names": ["a", "b", "c"]}


KEYS = ["artist", "kind", "most", "labels", "title", "year", "day", "first", "name", "input", "x"]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["1e400", "[1", "{}", '{"name": 1}', "1975-02-30", "9" * 400]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=5,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), VALUES) | st.text(max_size=40))
def test_whatever_a_model_writes_is_a_call_or_advice(written: dict[str, object] | str) -> None:
    for function in (discography, lookup, DaysBetween, Share, play):
        try:
            made = Tool.of(function).call(written)
        except ToolError:
            continue
        assert Tool.of(function).call(made.arguments).arguments == made.arguments


KNOWN = ("web_search", "web_fetch", "add", "wikipedia", "musicbrainz")


def test_a_name_is_known_among_words_unless_it_is_doubtful() -> None:
    lines = Path(__file__).with_name("tool_names.txt").read_text("utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if not line.startswith("#")]
    rows += [["goes on", "-", "web_search " + "to be very sure " * 60], ["none", "-", ""]]
    wrong = [row for row in rows if (find_tool(row[2], KNOWN) or "-") != row[1]]
    assert not wrong


def test_of_two_names_alike_but_for_punctuation_only_the_exact_one_is_meant() -> None:
    near = ("get_date", "getdate", "Get-Date")
    written = (*near, "GETDATE", "get date", "use get date", "the getDate tool")
    assert [find_tool(name, near) for name in written] == [*near, None, None, None, None]


NAMES = st.from_regex(r"[a-z]{2,6}(_[a-z]{2,6}){0,2}", fullmatch=True)
TWO = st.lists(NAMES, min_size=2, max_size=3, unique_by=folded)
WORDS = ["use", "the", "tool", "to", "for", "not", "or", "and", "then", "-", ",", "(", ")", "."]


@given(TWO, st.lists(st.sampled_from(WORDS), max_size=6), st.data())
def test_with_two_tools_named_none_is_meant(
    known: list[str], words: list[str], data: st.DataObject
) -> None:
    first, second = data.draw(st.permutations(known))[:2]
    assume(not {folded(first + second), folded(second + first)} & set(map(folded, known)))
    at = data.draw(st.integers(0, len(words)))
    written = " ".join([*words[:at], first, "or", second, *words[at:]])
    assert find_tool(written, known) in {None, same_name(written, known)}
