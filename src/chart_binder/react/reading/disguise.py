"""Letters that look like others are read as those, and what cannot be seen is not there."""

import re
import unicodedata
from typing import Final

# Characters that show nothing, letters that look like others: Greek, Cyrillic, wide, of formulas.
_UNSEEN: Final = (
    "\x00-\x08\x0b-\x1a\x1c-\x1f\x7f\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_ESCAPES: Final = re.compile(r"(?:\x1b(?:\[[0-9;]{0,16}[A-Za-z])?+)++")
_HIDING: Final = re.compile(f"[{_UNSEEN}]++")
_DISGUISED: Final = re.compile(
    f"[\x1b{_UNSEEN}\u02d0\u0370-\u04ff\u24b6-\u24e9\uff1c\uff1e\uff21-\uff5a]"
)
# Letters beyond the first 65,536 make a class slow to search for.
_HIDING_BEYOND: Final = re.compile("[\U000e0000-\U000e0fff]++")
_DISGUISED_BEYOND: Final = re.compile("[\U0001d400-\U0001d7ff\U000e0000-\U000e0fff]")
_COMPATIBLE: Final = (range(0x24B6, 0x24EA), range(0xFF1C, 0xFF5B), range(0x1D400, 0x1D800))
_LIKENESS: Final[dict[int, str]] = {
    code: unicodedata.normalize("NFKC", chr(code)) for codes in _COMPATIBLE for code in codes
}
_WIDE: Final = re.compile("[\u24b6-\u24e9\uff1c-\uff5a]")
_ALIKE: Final = tuple(zip("оОеЕаАсСѕЅіІνορвВнНтТː", "oOeEaAcCsSiIvopbBhHtT:", strict=True))


def undisguised(text: str) -> str:
    """Fold letters in disguise, drop what cannot be seen; every line stays a line."""
    beyond = not text.isascii() and _DISGUISED_BEYOND.search(text)
    if not beyond and not _DISGUISED.search(text):
        return text
    seen = _HIDING.sub("", _ESCAPES.sub("", text) if "\x1b" in text else text)
    seen = _HIDING_BEYOND.sub("", seen) if beyond else seen
    if seen.isascii():
        return seen
    for letter, like in _ALIKE:
        seen = seen.replace(letter, like)
    return seen.translate(_LIKENESS) if beyond or _WIDE.search(seen) else seen
