"""The items of a batch: the albums of a library in an order, or JSON lines of another program.

Compilations, best-ofs and albums without a date go first, because their tags say least about when
a track came out. The number of requests for a library is estimated by the tags alone.
"""

import base64
import os
import queue
import re
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from chart_binder.audio.find import UnreadablePath
from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.title_words import best_of_pattern
from chart_binder.domain.titles_and_credits import main_artist
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS, fold
from chart_binder.errors import CanonError, EvidenceError, UnidentifiedError
from chart_binder.jobs.batch import MAX_ALBUM_FILES, Album, find_albums
from chart_binder.jobs.gather import tags_or_error
from chart_binder.musicbrainz.album import MIN_FILES
from chart_binder.rules.names import is_various_name


@dataclass(frozen=True, slots=True)
class NoInputYet:
    """Stands for an item that has not arrived yet; there may be none."""


T = TypeVar("T")
LibraryItems: TypeAlias = Iterator[Album | UnreadablePath | NoInputYet]

_PATIENCE_S = 10.0
"""How long a run waits for a collection before it takes another album."""
_MAX_AHEAD = 8
"""The number of albums that are found before the batch asks for them."""
_BEST_OF = re.compile(
    r"\b(?:best|very best|greatest hits?|hits|hit collection|anthology|essentials?|the essential"
    r"|collection|singles|gold|platinum|ultimate|definitive|retrospective|sampler|compilation"
    rf"|now that'?s what|bravo hits)\b|コレクション|{best_of_pattern().pattern}"
)
"""Matches folded titles of albums that collect earlier recordings."""


class Order(StrEnum):
    """The order of the albums of a library: collections first, or as the folders are walked."""

    COMPILATIONS = "compilations"
    PATH = "path"


class Collection(StrEnum):
    """Why an album's own date says little about when its tracks came out."""

    COMPILATION = "compilation"
    BEST_OF = "best-of"
    UNDATED = "undated"


def collection_of(files: Sequence[TrackTags]) -> Collection | None:
    """Return the kind of collection that the files of a folder are, by the tags of some of them.

    A compilation is marked as one, is by various artists, or has several artists and no album
    artist.
    """
    albums = {fold(tags.album or "") for tags in files}
    credited = {fold(tags.album_artist or "") for tags in files}
    artists = {fold(main_artist(tags.artist or "")) for tags in files}
    is_mixed = len(artists) > 1 and len(albums) == 1 and credited == {""} and albums != {""}
    is_marked = any(tags.is_compilation for tags in files)
    is_various = any(is_various_name(tags.album_artist or "") for tags in files)
    if is_marked or is_various or is_mixed:
        return Collection.COMPILATION
    if any(_BEST_OF.search(album) for album in albums):
        return Collection.BEST_OF
    return Collection.UNDATED if files and not any(tags.date for tags in files) else None


