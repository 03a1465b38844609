"""The log of a run: its events, in memory and in the file of its transcript."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from chart_binder.domain.vocabulary import MBID
from chart_binder.llm.events import AnyRunEvent, StartEvent
from chart_binder.llm.result import FAILED_SERVICE, Check
from chart_binder.react.steps import ObservationStatus
from chart_binder.react.tools import SAYS_NOTHING
from chart_binder.react.transcript import (
    AnyEvent,
    EventHandler,
    ObservationEvent,
    StepEvent,
    record_in_file,
)
from chart_binder.web.documents import host_of

_E = TypeVar("_E")


@dataclass(slots=True)
class RunLog:
    """The events of one run, and the path of their file, if any."""

    handlers: tuple[EventHandler, ...]
    path: Path | None = None
    events: list[AnyEvent] = field(default_factory=list)

    def __call__(self, event: AnyEvent) -> None:
        """Store an event and pass it to the handlers."""
        self.events.append(event)
        for on_event in self.handlers:
            on_event(event)

    def all(self, kind: type[_E]) -> list[_E]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def observed_ids(self) -> set[str]:
        """Return the MusicBrainz ids in observations.

        An id that the call itself named counts only if MusicBrainz answered.
        """
        ids = set[str]()
        for step, observation in observations(self.events):
            if observation.error:
                continue
            hosts = (f".{host_of(source)}" for source in observation.sources)
            observed = _ids(f"{observation.content} {' '.join(observation.sources)}")
            if not any(host.endswith(".musicbrainz.org") for host in hosts):
                observed -= _ids(str(step.arguments))
            ids |= observed
        return ids

    @property
    def transcript(self) -> str | tuple[AnyRunEvent, ...]:
        """The path of the transcript file, or the events if there is no file."""
        return str(self.path) if self.path else cast("tuple[AnyRunEvent, ...]", tuple(self.events))


def observations(events: Iterable[AnyEvent]) -> Iterator[tuple[StepEvent, ObservationEvent]]:
    """Yield each observation with the step that it follows."""
    step = StepEvent("malformed")
    for event in events:
        if isinstance(event, StepEvent):
            step = event
        elif isinstance(event, ObservationEvent):
            yield step, event


def _ids(text: str) -> set[str]:
    return {mbid.casefold() for mbid in MBID.findall(text)}


@contextmanager
def record_run(
    run: StartEvent, folder: Path | None, on_event: EventHandler | None
) -> Iterator[RunLog]:
    """Yield the log of a run; its events are also written to a new file in `folder`, if any."""
    name = f"{run.started_at.replace(':', '')}-{run.evidence_hash[:8]}-{run.id}.jsonl"
    path = folder / name if folder else None
    with record_in_file(path) if path else nullcontext() as recorder:
        yield RunLog(tuple(filter(None, (recorder, on_event))), path if recorder else None)


def failed_services(events: Iterable[AnyEvent]) -> Iterator[Check]:
    """Yield a failed check for each tool whose last call failed because of its service."""
    last = {step.tool: observation for step, observation in observations(events) if step.tool}
    for name, observation in last.items():
        if observation.status is ObservationStatus.UNAVAILABLE:
            reason = (observation.error or "").removesuffix(SAYS_NOTHING).strip()
            yield Check(FAILED_SERVICE, passed=False, detail=f"{name}: {reason}")
