"""What other parsers make of our corpus: `python tests/benchmarks/bench_readers.py`.

    pip install -e '.[compare]'

Every reply of `tests/react/replies/classic.jsonl` is given to LangChain's parser for ReAct, to
LlamaIndex's, and to ours. They are judged kindly. LangChain's sees a reply up to where it asks a
server to stop. A call is right where the tool's name is exact and the input, as JSON or bare, comes
to the arguments that were meant; an answer is read by our own lenient reader; of a reply that makes
no sense any error is right. The corpus is ours, made together with our parser, and holds forms the
others never promised to read: the shares say how much of what small models write gets lost, not who
reads his own format best.

Answers are *taken* where a reply gives none and the parser returns an object with an id all the
same: from behind an observation the model made up, from its thinking, from a quotation. It fails
where ours takes one, or misreads a reply.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.react.dialect import Classic
from chart_binder.react.parsing.answers import read_answer_object
from chart_binder.react.parsing.lenient_json import LenientJSONError
from chart_binder.react.steps import FinalAnswer, ToolCall, Unreadable
from chart_binder.react.tools import ToolError
from react.test_parsing import TOOLS, Expected, corpus

Read: TypeAlias = ToolCall | FinalAnswer | None
Reader: TypeAlias = Callable[[str], Read]
NAMES = {tool.name for tool in TOOLS.tools}


def main() -> int:
    """Print the shares; return 1 where ours are not perfect."""
    rows = [row for name, row in corpus() if name == "classic"]
    none_given = sum(row.expect.kind != "finish" for row in rows)
    print(f"{len(rows)} replies, {none_given} of which give no answer")
    flawed = 0
    for name, read in readers():
        found = Counter(verdict(read(row.text), row.expect) for row in rows)
        share = found["right"] / len(rows)
        print(f"{name:12} {share:6.1%} read as meant, {found['taken']:3} answers taken")
        flawed += name == "ours" and (share < 1 or found["taken"] > 0)
    return int(flawed > 0)


def readers() -> Iterator[tuple[str, Reader]]:
    """Yield the parsers that are installed."""
    yield "ours", ours
    for name, package, reader in (
        ("LangChain", "langchain_classic", langchain),
        ("LlamaIndex", "llama_index", llama_index),
    ):
        if find_spec(package):
            yield name, reader()
        else:
            print(f"left out: {name}, for {package} is not installed")


def verdict(read: Read, expect: Expected) -> str:
    """Return what one reply is counted as."""
    answer, call = answered(read), called(read)
    if expect.kind != "finish" and answer and any("mbid" in key for key in answer):
        return "taken"
    wanted = (expect.tool, expect.arguments) if expect.tool else None
    return "right" if (answer, call) == (expect.answer, wanted) else "lost"


def answered(read: Read) -> dict[str, object] | None:
    """Return the object of an answer."""
    if not isinstance(read, FinalAnswer):
        return None
    try:
        return read_answer_object(read.answer)[0]
    except LenientJSONError:
        return None


def called(read: Read) -> tuple[str, dict[str, object]] | None:
    """Return the call that would be made."""
    if not isinstance(read, ToolCall):
        return None
    try:
        call = TOOLS.resolve(read)
    except (ToolError, UnicodeEncodeError):  # the others let half a letter through
        return None
    return call.tool.name, {key: value for key, value in call.arguments.items() if value != ""}


def ours(reply: str) -> Read:
    """Read with the classic dialect."""
    step = Classic().parse(reply)
    return None if isinstance(step, Unreadable) else step


def langchain() -> Reader:
    """Return the parser of the classic ReAct agent."""
    from langchain_classic.agents.output_parsers import ReActSingleInputOutputParser
    from langchain_core.agents import AgentFinish
    from langchain_core.exceptions import OutputParserException

    parser = ReActSingleInputOutputParser()

    def read(reply: str) -> Read:
        try:
            step = parser.parse(reply.partition("\nObservation")[0])
        except OutputParserException:
            return None
        if isinstance(step, AgentFinish):
            return FinalAnswer(str(step.return_values["output"]))
        return named(step.tool, step.tool_input)

    return read


def llama_index() -> Reader:
    """Return the parser of the ReAct agent."""
    from llama_index.core.agent.react import ReActOutputParser
    from llama_index.core.agent.react.types import ActionReasoningStep

    parser = ReActOutputParser()

    def read(reply: str) -> Read:
        try:
            step = parser.parse(reply)
        except Exception:  # noqa: BLE001 (it promises no kind of its own)
            return None
        if isinstance(step, ActionReasoningStep):
            return named(step.action, step.action_input)
        return FinalAnswer(str(step.response))

    return read


def named(tool: str, given: object) -> ToolCall | None:
    """Return a call by an exact name, its input an object where it is one."""
    if tool not in NAMES:
        return None
    if isinstance(given, dict):
        return ToolCall(tool, given)
    try:
        plain = json.loads(str(given))
    except ValueError:
        plain = None
    return ToolCall(tool, plain if isinstance(plain, dict) else str(given))


if __name__ == "__main__":
    sys.exit(main())
