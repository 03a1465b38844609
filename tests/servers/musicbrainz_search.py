"""Searches of the MusicBrainz stand-in: Lucene's syntax as far as the project writes it.

`field:"words"`, `field:(any of these)`, `field:[first TO last]` and `field:word`, joined by AND,
else by blanks, of which one must hold (musicbrainz.org/doc/MusicBrainz_API/Search).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from chart_binder.domain.evidence import ReleaseGroup
from servers.musicbrainz_xml import Known

T = TypeVar("T")
Fields = Mapping[str, Sequence[object]]
"""The values of a thing by the names of the fields that are searched; `None` is unknown."""
_TEXTS = frozenset({"recording", "release", "releasegroup", "artist"})
_CLAUSE = re.compile(
    r'(\w+):(?:"((?:\\.|[^"\\])*)"|\(((?:\\.|[^)\\])*)\)|\[(\S+) TO (\S+)\]|([^\s()"\[]+))'
)


class SyntaxDefectError(ValueError):
    """A query is not in Lucene's syntax, or names a field that there is not."""


def search(query: str, things: Iterable[tuple[Fields, T]]) -> list[tuple[int, T]]:
    """Return what a query finds, with scores from 1 to 100, the best first."""
    clauses = _CLAUSE.findall(query)
    joined = {part.strip() for part in _CLAUSE.sub("\0", query).split("\0")[1:-1]}
    if not clauses or not joined <= {"AND", ""} or len(joined) > 1:
        raise SyntaxDefectError(query)
    are_all_wanted = joined == {"AND"}
    found = []
    for fields, thing in things:
        scores = [_score(clause, fields) for clause in clauses]
        if min(scores) if are_all_wanted else max(scores):
            found.append((sum(scores) // len(scores) or 1, thing))
    return sorted(found, key=lambda pair: -pair[0])


def _score(clause: tuple[str, ...], fields: Fields) -> int:
    name, phrase, words, first, last, word = clause
    if name not in fields:
        raise SyntaxDefectError(f"no field {name}")
    values = [str(value) for value in fields[name] if value is not None]
    if first:
        return 100 * any(_is_between(value, first, last) for value in values)
    wanted = re.sub(r"\\(.)", r"\1", phrase or words or word)
    if name not in _TEXTS:
        return 100 * any(value.casefold() == wanted.casefold() for value in values)
    best = max((likeness(wanted, value) for value in values), default=0)
    return best if words or best == 100 else 0


def _is_between(value: str, first: str, last: str) -> bool:
    if value.isdigit() and first.isdigit() and last.isdigit():
        return int(first) <= int(value) <= int(last)
    return first <= value <= last  # dates sort as text


def likeness(wanted: str, text: str) -> int:
    """The share of the wanted words that stand in a text, in per cent."""
    words = re.findall(r"\w+", wanted.casefold())
    there = set(re.findall(r"\w+", text.casefold()))
    return 100 * sum(word in there for word in words) // max(len(words), 1)


def recording_fields(known: Known) -> Fields:
    recording, releases = known.recording, [r for g in known.recording.groups for r in g.editions]
    return {
        "rid": [recording.mb_recording_id],
        "recording": [recording.title],
        "artist": [known.artist.name],
        "arid": [known.artist.mb_artist_id],
        "dur": [recording.length_ms],
        "isrc": recording.isrcs or (),
        "comment": [recording.disambiguation],
        "firstreleasedate": [recording.first_release_date],
        "rgid": [group.mb_rg_id for group in recording.groups],
        "reid": [release.mb_release_id for release in releases],
        "status": [release.standing for release in releases],
        "primarytype": [group.types[0] for group in recording.groups],
        "secondarytype": [kind for group in recording.groups for kind in group.kinds],
        "video": ["false"],
    }


def group_fields(known: Known, group: ReleaseGroup) -> Fields:
    return {
        "rgid": [group.mb_rg_id],
        "releasegroup": [group.title],
        "artist": [group.artist_credit or known.artist.name],
        "arid": [known.artist.mb_artist_id],
        "firstreleasedate": [group.first_release_date],
        "reid": [release.mb_release_id for release in group.editions],
        "status": [release.standing for release in group.editions],
        "primarytype": [group.types[0]],
        "secondarytype": group.kinds,
    }
