"""A client of MusicBrainz in three layers: requests, a cache with retries, and look-ups."""

import logging
import math
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeAlias, TypeVar
from urllib.parse import urlsplit

import httpcore
from msgspec.structs import replace

from chart_binder import __version__
from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.evidence import Link, Provenance
from chart_binder.domain.records import CachedAnswer
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
    UnreadableError,
)
from chart_binder.net import Deadline, Throttle, TimedBackend, environment_proxy, retry_after_s

_log = logging.getLogger(__name__)

MAX_BYTES = 16_000_000
"""The longest response; a hundred releases with all includes take less than one million bytes."""
_MAX_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEMPORARY = frozenset({429, 500, 502, 503, 504, 520})
"""A proxy sends 520 if the server behind it sent an empty or unreadable response."""
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_WRONG_SERVER = "check that musicbrainz.hostname and musicbrainz.https name a MusicBrainz server"


@dataclass(eq=False)
class RequestError(Exception):
    """A request failed; `advice` tells a person what to do. It may succeed later if temporary."""

    problem: str
    advice: str
    is_temporary: bool = False
    retry_after_s: float = 0.0

    def __str__(self) -> str:
        return self.problem


class _Response(NamedTuple):
    status: int
    headers: Mapping[bytes, bytes]
    body: bytes

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


class MusicBrainzServer:
    """Sends requests to MusicBrainz at one host and counts them in `sent`. Threads may share it.

    `sent_by_all` counts those of all servers in this process. Both counts include failed requests.
    """

    sent_by_all: ClassVar[int] = 0
    _lock = threading.Lock()

    def __init__(self, config: MusicBrainzConfig, throttle: Throttle) -> None:
        """Open no connection yet. Raises `ConfigError` if the proxy is invalid."""
        self.sent = 0
        self._host = config.hostname
        self._scheme = "https" if config.https else "http"
        self._timeout_s = config.timeout_s
        self._throttle = throttle
        contact = config.contact.encode("ascii", "replace").decode()
        self._headers: dict[bytes | str, bytes | str] = {
            "User-Agent": f"canon/{__version__}" + (f" ( {contact} )" if contact else ""),
            "Accept": "application/xml",
            "Accept-Encoding": "identity",
        }
        self._ssl_context = httpcore.default_ssl_context() if config.https else None
        self._proxy = environment_proxy(self._scheme, self._host)

    def fetch(self, query: ServiceQuery) -> tuple[bytes, Metadata | None]:
        """Return a response's body and content (None if not found). Raises `RequestError`."""
        target = query.target
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._get(target)
            next_target = _redirect_target(response, target)
            if next_target is None:
                return response.body, _content(response, query)
            target = next_target
        raise RequestError("the server sends us on for ever", _WRONG_SERVER)

    def _get(self, target: str) -> _Response:
        self._throttle.wait_turn(f"musicbrainz {self._host}")
        with self._lock:
            self.sent += 1
            MusicBrainzServer.sent_by_all += 1
        started = time.monotonic()
        pool = httpcore.ConnectionPool(
            ssl_context=self._ssl_context,
            proxy=self._proxy,
            max_keepalive_connections=0,
            network_backend=TimedBackend(Deadline(self._timeout_s)),
        )
        name, colon, port = self._host.partition(":")
        try:
            url = f"{self._scheme}://{name.encode('idna').decode('ascii')}{colon}{port}{target}"
            with pool, pool.stream("GET", url, headers=self._headers) as response:
                body = _read_bounded(response)
        except _ERRORS as error:
            raise _translated(error, self._timeout_s) from error
        status, seconds = response.status, round(time.monotonic() - started, 3)
        extra = {"path": target, "cached": False, "status": status, "seconds": seconds}
        _log.debug("musicbrainz", extra=extra)
        headers = {key.lower(): value for key, value in response.headers}
        return _Response(status, headers, body)


def _content(response: _Response, query: ServiceQuery) -> Metadata | None:
    error = ws.error_text(response.body)
    if response.status == HTTPStatus.NOT_FOUND and error:
        return None
    if response.status != HTTPStatus.OK:
        phrase = _PHRASES.get(response.status, "")
        problem = f"the server answered {response.status} {phrase}".rstrip()
        problem += f" ({error})" if error else ""
        if response.status not in _TEMPORARY:
            raise RequestError(problem, _WRONG_SERVER)
        after_s = retry_after_s(response.header(b"retry-after"))
        advice = f"try again in {after_s:.0f} s" if after_s else "try again later"
        raise RequestError(problem, advice, is_temporary=True, retry_after_s=after_s)
    try:
        return ws.parse_response(response.body, query.wanted)
    except UnreadableError as unreadable:
        raise RequestError(str(unreadable), _WRONG_SERVER) from unreadable


