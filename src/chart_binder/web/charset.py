"""Which characters a page's bytes stand for."""

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


_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What browsers read under these names (https://encoding.spec.whatwg.org/#names-and-labels).
_READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "tis-620": "cp874",
    "iso8859-11": "cp874",
    "big5": "big5hkscs",
    "utf-16": "utf-16-le",
}
# And names of theirs that Python does not know.
_ALSO_CALLED = {
    "x-sjis": "cp932", "windows-31j": "cp932", "x-euc-jp": "euc_jp",
    "cseucpkdfmtjapanese": "euc_jp", "x-gbk": "gb18030", "gb_2312-80": "gb18030",
    "csgb2312": "gb18030", "cn-big5": "big5", "x-x-big5": "big5", "windows-949": "cp949",
    "csksc56011987": "cp949", "windows-874": "cp874", "dos-874": "cp874", "x-cp1251": "cp1251",
    "x-cp1252": "cp1252", "koi": "koi8-r", "koi8-ru": "koi8-u", "mac": "mac-roman",
    "x-mac-roman": "mac-roman", "x-mac-cyrillic": "mac-cyrillic", "iso-8859-8-i": "iso8859-8",
    "iso-8859-6-i": "iso8859-6", "unicode-1-1-utf-8": "utf-8", "sun_eu_greek": "iso8859-7",
}  # fmt: skip
# Python knows codecs that are no character sets of pages, some of them with quadratic cost.
_FIT_FOR_PAGES = re.compile(
    r"utf-8|utf-16(-[lb]e)?|ascii|iso8859-\d+|iso2022_jp|cp\d+|koi8-[ru]|mac-\w+"
    r"|gb18030|gbk|gb2312|big5(hkscs)?|euc_(jp|kr)|shift_jis|tis-620"
)
_DECLARED_IN_PAGE = re.compile(
    rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE
)
_DECLARED_WITHIN = 2_048


def decoded(data: bytes, declared: str | None) -> str:
    """Return the text of a page; bytes that fit nothing become U+FFFD.

    The order is a browser's: byte order mark, the server's word (`declared`), the page's own
    word, then UTF-8 where it fits; else what its letters look like, Windows-1252 if like nothing.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    known = _codec(declared) or _codec(_declared_in(data))
    named = known or ("utf-8" if _fits_utf8(data) else guessed(data) or "cp1252")
    return data.decode(named, "replace")


def _codec(label: str | None) -> str | None:
    try:
        label = label.strip().lower() if label else ""
        name = codecs.lookup(_ALSO_CALLED.get(label, label)).name
    except (LookupError, ValueError):
        return None
    name = _READ_AS.get(name, name)
    return name if _FIT_FOR_PAGES.fullmatch(name) else None


def _declared_in(data: bytes) -> str | None:
    found = _DECLARED_IN_PAGE.search(data, 0, _DECLARED_WITHIN)
    if found is None:
        return None
    label = found[1].decode("ascii", "replace").lower()
    # Whoever could read this word did not read it as UTF-16.
    return "utf-8" if label.startswith("utf-16") else label


def _fits_utf8(data: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(data, final=False)
    except UnicodeDecodeError:
        return False
    return True
