"""Answer the queries of look-ups from an index, with the values that the web service returns."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from chart_binder.domain.evidence import Provenance
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import IndexFileError, LookupFailedError
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.client import Answer, ServiceHealth
from chart_binder.musicbrainz.index import layout, searching
from chart_binder.musicbrainz.index.reader import Reader
from chart_binder.musicbrainz.web_service import PAGE, Metadata, ServiceQuery


class _OfThread(threading.local):
    """The reader of each thread."""

    def __init__(self, path: Path) -> None:
        self.reader = Reader(path)


class IndexService:
    """Answers queries from an index, without a network. Threads may share it.

    Each thread has a connection of its own; one that is opened later may show a newer index.
    """

    is_offline = False
    is_local = True
    requests = 0

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        """Open an index. Raises `IndexFileError`."""
        self._path = path
        self._of_thread = _OfThread(path)
        self.now = clock

    @property
    def host(self) -> str:
        """The name of the index for messages, with the day of its dump."""
        return f"the index of {_text(self._of_thread.reader.dumped_at)[:10]}"

    @property
    def age_days(self) -> float:
        """The number of days since the dump was made."""
        return self._of_thread.reader.summary.age_days(datetime.fromtimestamp(self.now(), UTC))

    def fetch(self, query: ServiceQuery) -> Answer:
        """Return the response to a query, or raise `LookupFailedError` if the file is damaged."""
        try:
            reader = self._of_thread.reader
            return Answer(_answer(reader, query), reader.dumped_at)
        except layout.DAMAGE as error:
            raise LookupFailedError(layout.DAMAGED.format(self._path, error)) from error
        except IndexFileError as error:
            raise LookupFailedError(str(error)) from error

    def cost(self, query: ServiceQuery) -> float:  # noqa: ARG002
        """Return 0, because a look-up takes no request."""
        return 0

    def is_fresh(self, fetched_at: float) -> bool:  # noqa: ARG002
        """Return True, because asking again would change nothing."""
        return True

    def forget(self, query: ServiceQuery) -> None:
        """Do nothing, because no response is stored."""

    def dated(self, provenance: Provenance, oldest_at: float) -> Provenance:
        """Return a provenance with the time and age of the dump, and the name of the index."""
        fetched = _text(oldest_at)
        age_s = round(max(0.0, self.now() - oldest_at), 1)
        return replace(
            provenance, fetched_at_utc=fetched, cache_age_s=age_s, index=f"dump of {fetched}"
        )

    def failure(self, problem: str) -> LookupFailedError:
        """Return the error for a failed look-up, with the index."""
        return LookupFailedError(f"the look-up in {self.host} failed: {problem}")

    def check(self) -> ServiceHealth:
        """Return the state of the index, which can be read."""
        return ServiceHealth(self.host, is_reachable=True)


@lru_cache
def _text(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def _answer(reader: Reader, query: ServiceQuery) -> Metadata | None:
    match query:
        case ws.LookUp():
            if query.entity == "isrc" or MBID.fullmatch(query.identifier):
                return _LOOK_UPS[query.entity](reader, query)
            return None
        case ws.BrowseReleases():
            return _releases(reader, query)
        case ws.RecordingsOfWork():
            return _of_work(reader, query.work_id)
        case ws.SearchGroupsOfYears():
            return _groups(reader, searching.groups_of_years(reader, query), PAGE)
    return _search(reader, query)


def _search(
    reader: Reader, query: ws.SearchRecordings | ws.SearchByTitle | ws.SearchLoosely
) -> Metadata:
    if isinstance(query, ws.SearchRecordings):
        recordings, count = searching.find_recordings(reader, query)
        return Metadata(recording_list=tuple(recordings), recording_count=count)
    limit = query.limit if isinstance(query, ws.SearchLoosely) else ws.MAX_FOR_MODEL
    if query.entity == "recording":
        recordings, count = searching.find_titles(reader, query, limit)
        return Metadata(recording_list=tuple(recordings), recording_count=count)
    groups = searching.find_groups(reader, query)
    if query.entity == "release-group":
        return _groups(reader, groups, limit)
    ids = [release for group in groups[:limit] for release in reader.releases_of_group(group)]
    return Metadata(release_list=reader.releases(ids[:limit]), release_count=len(ids))


def _groups(reader: Reader, row_ids: Sequence[int], limit: int) -> Metadata:
    groups = tuple(map(reader.group, map(reader.group_row, row_ids[:limit])))
    return Metadata(release_group_list=groups, release_group_count=len(row_ids))


def _isrc(reader: Reader, query: ws.LookUp) -> Metadata | None:
    rows = reader.recording_rows(reader.with_isrc(query.identifier))
    recordings = tuple(map(reader.recording, rows))
    return Metadata(isrc=ws.Isrc(recordings)) if recordings else None


def _recording(reader: Reader, query: ws.LookUp) -> Metadata | None:
    row = reader.recording_row(query.identifier)
    if row is None:
        return None
    return Metadata(recording=reader.related(row) if query.also else reader.recording(row))


def _artist(reader: Reader, query: ws.LookUp) -> Metadata | None:
    artist = reader.artist(query.identifier)
    return Metadata(artist=artist) if artist else None


def _release(reader: Reader, query: ws.LookUp) -> Metadata | None:
    row_id = reader.row_id(layout.RELEASE, query.identifier)
    if row_id is None:
        return None
    return Metadata(release=reader.releases([row_id], tracks=True)[0])


def _release_group(reader: Reader, query: ws.LookUp) -> Metadata | None:
    row_id = reader.row_id(layout.RELEASE_GROUP, query.identifier)
    if row_id is None:
        return None
    links = reader.links(row_id) if query.also else ()
    return Metadata(release_group=reader.group(reader.group_row(row_id), links))


_LOOK_UPS: Final[Mapping[ws.LookUpEntity, Callable[[Reader, ws.LookUp], Metadata | None]]] = {
    "artist": _artist,
    "isrc": _isrc,
    "recording": _recording,
    "release": _release,
    "release-group": _release_group,
}


def _of_work(reader: Reader, work_id: str) -> Metadata | None:
    keys = reader.recordings_of_work(work_id) if MBID.fullmatch(work_id) else None
    if keys is None:
        return None
    recordings = map(reader.recording, reader.recording_rows(keys[:PAGE]))
    return Metadata(recording_list=tuple(recordings), recording_count=len(keys))


def _releases(reader: Reader, query: ws.BrowseReleases) -> Metadata | None:
    """Return a page of releases; those of a recording are all on one page."""
    ids = reader.release_ids(query.linked, query.identifier)
    if ids is None:
        return None
    page = ids[query.offset :]
    if query.linked != "recording":
        page = page[:PAGE]
    releases = reader.releases(page, tracks=query.tracks)
    return Metadata(release_list=releases, release_count=len(ids))
