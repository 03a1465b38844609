"""Words of values: how texts name a field and its value, and what a clause says of one.

They are the words of a status, a country, a type or a premiere; date_words.py has those of dates.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from chart_binder.domain.date_words import doubt_in_heading
from chart_binder.domain.naming import Subject, spaced_words
from chart_binder.domain.patches import COUNTRY, PRIMARY_TYPE, STATUS
from chart_binder.domain.vocabulary import country_code, fold, word_table

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\W_]+")
_LOOKED_BACK = 700
"""How many characters before a value are looked at for a denial."""


@cache
def fact_words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the words that say a value, folded, by field and value; from package data."""
    return word_table("fact_words")


def is_release_date(field: str) -> bool:
    """Return whether a field is the date of a release rather than of another event."""
    stems = fact_words()["date_field"]
    told, other = (
        re.search("|".join(stems[kind]), field, re.IGNORECASE) for kind in ("date", "other")
    )
    return bool(told) and not other


def field_named(written: str) -> str | None:
    """Return the field that moves something and has a name as models write it; None for none."""
    name = _SEPARATORS.sub(" ", _CAMEL.sub(" ", written)).strip().casefold()
    return next((known for known, names in fact_words()["field"].items() if name in names), None)


def named_value(name: str, written: str) -> str | None:
    """Return the value of a field that a text names; None for none."""
    plain = " ".join(fold(written).strip(" .\"'").split())
    if name == COUNTRY and re.fullmatch(r"[a-z]{2}", plain):
        return country_code(plain)
    for value, words in fact_words()[name].items():
        if (plain == fold(value) or plain in words) and value != "Song":
            return value
    return None


@lru_cache(64)
def names_abroad(own: frozenset[str], home: str) -> frozenset[str]:
    """Return the names of countries other than a record's own and the artist's.

    They are none where the record has no country, or several.
    """
    near = {*own, home, "XE", "XW"}
    others = (names for code, names in fact_words()[COUNTRY].items() if code not in near)
    return frozenset(name for names in others for name in names) if len(own) == 1 else frozenset()


# What a clause says.


def is_denied(text: str, start: int, end: int) -> bool:
    """Return whether a value at a place of a text is denied, or said of what is no record."""
    behind = _OF_SOMETHING.match(text, end) or _NOT_SO.match(text, end)
    return bool(behind or _DENIED.search(text, max(0, start - _LOOKED_BACK), start))


def doubts_in_clause(
    clause: str, said: str, field: str, value: str, subject: Subject, *, is_of_other: bool
) -> Iterator[str]:
    """Yield why a clause, which says a value in the words `said`, does not say it of the subject.

    The field is a status, country or type; `is_of_other` says that its line names another record.
    """
    before, _, behind = clause.partition(said)
    if doubt := doubt_in_heading(clause):
        yield f"{value} is said of something else ({doubt!r})"
    if _NEGATED.search(clause) or (field == PRIMARY_TYPE and _FROM.search(before)):
        yield f"{value} is denied there, or said of something else"
    if field == COUNTRY and _OF_PEOPLE.match(behind):
        yield f"{value} is said of the artist"
    is_named = subject.is_named_in(clause) or any(code in fold(clause) for code in subject.codes)
    words = spaced_words(before if field == PRIMARY_TYPE else clause)
    if (is_of_other and not is_named) or any(title in words for title in subject.others):
        yield "the clause names another candidate"
    name = _NAME.match(behind)
    if field == PRIMARY_TYPE and name and not _begins(name[2], subject.own):
        is_titled = name[1] or _begins(name[2], subject.others) or _ARTICLE.search(before)
        if is_titled:
            yield f"{value} is said of ‹{' '.join(name[2][:40].split())}›"
    if field == STATUS and is_of_other_year(clause, subject):
        yield f"it is said of another year than that of {subject.title!r}"


def is_of_other_year(text: str, subject: Subject) -> bool:
    """Return whether a text names years, and none of the subject's.

    Its catalogue number is no year: `TCL 2000`.
    """
    text = fold(text)
    for code in subject.codes - subject.years:
        text = re.sub(rf"(?<!\w){re.escape(code)}(?!\w)", " ", text)
    years = set(_YEAR.findall(text))
    return bool(subject.years and years) and years.isdisjoint(subject.years)


def _begins(text: str, titles: Iterable[str]) -> bool:
    return any(spaced_words(text).startswith(title) for title in titles)


_WORDS = word_table("value_words")


def _any(kind: str) -> str:
    """Return the pattern of the words of one kind."""
    return f"(?:{'|'.join(_WORDS[kind])})"


_NEGATED = re.compile(rf"\b{_any('negated')}\b", re.IGNORECASE)
_FROM = re.compile(rf"\b{_any('from')}\W+(?:\w+\W+){{0,3}}$", re.IGNORECASE)
"""A song from the album, the single of the week: what follows is no type of the subject."""
_OF_PEOPLE = re.compile(rf"(?:[ -][\w&-]+){{0,3}}?[ -]{_any('people')}\b", re.IGNORECASE)
_NAME = re.compile(r"\s+([\"'“‘«„]?)(?=[A-ZÀ-ÖØ-Þ])(.{1,200})", re.DOTALL)
_ARTICLE = re.compile(rf"\b{_any('article')}\W+$", re.IGNORECASE)
_NOT_SO = re.compile(
    r"\s*[:|(]\s*(?:no|none|not|false|never|nein|non|nee|[-–—✗✘×])(?!\w)", re.IGNORECASE
)
_DENIED = re.compile(
    r"\b(?:not|never|no|nor|nicht|kein\w*|pas|no|non|n[aã]o)\W+(?:\w+\W+){0,2}$", re.IGNORECASE
)
_OF_SOMETHING = re.compile(rf"\W+(?:\w+\W+)?{_any('no_record')}\b", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
