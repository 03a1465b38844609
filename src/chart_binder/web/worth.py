"""What a passage of a page is worth to somebody who asks when a piece of music came out.

A passage counts for the dates in it, for words about releases, and for words of what is asked
about, the rarer on the page the more; beside a passage that counts, a neighbour counts a little.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_WORD = re.compile(r"\w+")
# Written without spaces between words, so that a word is found anywhere.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff]")
_OF_EVERY_TEXT = frozenset(
    _WORD.findall(
        "a an and at by de del der des di die du el en et for from i il in la le les of on or the"
        " to und"
    )
)
# On folded text: the beginnings of months' names in the languages of most pages.
_MONTH = (
    "jan|feb|fev|mar|apr|avr|abr|mai|may|mag|maj|mei|jun|juin|jui|giu|jul|juil|lug|lip|aug|aou|ago"
    "|sep|set|oct|okt|out|ott|nov|dec|dez|dic|des|gen|ene"
    "|янв|фев|мар|апр|мая|июн|июл|авг|сен|окт|ноя|дек"
)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_TO_THE_MONTH = re.compile(
    r"(?<!\d)(?:1[89]|20)\d\d(?:[-/.]\d{1,2}(?!\d)|年\s?\d{1,2}月|년\s?\d{1,2}월)"
    r"|(?<!\d)\d{1,2}[./-]\d{1,2}[./-](?:1[89]|20)\d\d(?!\d)"
    rf"|(?<!\w)(?:{_MONTH})[a-zа-я]{{0,7}}\.?,?\s(?:de\s|del\s)?(?:\d{{1,2}}[a-z]{{0,2}},?\s)?"
    r"(?:1[89]|20)\d\d(?!\d)"
)
# Words an answer about a release rests on, folded.
_TELLING = frozenset(
    _WORD.findall(
        "release released releases issued date dates year single singles album albums ep lp cd"
        " vinyl cassette label labels catalog catalogue format country recorded recording"
        " soundtrack compilation original first premiere debut charted entered out"
        " veroffentlichung veroffentlicht erschien erschienen sortie sorti parution paru"
        " lanzamiento lanzado publicado publicacion uscita pubblicato pubblicazione lancamento"
        " lancado uitgebracht utgiven slappt julkaistu wydany wydanie"
        " вышел выпущен релиз альбом сингл"
    )
)
_TELLING_UNSPACED = (
    "リリース",
    "発売",
    "収録",
    "シングル",
    "アルバム",
    "发行",
    "發行",
    "专辑",
    "발매",
)
_ABOUT_THE_WEB = re.compile(
    r"retrieved|archived from|accessed|abgerufen|consulte le|consultado|閲覧|アーカイブ|joined:"
    r"|^- [\^↑]"
)
_FIND = 30.0
_BESIDE = 0.5
_EARLIEST = 4.0
_OPENING, _OPENING_WORTH = 3, 3.0


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a page: what it should be `about`, and words to `find`, if any; folded."""

    about: tuple[str, ...]
    find: tuple[str, ...]

    @classmethod
    def of(cls, about: str, find: str = "") -> "Question":
        """Take the words of both; words that every text has count only where there are no other."""
        return cls(_telling_words(about), _telling_words(find))


def worths(pieces: Sequence[str], question: Question) -> list[float]:
    """Return what each of the passages of a page is worth, for its length."""
    folded = [fold(piece) for piece in pieces]
    words = [frozenset(_WORD.findall(text)) for text in folded]
    asked = _shares(folded, words, question.about)
    found = [share * share for share in _shares(folded, words, question.find)]
    dated = [_datedness(text) for text in folded]
    is_row = [" | " in piece for piece in pieces]
    early = _earliness(folded, is_row)
    topic = _spread(asked, is_row)
    dates = _spread(dated, is_row)
    sought = _spread(found, is_row)
    first = next((at for at, piece in enumerate(pieces) if piece.startswith("# ")), 0)
    worths = []
    for at, piece in enumerate(pieces):
        worth = 2.0 * topic[at] + dates[at] + 2.0 * min(topic[at], dates[at])
        worth += _tellingness(folded[at], words[at]) + early[at]
        if _ABOUT_THE_WEB.search(folded[at]):
            worth *= 0.3
        if first <= at < first + _OPENING:
            worth += _OPENING_WORTH  # the opening says what the page is about
        if piece.startswith("#"):
            worth /= 4  # a heading comes along with what stands under it
        worths.append((worth + _FIND * sought[at]) / math.sqrt(len(piece) + 40))
    return worths


def fold(text: str) -> str:
    """Return a text in which case and accents make no difference."""
    if text.isascii():
        return text.casefold()
    apart = unicodedata.normalize("NFKD", text).casefold()
    return "".join(mark for mark in apart if not unicodedata.combining(mark))


def holds(folded: str, words: frozenset[str], word: str) -> bool:
    """Tell whether a folded text, with these words, has a word in it."""
    return word in words or (word in folded and _UNSPACED.search(word) is not None)


def _telling_words(text: str) -> tuple[str, ...]:
    every = tuple(dict.fromkeys(_WORD.findall(fold(text))))
    return tuple(word for word in every if word not in _OF_EVERY_TEXT) or every


def _shares(
    folded: Sequence[str], words: Sequence[frozenset[str]], asked: Sequence[str]
) -> list[float]:
    """Return for each passage the worth of the asked words in it, the rarer a word the more."""
    totals = [0.0] * len(folded)
    for word in asked:
        has = [holds(text, own, word) for text, own in zip(folded, words, strict=True)]
        rarity = math.log((len(folded) + 1) / (sum(has) + 1)) / math.log(len(folded) + 1)
        for at, is_in in enumerate(has):
            totals[at] += max(rarity, 0.1) * is_in
    return totals


def _datedness(folded: str) -> float:
    to_the_month = len(_TO_THE_MONTH.findall(folded))
    years = max(0, len(_YEAR.findall(folded)) - to_the_month)
    return 2.5 * min(to_the_month, 2) + 1.0 * min(years, 2)


def _tellingness(folded: str, words: frozenset[str]) -> float:
    count = len(words & _TELLING) + sum(word in folded for word in _TELLING_UNSPACED)
    return float(min(count, 3))


def _earliness(folded: Sequence[str], is_row: Sequence[bool]) -> list[float]:
    """Prefer the earliest among rows: the question is where something came out first."""
    years = [
        min(map(int, _YEAR.findall(text)), default=0) if row else 0
        for text, row in zip(folded, is_row, strict=True)
    ]
    known = sorted({year for year in years if year})
    worth = {year: _EARLIEST * 0.8**rank for rank, year in enumerate(known)}
    return [worth.get(year, 0.0) for year in years]


def _spread(values: Sequence[float], is_row: Sequence[bool]) -> list[float]:
    """Let neighbours share a little, but for the rows of a table, each of which stands alone."""
    spread = list(values)
    for share in (_BESIDE, _BESIDE):
        before = list(spread)
        for at, (one, other) in enumerate(pairwise(before)):
            if not is_row[at] and not is_row[at + 1]:
                spread[at] = max(spread[at], share * other)
                spread[at + 1] = max(spread[at + 1], share * one)
    return spread
