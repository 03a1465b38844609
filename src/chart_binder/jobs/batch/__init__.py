"""The work of a batch: albums are found, looked up and decided, by threads or other processes."""

import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, groupby, islice, pairwise
from pathlib import Path

import msgspec

from chart_binder.audio.file_access import AudioFile, UnreadablePath, find_audio_files
from chart_binder.domain.records import StoredCase
from chart_binder.jobs.decision import Case, Cause, Decision, State, tagged_year
from chart_binder.jobs.gather import AlbumEvidence, EvidenceLookup, limited_lookup
from chart_binder.jobs.pipeline import Decider, case_or_error, with_tags
from chart_binder.jobs.stored_decisions import (
    RunVersions,
    file_status,
    is_stored,
    stored_case,
)
from chart_binder.llm.result import AdjudicationResult

MAX_ALBUM_FILES = 50
"""Files of one folder that are looked up together; a larger folder is several albums."""
MAX_MERGED_FILES = 24
"""Files of neighbouring folders that are looked up together: most share an artist's look-ups."""
_ALBUM_FAILED = "not looked up, for {count} files before it failed"


class Stage(StrEnum):
    """The stages of a file, in their order."""

    READ = "read"
    EVIDENCE = "evidence"
    RULES = "rules"
    ADJUDICATE = "adjudicate"
    STORE = "store"
    WRITE = "write"


StageSeconds = Mapping[Stage, float]


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The decision on a file, or on a bundle from standard input (`is_given`).

    `stored` are the records to save. `is_resumed`: an earlier run decided it. `is_answered_before`:
    an earlier answer to the same evidence was used; if `is_unsaved`, it stays the latest decision.
    """

    path: Path
    decision: Decision
    stored: StoredCase | None = None
    seconds: StageSeconds = field(default_factory=dict)
    is_resumed: bool = False
    is_given: bool = False
    is_answered_before: bool = False
    is_unsaved: bool = False
    tagged_year: int | None = None


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A case that the rules left open; `file_before` is its file before the tags were read."""

    path: Path
    file_before: os.stat_result | None
    case: Case
    seconds: StageSeconds = field(default_factory=dict)
    is_given: bool = False

    @property
    def evidence_hash(self) -> str:
        """The hash of its evidence; of the cases with the same one, one is adjudicated."""
        return self.case.decision.evidence_hash or ""


@dataclass(frozen=True, slots=True)
class AlbumResult:
    """The files of an album that are decided, and those that are open.

    `requests` is how many requests the process `worker` has sent to MusicBrainz since it began.
    """

    outcomes: tuple[FileOutcome, ...] = ()
    open_cases: tuple[OpenFile, ...] = ()
    worker: str = ""
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Album:
    """Files that are looked up together: of one folder, or of small neighbouring ones.

    The tags of those that are `answered` at once do not wait for the rest of the folder.
    """

    paths: tuple[Path, ...]
    answered: bool = False


def find_albums(
    named: Iterable[Path], *, is_quiet: bool = False
) -> Iterator[Album | UnreadablePath]:
    """Yield the albums in files and folders, and paths that cannot be read, as they are found.

    Folders are walked by `find_audio_files`; a path inside another named one is found once.
    """
    held: tuple[Path, ...] = ()
    paths = outermost_paths(named)
    found = find_audio_files(paths, warn=None) if is_quiet else find_audio_files(paths)
    for item in chain(_folders(found), (None,)):
        if held and isinstance(item, tuple) and _are_neighbours(held, item):
            held += item
            continue
        if held:
            yield Album(held)
        held = item if isinstance(item, tuple) else ()
        if isinstance(item, UnreadablePath):
            yield item


def _folders(
    found: Iterable[AudioFile | UnreadablePath],
) -> Iterator[tuple[Path, ...] | UnreadablePath]:
    """Yield the files of one folder together, at most `MAX_ALBUM_FILES`."""
    for kind, items in groupby(found, lambda item: (type(item), item.path.parent)):
        if kind[0] is UnreadablePath:
            yield from (item for item in items if isinstance(item, UnreadablePath))
            continue
        while paths := tuple(item.path for item in islice(items, MAX_ALBUM_FILES)):
            yield paths


def _are_neighbours(one: tuple[Path, ...], other: tuple[Path, ...]) -> bool:
    is_same_parent = one[-1].parent.parent == other[0].parent.parent
    return is_same_parent and len(one) + len(other) <= MAX_MERGED_FILES


