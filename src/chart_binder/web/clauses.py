"""Clauses: whether a clause states a date or another value of a record.

A clause may show that its date is that of something else, such as a chart or a reissue. The tables
of words for this are small, because a second reading decides the other cases. In running text, a
status, country or type counts only in fixed forms without unknown words: "X is a single", "the
single X", "X (LK 88, UK)", "official release of X".
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain

from chart_binder.domain.dates_in_text import MONTHS
from chart_binder.domain.patches import COUNTRY, PRIMARY_TYPE, SECONDARY_TYPES, STATUS, fact_words
from chart_binder.domain.vocabulary import find_words, fold, spaced_words, word_table
from chart_binder.web.subject import Subject

# Dates.

_TABLE = word_table("date_words")


def _pattern(kind: str) -> re.Pattern[str]:
    whole = "|".join(word for words in _TABLE[kind].values() for word in words)
    parts = "|".join(_TABLE["unspaced"][kind])
    return re.compile(rf"(?<![\w-])(?:{whole})(?!\w)|{parts}", re.IGNORECASE)


_OF_ELSE, _OF_RELEASE, _OF_OTHER = (_pattern(kind) for kind in ("else", "release", "other"))
"""Words for another event than a release, for a release, and for another version or edition."""

_LONGEST = 400
"""The number of characters of a clause that are read on either side of its date."""
_CUT = re.compile(
    r"[\n;；。！？!?.]"
    r"|,(?=\s(?:and|but|while|whereas|before|after|although|though|then|und|aber|während|bevor"
    r"|et|mais|puis|alors|y|pero|mientras|e|ma|mentre|poi|mas|enquanto|depois|en|maar|terwijl)\s)"
    r"|、(?=その後|のちに|しかし)"
)
_NO_END = re.compile(
    r"(?i)(?:^|[^\w])(?:\w|[0-9]{2}|mr|mrs|dr|st|jr|vs|ft|feat|no|nr|vol|inc|ltd|co|rec)$"
)
"""The text before a full stop that does not end a sentence: `11. Oktober`, `U.S.`, `No. 1`."""
_NEXT = re.compile(r"[\"'”’)\]]*\s+[\"'“‘(\[]*(\w)")
_QUOTED = re.compile(
    '“[^“”\n]{1,80}”|"[^"\n]{1,80}"|«[^«»\n]{1,80}»|„[^„“”\n]{1,80}[“”]|「[^「」]{1,80}」'
    "|『[^『』]{1,80}』|(?<!\\w)‘[^‘’\n]{1,80}’(?!\\w)"
)
_NAMED_BEFORE = re.compile(rf"({_QUOTED.pattern})(?:,?(?: [\w’']+){{1,4}} |[はがを])$")
_BESIDES = re.compile(
    r"\b(?:with|plus|and|featuring|including|to|of|from|after|before|on|mit|und|zu|von|aus|nach|avec"
    r"|et|de|du|à|après|con|y|tras|com|e|di|da|do|met|en|van|op|na)\s(?:\w+\s){0,2}$",
    re.IGNORECASE,
)
"""Words that show that the title or version after them is not what came out."""
_YEAR = re.compile("(?<![0-9])(?:1[89]|20)[0-9]{2}(?![0-9])")


def clause_around(text: str, start: int, end: int) -> str:
    """Return the clause around a span, or the whole row of a table.

    It ends with its sentence or line, at a semicolon, or at a comma before words such as "and".
    """
    return text[slice(*_clause(text, start, end))].strip()


def doubt_in_clause(text: str, start: int, end: int, titles: Iterable[str] = ()) -> str | None:
    """Return the word in a date's clause by which the date is that of another event or a reissue.

    Returns None if there is no such word, or if a word for a release (not `reissued`) is nearer to
    the date. A word does not count if another year is between it and the date, if it is quoted,
    or if it is a part of one of the titles: "Radio Ga Ga".
    """
    first, last = _clause(text, start, end)
    clause = _without_titles(text[first:last], titles)
    place = start - first, end - first
    doubts = [word for word in _OF_ELSE.finditer(clause) if _is_beside(word, place)]
    remainder = _OF_ELSE.sub(_blank, clause)
    releases = [word for word in _OF_RELEASE.finditer(remainder) if _is_beside(word, place)]
    if not doubts:
        return None
    nearest = min(doubts, key=lambda word: _distance(word, place))
    near = _distance(nearest, place)
    return None if any(_distance(word, place) <= near for word in releases) else nearest[0]


def other_issue(
    text: str, start: int, end: int, titles: Iterable[str], countries: Iterable[str]
) -> str | None:
    """Return the words in a date's clause that say that something else came out, or None.

    They name another version or edition, something uncertain, an issue `in` one of `countries`, or
    a quoted title right before the date that is not one of `titles`. A country does not count if
    another year is between it and the date, because it belongs to that year's issue.
    """
    first, last = _clause(text, start, end)
    plain = _without_titles(text[first:last], titles)
    place = start - first, end - first
    abroad = _abroad(tuple(countries)).finditer(plain)
    places = (word for word in abroad if _is_beside(word, place))
    for term in chain(_OF_OTHER.finditer(plain), places):
        if not _BESIDES.search(plain, 0, term.start()):
            return str(term[0])
    quoted_title = _NAMED_BEFORE.search(text, first, start)
    clause = text[first:last].casefold()
    if not quoted_title or any(title.casefold() in clause for title in titles if title):
        return None
    return None if _BESIDES.search(text, first, quoted_title.start()) else quoted_title[1]


@lru_cache(256)
def _abroad(countries: tuple[str, ...]) -> re.Pattern[str]:
    """Return an expression for an issue in one of the countries; it never matches without any."""
    names = "|".join(map(re.escape, countries)) or r"(?!)"
    return re.compile(rf"\b(?:in|en|au|aux) (?:the )?(?:{names})\b", re.IGNORECASE)


def _without_titles(clause: str, titles: Iterable[str]) -> str:
    clause = _QUOTED.sub(_blank, clause)
    for title in filter(str.strip, titles):
        clause = re.sub(rf"(?<!\w){re.escape(title)}(?!\w)", _blank, clause, flags=re.IGNORECASE)
    return clause


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    first, last = max(0, start - _LONGEST), min(len(text), end + _LONGEST)
    before = (cut.end() for cut in _CUT.finditer(text, first, start) if _ends(cut))
    after = (cut.start() for cut in _CUT.finditer(text, end, last) if _ends(cut))
    return max(before, default=first), next(after, last)


def _ends(cut: re.Match[str]) -> bool:
    """Return whether a clause ends at a punctuation mark; a full stop may be inside a clause."""
    if cut[0] != ".":
        return True
    behind = _NEXT.match(cut.string, cut.end())
    is_short = _NO_END.search(cut.string, max(0, cut.start() - 6), cut.start())
    return bool(behind and not behind[1].islower() and not is_short)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _distance(word: re.Match[str], date: tuple[int, int]) -> int:
    """Return the distance of a word from a date in letters; a comma or full stop adds to it."""
    start, end = sorted((word.end(), date[0]) if word.end() <= date[0] else (date[1], word.start()))
    return end - start + _OF_COMMA * len(_PHRASE_END.findall(word.string, start, end))


_OF_COMMA = 40
"""The distance that a comma or a full stop adds, in letters."""
_PHRASE_END = re.compile("[,.]")


def _is_beside(word: re.Match[str], date: tuple[int, int]) -> bool:
    between = (word.end(), date[0]) if word.end() <= date[0] else (date[1], word.start())
    return not _YEAR.search(word.string, *between)


def doubt_in_heading(heading: str) -> str | None:
    """Return the word of a heading by which the dates below are those of no release, or None."""
    doubt = _OF_ELSE.search(heading)
    return doubt[0] if doubt and not says_release(heading) else None


def says_release(text: str) -> bool:
    """Return whether a text contains a word for a release."""
    return bool(_OF_RELEASE.search(_OF_ELSE.sub(" ", text)))


def without_release(text: str) -> str:
    """Return a text without its words for a release."""
    return _OF_RELEASE.sub(" ", text)


def without_names(text: str, subject: Subject) -> str:
    """Return the words of a text, spaced, without the names and numbers of a record."""
    plain = text
    for code in subject.editions.numbers:
        plain = re.sub(rf"(?i)(?<!\w){re.escape(code)}(?!\w)", " ", plain)
    words = without_release(spaced_words(plain))
    labels = (f" {word} " for word in label_words(subject))
    names = (*subject.titles, *subject.artist.spellings, *labels)
    for name in sorted(filter(str.strip, names), key=len, reverse=True):
        words = words.replace(name, " ")
    return words


def label_words(subject: Subject) -> frozenset[str]:
    """Return the words of the names of its labels, except words such as "Records"."""
    labels = subject.editions.labels
    return frozenset(word for label in labels for word in label.split()) - _OF_LABELS


_OF_LABELS = frozenset(["records", "record", "the", "music", "discos", "disques", "and", "of"])


# Statuses, countries and types.

_PARTED = re.compile(r"[,:()\[\]|/–—]| - ")
_WORDS = fact_words()["beside"]
_MONTHS = MONTHS.keys() - {word for kind in ("by", "from", "into") for word in _WORDS[kind]}
_ELISION = re.compile(r"\b([dl])['’](?=\w)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?\b")
_DAY = r"\d\d?(?:st|nd|rd|th)?"
_MIN_STEM = 3
_LOOKED_BACK = 700
"""The number of characters before a value that are searched for a denial."""


def is_labelled(line: str) -> bool:
    """Return whether a line is a label for a status, country or type, and a value."""
    label, colon, _ = line.partition(":")
    values = (word for name in ("primary_type", "status") for words in fact_words()[name].values()
              for word in words)  # fmt: skip
    return bool(colon) and (is_label(label) or spaced_words(label).strip() in values)


def is_label(text: str) -> bool:
    """Return whether a text is a label for a status, a country or a type."""
    return spaced_words(text).strip() in _WORDS["label"]


def says_plainly(clause: str, phrase: str, field: str, value: str, subject: Subject) -> bool:
    """Return whether a clause plainly states a value, in the words `phrase`, of a subject."""
    for start, end in find_words([fold(phrase)], clause):
        before, behind = (_marked(part, field, subject) for part in (clause[:start], clause[end:]))
        remainder = _without_titles(clause[:start] + clause[end:], subject.all_titles)
        is_plain = _form(field).match(f"{before} zvalue {behind} ".lstrip())
        if is_plain and not _has_other_value(remainder, field, value):
            return True
    return False


def _has_other_value(remainder: str, field: str, value: str) -> bool:
    """Return whether the remainder of a clause states another value; secondary types count."""
    fields = (PRIMARY_TYPE, SECONDARY_TYPES) if field == PRIMARY_TYPE else (field,)
    other_words = [word for kind in fields for name, words in fact_words()[kind].items()
              for word in words if name not in (value, "Song")]  # fmt: skip
    return any(
        not _FROM.search(remainder[:start]) for start, _ in find_words(other_words, remainder)
    )


def _marked(text: str, field: str, subject: Subject) -> str:
    """Return the words of a text, with a mark in place of each name, date and separator.

    If the release has no country, a status may be that of an issue in any country.
    """
    plain = _ELISION.sub(r"\1e ", text)
    editions = subject.editions
    for code in editions.numbers:
        plain = re.sub(rf"(?:\b[A-Z]{{1,5}}[ -])?(?i:{re.escape(code)})(?!\w)", " ztitle ", plain)
    for start, end in sorted(find_words([subject.title], plain), reverse=True):
        plain = f"{plain[:start]} ztitle {plain[end:]}"
    words = spaced_words(_PARTED.sub(" zcut ", _POSSESSIVE.sub("", plain)))
    codes = editions.countries or (fact_words()[COUNTRY] if field == STATUS else ())
    countries = (name for code in codes for name in fact_words()[COUNTRY].get(code, ()))
    marks = {
        "ztitle": subject.titles,
        "zartist": subject.artist.spellings,
        "zlabel": {*editions.labels, *(f" {label.split()[0]} " for label in editions.labels)},
        "zcountry": map(spaced_words, countries),
        "zdate": [f" {word} " for word in (*editions.years, *_MONTHS)],
    }
    for mark, names in marks.items():
        for name in sorted(names, key=len, reverse=True):
            words = words.replace(name, f" {mark} ") if name.strip() else words
    for name in subject.artist.spellings:
        endings = " ".join(map(_with_any_ending, name.split()))
        words = re.sub(rf" {endings} ", " zartist ", words) if name.strip() else words
    return " ".join(re.sub(rf"\b{_DAY} (?=zdate)|(?<=zdate) {_DAY}\b", " ", words).split())


def _with_any_ending(word: str) -> str:
    """Return an expression for a word of a name with any ending: Nová, Nové."""
    stem = word[: max(_MIN_STEM, len(word) - 2)]
    return re.escape(stem) + rf"\w{{0,{len(word) - len(stem) + 1}}}"


_NO_NAME = re.compile(
    r"(?i)(?:albums?|singles?|songs?|ep|lp|disc|disk|disco|official|lyrics|wiki|music|records?"
    r"|release|issued|produc|written|label|year)"
)
"""The beginning of a word that is not part of the name before it: `The Harbour Discography`."""


def begins_with_name(words: Sequence[str], name: str) -> bool:
    """Return whether words begin with a whole name, so that no capitalized word follows it."""
    name_words = name.split()[name.startswith(" the ") and len(name.split()) > 1 :]
    pattern = re.compile(rf" (?:the )?{' '.join(map(_with_any_ending, name_words))} ")
    for count in range(1, min(len(words), len(name_words) + 2) + 1):
        if pattern.fullmatch(spaced_words(" ".join(words[:count]))):
            following = words[count] if count < len(words) else ""
            goes_on = following[:1].isupper() and not _NO_NAME.match(following)
            return not (goes_on and words[count - 1][-1].isalnum())
    return False


@cache
def _form(field: str) -> re.Pattern[str]:
    """Return an expression for a clause with a value; it is fast because no word is ambiguous."""
    is_type = field not in (STATUS, COUNTRY)
    glue_words = {*_WORDS["glue"], *(() if is_type else _WORDS["copy"])}
    source_words = {*_WORDS["by"], *_WORDS["from"]}
    by = "|".join(source_words - glue_words)
    into = "|".join({*_WORDS["into"]} - glue_words)
    near = "ztitle" if field == COUNTRY else "(?:ztitle|zcountry)"
    place = "zdate|zlabel|zcountry|ztitle" + ("|zvalue" if field == COUNTRY else "")
    word = f"(?:{'|'.join(sorted(glue_words))}|zdate|zlabel|zcountry|ztitle|zcut) +"
    word = f"{word}|(?:{into}) +(?=(?:the )?(?:{place}))"
    glue = f"(?:{word})*"
    head = f"(?:{word}|zartist +|(?:{by}) +(?=zartist))*"
    of = "" if is_type else "(?:zartist|zlabel)"
    cut = r"(?:zcut|zartist)\b" if is_type else r"zcut\b"
    end = rf"{glue}(?:{cut}.*|(?:{'|'.join(source_words)}) {of}.*)?$"
    behind = ".*$" if is_type else f"(?: +{end}|$)"
    statement = f"{head}{near} +{head}"
    if field == COUNTRY:  # the country of the artist is not that of a record
        statement = f"{glue}{near} +{glue}|{statement}(?:released|issued|published|out) +{glue}"
    return re.compile(rf"(?:{statement})zvalue +{end}|{glue}zvalue +{glue}{near}{behind}")


@lru_cache(64)
def names_abroad(countries: frozenset[str], home: str) -> frozenset[str]:
    """Return the names of other countries; none if the record has no country or several."""
    if len(countries) != 1:
        return frozenset()
    near = {*countries, home, "XE", "XW"}
    foreign_names = (names for code, names in fact_words()[COUNTRY].items() if code not in near)
    return frozenset(name for names in foreign_names for name in names)


def is_from(before: str) -> bool:
    """Return whether a text ends in words such as `from the album`, so that a source follows."""
    return bool(_FROM.search(before))


def is_denied(text: str, start: int, end: int) -> bool:
    """Return whether a text denies the value at a place, or states it of something else."""
    behind = _OF_SOMETHING.match(text, end) or _NOT_SO.match(text, end)
    return bool(behind or _DENIED.search(text, max(0, start - _LOOKED_BACK), start))


def is_negated(clause: str) -> bool:
    """Return whether a clause has a word such as `not`."""
    return bool(_NEGATED.search(clause))


def is_of_other_year(text: str, subject: Subject) -> bool:
    """Return whether a text names years, but none of the subject's; `TCL 2000` is not a year."""
    text, own_years = fold(text), subject.editions.years
    for code in subject.editions.numbers - own_years:
        text = re.sub(rf"(?<!\w){re.escape(code)}(?!\w)", " ", text)
    years = set(_YEAR.findall(text))
    return bool(own_years and years) and years.isdisjoint(own_years)


def _any(kind: str) -> str:
    return f"(?:{'|'.join(_WORDS[kind])})"


_NEGATED = re.compile(rf"\b{_any('negated')}\b", re.IGNORECASE)
_FROM = re.compile(rf"\b{_any('from')}\W+(?:\w+\W+){{0,3}}$", re.IGNORECASE)
"""A song from the album, the single of the week: the type that follows is not the subject's."""
_NOT_SO = re.compile(
    r"\s*[:|(]\s*(?:no|none|not|false|never|nein|non|nee|[-–—✗✘×])(?!\w)", re.IGNORECASE
)
_DENIED = re.compile(
    r"\b(?:not|never|no|nor|nicht|kein\w*|pas|no|non|n[aã]o)\W+(?:\w+\W+){0,2}$", re.IGNORECASE
)
_OF_SOMETHING = re.compile(rf"\W+(?:\w+\W+)?{_any('no_record')}\b", re.IGNORECASE)
