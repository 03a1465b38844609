"""Share the look-ups of an album's files, so that they take fewer requests.

MusicBrainz lists an artist's releases with their tracks in two lists of a few pages, which replace
two requests for each recording.
"""

import logging
import math
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec.structs import replace

from chart_binder.domain.tags import TrackTags
from chart_binder.domain.titles_and_credits import main_artist
from chart_binder.domain.vocabulary import (
    MBID,
    VARIOUS_ARTISTS,
    ArtistId,
    RecordingId,
    ReleaseId,
    fold,
)
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.client import Client, FetchedRecording, ReleaseList, Service
from chart_binder.musicbrainz.matching import first_artist, first_found, searches
from chart_binder.musicbrainz.web_service import MBRelease, Medium, Recording

MIN_FILES = 3
"""The fewest files by an artist for which reading the artist's two lists saves requests."""
MAX_CATALOGUES = 4
"""Catalogues held in memory; the pages of others are in the cache."""
MAX_HELD = 20_000
"""Pairs of recording and release held in memory, about 8 MB."""
PAUSE_S = 600.0
"""For this long after a failure, files are looked up one by one."""
_CREDIT_LINKS: Final = ("artist", "track_artist")
_MAX_ARTISTS = 10_000
_LOCKS = 16

_log = logging.getLogger(__name__)


def look_up_album(
    service: Service, catalogues: "CatalogueCache", album: Sequence[TrackTags]
) -> dict[RecordingId, FetchedRecording]:
    """Return the recordings that look-ups for several files find, if these take fewer requests."""
    answers: dict[RecordingId, FetchedRecording] = {}
    if service.is_local:
        return answers
    pairs_held = 0
    for artist_id, files in _by_artist(service, album).items():
        catalogue = catalogues.get(artist_id, _cost_one_by_one(service, files))
        if catalogue is None:
            continue
        pairs_held += catalogue.size
        tagged_ids = set[RecordingId]().union(*_by_release(files).values())
        for recording_id, (recording, releases) in catalogue.recordings.items():
            if pairs_held <= MAX_HELD or recording_id in tagged_ids:
                answers[recording_id] = FetchedRecording(recording, catalogue.fetched_at, releases)
    _add_tracks(service, answers, album)
    return answers


def _by_artist(service: Service, album: Sequence[TrackTags]) -> dict[ArtistId, list[TrackTags]]:
    by_key: defaultdict[str, list[TrackTags]] = defaultdict(list)
    for tags in album:
        by_key[_checked(tags.artist_mbid) or fold(main_artist(tags.artist or ""))].append(tags)
    by_artist: defaultdict[ArtistId, list[TrackTags]] = defaultdict(list)
    for name, files in by_key.items():
        if len(files) < MIN_FILES:
            continue
        artist_id = _checked(name) or _artist_of(service, files)
        if artist_id:
            by_artist[ArtistId(artist_id)] += files
    return by_artist


def _artist_of(service: Service, files: Iterable[TrackTags]) -> ArtistId | None:
    """Return the artist of the first file whose matches are by one artist, else of the first."""
    artist = None
    for tags in files:
        try:
            recordings = first_found(searches(Client(service), tags)).recordings
        except LookupFailedError:
            break  # the look-up of the file itself will fail with this error
        artists = [*filter(None, map(first_artist, recordings))]
        artist = artist or next(iter(artists), None)
        if len(set(artists)) == 1:
            return artists[0]
    return artist


class AlbumArtists:
    """The artists of the files of one album, as searches find them; threads may share it."""

    def __init__(
        self,
        service: Service,
        fetched: Mapping[RecordingId, FetchedRecording],
        album: Sequence[TrackTags],
    ) -> None:
        self._service, self._fetched = service, fetched
        self._alike: defaultdict[tuple[str, str], list[TrackTags]] = defaultdict(list)
        for tags in album:
            self._alike[_album_key(tags)].append(tags)
        self._found: dict[TrackTags, frozenset[ArtistId]] = {}

    def beside(self, tags: TrackTags) -> frozenset[ArtistId]:
        """Return the artists who may have made all other files; empty if a look-up fails."""
        artist, album = _album_key(tags)
        if not artist or not album:
            return frozenset()
        try:
            artists = [
                self._artists_of(file) for file in self._alike[artist, album] if file != tags
            ]
        except LookupFailedError:
            return frozenset()  # the look-up of that file itself will fail with this error
        identified = [*filter(None, artists)]
        return frozenset.intersection(*identified) if len(identified) > 1 else frozenset()

    def _artists_of(self, tags: TrackTags) -> frozenset[ArtistId]:
        if tags not in self._found:
            matches = first_found(searches(Client(self._service, self._fetched), tags))
            hits = (*matches.recordings, *matches.unread)
            self._found[tags] = frozenset(artist for hit in hits for artist in hit.artist_ids)
        return self._found[tags]


