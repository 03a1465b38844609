"""Artist credits: whether a credit names an artist, alone or with others."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import accumulate

from chart_binder.domain.dates import FIRST_DAY, Answer
from chart_binder.domain.evidence import Artist, Release, ReleaseGroup
from chart_binder.domain.titles_and_credits import ARTICLE, VARIOUS_NAMES, WORD, parts_of
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS, bare_id, fold, non_blank

_SPELLINGS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th"} | dict.fromkeys("'’`")
)
"""Apostrophes, and letters that Unicode does not decompose into a letter and an accent."""
_AND = re.compile(r"\s*&\s*|\s\+\s|\s(?:und|et)\s")
_ARTICLE_BEHIND = re.compile(r",\s*the\s*$")

_GUESTS = re.compile(r"\s[(\[]?(?:feat(?:uring|\.)?|ft\.?)\s.*", re.IGNORECASE | re.DOTALL)
_MIN_LIKENESS = 0.75
_MAX_COMPARED = 100


@lru_cache(maxsize=8_192)
def is_various_name(name: str) -> bool:
    """Return whether a credit means many artists: `Various Artists`, `V.A.`."""
    return _key(_folded(name)) in _various_keys()


@cache
def _various_keys() -> frozenset[str]:
    return frozenset(_key(_folded(name)) for name in VARIOUS_NAMES)


def is_various(group: ReleaseGroup, editions: Sequence[Release]) -> bool:
    """Return whether its artist ids or credits say that a record is by many artists."""
    if group.artist_ids and VARIOUS_ARTISTS in map(bare_id, group.artist_ids):
        return True
    if group.artist_credit:
        return is_various_name(group.artist_credit)
    names = _first_credits(editions)
    return bool(names) and all(map(is_various_name, names))


def is_by(artists: Sequence[Artist], group: ReleaseGroup, editions: Sequence[Release]) -> Answer:
    """Return whether a record is credited to one of the artists, by id or by name.

    The credits of the record and of its first releases count; a later release may be shared with
    other artists. Return None if there is no credit, if the first releases differ, or if it is not
    certain whether the credited name is the artist's. A guest artist makes no difference.
    """
    if group.artist_ids:
        ids = set(map(bare_id, group.artist_ids))
        if any(artist.mb_artist_id in ids for artist in artists):
            return True
    return is_named([artist.name for artist in artists if artist.name], group, editions)


def is_named(artists: Iterable[str], group: ReleaseGroup, editions: Sequence[Release]) -> Answer:
    """Return whether a record is credited to an artist, known by any of several names."""
    if is_various(group, editions):
        return False
    artist_names = [artist for artist in artists if non_blank(artist)]
    if not artist_names:
        return None
    by_group = None
    if group.artist_credit and (by_group := _names_any(group.artist_credit, tuple(artist_names))):
        return True
    answers = {_names_any(name, tuple(artist_names)) for name in _first_credits(editions)}
    if True in answers:
        return None if False in answers else True
    return False if False in answers or by_group is False else None


def names_on(group: ReleaseGroup, editions: Sequence[Release]) -> set[str]:
    """Return the credit of a record's group, or if it has none, those of its first releases."""
    return {group.artist_credit} if group.artist_credit else _first_credits(editions)


def _first_credits(editions: Sequence[Release]) -> set[str]:
    """Return the credits of the releases that may be the earliest; of all if none is dated."""
    dated = [release for release in editions if release.when.first > FIRST_DAY]
    soonest = min([release.when.last for release in dated], default=FIRST_DAY)
    first = [release for release in dated if release.when.first <= soonest] or editions
    return {credit for release in first if (credit := non_blank(release.artist_credit))}


@lru_cache(maxsize=8_192)
def _names_any(credit: str, artists: tuple[str, ...]) -> Answer:
    leads = [_GUESTS.sub("", artist) or artist for artist in artists]
    answers = {_names(credit, artist) for artist in {*artists, *leads}}
    return next((answer for answer in (True, None) if answer in answers), False)


@lru_cache(maxsize=8_192)
def _names(credit: str, artist: str) -> Answer:
    """Return whether a credit names an artist, alone or among others.

    Case, accents, punctuation, `and` for `&` and a leading `the` make no difference. Return None if
    the name is only part of a longer one (`Beck` in `Jeff Beck`), if the whole credit may be one
    name because each of its parts is one word (`Earth` in `Earth, Wind & Fire`), if the spelling is
    similar (`Ke$ha`, `Kesha`), or if the script differs (`Namie Amuro` may be `安室奈美恵`).
    """
    artist_key = _key(_folded(artist))
    whole = _folded(credit)
    if _key(whole) == artist_key:
        return True
    parts, are_names = parts_of(whole)
    # Compare the text between any two separators, because a name may contain one (`AC/DC`).
    for number, (first, _) in enumerate(parts):
        if any(_key(whole[first:last]) == artist_key for _, last in parts[number:]):
            return True if are_names else None
    credited = [whole, *(whole[first:last] for first, last in parts)]
    answers = {_may_be_respelled(part, artist) for part in credited if part.strip(" ()[]")}
    return None if None in answers else False


def _may_be_respelled(part: str, artist: str) -> Answer:
    """Return None if a name that is spelled differently may be the artist's, else False."""
    ours, theirs = _key(_folded(artist)), _key(part)
    if not _scripts(ours) & _scripts(theirs):
        return None
    if _has_words(part, ours) or _has_words(_folded(artist), theirs):
        return None
    if max(len(ours), len(theirs)) > _MAX_COMPARED:
        return False
    first, second = sorted((ours, theirs))
    alike = SequenceMatcher(None, first, second, autojunk=False)
    # rapidfuzz loads 10 ms slower, and its ratios differ slightly, which would change decisions.
    is_near = alike.real_quick_ratio() >= _MIN_LIKENESS and alike.ratio() >= _MIN_LIKENESS
    return None if is_near else False


@lru_cache(maxsize=8_192)
def _folded(name: str) -> str:
    return fold(name).translate(_SPELLINGS).strip()


@lru_cache(maxsize=16_384)
def _key(folded: str) -> str:
    """Return the letters and digits of a name; all its characters if it has none (`!!!`)."""
    bare = ARTICLE.sub("", _ARTICLE_BEHIND.sub("", folded), count=1)
    bare = _AND.sub(" and ", bare)
    return "".join(WORD.findall(bare)) or "".join(folded.split())


def _has_words(text: str, key: str) -> bool:
    """Return whether some consecutive words of a text, written together, are `key`."""
    words = WORD.findall(_AND.sub(" and ", text))
    together = "".join(words)
    edges = frozenset(accumulate(map(len, words), initial=0))
    start = together.find(key) if key else -1
    while start >= 0:
        if start in edges and start + len(key) in edges:
            return True
        start = together.find(key, start + 1)
    return False


@lru_cache(maxsize=8_192)
def _scripts(key: str) -> frozenset[str]:
    """Return the scripts of a name: the first word of each letter's Unicode name."""
    return frozenset(unicodedata.name(letter, "?").split()[0] for letter in key if letter.isalpha())
