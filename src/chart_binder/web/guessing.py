"""The character set of a page that names none is told by the letters it would have in each.

Bytes that are one language's text in one character set are seldom text of any in another: what
counts is the share of letters that are common in the script that a character set was made for.
"""

import codecs
import re
from collections.abc import Callable
from typing import Final

_LOOKED_AT: Final = 20_000  # bytes
# Half a character may be an ASCII byte: a run of these is left out behind a tag or a blank only.
_MARKUP: Final = re.compile(rb"<[^>]*>|(?<=[>\s])[\x00-\x7f]{40,}")
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_FEWEST: Final = 12
"""Bytes beyond ASCII; of fewer nothing can be told."""
_LEAST_HIGH: Final = 0.25
"""The share of bytes beyond ASCII, markup left out; in Western languages it is a tenth at most."""


def guessed(data: bytes) -> str | None:
    """Return the character set that bytes which are no UTF-8 are likely in, if it shows."""
    sample = _MARKUP.sub(b" ", data[:_LOOKED_AT])
    high = len(_HIGH.findall(sample))
    if high < max(_FEWEST, _LEAST_HIGH * len(sample)):
        return None
    return next((codec for codec in _MADE_FOR if _share(sample, codec) >= _LEAST[codec]), None)


def _share(sample: bytes, codec: str) -> float:
    """Return the share of letters beyond ASCII that are common in the codec's script."""
    try:
        text = codecs.getincrementaldecoder(codec)("strict").decode(sample, final=False)
    except UnicodeDecodeError:
        return 0.0
    letters = [letter for letter in text if letter > "\x7f"]
    return sum(map(_MADE_FOR[codec], letters)) / len(letters) if letters else 0.0


def _is_kana(letter: str) -> bool:
    return "\u3041" <= letter <= "\u30fc"


def _is_hangul(letter: str) -> bool:
    return "\uac00" <= letter <= "\ud7a3"


def _is_simple(letter: str) -> bool:
    """Whether it is one of the 3,755 most common characters of GB 2312, or its punctuation."""
    try:
        code = letter.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return b"\xb0\xa1" <= code <= b"\xd7\xf9" or code[:1] in {b"\xa1", b"\xa3"}


def _is_traditional(letter: str) -> bool:
    """Whether it is one of the 5,401 most common characters of Big5, or its punctuation."""
    try:
        code = letter.encode("big5")
    except UnicodeEncodeError:
        return False
    return b"\xa1\x40" <= code <= b"\xc6\x7e"


def _is_small_cyrillic(letter: str) -> bool:
    return "\u0430" <= letter <= "\u045f"


_MADE_FOR: Final[dict[str, Callable[[str], bool]]] = {
    "euc_jp": _is_kana,
    "cp932": _is_kana,
    "cp949": _is_hangul,
    "gb18030": _is_simple,
    "big5hkscs": _is_traditional,
    "cp1251": _is_small_cyrillic,
    "koi8-r": _is_small_cyrillic,
}
"""In the order in which they are tried: Korean text may look Chinese, and not the reverse."""
_LEAST: Final = {
    "euc_jp": 0.2, "cp932": 0.2, "cp949": 0.85, "gb18030": 0.8, "big5hkscs": 0.8, "cp1251": 0.7,
    "koi8-r": 0.7,
}  # fmt: skip
