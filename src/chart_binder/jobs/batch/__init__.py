"""Find, look up and decide the albums of a batch, in threads or other processes."""

import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice, pairwise
from pathlib import Path

from chart_binder.audio.find import AudioFile, UnreadablePath, find_audio_files
from chart_binder.jobs.decision import Case, FileCase, FileOutcome, Stage
from chart_binder.jobs.gather import EvidenceLookup, limited_lookup
from chart_binder.jobs.pipeline import (
    Pipeline,
    adjudicate,
    apply_answer,
    attempt,
    decide_by_rules,
    failed_case,
    finish,
    needs_adjudicator,
    with_tags,
)
from chart_binder.jobs.stored_decisions import file_status
from chart_binder.llm.result import AdjudicationResult

MAX_ALBUM_FILES = 50
"""Files of one folder that are looked up together; a larger folder is several albums."""
MAX_MERGED_FILES = 24
"""Files of neighbouring folders that are looked up together: most share an artist's look-ups."""
_ALBUM_FAILED = "not looked up, because {count} files before it failed"


@dataclass(frozen=True, slots=True)
class AlbumResult:
    """The files of an album that are decided, and those that are open.

    The process `worker` has sent `requests` to MusicBrainz since it began.
    """

    outcomes: tuple[FileOutcome, ...] = ()
    open_cases: tuple[FileCase, ...] = ()
    worker: str = ""
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Album:
    """Files that are looked up together: of one folder, or of small neighbouring folders.

    If it `is_urgent`, the tags of each file are written without waiting for the rest of the folder.
    """

    paths: tuple[Path, ...]
    is_urgent: bool = False


def find_albums(
    named_paths: Iterable[Path], *, is_quiet: bool = False
) -> Iterator[Album | UnreadablePath]:
    """Yield the albums in files and folders, and paths that cannot be read, as they are found.

    `find_audio_files` walks the folders, and warns unless this `is_quiet`. A path inside another
    named path is found once.
    """
    album: tuple[Path, ...] = ()
    paths = outermost_paths(named_paths)
    files = find_audio_files(paths, warn=None) if is_quiet else find_audio_files(paths)
    for item in chain(_folders(files), (None,)):
        if isinstance(item, tuple) and _are_neighbours(album, item):
            album += item
            continue
        if album:
            yield Album(album)
        album = item if isinstance(item, tuple) else ()
        if isinstance(item, UnreadablePath):
            yield item


def _folders(
    files: Iterable[AudioFile | UnreadablePath],
) -> Iterator[tuple[Path, ...] | UnreadablePath]:
    """Yield the files of one folder together, at most `MAX_ALBUM_FILES`."""
    for kind, items in groupby(files, lambda item: (type(item), item.path.parent)):
        if kind[0] is UnreadablePath:
            yield from (item for item in items if isinstance(item, UnreadablePath))
            continue
        while paths := tuple(item.path for item in islice(items, MAX_ALBUM_FILES)):
            yield paths


def _are_neighbours(paths: Sequence[Path], following: Sequence[Path]) -> bool:
    is_small = len(paths) + len(following) <= MAX_MERGED_FILES
    return bool(paths) and is_small and paths[-1].parent.parent == following[0].parent.parent


def outermost_paths(paths: Iterable[Path]) -> Sequence[Path]:
    """Return the paths without duplicates, and without those inside another of them."""
    places: dict[str, Path] = {}
    for path in paths:
        places.setdefault(os.path.abspath(path), path)  # noqa: PTH100 - a link stays a link
    inside = {
        place for place in places if any(str(above) in places for above in Path(place).parents)
    }
    return [path for place, path in places.items() if place not in inside]


@dataclass(frozen=True, slots=True)
class Worker:
    """Takes albums through the pipeline, in several threads, until `stopping` is set."""

    pipeline: Pipeline
    stopping: threading.Event = field(default_factory=threading.Event)

    def gather(self, album: Album) -> AlbumResult:
        """Look up the files of an album, and decide by rules."""
        files: list[FileCase] = []
        evidence = self.pipeline.evidence
        assert evidence is not None
        if not self.stopping.is_set():
            statuses = [file_status(path) for path in album.paths]
            started = time.monotonic()
            look_up = limited_lookup(evidence.of(album.paths), _ALBUM_FAILED)
            read_s = (time.monotonic() - started) / len(album.paths)
            files = [
                self._decide(path, status, look_up, read_s)
                for path, status in zip(album.paths, statuses, strict=True)
                if not self.stopping.is_set()
            ]
        outcomes = [finish(self.pipeline, file) for file in files if not self._is_open(file)]
        return AlbumResult(
            tuple(outcomes),
            tuple(file for file in files if self._is_open(file)),
            f"{socket.gethostname()}:{os.getpid()}",
            evidence.requests,
        )

    def _is_open(self, file: FileCase) -> bool:
        return needs_adjudicator(self.pipeline, file.case)

    def adjudicate(self, file: FileCase) -> FileOutcome:
        """Let the adjudicator answer an open case."""
        started = time.monotonic()
        case = attempt(lambda: adjudicate(self.pipeline, file.case))
        if case.bundle is None:  # after a fault, the evidence stays
            case = failed_case(file.case, case.decision.error, case.decision.cause)
        seconds = {**file.seconds, Stage.ADJUDICATE: time.monotonic() - started}
        return finish(self.pipeline, replace(file, case=case, seconds=seconds))

    def apply_answer(self, file: FileCase, result: AdjudicationResult) -> FileOutcome:
        """Decide an open case by an earlier answer to the same evidence."""
        case = attempt(lambda: apply_answer(self.pipeline, file.case, result))
        return replace(finish(self.pipeline, replace(file, case=case)), is_answered_before=True)

    def _decide(
        self, path: Path, status: os.stat_result | None, look_up: EvidenceLookup, read_s: float
    ) -> FileCase:
        moments = [time.monotonic()]

        def make() -> Case:
            bundle = look_up(path)
            moments.append(time.monotonic())
            return decide_by_rules(self.pipeline, bundle)

        case = with_tags(attempt(make), path)
        moments.append(time.monotonic())
        durations = (ended - begun for begun, ended in pairwise(moments))
        stages = zip((Stage.EVIDENCE, Stage.RULES), durations, strict=False)
        return FileCase(path, status, case, {Stage.READ: read_s, **dict(stages)})


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

    def adjudicate(self, file: FileCase) -> "Future[FileOutcome]":
        """Let the adjudicator answer an open case."""
        return self._model_threads.submit(self._worker.adjudicate, file)

    def finish_early(self) -> None:
        """Stop each album after its current file; an album that was not begun gets no results."""
        self._worker.stopping.set()

    def close(self) -> None:
        """Begin no more tasks; each thread ends after its current one."""
        for pool in (self._album_threads, self._model_threads):
            pool.shutdown(wait=False, cancel_futures=True)
