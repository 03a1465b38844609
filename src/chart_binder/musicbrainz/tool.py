"""The tool `musicbrainz`: a model looks up release groups and releases by title or id."""

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from chart_binder.domain.vocabulary import MBID, ReleaseGroupId, ReleaseId
from chart_binder.errors import CanonError
from chart_binder.react.sanitize import one_line
from chart_binder.react.tools import SAYS_NOTHING, Observation, Tool, ToolError

if TYPE_CHECKING:
    from chart_binder.config import LLMConfig
    from chart_binder.domain.evidence import Release
    from chart_binder.musicbrainz import web_service as ws
    from chart_binder.musicbrainz.client import Client
    from chart_binder.musicbrainz.source import MusicBrainzSource

Open: TypeAlias = Callable[[], AbstractContextManager["Client"]]
"""Opens MusicBrainz for one look-up; a failure is a `CanonError`."""

_SITE: Final = "https://musicbrainz.org"
_MAX_NAME: Final = 120
_LAST_LINE: Final = 25
"""Characters reserved for the last line, which counts what is not shown."""
_ID_WITH_KIND: Final = re.compile(
    rf"(?:([a-z]+(?:[-_ ]group)?)[/:= ]+)?({MBID.pattern})", re.IGNORECASE
)
_KINDS: Final = (_GROUP := "release-group", "release")
_OTHER_KINDS: Final = frozenset({"recording", "artist", "work", "label", "track", "url", "area"})
_MAX_SEARCHED: Final = 200
"""Longer titles and names may not fit into a request."""
_MAX_CACHED: Final = 1_000


def musicbrainz(config: "LLMConfig", open_client: Open | None = None) -> Tool:
    """Return the tool; `open_client` opens the client, by default one of the public service.

    That one caches in memory and sends one request a second for this process.
    """
    opened = open_client or (lambda: nullcontext(_public_service().client()))

    def musicbrainz(query: str, artist: str = "") -> Observation:
        """Look a record up at MusicBrainz: query is its title, or an id. Returns dates and ids."""
        try:
            with opened() as client:
                return _look_up(client, query, artist, config.fetch.max_chars)
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


def _look_up(client: "Client", query: str, artist: str, max_chars: int) -> Observation:
    """Return what MusicBrainz knows of a record, by its id, its address or words of its title.

    Raises `ToolError` for what cannot be looked up, `LookupFailedError` if MusicBrainz could not be
    asked.
    """
    if named := _ID_WITH_KIND.search(query):
        kind = (named[1] or "").lower().replace("_", "-").replace(" ", "-")
        return _by_id(client, kind, named[2].lower(), max_chars)
    title, by = (" ".join(t.split()).strip("\"'“”")[:_MAX_SEARCHED] for t in (query, artist))
    if not title:
        raise ToolError("Give a title, or the id of a release group or of a release.")
    found = client.search_groups(title, by)
    if not found:
        return _nothing_found(f'release group like "{title}"' + (f' by "{by}"' if by else ""))
    if len(found) == 1:
        return _group(client, found[0].id, max_chars) or _list_groups(found, max_chars)
    return _list_groups(found, max_chars)


def _by_id(client: "Client", kind: str, identifier: str, max_chars: int) -> Observation:
    if kind in _OTHER_KINDS:
        raise ToolError(f"Release groups and releases can be looked up, but no {kind}.")
    kinds = (kind,) if kind in _KINDS else _KINDS
    for each in kinds:
        if each == _GROUP:
            found = _group(client, ReleaseGroupId(identifier), max_chars)
        else:
            release = client.release(ReleaseId(identifier))
            found = _describe_release(release, max_chars) if release else None
        if found:
            return found
    return _nothing_found(f"{' and no '.join(kinds)} with the id {identifier}")


def _nothing_found(wanted: str) -> Observation:
    return Observation(one_line(f"MusicBrainz knows no {wanted}."))


def _list_groups(groups: Sequence["ws.ReleaseGroup"], max_chars: int) -> Observation:
    """List release groups with their addresses."""
    sources = [_group_address(each) for each in groups]
    entries = (
        f"{number}. {_group_title(each)}\n   {address}"
        for number, (each, address) in enumerate(zip(groups, sources, strict=True), start=1)
    )
    text, shown = _listed(["At MusicBrainz:"], entries, len(groups), max_chars)
    return Observation(text, tuple(sources[:shown]))