def _redirect_target(response: _Response, target: str) -> str | None:
    """Return the target of a redirect on this server, with the old query if it has none."""
    if response.status not in _REDIRECTS:
        return None
    location = response.header(b"location")
    refusal = RequestError(f"the server sends us on to {location[:200]!r}", _WRONG_SERVER)
    try:
        redirect = urlsplit(location)
    except ValueError as error:  # half of an IPv6 address
        raise refusal from error
    query = redirect.query or urlsplit(target).query
    next_target = f"{redirect.path}?{query}" if query else redirect.path
    is_ours = redirect.path.startswith("/ws/2/") and next_target.isascii()
    if not is_ours or next_target == target:
        raise refusal
    return next_target


def _read_bounded(response: httpcore.Response) -> bytes:
    body = bytearray()
    for piece in response.iter_stream():
        body += piece
        if len(body) > MAX_BYTES:
            too_long = f"the answer is longer than {MAX_BYTES // 1_000_000} MB"
            raise RequestError(too_long, _WRONG_SERVER)
    return bytes(body)


_ERRORS = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    UnicodeError,  # a host name that cannot be written in IDNA
)


def _translated(error: Exception, timeout_s: float) -> RequestError:
    is_temporary = False
    match error:
        case httpcore.TimeoutException():
            problem = f"no whole answer within {timeout_s:g} s"
            advice = "try again later, or raise musicbrainz.timeout_s"
        case httpcore.ConnectError(args=(ssl.SSLError() as refusal, *_)):
            reason = getattr(refusal, "verify_message", "") or refusal.reason
            problem = f"no secure connection ({reason})"
            advice = "check clock and certificate; a mirror may need musicbrainz.https = false"
        case httpcore.ConnectError():
            cause = next(iter(error.args), None)  # httpcore wraps what the socket raised
            text = cause.strerror if isinstance(cause, OSError) else None
            problem, is_temporary = f"no connection ({text or error})", True
            advice = "check the network and musicbrainz.hostname"
        case httpcore.NetworkError() | httpcore.RemoteProtocolError():
            problem = f"the connection broke off ({error or type(error).__name__})"
            advice = "try again later; check that musicbrainz.https fits the server"
            is_temporary = True
        case _:
            problem = f"the request could not be sent ({error})"
            advice = "check musicbrainz.hostname, and the proxy in the environment"
    return RequestError(problem, advice, is_temporary=is_temporary)


# Cached responses.

MAX_RETRY_AFTER_S = 30.0
"""If a server asks for a longer wait, the request fails."""
_PAUSES_S = (0.5, 1.0)
"""Pauses before the second and the third try; longer if the server requests it."""
TRIES = 1 + len(_PAUSES_S)
_MAX_PAGES = 100
_MAX_TRACK_PAGES = 3
_MAX_LINKED_GROUPS = 2
_LINKED = frozenset({"wikidata", "wikipedia"})
T = TypeVar("T")


