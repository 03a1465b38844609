"""Look up siblings, other recordings of one performance, in at most `MAX_REQUESTS` per file."""

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial

from msgspec.structs import replace

from chart_binder.domain.dates import LAST_DAY
from chart_binder.domain.evidence import EvidenceBundle, Provenance, RecordingCandidate
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import PERSON_PLACES, PERSON_SAYS
from chart_binder.domain.vocabulary import ArtistId, RecordingId, ReleaseGroupId, isrc
from chart_binder.errors import LookupFailedError, NothingFoundError
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.album import MIN_FILES, Catalogue, CatalogueCache
from chart_binder.musicbrainz.client import Client, Service
from chart_binder.musicbrainz.evidence import candidate_of, editions_of, is_much_later, out_by
from chart_binder.musicbrainz.performances import (
    SIBLING,
    Performance,
    bare_song,
    described,
    is_on_other_versions_only,
    is_other_performance,
    may_be_same_performance,
    performance_of,
    performances_in,
    perhaps_apart_ms,
    siblings_among,
    title_key,
)
from chart_binder.musicbrainz.web_service import MBRelease, Recording, ServiceQuery, partial_date

LOOKED_UP = "looked_up"
MAX_REQUESTS = 5
"""A search, an ISRC, a recording's work, the work's recordings, and the releases of a sibling."""
MAX_ALBUM_REQUESTS = 10
"""Requests for an album of at most ten files; a larger album may take one request per file."""
_OFFICIAL: Sequence[ws.Clause] = ("status:official",)
_WORTH_OF_FEW = 0.5
"""The worth of an artist's lists for few files: they are read only if all pages are cached."""

_NO_ARTIST = "not looked up: no id tells by whom the recording is"
_NO_SIBLING = "not looked up: a live take, remix or other version has none"
_PERHAPS = "looked up, but one that was found is only perhaps the same performance"
_UNREAD = "not all of the artist's recordings with this title were read"

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class RequestBudget:
    """The number of requests that may still be sent; a cached response does not count."""

    service: Service
    remaining: int

    def allows(self, query: ServiceQuery) -> bool:
        """Whether a query may be sent; if so, count it. Offline every query may, and fails."""
        cost = self.service.cost(query)
        if 0 < cost < math.inf:
            if self.remaining <= 0:
                return False
            self.remaining -= 1
        return True


@dataclass(slots=True)
class SiblingHits:
    """Recordings that may be siblings, with their `releases` if those were read.

    If `are_of_artist`, they are all recordings of the artist that have the title.
    """

    recordings: dict[RecordingId, Recording] = field(default_factory=dict)
    is_complete: bool = True
    are_of_artist: bool = False
    releases: Mapping[RecordingId, Sequence[MBRelease]] = field(default_factory=dict)
    fetched_at: float = math.inf

    def add(self, recordings: Iterable[Recording]) -> None:
        """Add the recordings that are not in the hits yet."""
        for recording in recordings:
            self.recordings.setdefault(recording.id, recording)


