"""Titles and names are alike when only spelling sets them apart."""

import re
import unicodedata
from difflib import SequenceMatcher

_ACCENTS = dict.fromkeys(range(0x300, 0x370))  # of Latin, Greek, Cyrillic; not the kana's
_QUOTES = str.maketrans("", "", "'’‘`´ʼ")
_REMARK = re.compile(
    r"[(\[（［]([^)\]）］]*)[)\]）］]|\s[-–—]\s(.*)$|\s((?:feat|ft)\.?\s.*)$", re.IGNORECASE
)
_SAYS_NOTHING = re.compile(
    r"\b(?:re-?master(?:ed)?|feat|ft|featuring|(?:album|original|single) version|explicit|stereo"
    r"|mono|live|demo|acoustic|unplugged|radio (?:edit|version)|bonus track|deluxe)\b"
    r"|リマスター|ライブ|ライヴ|^\s*\d{4}\s*$",
    re.IGNORECASE,
)
"""Remarks that do not make another song; what kind of performance it is, is compared apart."""
_COUNTING = re.compile(r"\d+|[ivx]+")
_ALIKE = 0.9
_LONG_ENOUGH = 8
"""Shorter words differ too much by one letter: Queen, Queens."""


_MOST_CHARACTERS = 400
"""A tag may be of any length, and comparing costs its square."""


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text without case, accents or punctuation, in order."""
    text = text[:_MOST_CHARACTERS].strip().casefold()
    bare = unicodedata.normalize("NFKD", text).translate(_ACCENTS)
    bare = unicodedata.normalize("NFKC", bare).translate(_QUOTES).replace("&", " and ")
    spaced = "".join(char if char.isalnum() or char.isspace() else " " for char in bare)
    return tuple(spaced.split()) or (text,)


def bare_title(title: str) -> str:
    """Return a title without the remarks that do not make it another song's."""

    def kept(remark: re.Match[str]) -> str:
        said = next(filter(None, remark.groups()), "")
        return "" if _SAYS_NOTHING.search(said) else remark.group()

    return _REMARK.sub(kept, title[:_MOST_CHARACTERS]).strip() or title


def same_title(one: str, other: str) -> bool:
    """Whether two titles name the same song; a part 2 is not a part 1."""
    return _alike(words(bare_title(one)), words(bare_title(other)))


def same_name(one: str, other: str) -> bool:
    """Whether two names are one artist's, in whatever order (`Utada, Hikaru`)."""
    return _alike(*(tuple(sorted(set(words(name)) - {"the"} or {"the"})) for name in (one, other)))


def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if "".join(one) == "".join(other):
        return True
    if _counts(one) != _counts(other):
        return False
    texts = " ".join(one), " ".join(other)
    if min(map(len, texts)) < _LONG_ENOUGH:
        return False
    return SequenceMatcher(None, *texts, autojunk=False).ratio() >= _ALIKE


def _counts(found: tuple[str, ...]) -> list[str]:
    return [word for word in found if _COUNTING.fullmatch(word)]