def _album_key(tags: TrackTags) -> tuple[str, str]:
    return fold(main_artist(tags.artist or "")), fold(tags.album or "")


def _cost_one_by_one(service: Service, files: Sequence[TrackTags]) -> float:
    """Return the least number of requests for files without their artist's catalogue."""
    by_release = _by_release(files)
    recordings = set[RecordingId]().union(*by_release.values())
    lookups = 0.0
    for release_id, of_release in by_release.items():
        cost = _cost_of_recordings(service, of_release)
        if release_id:
            cost = min(cost, service.cost(ws.LookUp("release", release_id)))
        lookups += cost
    browses = sum(service.cost(ws.BrowseReleases("recording", mbid)) for mbid in recordings)
    searched = sum(1 for tags in files if not _checked(tags.recording_mbid) and tags.title)
    return lookups + browses + searched


def _cost_of_recordings(service: Service, recordings: Iterable[RecordingId]) -> float:
    return sum(service.cost(ws.LookUp("recording", mbid)) for mbid in recordings)


def _add_tracks(
    service: Service, answers: dict[RecordingId, FetchedRecording], album: Iterable[TrackTags]
) -> None:
    """Look up the releases that the tags name if that saves requests for their recordings."""
    for release_id, recordings in _by_release(album).items():
        if release_id is None:
            continue
        unknown = [mbid for mbid in recordings if mbid not in answers]
        query = ws.LookUp("release", release_id)
        if service.cost(query) >= _cost_of_recordings(service, unknown):
            continue
        try:
            answer = service.fetch(query)
        except LookupFailedError as error:
            _log.warning("a musicbrainz release is not looked up", extra={"why": str(error)})
            continue
        if answer.metadata and answer.metadata.release:
            for track in answer.metadata.release.tracks:
                if recording := track.recording:
                    answers.setdefault(recording.id, FetchedRecording(recording, answer.fetched_at))


def _by_release(files: Iterable[TrackTags]) -> dict[ReleaseId | None, set[RecordingId]]:
    by_release: defaultdict[ReleaseId | None, set[RecordingId]] = defaultdict(set)
    for tags in files:
        if recording_id := _checked(tags.recording_mbid):
            release_id = _checked(tags.release_mbid)
            by_release[ReleaseId(release_id) if release_id else None].add(RecordingId(recording_id))
    return by_release


def _checked(mbid: str | None) -> str | None:
    bare = (mbid or "").lower()
    return bare if MBID.fullmatch(bare) else None