class _Lookup:
    def __init__(self, service: Service, bundle: EvidenceBundle, budget: RequestBudget) -> None:
        self._service = service
        self._client = Client(service)
        self._bundle = bundle
        self._budget = budget
        self._performances = performances_in(bundle)

    def _why_none(self) -> str:
        """Return why there can be no siblings, or "" if there may be some."""
        if not artist_of(self._bundle):
            return _NO_ARTIST
        return _NO_SIBLING if all(map(is_other_performance, self._performances.values())) else ""

    def widened(self, hits: SiblingHits | None) -> EvidenceBundle:
        """Return the bundle with siblings; it is incomplete if the budget was too small."""
        if why := self._why_none():
            return self._bundle.noting_siblings(why)
        if hits is None:
            hits = search(self._client, self._budget, artist_of(self._bundle), [self._bundle])
        # MusicBrainz has more about a recording than the evidence: all its artists, and whether
        # it is a music video.
        for name in self._performances.keys() & hits.recordings.keys():
            self._performances[name] = performance_of(hits.recordings[name])
        if why := self._why_none():
            return self._bundle.noting_siblings(why)
        siblings = self._siblings(hits)
        day = out_by(self._bundle.recording_candidates)
        for add_hits in (self._by_isrc, self._by_work):
            is_any_original = any(_may_be_original(recording, day) for recording, _ in siblings)
            has_room = not siblings or self._budget.remaining > 1  # the releases take one request
            is_all = hits.are_of_artist or not hits.is_complete
            if not (is_all or is_any_original) and has_room:
                add_hits(hits)
                siblings = self._siblings(hits)
        candidates, is_complete = [*self._bundle.recording_candidates], hits.is_complete
        for recording, why in siblings:
            candidate, has_releases = self._candidate(recording, why, hits, out_by(candidates))
            is_complete = is_complete and has_releases
            candidates += [] if is_on_other_versions_only(candidate) else [candidate]
        perhaps = None
        if is_complete:
            performances, hit_recordings = self._performances.values(), hits.recordings.values()
            perhaps = possibly_earlier(performances, candidates, hit_recordings, hits.releases)
        bundle = replace(
            self._bundle,
            recording_candidates=tuple(candidates),
            siblings=self._bundle.siblings if perhaps or not is_complete else LOOKED_UP,
            complete=self._bundle.complete if is_complete else False,
            provenance=self._provenance(hits.fetched_at, perhaps, is_complete=is_complete),
        )
        return read_bundle(bundle)

    def _siblings(self, hits: SiblingHits) -> list[tuple[Recording, str]]:
        siblings = siblings_among(hits.recordings.values(), self._performances)
        return sorted(siblings, key=lambda pair: (_first_day(pair[0]), pair[0].id))

    def _by_isrc(self, hits: SiblingHits) -> None:
        performances = self._performances.values()
        codes = {isrc(code) for performance in performances for code in performance.isrcs}
        # Sorted by the year of assignment, the YY of `CC-XXX-YY-NNNNN`.
        for code in sorted(codes, key=lambda code: (code[5:7] < "40", code[5:]))[:1]:
            if self._budget.allows(ws.LookUp("isrc", code)):
                hits.add(self._client.recordings_with(code))

    def _by_work(self, hits: SiblingHits) -> None:
        """Add the recordings of the first work performed, because their titles may differ."""
        performed = next(iter(self._performances))
        if not self._budget.allows(ws.LookUp("recording", performed, "relations")):
            return
        for work in self._client.works_of(performed)[:1]:
            if self._budget.allows(ws.RecordingsOfWork(work.id)):
                recordings, _ = self._client.recordings_of_work(work.id)
                hits.add(recordings)

    def _candidate(
        self, recording: Recording, why: str, hits: SiblingHits, day: int
    ) -> tuple[RecordingCandidate, bool]:
        """Return a sibling as evidence, and whether it has all the releases that are needed.

        The releases of a sibling much later than `day` are not needed. If the releases cannot be
        read, those in the search result replace them.
        """
        listed = [entry.release for entry in recording.release_list]
        is_shown = any(hit.release_list for hit in hits.recordings.values()) and all(listed)
        is_later = is_much_later(recording, day)
        releases = hits.releases.get(recording.id)
        is_all = releases is not None
        is_read = not (is_all or is_later or (is_shown and len(listed) >= ws.PAGE))
        if is_read and self._budget.allows(ws.BrowseReleases("recording", recording.id)):
            releases, count = self._client.first_releases_of("recording", recording.id)
            is_all = count == len(releases)
        if is_shown and not is_all:
            releases, is_all = [release for release in listed if release], True
        home = self._bundle.performer.begin_area_country
        candidate = candidate_of(recording, releases or (), home)
        return replace(candidate, relation=SIBLING, because=why), is_all or is_later

    def _provenance(
        self, fetched_at: float, unread: str | None, *, is_complete: bool
    ) -> Provenance | None:
        """Return the provenance with the age of the oldest response and a note on unread data."""
        provenance, oldest_at = self._bundle.provenance, self._client.oldest_at
        why = _PERHAPS if unread else None
        unread, why = (unread, why) if is_complete else (_UNREAD, f"looked up, but {_UNREAD}")
        if provenance and unread:
            provenance = replace(provenance, unread=provenance.unread or unread, siblings=why)
        oldest_at = min(fetched_at, math.inf if oldest_at is None else oldest_at)
        if provenance is None or oldest_at == math.inf:
            return provenance
        dated = self._service.dated(provenance, oldest_at)
        return dated if (dated.cache_age_s or 0.0) > (provenance.cache_age_s or 0.0) else provenance


