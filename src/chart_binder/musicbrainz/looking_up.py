"""A record is looked up by id or by words, for a model that has only what it was told."""

import re
from typing import Final

from chart_binder.domain.ids import MBID, ReleaseGroupId, ReleaseId
from chart_binder.musicbrainz.told import describe_group, describe_release, groups_found, nothing_found
from chart_binder.musicbrainz.client import Client
from chart_binder.react.tools import Observation, ToolError

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
