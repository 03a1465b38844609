"""Kept answers and paced requests of one process, for a caller without a store."""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from chart_binder.domain.evidence import Release
from chart_binder.domain.vocabulary import MBID, ReleaseGroupId, ReleaseId
from chart_binder.musicbrainz import responses
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.source import partial_date, release_groups
from chart_binder.react.sanitize import one_line
from chart_binder.react.tools import Observation, ToolError

_HOME: Final = "https://musicbrainz.org"
_LONGEST_NAME: Final = 120
_SPARE: Final = 25  # characters kept for the last line


def nothing_found(wanted: str) -> Observation:
    """Say that MusicBrainz was asked, and knows no such thing."""
    return Observation(one_line(f"MusicBrainz knows no {wanted}."))


def groups_found(groups: Sequence[responses.ReleaseGroup], max_chars: int) -> Observation:
    """Show release groups that a search found, whole entries only; each has its address."""
    lines = ["At MusicBrainz:"]
    sources: list[str] = []
    for number, each in enumerate(groups, start=1):
        entry = f"{number}. {_titled(each)}{_first(each)}\n   {_address(each)}"
        if sum(map(len, lines)) + len(lines) + len(entry) + _SPARE > max_chars:
            lines.append(f"({len(groups) - number + 1} more not shown)")
            break
        lines.append(entry)
        sources.append(_address(each))
    return Observation("\n".join(lines)[:max_chars], tuple(sources))


def describe_group(
    group: responses.ReleaseGroup, releases: Sequence[responses.Release], count: int, max_chars: int
) -> Observation:
    """Show a group with its first releases; `count` is how many it has."""
    head = [
        f"Release group {_titled(group)}{_first(group)}",
        f"Address: {_address(group)}",
        f"Releases: {count}" if count else "No release is listed.",
    ]
    dated = sorted(_as_evidence(releases), key=_by_date)
    return Observation(_bounded(head, map(_line, dated), count, max_chars), (_address(group),))


def describe_release(release: responses.Release, max_chars: int) -> Observation:
    """Show a release with its group and its tracks."""
    (known,) = _as_evidence((release,))
    address = f"{_HOME}/release/{release.id}"
    home = f"{_titled(release.release_group)}{_first(release.release_group)}"
    lines = [
        f'Release "{_name(release.title)}"{_by(release.artist_credit_phrase)}',
        f"Address: {address}",
        _line(known),
        f"In release group {home}, id {release.release_group.id}",
    ]
    tracks = "; ".join(_tracks(release))
    if tracks:
        lines.append(f"Tracks: {tracks}")
    text = "\n".join(lines)
    return Observation(text if len(text) <= max_chars else f"{text[: max_chars - 1]}…", (address,))


def _as_evidence(releases: Sequence[responses.Release]) -> tuple[Release, ...]:
    return tuple(each for known in release_groups(releases, None) for each in known.editions)


def _bounded(head: Sequence[str], lines: Iterable[str], count: int, max_chars: int) -> str:
    told = list(head)
    room = max_chars - sum(len(line) + 1 for line in head) - _SPARE
    for line in lines:
        if len(line) + 1 > room:
            break
        told.append(line)
        room -= len(line) + 1
    if (more := count - (len(told) - len(head))) > 0:
        told.append(f"({more} more not shown)")
    return "\n".join(told)[:max_chars]


def _by_date(release: Release) -> tuple[bool, int, str]:
    return not release.when.is_known, release.when.last, release.mb_release_id


def _titled(group: responses.ReleaseGroup) -> str:
    kinds = (group.primary_type, *group.secondary_type_list)
    kind = " + ".join(filter(None, kinds)) or "type unknown"
    remark = f" ({_name(group.disambiguation)})" if group.disambiguation else ""
    return (
        f'"{_name(group.title)}"{remark} ({_name(kind)}{_by(group.artist_credit_phrase, ", by")})'
    )


def _by(credit: str | None, joint: str = " by") -> str:
    return f"{joint} {_name(credit)}" if credit else ""


def _first(group: responses.ReleaseGroup) -> str:
    """Say MusicBrainz' own first date, for which bootlegs and promos count."""
    first = partial_date(group.first_release_date)
    return f", first release of any status {first if first.is_known else 'unknown'}"


