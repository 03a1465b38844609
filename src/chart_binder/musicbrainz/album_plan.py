"""Which look-ups serve several files of an album at once, for fewer requests than each its own."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence

from chart_binder.domain.ids import MBID, ArtistId, RecordingId, ReleaseId
from chart_binder.domain.track import TrackTags
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz import questions
from chart_binder.musicbrainz.album import Known
from chart_binder.musicbrainz.catalogue import tracks_on
from chart_binder.musicbrainz.catalogues import LARGEST_HELD, Catalogues
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.matching import principal
from chart_binder.musicbrainz.service import Service
from chart_binder.musicbrainz.ways import ways

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
    browses = sum(service.cost(questions.releases_of(one, 0)) for one in recordings)
    searched = sum(1 for tags in files if not _valid(tags.recording_mbid) and tags.title)
    return lookups + browses + searched


def _cost_of_recordings(
    service: Service, release_id: ReleaseId | None, recordings: Iterable[RecordingId]
) -> float:
    each = sum(service.cost(questions.recording(one)) for one in recordings)
    return min(each, service.cost(questions.release(release_id))) if release_id else each


def _take_tracks(service: Service, known: Known, album: Iterable[TrackTags]) -> None:
    """Look up the releases that the tags name, where that saves looking up their recordings."""
    for release_id, recordings in _by_release(album).items():
        if release_id is None:
            continue
        asked = [one for one in recordings if one not in known.catalogues]
        question = questions.release(release_id)
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
