"""Places of quotes and values in documents: their surroundings, and the record they are about."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, takewhile
from operator import attrgetter
from urllib.parse import unquote, urlsplit

from chart_binder.domain.dates_in_text import Mention
from chart_binder.domain.patches import COUNTRY, PREMIERE, PRIMARY_TYPE, STATUS, Patch, fact_words
from chart_binder.domain.vocabulary import find_words, fold, spaced_words, word_table
from chart_binder.web import clauses
from chart_binder.web.documents import MAX_PASSAGE, SourceText
from chart_binder.web.passages import CELLS, GAPS, may_be_caption
from chart_binder.web.subject import Subject

_LONGEST_ENTRY = 150
"""The most characters of a list entry that states a fact; a longer one tells a story."""


@dataclass(frozen=True)
class Place:
    """A place in a document: a value or a quote, with what surrounds it."""

    document: SourceText
    start: int
    end: int

    @property
    def passage(self) -> str:
        """The text around the place, with the page's title and headings."""
        return self.document.passage(self.start, self.end)

    @property
    def value(self) -> str:
        """The text of the place itself."""
        return self.document.text[self.start : self.end]

    @property
    def line(self) -> str:
        """The line in which it begins."""
        return self.document.text[slice(*self.document.line(self.start))]

    @property
    def offset(self) -> int:
        """How many characters of its line precede it."""
        return self.start - self.document.line(self.start)[0]

    @property
    def column(self) -> int:
        """How many cells of its row precede its own."""
        return self.line[: self.offset].count(CELLS)

    @property
    def column_names(self) -> Sequence[str]:
        """The names of the columns of its table; empty if nothing names them."""
        headings = reversed(self.document.headings(self.start))
        return next((heading.split(CELLS) for heading in headings if CELLS in heading), ())

    @property
    def clause(self) -> str:
        """The clause that contains it."""
        return clauses.clause_around(self.document.text, self.start, self.end)

    @property
    def statement(self) -> str:
        """The row that contains it; outside of rows, the clause."""
        return self.line if self.is_row else self.clause

    @property
    def begins_line(self) -> bool:
        """Whether it is at the beginning of its line."""
        return self.offset == 0

    @property
    def above(self) -> tuple[str, ...]:
        """The headings above it, and the page's title."""
        return (*self.document.headings(self.start), self.document.title)

    @property
    def is_row(self) -> bool:
        """Whether it is in a row of a table."""
        return CELLS in self.line

    @property
    def is_structured(self) -> bool:
        """Whether it is in a row, after a label in its line, or in a short entry of a list."""
        line = self.line
        is_short = len(line) <= _LONGEST_ENTRY and not _SENTENCE_END.search(line)
        is_entry = line.startswith("- ") and is_short
        return is_entry or not self.is_prose

    @property
    def is_prose(self) -> bool:
        """Whether it is neither in a row nor after a label in its line."""
        label = _LABELLED.match(self.line)
        return not (self.is_row or (label and label.end() <= self.offset))


_CREDIT = re.compile(r"( [-–—] )")
_LABELLED = re.compile(r"[^.:]{1,60}: ")
_SENTENCE_END = re.compile(r"(?<!\d)[.!?] (?=[^\Wa-z\d])")
_HEAD = re.compile(r"^(?:Page|Under): .*\n|^#.*$", re.MULTILINE)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
"""A word; in scripts without spaces, a letter."""
_OTHER_ENTRY = re.compile(r"^- .*$", re.MULTILINE)
_NEXT = re.compile(r"[.!?]\s+(?=[^\sa-z0-9])|[。！？\n]")
"""The end of a sentence that another one follows: not `Feb. 4`."""
_RUN_WORDS, _MIN_SENTENCE = 5, 25
"""The length of a run in words, and of the shortest sentence that counts in characters."""
_LETTER_RUN_WEIGHT = 0.4
"""The weight of a shared run of letters, in scripts without spaces."""
_ONE_SENTENCE, _SEVERAL_SENTENCES = 18, 8
"""The shared runs that make two passages one text: in a single sentence, and in several."""