def possibly_earlier(
    performances: Collection[Performance],
    candidates: Sequence[RecordingCandidate],
    hit_recordings: Iterable[Recording],
    releases: Mapping[RecordingId, Sequence[MBRelease]],
) -> str | None:
    """Describe the earliest hit that may be the same performance, whatever its length.

    It came out in an earlier year than all `candidates`; on an earlier day if there is only one
    candidate. Return None if there is no such recording.
    """
    names = {candidate.mb_recording_id for candidate in candidates}
    dates = (edition.when for edition in editions_of(candidates) if edition.is_official)
    first = min((date.first for date in dates if date.is_known), default=LAST_DAY)
    if len(candidates) > 1:
        first = date.fromordinal(first).replace(month=1, day=1).toordinal()
    earlier = []
    for recording in hit_recordings:
        new = performance_of(recording)
        is_near = any(may_be_same_performance(performance, new) for performance in performances)
        if recording.id in names or not is_near or _shows_other_versions_only(recording, releases):
            continue
        day = _first_day(recording, releases.get(recording.id, ()))
        if day < first or (day == LAST_DAY and len(candidates) == 1):
            earlier.append((day, recording.id, recording))
    if not earlier:
        return None
    day, _, recording = min(earlier, key=lambda row: row[:2])
    when = f"of {date.fromordinal(day).year}" if day < LAST_DAY else "without a date"
    return f"{described(recording)} {when} (recording {recording.id}) may be the same performance"


def artist_of(bundle: EvidenceBundle) -> ArtistId:
    """Return the id of the artist credited first, or "" if several artists have this name."""
    artists = (candidate.artist for candidate in bundle.recording_candidates)
    if len({artist.mb_artist_id for artist in artists if artist}) > 1:
        return ArtistId("")
    return ArtistId(bundle.performer.mb_artist_id or "")


def search(
    client: Client, budget: RequestBudget, artist_id: ArtistId, bundles: Sequence[EvidenceBundle]
) -> SiblingHits:
    """Search for an artist's recordings that have the title of any of the bundles.

    If the results fill at most two pages, read both; if there are more, narrow the search.
    """
    titles = dict.fromkeys(_title(bundle) for bundle in bundles)
    query = partial(ws.SearchRecordings, artist_id, list(titles))
    lengths = _lengths(bundles) if len(titles) == 1 else None
    hits = SiblingHits(is_complete=False)
    count = _read_page(client, budget, query(), hits)
    if hits.is_complete:
        return hits
    if ws.PAGE < count <= 2 * ws.PAGE:
        _read_page(client, budget, query(offset=ws.PAGE), hits, before=ws.PAGE)
    elif lengths:
        _read_page(client, budget, query(length_ms=lengths), hits)
    if not hits.is_complete:
        _read_page(client, budget, query(length_ms=lengths, only=_OFFICIAL), hits)
    return hits


def _read_page(
    client: Client,
    budget: RequestBudget,
    query: ws.SearchRecordings,
    hits: SiblingHits,
    before: int = 0,
) -> int:
    """Add a page to the hits; return the number of results, `before` of them on earlier pages."""
    if not budget.allows(query):
        return 0
    page, count = client.search(query)
    hits.add(page)
    hits.is_complete = count <= before + len(page)
    return count


def _title(bundle: EvidenceBundle) -> str:
    candidate = bundle.recording_candidates[0]
    return bare_song(candidate.title or bundle.recording_title or "")


def _lengths(bundles: Iterable[EvidenceBundle]) -> tuple[int, int] | None:
    candidates = [candidate for bundle in bundles for candidate in bundle.recording_candidates]
    lengths = [candidate.length_ms for candidate in candidates if candidate.length_ms]
    if len(lengths) < len(candidates):
        return None
    apart_ms = perhaps_apart_ms(max(lengths))
    return max(0, min(lengths) - apart_ms), max(lengths) + apart_ms


def _first_day(recording: Recording, releases: Iterable[MBRelease] = ()) -> int:
    """Return the last possible day of the first date that a search or the releases show."""
    dates = [recording.first_release_date, *(listed.date for listed in recording.release_list)]
    dates += [release.date for release in releases]
    parsed = [partial_date(date) for date in dates if date]
    return min((date.last for date in parsed if date.is_known), default=LAST_DAY)


def _shows_other_versions_only(
    recording: Recording, releases: Mapping[RecordingId, Sequence[MBRelease]]
) -> bool:
    """Whether a recording is only on records of live takes, remixes or demos, or on none."""
    listed_releases = [listed.release for listed in recording.release_list]
    of_recording = releases.get(recording.id, [release for release in listed_releases if release])
    is_all_shown = recording.score is not None or recording.id in releases
    if not of_recording:  # unknown if the server shows titles only, or if it came from a work
        return is_all_shown and not listed_releases
    return is_on_other_versions_only(candidate_of(recording, of_recording, None))


