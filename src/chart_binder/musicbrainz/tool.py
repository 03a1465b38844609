"""The tool `musicbrainz`: a model looks up recordings, releases, groups and relations."""

import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import starmap
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from chart_binder.domain.records import CachedAnswer
from chart_binder.domain.vocabulary import MBID, RecordingId, ReleaseGroupId, ReleaseId, minutes
from chart_binder.errors import CanonError, counted
from chart_binder.react.sanitize import one_line
from chart_binder.react.steps import Document, Observation
from chart_binder.react.tools import ServiceFailedError, Tool, ToolError

if TYPE_CHECKING:
    from chart_binder.config import LLMConfig
    from chart_binder.domain.evidence import ReleaseGroup
    from chart_binder.musicbrainz import web_service as ws
    from chart_binder.musicbrainz.client import Client
    from chart_binder.musicbrainz.source import MusicBrainzSource

Open: TypeAlias = Callable[[], AbstractContextManager["Client"]]

What: TypeAlias = Literal[
    "release_groups", "releases", "recordings", "with_title", "of_years", "relations"
]
_MAX_NAME: Final = 120
_LAST_LINE: Final = 25
"""Characters reserved for the last line, which counts the entries not shown."""
_ID_WITH_KIND: Final = re.compile(
    rf"(?:([a-z]+(?:[-_ ]group)?)[/:= ]+)?({MBID.pattern})", re.IGNORECASE
)
_YEARS: Final = re.compile(r"(\d{4})(?:\D{1,5}(\d{4}))?", re.ASCII)
_ENTITY: Final[Mapping[What, "ws.Entity"]] = {
    "release_groups": "release-group",
    "releases": "release",
    "recordings": "recording",
}
_OTHER_KINDS: Final = frozenset({"artist", "work", "label", "track", "url", "area"})
_MAX_SEARCHED: Final = 200
"""Characters of a title or name: longer ones may not fit into a request."""
_MAX_CACHED: Final = 1_000
_MAX_WORKS: Final = 2
_MAX_ISRCS: Final = 2


def musicbrainz(config: "LLMConfig", open_client: Open | None = None) -> Tool:
    """Return the tool; without `open_client` it uses the public service, cached in memory."""
    opened = open_client or (lambda: nullcontext(_public_service().client()))

    def musicbrainz(
        query: str, artist: str = "", what: What = "release_groups", group: str = ""
    ) -> Observation:
        """Look records up at MusicBrainz: query is a title, or an id. Returns dates and ids.

        Args:
            what: of_years: the artist's groups of the years in query (1974-1976);
                with_title: releases of the group (its id) that have the title;
                relations: edits, remasters and work of the recording (its id).
        """
        words, artist_name = (" ".join(text.split())[:_MAX_SEARCHED] for text in (query, artist))
        try:
            with opened() as client:
                request = _Request(client, config.fetch.max_chars, what, words, artist_name, group)
                return _LOOK_UPS[what](request)
        except CanonError as error:
            raise ServiceFailedError("The look-up at MusicBrainz failed.") from error

    return Tool.of(musicbrainz)


@cache
def _public_service() -> "MusicBrainzSource":
    """Return the public service, which the process shares because it shares the rate limit."""
    from chart_binder.config import MusicBrainzConfig
    from chart_binder.musicbrainz.source import connect

    memory = MemoryCache()
    return connect(MusicBrainzConfig(), memory, memory)


_Entry: TypeAlias = tuple[str, str]
"""A line of a list, with the address of its subject, or "" if that may not be cited."""


@dataclass(frozen=True, slots=True)
class _Request:
    client: "Client"
    max_chars: int
    what: What
    query: str
    artist: str
    group: str

    @property
    def title(self) -> str:
        """The title without an id and without quotation marks around it."""
        return _unquoted(_ID_WITH_KIND.sub("", self.query))

    @property
    def artist_named(self) -> str:
        match = _ID_WITH_KIND.search(self.artist)
        return match[2].lower() if match else _unquoted(self.artist)

    def show(
        self, lines: Sequence[str], entries: Iterable[_Entry] = (), count: int = 0, of: str = ""
    ) -> Observation:
        """Return the lines and as many whole entries as fit, and how many are not shown.

        `count` is the number of all entries, if some were not read. `of` is the address of the page
        that the lines and the entries come from, if there is one.
        """
        rows, shown_count = list(entries), 0
        text = [*lines[:1], *([f"Address: {of}"] if of else []), *lines[1:]]
        room = self.max_chars - sum(len(line) + 1 for line in text) - _LAST_LINE
        while shown_count < len(rows) and len(rows[shown_count][0]) <= room:
            text.append(rows[shown_count][0])
            room -= len(text[-1]) + 1
            shown_count += 1
        if (hidden_count := (count or len(rows)) - shown_count) > 0:
            text.append(f"({hidden_count} more not shown)")
        content = "\n".join(text)[: self.max_chars]
        listed = dict.fromkeys(address for _, address in rows[:shown_count] if address)
        documents = [
            Document(address, text=entry, is_fetched=True)
            for entry, address in rows[:shown_count]
            if address and not of
        ]
        if of:
            aliases = tuple(address for address in listed if address != of)
            documents = [Document(of, lines[0], text=content, is_fetched=True, aliases=aliases)]
        sources = tuple(dict.fromkeys((*filter(None, [of]), *listed)))
        return Observation(content, sources, documents=tuple(documents))