def _group(client: "Client", identifier: ReleaseGroupId, max_chars: int) -> Observation | None:
    """Describe a group with its first releases; `None` if there is no such group."""
    group = client.release_group(identifier)
    if group is None:
        return None
    releases, count = client.releases_in(group.id)
    lines = [
        f"Release group {_group_title(group)}",
        f"Address: {_group_address(group)}",
        f"Releases: {count}" if count else "No release is listed.",
    ]
    known = sorted(_as_evidence(releases), key=lambda one: (one.when.last, one.mb_release_id))
    text, _ = _listed(lines, map(_release_line, known), count, max_chars)
    return Observation(text, (_group_address(group),))


def _listed(
    lines: list[str], entries: Iterable[str], count: int, max_chars: int
) -> tuple[str, int]:
    """Return the lines with as many whole entries as fit, and how many; the rest is counted."""
    room = max_chars - sum(len(line) + 1 for line in lines) - _LAST_LINE
    shown = 0
    for entry in entries:
        if len(entry) > room:
            break
        room -= len(entry) + 1
        lines.append(entry)
        shown += 1
    if count > shown:
        lines.append(f"({count - shown} more not shown)")
    return "\n".join(lines)[:max_chars], shown


def _describe_release(release: "ws.Release", max_chars: int) -> Observation:
    (known,) = _as_evidence((release,))
    address = f"{_SITE}/release/{release.id}"
    lines = [
        f'Release "{_name(release.title)}"{_by(release.artist_credit_phrase)}',
        f"Address: {address}",
        _release_line(known),
        f"In release group {_group_title(release.release_group)}, id {release.release_group.id}",
    ]
    tracks = (track for medium in release.medium_list for track in medium.track_list)
    titles = (one.title or (one.recording.title if one.recording else None) for one in tracks)
    if named := "; ".join(_name(title) for title in titles if title):
        lines.append(f"Tracks: {named}")
    text = "\n".join(lines)
    return Observation(text if len(text) <= max_chars else f"{text[: max_chars - 1]}…", (address,))


def _as_evidence(releases: Iterable["ws.Release"]) -> tuple["Release", ...]:
    from chart_binder.musicbrainz.source import release_groups

    return tuple(each for known in release_groups(releases, None) for each in known.editions)


def _group_title(group: "ws.ReleaseGroup") -> str:
    """Return title, types, artist and MusicBrainz' own first date, which counts bootlegs too."""
    from chart_binder.musicbrainz.source import partial_date

    types = " + ".join(filter(None, (group.primary_type, *group.secondary_type_list)))
    remark = f" ({_name(group.disambiguation)})" if group.disambiguation else ""
    by = _by(group.artist_credit_phrase, ", by")
    first = partial_date(group.first_release_date)
    when = first if first.is_known else "unknown"
    return (
        f'"{_name(group.title)}"{remark} ({_name(types or "type unknown")}{by}),'
        f" first release of any status {when}"
    )


def _group_address(group: "ws.ReleaseGroup") -> str:
    return f"{_SITE}/release-group/{group.id}"


def _by(credit: str | None, joint: str = " by") -> str:
    return f"{joint} {_name(credit)}" if credit else ""


def _release_line(release: "Release") -> str:
    imprint = " ".join(filter(None, (release.label, release.catno)))
    parts = (
        str(release.when) if release.when.is_known else "date unknown",
        release.place or "country unknown",
        release.standing or "status unknown",
        *filter(None, (imprint, release.format, release.disambiguation)),
        f"id {release.mb_release_id}",
    )
    return f"- {', '.join(map(_name, parts))}"


def _name(text: str | None) -> str:
    return one_line(text or "", _MAX_NAME)


@dataclass(frozen=True, slots=True)
class _Cached:
    body: bytes
    fetched_at: float


class MemoryCache:
    """An `AnswerCache` and `RateLimiter` in memory, for a caller without a store.

    Threads may share it. Of more than a thousand responses the oldest is deleted.
    """

    def __init__(self) -> None:
        self._cached: dict[str, _Cached] = {}
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> _Cached | None:
        """Return the response stored under `key`."""
        return self._cached.get(key)

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Store `body` under `key`, replacing an earlier one."""
        with self._lock:
            self._cached.pop(key, None)
            self._cached[key] = _Cached(body, fetched_at)
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
