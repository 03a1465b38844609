"""Searches of the MusicBrainz stand-in: Lucene's syntax as far as clients write it.

`field:"phrase"`, `field:(clauses)`, `field:[first TO last]` and `field:word`, joined by AND, OR and
NOT; without an operator one must hold (musicbrainz.org/doc/MusicBrainz_API/Search).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from chart_binder.domain.evidence import ReleaseGroup
from servers.musicbrainz_catalogue import Issue
from servers.musicbrainz_xml import Known

T = TypeVar("T")
Fields = Mapping[str, Sequence[object]]
"""The values of a thing by the names of the fields that are searched; `None` is unknown."""
_TEXTS = frozenset({"recording", "release", "releasegroup", "artist", "comment"})
_TOKEN = re.compile(
    r'\s*(?:(?P<field>\w+):(?=\S)|"(?P<phrase>(?:\\.|[^"\\])*)"|\[(?P<span>[^\]]*)\]'
    r"|(?P<open>\()|(?P<close>\))|(?P<word>(?:\\.|[^\s()\"\[\]:\\])+))"
)


class SyntaxDefectError(ValueError):
    """A query is not in Lucene's syntax, or names a field that there is not."""


def search(query: str, things: Iterable[tuple[Fields, T]]) -> list[tuple[int, T]]:
    """Return what a query finds, with scores from 1 to 100, the best first."""
    test = parse(query)
    answers = ((test(fields), thing) for fields, thing in things)
    found = [(int(100 * one.score) or 1, thing) for one, thing in answers if one.matches]
    return sorted(found, key=lambda pair: -pair[0])


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a fields matches, and how well (0 to 1)."""

    matches: bool
    score: float


Test = Callable[[Fields], Answer]


@dataclass(slots=True)
class _Parser:
    """Reads tokens from left to right."""

    tokens: list[tuple[str, str]]
    place: int = 0

    def query(self, name: str) -> Test:
        """Clauses joined by OR, or by nothing."""
        parts = [self.conjunction(name)]
        while self.place < len(self.tokens) and self._kind() != "close":
            if self.tokens[self.place] == ("word", "OR"):
                self.place += 1
            parts.append(self.conjunction(name))
        return parts[0] if len(parts) == 1 else _any_of(parts)

    def conjunction(self, name: str) -> Test:
        parts = [self.clause(name)]
        while self.place < len(self.tokens) and self.tokens[self.place] == ("word", "AND"):
            self.place += 1
            parts.append(self.clause(name))
        return parts[0] if len(parts) == 1 else _all_of(parts)

    def clause(self, name: str) -> Test:
        if self.place >= len(self.tokens):
            raise SyntaxDefectError("a clause is missing")
        kind, text = self.tokens[self.place]
        self.place += 1
        if (kind, text) == ("word", "NOT"):
            denied = self.clause(name)
            return lambda fields: Answer(not denied(fields).matches, 1.0)
        if kind == "field":
            return self.clause(text)
        if kind == "open":
            inner = self.query(name)
            if self.place >= len(self.tokens) or self._kind() != "close":
                raise SyntaxDefectError("a bracket is not closed")
            self.place += 1
            return inner
        if kind == "close":
            raise SyntaxDefectError("a bracket was not opened")
        return _leaf(name, kind, text)

    def _kind(self) -> str:
        return self.tokens[self.place][0]


def parse(query: str) -> Test:
    """Return the test of a query."""
    tokens: list[tuple[str, str]] = []
    place, query = 0, query.rstrip()
    while place < len(query):
        token = _TOKEN.match(query, place)
        if token is None or token.lastgroup is None:
            raise SyntaxDefectError(f"cannot read {query[place : place + 20]!r}")
        tokens.append((token.lastgroup, token[token.lastgroup]))
        place = token.end()
    parser = _Parser(tokens)
    test = parser.query("")
    if parser.place < len(tokens):
        raise SyntaxDefectError("a bracket was not opened")
    return test


def _all_of(parts: list[Test]) -> Test:
    def test(fields: Fields) -> Answer:
        answers = [part(fields) for part in parts]
        score = sum(one.score for one in answers) / len(answers)
        return Answer(all(one.matches for one in answers), score)

    return test


def _any_of(parts: list[Test]) -> Test:
    def test(fields: Fields) -> Answer:
        answers = [part(fields) for part in parts]
        score = sum(one.score for one in answers if one.matches) / len(answers)
        return Answer(any(one.matches for one in answers), score)

    return test


def _leaf(name: str, kind: str, text: str) -> Test:
    if kind == "span":
        first, _, last = text.partition(" TO ")
        return lambda fields: _any(name, fields, lambda value: _is_between(value, first, last))
    wanted = re.sub(r"\\(.)", r"\1", text)
    if name not in _TEXTS:
        return lambda fields: _any(name, fields, lambda one: one.casefold() == wanted.casefold())
    words = _words(wanted)
    return lambda fields: _any(name, fields, lambda value: _has(words, _words(value)))


def _any(name: str, fields: Fields, fits: Callable[[str], bool]) -> Answer:
    if name not in fields:
        raise SyntaxDefectError(f"no field {name}")
    is_found = any(fits(str(value)) for value in fields[name] if value is not None)
    return Answer(is_found, float(is_found))


def _is_between(value: str, first: str, last: str) -> bool:
    if value.isdigit() and first.isdigit() and last.isdigit():
        return int(first) <= int(value) <= int(last)
    return first <= value <= last  # dates sort as text


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _has(words: list[str], text: list[str]) -> bool:
    places = range(len(text) - len(words) + 1)
    return bool(words) and any(text[at : at + len(words)] == words for at in places)


def recording_fields(known: Known) -> Fields:
    recording, releases = known.recording, [r for g in known.recording.groups for r in g.editions]
    return {
        "rid": [recording.mb_recording_id],
        "recording": [recording.title],
        "artist": [known.artist.name],
        "arid": (known.artist.mb_artist_id or "").split("+"),
        "dur": [recording.length_ms],
        "isrc": recording.isrcs or (),
        "comment": [recording.disambiguation],
        "firstreleasedate": [recording.first_release_date],
        "rgid": [group.mb_rg_id for group in recording.groups],
        "reid": [release.mb_release_id for release in releases],
        "status": [release.standing for release in releases],
        "primarytype": [group.types[0] for group in recording.groups],
        "secondarytype": [kind for group in recording.groups for kind in group.kinds],
        "video": ["true" if known.is_video else "false"],
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


def release_fields(issue: Issue) -> Fields:
    release, group = issue.release, issue.group
    return {
        "reid": [release.mb_release_id],
        "rgid": [group.mb_rg_id],
        "release": [release.title],
        "artist": [release.artist_credit or issue.credited.name],
        "arid": [issue.credited.mb_artist_id],
        "date": [release.when.text or None],
        "country": [release.country],
        "status": [release.standing],
        "primarytype": [group.types[0]],
        "secondarytype": group.kinds,
    }
