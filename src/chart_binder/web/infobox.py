"""Infoboxes of Wikipedia articles and their rows with release dates.

A box belongs to a record only if its title, artist and type are the record's: an article may have a
box for each artist who recorded a song, or for an album and its single.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Final, NamedTuple

import tomli

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.patches import PRIMARY_TYPE, fact_words
from chart_binder.domain.vocabulary import find_words, letters_and_digits, spaced_words
from chart_binder.web.documents import SourceText
from chart_binder.web.judgement import other_events, other_records
from chart_binder.web.markup import attributes_of, tokens
from chart_binder.web.page_text import from_html
from chart_binder.web.passages import CELLS
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject

LINKED_WORDS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = tomli.loads(
    files("chart_binder.web").joinpath("linked.toml").read_text("utf-8")
)
"""Words and codes of Wikidata and Wikipedia, from package data."""

_BOX: Final = re.compile(r"<(?:table|div|aside)\b(?=[^>]{0,400}\b(?:[Ii]nfobox|sinottico))")
_BOX_CLASS: Final = re.compile(r"infobox(?:_v[0-9])?|sinottico")
_MOST_BOXES: Final = 12
_LONGEST_BOX: Final = 60_000
_ASIDE: Final = re.compile(r"\s*\([^()]*\)\s*$")
_YEAR: Final = re.compile(r"[0-9]{4}")
_ELISION: Final = re.compile(r"\b[dl]['’]")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


class ReleaseRow(NamedTuple):
    """The row with the release date in a record's infobox.

    If `date` is None, `problem` says why.
    """

    text: str
    date: PartialDate | None
    problem: str = ""


def read_release(
    document: SourceText, markup: str, subject: Subject, types: frozenset[str]
) -> ReleaseRow:
    """Return the row in the infobox of an article that states when the subject came out.

    `types` are the types of the article's subject as Wikidata states them. They count only if the
    box names no type.
    """
    problem = "the article has no infobox with a row of release"
    rows: list[ReleaseRow] = []
    for lines in _infoboxes(markup):
        dated = [at for at, line in enumerate(lines) if _label(line) in _release_labels()]
        if dated and (reason := _box_problem(lines, dated[0], document.title, subject, types)):
            problem = reason
        elif dated:
            rows += (_dated_row(document, lines[:at], lines[at], subject) for at in dated)
    if len({row[1:] for row in rows}) > 1:
        return ReleaseRow("", None, "the article has several rows of release for the record")
    return rows[0] if rows else ReleaseRow("", None, problem)


def _infoboxes(markup: str) -> Iterator[Sequence[str]]:
    """Yield the blocks of text of each infobox; skip a box that has no end within the limit."""
    for start in islice(_BOX.finditer(markup), _MOST_BOXES):
        pieces: list[str] = []
        depth, name = 0, ""
        for token in tokens(markup[start.start() : start.start() + _LONGEST_BOX]):
            if not token.name:
                pieces.append(token.text)
                continue
            if not name:
                name = token.name
                classes = attributes_of(token).get("class", "").lower().split()
                if not any(map(_BOX_CLASS.fullmatch, classes)):
                    break
            slash = "/" if token.closes else ""
            pieces.append(f"<{slash}{token.name}{token.text}>")
            depth += (-1 if token.closes else 1) * (token.name == name)
            if not depth:
                yield from_html("".join(pieces)).blocks
                break


def _label(line: str) -> str:
    label, *values = line.split(CELLS)
    return letters_and_digits(label) if len(values) == 1 else ""


@cache
def _release_labels() -> frozenset[str]:
    return frozenset(
        letters_and_digits(label) for row in LINKED_WORDS["release_rows"].values() for label in row
    )


def _box_problem(
    lines: Sequence[str], row: int, title: str, subject: Subject, types: frozenset[str]
) -> str | None:
    """Return why an infobox is not the subject's, or None. `row` is its first row of release."""
    head, expected = lines[:row], subject.primary_type
    if not any(is_titled(text, subject) for text in (*head, title)):
        return f"its infobox is not headed {subject.title!r}"
    if subject.artist.spellings and not any(_names_artist(line, subject) for line in lines):
        return f"its infobox does not name {subject.artist.name!r}"
    kind = _type_of_head(head, subject)
    if expected not in ({kind} if kind else types):
        names = kind or " and ".join(sorted(types)) or "no type"
        return f"its infobox names {names}, where the record is {expected or 'of no known type'}"
    return None


def is_titled(text: str, subject: Subject) -> bool:
    """Return whether a text is a title of the subject; words in brackets at its end may follow."""
    return any(spaced_words(title) in subject.titles for title in (text, _ASIDE.sub("", text)))


def _names_artist(line: str, subject: Subject) -> bool:
    names = subject.artist.spellings
    unspaced = ("".join(name.split()) for name in names if _UNSPACED.search(name))
    is_named = subject.has_artist_in(_ELISION.sub(" ", line))
    return is_named or any(name in letters_and_digits(line) for name in unspaced)


def _type_of_head(head: Sequence[str], subject: Subject) -> str:
    """Return the type that the head of a box names first: `Single by X from the album Y`."""
    text = "\n".join(line for line in head if not is_titled(line, subject))
    text = text.replace(subject.artist.name, " ") if subject.artist.name else text
    mentions = [
        (start, start - end, kind)
        for kind, words in fact_words()[PRIMARY_TYPE].items()
        for start, end in find_words(words, text)
    ]
    mentions += [
        (text.index(word), -len(word), kind)
        for kind, words in LINKED_WORDS["types"].items()
        for word in words
        if word in text
    ]
    return min(mentions, default=(0, 0, ""))[2]


def _dated_row(document: SourceText, head: Sequence[str], row: str, subject: Subject) -> ReleaseRow:
    """Return the row with its first date, if every year in it is part of a certain date."""
    # Without the rows above, which would be taken for names of columns.
    text = "\n".join([line for line in head if CELLS not in line] + [row])
    box = SourceText(document.addresses, document.title, text)
    place = Place(box, len(text) - len(row), len(text))
    if problem := next(other_records(place, subject), None):
        return ReleaseRow(row, None, problem)
    # Without its label, a word for release that would outweigh `reissue` after a date.
    value = SourceText(box.addresses, box.title, row.partition(CELLS)[2])
    mentions = value.mentions
    years = [year.start() for year in _YEAR.finditer(value.text)]
    is_read = all(any(date.start <= year < date.end for date in mentions) for year in years)
    is_certain = all(len(date.dates) == 1 and not date.is_span for date in mentions)
    if not (mentions and is_read and is_certain):
        return ReleaseRow(row, None, "the row of release has no date that is certain")
    certain, doubtful = list[PartialDate](), list[PartialDate]()
    for mention in mentions:
        is_doubtful = any(other_events(Place.of(value, mention), subject))
        (doubtful if is_doubtful else certain).extend(mention.dates)
    date = first_date(certain, doubtful)
    problem = "" if date else "the row of release may be of a reissue, or of another event"
    return ReleaseRow(row, date, problem)


def first_date(dates: Sequence[PartialDate], doubtful: Sequence[PartialDate]) -> PartialDate | None:
    """Return the earliest of `dates`, or None if a doubtful date may be earlier.

    If two dates may be the same day, return the vaguer one, which is true in any case.
    """
    first = min(dates, key=lambda date: (date.first, date.last), default=None)
    if first is None or any(date.first < first.first for date in doubtful):
        return None
    return first