def _line(release: Release) -> str:
    imprint = " ".join(filter(None, (release.label, release.catno)))
    parts = (
        str(release.when) if release.when.is_known else "date unknown",
        release.place or "country unknown",
        release.standing or "status unknown",
        *filter(None, (imprint, release.format, release.disambiguation)),
        f"id {release.mb_release_id}",
    )
    return f"- {', '.join(map(_name, parts))}"


def _tracks(release: responses.Release) -> Iterator[str]:
    for medium in release.medium_list:
        for track in medium.track_list:
            title = track.title or (track.recording.title if track.recording else None)
            if title:
                yield _name(title)


def _address(group: responses.ReleaseGroup) -> str:
    return f"{_HOME}/release-group/{group.id}"


def _name(text: str | None) -> str:
    return one_line(text or "", _LONGEST_NAME)


_NAMED: Final = re.compile(rf"(?:([a-z]+(?:[-_ ]group)?)[/:= ]+)?({MBID.pattern})", re.IGNORECASE)
_KINDS: Final = (_GROUP := "release-group", "release")
_OTHERS: Final = frozenset({"recording", "artist", "work", "label", "track", "url", "area"})
_LONGEST: Final = 200
"""Of a title or name: a longer one says no more and may not fit into a request."""


def look_up(client: Client, query: str, artist: str, max_chars: int) -> Observation:
    """Return what MusicBrainz knows about a record: an id or address of one, or words for it.

    Raises `ToolError` for what cannot be looked up, `LookupFailedError` where MusicBrainz could
    not be asked.
    """
    if named := _NAMED.search(query):
        kind = (named[1] or "").lower().replace("_", "-").replace(" ", "-")
        return _by_id(client, kind, named[2].lower(), max_chars)
    title, by = (_words(text) for text in (query, artist))
    if not title:
        raise ToolError("Give a title, or the id of a release group or of a release.")
    found = client.search_groups(title, by)
    if not found:
        return nothing_found(f'release group like "{title}"' + (f' by "{by}"' if by else ""))
    if len(found) == 1:
        return _group(client, found[0].id, max_chars) or groups_found(found, max_chars)
    return groups_found(found, max_chars)


def _words(text: str) -> str:
    return " ".join(text.split()).strip("\"'“”")[:_LONGEST]


def _by_id(client: Client, kind: str, identifier: str, max_chars: int) -> Observation:
    if kind in _OTHERS:
        raise ToolError(f"Release groups and releases can be looked up, but no {kind}.")
    asked = (kind,) if kind in _KINDS else _KINDS
    for each in asked:
        if each == _GROUP:
            seen = _group(client, ReleaseGroupId(identifier), max_chars)
        else:
            seen = _release(client, ReleaseId(identifier), max_chars)
        if seen:
            return seen
    return nothing_found(f"{' and no '.join(asked)} with the id {identifier}")


def _group(client: Client, identifier: ReleaseGroupId, max_chars: int) -> Observation | None:
    group = client.release_group(identifier)
    if group is None:
        return None
    releases, count = client.releases_in(group.id)
    return describe_group(group, releases, count, max_chars)


def _release(client: Client, identifier: ReleaseId, max_chars: int) -> Observation | None:
    release = client.release(identifier)
    return describe_release(release, max_chars) if release else None


_MOST_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer as it was received; `fetched_at` is in seconds since the epoch."""

    body: bytes
    fetched_at: float


class Memory:
    """What `ports.AnswerCache` and `ports.RateLimiter` ask for; threads may share it.

    Of more than a thousand answers the oldest is forgotten.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> Kept | None:
        """Return the answer kept under `key`."""
        return self._kept.get(key)

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Keep `body` under `key`, in place of an earlier one."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = Kept(body, fetched_at)
            if len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]

    def forget(self, key: str) -> None:
        """Keep nothing under `key` any more."""
        with self._lock:
            self._kept.pop(key, None)

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Take the next free moment of `service`; return how many seconds after `now` it is."""
        with self._lock:
            moment = max(now, self._next.get(service, now))
            self._next[service] = moment + interval_s
        return moment - now


@cache
def process_memory() -> Memory:
    """Return the one that all of this process share, for they share the rate limit."""
    return Memory()
