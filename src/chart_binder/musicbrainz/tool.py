"""The tool `musicbrainz`: a model looks up recordings, releases, release groups and relations."""

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
from chart_binder.react.tools import SAYS_NOTHING, Tool, ToolError

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
"""Characters reserved for the last line, which counts what is not shown."""
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
"""Longer titles and names may not fit into a request."""
_MAX_CACHED: Final = 1_000
_MAX_WORKS: Final = 2
_MAX_ISRCS: Final = 2


def musicbrainz(config: "LLMConfig", open_client: Open | None = None) -> Tool:
    """Return the tool; `open_client` is by default of the public service, cached in memory."""
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
        words, named = (" ".join(text.split())[:_MAX_SEARCHED] for text in (query, artist))
        try:
            with opened() as client:
                asked = _Asked(client, config.fetch.max_chars, what, words, named, group)
                return _LOOK_UPS[what](asked)
        except CanonError as error:
            raise ToolError(f"The look-up at MusicBrainz failed. {SAYS_NOTHING}") from error

    return Tool.of(musicbrainz)


@cache
def _public_service() -> "MusicBrainzSource":
    """Return the public service, which all of this process share, as they share the rate limit."""
    from chart_binder.config import MusicBrainzConfig
    from chart_binder.musicbrainz.source import connect

    memory = MemoryCache()
    return connect(MusicBrainzConfig(), memory, memory)


_Entry: TypeAlias = tuple[str, str]
"""A line of a list, with the address of what it is about, if that may be cited."""


@dataclass(frozen=True, slots=True)
class _Asked:
    client: "Client"
    max_chars: int
    what: What
    query: str
    artist: str
    group: str

    @property
    def title(self) -> str:
        """The title, without an id and without quotation marks around it."""
        return _unquoted(_ID_WITH_KIND.sub("", self.query))

    @property
    def artist_named(self) -> str:
        found = _ID_WITH_KIND.search(self.artist)
        return found[2].lower() if found else _unquoted(self.artist)

    def show(
        self, lines: Sequence[str], entries: Iterable[_Entry] = (), count: int = 0, of: str = ""
    ) -> Observation:
        """Return the lines with as many whole entries as fit of `count`; `of` is their address.

        What is listed without an address of its own is said by `of`.
        """
        known, shown = list(entries), 0
        text = [*lines[:1], *([f"Address: {of}"] if of else []), *lines[1:]]
        room = self.max_chars - sum(len(line) + 1 for line in text) - _LAST_LINE
        while shown < len(known) and len(known[shown][0]) <= room:
            text.append(known[shown][0])
            room -= len(text[-1]) + 1
            shown += 1
        if (left := (count or len(known)) - shown) > 0:
            text.append(f"({left} more not shown)")
        content = "\n".join(text)[: self.max_chars]
        listed = dict.fromkeys(address for _, address in known[:shown] if address)
        documents = [
            Document(address, text=entry, is_fetched=True)
            for entry, address in known[:shown]
            if address and not of
        ]
        if of:
            aliases = tuple(address for address in listed if address != of)
            documents = [Document(of, lines[0], text=content, is_fetched=True, aliases=aliases)]
        sources = tuple(dict.fromkeys((*filter(None, [of]), *listed)))
        return Observation(content, sources, documents=tuple(documents))


def _unquoted(text: str) -> str:
    return text.strip().strip("\"'“”")


def _search(asked: _Asked) -> Observation:
    """Search by title and artist, or show what an id or address names."""
    if named := _ID_WITH_KIND.search(asked.query):
        kind = (named[1] or "").lower().replace("_", "-").replace(" ", "-")
        return _by_id(asked, kind, named[2].lower())
    if not asked.title:
        raise ToolError("Give a title, or the id of a release group, release or recording.")
    entity = _ENTITY[asked.what]
    found = asked.client.search_by_title(entity, asked.title, asked.artist_named)
    groups = found.release_group_list or ()
    if len(groups) == 1 and (shown := _group(asked, groups[0].id)):
        return shown
    entries = [
        *starmap(_numbered_group, enumerate(groups, start=1)),
        *map(_release_entry, _by_date(found.release_list or ())),
        *map(_recording_entry, found.recording_list or ()),
    ]
    if not entries:
        by = f' by "{asked.artist_named}"' if asked.artist_named else ""
        return _nothing_found(f'{entity.replace("-", " ")} like "{asked.title}"{by}')
    return asked.show(["At MusicBrainz:"], entries)


def _numbered_group(number: int, group: "ws.ReleaseGroup") -> _Entry:
    address = _address("release-group", group.id)  # below it, as a search lists pages
    return f"{number}. {_group_title(group)}\n   {address}", address


