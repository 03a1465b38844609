"""Credits of several artists: the signs and words that join names, in tags and at MusicBrainz.

`Queen, David Bowie` and `Queen/David Bowie` (the separator of ID3v2.3) are credits like
`Queen & David Bowie`. A join may also be part of a name (`AC/DC`, `Earth, Wind & Fire`), so names
are compared with the text between any two joins.
"""

import re

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
"""The names of MusicBrainz' special artist for records by many, in any language."""
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
