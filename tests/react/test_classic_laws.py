"""What holds for every reply, whatever a model writes."""

import sys
import time
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.bench_parse import SHAPES
from chart_binder.react.dialects.classic import Classic
from chart_binder.react.json.lenient import LenientJSONError, read_json
from chart_binder.react.reading.turn_object import is_finisher, is_no_tool
from chart_binder.react.steps import Act, Finish, Malformed, Step
from chart_binder.react.tool_names import clean_name

HALF = "\ud83d"
PIECES = (
    "Thought:",
    "Action:",
    "Action Input:",
    "Observation:",
    "Final Answer:",
    "**Action:**",
    "行动：",
    "最终答案：",
    "[TOOL_CALLS]",
    "✿ARGS✿:",
    "web_search",
    "finish",
    "None",
    '{"query": "x"}',
    "{'query': 'x'",
    '{"action": "f", "action_input":',
    '{"final_answer": "y"}',
    '"',
    "'",
    "“",
    "”",
    "`",
    "```",
    "```json",
    "~~~",
    "<think>",
    "</think>",
    "<|im_end|>",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    "\\",
    "\\u",
    "//",
    "/*",
    "#",
    "> ",
    "- ",
    "1. ",
    "9" * 50,
    "1e999",
    "NaN",
    HALF,
    "\x00",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "Observ",
    "words of a song",
)
REPLIES = st.lists(st.sampled_from(PIECES) | st.text(max_size=4)).map("".join)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,20}", fullmatch=True).filter(
    lambda name: clean_name(name) == name and not is_finisher(name) and not is_no_tool(name)
)
# A server can be sent no half of a surrogate pair.
WORDS = st.lists(st.sampled_from([p for p in PIECES if p != HALF]) | st.text(max_size=8)).map(
    "".join
)
SAYING = WORDS.filter(str.strip)
BARE = SAYING.filter(lambda text: not text.lstrip().startswith("{"))


ACTS = st.builds(Act, NAMES, st.dictionaries(st.text(), VALUES, max_size=3) | BARE, WORDS)
FINISHES = st.builds(Finish, SAYING, WORDS)


def bare(step: Step) -> tuple[object, ...]:
    match step:
        case Act(tool, arguments, thought):
            return (tool, dict(arguments) if isinstance(arguments, Mapping) else arguments, thought)
        case Finish(answer, thought):
            return (answer, thought)
        case Malformed(advice):
            return (advice,)


@given(ACTS | FINISHES)
def test_a_step_reads_back_as_it_was_written(step: Act | Finish) -> None:
    dialect = Classic()
    assert bare(dialect.parse(dialect.render(step))) == bare(step)


@given(st.text() | REPLIES)
def test_any_text_is_read_without_an_error(text: str) -> None:
    step = Classic().parse(text)
    match step:
        case Act(tool):
            assert tool.strip()
        case Finish(answer):
            assert answer.strip()
        case Malformed(advice):
            assert advice.startswith("You")


@given(REPLIES)
def test_what_is_read_can_be_encoded(text: str) -> None:
    assert repr(bare(Classic().parse(text))).encode()


@given(REPLIES)
def test_what_is_read_reads_the_same_when_written_again(text: str) -> None:
    dialect = Classic()
    step = dialect.parse(text)
    if not isinstance(step, Malformed):
        assert bare(dialect.parse(dialect.render(step))) == bare(step)


@given(st.text() | REPLIES)
def test_json_is_read_or_its_defect_named(text: str) -> None:
    value, defect = None, ""
    try:
        value, _ = read_json(text)
    except LenientJSONError as error:
        defect = str(error)
    assert isinstance(value, dict) != bool(defect)


@given(ACTS, st.text(alphabet="abc \n:{}[],.Thoughtinlswer"))
def test_nothing_after_an_observation_changes_an_action(act: Act, after: str) -> None:
    dialect = Classic()
    reply = f"{dialect.render(act)}\nObservation: found\n{after}"
    assert bare(dialect.parse(reply)) == bare(act)


@pytest.mark.parametrize("name", SHAPES)
def test_work_grows_no_faster_than_a_reply(name: str) -> None:
    small, large = (work(Classic().parse, SHAPES[name](size)) for size in (20_000, 80_000))
    assert large <= 4.5 * small + 100


@pytest.mark.parametrize("name", SHAPES)
def test_two_hundred_kilobytes_take_a_moment(name: str) -> None:
    text = SHAPES[name](200_000)
    started = time.process_time()
    Classic().parse(text)
    assert time.process_time() - started < 1.0


def work(parse: Callable[[str], object], text: str) -> int:
    """Count calls of functions, built-in ones too: the same on every machine."""
    count = 0

    def counting(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        parse(text)
    finally:
        sys.setprofile(before)
    return count


def test_an_action_is_written_as_labelled_lines() -> None:
    written = Classic().render(Act("web_search", {"query": "Björk 1993"}, "I need the day."))
    assert written == (
        'Thought: I need the day.\nAction: web_search\nAction Input: {"query": "Björk 1993"}'
    )


def test_a_fenced_answer_is_written_as_it_is() -> None:
    answer = '```json\n{"crg_mbid": "C1"}\n```'
    assert Classic().render(Finish(answer, "Done.")) == f"Thought: Done.\nFinal Answer: {answer}"


def test_what_lines_would_misread_is_written_as_an_object() -> None:
    written = Classic().render(Finish("42", "I write\nAction: bait\n<think>"))
    assert written.startswith('{"thought": ')
    assert "<think>" not in written
