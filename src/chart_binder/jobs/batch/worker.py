"""One process' share of a batch: files are read and looked up, open cases are looked into."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import msgspec

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.errors import LookupFailedError
from chart_binder.jobs.batch.albums import Album
from chart_binder.jobs.batch.work import Gathered, Settled, Stage, Waiting
from chart_binder.jobs.decide import Case, Decider, guarded
from chart_binder.jobs.decision import Cause, State
from chart_binder.jobs.kept_case import Under, file_status, to_keep
from chart_binder.llm.result import AdjudicationResult

_MOST_IN_A_ROW = 3
"""Failed look-ups after which the rest of an album is left for another run."""

Facts = Callable[[Path], EvidenceBundle]
"""Returns the evidence for a file, or raises `CanonError`."""


class EvidenceOfAlbums(Protocol):
    """Where the evidence for the files of one album comes from."""

    def of(self, paths: Sequence[Path]) -> Facts:
        """Read the files, and return what finds the evidence for each; raises nothing yet."""
        ...

    @property
    def requests(self) -> int:
        """Requests that this process has sent to MusicBrainz."""
        ...


@dataclass(frozen=True, slots=True)
class Worker:
    """Does the work of one process; threads may share it.

    Once `stopping` is set, the files of an album that are not begun are left for another run.
    """

    evidence: EvidenceOfAlbums
    decider: Decider
    under: Under
    stopping: threading.Event = field(default_factory=threading.Event)

    def gather(self, album: Album) -> Gathered:
        """Look up the files of an album, and decide by rules what they decide."""
        if self.stopping.is_set():
            return Gathered((), (), _worker(), self.evidence.requests)
        before = [file_status(path) for path in album.paths]
        started = time.monotonic()
        facts = self.evidence.of(album.paths)
        read_s = (time.monotonic() - started) / len(album.paths)
        patient = _Patient(facts)
        met = [
            self._decided(path, status, patient, read_s)
            for path, status in zip(album.paths, before, strict=True)
            if not self.stopping.is_set()
        ]
        waiting = tuple(one for one in met if self.decider.is_for_adjudicator(one.case))
        settled = tuple(
            self.settled(one) for one in met if not self.decider.is_for_adjudicator(one.case)
        )
        return Gathered(settled, waiting, _worker(), self.evidence.requests)

    def look_into(self, waiting: Waiting) -> Settled:
        """Let the adjudicator look into an open case."""
        started = time.monotonic()
        case = guarded(lambda: self.decider.looked_into(waiting.case))
        if case.bundle is None:  # a fault: what was found is kept all the same
            found = waiting.case.decision
            failed = msgspec.structs.replace(
                found, state=State.ERROR, error=case.decision.error, cause=case.decision.cause
            )
            case = replace(waiting.case, decision=failed)
        seconds = {**waiting.seconds, Stage.ADJUDICATE: time.monotonic() - started}
        return self.settled(replace(waiting, case=case, seconds=seconds))

    def answered(self, waiting: Waiting, result: AdjudicationResult) -> Settled:
        """Settle an open case by what was answered of the same evidence before."""
        case = guarded(lambda: self.decider.answered(waiting.case, result))
        return replace(self.settled(replace(waiting, case=case)), is_answered_before=True)

    def settled(self, one: Waiting) -> Settled:
        """Return the file with what is to be kept of it.

        What is no file is not kept; nor that nobody looked, for what was found before says more.
        """
        decision = one.case.decision
        before = one.before if decision.cause is not Cause.NOT_LOOKED_UP else None
        kept = to_keep(one.case, one.path, before, self.under) if before else None
        return Settled(one.path, decision, kept, one.seconds, is_given=one.is_given)

    def _decided(
        self, path: Path, before: os.stat_result | None, facts: Facts, read_s: float
    ) -> Waiting:
        moments = [time.monotonic()]

        def make() -> Case:
            bundle = facts(path)
            moments.append(time.monotonic())
            return self.decider.by_rules(bundle)

        case = guarded(make)
        moments.append(time.monotonic())
        return Waiting(path, before, case, dict(_stages(read_s, moments)))


@dataclass(slots=True)
class _Patient:
    """Looks up the files of an album, as long as not too many fail in a row."""

    facts: Facts
    in_a_row: int = 0

    def __call__(self, path: Path) -> EvidenceBundle:
        if self.in_a_row >= _MOST_IN_A_ROW:
            raise LookupFailedError(
                f"not looked up, for {self.in_a_row} of its album before it failed"
            )
        try:
            bundle = self.facts(path)
        except LookupFailedError:
            self.in_a_row += 1
            raise
        self.in_a_row = 0
        return bundle


def _stages(read_s: float, moments: Sequence[float]) -> Iterator[tuple[Stage, float]]:
    """Yield what the stages took that were come to."""
    yield Stage.READ, read_s
    stages = (Stage.EVIDENCE, Stage.RULES)
    for stage, begun, ended in zip(stages, moments, moments[1:], strict=False):
        yield stage, ended - begun


def _worker() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