def _by_id(asked: _Asked, kind: str, identifier: str) -> Observation:
    """Show what an id names; of an id without a kind, what was asked for is tried first."""
    if kind in _OTHER_KINDS:
        raise ToolError(f"Release groups, releases and recordings can be looked up, but no {kind}.")
    first = _ENTITY[asked.what]
    kinds = (kind,) if kind in _BY_ID else sorted(_BY_ID, key=lambda each: each != first)
    for each in kinds:
        if found := _BY_ID[each](asked, identifier):
            return found
    return _nothing_found(f"{', no '.join(kinds)} with the id {identifier}")


def _nothing_found(wanted: str) -> Observation:
    return Observation(one_line(f"MusicBrainz knows no {wanted}."))


def _group(asked: _Asked, identifier: str) -> Observation | None:
    group = asked.client.release_group(ReleaseGroupId(identifier))
    if group is None:
        return None
    releases, count = asked.client.first_releases_of("release-group", group.id)
    lines = [
        f"Release group {_group_title(group)}",
        f"Releases: {count}" if count else "No release is listed.",
    ]
    entries = ((_release_line(one), "") for one in _by_date(releases))
    return asked.show(lines, entries, count, of=_address("release-group", group.id))


def _release(asked: _Asked, identifier: str) -> Observation | None:
    release = asked.client.release(ReleaseId(identifier))
    if release is None:
        return None
    group = release.release_group
    lines = [
        f'Release "{_name(release.title)}"{_by(release.artist_credit_phrase)}',
        _release_line(release),
        f"In release group {_group_title(group)}, release-group id {group.id}",
    ]
    tracks = (track for medium in release.medium_list for track in medium.track_list)
    titles = (one.title or (one.recording.title if one.recording else None) for one in tracks)
    if named := "; ".join(_name(title) for title in titles if title):
        lines.append(f"Tracks: {named}")
    return asked.show(lines, of=_address("release", release.id))


def _recording(asked: _Asked, identifier: str) -> Observation | None:
    recording = asked.client.recording(RecordingId(identifier))
    if recording is None:
        return None
    releases, count = asked.client.first_releases_of("recording", recording.id)
    read = f", {len(releases)} of them read" if count > len(releases) else ""
    lines = [
        f"Recording {_recording_title(recording)}",
        f"Releases with it: {count}{read}. Its groups:",
    ]
    return asked.show(lines, _appearances(releases), of=_address("recording", recording.id))


def _with_title(asked: _Asked) -> Observation:
    named = _ID_WITH_KIND.search(asked.group) or _ID_WITH_KIND.search(asked.query)
    if not (named and asked.title):
        raise ToolError(
            "with_title takes the title of a track as query, and the id of a release group as"
            " group."
        )
    group = asked.client.release_group(ReleaseGroupId(named[2].lower()))
    if group is None:
        return _nothing_found(f"release-group with the id {named[2].lower()}")
    releases, count = asked.client.releases_with(group.id)
    entries = [
        (f"{_release_line(one)}, with {_recording_title(each)}", _address("recording", each.id))
        for one in _by_date(releases)
        for each in _tracks_called(one, asked.title)
    ]
    lines = [
        f"Release group {_group_title(group)}",
        f'Releases: {count}, {len(releases)} of them read. With "{_name(asked.title)}":',
    ]
    return asked.show(lines, entries or [("None.", "")], of=_address("release-group", group.id))


def _of_years(asked: _Asked) -> Observation:
    years = _YEARS.fullmatch(_unquoted(asked.query))
    if not (years and asked.artist_named):
        raise ToolError(
            "of_years takes years such as 1974-1976 as query, and the artist's name or id."
        )
    first, last = sorted((int(years[1]), int(years[2] or years[1])))
    groups, count = asked.client.groups_of_years(asked.artist_named, first, last)
    by = f"by {asked.artist_named} from {first} to {last}"
    if not groups:
        return _nothing_found(f"official release group {by}")
    ordered = sorted(groups, key=lambda one: (one.first_release_date or "", one.id))
    return asked.show([f"Release groups {by}: {count}"], map(_group_entry, ordered), count)


