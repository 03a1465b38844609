"""A pytest fixture that plays canned transcripts against an adjudicator: docs/testing.md.

`pytest_plugins = ["chart_binder.testing"]` in the top `conftest.py` loads it. It is not loaded
automatically, so that other test runs do not pay for it.
"""

import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import unified_diff
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any, Protocol, Self

import pytest
from msgspec import UNSET

from chart_binder.errors import TranscriptError, counted
from chart_binder.jobs.transcripts import RecordedRun, read_recording
from chart_binder.llm.events import Playback
from chart_binder.llm.prompt import RESERVED_LABELS
from chart_binder.react.conversation import ChatError, GenerationOptions, Message, Reply
from chart_binder.react.sanitize import sanitize
from chart_binder.react.tools import Observation, Tool, Toolbox, ToolError, ToolLike
from chart_binder.react.transcript import Exchange, TranscriptTurn

__all__ = ["CannedModel", "Play", "TranscriptMismatch", "canned", "play"]

_HOW_TO_MEND = "If the change is intended, record the run again: docs/testing.md says how."
_MAX_COMPARED, _MAX_LINES, _MAX_CHARS, _MAX_BRIEF = 1_000, 40, 500, 90


class TranscriptMismatch(BaseException):
    """The conversation differs from the recorded one; the text says where, and what was expected.

    Like pytest's failures it is not an `Exception`, because the tested code may catch those.
    """


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_BRIEF else f"{line[: _MAX_BRIEF - 1]}…"


def _call_text(tool: str | None, arguments: object) -> str:
    return f"{tool} {json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)}"


def _difference(expected: str, actual: str) -> Iterator[str]:
    """Yield both texts if each is one line, else the lines that differ."""
    expected_lines, actual_lines = (
        text.splitlines()[:_MAX_COMPARED] for text in (expected, actual)
    )
    if max(len(expected_lines), len(actual_lines)) <= 1:
        yield f"  expected     {''.join(expected_lines)[:_MAX_CHARS]}"
        yield f"  found        {''.join(actual_lines)[:_MAX_CHARS]}"
        return
    yield "  expected (-) and found (+):"
    differing = list(unified_diff(expected_lines, actual_lines, lineterm="", n=1))[3:]
    yield from (f"    {line[:_MAX_CHARS]}" for line in differing[:_MAX_LINES])
    if len(differing) > _MAX_LINES:
        yield f"    ... {len(differing) - _MAX_LINES} lines more"


