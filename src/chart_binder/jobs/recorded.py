"""A recorded run, read from its file, whole or as a killed process left it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from chart_binder import plugins
from chart_binder.config import LLMConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import EvidenceError, PluginError, TranscriptError
from chart_binder.files import read_named
from chart_binder.llm.result import AdjudicationResult
from chart_binder.react.dialect import Dialect
from chart_binder.react.transcript import (
    AnyEvent,
    Result,
    Run,
    Said,
    TranscriptDefectError,
    read_transcript,
)
from chart_binder.react.turns import Turn, turns
from chart_binder.typed import converted


@dataclass(frozen=True)
class Recorded:
    """What a transcript file holds; `is_cut` when its last line was only half written."""

    events: tuple[AnyEvent, ...]
    is_cut: bool = False

    @cached_property
    def run(self) -> Run | None:
        """How the run began; a canned transcript does not say."""
        return next((event for event in self.events if isinstance(event, Run)), None)

    @cached_property
    def opening(self) -> tuple[Said, ...]:
        """The messages that opened the conversation."""
        return tuple(event for event in self.events if isinstance(event, Said))

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """What was said and done."""
        return tuple(turns(self.events))

    @cached_property
    def result(self) -> dict[str, Any] | None:
        """What the run came to, if it came to anything."""
        results = (event.result for event in reversed(self.events) if isinstance(event, Result))
        return next(results, None)

    @cached_property
    def outcome(self) -> AdjudicationResult | None:
        """The result as the value it was, if it can still be read as one."""
        try:
            return converted(self.result, AdjudicationResult) if self.result else None
        except msgspec.ValidationError:
            return None

    @cached_property
    def bundle(self) -> EvidenceBundle | None:
        """The evidence the run was about, if it was recorded and can still be read."""
        try:
            return read_bundle(self.run.evidence) if self.run and self.run.evidence else None
        except EvidenceError:
            return None

    @cached_property
    def dialect(self) -> Dialect | None:
        """The dialect the model wrote in, if it is installed here."""
        try:
            dialect: Dialect = plugins.load("chart_binder.dialects", self._dialect)()
        except PluginError:
            return None
        return dialect

    @property
    def _dialect(self) -> str:
        return (self.run and self.run.dialect) or LLMConfig().dialect

    @property
    def missing(self) -> str:
        """What a run that did not end lacks, in one sentence; empty for one that did."""
        cut = "its last line is only half written" if self.is_cut else ""
        is_canned = self.run is None or not self.run.started_at
        if self.result is not None or is_canned:
            return cut
        unfinished = "no result was recorded: the run was killed, or is still going on"
        return f"{unfinished}; {cut}" if cut else unfinished


def read_recorded(path: Path) -> Recorded:
    """Read a transcript file, or raise `CanonError`."""
    lines = read_named(path).splitlines(keepends=True)
    try:
        events = tuple(read_transcript(lines))
    except TranscriptDefectError as error:
        raise TranscriptError(f"{path}: no transcript: {error}") from error
    if not events:
        raise TranscriptError(f"{path}: no transcript: it holds no whole line")
    return Recorded(events, is_cut=len(events) < sum(1 for line in lines if line.strip()))
