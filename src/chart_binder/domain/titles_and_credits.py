"""Song titles and credits: the part that a title names, and the artists that a credit joins.

A title may name a part of a song, and download services add words to it. `Queen, David Bowie` and
`Queen/David Bowie` (the separator of ID3v2.3) are credits like `Queen & David Bowie`. A join may
also be part of a name (`AC/DC`, `Earth, Wind & Fire`), so names are compared with the text between
any two joins.
"""

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


# Kana, Han and Thai have no spaces: a run of them is one word, which ends at another script
# (`安室奈美恵feat.X`).
_UNSPACED = r"\u0e00-\u0e7f\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}\u30fb]+")
ARTICLE = re.compile(r"^\s*the\s+(?=\S)")

_CUT = rf"(?:(?<=[\s({_UNSPACED}])|(?<=\[))"
_GUEST = rf"{_CUT}(?:feat(?:uring|\.|(?=\s))|ft(?:\.|(?=\s)))"
_GUEST_JOIN = re.compile(
    rf"\s*[(\[]?(?:{_GUEST}|(?<=\s)(?:vs\.?|versus|/)(?=\s)|;)\s*", re.IGNORECASE
)
_SURE_JOIN = (
    rf"{_GUEST}|(?<=\s)(?:vs\.?|versus|x)(?=\s)|×|(?<=\s)/(?=\s)|[;|、·\\\\]"
    r"|(?<![\u30a1-\u30fa\u30fc])・|・(?![\u30a1-\u30fa\u30fc])"  # within `デヴィッド・ボウイ`
    r"|[(\[]\s*c\.?v[.:\s]\s*"
)
_JOIN = re.compile(
    rf"(?P<sure>{_SURE_JOIN})|[&/,+]"
    r"|(?<=[\s(\[])w(?:ith(?=\s)|/)"
    r"|(?<=\s)(?:and|pres\.|presents|meets|und|mit|et|avec|y|con|e|og|och)(?=\s)"
)
"""The joins, in folded text."""
JOIN_WORDS = frozenset(("feat", "ft", "featuring", "and", "with", "vs", "versus", "x", "the"))
"""Words of credits that do not count when names are compared word by word."""
_MAX_PARTS = 24
VARIOUS_NAMES = (
    "Various Artists", "Various Artist", "Various", "V.A.", "AA.VV.", "Verschiedene Interpreten",
    "Verschiedene Künstler", "Diverse Interpreten", "Diverse Künstler", "Artistes divers",
    "Artistes variés", "Multi-interprètes", "Artisti vari", "Autori vari", "Varios artistas",
    "Artistas varios", "Varios intérpretes", "Vários artistas", "Vários intérpretes",
    "Artistas diversos", "Diversos artistes", "Diversos intèrprets", "Diverse artiesten",
    "Verschillende artiesten", "Diverse artister", "Diverse kunstnere", "Blandade artister",
    "Eri esittäjiä", "Erinevad esitajad", "Ýmsir flytjendur", "Różni wykonawcy", "Różni artyści",
    "Různí interpreti", "Různí umělci", "Rôzni interpreti", "Vegyes előadók",
    "Különböző előadók", "Artiști diverși", "Razni izvođači", "Različni izvajalci",
    "Įvairūs atlikėjai", "Dažādi izpildītāji", "Çeşitli sanatçılar", "Διάφοροι καλλιτέχνες",
    "Разные исполнители", "Разные артисты", "Різні виконавці", "Розні выканаўцы",
    "Разни изпълнители", "Разни извођачи", "אמנים שונים", "فنانون متنوعون", "オムニバス",
    "ヴァリアス・アーティスト", "ヴァリアス・アーティスツ", "ヴァリアス", "群星", "华语群星",
    "合輯", "여러 아티스트", "여러 가수", "ศิลปินรวม",
)  # fmt: skip
"""The names of MusicBrainz's special artist for records by many, in any language."""
_LONGEST = 400
"""The number of characters that are read of a tag, which may have any length."""


def main_artist(artist: str) -> str:
    """Return an artist's name without guests and opponents, whose joins are not part of names."""
    return _GUEST_JOIN.split(artist[:_LONGEST], maxsplit=1)[0].strip() or artist


def parts_of(credit: str) -> tuple[list[tuple[int, int]], bool]:
    """Return the spans of the names in a folded credit, and whether it surely has several."""
    joins = list(_JOIN.finditer(credit))[:_MAX_PARTS]
    edges = [0, *(edge for join in joins for edge in join.span()), len(credit)]
    parts = list(zip(edges[::2], edges[1::2], strict=True))
    is_sure = any(join["sure"] for join in joins)
    words = [WORD.findall(ARTICLE.sub("", credit[first:last], count=1)) for first, last in parts]
    return parts, is_sure or any(len(part) > 1 for part in words)
