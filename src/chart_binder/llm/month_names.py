"""Months are named in the languages that discographies are written in."""

import unicodedata

_NAMES = """\
january jan januar jänner janvier janv enero gennaio gen janeiro januari styczeń stycznia \
styczniu январь января январе янв
february feb februar février févr fév febrero febbraio fevereiro fev februari luty lutego \
lutym февраль февраля феврале фев
march mar märz mars marzo março maart mrt marts marzec marca \
marcu март марта марте мар
april apr avril avr abril abr aprile kwiecień kwietnia kwietniu апрель апреля апреле апр
may mai mayo maggio mag maio mei maj maja maju май мая мае
june jun juni juin junio giugno giu junho czerwiec czerwca czerwcu июнь июня июне июн
july jul juli juillet juil julio luglio lug julho lipiec lipca lipcu июль июля июле июл
august aug août agosto ago augustus augusti sierpień sierpnia sierpniu август августа \
августе авг
september sept sep septembre septiembre setiembre settembre set setembro wrzesień \
września wrześniu сентябрь сентября сентябре сен сент
october oct oktober okt octobre octubre ottobre ott outubro out październik października \
październiku октябрь октября октябре окт
november nov novembre noviembre novembro listopad listopada listopadzie \
ноябрь ноября ноябре ноя нояб
december dec dezember dez décembre déc diciembre dic dicembre dezembro desember des \
grudzień grudnia grudniu декабрь декабря декабре дек
"""
"""English, German, French, Spanish, Italian, Portuguese, Dutch, Scandinavian, Polish, Russian."""

OTHER_WORDS = frozenset({"ago", "des", "gen", "mag", "out", "set"})
"""Short for a month in one language, a word of its own in another: "it came out 1974"."""


def folded(text: str) -> str:
    """Return text without case, accents and widths of letters: `１９７４` is `1974`."""
    parts = unicodedata.normalize("NFKD", text.casefold())
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
