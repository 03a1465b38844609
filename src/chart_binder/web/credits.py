"""Credits: the artists to whom a document credits a record."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from chart_binder.domain.patches import PRIMARY_TYPE, fact_words
from chart_binder.domain.vocabulary import find_words, fold, spaced_words, word_table
from chart_binder.web import clauses
from chart_binder.web.documents import SourceText
from chart_binder.web.passages import CELLS
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject

_CREDIT = re.compile(r"( [-–—] )")
_OF = r"(?:by|von|par|por|av|af|door|de|del|di|van)"
_CAPITAL = r"[A-ZÀ-ÞĀ-ŽΑ-ΩА-Я]"
_CREDITED = re.compile(rf"(\w*)\W?\s{_OF} (?=(?:[^\W\dA-Z][\w’'-]* ){{0,4}}{_CAPITAL})")
"""The words before a capitalized name: `by the group The Shrikes`."""
_OTHER_WORK = re.compile(
    r"(?i)(?:written|mixed|mastered|engineered|direct|design|edited|posted|review|photo|arran"
    r"|kompon|compos|compuest|produ[cz]|prodott|regiss?tr|escri|[ée]crit|scritt|geschrieben)"
)
_VERSION = re.compile(r"(?i)(?:version|cover|rendition)$")
_CREDIT_LABEL = re.compile(rf"\s{_OF}\s*$")
_HEADED = re.compile(rf"(?m)^(?:[\w-]+ ){{1,4}}?{_OF}(?: \|)? (?={_CAPITAL})[^.!?|:\n]*$")
_WHOSE = re.compile(
    r"\((?=[A-Z])([^()\d]+) (?:song|single|album|EP)\)"
    rf"|\((?:[^\W\d_]+ ){{1,3}}{_OF} (?={_CAPITAL})([^()\d]+)\)"
)
"""An artist in a page's title: `(Queen song)`, `(álbum de Mecano)`."""
_ARTIST_COLUMN = re.compile(
    rf"\s*(?:{'|'.join(map(fold, word_table('date_words')['structure']['artist']))})\s*"
)
_BEFORE_NAME = 5
"""The most words that may precede a name: `the English rock band`."""
_BEFORE_OTHER_NAME = frozenset(["and", "of", "with", "from", "for", "by", "und", "mit", "et", "y"])
_NAME_END = re.compile(r"[^\w\s&’'-]|\s(?:from|in|on|for|with|and|aus|auf)\s")
_MARKS_BEHIND = " ,.;:!?()[]|/\"”'’»*"
_PAUSE = tuple(_MARKS_BEHIND[1:-2])


def other_credits(place: Place, subject: Subject) -> Iterator[str]:
    """Yield other artists to whom a page's title, row, clause or infobox credits the record."""
    document, line = place.document, place.line
    before, dash, behind = (*_CREDIT.split(document.title, maxsplit=1), "", "")[:3]
    is_site = spaced_words(before).replace(" ", "") in document.address
    names = [whose[1] or whose[2] for whose in _WHOSE.finditer(document.title)]
    names += [document.title] if dash and subject.is_named_in(behind) and not is_site else []
    if place.is_row:
        columns = () if _is_of_box(line) else place.column_names
        cells = zip(columns, line.split(CELLS), strict=False)
        filled = (pair for pair in cells if re.search(r"\w", pair[1]))  # not a ditto mark
        names += [cell for head, cell in filled if _ARTIST_COLUMN.fullmatch(fold(head))]
        is_bare = subject.is_named_in(line) and not subject.has_artist_in(line)
        names += ["another artist"] if is_bare and _is_credited(document, subject) else []
    if subject.artist.spellings:
        yield from (name for name in names if not _names_artist_or_label(name, subject))
    if not place.is_row:
        yield from other_names_credited(place.clause, subject, of_record=subject.is_listed)
    for heading in () if subject.is_listed else document.headings(place.start, of_table=False):
        yield from other_names_credited(heading, subject)
    if place.is_row and subject.artist.spellings:
        yield from _box_credits(place, subject)
    if not place.is_prose:
        heads = (
            head[0].replace(CELLS, " ") for head in _HEADED.finditer(document.text, 0, place.end)
        )
        *_, nearest = ["", *(head for head in heads if _names_type(head))]
        yield from other_names_credited(nearest, subject)


