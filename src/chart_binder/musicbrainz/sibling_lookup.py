"""Looks up siblings by artist and title, ISRC and work, with at most `MAX_REQUESTS` a file."""

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial

from msgspec.structs import replace

from chart_binder.domain.dates import LAST_DAY
from chart_binder.domain.evidence import EvidenceBundle, Provenance, RecordingCandidate
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import PERSON_SAYS
from chart_binder.domain.vocabulary import ArtistId, RecordingId, ReleaseGroupId, isrc
from chart_binder.errors import LookupFailedError, NothingFoundError
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.album import MIN_FILES, Catalogue, CatalogueCache
from chart_binder.musicbrainz.client import CachedService, Client
from chart_binder.musicbrainz.evidence import (
    SIBLING,
    Performance,
    bare_song,
    candidate_of,
    described,
    is_much_later,
    is_on_other_versions_only,
    is_other_performance,
    may_be_same_performance,
    out_by,
    performance_of,
    performances_in,
    perhaps_apart_ms,
    siblings_among,
    title_key,
)
from chart_binder.musicbrainz.web_service import Query, Recording, Release, partial_date

LOOKED_UP = "looked_up"
MAX_REQUESTS = 5
"""A search, an ISRC, the work of a recording, the recordings of it, the releases of one."""
MAX_ALBUM_REQUESTS = 10
"""Requests for an album of ten files or fewer; a larger one has as many as files."""
_OFFICIAL = ("status:official",)
_FREE = 0.5
"""Lists of an artist that take fewer requests are in the cache."""

_BY_NOBODY = "not looked up: no id tells by whom the recording is"
_NO_OTHER = "not looked up: a live take, remix or other version has none"
_PERHAPS = "looked up, but one that was found is only perhaps the same performance"
_UNREAD = "not all of the artist's recordings with this title were read"

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Budget:
    """The requests that may still be sent; a cached response takes none."""

    service: CachedService
    left: int

    def allows(self, query: Query) -> bool:
        """Whether a query may be sent, which is then counted; offline all may, and fail."""
        cost = self.service.cost(query)
        if 0 < cost < math.inf:
            if self.left <= 0:
                return False
            self.left -= 1
        return True


@dataclass(slots=True)
class Hits:
    """Recordings that may be siblings, of all the artist's if `are_of_artist`, with `releases`."""

    recordings: dict[RecordingId, Recording] = field(default_factory=dict)
    is_complete: bool = True
    are_of_artist: bool = False
    releases: Mapping[RecordingId, Sequence[Release]] = field(default_factory=dict)
    fetched_at: float = math.inf

    def add(self, found: Iterable[Recording]) -> None:
        """Add recordings."""
        for one in found:
            self.recordings.setdefault(one.id, one)


