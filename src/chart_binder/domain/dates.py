"""Partial dates, compared as spans of days with the answers yes, no or unknown; names of months."""

import calendar
import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from itertools import groupby
from typing import Protocol, TypeAlias

from chart_binder.domain.vocabulary import fold

Answer: TypeAlias = bool | None
"""True, false, or `None` if it depends on unknown days."""

# One day before the calendar begins, so that a date in its first year counts as known.
FIRST_DAY = date.min.toordinal() - 1
LAST_DAY = date.max.toordinal()

_FORM = re.compile(r"([0-9]{4}|\?{4})(?:-([0-9]{2}|\?{2})(?:-([0-9]{2}|\?{2}))?)?")


class Span(Protocol):
    """An unknown day from `first` to `last` (proleptic Gregorian ordinals)."""

    @property
    def first(self) -> int:
        """The earliest day it may be."""

    @property
    def last(self) -> int:
        """The latest day it may be."""


class PartialDate:
    """A date of any precision: the days from `first` to `last` (proleptic Gregorian ordinals).

    `1974` is any day of that year. What follows an unknown part is ignored (`????-05` is unknown),
    because it cannot be expressed as one span.
    """

    __slots__ = ("first", "last", "text")

    def __init__(self, text: str, first: int, last: int) -> None:
        self.text = text
        self.first = first
        self.last = last

    @staticmethod
    @lru_cache(maxsize=65_536)
    def parse(text: str) -> "PartialDate":
        """Parse `YYYY`, `YYYY-MM`, `YYYY-MM-DD` or a form with unknown parts; empty is unknown.

        Raises `ValueError` with what was found and what is allowed.
        """
        written = text.strip()
        if not written:
            return UNKNOWN
        form = _FORM.fullmatch(written)
        if form is None:
            raise ValueError(f"{text[:40]!r} is no date: YYYY, YYYY-MM or YYYY-MM-DD is allowed")
        year, month, day = (int(one) if one and one[0] != "?" else None for one in form.groups())
        if year is None:
            return UNKNOWN
        try:
            if month is None:
                first, last = date(year, 1, 1), date(year, 12, 31)
            elif day is None:
                first = date(year, month, 1)
                last = first.replace(day=calendar.monthrange(year, month)[1])
            else:
                first = last = date(year, month, day)
        except ValueError as error:
            raise ValueError(f"{text!r} is no day of the calendar") from error
        known = "-".join(part for part in form.groups() if part)
        return PartialDate(known.partition("-?")[0], first.toordinal(), last.toordinal())

    @property
    def is_known(self) -> bool:
        """Whether at least the year is known."""
        return self.first > FIRST_DAY

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartialDate) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"PartialDate({self.text!r})"

    def __str__(self) -> str:
        return self.text or "unknown"


UNKNOWN = PartialDate("", FIRST_DAY, LAST_DAY)
"""Any day at all."""


def before(one: Span, other: Span) -> Answer:
    """Whether `one` is earlier than `other`."""
    if one.last < other.first:
        return True
    return False if one.first >= other.last else None


def same_day(one: Span, other: Span) -> Answer:
    """Whether both are the same day."""
    if one.first == one.last == other.first == other.last:
        return True
    return False if one.last < other.first or other.last < one.first else None


