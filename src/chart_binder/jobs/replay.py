"""Run a recorded adjudication again, without network or model."""

from pathlib import Path
from typing import TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.errors import ConfigError, TranscriptError
from chart_binder.jobs.recorded import read_recorded
from chart_binder.llm.confidence_map import ConfidenceMap
from chart_binder.llm.installed_tools import with_tools_here
from chart_binder.llm.prompt import Prompt
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import AdjudicationResult
from chart_binder.react.replay import Replay
from chart_binder.react.transcript import Run, Watch
from chart_binder.typed import converted

Options = TypeVar("Options", bound=BaseModel)
Part = TypeVar("Part")


def replay(path: Path, watch: Watch | None = None) -> AdjudicationResult:
    """Return what the recorded run comes to today. Raises `TranscriptError`."""
    recorded = read_recorded(path)
    run = recorded.run
    if run is None or run.evidence is None:
        raise TranscriptError(
            f"{path}: has no run line with evidence: a canned transcript is played with"
            " llm.provider = replay and llm.model_id = its file"
        )
    config = with_tools_here(_options(LLMConfig, run, "llm", path))
    adjudicator = ReActAdjudicator(
        config.model_copy(update={"enabled": True}),
        chat=Replay(recorded.events),
        watch=watch,
        knobs=_options(RulesConfig, run, "rules", path),
        prompt=_handed_over(Prompt, run, "prompt", path),
        calibration=_handed_over(ConfidenceMap, run, "calibration", path),
    )
    return adjudicator.adjudicate(run.evidence)


def _handed_over(kind: type[Part], run: Run, key: str, path: Path) -> Part | None:
    """Return a part that is recorded whole, for the configuration does not lead to it."""
    if (recorded := run.options.get(key)) is None:
        return None
    try:
        return converted(recorded, kind)
    except (msgspec.ValidationError, ConfigError) as error:
        raise TranscriptError(f"{path}: its {key} is not understood: {error}") from error


def _options(kind: type[Options], run: Run, key: str, path: Path) -> Options:
    try:
        return kind.model_validate(run.options.get(key) or {})
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise TranscriptError(f"{path}: its options are not understood: {told}") from error