def album_collection(paths: Sequence[Path]) -> Collection | None:
    """Return the kind of the first folder that is a collection, by the tags of a few files."""
    folders: defaultdict[Path, list[Path]] = defaultdict(list)
    for path in paths:
        folders[path.parent].append(path)
    for files in folders.values():
        some_files = {files[0], files[len(files) // 2], files[-1]}
        results = map(tags_or_error, some_files)
        tags = [result for result in results if isinstance(result, TrackTags)]
        if kind := collection_of(tags):
            return kind
    return None


def library_items(
    paths: Sequence[Path], order: Order, *, only_collections: bool, has_decisions: "DecisionTest"
) -> LibraryItems:
    """Yield the albums of a library in an order; `NoInputYet` while none is found.

    For `Order.COMPILATIONS` the folders are walked twice, and decided albums are not read. If the
    search for a collection takes long, other albums go first, too.
    """
    if order is Order.PATH and not only_collections:
        yield from find_albums(paths)
        return
    ahead: queue.Queue[Any] = queue.Queue(_MAX_AHEAD)
    begun = time.monotonic()

    def is_batch_idle() -> bool:
        return ahead.empty() and time.monotonic() - begun > _PATIENCE_S

    first = _collections_first(paths, has_decisions, is_batch_idle)
    yield from _read_ahead(_collections(paths) if only_collections else first, ahead)


def _read_ahead(items: Iterable[T], ahead: "queue.Queue[Any]") -> Iterator[T | NoInputYet]:
    """Yield items that a thread finds, and `NoInputYet` while it finds none; raise its errors."""

    def find() -> None:
        try:
            for item in items:
                ahead.put(item)
            ahead.put(None)
        except BaseException as error:  # noqa: BLE001 - it is raised where the items are used
            ahead.put(error)

    threading.Thread(target=find, daemon=True, name="canon-find").start()
    while True:
        try:
            item = ahead.get_nowait()
        except queue.Empty:
            yield NoInputYet()
            continue
        if item is None:
            return
        if isinstance(item, BaseException):
            raise item
        yield item


DecisionTest: TypeAlias = Callable[[Sequence[Path]], bool]


def _collections(paths: Sequence[Path]) -> Iterator[Album | UnreadablePath]:
    for item in find_albums(paths):
        if isinstance(item, UnreadablePath) or album_collection(item.paths):
            yield item


def _collections_first(
    paths: Sequence[Path], has_decisions: DecisionTest, is_batch_idle: Callable[[], bool]
) -> Iterator[Album | UnreadablePath]:
    first: set[int] = set()
    for item in find_albums(paths):
        if isinstance(item, UnreadablePath):
            yield item
        elif is_batch_idle() or (not has_decisions(item.paths) and album_collection(item.paths)):
            first.add(hash(item.paths))
            yield item
    for item in find_albums(paths, is_quiet=True):
        if isinstance(item, Album) and hash(item.paths) not in first:
            yield item


# The estimate.

_BY_ID, _BY_NAME = 2.0, 3.0
"""Requests for a single file: its recording and its releases, after a search if it has no id."""
_OF_ALBUM = 0.26
"""Requests for a file if the album has several of its artist, measured by bench_album.py."""
_MOST_BY_NAME = 12.0
"""Two searches, three narrower ones, and the releases of five recordings: see matching.py."""
_SIBLINGS, _MOST_SIBLINGS = 1.0, 3.0
"""Requests for other recordings of a performance, if needed, measured by bench_siblings.py."""


class EstimatedPart(msgspec.Struct, frozen=True):
    """The expected and the most requests and hours for files; hours need a configured pace."""

    files: int
    albums: int
    requests: int
    most_requests: int
    hours: float | None
    most_hours: float | None


class EstimatedYears(msgspec.Struct, frozen=True):
    """The cost of the uncertain years of decided files: one run of the model a recording."""

    files: int
    runs: int
    seconds_a_run: float

    @property
    def hours(self) -> float:
        """The time that the model needs, one run after the other."""
        return self.runs * self.seconds_a_run / 3600


class Estimate(msgspec.Struct, frozen=True):
    """The cost of a run over a library, by its tags; `kinds` counts albums that are collections.

    `resumed` files cost nothing, `unreadable` and `unidentified` ones no request.
    """

    files: int
    resumed: int
    unreadable: int
    unidentified: int
    rate_per_s: float
    all: EstimatedPart
    compilations: EstimatedPart
    kinds: dict[str, int]
    years: EstimatedYears | msgspec.UnsetType = msgspec.UNSET
    """The cost of the uncertain years of decided files, if the model is to be asked."""


class Estimator:
    """Adds up the cost of albums, with the settings of `[musicbrainz]`."""

    def __init__(self, config: MusicBrainzConfig) -> None:
        self._config = config
        self.files = self.resumed = 0
        self._failed: Counter[str] = Counter()
        self._kinds: defaultdict[str, set[int]] = defaultdict(set)
        self._collections, self._others = _Sums(), _Sums()

    def add(self, due: Sequence[Path], resumed: int) -> None:
        """Add an album: the files that are to be decided, and the number of resumed ones."""
        self.files += len(due) + resumed
        self.resumed += resumed
        if not due:
            return
        folders: defaultdict[Path, list[TrackTags]] = defaultdict(list)
        for path in due:
            tags = tags_or_error(path)
            if isinstance(tags, TrackTags):
                folders[path.parent].append(tags)
            else:
                is_read = isinstance(tags, UnidentifiedError)
                self._failed["unidentified" if is_read else "unreadable"] += 1
        for folder, files in folders.items():
            kind = collection_of(files)
            # A large folder comes in parts, and may hold several albums.
            albums = {hash((folder, file_tags.album)) for file_tags in files}
            sums = self._collections if kind else self._others
            sums.albums |= albums
            if kind:
                self._kinds[kind.value] |= albums
            self._add_folder(files, sums)

    def _add_folder(self, files: Sequence[TrackTags], sums: "_Sums") -> None:
        sums.files += len(files)
        by_artist = Counter(_artist(tags) for tags in files)
        sums.artists.update(by_artist)
        when = self._config.siblings
        is_wide = when == "always" or (when == "when_needed" and sums is self._collections)
        for tags in files:
            name = _artist(tags)
            is_shared = by_artist[name] >= MIN_FILES and name != VARIOUS_ARTISTS
            alone = _BY_ID if tags.recording_mbid else _BY_NAME
            sums.about += alone - _BY_ID + _OF_ALBUM if is_shared else alone
            sums.about += _SIBLINGS if is_wide else 0
            sums.most += _BY_ID if tags.recording_mbid else _MOST_BY_NAME
            sums.most += _MOST_SIBLINGS if when != "never" else 0

    def estimate(self, years: EstimatedYears | None = None) -> Estimate:
        """Return the cost of all albums so far."""
        return Estimate(
            files=self.files,
            resumed=self.resumed,
            unreadable=self._failed["unreadable"],
            unidentified=self._failed["unidentified"],
            rate_per_s=self._config.rate_limit_per_s,
            all=self._part(self._collections, self._others),
            compilations=self._part(self._collections),
            kinds={kind: len(albums) for kind, albums in self._kinds.items()},
            years=years or msgspec.UNSET,
        )

    def _part(self, *sums: "_Sums") -> EstimatedPart:
        """Return the cost of files, with a request for each of their artists."""
        rate = self._config.rate_limit_per_s
        albums, artists = set[int](), set[str]()
        for part in sums:
            albums |= part.albums
            artists |= part.artists
        about = round(sum(part.about for part in sums)) + len(artists)
        most = round(sum(part.most for part in sums)) + len(artists)
        hours, most_hours = ((n / rate / 3600 if rate else None) for n in (about, most))
        files = sum(part.files for part in sums)
        return EstimatedPart(files, len(albums), about, most, hours, most_hours)


@dataclass(slots=True)
class _Sums:
    """Sums over files: the expected and the most requests, albums and artists."""

    files: int = 0
    about: float = 0.0
    most: float = 0.0
    albums: set[int] = field(default_factory=set)
    artists: set[str] = field(default_factory=set)


def _artist(tags: TrackTags) -> str:
    return tags.artist_mbid or fold(main_artist(tags.artist or ""))


# Requests of another program.

_ALLOWED = (
    '{"path": "song.mp3"}, {"bundle": {...}}, either with an "id" of its own, or an evidence bundle'
)
_BLOCK = 1 << 16
_MAX_LINES_AHEAD = 200


class LineError(EvidenceError):
    """A line that does not say what to decide."""

    def __init__(self, problem: str) -> None:
        CanonError.__init__(self, problem)
        self.where = ""


@dataclass(frozen=True, slots=True)
class LineRequest:
    """A line: its number, the path or evidence bundle to decide, and the `id` of the caller."""

    number: int
    target: object
    id: object

    @property
    def path(self) -> Path:
        """The path of the file, or the name under which results of a bundle are shown."""
        return self.target if isinstance(self.target, Path) else Path(f"line {self.number}")

    def bundle(self) -> EvidenceBundle:
        """Return the bundle. Raises `EvidenceError`."""
        if isinstance(self.target, EvidenceError):
            raise self.target
        return read_bundle(self.target)  # type: ignore[arg-type]  # it reports a wrong type


def read_request(text: bytes, number: int) -> LineRequest:
    """Read a line; an invalid line becomes a bundle that raises the problem when it is read."""
    document, why = None, ""
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = f" ({error})"
    fields = document if isinstance(document, Mapping) else {}
    target = _target(fields)
    if target is None:
        excerpt = text[:60].decode(errors="replace")
        problem = f"line {number}: found {excerpt!r}{why}; allowed is {_ALLOWED}"
        target = LineError(problem)
    return LineRequest(number, target, fields.get("id"))


def _target(fields: Mapping[str, object]) -> object:
    """Return what a line asks to decide, or None if it names nothing or is ambiguous."""
    if "recording_candidates" in fields:
        return fields
    bundle, path, encoded = map(fields.get, ("bundle", "path", "path_b64"))
    if bundle is not None:
        return bundle if path is encoded is None else None
    try:
        if encoded is not None:
            path = os.fsdecode(base64.b64decode(encoded, validate=True))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None
    return Path(path) if isinstance(path, str) and path and "\0" not in path else None


def read_lines(descriptor: int) -> Iterator[bytes]:
    """Yield lines without using a file object, whose lock would keep Python from exiting."""
    begun = b""
    while block := os.read(descriptor, _BLOCK):
        *whole, begun = (begun + block).split(b"\n")
        yield from whole
    if begun:
        yield begun


class Requests:
    """The lines of another program, each of which gets one answer."""

    def __init__(self) -> None:
        self._pending: defaultdict[tuple[Path, bool], deque[LineRequest]] = defaultdict(deque)

    def items(self, lines: Iterable[bytes]) -> Iterator[Album | LineRequest | NoInputYet]:
        """Yield what is asked for; consecutive files of one folder are one album."""
        requests = (
            read_request(text, number) for number, text in enumerate(lines, 1) if text.strip()
        )
        album: list[Path] = []
        for request in chain(_read_ahead(requests, queue.Queue(_MAX_LINES_AHEAD)), (None,)):
            path = None
            if isinstance(request, LineRequest):
                is_file = isinstance(request.target, Path)
                self._pending[request.path, not is_file].append(request)
                path = request.path if is_file else None
            if path and _fits(album, path):
                album.append(path)
                continue
            if album:
                yield Album(tuple(album), is_urgent=True)
            album = [path] if path else []
            if request and not path:
                yield request

    def pop(self, path: Path, *, is_given: bool) -> LineRequest:
        """Return and forget the first request that a result answers; `is_given`: for a bundle."""
        request = self._pending[path, is_given].popleft()
        if not self._pending[path, is_given]:
            del self._pending[path, is_given]
        return request


def _fits(album: list[Path], path: Path) -> bool:
    return not album or (
        album[-1].parent == path.parent and path not in album and len(album) < MAX_ALBUM_FILES
    )