class AnswerCache(Protocol):
    """Stores responses between runs. A `StoreError` that it raises is passed on."""

    def get(self, key: str) -> CachedAnswer | None:
        """Return the response stored under `key`, however old, or None."""

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Store `body` under `key`, replacing an earlier one."""

    def forget(self, key: str) -> None:
        """Delete what is stored under `key`."""


class Answer(NamedTuple):
    """A response, None if nothing has the id, and its time in seconds since the epoch."""

    metadata: Metadata | None
    fetched_at: float


class CachedService:
    """MusicBrainz with a cache of all responses except failures; offline, any age is accepted."""

    def __init__(
        self,
        host: str,
        server: MusicBrainzServer | None,
        cache: AnswerCache,
        throttle: Throttle,
        ttl_s: float,
    ) -> None:
        self.host = host
        self._server = server
        self._cache = cache
        self._throttle = throttle
        self._ttl_s = ttl_s

    @property
    def requests(self) -> int:
        """The number of requests sent, including failed ones."""
        return self._server.sent if self._server else 0

    def fetch(self, query: ServiceQuery) -> Answer:
        """Return the response, else an old one with a warning, else raise `LookupFailedError`."""
        cached = self._cached(query)
        if cached is not None and self.is_fresh(cached.fetched_at):
            _log.debug("musicbrainz", extra={"path": query.target, "cached": True, "seconds": 0.0})
            return cached
        try:
            return self._fetch_new(query)
        except LookupFailedError as error:
            if cached is None:
                raise
            age_s = round(self.age_s(cached.fetched_at))
            _log.warning(
                "an old musicbrainz answer is used", extra={"why": str(error), "age_s": age_s}
            )
            return cached

    def cost(self, query: ServiceQuery) -> float:
        """Return how many requests a response takes: 0 if cached, else 1, infinite if offline."""
        cached = self._cache.get(self._key(query))
        if cached is not None and self.is_fresh(cached.fetched_at):
            return 0
        return 1 if self._server else math.inf

    def is_fresh(self, fetched_at: float) -> bool:
        """Whether a response of that time needs no new request; offline, none needs one."""
        return self._server is None or 0 <= self.now() - fetched_at < self._ttl_s

    def forget(self, query: ServiceQuery) -> None:
        """Delete the cached response to a query because it is wrong."""
        self._cache.forget(self._key(query))

    def now(self) -> float:
        """Return the current time in seconds since the epoch."""
        return self._throttle.clock()

    def age_s(self, fetched_at: float) -> float:
        """Return how many seconds ago something was fetched."""
        return max(0.0, self.now() - fetched_at)

    def dated(self, provenance: Provenance, oldest_at: float) -> Provenance:
        """Return a provenance with the time and age of its oldest response."""
        fetched = datetime.fromtimestamp(oldest_at, UTC).isoformat(timespec="seconds")
        age_s = round(self.age_s(oldest_at), 1)
        return replace(provenance, fetched_at_utc=fetched, cache_age_s=age_s)

    def failure(self, problem: str) -> LookupFailedError:
        """Return the error for a failed look-up, with the host."""
        return LookupFailedError(f"the look-up at MusicBrainz ({self.host}) failed: {problem}")

    def _key(self, query: ServiceQuery) -> str:
        return self.host + query.target

    def _fetch_new(self, query: ServiceQuery) -> Answer:
        if self._server is None:
            raise self.failure(
                "canon is offline, and no answer to it is stored: run once without --offline"
            )
        for pause_s in (*_PAUSES_S, None):
            try:
                body, metadata = self._server.fetch(query)
            except RequestError as error:
                is_last = pause_s is None or error.retry_after_s > MAX_RETRY_AFTER_S
                if is_last or not error.is_temporary:
                    times = f", {TRIES} times" if error.is_temporary and pause_s is None else ""
                    raise self.failure(f"{error}{times}; {error.advice}") from error
                after_s = max(error.retry_after_s, pause_s or 0.0)
                _log.info(
                    "musicbrainz is asked again", extra={"why": str(error), "after_s": after_s}
                )
                self._throttle.wait(after_s)
                continue
            answer = Answer(metadata, self.now())
            self._cache.put(self._key(query), body, answer.fetched_at)
            return answer
        raise AssertionError("the last try ends in an answer or a failure")

    def _cached(self, query: ServiceQuery) -> Answer | None:
        key = self._key(query)
        cached = self._cache.get(key)
        if cached is None:
            return None
        try:
            is_error = ws.error_text(cached.body)
            metadata = None if is_error else ws.parse_response(cached.body, query.wanted)
        except UnreadableError as error:
            _log.warning(
                "a kept musicbrainz answer cannot be read", extra={"key": key, "why": str(error)}
            )
            return None
        return Answer(metadata, cached.fetched_at)


class ReleaseList:
    """A list of releases, read page by page; `query_at` returns the query for an offset."""

    def __init__(self, service: CachedService, query_at: Callable[[int], ServiceQuery]) -> None:
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

    Every method raises `LookupFailedError`, and returns None or an empty tuple if MusicBrainz has
    no such entry.
    """

    def __init__(
        self, service: CachedService, fetched: Mapping[RecordingId, FetchedRecording] | None = None
    ) -> None:
        self._service = service
        self._fetched = fetched or {}
        self.oldest_at: float | None = None

    def recording(self, recording_id: RecordingId) -> Recording | None:
        """Return a recording, with a different id if it was merged."""
        if entry := self._fetched.get(recording_id):
            self._note_age(entry.fetched_at)
            return entry.recording
        return self._fetch(ws.look_up("recording", recording_id)).recording

    def recordings_with(self, isrc: str) -> tuple[Recording, ...]:
        """Return the recordings that carry an ISRC."""
        metadata = self._fetch(ws.look_up("isrc", isrc)).isrc
        return metadata.recording_list if metadata else ()

    def search(self, query: ServiceQuery) -> Listed[Recording]:
        """Return a page of the results of a search for recordings."""
        metadata = self._fetch(query)
        if metadata.recording_list is None:
            raise self._service.failure("a search was answered as if there were no such search")
        return _listed(metadata.recording_list, metadata.recording_count)

    def works_of(self, recording_id: RecordingId) -> tuple[ws.Work, ...]:
        """Return the works that a recording is a performance of."""
        recording = self.relations_of(recording_id)
        if recording is None:
            raise self._service.failure(f"recording {recording_id} does not exist any more")
        relations = recording.work_relation_list
        performed = (relation.work for relation in relations if relation.type == "performance")
        return tuple(work for work in performed if work)

    def releases_of(self, recording_id: RecordingId) -> tuple[MBRelease, ...]:
        """Return all releases that contain a recording; an incomplete list is an error."""
        entry = self._fetched.get(recording_id)
        if entry and entry.releases is not None:
            self._note_age(entry.fetched_at)
            return tuple(entry.releases.values())
        releases: dict[str, MBRelease] = {}
        pages = ReleaseList(self._service, partial(ws.browse_releases, "recording", recording_id))
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
        return self._fetch(ws.look_up("artist", artist_id)).artist

    def current_id(self, kind: EntityKind, mbid: str) -> str:
        """Return the current id of an entry, which differs from `mbid` if the entry was merged.

        Return `mbid` if it names nothing, or if canon is offline and has no stored response.
        """
        query = ws.look_up(kind, mbid)
        if self._service.cost(query) == math.inf:
            return mbid
        answer = self._fetch(query)
        records = (answer.artist, answer.recording, answer.release, answer.release_group)
        return next((record.id for record in records if record), mbid)

    def release_group(self, group_id: ReleaseGroupId) -> MBReleaseGroup | None:
        """Return a release group, with a different id if it was merged."""
        return self._fetch(ws.look_up("release-group", group_id)).release_group

    def links_of(self, group_ids: Sequence[ReleaseGroupId]) -> tuple[Link, ...]:
        """Return the addresses at Wikidata and Wikipedia to which the first two groups link.

        Skip relations that have ended. Each group takes one request.
        """
        links: list[Link] = []
        for group_id in list(dict.fromkeys(group_ids))[:_MAX_LINKED_GROUPS]:
            group = self._fetch(ws.look_up("release-group", group_id, ws.LINKS)).release_group
            links += (
                Link(group_id, relation.target)
                for relation in (group.url_relation_list if group else ())
                if relation.type in _LINKED and relation.target and relation.ended != "true"
            )
        return tuple(links)

    def release(self, release_id: ReleaseId) -> MBRelease | None:
        """Return a release with its tracks, and with a different id if it was merged."""
        return self._fetch(ws.look_up("release", release_id)).release

    def first_releases_of(
        self, linked: Literal["recording", "release-group"], identifier: str
    ) -> Listed[MBRelease]:
        """Return the first page of the releases of a recording or a group."""
        metadata = self._fetch(ws.browse_releases(linked, identifier))
        if metadata.release_list is None:
            raise self._service.failure(f"{linked} {identifier} does not exist any more")
        return _listed(metadata.release_list, metadata.release_count)

    def releases_with(self, group_id: ReleaseGroupId) -> Listed[MBRelease]:
        """Return the first three pages of the releases of a group, with their tracks."""
        releases: dict[ReleaseId, MBRelease] = {}
        count = offset = 0
        for _ in range(_MAX_TRACK_PAGES):
            query = ws.browse_releases("release-group", group_id, offset, tracks=True)
            metadata = self._fetch(query)
            page, count = metadata.release_list or (), metadata.release_count or 0
            offset += len(page)
            releases |= {release.id: release for release in page}
            if not page or offset >= count:
                break
        return _listed(tuple(releases.values()), count)

    def relations_of(self, recording_id: RecordingId) -> Recording | None:
        """Return a recording with its relations to recordings and works."""
        return self._fetch(ws.look_up("recording", recording_id, ws.RELATIONS)).recording

    def recordings_of_work(self, work_id: str) -> Listed[Recording]:
        """Return the first page of the recordings of a work."""
        metadata = self._fetch(ws.query_recordings_of_work(work_id))
        if metadata.recording_list is None:
            raise self._service.failure(f"work {work_id} does not exist any more")
        return _listed(metadata.recording_list, metadata.recording_count)

    def search_by_title(self, entity: ws.Entity, title: str, artist: str) -> Metadata:
        """Search for the exact words of title and artist (name or id), else for any of them."""
        loosely = ws.search_loosely(entity, title, artist or title)
        if not artist:
            return self._fetch(loosely)
        metadata = self._fetch(ws.search_by_title(entity, title, artist))
        is_any = metadata.release_group_list or metadata.release_list or metadata.recording_list
        return metadata if is_any or MBID.fullmatch(artist) else self._fetch(loosely)

    def groups_of_years(self, artist: str, first: int, last: int) -> Listed[MBReleaseGroup]:
        """Return the first page of an artist's groups first dated from `first` to `last`."""
        metadata = self._fetch(ws.search_groups_of_years(artist, first, last))
        return _listed(metadata.release_group_list, metadata.release_group_count)

    def _fetch(self, query: ServiceQuery) -> Metadata:
        answer = self._service.fetch(query)
        self._note_age(answer.fetched_at)
        return answer.metadata or Metadata()

    def _note_age(self, fetched_at: float) -> None:
        if self.oldest_at is None or fetched_at < self.oldest_at:
            self.oldest_at = fetched_at
