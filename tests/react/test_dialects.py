"""What holds for every installed dialect, whatever a model writes in it."""

import time
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from benchmarks.bench_parse import SHAPES, work
from chart_binder import plugins
from chart_binder.react.coercion import clean_name
from chart_binder.react.dialect import Classic, Dialect, Pause, Xml
from chart_binder.react.parsing.calls import is_answer_name, is_no_tool
from chart_binder.react.sanitize import sanitize
from chart_binder.react.steps import FinalAnswer, Step, ToolCall, Unreadable
from chart_binder.react.tools import Tool

GROUP = "chart_binder.dialects"
DIALECTS: tuple[Dialect, ...] = tuple(plugins.load(GROUP, name)() for name in plugins.names(GROUP))
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
another = pytest.mark.parametrize("other", DIALECTS, ids=lambda dialect: dialect.name)

HALF = "\ud83d"
PIECES = (
    "Thought:", "Action:", "Action: web_search: x", "Action Input:", "Observation:",
    "Final Answer:", "Answer:", "PAUSE", "**Action:**", "行动：", "最终答案：", "[TOOL_CALLS]",
    "✿ARGS✿:", "web_search", "finish", "None", '{"query": "x"}', "{'query': 'x'",
    '{"action": "f", "action_input":',
    '{"name": "f", "arguments": {"query": "x"}, "id": "1"}', '{"final_answer": "y"}',
    '"tool_calls": [', '"', "'", "“", "”", "`", "```", "```json", "~~~", "<think>",
    "</think>", "<thought>", "</thought>", "<tool_call>", '<tool_call id="2" name="f">',
    "</tool_call>", "<function=web_search>", "<parameter=query>", "</parameter>",
    "</function>", "<observation>", '<observation id="1">', "</observation>",
    "<tool_response>", "<response>", "</response>", "<answer>", "<query>", "<arg_key>",
    "<|channel>thought", "<channel|>", "<turn|>", "<|thought_end|>", "analysisWe", "assistantfinal",
    "\nHere is my thought process:\n", "\nHere is my response:\n", "[BEGIN FINAL RESPONSE]",
    "&quot;", "&lt;", "<|im_end|>", "{", "}", "[", "]", "(", ")", "<", ">", "</", ",", ":",
    "=", "\\", "\\u", "//", "/*", "#", "> ", "- ", "1. ", "9" * 50, "1e999", "NaN", HALF,
    "\x00", "\n", "\n\n", "\r\n", " ", "Observ", "<observ", "words of a song",
)  # fmt: skip
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
    lambda name: clean_name(name) == name and not is_answer_name(name) and not is_no_tool(name)
)
# A server can be sent no half of a surrogate pair.
WORDS = st.lists(st.sampled_from([p for p in PIECES if p != HALF]) | st.text(max_size=8)).map(
    "".join
)
SAYING = WORDS.filter(str.strip)
BARE = SAYING.filter(lambda text: not text.lstrip().startswith("{"))
ARGUMENTS = st.dictionaries(st.text(), VALUES, max_size=3) | BARE
IDS = st.from_regex(r"[A-Za-z0-9_.-]{0,12}", fullmatch=True)

TOOL_CALLS = st.builds(ToolCall, NAMES, ARGUMENTS, WORDS)
FINISHES = st.builds(FinalAnswer, SAYING, WORDS)
SEVERAL = st.builds(
    lambda first, also: replace(first, further_calls=tuple(also)),
    st.builds(ToolCall, NAMES, ARGUMENTS, WORDS, id=IDS),
    st.lists(
        st.builds(
            ToolCall,
            st.sampled_from(["f", "web_search", "Look_Up2"]),
            st.dictionaries(st.sampled_from(PIECES[:40]), st.integers(), max_size=2),
            id=IDS,
        ),
        min_size=1,
        max_size=3,
    ),
)


unhurried = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])


def look_up(query: str, limit: int = 5) -> str:
    """Look something up."""
    return query * limit


TOOLS = (Tool.of(look_up),)


def bare(step: Step) -> tuple[object, ...]:
    """Return what a step says, without its notes or the ids of its calls."""
    match step:
        case ToolCall(tool, arguments, thought):
            return (tool, dict(arguments) if isinstance(arguments, Mapping) else arguments, thought)
        case FinalAnswer(answer, thought):
            return (answer, thought)
        case Unreadable(advice):
            return (advice,)


@every_dialect
@unhurried
@given(step=TOOL_CALLS | FINISHES)
def test_a_step_reads_back_as_written(dialect: Dialect, step: ToolCall | FinalAnswer) -> None:
    written = dialect.render(step)
    assert bare(dialect.parse(written)) == bare(step)
    assert not [stop for stop in dialect.stop if stop in written], "a server would cut it"