def _is_of_box(line: str) -> bool:
    """Return whether a row is a label and a value: its first cell says what happened on a date."""
    label, _, value = line.partition(CELLS)
    is_label = clauses.says_release(label) or clauses.doubt_in_heading(label) is not None
    return CELLS not in value and is_label


def _box_credits(place: Place, subject: Subject) -> Iterator[str]:
    """Yield other artists to whom the box of a row credits the record.

    The box names them after a label: `Single by | X`, `Artist | X`.
    """
    for row in place.box:
        label, _, value = row.partition(CELLS)
        is_typed = _names_type(label) and _CREDIT_LABEL.search(label)
        is_credit = is_typed or _ARTIST_COLUMN.fullmatch(fold(label))
        if value and is_credit and not _names_artist_or_label(value, subject):
            yield value


def heads_box(place: Place, subject: Subject) -> bool:
    """Return whether a place begins the head of the artist's infobox: `Studio album by X`."""
    text, (_, end) = place.document.text, place.document.line(place.start)
    credit = re.match(rf"\s{_OF} (.+)", text[place.end : end])
    is_above_row = CELLS in text[end + 1 :].partition("\n")[0]
    if credit is None or place.offset or not is_above_row:
        return False
    return _is_artist(credit[1].split(), subject, 0)


def _names_type(text: str) -> bool:
    return any(find_words(chain.from_iterable(fact_words()[PRIMARY_TYPE].values()), text))


def other_names_credited(text: str, subject: Subject, *, of_record: bool = False) -> Iterator[str]:
    """Yield the name in the first credit of a text if it is not the artist's.

    A credit `of_record` directly follows a title or a type: not `inspired by Bach`.
    """
    name_spans = [*find_words(filter(None, (*subject.all_titles, subject.artist.name)), text)]
    titles = {end for _, end in find_words(subject.all_titles, text)}
    for credit in _CREDITED.finditer(text) if subject.artist.spellings else ():
        is_in_name = any(start <= credit.end() - 1 < end for start, end in name_spans)
        behind = text[credit.end() :]
        is_other = _OTHER_WORK.match(credit[1]) or _names_type(behind.split(" ", 1)[0])
        is_behind = len(text[: credit.end(1)].rstrip(_MARKS_BEHIND)) in titles
        is_of_record = is_behind or _VERSION.search(credit[1]) or _names_type(credit[1])
        if is_in_name or is_other or (of_record and not is_of_record):
            continue
        if _is_artist(behind.split(), subject):
            return
        name = " ".join(_NAME_END.split(behind, maxsplit=1)[0].split()[:_BEFORE_NAME])
        evidence_names = (*subject.editions.labels, *subject.titles, *subject.other_records.titles)
        if not any(known_name in spaced_words(name) for known_name in evidence_names):
            yield name


def _names_artist_or_label(text: str, subject: Subject) -> bool:
    """Return whether a text has a label of the record or exactly the artist's name."""
    last, comma, first = text.partition(", ")
    words = [*text.split(), *(f"{first} {last}".split() if comma else ())]  # Whitcombe, Ora
    is_named = any(_is_artist(words[at:], subject, 0) for at in range(len(words)))
    return is_named or any(label in spaced_words(text) for label in subject.editions.labels)


def _is_artist(words: Sequence[str], subject: Subject, skipped: int = _BEFORE_NAME) -> bool:
    """Return whether words begin with the artist's name; up to `skipped` words may precede it.

    A longer name is another artist's: `The Velvet Harbour Choir`. Articles do not count.
    """
    for at in range(min(skipped, len(words)) + 1):
        for name in subject.artist.spellings:
            if clauses.begins_with_name(words[at:], name):
                return True
        if at < len(words) and (words[at] in _BEFORE_OTHER_NAME or words[at].endswith(_PAUSE)):
            return False
    return False


@lru_cache(256)
def _is_credited(document: SourceText, subject: Subject) -> bool:
    rows = (row for row in document.text.split("\n") if CELLS in row)
    return any(subject.has_artist_in(row) and subject.is_named_in(row) for row in rows)
