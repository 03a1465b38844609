"""Months are named in the languages that discographies are written in."""

import unicodedata
from collections.abc import Iterable
from itertools import groupby

_NAMES = """\
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

OTHER_WORDS = frozenset({"ago", "des", "gen", "mag", "mart", "out", "set"})
"""Short for a month in one language, a word of its own in another: "it came out 1974"."""


def folded(text: str) -> str:
    """Return text without case, accents and widths of letters: `１９７４` is `1974`.

    A Turkish `ı`, whose capital is the `I` of other languages, is an `i`.
    """
    parts = unicodedata.normalize("NFKD", text.casefold().replace("ı", "i"))
    bare = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return unicodedata.normalize("NFC", bare)


MONTHS = {
    folded(name): number
    for number, names in enumerate(_NAMES.splitlines(), 1)
    for name in names.split()
}
"""The number of a month by its name, in folded form."""
ENGLISH = frozenset(names.split()[0] for names in _NAMES.splitlines())
"""The whole names in English, the first of each line."""


def any_month(names: Iterable[str] = MONTHS) -> str:
    """Return what matches any of the names, the longest that can, in text that is folded.

    Words that begin alike stand together: a place where none does is left after 30 letters.
    """
    longest_first = sorted(names, key=lambda name: (name[0], -len(name), name))
    alike = groupby(longest_first, key=lambda name: name[0])
    return "|".join(f"{first}(?:{'|'.join(name[1:] for name in all_)})" for first, all_ in alike)