class _Lookup:
    def __init__(self, service: CachedService, bundle: EvidenceBundle, budget: Budget) -> None:
        self._service = service
        self._client = Client(service)
        self._bundle = bundle
        self._budget = budget
        self._own = performances_in(bundle)

    def _why_none(self) -> str:
        """Return why there can be no siblings; empty if there may be some."""
        if not artist_of(self._bundle):
            return _BY_NOBODY
        return _NO_OTHER if all(map(is_other_performance, self._own.values())) else ""

    def widened(self, hits: Hits | None) -> EvidenceBundle:
        """Return the bundle with siblings; it is not complete where the budget did not suffice."""
        if why := self._why_none():
            return self._bundle.noting_siblings(why)
        if hits is None:
            hits = search(self._client, self._budget, artist_of(self._bundle), [self._bundle])
        # MusicBrainz says more of a recording than evidence does: all artists, and that it is a
        # music video.
        known = (one for name, one in hits.recordings.items() if name in self._own)
        self._own |= {one.id: performance_of(one) for one in known}
        if why := self._why_none():
            return self._bundle.noting_siblings(why)
        siblings = self._siblings(hits)
        day = out_by(self._bundle.recording_candidates)
        for more in (self._by_isrc, self._by_work):
            is_any_original = any(_may_be_original(one, day) for one, _ in siblings)
            has_room = not siblings or self._budget.left > 1  # the releases take one
            is_all = hits.are_of_artist or not hits.is_complete
            if not (is_all or is_any_original) and has_room:
                more(hits)
                siblings = self._siblings(hits)
        candidates = [*self._bundle.recording_candidates]
        for recording, why in siblings:
            found = self._candidate(recording, why, hits, out_by(candidates))
            candidates += [] if is_on_other_versions_only(found) else [found]
        perhaps = None
        if hits.is_complete:
            own = self._own.values()
            perhaps = possibly_earlier(own, candidates, hits.recordings.values(), hits.releases)
        bundle = replace(
            self._bundle,
            recording_candidates=tuple(candidates),
            siblings=self._bundle.siblings if perhaps or not hits.is_complete else LOOKED_UP,
            complete=self._bundle.complete if hits.is_complete else False,
            provenance=self._provenance(hits, perhaps),
        )
        return read_bundle(bundle)

    def _siblings(self, hits: Hits) -> list[tuple[Recording, str]]:
        found = siblings_among(hits.recordings.values(), self._own)
        return sorted(found, key=lambda pair: (_first_day(pair[0]), pair[0].id))

    def _by_isrc(self, hits: Hits) -> None:
        codes = {isrc(code) for one in self._own.values() for code in one.isrcs}
        # By the year of assignment, `CC-XXX-YY-NNNNN`.
        for code in sorted(codes, key=lambda code: (code[5:7] < "40", code[5:]))[:1]:
            if self._budget.allows(ws.look_up("isrc", code)):
                hits.add(self._client.recordings_with(code))

    def _by_work(self, hits: Hits) -> None:
        """Add recordings of the first work performed: its title may be spelled in other ways."""
        performed = next(iter(self._own))
        if not self._budget.allows(ws.look_up("recording", performed, ws.RELATIONS)):
            return
        for work in self._client.works_of(performed)[:1]:
            if self._budget.allows(ws.query_recordings_of_work(work.id)):
                recordings, _ = self._client.recordings_of_work(work.id)
                hits.add(recordings)

    def _candidate(
        self, recording: Recording, why: str, hits: Hits, day: int
    ) -> RecordingCandidate:
        """Return a sibling as evidence; the hits are not complete if not all releases are known.

        Those of one much later than `day` need not be; else what a search shows stands in.
        """
        shown = [one.release for one in recording.release_list]
        is_shown = any(one.release_list for one in hits.recordings.values()) and all(shown)
        is_later = is_much_later(recording, day)
        releases = hits.releases.get(recording.id)
        is_all = releases is not None
        is_read = not (is_all or is_later or (is_shown and len(shown) >= ws.PAGE))
        if is_read and self._budget.allows(ws.browse_releases("recording", recording.id)):
            releases, count = self._client.first_releases_of("recording", recording.id)
            is_all = count == len(releases)
        if is_shown and not is_all:
            releases, is_all = [one for one in shown if one], True
        hits.is_complete &= is_all or is_later
        home = self._bundle.performer.begin_area_country
        known = candidate_of(recording, releases or (), home)
        return replace(known, relation=SIBLING, because=why)

    def _provenance(self, hits: Hits, unread: str | None) -> Provenance | None:
        """Return the provenance with the age of the oldest response, and what was not read."""
        known, oldest_at = self._bundle.provenance, self._client.oldest_at
        why = _PERHAPS if unread else None
        unread, why = (unread, why) if hits.is_complete else (_UNREAD, f"looked up, but {_UNREAD}")
        if known and unread:
            known = replace(known, unread=known.unread or unread, siblings=why)
        oldest_at = min(hits.fetched_at, math.inf if oldest_at is None else oldest_at)
        if known is None or oldest_at == math.inf:
            return known
        dated = self._service.dated(known, oldest_at)
        return dated if (dated.cache_age_s or 0.0) > (known.cache_age_s or 0.0) else known


def possibly_earlier(
    own: Iterable[Performance],
    known: Sequence[RecordingCandidate],
    others: Iterable[Recording],
    releases: Mapping[RecordingId, Sequence[Release]],
) -> str | None:
    """Describe the earliest of `others` that may be the performance, whatever its length.

    It is of an earlier year than all `known` recordings, or than a single one on any day.
    """
    names, performances = {one.mb_recording_id for one in known}, [*own]
    editions = (one for each in known for group in each.groups for one in group.editions)
    days = (one.when for one in editions if one.is_official and one.when.is_known)
    first = min((day.first for day in days), default=LAST_DAY)
    if len(known) > 1:
        first = date.fromordinal(first).replace(month=1, day=1).toordinal()
    perhaps = []
    for recording in others:
        other = performance_of(recording)
        is_near = any(may_be_same_performance(one, other) for one in performances)
        if recording.id in names or not is_near or _is_elsewhere(recording, releases):
            continue
        day = _first_day(recording, releases.get(recording.id, ()))
        if day < first or (day == LAST_DAY and len(known) == 1):
            perhaps.append((day, recording.id, recording))
    if not perhaps:
        return None
    day, _, one = min(perhaps, key=lambda row: row[:2])
    when = f"of {date.fromordinal(day).year}" if day < LAST_DAY else "without a date"
    return f"{described(one)} {when} (recording {one.id}) may be the same performance"


