"""The evidence source `musicbrainz`: evidence from the web service, an index of a dump, or both."""

import logging
import time
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.evidence import (
    Artifact,
    Artist,
    EvidenceBundle,
    Provenance,
    RecordingCandidate,
)
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.remarks import names_other_performance, remarks_in
from chart_binder.domain.tags import TrackTags, artifact_of
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import (
    IndexFileError,
    LookupFailedError,
    NothingFoundError,
    UnidentifiedError,
)
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.album import AlbumArtists, CatalogueCache, look_up_album
from chart_binder.musicbrainz.client import Client, Service, ServiceHealth
from chart_binder.musicbrainz.evidence import (
    candidate_of,
    country_of,
    editions_of,
    is_much_later,
    out_by,
)
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.matching import (
    FindArtists,
    Matches,
    artists_apart,
    first_found,
    searches,
    with_current_ids,
)
from chart_binder.musicbrainz.performances import (
    is_on_other_versions_only,
    performance_of,
    title_key,
)
from chart_binder.musicbrainz.server import AnswerCache, CachedService, MusicBrainzServer
from chart_binder.musicbrainz.sibling_lookup import look_up_together, possibly_earlier
from chart_binder.net import RateLimiter, Throttle

_log = logging.getLogger(__name__)


def connect(
    config: MusicBrainzConfig,
    cache: AnswerCache,
    limiter: RateLimiter,
    *,
    clock: Callable[[], float] = time.time,
    wait: Callable[[float], None] = time.sleep,
) -> "MusicBrainzSource":
    """Return the source that `[musicbrainz]` configures, not yet open. Raises `ConfigError`."""
    interval_s = 1 / config.rate_limit_per_s if config.rate_limit_per_s else 0.0
    throttle = Throttle(limiter, interval_s, clock, wait)
    server = None if config.offline else MusicBrainzServer(config, throttle)
    return MusicBrainzSource(CachedService(config, server, cache, throttle))


class MusicBrainzSource:
    """Gathers evidence from MusicBrainz or cached responses; threads may share it."""

    def __init__(self, service: Service, *, is_last: bool = True) -> None:
        """Use a service. If it is not the last, an id that it lacks ends the search for a file."""
        self.service = service
        self._is_last = is_last
        self._catalogues = CatalogueCache(service)

    def gather(self, tags: TrackTags) -> EvidenceBundle:
        """Return the evidence at MusicBrainz on the recording in a file, or on several matches.

        Search by recording id, else by ISRC, else by artist and title. Raises `UnidentifiedError`,
        `NothingFoundError` and `LookupFailedError`.
        """
        return self._gathered(self.client(), tags)

    def together(self, album: Sequence[TrackTags]) -> Callable[[TrackTags], EvidenceBundle]:
        """Look up an album's shared data; return a function like `gather` for its files.

        The other files show which of several artists of one name is meant. If a shared look-up
        fails, log it and look the files up one by one. Threads may share the function returned.
        """
        fetched = look_up_album(self.service, self._catalogues, album)
        artists = AlbumArtists(self.service, fetched, album)
        return lambda tags: self._gathered(
            Client(self.service, fetched), tags, lambda: artists.beside(tags)
        )

    def with_siblings(self, bundle: EvidenceBundle) -> EvidenceBundle:
        """Add other recordings of the performance to evidence, in at most five requests.

        Raises `LookupFailedError`; offline without stored responses, it only adds a note.
        """
        return self.siblings_together([bundle])(bundle)

    def siblings_together(
        self, bundles: Sequence[EvidenceBundle]
    ) -> Callable[[EvidenceBundle], EvidenceBundle]:
        """Look up an album's shared data; return a function like `with_siblings` for bundles."""
        look_up = look_up_together(self.service, self._catalogues, bundles)

        def widened(bundle: EvidenceBundle) -> EvidenceBundle:
            try:
                return look_up(bundle)
            except LookupFailedError as error:
                if not self.service.is_offline:
                    raise
                _log.info("siblings are not looked up", extra={"why": str(error)})
                return bundle.noting_siblings(_OFFLINE)

        return widened

    @property
    def requests(self) -> int:
        """The number of requests sent to MusicBrainz, including failed ones."""
        return self.service.requests

    def _gathered(
        self, client: Client, tags: TrackTags, of_album: FindArtists = frozenset
    ) -> EvidenceBundle:
        attempts = list(searches(client, tags, of_album))
        if not attempts:
            raise UnidentifiedError(
                "no valid recording id, no ISRC, not both artist and title: nothing to look up"
            )
        if not self._is_last and MBID.fullmatch(tags.recording_mbid or ""):
            attempts = attempts[:1]  # a newer recording may have the id
        matches = first_found(attempts)
        recordings = matches.recordings
        if not recordings:
            descriptions = ", nor ".join(search.description for search in attempts)
            raise NothingFoundError(f"MusicBrainz ({self.service.host}) knows no {descriptions}")
        artist = _artist(client, recordings[0], is_whole=self.service.is_local)
        home = artist.begin_area_country
        artists = artists_apart(recordings)
        candidates = tuple(
            [candidate_of(hit, client.releases_of(hit.id), home) for hit in recordings]
        )
        if artists:
            candidates = tuple(
                replace(candidate, artist=artists.get(candidate.mb_recording_id))
                for candidate in candidates
            )
        unread = _unread(matches, candidates, tags)
        not_read = unread
        if matches.untimed and not unread:
            performances = [performance_of(recording) for recording in recordings]
            not_read = possibly_earlier(performances, candidates, matches.untimed, {})
        provenance = Provenance(sources_used=("MB",), unread=not_read)
        bundle = EvidenceBundle(
            candidates,
            artist,
            _title(tags, recordings),
            _artifact(client, tags, candidates),
            self.service.dated(provenance, client.oldest_at or 0.0),
            complete=False if unread else None,
        )
        if self.service.is_local:  # whose texts, ids and dates have the normal form
            return bundle
        return read_bundle(bundle)  # in normal form, as if it had come from a file

    def client(self, bundle: EvidenceBundle | None = None) -> Client:  # noqa: ARG002
        """Return a client with the same cache and rate limit, for single look-ups.

        `bundle` is the evidence that they are for, if there is any.
        """
        return Client(self.service)

    def check(self) -> ServiceHealth:
        """Check the service with one request, and its configuration; a failure is not raised."""
        return self.service.check()


