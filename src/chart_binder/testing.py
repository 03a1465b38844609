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

import msgspec
import pytest
from msgspec import UNSET

from chart_binder.errors import TranscriptError, counted
from chart_binder.jobs.transcripts import RecordedRun, read_recording
from chart_binder.llm.acceptance import SENT_BACK
from chart_binder.llm.events import EvidenceEvent, Playback, ReadingEvent, ReadingScript
from chart_binder.react.conversation import ChatError, GenerationOptions, Message, Reply
from chart_binder.react.loop import LOOKED_UP
from chart_binder.react.sanitize import sanitize
from chart_binder.react.tools import Observation, Tool, ToolError
from chart_binder.react.transcript import Exchange, TranscriptTurn

__all__ = ["CannedModel", "Play", "TranscriptMismatch", "canned", "play"]

_HOW_TO_MEND = "If the change is meant, record the run again: docs/testing.md says how."
_MOST_COMPARED, _MOST_LINES, _MOST_CHARACTERS, _MOST_BRIEF = 1_000, 40, 500, 90


class TranscriptMismatch(BaseException):
    """The conversation is not the recorded one; the text says where, and what was expected.

    It is no `Exception`, like pytest's own failures, because tested code may catch those.
    """


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_BRIEF else f"{line[: _MOST_BRIEF - 1]}…"


def _call_text(tool: str | None, arguments: object) -> str:
    return f"{tool} {json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)}"


def _versus(expected: str, found: str) -> Iterator[str]:
    """Yield both where they are a line each, else the lines that differ."""
    a, b = (text.splitlines()[:_MOST_COMPARED] for text in (expected, found))
    if max(len(a), len(b)) <= 1:
        yield f"  expected     {''.join(a)[:_MOST_CHARACTERS]}"
        yield f"  found        {''.join(b)[:_MOST_CHARACTERS]}"
        return
    yield "  expected (-) and found (+):"
    differing = list(unified_diff(a, b, lineterm="", n=1))[3:]
    yield from (f"    {line[:_MOST_CHARACTERS]}" for line in differing[:_MOST_LINES])
    if len(differing) > _MOST_LINES:
        yield f"    ... {len(differing) - _MOST_LINES} lines more"


