"""Look records up in MusicBrainz's data: at a web service, or in an index of a dump."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from chart_binder.domain.evidence import Link, Provenance
from chart_binder.domain.vocabulary import (
    MBID,
    ArtistId,
    EntityKind,
    RecordingId,
    ReleaseGroupId,
    ReleaseId,
)
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.web_service import (
    MBRelease,
    MBReleaseGroup,
    Metadata,
    Recording,
    ServiceQuery,
)

_MAX_PAGES = 100
_MAX_TRACK_PAGES = 3
_MAX_LINKED_GROUPS = 2
_LINKED = frozenset({"wikidata", "wikipedia"})
T = TypeVar("T")


class Answer(NamedTuple):
    """A response, None if nothing has the id, and its time in seconds since the epoch."""

    metadata: Metadata | None
    fetched_at: float


class Service(Protocol):
    """Answers queries from one source of MusicBrainz's data. Threads may share it."""

    @property
    def host(self) -> str:
        """The name of the source for messages."""

    @property
    def requests(self) -> int:
        """The number of requests sent, including failed ones."""

    @property
    def is_offline(self) -> bool:
        """Whether only stored responses are used."""

    @property
    def is_local(self) -> bool:
        """Whether no look-up takes a request, so that files need not share any."""

    def fetch(self, query: ServiceQuery) -> Answer:
        """Return the response to a query, or raise `LookupFailedError`."""

    def cost(self, query: ServiceQuery) -> float:
        """Return how many requests a response takes, infinite if there can be none."""

    def is_fresh(self, fetched_at: float) -> bool:
        """Whether a response of that time needs no new request."""

    def forget(self, query: ServiceQuery) -> None:
        """Delete the stored response to a query because it is wrong."""

    def now(self) -> float:
        """Return the current time in seconds since the epoch."""

    def dated(self, provenance: Provenance, oldest_at: float) -> Provenance:
        """Return a provenance with the time and age of its oldest response."""

    def failure(self, problem: str) -> LookupFailedError:
        """Return the error for a failed look-up, with the source."""

    def check(self) -> "ServiceHealth":
        """Check the source, with one request at most; a failure is not raised."""


class ServiceHealth(NamedTuple):
    """The state of a source; `is_reachable` is None offline, each problem names its remedy."""

    host: str
    is_reachable: bool | None
    problems: tuple[str, ...] = ()


class ReleaseList:
    """A list of releases, read page by page; `query_at` returns the query for an offset."""

    def __init__(self, service: Service, query_at: Callable[[int], ServiceQuery]) -> None:
        self._service = service
        self._query_at = query_at
        self._queries: list[ServiceQuery] = []
        self._count: int | None = None
        self._offset = 0
        self.release_ids = set[ReleaseId]()

    @property
    def is_complete(self) -> bool:
        """Whether all pages were read."""
        return self._count is not None and self._offset >= self._count

    @property
    def cost_left(self) -> float:
        """The number of requests for the other pages if they are as long as those read so far."""
        next_page = self._service.cost(self._query_at(self._offset))
        if self._count is None or not next_page:
            return next_page
        pages_left = math.ceil((self._count - self._offset) * len(self._queries) / self._offset)
        return pages_left * next_page

    def read_page(self) -> tuple[Answer, str | None]:
        """Return the next page; if it shows a gap in the list, also return a text about the gap."""
        self._queries.append(self._query_at(self._offset))
        answer = self._service.fetch(self._queries[-1])
        metadata = answer.metadata or Metadata()
        page = metadata.release_list or ()
        before, self._count = self._count, metadata.release_count or 0
        self._offset += len(page)
        self.release_ids |= {release.id for release in page}
        if before not in {None, self._count}:
            return answer, f"{self._count} releases, and {before} a page before"
        if len(self.release_ids) < self._count and (self.is_complete or not page):
            return answer, f"{len(self.release_ids)} of {self._count} releases"
        return answer, None

    def forget(self) -> None:
        """Delete the cached pages, because one is wrong."""
        for query in self._queries:
            self._service.forget(query)


class FetchedRecording(NamedTuple):
    """A recording from a response with several, with all its releases if those were fetched."""

    recording: Recording
    fetched_at: float
    releases: Mapping[ReleaseId, MBRelease] | None = None