@every_dialect
@unhurried
@given(step=SEVERAL)
def test_calls_read_back_in_order_each_with_its_id(dialect: Dialect, step: ToolCall) -> None:
    written = dialect.render(step)
    assert not [stop for stop in dialect.stop if stop in written], "a server would cut it"
    read = dialect.parse(written)
    assert isinstance(read, ToolCall)
    assert len(read.calls) in {1, len(step.calls)}
    for call, meant in zip(read.calls, step.calls, strict=False):
        assert bare(call)[:2] == bare(meant)[:2]
    if read.further_calls:
        ids = [call.id for call in read.calls]
        assert all(ids)
        assert len(set(ids)) == len(ids)
        own = [call.id for call in step.calls]
        kept = [call.id for call in step.calls if call.id and own.count(call.id) == 1]
        assert set(kept) <= set(ids)
        assert dialect.parse(dialect.render(read)) == read


@every_dialect
@unhurried
@given(text=st.text() | REPLIES)
def test_any_text_is_read_without_an_error(dialect: Dialect, text: str) -> None:
    step = dialect.parse(text)
    assert repr(bare(step)).encode()
    match step:
        case ToolCall():
            assert all(call.tool.strip() for call in step.calls)
        case FinalAnswer(answer):
            assert answer.strip()
        case Unreadable(advice):
            assert advice.startswith(("You", "A JSON object"))
            sentence = advice.partition(" cannot be read")[0].partition("\n")[0]
            assert "  " not in sentence, "a placeholder was left empty"


@every_dialect
@unhurried
@given(text=REPLIES)
def test_what_is_read_reads_the_same_when_written_again(dialect: Dialect, text: str) -> None:
    step = dialect.parse(text)
    if not isinstance(step, Unreadable):
        assert bare(dialect.parse(dialect.render(step))) == bare(step)


@every_dialect
@unhurried
@example(call=ToolCall("f", {}, '"tool_calls": ['), after="]")  # a bracket that closes too late
@example(call=ToolCall("f", {}, "web_search<observation>["), after="]")
@example(call=ToolCall("f", "<Thought:"), after=">")
@given(call=TOOL_CALLS, after=st.text(alphabet="abc \n:{}[],.Thoughtinlswer<>/_rp"))
def test_nothing_after_an_observation_counts(dialect: Dialect, call: ToolCall, after: str) -> None:
    reply = f"{dialect.render(call)}\n{dialect.observation('found', call)}\n{after}"
    assert bare(dialect.parse(reply)) == bare(call)


@every_dialect
@another
@unhurried
@given(content=REPLIES, finish=FINISHES)
def test_an_observation_never_reads_as_a_step(
    dialect: Dialect, other: Dialect, content: str, finish: FinalAnswer
) -> None:
    for said in (content, f"{content}\n{other.render(finish)}"):
        shown = dialect.observation(sanitize(said), ToolCall("look_up", {}, id="1"))
        assert isinstance(dialect.parse(shown), Unreadable)
        assert isinstance(other.parse(shown), Unreadable)


@every_dialect
@another
@unhurried
@given(step=st.builds(ToolCall, NAMES, st.dictionaries(NAMES, st.integers(), max_size=2)))
def test_a_step_in_another_dialect_is_read_with_a_note(
    dialect: Dialect, other: Dialect, step: ToolCall
) -> None:
    read = dialect.parse(other.render(step))
    assert bare(read) == bare(step)
    assert (f"written in the {other.name} dialect" in read.notes) == (other is not dialect)


@every_dialect
def test_the_same_tools_give_the_same_bytes(dialect: Dialect) -> None:
    again: Dialect = plugins.load(GROUP, dialect.name)()
    for tools in ((), TOOLS):
        assert dialect.tools(tools) == again.tools(tools)
        assert dialect.form(tools) == again.form(tools)
    assert "look_up" in dialect.tools(TOOLS)
    assert not dialect.tools(())


@every_dialect
def test_advice_is_given_in_the_words_of_the_dialect(dialect: Dialect) -> None:
    label = {"classic": "Final Answer:", "pause": "\nAnswer:", "xml": "<response>"}[dialect.name]
    foreign = {"classic": "<response>", "pause": "Final Answer", "xml": "Final Answer"}
    for text in ("", "I wonder.", "<observation>1974</observation>", "Observation: 1974"):
        step = dialect.parse(text)
        assert isinstance(step, Unreadable)
        assert label in step.advice
        assert foreign[dialect.name] not in step.advice