def outermost_paths(named: Iterable[Path]) -> Sequence[Path]:
    """Return the paths without duplicates, and without those inside another of them."""
    kept: dict[str, Path] = {}
    for path in named:
        kept.setdefault(os.path.abspath(path), path)  # noqa: PTH100 - a link stays a link
    inside = {place for place in kept if any(str(above) in kept for above in Path(place).parents)}
    return [path for place, path in kept.items() if place not in inside]


@dataclass(frozen=True, slots=True)
class Worker:
    """Does the work of a process, in several threads; `stopping` leaves what is not begun."""

    evidence: AlbumEvidence
    decider: Decider
    versions: RunVersions
    stopping: threading.Event = field(default_factory=threading.Event)

    def gather(self, album: Album) -> AlbumResult:
        """Look up the files of an album, and decide by rules."""
        cases: list[OpenFile] = []
        if not self.stopping.is_set():
            before = [file_status(path) for path in album.paths]
            started = time.monotonic()
            look_up = limited_lookup(self.evidence.of(album.paths), _ALBUM_FAILED)
            read_s = (time.monotonic() - started) / len(album.paths)
            cases = [
                self._decide(path, status, look_up, read_s)
                for path, status in zip(album.paths, before, strict=True)
                if not self.stopping.is_set()
            ]
        is_open = self.decider.needs_adjudicator
        return AlbumResult(
            tuple(self.outcome(one) for one in cases if not is_open(one.case)),
            tuple(one for one in cases if is_open(one.case)),
            f"{socket.gethostname()}:{os.getpid()}",
            self.evidence.requests,
        )

    def adjudicate(self, one: OpenFile) -> FileOutcome:
        """Let the adjudicator answer an open case."""
        started = time.monotonic()
        case = case_or_error(lambda: self.decider.adjudicate(one.case))
        if case.bundle is None:  # a fault: the evidence is kept all the same
            failed = case.decision
            changes = {"state": State.ERROR, "error": failed.error, "cause": failed.cause}
            decision = msgspec.structs.replace(one.case.decision, **changes)
            case = replace(one.case, decision=decision)
        seconds = {**one.seconds, Stage.ADJUDICATE: time.monotonic() - started}
        return self.outcome(replace(one, case=case, seconds=seconds))

    def apply_answer(self, one: OpenFile, result: AdjudicationResult) -> FileOutcome:
        """Decide an open case by an earlier answer to the same evidence."""
        case = case_or_error(lambda: self.decider.apply_answer(one.case, result))
        return replace(self.outcome(replace(one, case=case)), is_answered_before=True)

    def outcome(self, one: OpenFile) -> FileOutcome:
        """Return the outcome of a case; nothing is saved of what is no file or not looked up."""
        decision = one.case.decision
        is_kept = decision.cause is not Cause.NOT_LOOKED_UP and is_stored(one.path, decision)
        before = one.file_before if is_kept else None
        stored = stored_case(one.case, one.path, before, self.versions) if before else None
        year = tagged_year(one.case)
        return FileOutcome(
            one.path, decision, stored, one.seconds, is_given=one.is_given, tagged_year=year
        )

    def _decide(
        self, path: Path, before: os.stat_result | None, look_up: EvidenceLookup, read_s: float
    ) -> OpenFile:
        moments = [time.monotonic()]

        def make() -> Case:
            bundle = look_up(path)
            moments.append(time.monotonic())
            return self.decider.decide_by_rules(bundle)

        case = with_tags(case_or_error(make), path)
        moments.append(time.monotonic())
        taken = (ended - begun for begun, ended in pairwise(moments))
        stages = zip((Stage.EVIDENCE, Stage.RULES), taken, strict=False)
        return OpenFile(path, before, case, {Stage.READ: read_s, **dict(stages)})


class ThreadExecutor:
    """Runs tasks in threads, separate ones for albums and for the model."""

    def __init__(self, worker: Worker, max_albums: int, max_cases: int) -> None:
        self.max_albums = max_albums
        self.max_cases = max_cases
        self._worker = worker
        self._album_threads = ThreadPoolExecutor(max_albums, "canon-album")
        self._model_threads = ThreadPoolExecutor(max_cases, "canon-model")

    def gather(self, album: Album) -> "Future[AlbumResult]":
        """Look up an album and decide by rules."""
        return self._album_threads.submit(self._worker.gather, album)

    def adjudicate(self, one: OpenFile) -> "Future[FileOutcome]":
        """Let the adjudicator answer an open case."""
        return self._model_threads.submit(self._worker.adjudicate, one)

    def finish_early(self) -> None:
        """End each begun album after its current file; albums not begun come back empty."""
        self._worker.stopping.set()

    def close(self) -> None:
        """Begin no more tasks; threads end with their current one."""
        for pool in (self._album_threads, self._model_threads):
            pool.shutdown(wait=False, cancel_futures=True)
