"""Whether the structure of a page (a row, a box or a list entry) states a value of a record.

A statement counts only if all of it is understood. A column, a word after the title or a name that
the evidence does not explain makes it an ordinary passage, which takes more than one site.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from functools import cache
from urllib.parse import urlsplit

from chart_binder.domain.dates_in_text import find_dates
from chart_binder.domain.patches import COUNTRY, PRIMARY_TYPE, SECONDARY_TYPES, STATUS, fact_words
from chart_binder.domain.vocabulary import (
    find_words,
    fold,
    letters_and_digits,
    plain_text,
    spaced_words,
    word_table,
)
from chart_binder.web import clauses
from chart_binder.web.credits import heads_box
from chart_binder.web.documents import SourceText
from chart_binder.web.passages import CELLS
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject

_TABLE = word_table("date_words")["structure"]
_NEUTRAL, _GLUE, _RELEASE = (
    frozenset(_TABLE[kind].split()) for kind in ("neutral", "glue", "release")
)
_FORMATS = re.compile(
    r"vinyl|vinil|винил|cd|lp|ep|mc|cassettes?|kassette|musicassetta|downloads?|digital|stereo|mono"
    r"|rpm|tours|giri|inch|stock copy|flac|compact disc|telechargement"
    r"|streaming|配信限定|b w|maxi|o s t|ost"
)
CODE = re.compile(r"(?<!\w)[A-ZА-ЯΑ-Ω]{1,5}[ -]?\d[\w-]*")
"""A catalogue number."""
_OTHER_SIDE = re.compile(r"(?i)/|\b(?:[bc] ?/ ?w|backed with)\b")
_NUMBERED = re.compile(r"(?i)\s*['’]?(?:\d{1,3}|[ivx]+)\b(?!\s*(?:[\"”″:.]|inch|rpm|tours|giri))")
"""A number right after a title, which makes it another title."""
_IMPRINT = re.compile(r"(?:[^\W\d_][\w.&’'-]+ ){1,3}\d[\d-]{2,}(?!\w)")
"""A label and its number."""
_YEARED = re.compile(r"\s(?:19|20)\d\d(?!\s*[-/.年\d])")
"""A year right after a title: `Blue Monday 1988`."""
_CLOSING = "\"'”’»」』*“„)"
_KANA = re.compile(r"[\u3041-\u3096]+")
"""Syllables that join Japanese words."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def states_value(place: Place, subject: Subject) -> bool:
    """Return whether structure plainly states a status, country or type at a place.

    The value must follow a label for it, or be below a column of that name, in an entry of a list
    or at the head of an infobox.
    """
    return heads_box(place, subject) or (
        place.is_structured and _is_labelled(place) and _value_is_plain(place, subject)
    )


def _is_labelled(place: Place) -> bool:
    """Return whether a label or a column name says that a value is a status, country or type."""
    if not place.is_row:
        return place.line.startswith("- ") or clauses.is_labelled(place.line)
    cells, columns, at = place.line.split(CELLS), place.column_names, place.column
    is_box = len(cells) == 2 and at == 1  # noqa: PLR2004 (a label and a value)
    head = columns[at : at + 1] if len(columns) == len(cells) else ()
    return any(map(clauses.is_label, (*head, *(cells[:1] if is_box else ()))))


def _value_is_plain(place: Place, subject: Subject) -> bool:
    """Return whether all the text around a status, country or type is understood.

    A labelled line needs no more. An entry of a list or a row of several cells must fit its heading
    and name the record with nothing else beside the name.
    """
    behind = place.offset + place.end - place.start
    line = f"{place.line[: place.offset]} {place.line[behind:]}"
    cells = line.split(CELLS)
    is_entry, is_of_columns = line.startswith("- "), len(cells) > 2  # noqa: PLR2004
    naming = [line] if is_entry else [cell for cell in cells if subject.is_named_in(cell)]
    if not (is_entry or is_of_columns or (naming and len(cells) > 1)):
        return True
    return _fits_heading(place, subject) and all(_names_it_alone(text, subject) for text in naming)


def states_date(place: Place, subject: Subject) -> bool:
    """Return whether structure states that the subject came out on the date at a place."""
    if not (place.is_structured and _fits_heading(place, subject)):
        return False
    columns, gaps = _columns(place, subject), place.line.count(CELLS)
    if len(columns) == gaps + 1:
        return _row_is_plain(place, columns, subject)
    if gaps == 1 or not (place.is_row or place.line.startswith("- ")):
        return _box_is_plain(place, subject)
    return _is_of_records(place, subject) and _names_it_alone(place.line, subject)