def artist_of(bundle: EvidenceBundle) -> ArtistId:
    """Return the id of the artist who is credited first; blank if there are several of the name."""
    if len({one.artist.mb_artist_id for one in bundle.recording_candidates if one.artist}) > 1:
        return ArtistId("")
    return ArtistId(bundle.performer.mb_artist_id or "")


def search(
    client: Client, budget: Budget, artist_id: ArtistId, bundles: Sequence[EvidenceBundle]
) -> Hits:
    """Search an artist's recordings that have the title of any of the bundles.

    Of few more than a page the next is read; else the search is made narrower.
    """
    titles = dict.fromkeys(_title(one) for one in bundles)
    query = partial(ws.search_recordings, artist_id, list(titles))
    lengths = _lengths(bundles) if len(titles) == 1 else None
    hits = Hits(is_complete=False)
    count = _read_page(client, budget, query(), hits)
    if hits.is_complete:
        return hits
    if ws.PAGE < count <= 2 * ws.PAGE:
        _read_page(client, budget, query(offset=ws.PAGE), hits, seen=ws.PAGE)
    elif lengths:
        _read_page(client, budget, query(length_ms=lengths), hits)
    if not hits.is_complete:
        _read_page(client, budget, query(length_ms=lengths, only=_OFFICIAL), hits)
    return hits


def _read_page(client: Client, budget: Budget, query: Query, hits: Hits, seen: int = 0) -> int:
    """Add a page to the hits; return how many are found. `seen` are those on the page before."""
    if not budget.allows(query):
        return 0
    page, count = client.search(query)
    hits.add(page)
    hits.is_complete = count <= seen + len(page)
    return count


def _title(bundle: EvidenceBundle) -> str:
    one = bundle.recording_candidates[0]
    return bare_song(one.title or bundle.recording_title or "")


def _lengths(bundles: Iterable[EvidenceBundle]) -> tuple[int, int] | None:
    known = [one.length_ms for each in bundles for one in each.recording_candidates]
    lengths = [one for one in known if one]
    if len(lengths) < len(known):
        return None
    apart_ms = perhaps_apart_ms(max(lengths))
    return max(0, min(lengths) - apart_ms), max(lengths) + apart_ms


def _first_day(recording: Recording, releases: Iterable[Release] = ()) -> int:
    """Return the last day by which a recording was out, as far as a search or a list shows it."""
    dates = [recording.first_release_date, *(one.date for one in recording.release_list)]
    dates += [one.date for one in releases]
    known = [partial_date(date) for date in dates if date]
    return min((date.last for date in known if date.is_known), default=LAST_DAY)


def _is_elsewhere(recording: Recording, releases: Mapping[RecordingId, Sequence[Release]]) -> bool:
    """Whether a recording is on records of live takes, remixes or demos alone, or on none."""
    shown = [one.release for one in recording.release_list]
    known = releases.get(recording.id, [one for one in shown if one])
    is_all_shown = recording.score is not None or recording.id in releases
    if not known:  # of a server that shows titles alone, or of a work, it is not known
        return is_all_shown and not shown
    return is_on_other_versions_only(candidate_of(recording, known, None))


def _may_be_original(recording: Recording, day: int) -> bool:
    """Whether a sibling was out before a day, and not on compilations alone."""
    groups = [one.release_group for one in recording.release_list if one.release_group]
    is_gathered = groups and all("Compilation" in one.secondary_type_list for one in groups)
    return _first_day(recording) < day and not is_gathered