Listed: TypeAlias = tuple[tuple[T, ...], int]
"""The items of a list that were read, and the number of all its items."""


def _listed(items: tuple[T, ...] | None, count: int | None) -> Listed[T]:
    return items or (), max(count or 0, len(items or ()))


class Client:
    """Looks up records, and notes the time of the oldest response; `fetched` take no request.

    `fallback` answers what the service has nothing for, but not for lists of several pages.

    Every method raises `LookupFailedError`, and returns None or an empty tuple if MusicBrainz has
    no such entry.
    """

    def __init__(
        self,
        service: Service,
        fetched: Mapping[RecordingId, FetchedRecording] | None = None,
        *,
        fallback: Service | None = None,
    ) -> None:
        self._service = service
        self._fallback = fallback
        self._fetched = fetched or {}
        self.oldest_at: float | None = None

    def recording(self, recording_id: RecordingId) -> Recording | None:
        """Return a recording, with a different id if it was merged."""
        if entry := self._fetched.get(recording_id):
            self._note_age(entry.fetched_at)
            return entry.recording
        return self._fetch(ws.LookUp("recording", recording_id)).recording

    def recordings_with(self, isrc: str) -> tuple[Recording, ...]:
        """Return the recordings that carry an ISRC."""
        metadata = self._fetch(ws.LookUp("isrc", isrc)).isrc
        return metadata.recording_list if metadata else ()

    def search(self, query: ws.SearchRecordings | ws.SearchLoosely) -> Listed[Recording]:
        """Return a page of the results of a search for recordings."""
        metadata = self._fetch(query)
        if metadata.recording_list is None:
            raise self._service.failure("the answer to a search has no list of results")
        return _listed(metadata.recording_list, metadata.recording_count)

    def works_of(self, recording_id: RecordingId) -> tuple[ws.Work, ...]:
        """Return the works that a recording is a performance of, in order of their ids."""
        recording = self.relations_of(recording_id)
        if recording is None:
            raise self._service.failure(f"recording {recording_id} does not exist any more")
        relations = recording.work_relation_list
        performed = (relation.work for relation in relations if relation.type == "performance")
        return tuple(sorted(filter(None, performed), key=lambda work: work.id))

    def releases_of(self, recording_id: RecordingId) -> tuple[MBRelease, ...]:
        """Return all releases that contain a recording; an incomplete list is an error."""
        entry = self._fetched.get(recording_id)
        if entry and entry.releases is not None:
            self._note_age(entry.fetched_at)
            return tuple(entry.releases.values())
        if self._service.is_local:  # which has no pages
            return self._fetch(ws.BrowseReleases("recording", recording_id)).release_list or ()
        releases: dict[str, MBRelease] = {}
        pages = ReleaseList(self._service, partial(ws.BrowseReleases, "recording", recording_id))
        for _ in range(_MAX_PAGES):
            answer, missing = pages.read_page()
            self._note_age(answer.fetched_at)
            if missing:
                pages.forget()
                raise self._service.failure(f"the answer is incomplete: {missing}; try again later")
            page = answer.metadata.release_list if answer.metadata else None
            releases |= {release.id: release for release in page or ()}
            if pages.is_complete:
                return tuple(releases.values())
        raise self._service.failure(
            f"recording {recording_id} is on more than {len(releases)} releases"
        )

    def artist(self, artist_id: ArtistId) -> ws.MBArtist | None:
        """Return an artist."""
        return self._fetch(ws.LookUp("artist", artist_id)).artist

    def current_id(self, kind: EntityKind, mbid: str) -> str:
        """Return the current id of an entry, which differs from `mbid` if the entry was merged.

        Return `mbid` if it names nothing, or if canon is offline and has no stored response.
        """
        query = ws.LookUp(kind, mbid)
        for service in filter(None, (self._service, self._fallback)):
            if service.cost(query) == math.inf:
                break
            answer = service.fetch(query)
            self._note_age(answer.fetched_at)
            metadata = answer.metadata or Metadata()
            records = metadata.artist, metadata.recording, metadata.release, metadata.release_group
            for record in records:
                if record:
                    return record.id
        return mbid

    def release_group(self, group_id: ReleaseGroupId) -> MBReleaseGroup | None:
        """Return a release group, with a different id if it was merged."""
        return self._fetch(ws.LookUp("release-group", group_id)).release_group

    def links_of(self, group_ids: Sequence[ReleaseGroupId]) -> tuple[Link, ...]:
        """Return the addresses at Wikidata and Wikipedia to which the first two groups link.

        Skip relations that have ended. Each group takes one request.
        """
        links: list[Link] = []
        for group_id in list(dict.fromkeys(group_ids))[:_MAX_LINKED_GROUPS]:
            group = self._fetch(ws.LookUp("release-group", group_id, "links")).release_group
            links += (
                Link(group_id, relation.target)
                for relation in (group.url_relation_list if group else ())
                if relation.type in _LINKED and relation.target and relation.ended != "true"
            )
        return tuple(links)

    def release(self, release_id: ReleaseId) -> MBRelease | None:
        """Return a release with its tracks, and with a different id if it was merged."""
        return self._fetch(ws.LookUp("release", release_id)).release

    def first_releases_of(
        self, linked: Literal["recording", "release-group"], identifier: str
    ) -> Listed[MBRelease]:
        """Return the first page of the releases of a recording or a group."""
        metadata = self._fetch(ws.BrowseReleases(linked, identifier))
        if metadata.release_list is None:
            raise self._service.failure(f"{linked} {identifier} does not exist any more")
        return _listed(metadata.release_list, metadata.release_count)

    def releases_with(self, group_id: ReleaseGroupId) -> Listed[MBRelease]:
        """Return the first three pages of the releases of a group, with their tracks."""
        releases: dict[ReleaseId, MBRelease] = {}
        count = offset = 0
        for _ in range(_MAX_TRACK_PAGES):
            query = ws.BrowseReleases("release-group", group_id, offset, tracks=True)
            metadata = self._fetch(query)
            page, count = metadata.release_list or (), metadata.release_count or 0
            offset += len(page)
            releases |= {release.id: release for release in page}
            if not page or offset >= count:
                break
        return _listed(tuple(releases.values()), count)

    def relations_of(self, recording_id: RecordingId) -> Recording | None:
        """Return a recording with its relations to recordings and works."""
        return self._fetch(ws.LookUp("recording", recording_id, "relations")).recording

    def recordings_of_work(self, work_id: str) -> Listed[Recording]:
        """Return the first page of the recordings of a work."""
        metadata = self._fetch(ws.RecordingsOfWork(work_id))
        if metadata.recording_list is None:
            raise self._service.failure(f"work {work_id} does not exist any more")
        return _listed(metadata.recording_list, metadata.recording_count)

    def search_by_title(self, entity: ws.Entity, title: str, artist: str) -> Metadata:
        """Search for the exact words of title and artist (name or id), else for any of them."""
        loosely = ws.SearchLoosely(entity, title, artist or title)
        if not artist:
            return self._fetch(loosely)
        metadata = self._fetch(ws.SearchByTitle(entity, title, artist))
        is_any = metadata.release_group_list or metadata.release_list or metadata.recording_list
        return metadata if is_any or MBID.fullmatch(artist) else self._fetch(loosely)

    def groups_of_years(self, artist: str, first: int, last: int) -> Listed[MBReleaseGroup]:
        """Return the first page of an artist's groups first dated from `first` to `last`."""
        metadata = self._fetch(ws.SearchGroupsOfYears(artist, first, last))
        return _listed(metadata.release_group_list, metadata.release_group_count)

    def _fetch(self, query: ServiceQuery) -> Metadata:
        answer = self._service.fetch(query)
        if self._fallback and _is_empty(answer.metadata):
            answer = self._fallback.fetch(query)
        self._note_age(answer.fetched_at)
        return answer.metadata or Metadata()

    def _note_age(self, fetched_at: float) -> None:
        if self.oldest_at is None or fetched_at < self.oldest_at:
            self.oldest_at = fetched_at


def _is_empty(metadata: Metadata | None) -> bool:
    if metadata is None:
        return True
    lists = (metadata.recording_list, metadata.release_list, metadata.release_group_list)
    listed = [items for items in lists if items is not None]
    return bool(listed) and not any(listed)
