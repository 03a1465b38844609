"""Song titles: the part of a song that a title names, and what download services add to titles."""

import re
from functools import lru_cache

_NUMBERS = {
    word: str(number)
    for words in (
        "one two three four five six seven eight nine ten", "eins zwei drei vier", "un deux trois",
        "uno dos tres cuatro", "uno due tre quattro", "um dois tres quatro", "een twee drie vier",
        "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx",
    )
    for number, word in enumerate(words.split(), start=1)
}  # fmt: skip
_NUMBER = rf"(?:\d{{1,2}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_NAMES = "parts?|pts?|teil|parte|pte|partie|deel|del|część|cz|часть|ч"
_PART = re.compile(
    r"(?<=\S)(?:\s?[,:;]\s?|\s[-–—]\s|\s?(?P<open>[(\[（［])\s?|\s)"
    rf"(?:(?:{_NAMES})(?:\.?\s*(?=\d)|\.\s*|\s+)(?P<first>{_NUMBER})"
    rf"(?:\s*(?:[-–—&/,+]|and|und|et|to|y|e)\s*(?P<last>{_NUMBER}))?(?:\s+of\s+{_NUMBER})?"
    rf"|(?P<ordinal>\d{{1,2}})(?:\.|ª|a|st|nd|rd|th|e)\s+(?:{_NAMES}))"
    r"\s*(?:(?P<close>[)\]）］])|(?=$|[,:;/(\[（［]|[-–—]\s))",
    re.IGNORECASE,
)


@lru_cache(maxsize=4_096)
def part_of(title: str) -> tuple[str, str]:
    """Return the number of the part that a title names, or "", and the title without it.

    Notations are equal: `Song, Part 2`, `Song (Pt. II)` and `Song - Teil Zwei` name the part `2`.
    `Song (Parts 1 & 2)` names the part `1-2`.
    """
    part = _PART.search(title)
    if part is None:
        return "", title
    numbers = (part["first"] or part["ordinal"], part["last"])
    name = "-".join(
        _NUMBERS.get(number.lower(), number.lstrip("0")) for number in numbers if number
    )
    is_closed = bool(part["open"]) == bool(part["close"])
    bracket = "" if is_closed else part["close"] or f" {part['open']}"
    return name, f"{title[: part.start()]}{bracket} {title[part.end() :]}".strip()


def may_be_whole(part: str) -> bool:
    """Return whether a title that names no part of a song may mean a recording of this part.

    The first part is often the whole song, cut for a single.
    """
    return part.partition("-")[0] in ("", "1")


_CALLED = r"\b(?:official|oficial|officiel(?:le)?|offizielle[rs]?|ufficiale)\b"
_INSIDE = r"[^()\[\]（）［］]"
_BEHIND = r"[^-–—|()\[\]（）［］]"
_SET_OFF = re.compile(
    rf"\s?(?P<open>[(\[（［])(?P<inside>{_INSIDE}{{1,80}})(?P<close>[)\]）］])"
    rf"|\s[-–—|]\s(?={_BEHIND}{{0,80}}{_CALLED})(?P<behind>{_BEHIND}{{1,80}})$",
    re.IGNORECASE,
)
_OFFICIAL = re.compile(
    rf"{_CALLED}|\b(?:(?:music|lyrics?)[-\s]+)?video(?:[-\s]?clip)?\b"
    r"(?![-\s]*(?:version|mix|edit|cut)\b)",
    re.IGNORECASE,
)
_ADDED = (
    r"audio|lyrics?|letra|paroles|visuali[sz]er|hd|hq|uhd|[48]k|\d{3,4}p|\d+\s?kbps|m/?v"
    r"|high[-\s](?:quality|definition)"
)
_NOISE = re.compile(
    rf"(?:\W*(?:{_ADDED}|clip|full|music|on[-\s]screen|with)(?!\w))*\W*", re.IGNORECASE
)
_IS_ADDED = re.compile(rf"\b(?:{_ADDED})(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=4_096)
def without_noise(title: str) -> str:
    """Return a title without additions of downloads that name no version: `(Official Video) [HD]`.

    `(Official Live Video)` becomes `(Live)`; `(Music Video Version)` names a version and stays. An
    addition after a dash or `|` is removed only if it is called official.
    """
    return _SET_OFF.sub(_without_noise_in, title).strip() or title


def _without_noise_in(remark: re.Match[str]) -> str:
    inside = remark["inside"] or remark["behind"]
    bare = _OFFICIAL.sub(" ", inside)
    if _NOISE.fullmatch(bare) and (bare != inside or _IS_ADDED.search(inside)):
        return ""
    if bare == inside:
        return remark[0]
    return f" {remark['open'] or '('}{' '.join(bare.split())}{remark['close'] or ')'}"
