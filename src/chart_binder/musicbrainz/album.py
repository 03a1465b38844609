"""What was looked up for an album as a whole serves each of its files."""

import logging
import math
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import MBID, VARIOUS_ARTISTS, ArtistId, RecordingId, ReleaseId
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz import queries
from chart_binder.musicbrainz.client import Client, Service
from chart_binder.musicbrainz.matching import principal, ways
from chart_binder.musicbrainz.queries import Question
from chart_binder.musicbrainz.responses import Medium, Recording, Release, Track


@dataclass(slots=True)
class Catalogue:
    """Recordings that are credited to `artist` first, with all releases they are on.

    All: the lists it is made of have each release that is credited to the artist, or has a track
    that is. So a recording is left out if one of its tracks is credited to others alone, as the
    tracks of classical music are to composers: releases with such tracks only are not in the lists.
    `fetched_at` is when the oldest page of them was received, in seconds since the epoch.
    """

    artist: ArtistId
    fetched_at: float = math.inf
    recordings: dict[RecordingId, Recording] = field(default_factory=dict)
    _releases: dict[RecordingId, dict[ReleaseId, Release]] = field(default_factory=dict)
    _left_out: set[RecordingId] = field(default_factory=set)

    def add(self, releases: Iterable[Release], fetched_at: float) -> None:
        """Take in a page of releases with their tracks, of which only the artist's are held."""
        self.fetched_at = min(self.fetched_at, fetched_at)
        for release in releases:
            bare: Release | None = None
            for track in tracks_on(release):
                recording = track.recording
                if recording is None or not self._has_first(recording):
                    continue
                if not track.is_by(self.artist):
                    self._leave_out(recording.id)
                if recording.id not in self._left_out:
                    bare = bare or _bare(release)
                    self.recordings.setdefault(recording.id, recording)
                    self._releases.setdefault(recording.id, {})[release.id] = bare

    def releases_of(self, recording_id: RecordingId) -> tuple[Release, ...]:
        """Return the releases that contain one of the recordings."""
        return tuple(self._releases[recording_id].values())

    def only(self, recordings: Iterable[RecordingId]) -> "Catalogue":
        """Return what it says about some recordings."""
        known = [one for one in recordings if one in self.recordings]
        return Catalogue(
            self.artist,
            self.fetched_at,
            {one: self.recordings[one] for one in known},
            {one: self._releases[one] for one in known},
        )

    @property
    def size(self) -> int:
        """How many places on releases it holds, by which its memory goes."""
        return sum(map(len, self._releases.values()))

    def _leave_out(self, recording_id: RecordingId) -> None:
        self._left_out.add(recording_id)
        self.recordings.pop(recording_id, None)
        self._releases.pop(recording_id, None)

    def _has_first(self, recording: Recording) -> bool:
        return bool(recording.credits) and recording.credits[0].artist.id == self.artist


def tracks_on(release: Release) -> Iterator[Track]:
    """Yield the tracks of a release."""
    return (track for medium in release.medium_list for track in medium.tracks)


def tracks_missing(release: Release) -> int:
    """Return how many tracks a release has that were not told."""
    return sum(
        max(0, (medium.track_count or 0) - len(medium.tracks)) for medium in release.medium_list
    )


def _bare(release: Release) -> Release:
    media = (Medium(format=one.format, track_count=one.track_count) for one in release.medium_list)
    return replace(release, medium_list=tuple(media))


@dataclass(frozen=True, slots=True)
class Known:
    """What was looked up, by recording.

    `catalogues` know all releases of it; `tracks` are of a release, with their time of arrival.
    """

    catalogues: dict[RecordingId, Catalogue] = field(default_factory=dict)
    tracks: dict[RecordingId, tuple[Recording, float]] = field(default_factory=dict)


class AlbumClient(Client):
    """MusicBrainz for one piece of evidence, where much is known of the album already."""

    def __init__(self, service: Service, known: Known) -> None:
        super().__init__(service)
        self._known = known

    def recording(self, recording_id: RecordingId) -> Recording | None:
        """Return a recording; its id is another one where the asked one was merged into it."""
        if catalogue := self._known.catalogues.get(recording_id):
            self._uses(catalogue.fetched_at)
            return catalogue.recordings[recording_id]
        if track := self._known.tracks.get(recording_id):
            recording, fetched_at = track
            self._uses(fetched_at)
            return recording
        return super().recording(recording_id)

    def releases_of(self, recording_id: RecordingId) -> tuple[Release, ...]:
        """Return all releases that contain a recording, never a part of them."""
        if catalogue := self._known.catalogues.get(recording_id):
            self._uses(catalogue.fetched_at)
            return catalogue.releases_of(recording_id)
        return super().releases_of(recording_id)


_catalogue_pages_log = logging.getLogger(__name__)