def _unquoted(text: str) -> str:
    return text.strip().strip("\"'“”")


def _search(request: _Request) -> Observation:
    """Search by title and artist, or show the record of an id or address."""
    if id_match := _ID_WITH_KIND.search(request.query):
        kind = (id_match[1] or "").lower().replace("_", "-").replace(" ", "-")
        return _by_id(request, kind, id_match[2].lower())
    if not request.title:
        raise ToolError("Give a title, or the id of a release group, release or recording.")
    entity = _ENTITY[request.what]
    metadata = request.client.search_by_title(entity, request.title, request.artist_named)
    groups = metadata.release_group_list or ()
    if len(groups) == 1 and (observation := _group(request, groups[0].id)):
        return observation
    entries = [
        *starmap(_numbered_group, enumerate(groups, start=1)),
        *map(_release_entry, _by_date(metadata.release_list or ())),
        *map(_recording_entry, metadata.recording_list or ()),
    ]
    if not entries:
        by = f' by "{request.artist_named}"' if request.artist_named else ""
        return _nothing_found(f'{entity.replace("-", " ")} like "{request.title}"{by}')
    return request.show(["At MusicBrainz:"], entries)


def _numbered_group(number: int, group: "ws.MBReleaseGroup") -> _Entry:
    address = _address("release-group", group.id)  # on a line below, as in a list of pages
    return f"{number}. {_group_title(group)}\n   {address}", address


def _by_id(request: _Request, kind: str, identifier: str) -> Observation:
    """Show the record of an id; if the id has no kind, try the kind in `what` first."""
    if kind in _OTHER_KINDS:
        raise ToolError(f"Release groups, releases and recordings can be looked up, but no {kind}.")
    first = _ENTITY[request.what]
    kinds = (kind,) if kind in _BY_ID else sorted(_BY_ID, key=lambda entity: entity != first)
    for entity in kinds:
        if observation := _BY_ID[entity](request, identifier):
            return observation
    return _nothing_found(f"{', no '.join(kinds)} with the id {identifier}")


def _nothing_found(description: str) -> Observation:
    return Observation(one_line(f"MusicBrainz knows no {description}."))


def _group(request: _Request, identifier: str) -> Observation | None:
    group = request.client.release_group(ReleaseGroupId(identifier))
    if group is None:
        return None
    releases, count = request.client.first_releases_of("release-group", group.id)
    lines = [
        f"Release group {_group_title(group)}",
        f"Releases: {count}" if count else "No release is listed.",
    ]
    entries = ((_release_line(release), "") for release in _by_date(releases))
    return request.show(lines, entries, count, of=_address("release-group", group.id))


def _release(request: _Request, identifier: str) -> Observation | None:
    release = request.client.release(ReleaseId(identifier))
    if release is None:
        return None
    group = release.release_group
    lines = [
        f'Release "{_name(release.title)}"{_by(release.artist_credit_phrase)}',
        _release_line(release),
        f"In release group {_group_title(group)}, release-group id {group.id}",
    ]
    tracks = (track for medium in release.medium_list for track in medium.track_list)
    titles = (track.title or (track.recording and track.recording.title) for track in tracks)
    if titles_text := "; ".join(_name(title) for title in titles if title):
        lines.append(f"Tracks: {titles_text}")
    return request.show(lines, of=_address("release", release.id))


def _recording(request: _Request, identifier: str) -> Observation | None:
    recording = request.client.recording(RecordingId(identifier))
    if recording is None:
        return None
    releases, count = request.client.first_releases_of("recording", recording.id)
    read_count = f", {len(releases)} of them read" if count > len(releases) else ""
    lines = [
        f"Recording {_recording_title(recording)}",
        f"Releases with it: {count}{read_count}. Its groups:",
    ]
    return request.show(lines, _appearances(releases), of=_address("recording", recording.id))


