"""Evidence about the recording in a file, from MusicBrainz."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from chart_binder import __version__
from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.evidence import (
    Artifact,
    Artist,
    EvidenceBundle,
    Provenance,
    RecordingCandidate,
)
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.track import TrackTags
from chart_binder.errors import NothingFoundError, UnidentifiedError
from chart_binder.musicbrainz import answers
from chart_binder.musicbrainz.album import AlbumClient
from chart_binder.musicbrainz.album_plan import looked_up_together
from chart_binder.musicbrainz.catalogues import Catalogues
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.health import Health, examine
from chart_binder.musicbrainz.origin import country_of
from chart_binder.musicbrainz.pace import Pace
from chart_binder.musicbrainz.ports import AnswerCache, RateLimiter
from chart_binder.musicbrainz.releases import partial_date, release_groups
from chart_binder.musicbrainz.server import Server
from chart_binder.musicbrainz.service import Service
from chart_binder.musicbrainz.transport import Transport, environment_proxy
from chart_binder.musicbrainz.ways import ways


def connect(
    config: MusicBrainzConfig,
    cache: AnswerCache,
    limiter: RateLimiter,
    *,
    clock: Callable[[], float] = time.time,
    wait: Callable[[float], None] = time.sleep,
) -> "MusicBrainzSource":
    """Return the source that `[musicbrainz]` describes; no socket is opened before it is asked.

    Proxies are taken from the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), though never for
    this machine itself. `clock` is in seconds since the epoch.
    """
    interval_s = 1 / config.rate_limit_per_s if config.rate_limit_per_s else 0.0
    pace = Pace(limiter, interval_s, clock, wait)
    server = None if config.offline else _server(config, pace)
    service = Service(config.hostname, server, cache, pace, config.cache_ttl_s)
    return MusicBrainzSource(config, service, server)


def _server(config: MusicBrainzConfig, pace: Pace) -> Server:
    scheme = "https" if config.https else "http"
    contact = config.contact.encode("ascii", "replace").decode()
    transport = Transport(
        scheme,
        config.hostname,
        user_agent=f"canon/{__version__} ( {contact} )" if contact else f"canon/{__version__}",
        timeout_s=config.timeout_s,
        proxy=environment_proxy(scheme, config.hostname),
    )
    return Server(config.hostname, transport, pace)


class MusicBrainzSource:
    """Asks MusicBrainz, or what it answered before; threads may share it."""

    def __init__(self, config: MusicBrainzConfig, service: Service, server: Server | None) -> None:
        self._config = config
        self._service = service
        self._server = server
        self._catalogues = Catalogues(service)

    def gather(self, tags: TrackTags) -> EvidenceBundle:
        """Return all that MusicBrainz knows about the recording in a file.

        It is looked for by recording id, else by ISRC, else by artist and title; several recordings
        may be meant. Raises `UnidentifiedError` if there is nothing to look for,
        `NothingFoundError` if MusicBrainz knows no such recording, and `LookupFailedError` if it
        could not be asked.
        """
        return self._gathered(self.client(), tags)

    def together(self, album: Sequence[TrackTags]) -> Callable[[TrackTags], EvidenceBundle]:
        """Look up at once what the files of one album share; return what `gather`s each of them.

        The evidence is the same as `gather` finds, for fewer requests: what one list of an artist's
        releases says is not asked for each file. This asks, so it may take a while, but raises
        nothing that is about MusicBrainz: where a shared look-up fails, the log says so, and
        files are looked up one by one. What is returned raises as `gather` does, and may be
        shared by threads.
        """
        known = looked_up_together(self._service, self._catalogues, album)
        return lambda tags: self._gathered(AlbumClient(self._service, known), tags)

    @property
    def requests(self) -> int:
        """How many requests were sent to MusicBrainz, those that failed among them."""
        return self._service.requests

    @property
    def cached(self) -> int:
        """How often a kept answer was used in place of a request."""
        return self._service.kept_used.count

    def _gathered(self, client: Client, tags: TrackTags) -> EvidenceBundle:
        known_ways = list(ways(client, tags))
        if not known_ways:
            raise UnidentifiedError(
                "no valid recording id, no ISRC, not both artist and title: nothing to look up"
            )
        found = next(filter(None, (way.find() for way in known_ways)), None)
        if found is None:
            wanted = ", nor ".join(way.wanted for way in known_ways)
            raise NothingFoundError(f"MusicBrainz ({self._service.host}) knows no {wanted}")
        return self._bundle(client, tags, found)

    def client(self) -> Client:
        """Return what looks records up one by one, by the same cache and at the same pace."""
        return Client(self._service)

    def check(self) -> Health:
        """Ask once whether the service is there and its configuration fits it; never raises."""
        return examine(self._config, self._server)

    def _bundle(
        self, client: Client, tags: TrackTags, found: tuple[answers.Recording, ...]
    ) -> EvidenceBundle:
        artist = _artist(client, found[0])
        bundle = EvidenceBundle(
            recording_candidates=tuple(
                _candidate(client, recording, artist.begin_area_country) for recording in found
            ),
            artist=artist,
            recording_title=found[0].title or tags.title,
            artifact=_artifact(tags),
            provenance=self._provenance(client),
        )
        return read_bundle(bundle)  # in normal form, as if it had come from a file

    def _provenance(self, client: Client) -> Provenance:
        oldest_at = client.oldest_at or 0.0
        return Provenance(
            sources_used=("MB",),
            fetched_at_utc=datetime.fromtimestamp(oldest_at, UTC).isoformat(timespec="seconds"),
            cache_age_s=round(self._service.age_s(oldest_at), 1),
        )


def _artist(client: Client, recording: answers.Recording) -> Artist:
    """Return the artist as credited, with the origin of the one who is credited first."""
    first = next((credit.artist for credit in recording.credits), None)
    if first is None:
        return Artist()
    known = client.artist(first.id)
    return Artist(
        name=recording.artist_credit_phrase or first.name,
        mb_artist_id=known.id if known else first.id,
        begin_area_country=country_of(known) if known else None,
    )


def _candidate(
    client: Client, recording: answers.Recording, home: str | None
) -> RecordingCandidate:
    return RecordingCandidate(
        mb_recording_id=recording.id,
        title=recording.title,
        length_ms=recording.length_ms,
        isrcs=recording.isrc_list,
        disambiguation=recording.disambiguation or None,
        first_release_date=partial_date(recording.first_release_date).text or None,
        rg_candidates=release_groups(client.releases_of(recording.id), home),
    )


def _artifact(tags: TrackTags) -> Artifact:
    said = {
        "title": tags.title,
        "artist": tags.artist,
        "album": tags.album,
        "album_artist": tags.album_artist,
        "date": tags.date,
        "isrc": "; ".join(tags.isrcs),
        "recording_mbid": tags.recording_mbid,
        "release_mbid": tags.release_mbid,
        "release_group_mbid": tags.release_group_mbid,
        "artist_mbid": tags.artist_mbid,
    }
    return Artifact(
        duration_ms=tags.duration_ms, tags={name: text for name, text in said.items() if text}
    )
