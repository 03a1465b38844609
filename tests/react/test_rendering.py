"""How steps are written, dialect by dialect."""

from chart_binder.react.dialects.classic import Classic
from chart_binder.react.dialects.pause import Pause
from chart_binder.react.dialects.xml import Xml
from chart_binder.react.steps import Act, Finish

SEARCH = Act("web_search", {"query": "Björk 1993"}, "I need the day.")
ANSWER = Finish('```json\n{"crg_mbid": "C1"}\n```', "Done.")


def test_the_classic_dialect_writes_labelled_lines() -> None:
    assert Classic().render(SEARCH) == (
        'Thought: I need the day.\nAction: web_search\nAction Input: {"query": "Björk 1993"}'
    )
    assert Classic().render(ANSWER) == f"Thought: Done.\nFinal Answer: {ANSWER.answer}"
    assert Classic().observation("1974", SEARCH) == "Observation: 1974"


def test_the_pause_dialect_writes_the_call_on_one_line() -> None:
    assert Pause().render(SEARCH) == (
        'Thought: I need the day.\nAction: web_search: {"query": "Björk 1993"}\nPAUSE'
    )
    assert Pause().render(ANSWER) == f"Thought: Done.\nAnswer: {ANSWER.answer}"
    assert Pause().observation("1974", SEARCH) == "Observation: 1974"


def test_the_xml_dialect_writes_tags_with_the_calls_in_json() -> None:
    assert Xml().render(SEARCH) == (
        "<thought>I need the day.</thought>\n"
        '<tool_call>{"name": "web_search", "arguments": {"query": "Björk 1993"}, "id": "1"}'
        "</tool_call>"
    )
    assert Xml().render(ANSWER) == (
        f"<thought>Done.</thought>\n<response>\n{ANSWER.answer}\n</response>"
    )


def test_the_xml_dialect_keys_observations_by_the_id_of_the_call() -> None:
    read = Xml().parse(Xml().render(Act("f", {}, id="a7", also=(Act("g", {}),))))
    assert isinstance(read, Act)
    assert [Xml().observation("1974", call) for call in read.calls] == [
        '<observation id="a7">\n1974\n</observation>',
        '<observation id="2">\n1974\n</observation>',
    ]
    assert Xml().observation("You wrote nothing.") == (
        "<observation>\nYou wrote nothing.\n</observation>"
    )


def test_a_dialect_of_one_call_a_turn_writes_the_first() -> None:
    several = Act("f", {"a": 1}, id="a7", also=(Act("g", {}),))
    assert Classic().render(several) == 'Action: f\nAction Input: {"a": 1}'
    assert Pause().render(several) == 'Action: f: {"a": 1}\nPAUSE'


def test_tags_in_arguments_are_written_so_that_no_server_sees_them() -> None:
    written = Xml().render(Act("f", {"query": "the <observation> tag"}))
    assert "the \\u003cobservation> tag" in written


def test_what_would_be_misread_is_written_as_an_object() -> None:
    for dialect in (Classic(), Pause(), Xml()):
        written = dialect.render(Finish("42", "I write\nAction: bait\n<think><response>bait"))
        assert written.startswith('{"thought": ')
        assert "<" not in written


def test_arguments_as_deep_as_can_be_read_can_be_written() -> None:
    deep: dict[str, object] = {}
    for _ in range(49):
        deep = {"a": deep}
    for dialect in (Classic(), Pause(), Xml()):
        read = dialect.parse(dialect.render(Act("f", deep)))
        assert isinstance(read, Act)
        assert read.arguments == deep