def _with_title(request: _Request) -> Observation:
    id_match = _ID_WITH_KIND.search(request.group) or _ID_WITH_KIND.search(request.query)
    if not (id_match and request.title):
        raise ToolError(
            "with_title takes the title of a track as query, and the id of a release group as"
            " group."
        )
    group = request.client.release_group(ReleaseGroupId(id_match[2].lower()))
    if group is None:
        return _nothing_found(f"release-group with the id {id_match[2].lower()}")
    releases, count = request.client.releases_with(group.id)
    entries = [
        (
            f"{_release_line(release)}, with {_recording_title(recording)}",
            _address("recording", recording.id),
        )
        for release in _by_date(releases)
        for recording in _tracks_called(release, request.title)
    ]
    lines = [
        f"Release group {_group_title(group)}",
        f'Releases: {count}, {len(releases)} of them read. With "{_name(request.title)}":',
    ]
    return request.show(lines, entries or [("None.", "")], of=_address("release-group", group.id))


def _of_years(request: _Request) -> Observation:
    years = _YEARS.fullmatch(_unquoted(request.query))
    if not (years and request.artist_named):
        raise ToolError(
            "of_years takes years such as 1974-1976 as query, and the artist's name or id."
        )
    first, last = sorted((int(years[1]), int(years[2] or years[1])))
    groups, count = request.client.groups_of_years(request.artist_named, first, last)
    by_artist = f"by {request.artist_named} from {first} to {last}"
    if not groups:
        return _nothing_found(f"official release group {by_artist}")
    ordered = sorted(groups, key=lambda group: (group.first_release_date or "", group.id))
    return request.show([f"Release groups {by_artist}: {count}"], map(_group_entry, ordered), count)


def _relations(request: _Request) -> Observation:
    id_match = _ID_WITH_KIND.search(request.query)
    if id_match is None:
        raise ToolError("relations takes a recording's id as query; what = recordings finds one.")
    recording = request.client.relations_of(RecordingId(id_match[2].lower()))
    if recording is None:
        return _nothing_found(f"recording with the id {id_match[2].lower()}")
    entries = [
        _relation_entry(relation, relation.recording)
        for relation in recording.recording_relation_list
        if relation.recording
    ]
    works = [relation.work for relation in recording.work_relation_list if relation.work]
    for work in works[:_MAX_WORKS]:
        listed, count = request.client.recordings_of_work(work.id)
        head = f'Work "{_name(work.title)}": {count} recordings, {len(listed)} of them read, first'
        related = [relative for relative in listed if relative.id != recording.id]
        related.sort(key=lambda relative: (relative.first_release_date or "9", relative.id))
        entries += ((f"{head}:", ""), *map(_recording_entry, related))
    none = [("No relation to another recording or to a work is listed.", "")]
    lines = [f"Recording {_recording_title(recording)}"]
    return request.show(lines, entries or none, of=_address("recording", recording.id))


_BY_ID: Final[Mapping[str, Callable[[_Request, str], Observation | None]]] = {
    "release-group": _group,
    "release": _release,
    "recording": _recording,
}
_LOOK_UPS: Final[Mapping[What, Callable[[_Request], Observation]]] = {
    **dict.fromkeys(_ENTITY, _search),
    "with_title": _with_title,
    "of_years": _of_years,
    "relations": _relations,
}


# Lines.


def _group_entry(group: "ws.MBReleaseGroup") -> _Entry:
    text = f"- {_group_title(group)}, release-group id {group.id}"
    return text, _address("release-group", group.id)


def _group_title(group: "ws.MBReleaseGroup") -> str:
    """Return title, types, artist and MusicBrainz's first date, which includes bootlegs."""
    types = " + ".join(filter(None, (group.primary_type, *group.secondary_type_list)))
    by = _by(group.artist_credit_phrase, ", by")
    return (
        f'"{_name(group.title)}"{_remark(group.disambiguation)}'
        f" ({_name(types or 'type unknown')}{by}), {_first_date(group.first_release_date)}"
    )


def _address(kind: str, identifier: str) -> str:
    return f"https://musicbrainz.org/{kind}/{identifier}"


def _first_date(date: str | None) -> str:
    from chart_binder.musicbrainz.web_service import partial_date

    first = partial_date(date)
    return f"first date of any status {first if first.is_known else 'unknown'}"


def _recording_entry(recording: "ws.Recording") -> _Entry:
    return f"- {_recording_title(recording)}", _address("recording", recording.id)