def _may_be_original(recording: Recording, day: int) -> bool:
    """Whether a sibling came out before a day, and not only on compilations."""
    groups = [listed.release_group for listed in recording.release_list if listed.release_group]
    is_gathered = groups and all("Compilation" in group.secondary_type_list for group in groups)
    return _first_day(recording) < day and not is_gathered


def look_up_together(
    service: Service, catalogues: CatalogueCache, bundles: Sequence[EvidenceBundle]
) -> Callable[[EvidenceBundle], EvidenceBundle]:
    """Look up what an album's bundles share; return a function that adds siblings to each."""
    max_requests = max(MAX_ALBUM_REQUESTS, len(bundles))
    budget = RequestBudget(service, min(MAX_REQUESTS * len(bundles), max_requests))
    by_artist: defaultdict[ArtistId, list[EvidenceBundle]] = defaultdict(list)
    for bundle in bundles:
        by_artist[artist_of(bundle)].append(bundle)
    hits_of: dict[RecordingId, SiblingHits] = {}
    bundles_left = len(bundles)
    for artist_id, of_artist in by_artist.items():
        bundles_left -= len(of_artist)
        if artist_id:
            artist_budget = RequestBudget(service, budget.remaining - bundles_left)
            try:
                hits_of |= _shared(service, catalogues, artist_id, of_artist, artist_budget)
            except LookupFailedError as error:
                _log.warning("siblings are looked up one by one", extra={"why": str(error)})
                break
            finally:
                budget.remaining = artist_budget.remaining + bundles_left

    files_left = len(bundles)

    def look_up(bundle: EvidenceBundle) -> EvidenceBundle:
        nonlocal files_left
        share = max(
            1, budget.remaining // max(1, files_left)
        )  # leaves requests for the other files
        files_left -= 1
        file_budget = RequestBudget(service, min(MAX_REQUESTS, budget.remaining, share))
        before = file_budget.remaining
        try:
            return _Lookup(service, bundle, file_budget).widened(hits_of.get(_first_id(bundle)))
        finally:
            budget.remaining -= before - file_budget.remaining

    return look_up


def _first_id(bundle: EvidenceBundle) -> RecordingId:
    return bundle.recording_candidates[0].mb_recording_id