def _columns(place: Place, subject: Subject) -> Sequence[str]:
    """Return the names of a table's columns; none for a box, whose rows begin with a label."""
    first, _, values = place.line.partition(CELLS)
    is_box = CELLS not in values and _is_release_label(first, subject)
    return () if is_box else place.column_names


# Rows.


def _row_is_plain(place: Place, columns: Sequence[str], subject: Subject) -> bool:
    at, cells = place.column, place.line.split(CELLS)
    dates = _dates_below(columns[at], _country_words(subject))
    if dates is _Dates.OF_OTHER_EVENTS and not clauses.says_release(cells[at]):
        return False
    if dates is _Dates.OF_ANY_EVENT and not _is_of_records(place, subject):
        return False
    if not _is_explained_prose(_beside_date(place), subject):
        return False
    other_cells = [pair for n, pair in enumerate(zip(columns, cells, strict=True)) if n != at]
    if any(_is_of_other_issue(head, cell, subject) for head, cell in other_cells):
        return False
    titles = [pair for pair in other_cells if not _is_of_companion(pair[0], subject)]
    is_named = any(subject.is_named_in(cell) for _, cell in titles)
    checked = titles if is_named else other_cells
    return all(
        any(_is_column_of(kind, head) for kind in ("label", "number", "artist"))
        or _names_it_alone(cell, subject)
        for head, cell in checked
    )


def _is_of_companion(head: str, subject: Subject) -> bool:
    """Return whether a column is about a companion of the record: its album, its other side."""
    types = {*_types_in(head, subject)}
    is_other = bool(types and subject.primary_type) and types.isdisjoint(_own_types(subject))
    return is_other or _is_column_of("beside", head)


def _beside_date(place: Place) -> str:
    """Return what else is in the cell of a date, up to a semicolon on each side."""
    line, at = place.line, place.offset
    before, behind = line[:at].rpartition(CELLS)[2], line[at:].partition(CELLS)[0]
    label, colon, value = before.partition(":")
    before = value if colon and clauses.says_release(label) else before
    return before.rpartition(";")[2] + behind.partition(";")[0]


def _own_types(subject: Subject) -> frozenset[str]:
    """Return the types that a record may be called by: a single is a song, too."""
    return frozenset({subject.primary_type, *([_SONG] if subject.primary_type == "Single" else [])})


def _fits_heading(place: Place, subject: Subject) -> bool:
    """Return whether all headings above, or the page's title, may be headings of the record.

    They name its type or none, and all their words are understood: not `Videos` or `With The Pell
    Band`.
    """
    headings = place.document.headings(place.start, of_table=False)
    texts = headings or (_without_site(place.document),)
    return all(_may_stand_above(text, subject) for text in texts) and _tells_type(place, subject)


def _may_stand_above(text: str, subject: Subject) -> bool:
    types = {*_types_in(text, subject)} - {_SONG}
    if types and subject.primary_type and subject.primary_type not in types:
        return False
    if subject.primary_type and any(find_words(_other_kinds(subject), text)):
        return False
    words = spaced_words(_without_names(text, subject))
    remainder = _word_pattern("records").sub(" ", _word_pattern("headings").sub(" ", words))
    labels = (label.strip() for label in subject.editions.labels if _UNSPACED.search(label))
    for word in (*_TABLE["records, unspaced"], *_TABLE["headings, unspaced"], *labels):
        remainder = remainder.replace(word, " ")
    series = {re.split(r"[\W\d]", code, maxsplit=1)[0] for code in subject.editions.numbers}
    remainder = " ".join(word for word in remainder.split() if word not in series)
    is_named = subject.is_named_in(text) and _names_it_alone(text, subject)
    return is_named or _is_explained_prose(remainder, subject)


def _other_kinds(subject: Subject) -> Iterator[str]:
    """Yield the words of the secondary types that a record does not have."""
    kinds = subject.kind.split(" + ")
    words = fact_words()[SECONDARY_TYPES].items()
    return (word for name, words_of_kind in words if name not in kinds for word in words_of_kind)


def _is_explained_prose(text: str, subject: Subject) -> bool:
    """Return whether a text is explained except for words such as `on` and `the`."""
    words = _KANA.sub(" ", clauses.without_release(text)).split()
    return _is_explained(" ".join(word for word in words if fold(word) not in _GLUE), subject)


def _tells_type(place: Place, subject: Subject) -> bool:
    """Return whether type or number identify the record, if another one has the same title."""
    if not subject.other_records.types:
        return True
    texts = (*place.above, place.line, *place.box)
    own_types = _own_types(subject)
    is_typed = any(own_types & {*_types_in(text, subject)} for text in texts)
    return is_typed or subject.has_number_in(place.line)