_OFFLINE = "not looked up: canon is offline, and no answer about them is stored"
_MORE = "{} more recordings that may be meant were not read"


def _unread(
    matches: Matches, candidates: Sequence[RecordingCandidate], tags: TrackTags
) -> str | None:
    count = 0
    if matches.unread:
        day = out_by(candidates)
        is_by_others = any(candidate.artist for candidate in candidates)  # one case per artist
        later = (is_much_later(recording, day) for recording in matches.unread)
        count = sum(is_by_others or not is_later for is_later in later)
    texts = [matches.doubt, _MORE.format(count) if count else None]
    if matches.is_by_name and _is_of_no_such_version(candidates, tags):
        texts.append(f"no recording is known to be the version that {tags.title!r} names")
    return "; ".join(filter(None, texts)) or None


def _is_of_no_such_version(candidates: Sequence[RecordingCandidate], tags: TrackTags) -> bool:
    """Whether no recording is the version that the title names, and no id in the tags matches."""
    groups = [group for recording in candidates for group in recording.groups]
    ids: set[str] = {group.mb_rg_id for group in groups}
    ids.update(release.mb_release_id for group in groups for release in group.editions)
    is_on_tagged = not ids.isdisjoint({tags.release_mbid, tags.release_group_mbid})
    described = [recording.remarks for recording in candidates]
    return (
        not is_on_tagged
        and names_other_performance(remarks_in(tags.title, None), described)
        and not any(
            is_on_other_versions_only(candidate) for candidate in candidates if candidate.groups
        )
    )


def _artifact(
    client: Client, tags: TrackTags, candidates: Sequence[RecordingCandidate]
) -> Artifact:
    """Return the artifact of tags; add the current id of a release or group that was merged."""
    artifact = artifact_of(tags)
    mbid = tags.release_mbid
    if mbid is None or mbid in {release.mb_release_id for release in editions_of(candidates)}:
        return artifact
    current = with_current_ids(client, tags)
    record_titles = {
        f"current_{name}": mbid
        for name in ("release_mbid", "release_group_mbid")
        if (mbid := getattr(current, name)) != getattr(tags, name)
    }
    return replace(artifact, tags={**(artifact.tags or {}), **record_titles})


def _title(tags: TrackTags, recordings: Sequence[ws.Recording]) -> str | None:
    """Return the title as MusicBrainz spells it, or the file's if their remarks differ.

    If there are several recordings, the title shows which is meant, so it must have the remarks
    of the file. Return None if the file has no title and the titles of the recordings differ.
    """
    title = recordings[0].title
    if title and len(recordings) == 1:
        return title
    if not tags.title:
        keys = {title_key(recording.title or "") for recording in recordings}
        return title or None if len(keys) == 1 else None
    ours, theirs = (remarks_in(text, None).versions for text in (tags.title, title))
    return title if title and ours == theirs else tags.title


