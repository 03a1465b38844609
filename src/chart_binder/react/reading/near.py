"""The lines that hold one of some words not far from their beginning."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

_NEAR: Final = 96


@lru_cache(4)
def lowered(text: str) -> str:
    """Return a text in small letters, with every place as it was.

    Whoever reads a reply asks for this several times in a row.
    """
    return text.replace("İ", "I").lower()  # the one letter that would move places


def lines_near(words: Iterable[str], text: str, most: int) -> list[int]:
    """Return where those lines begin, in order; of one word at most so many.

    A word is looked for as it is written. Searching for words is much faster than a look at every
    line, of which there may be as many as letters.
    """
    found = (islice(_lines(word, text), most) for word in words if word in text)
    return sorted({start for starts in found for start in starts})


def _lines(word: str, text: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        start = text.rfind("\n", max(0, at - _NEAR), at) + 1
        if start or at <= _NEAR:
            yield start
        end = text.find("\n", at)
        at = text.find(word, end) if end >= 0 else -1
