"""Which characters a page's bytes stand for."""

import codecs
import re

from chart_binder.web.guessing import guessed

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