def _artist(client: Client, recording: ws.Recording, *, is_whole: bool) -> Artist:
    """Return the first credited artist, who `is_whole` if the credit shows the country, too."""
    first = next((credit.artist for credit in recording.credits), None)
    if first is None:
        return Artist()
    artist = first if is_whole else client.artist(first.id)
    return Artist(
        name=recording.artist_credit_phrase or first.name,
        mb_artist_id=artist.id if artist else first.id,
        begin_area_country=country_of(artist) if artist else None,
    )


Source: TypeAlias = "MusicBrainzSource | IndexThenWeb"


def open_source(
    config: MusicBrainzConfig, index_path: Path, answers: AnswerCache, limiter: RateLimiter
) -> Source:
    """Return the source that `[musicbrainz] source` names.

    Raises `ConfigError`, and `IndexFileError` if the index that it needs cannot be read.
    """
    index = _index(config, index_path)
    if index and config.source == "index":
        return MusicBrainzSource(index)
    web = connect(config, answers, limiter)
    return IndexThenWeb(MusicBrainzSource(index, is_last=False), web) if index else web


def _index(config: MusicBrainzConfig, path: Path) -> IndexService | None:
    if config.source == "web" or (config.source == "auto" and not path.is_file()):
        return None
    try:
        state = path.stat()
        index = _opened(path, state.st_ino, state.st_mtime_ns)
    except OSError:
        index = IndexService(path)  # raises the error that says what to do
    except IndexFileError as error:
        if config.source != "auto":
            raise
        _warn_once(f"the index is not used: {error}")
        return None
    if config.source == "auto" and not config.offline and index.age_days > config.max_age_days:
        _warn_once(
            f"{index.host} is not used, because it is older than musicbrainz.max_age_days ="
            f" {config.max_age_days}: build a new one, or set musicbrainz.source to index_then_web"
        )
        return None
    return index


@lru_cache(maxsize=4)
def _opened(path: Path, *_: int) -> IndexService:
    """Return the index in a file; it is opened again only if the file was replaced."""
    return IndexService(path)


@cache
def _warn_once(text: str) -> None:
    _log.warning(text)


class IndexThenWeb:
    """Gathers evidence from an index, and from the web service what the index lacks.

    The evidence about a file is from one of them alone. Threads may share it.
    """

    def __init__(self, index: MusicBrainzSource, web: MusicBrainzSource) -> None:
        self._index, self._web = index, web

    @property
    def requests(self) -> int:
        """The number of requests sent to MusicBrainz, including failed ones."""
        return self._web.requests

    def gather(self, tags: TrackTags) -> EvidenceBundle:
        """Return the evidence on the recording in a file; see `MusicBrainzSource.gather`."""
        return self.together([tags])(tags)

    def together(self, album: Sequence[TrackTags]) -> Callable[[TrackTags], EvidenceBundle]:
        """Look up an album's shared data; return a function like `gather` for its files."""
        in_index = self._index.together(album)

        def is_lacking(tags: TrackTags) -> bool:
            try:
                in_index(tags)
            except NothingFoundError:
                return True
            return False

        @cache
        def on_web() -> Callable[[TrackTags], EvidenceBundle]:
            return self._web.together([*filter(is_lacking, album)])

        def gather(tags: TrackTags) -> EvidenceBundle:
            try:
                return in_index(tags)
            except NothingFoundError:
                return on_web()(tags)

        return gather

    def with_siblings(self, bundle: EvidenceBundle) -> EvidenceBundle:
        """Add other recordings of the performance from the source that the evidence is from."""
        return self._source_of(bundle).with_siblings(bundle)

    def siblings_together(
        self, bundles: Sequence[EvidenceBundle]
    ) -> Callable[[EvidenceBundle], EvidenceBundle]:
        """Look up an album's shared data; return a function like `with_siblings` for bundles."""
        look_ups = {
            source: source.siblings_together(
                [bundle for bundle in bundles if self._source_of(bundle) is source]
            )
            for source in (self._index, self._web)
        }
        return lambda bundle: look_ups[self._source_of(bundle)](bundle)

    def client(self, bundle: EvidenceBundle | None = None) -> Client:
        """Return a client of the source that a bundle is from, else of both."""
        if bundle is not None:
            return self._source_of(bundle).client()
        return Client(self._index.service, fallback=self._web.service)

    def check(self) -> ServiceHealth:
        """Check both; the web service may be out of reach."""
        index, web = self._index.check(), self._web.check()
        if web.is_reachable:
            return web._replace(host=f"{index.host}, and for what it lacks {web.host}")
        problems = tuple(f"{web.host}: {problem}" for problem in web.problems)
        return index._replace(problems=() if web.is_reachable is None else problems)

    def _source_of(self, bundle: EvidenceBundle) -> MusicBrainzSource:
        is_of_index = bundle.provenance is not None and bundle.provenance.index is not None
        return self._index if is_of_index else self._web
