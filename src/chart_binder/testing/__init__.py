"""For those who test: a pytest fixture that plays a canned transcript against an adjudicator.

`pytest_plugins = ["chart_binder.testing"]` in the top `conftest.py` makes it known. It is no
automatic plug-in, so that nobody's test run pays for it who does not ask.
"""

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from chart_binder.errors import TranscriptError
from chart_binder.jobs.recorded import read_recorded
from chart_binder.react.tools import Tool
from chart_binder.testing.canned import Canned
from chart_binder.testing.departure import Departure

__all__ = ["Canned", "Departure", "Play", "canned", "play"]


class Play(Protocol):
    """Begins to play a transcript file; a relative path is taken from the test's own folder."""

    def __call__(self, file: str | Path, *, tools: Sequence[Tool] | None = None) -> Canned:
        """Return the conversation; `tools` are stood in for, by default those of `canon`."""
        ...


def play(file: str | Path, *, tools: Sequence[Tool] | None = None) -> Canned:
    """Return what plays a transcript file; a `with` block, or `finish`, ends it.

    No tool is called: `tools` lend their names, descriptions and arguments. Raises `CanonError`
    for a file that is no transcript.
    """
    path = Path(file)
    recorded = read_recorded(path)
    if recorded.is_cut:
        raise TranscriptError(f"{path}: no transcript: {recorded.missing}")
    return Canned(path.name, recorded, _usual_tools() if tools is None else tools)


@pytest.fixture
def canned(request: pytest.FixtureRequest) -> Play:
    """Play transcript files; a conversation that departs from its file fails the test."""
    played = request.node.stash.setdefault(_PLAYED, [])

    def begin(file: str | Path, *, tools: Sequence[Tool] | None = None) -> Canned:
        run = play(request.path.parent / file, tools=tools)
        played.append(run)
        return run

    return begin


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test, at its end, whose conversations were not played as recorded, and to the end."""
    played = item.stash.get(_PLAYED, [])
    try:
        yield
        for run in played:
            run.finish()
    except Departure as error:
        told = str(error)
    else:
        return
    pytest.fail(told, pytrace=False)  # the way it came through the loop explains nothing


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


def _usual_tools() -> Sequence[Tool]:
    from chart_binder.config import LLMConfig  # noqa: PLC0415 (who has tools of their own needs none)
    from chart_binder.llm.installed_tools import default_tools  # noqa: PLC0415 (as above)

    return default_tools(LLMConfig())


_PLAYED: pytest.StashKey[list[Canned]] = pytest.StashKey()