def _shared(
    service: Service,
    catalogues: CatalogueCache,
    artist_id: ArtistId,
    bundles: Sequence[EvidenceBundle],
    budget: RequestBudget,
) -> dict[RecordingId, SiblingHits]:
    before, size = service.requests, len(bundles)
    worth = size if size >= MIN_FILES else _WORTH_OF_FEW
    catalogue = catalogues.get(artist_id, worth, max_worth=1 + size / 2)
    budget.remaining -= min(service.requests - before, size // 2)
    if catalogue:
        return _in_catalogue(catalogue, bundles)
    if budget.remaining >= MAX_REQUESTS * size:
        return {}  # each may be looked up by itself
    step = math.ceil(size / max(1, min(size, budget.remaining)))
    hits_of: dict[RecordingId, SiblingHits] = {}
    for start in range(0, size, step):
        part = bundles[start : start + step]
        hits = search(Client(service), budget, artist_id, part)
        hits_of |= {
            _first_id(bundle): SiblingHits(dict(hits.recordings), hits.is_complete)
            for bundle in part
        }
    return hits_of


def _in_catalogue(
    catalogue: Catalogue, bundles: Iterable[EvidenceBundle]
) -> dict[RecordingId, SiblingHits]:
    by_title: defaultdict[str, dict[RecordingId, Recording]] = defaultdict(dict)
    for recording, _ in catalogue.recordings.values():
        by_title[title_key(recording.title or "")][recording.id] = recording
    hits_of = {}
    for bundle in bundles:
        recordings = by_title.get(title_key(_title(bundle)), {})
        releases = {name: [*catalogue.recordings[name][1].values()] for name in recordings}
        hits_of[_first_id(bundle)] = SiblingHits(
            dict(recordings), are_of_artist=True, releases=releases, fetched_at=catalogue.fetched_at
        )
    return hits_of


# Recordings and release groups that a model names, and what they add to the evidence.

_MAX_SIBLINGS = 3
"""The number of recordings that a release group may add."""


def bring_in(
    client: Client, bundle: EvidenceBundle, kind: str, mbid: str
) -> tuple[RecordingCandidate, ...]:
    """Return the siblings that a recording or release group adds to the evidence.

    A `release-group` adds the recordings on it that are the same performance, a `recording`
    itself. Raises `NothingFoundError`, which says why there is none, and `LookupFailedError`.
    """
    recordings, problem, unread = _recordings_named(client, kind, mbid)
    in_evidence = {candidate.mb_recording_id for candidate in bundle.recording_candidates}
    new_recordings = [recording for recording in recordings if recording.id not in in_evidence]
    siblings = siblings_among(new_recordings, performances_in(bundle))[:_MAX_SIBLINGS]
    if not siblings:
        if unread:
            raise LookupFailedError(unread)
        if len(new_recordings) < len(recordings):
            problem = "the evidence has the recording already, with all its releases"
        raise NothingFoundError(problem)
    home = bundle.performer.country
    candidates = [
        replace(candidate_of(recording, releases, home), relation=SIBLING, because=because)
        for recording, because in siblings
        if (releases := client.releases_of(recording.id))
    ]
    first = described(siblings[0][0])
    if not candidates:
        raise NothingFoundError(f"{first} is on no release")
    same_version = [sibling for sibling in candidates if not is_on_other_versions_only(sibling)]
    if not same_version:
        raise NothingFoundError(f"{first} is only on records of live takes, remixes or demos")
    return tuple(same_version)


def stated_sibling_of(
    client: Client, bundle: EvidenceBundle, recording_id: RecordingId
) -> RecordingCandidate:
    """Return the recording that a person says is the same performance, as a sibling.

    Raises `LookupFailedError`, and `NothingFoundError` if it has no release or does not exist.
    """
    recording = client.recording(recording_id)
    if recording is None:
        raise NothingFoundError(f"MusicBrainz knows no recording {recording_id}")
    releases = client.releases_of(recording.id)
    if not releases:
        raise NothingFoundError(f"{described(recording)} is on no release")
    candidate = candidate_of(recording, releases, bundle.performer.country)
    return replace(candidate, relation=SIBLING, because=PERSON_SAYS)


def placed_recording_of(
    client: Client, bundle: EvidenceBundle, group_id: ReleaseGroupId, release_id: str | None
) -> RecordingCandidate | None:
    """Return the recording of the song on a group that a person names, as a sibling.

    It is a track with the song's title, preferably of the release, with the nearest length; other
    groups are left out. Return None if there is none. Raises `LookupFailedError`.
    """
    ours = [take for take in bundle.recording_candidates if not take.is_sibling]
    known_titles = (bundle.recording_title, *(take.title for take in ours))
    titles = {title_key(title) for title in known_titles if title}
    length = next((take.length_ms for take in ours if take.length_ms), 0)
    tracks = [
        (release.id != release_id, abs((recording.length_ms or 0) - length), recording)
        for release in client.releases_with(group_id)[0]
        for recording in (track.recording for track in release.tracks)
        if recording and recording.title and title_key(recording.title) in titles
    ]
    if not tracks:
        return None
    recording = min(tracks, key=lambda track: track[:2])[2]
    carriers = client.releases_of(recording.id)
    releases = [release for release in carriers if release.release_group.id == group_id]
    candidate = candidate_of(recording, releases, bundle.performer.country)
    return replace(candidate, relation=SIBLING, because=PERSON_PLACES)


def _recordings_named(client: Client, kind: str, mbid: str) -> tuple[list[Recording], str, str]:
    """Return the recordings that an id names, the error if none is a sibling, and a gap if any."""
    requirement = "the same performance: another artist, title, kind, comment or length"
    if kind == "recording":
        if recording := client.recording(RecordingId(mbid)):
            return [recording], f"{described(recording)} is not {requirement}", ""
    elif group := client.release_group(ReleaseGroupId(mbid)):
        releases, count = client.releases_with(group.id)
        tracks = (track.recording for release in releases for track in release.tracks)
        unread = f"of {count} releases of {group.title!r}, {len(releases)} were read"
        problem = f"no track of {group.title!r} is {requirement}"
        return [*filter(None, tracks)], problem, unread if len(releases) < count else ""
    raise NothingFoundError(f"MusicBrainz knows no {kind.replace('-', ' ')} with the id {mbid}")