def _relations(asked: _Asked) -> Observation:
    named = _ID_WITH_KIND.search(asked.query)
    if named is None:
        raise ToolError("relations takes a recording's id as query; what = recordings finds one.")
    recording = asked.client.relations_of(RecordingId(named[2].lower()))
    if recording is None:
        return _nothing_found(f"recording with the id {named[2].lower()}")
    relations = recording.recording_relation_list
    entries = [_relation_entry(each, each.recording) for each in relations if each.recording]
    for work in [each.work for each in recording.work_relation_list if each.work][:_MAX_WORKS]:
        found, count = asked.client.recordings_of_work(work.id)
        head = f'Work "{_name(work.title)}": {count} recordings, {len(found)} of them read, first'
        others = [one for one in found if one.id != recording.id]
        others.sort(key=lambda one: (one.first_release_date or "9", one.id))
        entries += ((f"{head}:", ""), *map(_recording_entry, others))
    none = [("No relation to another recording or to a work is listed.", "")]
    lines = [f"Recording {_recording_title(recording)}"]
    return asked.show(lines, entries or none, of=_address("recording", recording.id))


_BY_ID: Final[Mapping[str, Callable[[_Asked, str], Observation | None]]] = {
    "release-group": _group,
    "release": _release,
    "recording": _recording,
}
_LOOK_UPS: Final[Mapping[What, Callable[[_Asked], Observation]]] = {
    **dict.fromkeys(_ENTITY, _search),
    "with_title": _with_title,
    "of_years": _of_years,
    "relations": _relations,
}


# Lines.


def _group_entry(group: "ws.ReleaseGroup") -> _Entry:
    text = f"- {_group_title(group)}, release-group id {group.id}"
    return text, _address("release-group", group.id)


def _group_title(group: "ws.ReleaseGroup") -> str:
    """Return title, types, artist and MusicBrainz' own first date, which counts bootlegs too."""
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


def _relation_entry(relation: "ws.Relation", other: "ws.Recording") -> _Entry:
    kind = _name(relation.type or "related")
    said = f"has the {kind}" if relation.direction == "backward" else f"{kind} of"
    return f"- {said} {_recording_title(other)}", _address("recording", other.id)


def _release_line(release: "ws.Release") -> str:
    (known,) = _groups_of((release,))[0].editions
    imprint = " ".join(filter(None, (known.label, known.catno)))
    parts = (
        str(known.when) if known.when.is_known else "date unknown",
        known.place or "country unknown",
        known.standing or "status unknown",
        *filter(None, (imprint, known.format, known.disambiguation)),
        f"id {known.mb_release_id}",
    )
    return f"- {', '.join(map(_name, parts))}"


def _release_entry(release: "ws.Release") -> _Entry:
    group = release.release_group
    title = f'"{_name(release.title)}"{_by(release.artist_credit_phrase)}'
    kind = _name(group.primary_type or "type unknown")
    line = f"{_release_line(release)}: {title} ({kind}, release-group id {group.id})"
    return line, _address("release", release.id)


def _by_date(releases: Iterable["ws.Release"]) -> list["ws.Release"]:
    from chart_binder.musicbrainz.web_service import partial_date

    return sorted(releases, key=lambda one: (partial_date(one.date).last, one.id))


def _groups_of(releases: Iterable["ws.Release"]) -> tuple["ReleaseGroup", ...]:
    from chart_binder.musicbrainz.evidence import release_groups

    return release_groups(releases, None)


def _appearances(releases: Iterable["ws.Release"]) -> Iterator[_Entry]:
    """Yield the groups of a recording's releases, the one with the earliest official one first."""
    found = []
    for group in _groups_of(releases):
        official = [one.when for one in group.editions if one.is_official]
        first = min(official, key=lambda when: (when.last, when.first), default=None)
        found.append((first.last if first else sys.maxsize, group, first))
    for _, group, first in sorted(found, key=lambda row: (row[0], row[1].mb_rg_id)):
        types = " + ".join(filter(None, (group.types[0], *group.kinds))) or "type unknown"
        date = "no official release" if first is None else f"official {first}"
        count = counted(len(group.editions), "release")
        by = _by(group.artist_credit, ", by")
        text = f'- {date}, "{_name(group.title)}" ({_name(types)}{by}), {count}'
        address = _address("release-group", group.mb_rg_id)
        yield f"{text}, release-group id {group.mb_rg_id}", address


def _tracks_called(release: "ws.Release", title: str) -> Iterator["ws.Recording"]:
    from chart_binder.musicbrainz.matching import same_title

    for track in release.tracks:
        if (known := track.recording) and same_title(track.title or known.title or "", title):
            yield known


def _by(credit: str | None, joint: str = " by") -> str:
    return f"{joint} {_name(credit)}" if credit else ""


def _remark(comment: str | None) -> str:
    return f" ({_name(comment)})" if comment else ""


def _name(text: str | None) -> str:
    return one_line(text or "", _MAX_NAME)


class MemoryCache:
    """An `AnswerCache` and `RateLimiter` in memory, of a thousand responses, for threads."""

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