def look_up_together(
    service: CachedService, catalogues: CatalogueCache, bundles: Sequence[EvidenceBundle]
) -> Callable[[EvidenceBundle], EvidenceBundle]:
    """Look up what the bundles of an album share, if it can be; return how to widen each."""
    most = max(MAX_ALBUM_REQUESTS, len(bundles))
    budget = Budget(service, min(MAX_REQUESTS * len(bundles), most))
    by_artist: defaultdict[ArtistId, list[EvidenceBundle]] = defaultdict(list)
    for one in bundles:
        by_artist[artist_of(one)].append(one)
    known: dict[RecordingId, Hits] = {}
    pending = len(bundles)
    for artist_id, alike in by_artist.items():
        pending -= len(alike)
        if artist_id:
            shared = Budget(service, budget.left - pending)
            try:
                known |= _shared(service, catalogues, artist_id, alike, shared)
            except LookupFailedError as error:
                _log.warning("siblings are looked up one by one", extra={"why": str(error)})
                break
            finally:
                budget.left = shared.left + pending

    waiting = len(bundles)

    def look_up(bundle: EvidenceBundle) -> EvidenceBundle:
        nonlocal waiting
        share = max(1, budget.left // max(1, waiting))  # some is left for the other files
        waiting -= 1
        own = Budget(service, min(MAX_REQUESTS, budget.left, share))
        before = own.left
        try:
            return _Lookup(service, bundle, own).widened(known.get(_name(bundle)))
        finally:
            budget.left -= before - own.left

    return look_up


def _name(bundle: EvidenceBundle) -> RecordingId:
    return bundle.recording_candidates[0].mb_recording_id


def _shared(
    service: CachedService,
    catalogues: CatalogueCache,
    artist_id: ArtistId,
    bundles: Sequence[EvidenceBundle],
    budget: Budget,
) -> dict[RecordingId, Hits]:
    before, size = service.requests, len(bundles)
    worth = size if size >= MIN_FILES else _FREE
    catalogue = catalogues.get(artist_id, worth, most=1 + size / 2)
    budget.left -= min(service.requests - before, size // 2)
    if catalogue:
        return _in_catalogue(catalogue, bundles)
    if budget.left >= MAX_REQUESTS * size:
        return {}  # each may be looked up by itself
    step = math.ceil(size / max(1, min(size, budget.left)))
    known: dict[RecordingId, Hits] = {}
    for start in range(0, size, step):
        part = bundles[start : start + step]
        hits = search(Client(service), budget, artist_id, part)
        known |= {_name(one): Hits(dict(hits.recordings), hits.is_complete) for one in part}
    return known


def _in_catalogue(
    catalogue: Catalogue, bundles: Iterable[EvidenceBundle]
) -> dict[RecordingId, Hits]:
    alike: defaultdict[str, dict[RecordingId, Recording]] = defaultdict(dict)
    for recording, _ in catalogue.recordings.values():
        alike[title_key(recording.title or "")][recording.id] = recording
    known = {}
    for one in bundles:
        found = alike.get(title_key(_title(one)), {})
        releases = {name: [*catalogue.recordings[name][1].values()] for name in found}
        known[_name(one)] = Hits(
            dict(found), are_of_artist=True, releases=releases, fetched_at=catalogue.fetched_at
        )
    return known


# Records that a model names: what they add to the evidence.

_MAX_SIBLINGS = 3
"""Recordings of one group that are brought in."""


def bring_in(
    client: Client, bundle: EvidenceBundle, kind: str, mbid: str
) -> tuple[RecordingCandidate, ...]:
    """Return the recordings that a record at MusicBrainz adds to the evidence, as siblings.

    A `release-group` adds those on it that are the same performance, `recording` itself. Raises
    `NothingFoundError`, which says why it adds none, and `LookupFailedError`.
    """
    played, denied, unread = _played(client, kind, mbid)
    known = {one.mb_recording_id for one in bundle.recording_candidates}
    others = [one for one in played if one.id not in known]
    siblings = siblings_among(others, performances_in(bundle))[:_MAX_SIBLINGS]
    if not siblings:
        if unread:
            raise LookupFailedError(unread)
        if len(others) < len(played):
            denied = "the evidence has the recording already, with all its releases"
        raise NothingFoundError(denied)
    home = bundle.performer.country
    found = [
        replace(candidate_of(one, releases, home), relation=SIBLING, because=because)
        for one, because in siblings
        if (releases := client.releases_of(one.id))
    ]
    if not found:
        raise NothingFoundError(f"{described(siblings[0][0])} is on no release")
    return tuple(found)


def bring_in_as_said(
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
    found = candidate_of(recording, releases, bundle.performer.country)
    return replace(found, relation=SIBLING, because=PERSON_SAYS)


def _played(client: Client, kind: str, mbid: str) -> tuple[list[Recording], str, str]:
    """Return the recordings of a record, what to say if none counts, and what was not read."""
    others = "the same performance: another artist, title, kind, comment or length"
    if kind == "recording":
        if recording := client.recording(RecordingId(mbid)):
            return [recording], f"{described(recording)} is not {others}", ""
    elif group := client.release_group(ReleaseGroupId(mbid)):
        releases, count = client.releases_with(group.id)
        tracks = (track.recording for one in releases for track in one.tracks)
        unread = f"of {count} releases of {group.title!r}, {len(releases)} were read"
        denied = f"no track of {group.title!r} is {others}"
        return [*filter(None, tracks)], denied, unread if len(releases) < count else ""
    raise NothingFoundError(f"MusicBrainz knows no {kind.replace('-', ' ')} with the id {mbid}")
