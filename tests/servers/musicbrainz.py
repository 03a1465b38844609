"""MusicBrainz' web service (WS/2) as far as recordings need it, made from evidence bundles."""

import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec.structs import replace as replace_fields

from chart_binder.domain.evidence import Artist, EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS, ArtistId
from servers.http import Request, Response, StandIn
from servers.musicbrainz_catalogue import Issue, issues, issues_by, issues_page
from servers.musicbrainz_relations import Link, relation_list, url_list, work_list
from servers.musicbrainz_search import (
    SyntaxDefectError,
    group_fields,
    recording_fields,
    release_fields,
    search,
)
from servers.musicbrainz_xml import (
    DEFAULT_PAGE,
    MOST_PAGE,
    XML,
    Known,
    artist_element,
    document,
    element,
    error,
    group_element,
    list_element,
    recording_element,
    release_element,
    search_hit,
)

Behave = Callable[[int, Request, Response], Response]
"""From the number of a request (from 0), the request and the honest answer to what is sent."""

MBID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
INCLUDES = {
    "recording": {
        "artist-credits",
        "artists",
        "isrcs",
        "releases",
        "work-rels",
        "recording-rels",
        "work-level-rels",
    },
    "isrc": {"artist-credits", "artists", "isrcs", "releases"},
    "release": {"artist-credits", "isrcs", "labels", "media", "release-groups", "recordings"},
    "release-group": {"artist-credits", "artists", "url-rels"},
    "artist": {"aliases"},
}


NOT_FOUND = error(404, "Not Found")
BUSY = error(503, "Your requests are exceeding the allowable rate limit.")
HTML_PAGE = Response("<!DOCTYPE html><html><head><title>Hello</title></head><body><p>Hi<br></html>")
GARBAGE = Response(bytes(range(256)) * 20, content_type=XML)
HANG_UP = Response(raw=b"")


def busy_for(retry_after: str, status: int = 503) -> Response:
    """A refusal that says when to come back."""
    return replace(BUSY, status=status, headers=(("Retry-After", retry_after),))


def always(answer: Response) -> Behave:
    """Answer everything alike."""
    return lambda _, __, ___: answer


def first(count: int, answer: Response) -> Behave:
    """Answer the first requests alike, the rest honestly."""
    return lambda number, _, honest: answer if number < count else honest


