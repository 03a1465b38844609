"""Which characters a page's bytes stand for."""

import codecs
import re

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
    "utf-16": "utf-16-le",
}
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
    word, then UTF-8 where it fits and Windows-1252 where it does not.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    known = _codec(declared) or _codec(_declared_in(data))
    guessed = known or ("utf-8" if _fits_utf8(data) else "cp1252")
    return data.decode(guessed, "replace")


def _codec(label: str | None) -> str | None:
    try:
        name = codecs.lookup(label.strip()).name if label else ""
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