_MONTH_NAMES = """\
january jan januar jänner janvier janv enero gennaio gen janeiro januari styczeń stycznia \
styczniu январь января январе янв leden ledna lednu lednem tammikuu tammikuuta tammikuun \
tammikuussa ιανουάριος ιανουαρίου ιανουάριο ιαν ocak január januárban januárjában
february feb februar février févr fév febrero febbraio fevereiro fev februari luty lutego lutym \
февраль февраля феврале фев únor února únoru únorem helmikuu helmikuuta helmikuun helmikuussa \
φεβρουάριος φεβρουαρίου φεβρουάριο φεβ şubat február februárban februárjában
march mar märz mars marzo março maart mrt marts marzec marca marcu март марта марте мар březen \
března březnu březnem maaliskuu maaliskuuta maaliskuun maaliskuussa μάρτιος μαρτίου μάρτιο μαρ \
mart március márciusban márciusában
april apr avril avr abril abr aprile kwiecień kwietnia kwietniu апрель апреля апреле апр duben \
dubna dubnu dubnem huhtikuu huhtikuuta huhtikuun huhtikuussa απρίλιος απριλίου απρίλιο απρ nisan \
április áprilisban áprilisában
may mai mayo maggio mag maio mei maj maja maju май мая мае květen května květnu květnem toukokuu \
toukokuuta toukokuun toukokuussa μάιος μαΐου μάιο mayıs május májusban májusában
june jun juni juin junio giugno giu junho czerwiec czerwca czerwcu июнь июня июне июн červen \
června červnu červnem kesäkuu kesäkuuta kesäkuun kesäkuussa ιούνιος ιουνίου ιούνιο ιουν haziran \
június júniusban júniusában
july jul juli juillet juil julio luglio lug julho lipiec lipca lipcu июль июля июле июл červenec \
července červenci červencem heinäkuu heinäkuuta heinäkuun heinäkuussa ιούλιος ιουλίου ιούλιο \
ιουλ temmuz július júliusban júliusában
august aug août agosto ago augustus augusti sierpień sierpnia sierpniu август августа августе \
авг srpen srpna srpnu srpnem elokuu elokuuta elokuun elokuussa αύγουστος αυγούστου αύγουστο αυγ \
ağustos augusztus augusztusban augusztusában
september sept sep septembre septiembre setiembre settembre set setembro wrzesień września \
wrześniu сентябрь сентября сентябре сен сент září zářím syyskuu syyskuuta syyskuun syyskuussa \
σεπτέμβριος σεπτεμβρίου σεπτέμβριο σεπτ σεπ eylül szeptember szeptemberben szeptemberében szept
october oct oktober okt octobre octubre ottobre ott outubro out październik października \
październiku октябрь октября октябре окт říjen října říjnu říjnem lokakuu lokakuuta lokakuun \
lokakuussa οκτώβριος οκτωβρίου οκτώβριο οκτ ekim októberben októberében
november nov novembre noviembre novembro listopad listopada listopadzie ноябрь ноября ноябре ноя \
нояб listopadu listopadem marraskuu marraskuuta marraskuun marraskuussa νοέμβριος νοεμβρίου \
νοέμβριο νοε kasım novemberben novemberében
december dec dezember dez décembre déc diciembre dic dicembre dezembro desember des grudzień \
grudnia grudniu декабрь декабря декабре дек prosinec prosince prosinci prosincem joulukuu \
joulukuuta joulukuun joulukuussa δεκέμβριος δεκεμβρίου δεκέμβριο δεκ aralık decemberben \
decemberében
"""
"""English, German, French, Spanish, Italian, Portuguese, Dutch, Scandinavian, Polish, Russian,
Czech, Finnish, Greek, Turkish, Hungarian; inflected as dates have them."""

MONTHS = {
    fold(name): number
    for number, names in enumerate(_MONTH_NAMES.splitlines(), 1)
    for name in names.split()
}
"""The number of a month by its name, which is folded (`vocabulary.fold`)."""

ENGLISH_MONTHS = frozenset(names.split()[0] for names in _MONTH_NAMES.splitlines())
"""The full English names, folded."""

AMBIGUOUS_MONTHS = frozenset({"ago", "des", "gen", "mag", "mart", "out", "set"})
"""Abbreviations of months that are words in another language: "it came out 1974"."""


def month_pattern(names: Iterable[str] = MONTHS) -> str:
    """Return a regular expression for folded text that matches the longest possible of the names.

    Names are grouped by their first letter, so that a position without a month fails quickly.
    """
    longest_first = sorted(names, key=lambda name: (name[0], -len(name), name))
    by_letter = groupby(longest_first, key=lambda name: name[0])
    return "|".join(
        f"{first}(?:{'|'.join(name[1:] for name in all_)})" for first, all_ in by_letter
    )