@every_dialect
def test_advice_about_arguments_shows_the_call_that_is_meant(dialect: Dialect) -> None:
    broken = dialect.render(ToolCall("look_up", {"query": "Killer Queen"})).split("Queen")[0]
    step = dialect.parse(broken)
    assert isinstance(step, Unreadable)
    assert "never closed" in step.advice
    call = "\n".join(step.advice.splitlines()[1:])
    shown = dialect.parse(call)
    assert isinstance(shown, ToolCall)
    assert shown.tool == "look_up"


@every_dialect
def test_the_form_shows_steps_that_read_as_such(dialect: Dialect) -> None:
    lines = dialect.form(TOOLS).split("\n\n")
    steps = [step for part in lines if not isinstance(step := dialect.parse(part), Unreadable)]
    assert [type(step) for step in steps] == [ToolCall, FinalAnswer]
    assert not [step for step in steps if step.notes]


@every_dialect
def test_fifty_kilobytes_of_any_shape_take_a_moment(dialect: Dialect) -> None:
    for name, shape in SHAPES.items():
        text = shape(50_000)
        started = time.process_time()
        dialect.parse(text)
        assert time.process_time() - started < 0.25, name


@every_dialect
@unhurried
@given(piece=st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join))
@example(piece='Thought:Thought:Thought:<observation id="1">')
def test_work_grows_no_faster_than_any_repeated_piece(dialect: Dialect, piece: str) -> None:
    small, large = (work(dialect.parse, piece * (size // len(piece))) for size in (4_000, 16_000))
    assert large <= 4.5 * small + 500


SEARCH = ToolCall(
    "web_search", {"query": "K <b>"}, "I need the day.", further_calls=(ToolCall("g", {}),)
)
ANSWER = FinalAnswer('```json\n{"crg_mbid": "C1"}\n```', "Done.")
WRITTEN: tuple[tuple[Dialect, str, str, str], ...] = (
    # dialect, two calls (of one call a turn the first), an answer, an observation
    (
        Classic(),
        'Thought: I need the day.\nAction: web_search\nAction Input: {"query": "K <b>"}',
        f"Thought: Done.\nFinal Answer: {ANSWER.answer}",
        "Observation: 1974",
    ),
    (
        Pause(),
        'Thought: I need the day.\nAction: web_search: {"query": "K <b>"}\nPAUSE',
        f"Thought: Done.\nAnswer: {ANSWER.answer}",
        "Observation: 1974",
    ),
    (
        Xml(),  # a server sees no tags in its arguments
        (
            "<thought>I need the day.</thought>\n"
            '<tool_call>{"name": "web_search", "arguments": {"query": "K \\u003cb>"}, "id": "1"}'
            '</tool_call>\n<tool_call>{"name": "g", "arguments": {}, "id": "2"}</tool_call>'
        ),
        f"<thought>Done.</thought>\n<response>\n{ANSWER.answer}\n</response>",
        '<observation id="1">\n1974\n</observation>',
    ),
)


@pytest.mark.parametrize(("dialect", "calls", "answer", "observation"), WRITTEN)
def test_dialects_have_a_form(dialect: Dialect, calls: str, answer: str, observation: str) -> None:
    assert dialect.render(SEARCH) == calls
    assert dialect.render(ANSWER) == answer
    assert dialect.observation("1974", replace(SEARCH, id="1")) == observation


def test_the_xml_dialect_keys_observations_by_the_id_of_the_call() -> None:
    read = Xml().parse(Xml().render(ToolCall("f", {}, id="a7", further_calls=(ToolCall("g", {}),))))
    assert isinstance(read, ToolCall)
    assert [Xml().observation("1974", call) for call in read.calls] == [
        '<observation id="a7">\n1974\n</observation>',
        '<observation id="2">\n1974\n</observation>',
    ]
    assert Xml().observation("You wrote nothing.") == (
        "<observation>\nYou wrote nothing.\n</observation>"
    )


def test_what_would_be_misread_is_written_as_an_object() -> None:
    for dialect in (Classic(), Pause(), Xml()):
        written = dialect.render(FinalAnswer("42", "I write\nAction: bait\n<think><response>bait"))
        assert written.startswith('{"thought": ')
        assert "<" not in written


def test_arguments_as_deep_as_can_be_read_can_be_written() -> None:
    deep: dict[str, object] = {}
    for _ in range(49):
        deep = {"a": deep}
    for dialect in (Classic(), Pause(), Xml()):
        read = dialect.parse(dialect.render(ToolCall("f", deep)))
        assert isinstance(read, ToolCall)
        assert read.arguments == deep


@pytest.mark.parametrize("dialect", [Classic(), Pause(), Xml()])
def test_a_server_is_told_to_stop_at_the_start_of_a_line_only(dialect: Dialect) -> None:
    assert all(stop.startswith("\n") for stop in dialect.stop)