def read_catalogue(service: Service, catalogue: Catalogue, worth: float) -> bool:
    """Read an artist's releases into a catalogue; return whether all of them are in it.

    It is given up as soon as what is left will take as many requests as `worth`; what has been
    read by then is kept, so that it costs nothing another time. So it is where a page of releases
    has no recording of the artist's, who may be a composer. It is given up with a warning where a
    part is missing from the answers. Raises `LookupFailedError`.
    """
    lists = [
        _Pages(service, catalogue, "artist"),
        _Pages(service, catalogue, "track_artist"),
    ]
    while open_lists := [pages for pages in lists if not pages.is_whole]:
        costs = [pages.cost_left for pages in open_lists]
        if sum(costs) >= worth:
            return False
        cheapest, _ = min(zip(open_lists, costs, strict=True), key=lambda pair: pair[1])
        if (problem := cheapest.read_on()) is not None:
            _catalogue_pages_log.warning(
                "musicbrainz' list of an artist is incomplete", extra={"why": problem}
            )
            cheapest.forget()
            return False
        if cheapest.has_any and not catalogue.recordings:
            return False
    return True


class _Pages:
    """One of the two lists of an artist's releases."""

    def __init__(
        self, service: Service, catalogue: Catalogue, credit: Literal["artist", "track_artist"]
    ) -> None:
        self._service = service
        self._catalogue = catalogue
        self._credit = credit
        self._asked: list[Question] = []
        self._seen = set[ReleaseId]()
        self._offset = 0
        self._count: int | None = None

    @property
    def has_any(self) -> bool:
        """Whether releases were told."""
        return bool(self._seen)

    @property
    def is_whole(self) -> bool:
        """Whether all pages were read."""
        return self._count is not None and self._offset >= self._count

    @property
    def cost_left(self) -> float:
        """How many requests the other pages will take, if they are as long as those till now."""
        next_one = self._service.cost(self._next)
        if self._count is None or not next_one:
            return next_one
        pages_left = math.ceil((self._count - self._offset) * len(self._asked) / self._offset)
        return pages_left * next_one

    def read_on(self) -> str | None:
        """Read the next page into the catalogue; return what is missing from it, if anything."""
        self._asked.append(self._next)
        answer = self._service.ask(self._asked[-1])
        if answer.metadata is None:
            self.forget()
            raise self._service.failed("it does not list the releases of an artist")
        page = answer.metadata.release_list or ()
        before, self._count = self._count, answer.metadata.release_count or 0
        self._offset += len(page)
        self._seen |= {release.id for release in page}
        self._catalogue.add(page, answer.fetched_at)
        is_torn = self._offset < self._count and not page
        if before not in {None, self._count}:
            return f"there are {self._count} releases, and were {before} a page before"
        if is_torn or (self.is_whole and len(self._seen) < self._count):
            return f"{len(self._seen)} of {self._count} releases were told"
        short = (release.id for release in page if tracks_missing(release))
        return next((f"tracks of release {one} are missing" for one in short), None)

    @property
    def _next(self) -> Question:
        return queries.releases_by(self._credit, self._catalogue.artist, self._offset)

    def forget(self) -> None:
        """Keep none of the pages: one of them is wrong, and kept it would be so again."""
        for question in self._asked:
            self._service.forget(question)


MOST_HELD = 4
"""Artists; the pages of others are in the cache of answers."""
LARGEST_HELD = 20_000
"""Places of recordings on releases: about 8 MB."""
REST_S = 600.0
"""After a failure files are looked up one by one for so long."""
_MOST_SPENT = 10_000
_STRIPES = 16

_catalogues_log = logging.getLogger(__name__)


class Catalogues:
    """Reads artists' catalogues; threads may share it, and wait for one that another reads."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._held: OrderedDict[ArtistId, Catalogue] = OrderedDict()
        self._lock = threading.Lock()
        self._stripes = tuple(threading.Lock() for _ in range(_STRIPES))
        self._spent: OrderedDict[ArtistId, float] = OrderedDict()
        self._failed_at: float | None = None

    def of(self, artist_id: ArtistId, worth: float) -> Catalogue | None:
        """Return an artist's catalogue if it takes fewer requests than `worth`.

        What the artist's earlier albums took without it counts as well: how many are to come is not
        known, and so all of them take about twice the least at the most. A failure is told in the
        log, not raised: files can be looked up one by one.
        """
        if not worth or artist_id == VARIOUS_ARTISTS or self._is_resting():
            return None
        with self._stripes[hash(artist_id) % _STRIPES]:
            try:
                return self._held_of(artist_id) or self._read(artist_id, worth)
            except LookupFailedError as error:
                self._failed_at = self._service.now()
                _catalogues_log.warning(
                    "files are looked up one by one in musicbrainz, not by their artist",
                    extra={"why": str(error), "for_s": REST_S},
                )
                return None

    def _is_resting(self) -> bool:
        failed_at = self._failed_at
        return failed_at is not None and self._service.age_s(failed_at) < REST_S

    def _held_of(self, artist_id: ArtistId) -> Catalogue | None:
        with self._lock:
            held = self._held.get(artist_id)
            if held is None or not self._service.is_fresh(held.fetched_at):
                return None
            self._held.move_to_end(artist_id)
            return held

    def _read(self, artist_id: ArtistId, worth: float) -> Catalogue | None:
        if self._service.cost(queries.artist(artist_id)) == math.inf:
            return None
        artist = Client(self._service).artist(artist_id)
        if artist is None:
            return None
        catalogue = Catalogue(artist.id)  # of another id where the asked one was merged into it
        with self._lock:
            spent = self._spent.get(artist_id, 0)
        if not read_catalogue(self._service, catalogue, worth + spent):
            self._remember_spent(artist_id, worth + spent)
            return None
        if catalogue.size <= LARGEST_HELD:
            with self._lock:
                self._held[artist_id] = catalogue
                while len(self._held) > MOST_HELD:
                    self._held.popitem(last=False)
        return catalogue

    def _remember_spent(self, artist_id: ArtistId, requests: float) -> None:
        with self._lock:
            self._spent[artist_id] = requests
            self._spent.move_to_end(artist_id)
            if len(self._spent) > _MOST_SPENT:
                self._spent.popitem(last=False)


LEAST_FILES = 3
"""By an artist, for a look at the artist's releases: the two lists of them are two requests."""

