"""The log of a run, in memory and in the file of its transcript, and the records that it shows.

An answer may name only records that the tool `musicbrainz` showed in this run, because a page may
print ids or imitate the tool. `FindRecordings`, not the model, decides whether a recording of such
a record is the performance in question.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar, cast

import msgspec

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.domain.patches import field_named
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import CanonError
from chart_binder.llm.answer import ParsedAnswer
from chart_binder.llm.events import AnyRunEvent, EvidenceEvent, StartEvent
from chart_binder.llm.open_case import RECORDING, OpenCase
from chart_binder.llm.result import FAILED_SERVICE, Check, Fact
from chart_binder.react.steps import ObservationStatus
from chart_binder.react.transcript import (
    AnyEvent,
    EventHandler,
    ObservationEvent,
    ReplyEvent,
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
            yield Check(FAILED_SERVICE, passed=False, detail=f"{name}: {observation.error}")


SITE = "https://musicbrainz.org"
"""The source of a fact that MusicBrainz confirms."""
_TOOL = "musicbrainz"
_SHOWN = re.compile(rf"\b(release-group|recording)(?:/| id )({MBID.pattern})", re.IGNORECASE)
_MAX_LOOKED_UP = 4
"""Records that are looked up in one run, each with a few requests."""


class FindRecordings(Protocol):
    """Finds at MusicBrainz what a record adds to the evidence."""

    def __call__(
        self, bundle: EvidenceBundle, kind: str, mbid: str
    ) -> tuple[RecordingCandidate, ...]:
        """Return the recordings of the performance on a `release-group` or of a `recording`.

        Raises `LookupFailedError`, and `NothingFoundError` with the reason if there are none.
        """


class _AddedRecordings(msgspec.Struct, frozen=True):
    recording_candidates: tuple[RecordingCandidate, ...] = ()


@dataclass(slots=True)
class RecordFinder:
    """Finds the records that the answers of one run name, each once, and logs what they add.

    `recorded` holds what was found when a replayed run was recorded.
    """

    log: RunLog
    find: FindRecordings | None
    recorded: Mapping[str, EvidenceEvent]
    seconds_left: Callable[[], float]
    _events: dict[str, EvidenceEvent] = field(default_factory=dict)

    def shown(self) -> Mapping[str, str]:
        """Return the kind of each record that MusicBrainz showed in this run, by its id."""
        pairs = (
            pair
            for step, observation in observations(self.log.events)
            if step.tool == _TOOL and not observation.error
            for pair in _SHOWN.findall(observation.content)
        )
        return {mbid.casefold(): kind.casefold() for kind, mbid in pairs}

    def named_in(self, answer: ParsedAnswer) -> Sequence[str]:
        """Return the ids of the shown records that an answer names, in order."""
        texts = [answer.crg or ""]
        for fact in answer.facts:
            texts += (fact.about, fact.value if field_named(fact.field) == RECORDING else "")
        shown_ids = self.shown()
        ids = (mbid for text in texts for mbid in MBID.findall(text.casefold()))
        return [mbid for mbid in dict.fromkeys(ids) if mbid in shown_ids]

    def add(self, bundle: EvidenceBundle, mbid: str) -> tuple[RecordingCandidate, ...] | str:
        """Return the recordings that a shown record adds to the evidence, or why it adds none."""
        name = f"{self.shown()[mbid]}/{mbid}"
        if name not in self._events:
            event = self.recorded.get(name) or self._look_up(bundle, name)
            turn = len(self.log.all(ReplyEvent))
            self._events[name] = msgspec.structs.replace(event, iteration=turn)
            self.log(self._events[name])
        event = self._events[name]
        try:
            return (
                event.problem or msgspec.convert(event.added, _AddedRecordings).recording_candidates
            )
        except msgspec.ValidationError as error:  # a transcript written by hand
            return f"what was recorded of it cannot be read: {error}"

    def recording_problem(self, case: OpenCase, fact: Fact) -> str | None:
        """Return why MusicBrainz does not confirm the recording of a fact; None if it does."""
        ids = MBID.findall(fact.value.casefold())
        if len(ids) != 1:
            return f"{fact.value!r} is not one MusicBrainz id"
        mbid = ids[0]
        groups = [
            group
            for recording in case.bundle.recording_candidates
            for group in recording.groups
            if mbid in (group.mb_rg_id, recording.mb_recording_id)
        ]
        if not groups:
            event = self._events.get(f"{self.shown().get(mbid)}/{mbid}")
            return (event and event.problem) or f"MusicBrainz did not show {mbid} in this run"
        releases = {release.mb_release_id for group in groups for release in group.editions}
        if fact.about in {*releases, *(group.mb_rg_id for group in groups)}:
            return None
        return f"MusicBrainz does not list it on {case.labels.name_of(fact.about)}"

    def _look_up(self, bundle: EvidenceBundle, name: str) -> EvidenceEvent:
        kind, _, mbid = name.partition("/")
        if self.find is None:
            return EvidenceEvent(
                record=name, problem="no record can be looked up at MusicBrainz here"
            )
        if len(self._events) >= _MAX_LOOKED_UP or self.seconds_left() <= 0:
            return EvidenceEvent(record=name, problem="no further record is looked up in this run")
        try:
            recordings = _AddedRecordings(self.find(bundle, kind, mbid))
        except CanonError as error:
            return EvidenceEvent(record=name, problem=str(error))
        return EvidenceEvent(record=name, added=msgspec.to_builtins(recordings))