def _without_site(document: SourceText) -> str:
    """Return the title of a page without the name of its site."""
    host = (urlsplit(document.address).hostname or "").replace("-", "")
    pieces = re.split(r"\s[-–—|]\s", document.title)
    return " - ".join(
        piece for piece in pieces if (fold(piece).split() or [""])[0].strip(",") not in host
    )


class _Dates(Enum):
    """What the name of a column or row says about its dates."""

    OF_RELEASE = auto()
    OF_ANY_EVENT = auto()
    OF_OTHER_EVENTS = auto()


def _dates_below(head: str, countries: frozenset[str]) -> _Dates:
    words = {*spaced_words(head).split()}
    if words and words <= _NEUTRAL:
        return _Dates.OF_ANY_EVENT
    if not clauses.says_release(head) and words.isdisjoint(_RELEASE):
        return _Dates.OF_OTHER_EVENTS
    plain = clauses.without_release(head)
    unknown = {*spaced_words(plain).split()} - _GLUE - _NEUTRAL - _RELEASE - countries
    return _Dates.OF_OTHER_EVENTS if unknown else _Dates.OF_RELEASE


def _is_release_label(label: str, subject: Subject) -> bool:
    return _dates_below(label, _country_words(subject)) is _Dates.OF_RELEASE


def _country_words(subject: Subject) -> frozenset[str]:
    """Return the words for the country of first issue: the artist's, else the only one."""
    home, countries = subject.artist.country, subject.editions.countries
    countries = countries if countries and home not in countries else frozenset({home})
    names = (name for code in countries for name in (code, *fact_words()[COUNTRY].get(code, ())))
    is_clear = len(countries) == 1
    return frozenset(word for name in names if is_clear for word in spaced_words(name).split())


def _is_of_other_issue(head: str, cell: str, subject: Subject) -> bool:
    """Return whether a cell names a label or number that is not in the evidence."""
    editions = subject.editions
    if editions.numbers and cell.strip() and _is_column_of("number", head):
        number, codes = letters_and_digits(cell), map(letters_and_digits, editions.numbers)
        return not any(code in number or number in code for code in codes)
    if not editions.labels or not _is_column_of("label", head):
        return False
    words = {*spaced_words(cell).split()}
    is_other = bool(words) and words.isdisjoint(clauses.label_words(subject))
    return is_other and not subject.has_number_in(cell)


# Boxes.


def _box_is_plain(place: Place, subject: Subject) -> bool:
    """Return whether a box has the record's type or artist, and nothing of another record."""
    is_release = _is_release_label(_label(place.line), subject)
    if not (is_release and _is_explained_prose(_beside_date(place), subject)):
        return False
    if _is_doubted(place, subject):
        return False
    above = [text for text in place.above if CELLS not in text]
    cells = [cell for row in place.box for cell in row.split(CELLS)]
    types = {name for text in (*cells, *above) for name in _types_in(text, subject)}
    own_type = subject.primary_type
    heads = [line for line in place.box if _label(line) == line]
    is_song = {name for text in heads for name in _types_in(text, subject)} == {_SONG}
    if own_type and (is_song or types - {_SONG}) and own_type not in types:
        return False  # the box of a song has the date of its album
    if types or any(map(subject.has_artist_in, above)) or _is_introduced(place, subject):
        return True
    labels = clauses.label_words(subject)
    return any(labels & {*spaced_words(cell).split()} for cell in cells)


_SONG = "Song"


def _label(line: str) -> str:
    return line.partition(CELLS if CELLS in line else ": ")[0]


def _types_in(text: str, subject: Subject) -> Iterator[str]:
    """Yield the types that a text names, except in phrases such as `from the album X`."""
    plain = _without_names(text, subject)
    for name, words in fact_words()[PRIMARY_TYPE].items():
        spans = find_words(words, plain)
        is_in_word = any(word in plain for word in words if _UNSPACED.match(word))
        if is_in_word or any(not clauses.is_from(plain[:start]) for start, _ in spans):
            yield name


def _is_doubted(place: Place, subject: Subject) -> bool:
    """Return whether a line of the box says that it is of another country or was never on sale.

    A row whose label already says what it is about does not count: `Recorded | at live sessions`.
    """
    for line in (line for line in place.box if not find_dates(line)):
        label = _label(line)
        value = line.removeprefix(label) or _without_names(line, subject)
        if _is_column_of("country", label) and not _is_explained(value, subject):
            return True
        is_explicit = _is_column_of("label", label) or clauses.doubt_in_heading(label)
        if (label == line or not is_explicit) and clauses.doubt_in_heading(value):
            return True
    return False