class CannedModel:
    """A chat model with `tools` that plays a transcript and checks the conversation against it.

    The opening is checked against `message` lines, calls against `step` lines, and what the model
    is shown against `step` with `observation` lines. Every `reply` line must be used, and no more
    may be needed. `departure` is the first difference. It is raised when the model is asked next,
    and again by `finish`, because the tested code may catch it.
    """

    def __init__(self, name: str, recorded: RecordedRun, tools: Iterable[ToolLike]) -> None:
        self.departure: TranscriptMismatch | None = None
        self.tools = tuple(self._played(tool) for tool in Toolbox(tools).tools)
        self._name = name
        self._recorded = recorded
        self._turns = [(turn, turn.reply) for turn in recorded.turns if turn.reply]
        self._lookups = [turn for turn in recorded.turns if turn.reply is None]
        whole = Playback.of(recorded.events)
        self.playback = Playback(self, whole.readings, whole.opening_calls, whole.records)
        self._has_steps = any(
            exchange.step for turn in recorded.turns for exchange in turn.exchanges
        )
        self._turn_number = 0
        self._next_exchange = 0
        self._log: list[str] = []

    @property
    def model_id(self) -> str:
        """The recorded model, or the name of the file."""
        run = self._recorded.run
        return (run and run.model_id) or self._name

    @property
    def evidence(self) -> dict[str, object] | None:
        """The evidence bundle of a complete recording."""
        run = self._recorded.run
        return run.evidence if run else None

    @property
    def result(self) -> dict[str, Any] | None:
        """The result of a complete recording."""
        return self._recorded.result_document

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:  # noqa: ARG002
        """Return the next recorded reply.

        Raises `TranscriptMismatch`, and `ChatError` if the recorded run ended with an error, or if
        the last recorded answer is sent back.
        """
        __tracebackhide__ = True
        self._raise_departure()
        if self._turn_number:
            new = takewhile(lambda message: message.role != "assistant", reversed(messages))
            self._check_observations("\n".join(reversed([message.content for message in new])))
        else:
            self._check_opening(messages)
        if self._turn_number == len(self._turns):
            if self.result and self.result.get("outcome") == "error":
                raise ChatError(str(self.result.get("problem")))
            if messages and messages[-1].answer_stands:
                raise ChatError("the transcript ends with the answer before")
            raise self._departs(
                f"it goes on after turn {self._turn_number}, the last",
                "no further turn",
                _brief(messages[-1].content) if messages else "no message at all",
            )
        self._turn_number, self._next_exchange = self._turn_number + 1, 0
        reply = self._turns[self._turn_number - 1][1].reply
        self._log.append(f"turn {self._turn_number}: reply {_brief(reply.content)!r}")
        return reply

    def finish(self) -> None:
        """Raise `TranscriptMismatch` unless the conversation took place completely as recorded."""
        __tracebackhide__ = True
        self._raise_departure()
        if self._turn_number:
            self._check_calls()
        unplayed = self._turns[self._turn_number :]
        if unplayed:
            where = (
                f"it ends after turn {self._turn_number}" if self._turn_number else "it never began"
            )
            turn, reply = unplayed[0]
            expected = reply.content
            raise self._departs(
                f"{where}, {counted(len(unplayed), 'reply', 'replies')} unplayed",
                f"turn {turn.number}: reply {_brief(expected)!r}",
                "nothing was asked of the model any more",
            )

    def __enter__(self) -> Self:
        """Return itself; the end of the block calls `finish`."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Call `finish`, unless the block failed."""
        if kind is None:
            self.finish()

    @property
    def _turn(self) -> TranscriptTurn:
        """The current turn; before the first reply, what code looked up."""
        if self._turn_number:
            return self._turns[self._turn_number - 1][0]
        return self._lookups[0] if self._lookups else TranscriptTurn(0, None, ())

    def _raise_departure(self) -> None:
        if self.departure:
            raise self.departure

    def _departs(self, where: str, expected: str, actual: str) -> TranscriptMismatch:
        lines = [
            f"the conversation departs from {self._name}: {where}",
            *(f"  as recorded  {line}" for line in self._log),
            *_difference(expected, actual),
            _HOW_TO_MEND,
        ]
        self.departure = TranscriptMismatch("\n".join(lines))
        return self.departure

    def _played(self, tool: Tool) -> Tool:
        """Return a tool with the same arguments that returns the recorded results."""

        def play(**keywords: object) -> Observation:
            __tracebackhide__ = True
            arguments = {name: value for name, value in keywords.items() if value is not UNSET}
            model = tool.arguments.model_parameter
            try:
                json_arguments = tool.arguments.to_json(arguments[model] if model else arguments)
                return self._answer(tool.name, json_arguments)
            except TranscriptMismatch as error:  # it is raised again when the model is asked
                raise ToolError("the conversation has departed from its transcript") from error

        return replace(tool, function=play, per_run=None)

    def _answer(self, tool: str, arguments: dict[str, object]) -> Observation:
        __tracebackhide__ = True
        self._raise_departure()
        call_text = _call_text(tool, arguments)
        exchanges = self._turn.exchanges[self._next_exchange :]
        # Earlier steps ran no tool: their calls were repeated or named an unknown tool.
        for place, exchange in enumerate(exchanges, start=1):
            step = exchange.step
            if step is None or (step.kind, step.tool, step.arguments) == ("act", tool, arguments):
                self._next_exchange += place
                self._log.append(f"turn {self._turn_number}: {call_text}")
                return exchange.observed(tool)
        if self._turn_number and not self._has_steps and not self._turn.exchanges:
            self._log.append(f"turn {self._turn_number}: {call_text}, which has no recorded answer")
            return Exchange().observed(tool)
        raise self._departs(
            f"a call in turn {self._turn_number}", _expected(exchanges) or "no call", call_text
        )

    def _check_opening(self, messages: Sequence[Message]) -> None:
        expected = [(message.role, message.content) for message in self._recorded.opening]
        if not expected:
            return
        actual = [(str(message.role), message.content) for message in messages]
        if self._turn.exchanges and len(actual) == len(expected):
            (role, content), evidence = actual[-1], expected[-1][1]
            if content.startswith(f"{evidence}\n\n"):  # look-ups stand below the evidence
                actual[-1] = role, evidence
        for number, (expected_message, actual_message) in enumerate(
            zip_longest(expected, actual), start=1
        ):
            if expected_message != actual_message:
                role, *_ = expected_message or actual_message or ("",)
                texts = (
                    message[1] if message else "(no such message)"
                    for message in (expected_message, actual_message)
                )
                raise self._departs(f"opening message {number} ({role})", *texts)

    def _check_observations(self, seen_text: str) -> None:
        """Check that the model is shown the recorded observations of recorded steps."""
        self._check_calls()
        for exchange in self._turn.exchanges:
            observation = exchange.observation
            if exchange.step and observation and not _is_shown(observation.content, seen_text):
                raise self._departs(
                    f"what the model is shown after turn {self._turn_number}",
                    observation.content,
                    seen_text,
                )

    def _check_calls(self) -> None:
        """Check that a call used every observation without a recorded step."""
        for exchange in self._turn.exchanges[self._next_exchange :]:
            observation = exchange.observation
            if exchange.step is None and observation and not observation.error:
                raise self._departs(
                    f"turn {self._turn_number} calls no tool",
                    f"a call that is answered {_brief(observation.content)!r}",
                    "no call",
                )


