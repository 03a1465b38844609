"""A run is recorded as it happens, so that a killed one leaves all it had."""

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from chart_binder.domain.vocabulary import MBID
from chart_binder.llm.result import Check
from chart_binder.react.dialect import Dialect
from chart_binder.react.sanitize import one_line
from chart_binder.react.steps import Malformed
from chart_binder.react.tools import SAYS_NOTHING
from chart_binder.react.transcript import (
    AnyEvent,
    Observed,
    Replied,
    Run,
    Stepped,
    Watch,
    record_in,
)

_log = logging.getLogger(__name__)
_HOME_OF_IDS = "musicbrainz.org"
_MOST_OF_A_THOUGHT = 400
_MOST_OF_A_SOURCE = 200
_MOST_SOURCES = 10


FAILED_SERVICE = "unanswered"
"""The name of the check: a run that came to nothing without a service is worth another."""


@dataclass(slots=True)
class Record:
    """The events of one run, and the file they stand in, if any."""

    watches: tuple[Watch, ...]
    path: Path | None = None
    events: list[AnyEvent] = field(default_factory=list)

    def __call__(self, event: AnyEvent) -> None:
        """Take an event in and pass it on."""
        self.events.append(event)
        for watch in self.watches:
            watch(event)

    def replies(self) -> list[Replied]:
        """Return what the model said."""
        return [event for event in self.events if isinstance(event, Replied)]

    def observed(self) -> list[Observed]:
        """Return what the model was shown."""
        return [event for event in self.events if isinstance(event, Observed)]

    def found_ids(self) -> set[str]:
        """Return the MusicBrainz ids that observations brought in.

        An id that the model itself put into the call proves nothing when it comes back, unless
        MusicBrainz answered.
        """
        asked, found = "", set[str]()
        for event in self.events:
            if isinstance(event, Stepped):
                asked = str(event.arguments)
            elif isinstance(event, Observed) and not event.error:
                brought = _ids(f"{event.content} {' '.join(event.sources)}")
                found |= brought if _from_home(event.sources) else brought - _ids(asked)
        return found

    @property
    def place(self) -> str | tuple[AnyEvent, ...]:
        """Where the transcript is: a file's path, or the events themselves."""
        return str(self.path) if self.path else tuple(self.events)


def _ids(text: str) -> set[str]:
    return {found.casefold() for found in MBID.findall(text)}


def _from_home(sources: tuple[str, ...]) -> bool:
    return any(
        host == _HOME_OF_IDS or host.endswith(f".{_HOME_OF_IDS}") for host in map(_host, sources)
    )


def _host(source: str) -> str:
    try:
        return urlsplit(source).hostname or ""
    except ValueError:  # a tool or a canned transcript may name what is no address
        return ""


@contextmanager
def record_run(run: Run, folder: Path | None, watch: Watch | None) -> Iterator[Record]:
    """Record a run in a new file of `folder`, readable by its owner only.

    A folder that cannot be written to costs the record, not the run: a warning says so.
    """
    watches = (watch,) if watch else ()
    if folder is None:
        yield Record(watches)
        return
    path = folder / f"{run.started_at.replace(':', '')}-{run.evidence_hash[:8]}-{run.id}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except OSError as error:
        _log.warning("the run is not recorded: %s: %s", path, error.strerror)
        yield Record(watches)
        return
    try:
        yield Record((_tolerant(record_in(stream), path), *watches), path)
    finally:
        with contextlib.suppress(OSError):  # what a full disk did not take is flushed once more
            stream.close()


def _tolerant(record: Watch, path: Path) -> Watch:
    """Go on without a record when the disk fills up in the middle of a run."""
    failed = False

    def watch(event: AnyEvent) -> None:
        nonlocal failed
        if failed:
            return
        try:
            record(event)
        except OSError as error:
            failed = True
            _log.warning("the record of the run ends here: %s: %s", path, error.strerror)

    return watch


def partial_findings(events: Iterable[AnyEvent], dialect: Dialect) -> str:
    """Return the last thought and the sources that were read, in one line; empty if none."""
    events = tuple(events)
    sources = dict.fromkeys(
        one_line(source, _MOST_OF_A_SOURCE)
        for event in events
        if isinstance(event, Observed) and not event.error
        for source in event.sources
    )
    more = f" and {len(sources) - _MOST_SOURCES} more" if len(sources) > _MOST_SOURCES else ""
    thought = _last_thought(events, dialect)
    told = (
        f'the last thought was "{thought}"' if thought else "",
        f"read: {' '.join(list(sources)[:_MOST_SOURCES])}{more}" if sources else "",
    )
    known = "; ".join(filter(None, told))
    return f"no answer was reached; {known}" if known else ""


def _last_thought(events: Iterable[AnyEvent], dialect: Dialect) -> str:
    steps = (dialect.parse(event.content) for event in events if isinstance(event, Replied))
    thoughts = [step.thought for step in steps if not isinstance(step, Malformed) and step.thought]
    return one_line(thoughts[-1], _MOST_OF_A_THOUGHT) if thoughts else ""


def failed_services(events: Iterable[AnyEvent]) -> Iterator[Check]:
    """Yield a check for each tool whose last call in the run failed for its service's sake."""
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
            told = error.removesuffix(SAYS_NOTHING).strip()
            yield Check(FAILED_SERVICE, passed=False, detail=f"{name}: {told}")
