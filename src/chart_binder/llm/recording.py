"""The record of a run, and the records at MusicBrainz that it shows and that answers name.

Only a record that the tool `musicbrainz` itself showed in this run may be named: what a page says
is no record, though it print ids or imitate the tool. Whether a recording of it is the performance
that is asked about is not the model's to say: see `FindRecordings`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

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
from chart_binder.react.tools import SAYS_NOTHING
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

    watches: tuple[EventHandler, ...]
    path: Path | None = None
    events: list[AnyEvent] = field(default_factory=list)

    def __call__(self, event: AnyEvent) -> None:
        """Keep an event and pass it to the watchers."""
        self.events.append(event)
        for on_event in self.watches:
            on_event(event)

    def all(self, kind: type[_E]) -> list[_E]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def found_ids(self) -> set[str]:
        """Return the MusicBrainz ids in observations, other than those that the call itself named.

        Those count where MusicBrainz answered.
        """
        found = set[str]()
        for step, seen in _answers(self.events):
            brought = _ids(f"{seen.content} {' '.join(seen.sources)}") if not seen.error else set()
            hosts = (f".{host_of(source)}" for source in seen.sources)
            is_known = any(host.endswith(".musicbrainz.org") for host in hosts)
            found |= brought if is_known else brought - _ids(str(step.arguments))
        return found

    @property
    def place(self) -> str | tuple[AnyRunEvent, ...]:
        """Where the transcript is: a file's path, or the events themselves."""
        return str(self.path) if self.path else cast("tuple[AnyRunEvent, ...]", tuple(self.events))


def _answers(events: Iterable[AnyEvent]) -> Iterator[tuple[StepEvent, ObservationEvent]]:
    """Yield each observation with the step that it follows."""
    step = StepEvent("malformed")
    for event in events:
        if isinstance(event, StepEvent):
            step = event
        elif isinstance(event, ObservationEvent):
            yield step, event


def _ids(text: str) -> set[str]:
    return {found.casefold() for found in MBID.findall(text)}


@contextmanager
def record_run(
    run: StartEvent, folder: Path | None, on_event: EventHandler | None
) -> Iterator[RunLog]:
    """Record a run in a new file of `folder`, if there is one."""
    name = f"{run.started_at.replace(':', '')}-{run.evidence_hash[:8]}-{run.id}.jsonl"
    path = folder / name if folder else None
    with record_in_file(path) if path else nullcontext() as recorder:
        yield RunLog(tuple(filter(None, (recorder, on_event))), path if recorder else None)


def failed_services(events: Iterable[AnyEvent]) -> Iterator[Check]:
    """Yield a failed check for each tool whose last call failed because of its service."""
    last = {step.tool: seen for step, seen in _answers(events) if step.tool}
    for name, seen in last.items():
        if seen.status is ObservationStatus.UNAVAILABLE:
            reason = (seen.error or "").removesuffix(SAYS_NOTHING).strip()
            yield Check(FAILED_SERVICE, passed=False, detail=f"{name}: {reason}")


SITE = "https://musicbrainz.org"
"""The source of what was found there."""
_TOOL = "musicbrainz"
_SHOWN = re.compile(rf"\b(release-group|recording)(?:/| id )({MBID.pattern})", re.IGNORECASE)
_MAX_LOOKED_UP = 4
"""Records of one run that are looked up, each with some requests."""


class FindRecordings(Protocol):
    """Finds at MusicBrainz what a record adds to the evidence."""

    def __call__(
        self, bundle: EvidenceBundle, kind: str, mbid: str
    ) -> tuple[RecordingCandidate, ...]:
        """Return the recordings of a `release-group` or a `recording` that are the performance.

        Raises `NothingFoundError`, which says why none is, and `LookupFailedError`.
        """


class _Added(msgspec.Struct, frozen=True):
    recording_candidates: tuple[RecordingCandidate, ...] = ()


@dataclass(slots=True)
class RecordFinder:
    """Finds the records that answers of one run name, each once, and records what they add.

    `recorded` has what was found when a run that is replayed was recorded.
    """

    record: RunLog
    find: FindRecordings | None
    recorded: Mapping[str, EvidenceEvent]
    seconds_left: Callable[[], float]
    _events: dict[str, EvidenceEvent] = field(default_factory=dict)

    def shown(self) -> Mapping[str, str]:
        """Return the kind of each record that MusicBrainz showed in this run, by its id."""
        pairs = (
            pair
            for step, seen in _answers(self.record.events)
            if step.tool == _TOOL and not seen.error
            for pair in _SHOWN.findall(seen.content)
        )
        return {mbid.casefold(): kind.casefold() for kind, mbid in pairs}

    def named_in(self, answer: ParsedAnswer) -> Sequence[str]:
        """Return the ids of records that were shown and that an answer names, in order."""
        texts = [answer.crg or ""]
        for fact in answer.facts:
            texts += (fact.about, fact.value if field_named(fact.field) == RECORDING else "")
        shown = self.shown()
        named = (mbid for text in texts for mbid in MBID.findall(text.casefold()))
        return [mbid for mbid in dict.fromkeys(named) if mbid in shown]

    def add(self, bundle: EvidenceBundle, mbid: str) -> tuple[RecordingCandidate, ...] | str:
        """Return what a record that was shown adds to the evidence, or why it adds nothing."""
        name = f"{self.shown()[mbid]}/{mbid}"
        if name not in self._events:
            event = self.recorded.get(name) or self._look_up(bundle, name)
            turn = len(self.record.all(ReplyEvent))
            self._events[name] = msgspec.structs.replace(event, iteration=turn)
            self.record(self._events[name])
        event = self._events[name]
        try:
            return event.problem or msgspec.convert(event.added, _Added).recording_candidates
        except msgspec.ValidationError as error:  # of a transcript that somebody wrote
            return f"what was recorded of it cannot be read: {error}"

    def why_not(self, case: OpenCase, fact: Fact) -> str | None:
        """Return why the fact does not stand that a record has a recording; None if it does."""
        named = MBID.findall(fact.value.casefold())
        if len(named) != 1:
            return f"{fact.value!r} is not one MusicBrainz id"
        recordings = case.bundle.recording_candidates
        groups = [group for one in recordings for group in one.groups if group.mb_rg_id == named[0]]
        groups += [g for one in recordings if one.mb_recording_id == named[0] for g in one.groups]
        if not groups:
            kind = self.shown().get(named[0])
            event = self._events.get(f"{kind}/{named[0]}")
            return (event and event.problem) or f"MusicBrainz did not show {named[0]} in this run"
        carriers = {one.mb_release_id for group in groups for one in group.editions}
        if fact.about in {*carriers, *(group.mb_rg_id for group in groups)}:
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
            added = _Added(self.find(bundle, kind, mbid))
        except CanonError as error:
            return EvidenceEvent(record=name, problem=str(error))
        plain: dict[str, Any] = msgspec.to_builtins(added)
        return EvidenceEvent(record=name, added=plain)