def _is_shown(content: str, seen_text: str) -> bool:
    """Return whether an observation is shown, unchanged or sanitized."""
    return content in seen_text or sanitize(content, RESERVED_LABELS) in seen_text


def _expected(exchanges: Sequence[Exchange]) -> str:
    steps = (exchange.step for exchange in exchanges)
    calls = (step for step in steps if step and step.kind == "act")
    return next((_call_text(step.tool, step.arguments) for step in calls), "")


class Play(Protocol):
    """Plays a transcript file; a relative path starts at the folder of the test."""

    def __call__(self, file: str | Path, *, tools: Sequence[ToolLike] | None = None) -> CannedModel:
        """Return the conversation; its tools replace `tools`, by default those of `canon`."""
        ...


def play(file: str | Path, *, tools: Sequence[ToolLike] | None = None) -> CannedModel:
    """Return a `CannedModel` for a transcript file. Use a `with` block, or call `finish`.

    No tool is called; only the names and arguments of `tools` are used. Raises `CanonError`.
    """
    from chart_binder.config import LLMConfig
    from chart_binder.llm.tools import default_tools

    path = Path(file)
    recorded = read_recording(path)
    if recorded.is_cut:
        raise TranscriptError(f"{path}: not a complete transcript: {recorded.missing}")
    return CannedModel(path.name, recorded, default_tools(LLMConfig()) if tools is None else tools)


_PLAYED: pytest.StashKey[list[CannedModel]] = pytest.StashKey()


@pytest.fixture
def canned(request: pytest.FixtureRequest) -> Play:
    """Return a function that plays transcript files; a departure from a file fails the test."""
    played = request.node.stash.setdefault(_PLAYED, [])

    def begin(file: str | Path, *, tools: Sequence[ToolLike] | None = None) -> CannedModel:
        run = play(request.path.parent / file, tools=tools)
        played.append(run)
        return run

    return begin


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test if a conversation did not take place completely as recorded."""
    try:
        yield
        for run in item.stash.get(_PLAYED, []):
            run.finish()
    except TranscriptMismatch as error:
        message = str(error)
    else:
        return
    pytest.fail(message, pytrace=False)  # the traceback explains nothing
