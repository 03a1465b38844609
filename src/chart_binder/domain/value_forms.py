"""Sentences that say a status, country or type of a release plainly.

Nobody reads such a fact a second time, so in running text it counts in closed forms alone: "X is a
single", "the single X", "X (LK 88, UK)", "official release of X". One word that is not known in
between, and the sentence does not count.
"""

import re
from functools import cache

from chart_binder.domain.month_names import MONTHS
from chart_binder.domain.naming import Subject, find_words, spaced_words
from chart_binder.domain.patches import COUNTRY, STATUS
from chart_binder.domain.value_words import fact_words
from chart_binder.domain.vocabulary import fold, word_table

_CUT = re.compile(r"[,:()\[\]|/–—]| - ")
_WORDS = word_table("value_words")
_POSSESSIVE = re.compile(r"['’]s?\b")
_DAY = r"\d\d?(?:st|nd|rd|th)?"


def is_labelled(line: str) -> bool:
    """Return whether a line is a label for a status, country or type, and a value."""
    label, colon, _ = line.partition(":")
    words = spaced_words(label)
    values = (word for name in ("primary_type", "status") for each in fact_words()[name].values()
              for word in each)  # fmt: skip
    return bool(colon) and words.strip() in {*_WORDS["label"], *values}


def says_plainly(clause: str, said: str, field: str, value: str, subject: Subject) -> bool:
    """Return whether a clause that has a value in the words `said` plainly says it of a subject."""
    form = _form(field)
    return any(
        form.match(
            _marked(clause[:start], subject) + " zvalue " + _marked(clause[end:], subject) + " "
        )
        and not _has_other_value(clause[:start] + clause[end:], field, value)
        for start, end in find_words([fold(said)], clause)
    )


def _has_other_value(rest: str, field: str, value: str) -> bool:
    """Return whether the rest of a clause says another value, but that of what it is from."""
    others = [word for name, words in fact_words()[field].items() for word in words
              if name not in (value, "Song")]  # fmt: skip
    from_it = re.compile(rf"\b(?:{'|'.join(_WORDS['from'])})\W+(?:\w+\W+){{0,3}}$", re.IGNORECASE)
    return any(not from_it.search(rest[:start]) for start, _ in find_words(others, rest))


def _marked(text: str, subject: Subject) -> str:
    """Return the words of a text with one mark for each name, date and sign between."""
    plain = text
    for code in subject.codes:
        plain = re.sub(rf"(?:\b[A-Z]{{1,5}}[ -])?(?i:{re.escape(code)})(?!\w)", " ztitle ", plain)
    for start, end in sorted(find_words([subject.title], plain), reverse=True):
        plain = f"{plain[:start]} ztitle {plain[end:]}"
    words = spaced_words(_CUT.sub(" zcut ", _POSSESSIVE.sub("", plain)))
    countries = (name for code in subject.countries for name in fact_words()[COUNTRY].get(code, ()))
    marks = {
        "ztitle": subject.own,
        "zartist": subject.artists,
        "zlabel": {*subject.labels, *(f" {each.split()[0]} " for each in subject.labels)},
        "zcountry": map(spaced_words, countries),
        "zdate": [f" {each} " for each in (*subject.years, *MONTHS)],
    }
    for mark, names in marks.items():
        for name in sorted(names, key=len, reverse=True):
            words = words.replace(name, f" {mark} ") if name.strip() else words
    return " ".join(re.sub(rf"\b{_DAY} (?=zdate)|(?<=zdate) {_DAY}\b", " ", words).split())


@cache
def _form(field: str) -> re.Pattern[str]:
    """Return the forms in which a clause says a value of a field, with names as marks.

    No word may be read in two ways, so that no clause takes long.
    """
    is_type = field not in (STATUS, COUNTRY)
    known = {*_WORDS["glue"], *(() if is_type else _WORDS["copy"])}
    by = "|".join({*_WORDS["by"], *_WORDS["from"]} - known)
    into = "|".join({*_WORDS["into"]} - known)
    near = "ztitle" if field == COUNTRY else "(?:ztitle|zcountry)"
    place = "zdate|zlabel|zcountry|ztitle" + ("|zvalue" if field == COUNTRY else "")
    word = f"(?:{'|'.join(sorted(known))}|zdate|zlabel|zcountry|ztitle|zcut) +"
    word = f"{word}|(?:{into}) +(?=(?:the )?(?:{place}))"
    glue = f"(?:{word})*"
    head = f"(?:{word}|zartist +|(?:{by}) +(?=zartist))*" if field != COUNTRY else glue
    of = "" if is_type else "(?:zartist|zlabel)"
    end = rf"{glue}(?:zcut\b.*|(?:{by}|de|von) {of}.*)?$"
    behind = ".*$" if is_type else f"(?: +{end}|$)"
    return re.compile(rf"{head}{near} +{glue}zvalue +{end}|{glue}zvalue +{glue}{near}{behind}")