def _is_introduced(place: Place, subject: Subject) -> bool:
    """Return whether a line of the page names the record, its artist and a type."""
    return "Soundtrack" not in subject.kind and any(
        _has_name(subject.titles, line)
        and _has_name(subject.artist.spellings, line)
        and any(_types_in(line, subject))
        for line in place.document.text.split("\n")
    )


def _has_name(names: Iterable[str], line: str) -> bool:
    """Return whether a line has a name, given as `spaced_words`.

    In scripts without spaces the name may be a part of a word.
    """
    words = spaced_words(line)
    return any((name.strip() if _UNSPACED.search(name) else name) in words for name in names)


# What is beside a title.


def _names_it_alone(text: str, subject: Subject) -> bool:
    """Return whether a text names the record and all else in it is explained."""
    if any(_YEARED.match(text[end:].lstrip(_CLOSING)) for _, end in _spans(subject.titles, text)):
        return False
    text = _without_dates(text)
    spans = [*_spans(subject.titles, text)]
    for start, end in spans:
        behind = _OTHER_SIDE.split(text[end:].lstrip(_CLOSING))[0]
        if _NUMBERED.match(behind):
            continue
        if _is_explained(text[:start].removeprefix("- "), subject) and _is_explained_prose(
            behind, subject
        ):
            return True
    return not (spans or subject.is_named_in(text)) and _is_explained(text, subject)


def _spans(names: Iterable[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of names, given as `spaced_words`, in the original text."""
    normal, places = plain_text(text)
    for name in names:
        words = r"[\W_]+".join(map(re.escape, name.split()))
        words = re.sub(r"(?<=\+)and(?=\[)", "(?:and|&)", words)
        for match in re.finditer(rf"(?<!\w){words}(?!\w)", normal):
            yield places[match.start()], places[match.end() - 1] + 1


def _is_explained(text: str, subject: Subject) -> bool:
    """Return whether a text has only words of the evidence, dates, types and formats."""
    remainder = CODE.sub(" ", _without_dates(text))
    if not subject.editions.labels:
        remainder = _IMPRINT.sub(" ", remainder)
    remainder = clauses.without_names(remainder, subject)
    for kind in _type_words(subject):
        remainder = remainder.replace(spaced_words(kind), " ")
    unexplained = _FORMATS.sub(" ", remainder) if remainder.strip() else ""
    words = (word for word in unexplained.split() if len(word) > 1)
    return all(any(map(str.isdigit, word)) for word in words)


def _without_dates(text: str) -> str:
    for mention in reversed(find_dates(text)):
        text = f"{text[: mention.start]} {text[mention.end :]}"
    return text


@cache
def _type_words(subject: Subject) -> Sequence[str]:
    """Return the words for a record's types, or for all types if its type is unknown."""
    primary, secondary = fact_words()[PRIMARY_TYPE], fact_words()[SECONDARY_TYPES]
    kinds = subject.kind.split(" + ") if subject.primary_type else [*primary, *secondary]
    words = [*primary["Song"]]
    for kind in kinds:
        words += [*primary.get(kind, ()), *secondary.get(kind, ())]
    words += ["original", "various", "worldwide", *fact_words()[STATUS]["Official"]]
    return sorted([*words, *_country_words(subject)], key=len, reverse=True)


# What is above a statement.


def _is_of_records(place: Place, subject: Subject) -> bool:
    """Return whether the line or the text above it says that records or releases are listed."""
    texts = (*place.above, place.line)
    # Not the names of columns, which may name charts beside dates.
    headings = (text for text in place.above if CELLS not in text)
    if any(clauses.doubt_in_heading(_without_names(text, subject)) for text in headings):
        return False
    return any(
        clauses.says_release(plain) or lists_records(plain)
        for plain in (_without_names(text, subject) for text in texts)
    )


def lists_records(text: str) -> bool:
    """Return whether a text has a word for a list of records, such as `discography`."""
    if any(word in text for word in _TABLE["records, unspaced"]):
        return True
    return bool(_word_pattern("records").search(spaced_words(text)))


def _without_names(text: str, subject: Subject) -> str:
    names = [*find_words(filter(None, (*subject.all_titles, subject.artist.name)), text)]
    for start, end in sorted(names, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text


@cache
def _column_pattern(kind: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(_TABLE[kind])})")


def _is_column_of(kind: str, head: str) -> bool:
    return bool(_column_pattern(kind).fullmatch(spaced_words(head).strip()))


@cache
def _word_pattern(kind: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_column_pattern(kind).pattern})(?!\w)")