class CannedModel:
    """A chat model with `tools` that play a transcript, and check the conversation against it.

    `message` lines check the opening, `step` lines each call, `step` and `observation` lines what
    the model is shown; `reply` lines alone, that all of them are asked for and no more. `departure`
    is the first difference, raised when the model is asked next and again by `finish`, because a
    pipeline may swallow it.
    """

    def __init__(self, name: str, recorded: RecordedRun, tools: Iterable[Tool]) -> None:
        self.departure: TranscriptMismatch | None = None
        self.tools = tuple(self._played(tool) for tool in tools)
        self._name = name
        self._recorded = recorded
        self._turns = [(turn, turn.reply) for turn in recorded.turns if turn.reply]
        self._lookups = [turn for turn in recorded.turns if turn.reply is None]
        self.playback = Playback(
            self,
            ReadingScript(event for event in recorded.events if isinstance(event, ReadingEvent)),
            tuple(
                exchange.step.call
                for turn in self._lookups
                for exchange in turn.exchanges
                if exchange.step
            ),
            {event.record: event for event in recorded.events if isinstance(event, EvidenceEvent)},
        )
        self._has_steps = any(each.step for turn in recorded.turns for each in turn.exchanges)
        self._given = 0
        self._answered = 0
        self._log: list[str] = []

    @property
    def model_id(self) -> str:
        """The model that was recorded, else the name of the file."""
        run = self._recorded.run
        return (run and run.model_id) or self._name

    @property
    def evidence(self) -> dict[str, object] | None:
        """The evidence bundle of a whole recording."""
        run = self._recorded.run
        return run.evidence if run else None

    @property
    def result(self) -> dict[str, Any] | None:
        """The result of a whole recording."""
        return self._recorded.result

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:  # noqa: ARG002
        """Return the next recorded reply; raise `TranscriptMismatch`, or `ChatError` as recorded.

        An answer that is sent back at the end of the transcript stands as it is.
        """
        __tracebackhide__ = True
        self._raise_departure()
        if self._given:
            new = takewhile(lambda message: message.role != "assistant", reversed(messages))
            self._check_observations("\n".join(reversed([message.content for message in new])))
        else:
            self._check_opening(messages)
        if self._given == len(self._turns):
            if self.result and self.result.get("outcome") == "error":
                raise ChatError(str(self.result.get("problem")))
            if messages and SENT_BACK in messages[-1].content:
                raise ChatError("the transcript ends with the answer before")
            raise self._departs(
                f"it goes on after turn {self._given}, the last",
                "no further turn",
                _brief(messages[-1].content) if messages else "no message at all",
            )
        self._given, self._answered = self._given + 1, 0
        said = self._turns[self._given - 1][1].reply
        self._log.append(f"turn {self._given}: reply {_brief(said.content)!r}")
        return said

    def finish(self) -> None:
        """Raise `TranscriptMismatch` unless the whole conversation took place as recorded."""
        __tracebackhide__ = True
        self._raise_departure()
        if self._given:
            self._check_calls()
        left = self._turns[self._given :]
        if left:
            after = f"it ends after turn {self._given}" if self._given else "it never began"
            turn, said = left[0]
            expected = said.content
            raise self._departs(
                f"{after}, {counted(len(left), 'reply', 'replies')} unplayed",
                f"turn {turn.number}: reply {_brief(expected)!r}",
                "nothing was asked of the model any more",
            )

    def __enter__(self) -> Self:
        """Return itself, to be finished at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Finish, unless the block has failed already."""
        if kind is None:
            self.finish()

    @property
    def _turn(self) -> TranscriptTurn:
        """The turn under way; before the first reply what code looked up, if it was recorded."""
        if self._given:
            return self._turns[self._given - 1][0]
        return self._lookups[0] if self._lookups else TranscriptTurn(0, None, ())

    def _raise_departure(self) -> None:
        if self.departure:
            raise self.departure

    def _departs(self, where: str, expected: str, found: str) -> TranscriptMismatch:
        lines = [
            f"the conversation departs from {self._name}: {where}",
            *(f"  as recorded  {line}" for line in self._log),
            *_versus(expected, found),
            _HOW_TO_MEND,
        ]
        self.departure = TranscriptMismatch("\n".join(lines))
        return self.departure

    def _played(self, tool: Tool) -> Tool:
        """Return the tool as the model sees it, its work replaced by what was recorded."""

        def play(**keywords: object) -> Observation:
            __tracebackhide__ = True
            given = {name: value for name, value in keywords.items() if value is not UNSET}
            model = tool.arguments.model_parameter
            try:
                arguments = tool.arguments.to_json(given[model] if model else given)
                return self._answer(tool.name, arguments)
            except (
                TranscriptMismatch
            ) as error:  # a loop bears whatever a tool does: it is raised again soon
                raise ToolError("the conversation has departed from its transcript") from error

        return replace(tool, function=play, per_run=None)

    def _answer(self, tool: str, arguments: dict[str, object]) -> Observation:
        __tracebackhide__ = True
        self._raise_departure()
        called = _call_text(tool, arguments)
        exchanges = self._turn.exchanges[self._answered :]
        # What is recorded between was answered without a tool: a repeated call, an unknown tool.
        for place, exchange in enumerate(exchanges, start=1):
            step = exchange.step
            if step is None or (step.kind, step.tool, step.arguments) == ("act", tool, arguments):
                self._answered += place
                self._log.append(f"turn {self._given}: {called}")
                return exchange.observed(tool)
        if self._given and not self._has_steps and not self._turn.exchanges:
            self._log.append(f"turn {self._given}: {called}, which has no recorded answer")
            return Exchange().observed(tool)
        raise self._departs(
            f"a call in turn {self._given}", _expected(exchanges) or "no call", called
        )

    def _check_opening(self, messages: Sequence[Message]) -> None:
        expected = [(said.role, said.content) for said in self._recorded.opening]
        if not expected:
            return
        found = [(str(message.role), message.content) for message in messages]
        if self._turn.exchanges and len(found) == len(expected):
            role, content = found[-1]
            found[-1] = role, _without_lookups(content, expected[-1][1])
        for number, (one, other) in enumerate(zip_longest(expected, found), start=1):
            if one != other:
                role, *_ = one or other or ("",)
                texts = (each[1] if each else "(no such message)" for each in (one, other))
                raise self._departs(f"opening message {number} ({role})", *texts)

    def _check_observations(self, shown: str) -> None:
        """Check that the model is shown what it was shown, where the steps tell what for."""
        self._check_calls()
        for exchange in self._turn.exchanges:
            seen = exchange.observation
            if exchange.step and seen and not _stands_in(seen.content, shown):
                raise self._departs(
                    f"what the model is shown after turn {self._given}", seen.content, shown
                )

    def _check_calls(self) -> None:
        """Check that every answer was asked for, where no step tells what it answered."""
        for exchange in self._turn.exchanges[self._answered :]:
            seen = exchange.observation
            if exchange.step is None and seen and not seen.error:
                raise self._departs(
                    f"turn {self._given} calls no tool",
                    f"a call that is answered {_brief(seen.content)!r}",
                    "no call",
                )


