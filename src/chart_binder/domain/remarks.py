"""Remarks in titles and comments: the kind of a recording, and the version of its song.

The words are in `title_words`. Different words for a version have the same name: `Spanish version`
and `en español` are `spanish`. `find_meant` selects the recordings that a title may mean.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from chart_binder.domain.title_words import VERSIONS
from chart_binder.domain.titles_and_credits import part_of, without_noise
from chart_binder.domain.vocabulary import fold

KINDS = (
    "live", "remix", "demo", "edit", "acoustic", "mono", "instrumental", "re-recorded",
)  # fmt: skip
"""The kinds of performance or mix that a recording can be."""
_CUTS = {"edit", *(name for name, row in VERSIONS.items() if row.of in {"mix", "cut", "wording"})}
"""Words that tell mixes and cuts of one performance apart."""
_EMPTY: frozenset[str] = frozenset()
_MONO = frozenset({"mono"})


class Remarks(NamedTuple):
    """What title and comment say about a recording; synonyms have the same name."""

    kinds: frozenset[str] = _EMPTY
    words: frozenset[str] = _EMPTY
    versions: frozenset[str] = _EMPTY
    """The words of those remarks in the title that name a version, so not of the title itself."""
    telling: frozenset[str] = _EMPTY
    """The words that distinguish performances, and not only mixes or cuts of one performance."""
    part: str = ""
    """The number of the part of a song; empty if title and comment name none."""

    @property
    def kinds_but_mono(self) -> frozenset[str]:
        """The kinds except mono."""
        return self.kinds - _MONO

    @property
    def kind(self) -> str:
        """These kinds as a text: `live acoustic`; empty for a plain recording."""
        names = (name for name in KINDS if name in self.kinds_but_mono)
        return " ".join("radio edit" if name == "edit" else name for name in names)

    def with_kinds(self, flagged: Iterable[str], denied: Iterable[str]) -> "Remarks":
        """Return a copy with the kinds that flags assert, and without those that they deny."""
        kinds = self.kinds.union(flagged).difference(denied)
        return self._replace(kinds=kinds, words=self.words | kinds)


# Words of the title itself do not count ("Live and Let Die"), only remarks in brackets or behind a
# dash.
_SET_OFF = re.compile(r"[(\[（［]([^)\]）］]+)|\s[-–—]\s((?s:.+))|[-~～〜]([^-~～〜]+)[-~～〜]$")
_STOP = re.compile(r"[,;:/|()\[\]（）［］]|\s[-–—]\s")
_DENIED = re.compile(
    r"\bnon[- ]?(?:live|remix|demo|acoustic|mono)\b"
    r"|\b(?:not|without|isn['’]t|studio (?:version|recording|take))\b[^,;()\[\]]*",
    re.IGNORECASE,
)
# "Live" is a verb too ("Hold On (While We Live)"): in a title it counts as a remark only.
_LIVE_REMARK = re.compile(
    r"^\W*(?:(?:recorded|performed|played|acoustic|unplugged|instrumental|solo|bonus|remastered"
    r"|version|mono|stereo|demo|edit|\d{4})\s+)*live"
    r"(?:\W*$|\s+(?:(?:at|in|from|on|@)\s*\S|with\s+(?!me\b|you\b|us\b|it\b)\S)|\b.*\d)"
    r"|\blive[-\s](?:ver(?:sion)?|recording|take|performance|session|mix|edit|track|lounge|acoustic)s?\b",
    re.IGNORECASE,
)
REMASTER = (
    r"(?:\b(?:19|20)\d\d\s+)?\b(?:digital(?:ly)?\s+)?re-?master(?:ed|ing|s)?\b"
    r"(?:\s+version\b)?(?:\s+(?:in\s+)?(?:19|20)\d\d\b)?(?:\s+version\b)?|リマスター"
)
"""Words for a remaster, with its year."""
_REMASTER = re.compile(REMASTER, re.IGNORECASE)
_REMASTER_YEAR = re.compile(
    r"\b(?:19|20)\d\d\s+(?=(?:(?:digital|mono|stereo)\s+)+re-?master)", re.IGNORECASE
)
_GUESTS = re.compile(r"(?<!\w)(?:feat(?:uring)?|ft)\b[^/]*", re.IGNORECASE)
# The part of a comment about a remaster: who made it, when, for what. Also a year alone.
_NO_OTHER = re.compile(
    rf"(?<!\w)(?:(?!\b(?:recording|take|mix|ver(?:sion)?)\b)[^,;/]){{0,60}}"
    rf"(?:{REMASTER})(?!\s+of\b)[^,;/]*"
    r"|\bmastered for itunes\b|\A\s*(?:19|20)\d\d\s*\Z",
    re.IGNORECASE,
)


@lru_cache(maxsize=4_096)
def remarks_in(title: str | None, comment: str | None) -> Remarks:
    """Return what the remarks say; denied words do not count: `not the live one`."""
    title, comment = ((text or "").replace("‐", "-") for text in (title, comment))
    part, title = part_of(without_noise(title))
    remarks = [*_remarks(title)]
    if not (remarks or comment):
        return Remarks(part=part)
    part = part or part_of(f"- ({comment})")[0]
    comment = _DENIED.sub("", comment)
    words: set[str] = set()
    title_words: set[str] = set()
    for remark in remarks:
        names, is_version = _words_of(_without_remaster(_DENIED.sub("", remark)), is_title=True)
        words |= names
        title_words |= names if is_version else _EMPTY
    words |= _words_of(_without_remaster(_GUESTS.sub(" ", comment)))[0]
    telling = _words_of(_NO_OTHER.sub(" ", _GUESTS.sub(" ", comment)))[0] | title_words
    kinds = words.intersection(KINDS)
    return Remarks(
        frozenset(kinds), frozenset(words), frozenset(title_words), _of_performance(telling), part
    )


def _without_remaster(text: str) -> str:
    return _REMASTER.sub(" ", _REMASTER_YEAR.sub(" ", text))


def set_off(title: str) -> str:
    """Return the remarks of a title: in brackets, behind a dash or between dashes at the end."""
    return " / ".join("".join(groups) for groups in _SET_OFF.findall(title))


def _remarks(title: str) -> Iterator[str]:
    """Yield the remarks after a title, without guests; brackets before it belong to the title."""
    for match in _SET_OFF.finditer(title):
        remark = _GUESTS.sub(" ", "".join(filter(None, match.groups())))
        if match.start() and not remark.isspace():
            yield remark


def words_by_set(words: frozenset[str]) -> dict[str, frozenset[str]]:
    """Return the words by set; `number` and `other` are the sets of words that the table lacks."""
    sets: dict[str, set[str]] = {}
    for word in words:
        row = VERSIONS.get(word)
        name = row.of if row else ("number" if word.isdecimal() else "other")
        if name:
            sets.setdefault(name, set()).add(word)
    return {name: frozenset(members) for name, members in sets.items()}


def _of_performance(words: set[str]) -> frozenset[str]:
    """Return the words without those that tell mixes and cuts of one performance apart."""
    return frozenset(words - _CUTS)


# Names of words.

_UNSPACED = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
_LETTER = rf"[^\W{_UNSPACED}]"
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_NUMBER = re.compile(rf"\b(?:{'|'.join((*_NUMBERS, *_ORDINALS))}|(\d+)(?:st|nd|rd|th))\b")
_DIGITS = {word: str(n) for names in (_NUMBERS, _ORDINALS) for n, word in enumerate(names, 1)}


@cache
def _pattern() -> re.Pattern[str]:
    """Return an expression for any word; its groups are named by rows of the table."""
    whole = "|".join(
        rf"(?P<w{number}>{'|'.join(row.whole)})" for number, row in enumerate(VERSIONS.values())
    )
    parts = "|".join(
        rf"(?P<p{number}>{'|'.join(row.parts)})"
        for number, row in enumerate(VERSIONS.values())
        if row.parts
    )
    word = rf"{_LETTER}+|[{_UNSPACED}]"
    return re.compile(rf"(?<!{_LETTER})(?:{whole})(?!{_LETTER})|{parts}|{word}")


_NAMES = tuple(VERSIONS)


def _words_of(text: str, *, is_title: bool = False) -> tuple[set[str], bool]:
    """Return the words of a remark or comment, and whether any of them names a version."""
    words: set[str] = set()
    is_version = False
    for part in _STOP.split(text) if text.strip() else ():
        is_verb = is_title and not _LIVE_REMARK.search(part)
        folded = fold(part)
        if "take" in folded:
            folded = _NUMBER.sub(lambda number: number[1] or _DIGITS[number[0]], folded)
        for name, word in _named_words(folded):
            if name and not (name == "live" and is_verb and word == "live"):
                is_version = True
                if name != "version":
                    words.add(name)
            else:
                words.add(f"={word}" if word in VERSIONS else word.lstrip("0") or word)
    return words, is_version


def _named_words(folded: str) -> list[tuple[str, str]]:
    """Return pairs of name and word for the words of a part; the name of other words is empty.

    A word that counts only alone or beside a word for a version has no name elsewhere. Words that
    say nothing are skipped.
    """
    pairs = [
        (_NAMES[int(match.lastgroup[1:])] if match.lastgroup else "", match[0])
        for match in _pattern().finditer(folded)
    ]
    pairs = [(name, word) for name, word in pairs if name != "nothing"]
    is_alone = all(name for name, _ in pairs)

    def counts(place: int, name: str) -> bool:
        beside = pairs[max(place - 1, 0) : place + 2]
        return (
            not VERSIONS[name].beside
            or is_alone
            or sum(bool(neighbour) for neighbour, _ in beside) > 1
        )

    return [
        (name if name and counts(place, name) else "", word)
        for place, (name, word) in enumerate(pairs)
    ]


Meant: TypeAlias = tuple[list[int], bool]
"""The places of the recordings that may be meant, and whether the choice between them is open."""
_DEFAULT = frozenset({"album"})
"""What a title may call the plain recording."""
_IN_CREDITS = frozenset({"duet", "solo"})
_SESSIONS = frozenset({"bbc", "peel", "session"})


def find_meant(title: Remarks, described: Sequence[Remarks]) -> Meant:
    """Return the recordings that a title may mean, by its remarks and theirs.

    They are those whose title or comment has all words of the remark, never a plain one beside
    them. If there are none, they are those that share a word with the remark and do not contradict
    it. If there are none either, a title that names only a mix or cut is read as a plain one; for
    any other title every recording may be meant, and the choice is open unless all are plain. A
    title without a remark does not mean a version that another title names.
    """
    if not title.versions:
        return _plain(list(enumerate(described)))
    for words in _readings(title.words):
        if exact := [n for n, remarks in enumerate(described) if words <= remarks.words]:
            of_kind = [n for n in exact if _is_kind(described[n], title)]
            return of_kind or exact, False
    possible = [
        (n, remarks) for n, remarks in enumerate(described) if not _excludes(title, remarks)
    ]
    shared = title.telling or title.words
    if similar := [n for n, remarks in possible if remarks.words & shared]:
        return similar, False
    if not title.telling:
        return _plain(possible or list(enumerate(described)))
    return list(range(len(described))), any(remarks.telling for remarks in described)


def names_other_performance(title: Remarks, described: Sequence[Remarks]) -> bool:
    """Return whether a title names a performance that no recording's remarks name.

    Guests and partners do not count, because MusicBrainz names them in the credit.
    """
    performances = title.versions & title.telling & VERSIONS.keys() - _IN_CREDITS
    return bool(performances) and not any(performances & remarks.words for remarks in described)


def is_cut(remarks: Remarks) -> bool:
    """Return whether a recording is an edit, or its title names a cut or mix."""
    is_named = bool(remarks.versions) and not remarks.versions & remarks.telling
    return remarks.kinds_but_mono == {"edit"} or (is_named and not remarks.kind)


def _plain(numbered: Sequence[tuple[int, Remarks]]) -> Meant:
    """Return the recordings that a title without a remark may mean.

    If every recording has a remark, a mix or cut that a title names may be meant too.
    """
    plain = [(n, remarks) for n, remarks in numbered if not remarks.kind]
    unnamed = [n for n, remarks in plain if not remarks.versions - _DEFAULT]
    if unnamed and any(_has_no_remark(remarks) for _, remarks in plain):
        return unnamed, False
    cuts = [n for n, remarks in plain if remarks.versions - _DEFAULT and is_cut(remarks)]
    if unnamed or cuts:
        return unnamed + cuts, False
    return [n for n, _ in numbered], bool(plain)


def _has_no_remark(remarks: Remarks) -> bool:
    """Return whether neither title nor comment names a version."""
    return not remarks.telling and not (remarks.words & VERSIONS.keys()) - _DEFAULT


def _excludes(first: Remarks, second: Remarks) -> bool:
    """Return whether remarks contradict each other: two languages or takes, mono and stereo."""
    first_sets, second_sets = words_by_set(first.words), words_by_set(second.words)
    shared = first_sets.keys() & second_sets.keys()
    return any(first_sets[name].isdisjoint(second_sets[name]) for name in shared)


def _readings(words: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield the words of a remark, and then with `single` replaced by `edit` or the reverse."""
    yield words
    for name, replacement in (("single", "edit"), ("edit", "single")):
        if name in words:
            yield words - {name} | {replacement}


def _is_kind(remarks: Remarks, title: Remarks) -> bool:
    """Return whether the kinds are equal; for a radio session, `live` makes no difference."""
    differing = remarks.kinds_but_mono ^ title.kinds_but_mono
    return differing <= ({"live"} if title.words & _SESSIONS else _EMPTY)