_log = logging.getLogger(__name__)


def looked_up_together(
    service: Service, catalogues: Catalogues, album: Sequence[TrackTags]
) -> Known:
    """Look up what files of an album share, as far as that takes fewer requests.

    Of catalogues past `LARGEST_HELD` only what is about the recordings of the files is held, so a
    folder with files by hundreds of artists takes no more memory than its files do.
    """
    known = Known()
    held = 0
    for artist_id, files in _by_artist(service, album).items():
        catalogue = catalogues.of(artist_id, _cost_one_by_one(service, files))
        if catalogue is None:
            continue
        held += catalogue.size
        if held > LARGEST_HELD:
            catalogue = catalogue.only(set[RecordingId]().union(*_by_release(files).values()))
        known.catalogues.update(dict.fromkeys(catalogue.recordings, catalogue))
    _take_tracks(service, known, album)
    return known


def _by_artist(service: Service, album: Sequence[TrackTags]) -> dict[ArtistId, list[TrackTags]]:
    """Group files by who plays them; those of artists with few files are left out."""
    alike: defaultdict[str, list[TrackTags]] = defaultdict(list)
    for tags in album:
        alike[_valid(tags.artist_mbid) or principal(tags.artist or "").casefold()].append(tags)
    by_artist: defaultdict[ArtistId, list[TrackTags]] = defaultdict(list)
    for name, files in alike.items():
        if len(files) < LEAST_FILES:
            continue
        artist_id = _valid(name) or _credited(service, files[0])
        if artist_id:
            by_artist[ArtistId(artist_id)] += files
    return by_artist


def _credited(service: Service, tags: TrackTags) -> ArtistId | None:
    """Return who plays a file, by its recording; what is asked for it is kept for the file."""
    try:
        found = next(filter(None, (way.find() for way in ways(Client(service), tags))), ())
    except LookupFailedError:
        return None  # the file itself will say so
    return next((credit.artist.id for one in found for credit in one.credits), None)


def _cost_one_by_one(service: Service, files: Sequence[TrackTags]) -> float:
    """Return how many requests files take at least without the list of their artist's releases."""
    by_release = _by_release(files)
    recordings = set[RecordingId]().union(*by_release.values())
    lookups = sum(_cost_of_recordings(service, *group) for group in by_release.items())
    browses = sum(service.cost(queries.releases_of(one, 0)) for one in recordings)
    searched = sum(1 for tags in files if not _valid(tags.recording_mbid) and tags.title)
    return lookups + browses + searched


def _cost_of_recordings(
    service: Service, release_id: ReleaseId | None, recordings: Iterable[RecordingId]
) -> float:
    each = sum(service.cost(queries.recording(one)) for one in recordings)
    return min(each, service.cost(queries.release(release_id))) if release_id else each


def _take_tracks(service: Service, known: Known, album: Iterable[TrackTags]) -> None:
    """Look up the releases that the tags name, where that saves looking up their recordings."""
    for release_id, recordings in _by_release(album).items():
        if release_id is None:
            continue
        asked = [one for one in recordings if one not in known.catalogues]
        question = queries.release(release_id)
        if service.cost(question) >= _cost_of_recordings(service, None, asked):
            continue
        try:
            answer = service.ask(question)
        except LookupFailedError as error:
            _log.warning("a musicbrainz release is not looked up", extra={"why": str(error)})
            continue
        if answer.metadata and answer.metadata.release:
            for track in tracks_on(answer.metadata.release):
                if track.recording:
                    known.tracks[track.recording.id] = track.recording, answer.fetched_at


def _by_release(files: Iterable[TrackTags]) -> dict[ReleaseId | None, set[RecordingId]]:
    """Group the recordings that files name by the release that they name."""
    named: defaultdict[ReleaseId | None, set[RecordingId]] = defaultdict(set)
    for tags in files:
        if recording_id := _valid(tags.recording_mbid):
            release_id = _valid(tags.release_mbid)
            named[ReleaseId(release_id) if release_id else None].add(RecordingId(recording_id))
    return named


def _valid(mbid: str | None) -> str | None:
    bare = (mbid or "").lower()
    return bare if MBID.fullmatch(bare) else None
