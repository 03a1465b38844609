"""What goes from stage to stage of a batch, also from process to process."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from chart_binder.jobs.decide import Case
from chart_binder.jobs.decision import Decision
from chart_binder.jobs.kept_case import Kept


class Stage(StrEnum):
    """The stages that a file goes through, in their order."""

    READ = "read"
    EVIDENCE = "evidence"
    RULES = "rules"
    ADJUDICATE = "adjudicate"
    STORE = "store"
    WRITE = "write"


Seconds = Mapping[Stage, float]


@dataclass(frozen=True, slots=True)
class Settled:
    """A file that is decided, left open or failed; `kept` is absent where nothing is to be kept.

    One that `is_given` is a bundle, with a name in place of a path.

    One that is `resumed` was settled by an earlier run; a pinned one is so whatever comes out now.
    """

    path: Path
    decision: Decision
    kept: Kept | None = None
    seconds: Seconds = field(default_factory=dict)
    is_resumed: bool = False
    is_given: bool = False
    is_pinned: bool = False
    is_answered_before: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """An open case that waits for the adjudicator; `before` is its file before it was read."""

    path: Path
    before: os.stat_result | None
    case: Case
    seconds: Seconds = field(default_factory=dict)
    is_given: bool = False

    @property
    def known_as(self) -> str:
        """The evidence hash: cases of the same one are asked about once."""
        return self.case.decision.evidence_hash or ""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What came of an album: files that are settled, and open cases.

    `requests` is how many requests the process `worker` has sent to MusicBrainz since it began.
    """

    settled: tuple[Settled, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    worker: str = ""
    requests: int = 0