def _recording_title(recording: "ws.Recording") -> str:
    title, by = _name(recording.title), _by(recording.artist_credit_phrase)
    parts = [f'"{title}"{_remark(recording.disambiguation)}{by}']
    if recording.length_ms:
        parts.append(minutes(recording.length_ms))
    parts += (f"ISRC {_name(code)}" for code in recording.isrc_list[:_MAX_ISRCS])
    parts.append(_first_date(recording.first_release_date))
    return f"{', '.join(parts)}, recording id {recording.id}"


def _relation_entry(relation: "ws.Relation", recording: "ws.Recording") -> _Entry:
    kind = _name(relation.type or "related")
    relates = f"has the {kind}" if relation.direction == "backward" else f"{kind} of"
    return f"- {relates} {_recording_title(recording)}", _address("recording", recording.id)


def _release_line(release: "ws.MBRelease") -> str:
    (edition,) = _groups_of((release,))[0].editions
    imprint = " ".join(filter(None, (edition.label, edition.catno)))
    parts = (
        str(edition.when) if edition.when.is_known else "date unknown",
        edition.place or "country unknown",
        edition.standing or "status unknown",
        *filter(None, (imprint, edition.format, edition.disambiguation)),
        f"id {edition.mb_release_id}",
    )
    return f"- {', '.join(map(_name, parts))}"


def _release_entry(release: "ws.MBRelease") -> _Entry:
    group = release.release_group
    title = f'"{_name(release.title)}"{_by(release.artist_credit_phrase)}'
    kind = _name(group.primary_type or "type unknown")
    line = f"{_release_line(release)}: {title} ({kind}, release-group id {group.id})"
    return line, _address("release", release.id)


def _by_date(releases: Iterable["ws.MBRelease"]) -> list["ws.MBRelease"]:
    from chart_binder.musicbrainz.web_service import partial_date

    return sorted(releases, key=lambda release: (partial_date(release.date).last, release.id))


def _groups_of(releases: Iterable["ws.MBRelease"]) -> tuple["ReleaseGroup", ...]:
    from chart_binder.musicbrainz.evidence import release_groups

    return release_groups(releases, None)


def _appearances(releases: Iterable["ws.MBRelease"]) -> Iterator[_Entry]:
    """Yield the groups of a recording's releases, that of the earliest official release first."""
    dated_groups = []
    for group in _groups_of(releases):
        official = [edition.when for edition in group.editions if edition.is_official]
        first = min(official, key=lambda when: (when.last, when.first), default=None)
        dated_groups.append((first.last if first else sys.maxsize, group, first))
    for _, group, first in sorted(dated_groups, key=lambda row: (row[0], row[1].mb_rg_id)):
        types = " + ".join(filter(None, (group.types[0], *group.kinds))) or "type unknown"
        date = "no official release" if first is None else f"official {first}"
        count = counted(len(group.editions), "release")
        by = _by(group.artist_credit, ", by")
        text = f'- {date}, "{_name(group.title)}" ({_name(types)}{by}), {count}'
        address = _address("release-group", group.mb_rg_id)
        yield f"{text}, release-group id {group.mb_rg_id}", address


def _tracks_called(release: "ws.MBRelease", title: str) -> Iterator["ws.Recording"]:
    from chart_binder.musicbrainz.matching import same_title

    for track in release.tracks:
        recording = track.recording
        if recording and same_title(track.title or recording.title or "", title):
            yield recording


def _by(credit: str | None, joint: str = " by") -> str:
    return f"{joint} {_name(credit)}" if credit else ""


def _remark(comment: str | None) -> str:
    return f" ({_name(comment)})" if comment else ""


def _name(text: str | None) -> str:
    return one_line(text or "", _MAX_NAME)


class MemoryCache:
    """An `AnswerCache` of a thousand responses and a `RateLimiter`; threads may share it."""

    def __init__(self) -> None:
        self._cached: dict[str, CachedAnswer] = {}
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> CachedAnswer | None:
        """Return the response stored under `key`."""
        return self._cached.get(key)

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Store `body` under `key`, replacing an earlier one."""
        with self._lock:
            self._cached.pop(key, None)
            self._cached[key] = CachedAnswer(body, fetched_at)
            if len(self._cached) > _MAX_CACHED:
                del self._cached[next(iter(self._cached))]

    def forget(self, key: str) -> None:
        """Delete what is stored under `key`."""
        with self._lock:
            self._cached.pop(key, None)

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Take the next free moment of `service`; return how many seconds after `now` it is."""
        with self._lock:
            moment = max(now, self._next.get(service, now))
            self._next[service] = moment + interval_s
        return moment - now