def _without_lookups(content: str, expected: str) -> str:
    """Return an opening message without what code looked up, which stands below it."""
    heading = f"\n\n{LOOKED_UP} "
    if content.startswith(expected + heading):
        return expected
    return content.partition(heading)[0]


def _stands_in(content: str, shown: str) -> bool:
    """Return whether an observation is shown: as it is, sanitized, or inside a JSON text."""
    forms = (content, sanitize(content), msgspec.json.encode(content).decode()[1:-1])
    return any(form in shown for form in forms)


def _expected(exchanges: Sequence[Exchange]) -> str:
    steps = (exchange.step for exchange in exchanges)
    calls = (step for step in steps if step and step.kind == "act")
    return next((_call_text(step.tool, step.arguments) for step in calls), "")


class Play(Protocol):
    """Plays a transcript file; a relative path is taken from the test's own folder."""

    def __call__(self, file: str | Path, *, tools: Sequence[Tool] | None = None) -> CannedModel:
        """Return the conversation; `tools` are those it replaces, by default those of `canon`."""
        ...


def play(file: str | Path, *, tools: Sequence[Tool] | None = None) -> CannedModel:
    """Return a `CannedModel` for a transcript file, to be ended by a `with` block or `finish`.

    No tool is called: `tools` lend their names and arguments. Raises `CanonError`.
    """
    from chart_binder.config import LLMConfig
    from chart_binder.llm.tools import default_tools

    path = Path(file)
    recorded = read_recording(path)
    if recorded.is_cut:
        raise TranscriptError(f"{path}: no transcript: {recorded.missing}")
    return CannedModel(path.name, recorded, default_tools(LLMConfig()) if tools is None else tools)


_PLAYED: pytest.StashKey[list[CannedModel]] = pytest.StashKey()


@pytest.fixture
def canned(request: pytest.FixtureRequest) -> Play:
    """Return a function that plays transcript files; a departure from one fails the test."""
    played = request.node.stash.setdefault(_PLAYED, [])

    def begin(file: str | Path, *, tools: Sequence[Tool] | None = None) -> CannedModel:
        run = play(request.path.parent / file, tools=tools)
        played.append(run)
        return run

    return begin


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test at its end if a conversation was not played to its end as recorded."""
    try:
        yield
        for run in item.stash.get(_PLAYED, []):
            run.finish()
    except TranscriptMismatch as error:
        message = str(error)
    else:
        return
    pytest.fail(message, pytrace=False)  # the way it came through the loop explains nothing


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Name, beside another failure, the departures that what was tested swallowed."""
    report = yield
    if report.failed and call.when == "call":
        for run in item.stash.get(_PLAYED, []):
            if run.departure and str(run.departure) not in report.longreprtext:
                report.sections.append(("Departure from a transcript", str(run.departure)))
    return report
