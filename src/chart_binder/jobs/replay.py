"""Run a recorded adjudication again, without network or model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.errors import TranscriptError
from chart_binder.files import read_named
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import AdjudicationResult
from chart_binder.react.replay import Replay
from chart_binder.react.transcript import (
    AnyEvent,
    Result,
    Run,
    TranscriptDefectError,
    Watch,
    read_transcript,
)

Options = TypeVar("Options", bound=BaseModel)


def read_recorded(path: Path) -> tuple[AnyEvent, ...]:
    """Read a transcript file, or raise `CanonError`."""
    try:
        events = tuple(read_transcript(read_named(path).splitlines(keepends=True)))
    except TranscriptDefectError as error:
        raise TranscriptError(f"{path}: no transcript: {error}") from error
    if not events:
        raise TranscriptError(f"{path}: no transcript: it holds no whole line")
    return events


def replay(path: Path, watch: Watch | None = None) -> AdjudicationResult:
    """Return what the recorded run comes to today. Raises `TranscriptError`."""
    events = read_recorded(path)
    run = next((event for event in events if isinstance(event, Run) and event.evidence), None)
    if run is None or run.evidence is None:
        raise TranscriptError(
            f"{path}: has no run line with evidence: a canned transcript is played with"
            " llm.provider = replay and llm.model_id = its file"
        )
    adjudicator = ReActAdjudicator(
        _options(LLMConfig, run, "llm", path).model_copy(update={"enabled": True}),
        chat=Replay(events),
        watch=watch,
        knobs=_options(RulesConfig, run, "rules", path),
    )
    return adjudicator.adjudicate(run.evidence)


def recorded_result(events: Sequence[AnyEvent]) -> dict[str, Any] | None:
    """Return the result that was recorded, if the run came to one."""
    return next((event.result for event in reversed(events) if isinstance(event, Result)), None)


def _options(kind: type[Options], run: Run, key: str, path: Path) -> Options:
    try:
        return kind.model_validate(run.options.get(key) or {})
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise TranscriptError(f"{path}: its options are not understood: {told}") from error