def cut_in_half(_: int, __: Request, honest: Response) -> Response:
    """Send half the document as if it were all of it."""
    assert isinstance(honest.body, (bytes, str))
    return replace(honest, body=honest.body[: len(honest.body) // 2])


@dataclass(init=False)
class MusicBrainzStandIn(StandIn):
    """`with MusicBrainzStandIn(bundles) as mb:` serves the facts of evidence bundles.

    A bundle is an `EvidenceBundle` or the JSON of one. `merged` names ids that were merged into
    others; the server redirects to them, or, with `redirects=False`, answers with the other id at
    once. `behave` spoils answers. `requests` and `arrivals` (monotonic seconds) tell what came.
    With tracks, a page of releases has at most `most_tracks`, but at least one release. `works` has
    the recordings of each work by its id, `videos` the recordings that are music videos. Recordings
    that a search finds have their releases, or only the titles of these (`hits_have_releases`).
    `links` are the relations between recordings, `urls` the addresses of groups (`url_list`).
    `hostname` is what to configure, with `https = false`.
    """

    behave: Behave | None = None
    merged: Mapping[str, str] = field(default_factory=dict)
    redirects: bool = True
    most_tracks: int = 500
    hits_have_releases: bool = True
    links: Sequence[Link] = ()
    urls: Mapping[str, Sequence[str]] = field(default_factory=dict)
    arrivals: list[float] = field(default_factory=list)

    def __init__(
        self,
        bundles: Iterable[EvidenceBundle | Mapping[str, Any]],
        *,
        behave: Behave | None = None,
        merged: Mapping[str, str] | None = None,
        redirects: bool = True,
        works: Mapping[str, Iterable[str]] | None = None,
        videos: Iterable[str] = (),
        comments: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(self._answer)
        work_of = {one: work for work, played in (works or {}).items() for one in played}
        self.behave = behave
        self.merged = merged or {}
        self.redirects = redirects
        self.most_tracks = 500
        self.hits_have_releases = True
        self.links = ()
        self.urls = {}
        self.arrivals = []
        self.comments = comments or {}
        self._recordings: dict[str, Known] = {}
        self._artists: dict[str, Artist] = {
            VARIOUS_ARTISTS: Artist("Various Artists", VARIOUS_ARTISTS)
        }
        for bundle in map(read_bundle, bundles):
            artist = bundle.performer
            for name in (artist.mb_artist_id or "").split("+"):
                self._artists.setdefault(name, artist)
            for recording in bundle.recording_candidates:
                name = recording.mb_recording_id
                self._recordings[name] = Known(artist, recording, work_of.get(name), name in videos)

    @property
    def hostname(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"

    @property
    def targets(self) -> list[str]:
        """Path and query of every request."""
        return [request.target for request in self.requests]

    def merge(self, old: str, new: str) -> None:
        """Merge a recording into another, which has what it had."""
        known = self._recordings.pop(old)
        recording = replace_fields(known.recording, mb_recording_id=new)
        self._recordings[new] = replace(known, recording=recording)
        self.merged = {**self.merged, old: new}

    def _answer(self, request: Request) -> Response:
        number = len(self.arrivals)
        self.arrivals.append(time.monotonic())
        honest = self._honest(request)
        return self.behave(number, request, honest) if self.behave else honest

    def _honest(self, request: Request) -> Response:
        if not request.headers.get("user-agent"):
            return error(403, "Your requests have no User-Agent.")
        root, _, rest = request.path.removeprefix("/ws/2/").partition("/")
        if not request.path.startswith("/ws/2/") or root not in INCLUDES:
            return replace(HTML_PAGE, status=404)
        asked = set(request.query.get("inc", "").split())
        if wrong := asked - INCLUDES[root]:
            text = f"{wrong.pop()} is not a valid inc parameter for the {root} resource."
            return error(400, text)
        if rest and root != "isrc" and not MBID.fullmatch(rest):
            return error(400, "Invalid mbid.")
        if (other := self.merged.get(rest)) and self.redirects:
            location = f"{self.url}/ws/2/{root}/{other}"
            return Response("", 301, headers=(("Location", location),))
        return self._found(root, other or rest, request, asked)

    def _found(self, root: str, name: str, request: Request, asked: set[str]) -> Response:
        ways: dict[str, Callable[[], ET.Element | None]] = {
            "recording": lambda: self._recording(name, request.query, asked),
            "isrc": lambda: self._isrc(name, asked),
            "artist": lambda: self._artist(name),
            "release": lambda: self._release(name, request.query, asked),
            "release-group": lambda: self._group(name, request.query, asked),
        }
        try:
            found = ways[root]()
        except SyntaxDefectError as defect:
            return error(400, f"Invalid query: {defect}")
        if found is None:
            return NOT_FOUND
        for artist in found.iter("artist"):
            if comment := self.comments.get(artist.get("id", "")):
                ET.SubElement(artist, "disambiguation").text = comment
        return document(found)

    def _recording(self, name: str, query: Mapping[str, str], asked: set[str]) -> ET.Element | None:
        if not name and "work" in query:
            of_it = [one for one in self._recordings.values() if one.work == query["work"]]
            offset, limit = page_of(query)
            page = [recording_element(one, asked) for one in of_it[offset : offset + limit]]
            return list_element("recording-list", page, len(of_it), offset) if of_it else None
        if not name:
            known_all = self._recordings.values()
            return search_results(known_all, query, with_releases=self.hits_have_releases)
        known = self._recordings.get(name)
        if known is None:
            return None
        made = recording_element(known, asked)
        if "recording-rels" in asked:
            made.append(relation_list(name, self.links, self._recordings))
        if "work-rels" in asked:
            made.append(work_list(known))
        return made

    def _isrc(self, name: str, asked: set[str]) -> ET.Element | None:
        carrying = [k for k in self._recordings.values() if name in (k.recording.isrcs or ())]
        elements = [recording_element(known, asked) for known in carrying]
        listed = list_element("recording-list", elements, len(elements), 0)
        return element("isrc", listed, mbid=name) if carrying else None

    def _artist(self, name: str) -> ET.Element | None:
        artist = self._artists.get(name)
        if artist is None:
            return None
        one = replace_fields(artist, mb_artist_id=ArtistId(name))
        return artist_element(one, with_areas=True)

    def _group(self, name: str, query: Mapping[str, str], asked: set[str]) -> ET.Element | None:
        groups = {group.mb_rg_id: (known, group) for known, group, _ in self._on_releases(None)}
        if not name:
            return group_results(groups.values(), query)
        found = {str(group_id): pair for group_id, pair in groups.items()}.get(name)
        if found is None:
            return None
        made = group_element(found[1], found[0].artist, asked)
        if "url-rels" in asked and name in self.urls:
            made.append(url_list(self.urls[name]))
        return made

    def _release(self, name: str, query: Mapping[str, str], asked: set[str]) -> ET.Element | None:
        if not name:
            return self._releases(query, asked)
        found = [row for row in self._on_releases(None) if row[2] and row[2].mb_release_id == name]
        if not found:
            return None
        (known, group, release), tracks = found[0], [row[0] for row in found]
        return release_element(release, group, known.artist, asked, tracks) if release else None

    def _releases(self, query: Mapping[str, str], asked: set[str]) -> ET.Element | None:
        if "query" in query:
            return release_results(issues(self._on_releases(None)), query)
        if "artist" in query or "track_artist" in query:
            name = query.get("artist") or query["track_artist"]
            name = self.merged.get(name, name)
            found = issues_by(name, self._on_releases(None), whole="artist" in query)
            is_known = name in self._artists
            return issues_page(found, query, asked, self.most_tracks) if is_known else None
        group_id = query.get("release-group")
        if group_id and "recordings" in asked:
            rows = (row for row in self._on_releases(None) if row[1].mb_rg_id == group_id)
            return issues_page(issues(rows), query, asked, self.most_tracks)
        name = query.get("recording", "")
        known = self._recordings.get(self.merged.get(name, name))
        if known is None and group_id is None:
            return None
        pairs = {
            release.mb_release_id: release_element(release, group, known.artist, asked)
            for known, group, release in self._on_releases(None if group_id else known)
            if release and group_id in {None, group.mb_rg_id}
        }
        offset, limit = page_of(query)
        page = list(pairs.values())[offset : offset + limit]
        return list_element("release-list", page, len(pairs), offset)

    def _on_releases(
        self, only: Known | None
    ) -> Iterator[tuple[Known, ReleaseGroup, Release | None]]:
        """Yield where each recording stands; a group without releases stands for itself."""
        for known in [only] if only else self._recordings.values():
            for group in known.recording.groups:
                for release in group.editions or (None,):
                    yield known, group, release


def search_results(
    known: Iterable[Known], query: Mapping[str, str], *, with_releases: bool
) -> ET.Element:
    """The page of a search for recordings."""
    by_id = sorted(known, key=lambda one: one.recording.mb_recording_id)
    found = search(query["query"], ((recording_fields(one), one) for one in by_id))
    offset, limit = page_of(query)
    page = [
        search_hit(one, score, with_releases=with_releases)
        for score, one in found[offset : offset + limit]
    ]
    return list_element("recording-list", page, len(found), offset)


def group_results(
    known: Iterable[tuple[Known, ReleaseGroup]], query: Mapping[str, str]
) -> ET.Element:
    """The page of a search for release groups."""
    by_id = sorted(known, key=lambda pair: pair[1].mb_rg_id)
    found = search(query["query"], ((group_fields(*pair), pair) for pair in by_id))
    offset, limit = page_of(query)
    page = found[offset : offset + limit]
    hits = [group_element(group, one.artist, {"artist-credits"}) for _, (one, group) in page]
    for hit, (score, _) in zip(hits, page, strict=True):
        hit.set("ns2:score", str(score))
    return list_element("release-group-list", hits, len(found), offset)


def release_results(known: Iterable[Issue], query: Mapping[str, str]) -> ET.Element:
    """The page of a search for releases."""
    by_id = sorted(known, key=lambda one: one.release.mb_release_id)
    found = search(query["query"], ((release_fields(one), one) for one in by_id))
    offset, limit = page_of(query)
    asked = {"artist-credits", "labels", "media", "release-groups"}
    hits = []
    for score, one in found[offset : offset + limit]:
        hits.append(release_element(one.release, one.group, one.artist, asked))
        hits[-1].set("ns2:score", str(score))
    return list_element("release-list", hits, len(found), offset)


def page_of(query: Mapping[str, str]) -> tuple[int, int]:
    """Return the offset and the length of the page that is asked for."""
    limit = min(int(query.get("limit", DEFAULT_PAGE)), MOST_PAGE)
    return int(query.get("offset", 0)), limit