def is_copied(passage: str, other: str) -> bool:
    """Return whether two passages are copies of one text, so that they count as one source.

    Only sentences are compared, not rows or headings. Two sites may by chance use the same short
    sentence for a release date, but not one of more than twenty words.
    """
    other_runs = frozenset[tuple[str, ...]]().union(*_runs(other))
    shared = [
        sum(
            1 if len("".join(run)) > _RUN_WORDS else _LETTER_RUN_WEIGHT
            for run in sentence & other_runs
        )
        for sentence in _runs(passage)
    ]
    is_one = sum(weight > 1 for weight in shared) <= 1
    return sum(shared) >= (_ONE_SENTENCE if is_one else _SEVERAL_SENTENCES)


@lru_cache(64)
def _runs(passage: str) -> Sequence[frozenset[tuple[str, ...]]]:
    rows = (row for row in _NEXT.split(_HEAD.sub("", passage)) if CELLS not in row)
    words = [_WORD.findall(fold(row)) for row in rows if len(row) >= _MIN_SENTENCE]
    return [
        frozenset(tuple(row[at : at + _RUN_WORDS]) for at in range(len(row) - 4)) for row in words
    ]


# What a place is about.


def link_problem(place: Place, subject: Subject) -> str | None:
    """Return why a place is not about the subject, or None if it is.

    A row is about the record that it names, else about the one that its heading, caption or page
    names. Prose is about another candidate if that one's title precedes the value and the line has
    no title of the subject.
    """
    document, line, is_row = place.document, place.line, place.is_row
    begin, stop = document.line(place.start)
    is_short = subject.is_listed and len(document.text) <= MAX_PASSAGE
    if not (is_short or _is_told_apart(document, subject)):
        return f"the page names neither {subject.artist.name!r} nor the label of {subject.title!r}"
    is_named, headings = subject.is_named_in(line), document.headings(place.start)
    types = (_other_type(text, subject) for text in ((line,) if is_named else headings))
    rivals = ("under the number of another candidate",) if _is_of_rival(place, subject) else ()
    artists = (f"by {name!r}" for name in _other_credits(place, subject))
    if attribution := next(chain(rivals, artists, filter(None, types)), None):
        return f"it is about {subject.title!r} {attribution}"
    if is_named:
        return None
    before = document.text[max(begin, place.start - MAX_PASSAGE) : place.start]
    above = next(reversed(document.headings(place.start, of_table=False)), "")
    if subject.names_other(line if is_row else before) or (is_row and subject.names_other(above)):
        return "the passage names another candidate"
    around = document.text[max(0, begin - MAX_PASSAGE // 2) : stop + MAX_PASSAGE // 2]
    if line.startswith("- ") and not clauses.says_release(line):
        around = _OTHER_ENTRY.sub("", around)  # an entry does not tell what the next one is about
    slug = unquote(urlsplit(document.address).path) if "//" in document.address else ""
    texts = (*headings, document.title, slug, *(() if is_row else (around,)))
    if not any(subject.is_named_in(text) for text in texts):
        return f"neither the passage nor its headings, page title or address name {subject.title!r}"
    return None


@lru_cache(256)
def _is_told_apart(document: SourceText, subject: Subject) -> bool:
    """Return whether a page tells the record from others of its title, such as by the artist."""
    places = unquote(" ".join(document.addresses)) if "//" in document.address else ""
    return subject.is_told_apart_in(f"{document.title} {document.text} {places}")


def _other_type(line: str, subject: Subject) -> str | None:
    """Return the type that a line names if only other candidates of the same title have it."""
    words = fact_words()[PRIMARY_TYPE]

    def is_named(*types: str) -> bool:
        return any(find_words((word for name in types for word in words.get(name, ())), line))

    is_own = is_named(subject.primary_type, "Song")
    named = () if is_own else filter(is_named, sorted(subject.others.types))
    return next((f"of type {name}" for name in named), None)


@lru_cache(256)
def _is_credited(document: SourceText, subject: Subject) -> bool:
    rows = (row for row in document.text.split("\n") if CELLS in row)
    return any(subject.has_artist_in(row) and subject.is_named_in(row) for row in rows)


def date_doubt(document: SourceText, mention: Mention, subject: Subject) -> str | None:
    """Return a word in a date's clause or heading that says that it dates something else."""
    if doubt := clauses.doubt_in_clause(document.text, mention, subject.all_titles):
        return doubt
    names = (*subject.all_titles, subject.recording, subject.artist.name)
    sides = {side for name in names for side in name.split(" / ")}
    abroad = clauses.names_abroad(subject.editions.countries, subject.artist.country)
    if "+" not in subject.kind and (
        issue := clauses.other_issue(document.text, mention, sides, abroad)
    ):
        return issue
    column = Place(document, mention.start, mention.end).column
    for above in reversed(document.headings(mention.start)):
        columns = dict(enumerate(above.split(CELLS))) if CELLS in above else {}
        heading = columns.get(column, above)
        if subject.is_named_in(heading):
            continue
        if doubt := clauses.doubt_in_heading(heading):
            return doubt
        if not columns and clauses.says_release(heading):
            return None
    return None


def value_doubt(place: Place, patch: Patch, subject: Subject) -> str | None:
    """Return why the value at a place does not count, or None if it does."""
    if not patch.is_date:
        doubt = next(_value_doubts(place, patch, subject), None)
        return doubt or _form_doubt(place, patch, subject)
    mention = next(mention for mention in place.document.mentions if mention.start == place.start)
    if doubt := date_doubt(place.document, mention, subject):
        return f"{patch.value} is the date of something else ({doubt!r})"
    return (
        None
        if _says_release_there(place)
        else f"the sentence does not say that it came out on {patch.value}"
    )


def _value_doubts(place: Place, patch: Patch, subject: Subject) -> Iterator[str]:
    text, value = place.document.text, patch.value
    if clauses.is_denied(text, place.start, place.end):
        yield f"the text denies {value} or says it of something else"
    if patch.field == PREMIERE:
        if subject.names_other(place.statement):
            yield "the clause names another candidate"
        return
    words, is_of_other = place.value, subject.names_other(place.line)
    if place.is_prose:
        clause = _clause_below(place, subject)
        yield from clauses.doubts_in_clause(
            clause, words, patch.field, value, subject, is_of_other=is_of_other
        )
    yield from _edition_doubts(place, patch, subject)


def _form_doubt(place: Place, patch: Patch, subject: Subject) -> str | None:
    """Return why prose does not plainly state a status, country or type, or None if it does."""
    if patch.field == PREMIERE or place.is_row or clauses.is_labelled(place.line):
        return None
    clause, value = _clause_below(place, subject), patch.value
    is_asked = "?" in place.document.text[place.end :].partition("\n")[0].partition(".")[0]
    if is_asked or not clauses.says_plainly(clause, place.value, patch.field, value, subject):
        return f"the sentence does not plainly state {value} for {subject.title!r}"
    return None


def _clause_below(place: Place, subject: Subject) -> str:
    """Return the clause of a place, after the title if only a line above names the record.

    An infobox has "Studio album by Queen" below the title.
    """
    is_below = place.begins_line and any(map(subject.is_named_in, place.above))
    return f"{subject.title}: {place.clause}" if is_below else place.clause


def _says_release_there(place: Place) -> bool:
    """Return whether a date is in no sentence, or a word for release is beside or above it."""
    is_sentence = place.is_prose and not (place.line.startswith("- ") or may_be_caption(place.line))
    return not is_sentence or any(map(clauses.says_release, (place.clause, *place.above)))


def _edition_doubts(place: Place, patch: Patch, subject: Subject) -> Iterator[str]:
    """Yield why a status, country or type is not that of the subject's edition."""
    document, line, is_row = place.document, place.line, place.is_row
    for name in () if is_row else _other_names_credited(place.clause, subject):
        yield f"it is about {subject.title!r} by {name!r}"
    if patch.field in (STATUS, COUNTRY) and _is_other_edition(document, subject):
        yield f"the page is of another release of {subject.title!r}"
    columns = CELLS.join(place.column_names)
    if patch.field == COUNTRY and (doubt := clauses.doubt_in_heading(columns)):
        yield f"{patch.value} describes something else ({doubt!r})"
    if is_row and clauses.is_of_other_year(line, subject):
        yield f"the row is of another release of {subject.title!r}"
    is_columns = line.count(CELLS) > 1 and not any(sign.isdigit() for sign in line)
    if is_columns and not subject.is_named_in(line):
        yield f"the text denies {patch.value} or says it of something else"
    clause = fold(place.clause)
    has_year = any(year in clause for year in subject.editions.years)
    names_release = has_year or subject.has_number_in(clause)
    is_vague = subject.others.has_official_siblings and place.is_prose and not names_release
    if patch.field == STATUS and is_vague:
        yield f"it does not say which release of {subject.title!r} it means"
    is_below = place.begins_line or not place.is_prose
    words = fact_words()[COUNTRY]
    names = [word for code in subject.editions.countries for word in (code, *words.get(code, ()))]
    is_subject_near = (
        any(map(subject.is_named_in, (line, *(place.above if is_below else ()))))
        or subject.has_number_in(line)
        or (patch.field != COUNTRY and any(find_words(names, line)))
    )
    if not is_subject_near:
        yield f"nothing beside {patch.value} names {subject.title!r}"


def _is_other_edition(document: SourceText, subject: Subject) -> bool:
    text = fold(document.text)
    has_other = any(code in text for code in subject.others.sibling_numbers)
    is_other = has_other and not subject.has_number_in(text)
    return is_other or clauses.is_of_other_year(text, subject)


def _is_of_rival(place: Place, subject: Subject) -> bool:
    """Return whether a row or its box has the catalogue number of another candidate.

    Prose does not count, because it may compare records.
    """
    if place.is_prose or not subject.others.numbers:
        return False
    return subject.is_of_rival("\n".join((place.line, *box_around(place))))


# Whose record it is.

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
_MOST_BOX_LINES = 12
_BEFORE_NAME = 5
"""The most words that may precede a name: `the English rock band`."""
_BEFORE_OTHER_NAME = frozenset(["and", "of", "with", "from", "for", "by", "und", "mit", "et", "y"])
_NAME_END = re.compile(r"[^\w\s&’'-]|\s(?:from|in|on|for|with|and|aus|auf)\s")
_MARKS_BEHIND = " ,.;:!?()[]|/\"”'’»*"
_PAUSE = tuple(_MARKS_BEHIND[1:-2])


def _other_credits(place: Place, subject: Subject) -> Iterator[str]:
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
        yield from _other_names_credited(place.clause, subject, of_record=subject.is_listed)
    for heading in () if subject.is_listed else document.headings(place.start, of_table=False):
        yield from _other_names_credited(heading, subject)
    if place.is_row and subject.artist.spellings:
        yield from _box_credits(place, subject)
    if not place.is_prose:
        heads = (
            head[0].replace(CELLS, " ") for head in _HEADED.finditer(document.text, 0, place.end)
        )
        *_, nearest = ["", *(head for head in heads if _names_type(head))]
        yield from _other_names_credited(nearest, subject)


def box_around(place: Place) -> Sequence[str]:
    """Return the other lines of the box around a row: rows and short lines.

    A row of more than two cells is in no box. A gap in an excerpt does not end a box.
    """
    if place.line.count(CELLS) > 1:
        return ()
    text, (start, end) = place.document.text, place.document.line(place.start)
    before = reversed(text[:start].split("\n")[:-1])
    sides = (before, iter(text[end + 1 :].split("\n")))
    return [line for side in sides for line in islice(takewhile(_is_in_box, side), _MOST_BOX_LINES)]


def _is_of_box(line: str) -> bool:
    """Return whether a row is a label and a value: its first cell says what happened on a date."""
    label, _, value = line.partition(CELLS)
    is_label = clauses.says_release(label) or clauses.doubt_in_heading(label) is not None
    return CELLS not in value and is_label


def _is_in_box(line: str) -> bool:
    is_labelled = line.count(CELLS) == 1 or bool(_LABELLED.match(line))
    return is_labelled or may_be_caption(line) or line in GAPS


def _box_credits(place: Place, subject: Subject) -> Iterator[str]:
    """Yield other artists to whom the box of a row credits the record.

    The box names them after a label: `Single by | X`, `Artist | X`.
    """
    for row in box_around(place):
        label, _, value = row.partition(CELLS)
        is_credit = _ARTIST_COLUMN.fullmatch(fold(label)) or (
            _names_type(label) and _CREDIT_LABEL.search(label)
        )
        if value and is_credit and not _names_artist_or_label(value, subject):
            yield value


def heads_box(place: Place, subject: Subject) -> bool:
    """Return whether a place begins the head of the artist's infobox: `Studio album by X`."""
    text, (_, end) = place.document.text, place.document.line(place.start)
    credit = re.match(rf"\s{_OF} (.+)", text[place.end : end])
    is_above_row = CELLS in text[end + 1 :].partition("\n")[0]
    if credit is None or not (place.begins_line and is_above_row):
        return False
    return _is_artist(credit[1].split(), subject, 0)


def _names_type(text: str) -> bool:
    return any(find_words(chain.from_iterable(fact_words()[PRIMARY_TYPE].values()), text))


def _other_names_credited(text: str, subject: Subject, *, of_record: bool = False) -> Iterator[str]:
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
        evidence_names = (*subject.editions.labels, *subject.titles, *subject.others.titles)
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


# What documents say.


def premiere_places(documents: Iterable[SourceText]) -> Iterator[Place]:
    """Yield the places where documents state that something first came out on a record."""
    for document in documents:
        for start, end in find_words(fact_words()[PREMIERE]["true"], document.text):
            place = Place(document, start, end)
            if not clauses.is_denied(document.text, start, end):
                yield place


def values_about(
    documents: Iterable[SourceText], subject: Subject, patch: Patch
) -> Iterator[tuple[Place, bool]]:
    """Yield places that may state a status, country or type of a subject, and whether plainly.

    A place that does not state it plainly names the subject or its catalogue number.
    """
    words = fact_words()[patch.field][patch.value]
    for document in documents:
        for start, end in find_words(words, document.text, document.normal):
            place = Place(document, start, end)
            if link_problem(place, subject) or next(_value_doubts(place, patch, subject), None):
                continue
            is_plain = _form_doubt(place, patch, subject) is None
            statement = place.statement
            if is_plain or subject.is_named_in(statement) or subject.has_number_in(statement):
                yield place, is_plain


def dates_about(
    documents: Iterable[SourceText],
    subject: Subject,
    is_wanted: Callable[[Mention], bool],
    mentions_of: Callable[[SourceText], Iterable[Mention]] = attrgetter("mentions"),
) -> Iterator[tuple[Mention, Place, bool]]:
    """Yield dates at which a subject may have come out, their places, and whether that is plain.

    A date is plain in a row or clause that names the subject, with a word for release, or in a row
    of a label and a value.
    """
    for document in documents:
        for mention in filter(is_wanted, mentions_of(document)):
            place = Place(document, mention.start, mention.end)
            if date_doubt(document, mention, subject) or link_problem(place, subject):
                continue
            line, clause = place.line, place.clause
            is_named = subject.is_named_in(line if place.is_row else clause)
            says = any(map(clauses.says_release, (*document.headings(mention.start), clause)))
            is_plain = is_named or says or line.count(CELLS) == 1
            if is_plain or not subject.names_other(clause):
                yield mention, place, is_plain