class CatalogueCache:
    """Reads and holds artists' catalogues. Threads may share it: one reads, the others wait."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._held: dict[ArtistId, Catalogue] = {}
        self._lock = threading.Lock()
        self._artist_locks = tuple(threading.Lock() for _ in range(_LOCKS))
        self._earlier_worth: dict[ArtistId, float] = {}
        self._failed_at = -math.inf

    def get(
        self, artist_id: ArtistId, worth: float, *, max_worth: float = math.inf
    ) -> "Catalogue | None":
        """Return an artist's catalogue if reading it takes fewer requests than `worth`, else None.

        `worth` is the number of requests that the catalogue saves. The worth of earlier albums, for
        which it was not read, is added, up to `max_worth`. So all albums of an artist take at most
        about twice the least number of requests.
        """
        is_paused = self._service.now() - self._failed_at < PAUSE_S
        if not worth or artist_id == VARIOUS_ARTISTS or is_paused or self._service.is_local:
            return None
        with self._artist_locks[hash(artist_id) % _LOCKS]:
            try:
                catalogue = self._held.get(artist_id)
                is_usable = catalogue is not None and self._service.is_fresh(catalogue.fetched_at)
                return catalogue if is_usable else self._read(artist_id, worth, max_worth)
            except LookupFailedError as error:
                self._failed_at = self._service.now()
                _log.warning(
                    "files are looked up one by one in musicbrainz, not by their artist",
                    extra={"why": str(error), "for_s": PAUSE_S},
                )
                return None

    def _read(self, artist_id: ArtistId, worth: float, max_worth: float) -> "Catalogue | None":
        if self._service.cost(ws.LookUp("artist", artist_id)) == math.inf:
            return None
        artist = Client(self._service).artist(artist_id)
        if artist is None:
            return None
        catalogue = Catalogue(artist.id)  # a different id if the artist was merged
        worth += self._earlier_worth.get(artist_id, 0)
        if not _read_catalogue(self._service, catalogue, min(worth, max_worth)):
            if len(self._earlier_worth) >= _MAX_ARTISTS:
                self._earlier_worth.clear()
            self._earlier_worth[artist_id] = worth
            return None
        if catalogue.size <= MAX_HELD:
            with self._lock:
                self._held[artist_id] = catalogue
                while len(self._held) > MAX_CATALOGUES:
                    del self._held[next(iter(self._held))]
        return catalogue


@dataclass(slots=True)
class Catalogue:
    """The recordings credited to `artist` first, with all their releases.

    A recording is skipped if one of its tracks is credited only to others, such as composers:
    releases that have only such tracks are not in the lists. `fetched_at` is when the oldest page
    was received, in seconds since the epoch.
    """

    artist: ArtistId
    fetched_at: float = math.inf
    recordings: dict[RecordingId, tuple[Recording, dict[ReleaseId, MBRelease]]] = field(
        default_factory=dict
    )
    _excluded: set[RecordingId] = field(default_factory=set)

    @property
    def size(self) -> int:
        """The number of pairs of recording and release, to which its memory is proportional."""
        return sum(len(releases) for _, releases in self.recordings.values())

    def add(self, releases: Iterable[MBRelease], fetched_at: float) -> None:
        """Add the artist's recordings of a page of releases."""
        self.fetched_at = min(self.fetched_at, fetched_at)
        for release in releases:
            trackless: MBRelease | None = None
            for track in release.tracks:
                recording = track.recording
                if recording is None or first_artist(recording) != self.artist:
                    continue
                if self.artist not in track.artist_ids:
                    self._excluded.add(recording.id)
                    self.recordings.pop(recording.id, None)
                if recording.id not in self._excluded:
                    trackless = trackless or _without_tracks(release)
                    _, carriers = self.recordings.setdefault(recording.id, (recording, {}))
                    carriers[release.id] = trackless


def _without_tracks(release: MBRelease) -> MBRelease:
    discs = release.medium_list
    media = (Medium(format=disc.format, track_count=disc.track_count) for disc in discs)
    return replace(release, medium_list=tuple(media))


def _missing_tracks(release: MBRelease) -> str | None:
    is_whole = all((disc.track_count or 0) <= len(disc.tracks) for disc in release.medium_list)
    return None if is_whole else f"tracks of release {release.id}"


def _read_catalogue(service: Service, catalogue: Catalogue, worth: float) -> bool:
    """Read an artist's two lists of releases; return whether the catalogue is complete.

    Stop if the remaining pages take at least `worth` requests, or if the pages read contain no
    recording of the artist.
    """
    lists = [
        ReleaseList(service, partial(ws.BrowseReleases, credit, catalogue.artist, tracks=True))
        for credit in _CREDIT_LINKS
    ]
    while unread := [pages for pages in lists if not pages.is_complete]:
        costs = [pages.cost_left for pages in unread]
        if sum(costs) >= worth:
            return False
        cheapest, _ = min(zip(unread, costs, strict=True), key=lambda pair: pair[1])
        answer, missing = cheapest.read_page()
        if answer.metadata is None:
            cheapest.forget()
            raise service.failure("it does not list the releases of an artist")
        page = answer.metadata.release_list or ()
        catalogue.add(page, answer.fetched_at)
        missing = missing or next(filter(None, map(_missing_tracks, page)), None)
        if missing:
            _log.warning("musicbrainz' list of an artist is incomplete", extra={"why": missing})
            cheapest.forget()
            return False
        if cheapest.release_ids and not catalogue.recordings:
            return False
    return True
