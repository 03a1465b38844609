"""Evidence about the recording in a file, from MusicBrainz."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from chart_binder import __version__
from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.evidence import (
    Artifact,
    Artist,
    EvidenceBundle,
    Provenance,
    RecordingCandidate,
    Release,
    ReleaseGroup,
)
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import NO_COUNTRIES, VARIOUS_ARTISTS
from chart_binder.errors import NothingFoundError, UnidentifiedError
from chart_binder.musicbrainz import queries, responses
from chart_binder.musicbrainz.album import AlbumClient, Catalogues, looked_up_together
from chart_binder.musicbrainz.client import Client, Service
from chart_binder.musicbrainz.http import (
    AnswerCache,
    FailureError,
    Pace,
    RateLimiter,
    Server,
    Transport,
    environment_proxy,
)
from chart_binder.musicbrainz.matching import ways
from chart_binder.musicbrainz.responses import Area
from chart_binder.musicbrainz.responses import Artist as ArtistRecord


def release_groups(
    releases: Iterable[responses.Release], home: str | None
) -> tuple[ReleaseGroup, ...]:
    """Group releases; `home` is the artist's country."""
    groups: dict[str, list[responses.Release]] = {}
    for release in releases:
        groups.setdefault(release.release_group.id, []).append(release)
    return tuple(_group(members, home) for members in groups.values())


def partial_date(text: str | None) -> PartialDate:
    """Read a date as MusicBrainz writes it; one that no calendar knows is unknown."""
    try:
        return PartialDate.parse(text or "")
    except ValueError:
        return UNKNOWN


def _group(members: list[responses.Release], home: str | None) -> ReleaseGroup:
    group = members[0].release_group
    return ReleaseGroup(
        mb_rg_id=group.id,
        title=group.title,
        artist_credit=group.artist_credit_phrase,
        primary_type=group.primary_type,
        secondary_types=tuple(filter(None, group.secondary_type_list)),
        first_release_date=partial_date(group.first_release_date).text or None,
        labels=tuple(sorted({name for release in members for name in _label_names(release)})),
        countries=tuple(
            sorted({land for release in members for _, land in _events(release) if land})
        ),
        releases=tuple(_release(release, home) for release in members),
    )


def _release(release: responses.Release, home: str | None) -> Release:
    date, country = _first_event(release, home)
    numbers = (info.catalog_number for info in release.label_info_list)
    return Release(
        mb_release_id=release.id,
        title=release.title,
        date=date.text or None,
        country=country,
        status=release.status or None,
        label=next(_label_names(release), None),
        catno=next(filter(None, numbers), None),
        format=_format(release),
        disambiguation=release.disambiguation or None,
        artist_credit=release.artist_credit_phrase,
    )


def _label_names(release: responses.Release) -> Iterator[str]:
    return (info.label.name for info in release.label_info_list if info.label and info.label.name)


def _first_event(release: responses.Release, home: str | None) -> tuple[PartialDate, str | None]:
    """Return when and where a release came out first.

    First is what had come out for certain by the earliest day, so a whole date goes before the
    bare year of the same year. Of several countries on that day it is the artist's own if that is
    among them, else the one MusicBrainz names first.
    """
    events = list(_events(release))
    earliest = min(date.last for date, _ in events)
    first = [event for event in events if event[0].last == earliest]
    return next((event for event in first if home and event[1] == home), first[0])


def _events(release: responses.Release) -> Iterator[tuple[PartialDate, str | None]]:
    if not release.release_event_list:
        yield partial_date(release.date), release.country or None
    for event in release.release_event_list:
        codes = event.area.iso_3166_1_code_list if event.area else ()
        yield partial_date(event.date), next(filter(None, codes), None)


def _format(release: responses.Release) -> str | None:
    """Write the media as MusicBrainz' pages do, such as `2×CD + DVD`; unknown ones are left out."""
    formats = (medium.format for medium in release.medium_list if medium.format)
    counted = ((name, len(list(same))) for name, same in groupby(formats))
    return " + ".join(f"{n}×{name}" if n > 1 else name for name, n in counted) or None


def country_of(artist: ArtistRecord) -> str | None:
    """Return the country an artist began in, or else belongs to; historical ones as they were.

    A city has at most an ISO 3166-2 code, such as `GB-LND`, whose prefix is the country. Worldwide
    and Europe (`XW`, `XE`) are none.
    """
    return next((code for code in _codes(artist) if code not in NO_COUNTRIES), None)


def _codes(artist: ArtistRecord) -> Iterator[str]:
    for area in (artist.begin_area, artist.area):
        yield from _country_codes(area or Area())
    if artist.country:
        yield artist.country


def _country_codes(area: Area) -> Iterator[str]:
    yield from filter(None, area.iso_3166_1_code_list)
    yield from (code.partition("-")[0] for code in area.iso_3166_2_code_list if code)


_PUBLIC = frozenset({"musicbrainz.org", "www.musicbrainz.org", "beta.musicbrainz.org"})
_PUBLIC_RATE = 1.0
"""Requests a second and address (musicbrainz.org/doc/MusicBrainz_API/Rate_Limiting)."""


@dataclass(frozen=True, slots=True)
class Health:
    """How the service at `host` is: each of `problems` is a sentence that ends in its remedy.

    `is_reachable` is `None` where it was not asked, being offline.
    """

    host: str
    is_reachable: bool | None
    problems: tuple[str, ...] = ()


def examine(config: MusicBrainzConfig, server: Server | None) -> Health:
    """Ask for what every MusicBrainz server has, once; never raises for a failure of it."""
    problems = _misfits(config)
    if server is None:
        return Health(config.hostname, is_reachable=None, problems=problems)
    try:
        _, metadata = server.ask(queries.artist(VARIOUS_ARTISTS))
    except FailureError as error:
        return Health(
            config.hostname, is_reachable=False, problems=(f"{error}: {error.advice}", *problems)
        )
    if metadata is None:
        empty = "the server has no data: import MusicBrainz' data into the mirror"
        return Health(config.hostname, is_reachable=True, problems=(empty, *problems))
    return Health(config.hostname, is_reachable=True, problems=problems)


def _misfits(config: MusicBrainzConfig) -> tuple[str, ...]:
    if config.hostname.partition(":")[0].lower() not in _PUBLIC:
        return ()
    rate = config.rate_limit_per_s
    too_fast = f"the public service allows {_PUBLIC_RATE:g} request a second, not {rate:g}"
    found = (
        (not config.contact, "no contact for MusicBrainz to write to: set musicbrainz.contact"),
        (rate > _PUBLIC_RATE, f"{too_fast}: lower musicbrainz.rate_limit_per_s"),
        (not rate, "the public service has a rate limit: set musicbrainz.rate_limit_per_s to 1"),
        (not config.https, "the public service speaks https: set musicbrainz.https to true"),
    )
    return tuple(problem for is_so, problem in found if is_so)


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
        self, client: Client, tags: TrackTags, found: tuple[responses.Recording, ...]
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


def _artist(client: Client, recording: responses.Recording) -> Artist:
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
    client: Client, recording: responses.Recording, home: str | None
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
