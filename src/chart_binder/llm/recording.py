"""The record of a run: its events, written to a file as they happen, and what is read off them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from chart_binder.domain.vocabulary import MBID
from chart_binder.llm.result import Check
from chart_binder.react.tools import SAYS_NOTHING
from chart_binder.react.transcript import (
    AnyEvent,
    Observed,
    Run,
    Stepped,
    Watch,
    record_in_file,
)
from chart_binder.web.documents import host_of

FAILED_SERVICE = "unanswered"
"""The name of the check for a service that failed: the run is worth repeating."""
_E = TypeVar("_E")


@dataclass(slots=True)
class Record:
    """The events of one run, and the path of their file, if any."""

    watches: tuple[Watch, ...]
    path: Path | None = None
    events: list[AnyEvent] = field(default_factory=list)

    def __call__(self, event: AnyEvent) -> None:
        """Keep an event and pass it to the watchers."""
        self.events.append(event)
        for watch in self.watches:
            watch(event)

    def all(self, kind: type[_E]) -> list[_E]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def found_ids(self) -> set[str]:
        """Return the MusicBrainz ids that observations contain.

        An id that the model itself wrote into the call does not count when it comes back, unless
        MusicBrainz answered.
        """
        asked, found = "", set[str]()
        for event in self.events:
            if isinstance(event, Stepped):
                asked = str(event.arguments)
            elif isinstance(event, Observed) and not event.error:
                brought = _ids(f"{event.content} {' '.join(event.sources)}")
                hosts = (f".{host_of(source)}" for source in event.sources)
                is_known = any(host.endswith(".musicbrainz.org") for host in hosts)
                found |= brought if is_known else brought - _ids(asked)
        return found

    @property
    def place(self) -> str | tuple[AnyEvent, ...]:
        """Where the transcript is: a file's path, or the events themselves."""
        return str(self.path) if self.path else tuple(self.events)


def _ids(text: str) -> set[str]:
    return {found.casefold() for found in MBID.findall(text)}


@contextmanager
def record_run(run: Run, folder: Path | None, watch: Watch | None) -> Iterator[Record]:
    """Record a run in a new file of `folder`, if there is one."""
    name = f"{run.started_at.replace(':', '')}-{run.evidence_hash[:8]}-{run.id}.jsonl"
    path = folder / name if folder else None
    with record_in_file(path) if path else nullcontext() as recorder:
        yield Record(tuple(filter(None, (recorder, watch))), path if recorder else None)


def failed_services(events: Iterable[AnyEvent]) -> Iterator[Check]:
    """Yield a failed check for each tool whose last call failed because of its service."""
    last: dict[str, str] = {}
    tool = ""
    for event in events:
        if isinstance(event, Stepped):
            tool = event.tool or ""
        elif isinstance(event, Observed) and tool:
            error = event.error or ""
            last[tool] = error if error.endswith(SAYS_NOTHING) else ""
    for name, error in last.items():
        if error:
            reason = error.removesuffix(SAYS_NOTHING).strip()
            yield Check(FAILED_SERVICE, passed=False, detail=f"{name}: {reason}")
