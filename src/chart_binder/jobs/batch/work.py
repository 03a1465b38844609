"""What goes from stage to stage of a batch, also from process to process."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from chart_binder.audio.reading import read_tags, require_identity
from chart_binder.audio.walk import AudioFile, UnreadablePath, find_audio_files
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.records import KeptDecision, KeptEvidence
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import AudioError, CanonError, LookupFailedError, NotLookedUpError
from chart_binder.files import quoted
from chart_binder.jobs.decide import Case, Cause, Decider, Decision, State, case_or_error
from chart_binder.jobs.stored_decisions import (
    RunVersions,
    StoredCase,
    bundle_with_tags,
    file_status,
    stored_case,
    stored_names,
)
from chart_binder.llm.result import AdjudicationResult
from chart_binder.react.conversation import wrap_plugin_errors

if TYPE_CHECKING:
    from chart_binder.store.store import Store


class Stage(StrEnum):
    """The stages that a file goes through, in their order."""

    READ = "read"
    EVIDENCE = "evidence"
    RULES = "rules"
    ADJUDICATE = "adjudicate"
    STORE = "store"
    WRITE = "write"


StageSeconds = Mapping[Stage, float]


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """A file that is decided, left open or failed; `kept` is absent where nothing is to be kept.

    One that `is_given` is a bundle, with a name in place of a path.

    One that is `resumed` was settled by an earlier run; a pinned one is so whatever comes out now.
    """

    path: Path
    decision: Decision
    kept: StoredCase | None = None
    seconds: StageSeconds = field(default_factory=dict)
    is_resumed: bool = False
    is_given: bool = False
    is_pinned: bool = False
    is_answered_before: bool = False


@dataclass(frozen=True, slots=True)
class OpenCase:
    """An open case that waits for the adjudicator; `before` is its file before it was read."""

    path: Path
    before: os.stat_result | None
    case: Case
    seconds: StageSeconds = field(default_factory=dict)
    is_given: bool = False

    @property
    def known_as(self) -> str:
        """The evidence hash: cases of the same one are asked about once."""
        return self.case.decision.evidence_hash or ""


@dataclass(frozen=True, slots=True)
class AlbumResult:
    """What came of an album: files that are settled, and open cases.

    `requests` is how many requests the process `worker` has sent to MusicBrainz since it began.
    """

    settled: tuple[FileOutcome, ...] = ()
    waiting: tuple[OpenCase, ...] = ()
    worker: str = ""
    requests: int = 0


MAX_ALBUM_FILES = 50
"""Files of one folder that are looked up together; a larger one is several albums."""
MAX_MERGED_FILES = 24
"""Files of folders side by side that are: mostly of one artist, whose look-ups they share."""


@dataclass(frozen=True, slots=True)
class Album:
    """Files that are looked up together: of one folder, or of small ones side by side."""

    paths: tuple[Path, ...]


def find_albums(named: Iterable[Path]) -> Iterator[Album | UnreadablePath]:
    """Yield the albums that files and folders stand for, and what cannot be read, as it is come to.

    Folders are walked as `audio_files` says; what lies inside another that was named comes once.
    """
    held: tuple[Path, ...] = ()
    for item in _folders(named):
        if isinstance(item, UnreadablePath):
            if held:
                yield Album(held)
            held = ()
            yield item
        elif held and _are_neighbours(held, item):
            held += item
        else:
            if held:
                yield Album(held)
            held = item
    if held:
        yield Album(held)


def _folders(named: Iterable[Path]) -> Iterator[tuple[Path, ...] | UnreadablePath]:
    """Yield files of one folder, as they come together."""
    held: list[Path] = []
    for item in find_audio_files(outermost_paths(named)):
        is_next = isinstance(item, AudioFile) and held and item.path.parent == held[-1].parent
        if held and (not is_next or len(held) == MAX_ALBUM_FILES):
            yield tuple(held)
            held = []
        if isinstance(item, AudioFile):
            held.append(item.path)
        else:
            yield item
    if held:
        yield tuple(held)


def _are_neighbours(one: tuple[Path, ...], other: tuple[Path, ...]) -> bool:
    """Tell whether files are few, and of folders that stand in one and the same."""
    places = {path.parent.parent for path in (one[-1], other[0])}
    return len(places) == 1 and len(one) + len(other) <= MAX_MERGED_FILES


def outermost_paths(named: Iterable[Path]) -> Sequence[Path]:
    """Return what was named without what lies inside another of them, or was named twice."""
    kept: dict[str, Path] = {}
    for path in named:
        kept.setdefault(os.path.abspath(path), path)  # noqa: PTH100 - a link stays a link
    inside = {place for place in kept if any(str(above) in kept for above in Path(place).parents)}
    return [path for place, path in kept.items() if place not in inside]


_MOST_IN_A_ROW = 3
"""Failed look-ups after which the rest of an album is left for another run."""

EvidenceLookup = Callable[[Path], EvidenceBundle]
"""Returns the evidence for a file, or raises `CanonError`."""


class AlbumEvidence(Protocol):
    """Where the evidence for the files of one album comes from."""

    def of(self, paths: Sequence[Path]) -> EvidenceLookup:
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

    evidence: AlbumEvidence
    decider: Decider
    under: RunVersions
    stopping: threading.Event = field(default_factory=threading.Event)

    def gather(self, album: Album) -> AlbumResult:
        """Look up the files of an album, and decide by rules what they decide."""
        if self.stopping.is_set():
            return AlbumResult((), (), _worker(), self.evidence.requests)
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
        waiting = tuple(one for one in met if self.decider.needs_adjudicator(one.case))
        settled = tuple(
            self.settled(one) for one in met if not self.decider.needs_adjudicator(one.case)
        )
        return AlbumResult(settled, waiting, _worker(), self.evidence.requests)

    def look_into(self, waiting: OpenCase) -> FileOutcome:
        """Let the adjudicator look into an open case."""
        started = time.monotonic()
        case = case_or_error(lambda: self.decider.adjudicate(waiting.case))
        if case.bundle is None:  # a fault: what was found is kept all the same
            found = waiting.case.decision
            failed = msgspec.structs.replace(
                found, state=State.ERROR, error=case.decision.error, cause=case.decision.cause
            )
            case = replace(waiting.case, decision=failed)
        seconds = {**waiting.seconds, Stage.ADJUDICATE: time.monotonic() - started}
        return self.settled(replace(waiting, case=case, seconds=seconds))

    def answered(self, waiting: OpenCase, result: AdjudicationResult) -> FileOutcome:
        """Settle an open case by what was answered of the same evidence before."""
        case = case_or_error(lambda: self.decider.apply_answer(waiting.case, result))
        return replace(self.settled(replace(waiting, case=case)), is_answered_before=True)

    def settled(self, one: OpenCase) -> FileOutcome:
        """Return the file with what is to be kept of it.

        What is no file is not kept; nor that nobody looked, for what was found before says more.
        """
        decision = one.case.decision
        before = one.before if decision.cause is not Cause.NOT_LOOKED_UP else None
        kept = stored_case(one.case, one.path, before, self.under) if before else None
        return FileOutcome(one.path, decision, kept, one.seconds, is_given=one.is_given)

    def _decided(
        self, path: Path, before: os.stat_result | None, facts: EvidenceLookup, read_s: float
    ) -> OpenCase:
        moments = [time.monotonic()]

        def make() -> Case:
            bundle = facts(path)
            moments.append(time.monotonic())
            return self.decider.decide_by_rules(bundle)

        case = case_or_error(make)
        moments.append(time.monotonic())
        return OpenCase(path, before, case, dict(_stages(read_s, moments)))


@dataclass(slots=True)
class _Patient:
    """Looks up the files of an album, as long as not too many fail in a row."""

    facts: EvidenceLookup
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


class TaskExecutor(Protocol):
    """Takes work and gives what came of it; `albums` and `cases` are how many it takes at once."""

    @property
    def albums(self) -> int:
        """Albums that are looked up at once."""
        ...

    @property
    def cases(self) -> int:
        """Open cases that a model looks into at once."""
        ...

    def gather(self, album: Album) -> "Future[AlbumResult]":
        """Look up an album and decide by rules."""
        ...

    def look_into(self, waiting: OpenCase) -> "Future[FileOutcome]":
        """Let the adjudicator look into an open case."""
        ...

    def recall(self) -> None:
        """Have what is in hand end with the file that each is at; albums not begun come empty."""
        ...

    def close(self) -> None:
        """Let go of what works; work that has not begun is not begun."""
        ...


class ThreadExecutor:
    """Threads of this process, some for albums and others for the model."""

    def __init__(self, worker: Worker, find_albums: int, cases: int) -> None:
        self.albums = find_albums
        self.cases = cases
        self._worker = worker
        self._gatherers = ThreadPoolExecutor(find_albums, "canon-album")
        self._askers = ThreadPoolExecutor(cases, "canon-model")

    def gather(self, album: Album) -> "Future[AlbumResult]":
        """Look up an album and decide by rules."""
        return self._gatherers.submit(self._worker.gather, album)

    def look_into(self, waiting: OpenCase) -> "Future[FileOutcome]":
        """Let the adjudicator look into an open case."""
        return self._askers.submit(self._worker.look_into, waiting)

    def recall(self) -> None:
        """Have albums end with the file in hand."""
        self._worker.stopping.set()

    def close(self) -> None:
        """End the threads, each after what it is at."""
        for pool in (self._gatherers, self._askers):
            pool.shutdown(wait=False, cancel_futures=True)


class AlbumSource(Protocol):
    """A source of evidence that looks up the files of one album together."""

    @property
    def requests(self) -> int:
        """Requests since the process began, tries that came to nothing among them."""
        ...

    def together(self, tags: Sequence[TrackTags]) -> Callable[[TrackTags], EvidenceBundle]:
        """Return what gathers the evidence for each of these files."""
        ...


@dataclass(frozen=True, slots=True)
class SourceEvidence:
    """Evidence from a source, by what the tags of the files say."""

    source: AlbumSource

    @property
    def requests(self) -> int:
        """Requests since the process began, tries that came to nothing among them."""
        return self.source.requests

    def of(self, paths: Sequence[Path]) -> EvidenceLookup:
        """Read the tags of all files, and return what looks each of them up."""
        said = {path: _tags(path) for path in paths}
        found = [tags for tags in said.values() if isinstance(tags, TrackTags)]
        shared = _Shared(self.source, found)

        def facts(path: Path) -> EvidenceBundle:
            tags = said[path]
            if isinstance(tags, CanonError):
                raise tags
            return shared.gather(tags)

        return facts


@dataclass(slots=True)
class _Shared:
    """Look-ups that begin when the first file asks for them."""

    source: AlbumSource
    tags: Sequence[TrackTags]
    begun: list[Callable[[TrackTags], EvidenceBundle]] = field(default_factory=list)

    def gather(self, tags: TrackTags) -> EvidenceBundle:
        if not self.begun:
            self.begun.append(self.source.together(self.tags))
        return self.begun[0](tags)


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """The evidence that was last found for each file; nothing is asked."""

    store: "Store"
    requests: int = 0

    def of(self, paths: Sequence[Path]) -> EvidenceLookup:
        """Return what finds the kept evidence of a file, all of it read at once."""
        names = {path: stored_names(path) for path in paths}
        history = self.store.decisions.histories({name for each in names.values() for name in each})
        kept: dict[Path, KeptDecision] = {}
        for path, each in names.items():
            made = (one for name in each for one in history.get(name, ()))
            # A look-up that failed since takes nothing away.
            known = (one for one in made if isinstance(one, KeptDecision) and one.evidence_hash)
            if last := next(known, None):
                kept[path] = last
        hashes = {one.evidence_hash for one in kept.values() if one.evidence_hash}
        return partial(_kept_of, kept, self.store.evidence.of(hashes))


def _kept_of(
    kept: Mapping[Path, KeptDecision], evidence: Mapping[str, KeptEvidence], path: Path
) -> EvidenceBundle:
    one = kept.get(path)
    found = evidence.get(one.evidence_hash or "") if one else None
    if one is None or found is None:
        raise NotLookedUpError("no evidence is kept for it: look it up without --frozen first")
    return bundle_with_tags(one, found)


def _tags(path: Path) -> TrackTags | CanonError:
    def defect(error: Exception) -> AudioError:
        return AudioError(f"{quoted(path)} cannot be read: {type(error).__name__}: {error}")

    try:
        with wrap_plugin_errors(defect, CanonError):  # what reads tags is other people's code
            tags = read_tags(path)
        require_identity(tags, path)
    except CanonError as error:
        return error
    return tags
