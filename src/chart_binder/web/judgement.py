"""Judgement: whether a place in a document states a date or another value of a record.

A rule yields reasons why a place does not state the value. Each kind of statement has a table of
rules with their meanings; the first reason of the first rule that has one is the judgement.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from chart_binder.domain.dates_in_text import Mention
from chart_binder.domain.patches import COUNTRY, PREMIERE, PRIMARY_TYPE, STATUS, Patch, fact_words
from chart_binder.domain.vocabulary import find_words, fold, spaced_words
from chart_binder.web import clauses, structure
from chart_binder.web.credits import other_credits, other_names_credited
from chart_binder.web.documents import MAX_PASSAGE, SourceText
from chart_binder.web.passages import CELLS, may_be_caption
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject


class Meaning(Enum):
    """What a place says about a value of a record."""

    OTHER_RECORD = auto()
    """It is about another record, or nothing shows which one it is about."""
    OTHER_VALUE = auto()
    """It denies the value, or says it of another event, edition or thing."""
    UNCLEAR = auto()
    """It may state the value, but not plainly."""
    PLAIN = auto()
    """It states the value of the record."""


class Judgement(NamedTuple):
    """The meaning of a statement; unless it is plain, `reason` is a clause that says why."""

    meaning: Meaning
    reason: str = ""


_Rules = Iterable[tuple[Meaning, Iterator[str]]]
"""Rules in their order, each as the reasons that it yields, with their meaning."""


@dataclass(frozen=True)
class Statement(ABC):
    """A place that may state a value of a record."""

    place: Place
    subject: Subject

    @abstractmethod
    def _rules(self) -> _Rules: ...

    @cached_property
    def judgement(self) -> Judgement:
        """The first reason of the first rule that has one."""
        reasons = (Judgement(meaning, reason) for meaning, rule in self._rules() for reason in rule)
        return next(reasons, Judgement(Meaning.PLAIN))

    @property
    def is_plain(self) -> bool:
        """Whether the place plainly states the value of the record."""
        return self.judgement.meaning is Meaning.PLAIN

    @property
    def is_possible(self) -> bool:
        """Whether the place may state the value of the record."""
        return self.judgement.meaning in (Meaning.PLAIN, Meaning.UNCLEAR)

    @cached_property
    def is_in_structure(self) -> bool:
        """Whether a row, a box or an entry of a list states it in words that code understands."""
        return structure.states_date(self.place, self.subject)


@dataclass(frozen=True)
class MentionedDate(Statement):
    """A date in a document, which may be that of a record."""

    mention: Mention

    def _rules(self) -> _Rules:
        yield Meaning.OTHER_VALUE, other_events(self.place, self.subject)
        yield Meaning.OTHER_RECORD, other_records(self.place, self.subject)
        is_of_other = self.subject.names_other(self.place.clause)
        meaning = Meaning.OTHER_RECORD if is_of_other else Meaning.UNCLEAR
        yield meaning, _dates_alone(self.place, self.subject)


@dataclass(frozen=True)
class ClaimedValue(Statement):
    """A value that a fact or a search claims for a record, where a document has its words."""

    patch: Patch

    @property
    def is_linked(self) -> bool:
        """Whether MusicBrainz links the page to the group, and the page states this date."""
        return self.place.document.linked == (self.patch.about, self.patch.value)

    @cached_property
    def is_in_structure(self) -> bool:
        """The same as for a date; no structure states where a recording first came out."""
        states = structure.states_value if self.patch.is_value else structure.states_date
        return self.patch.field != PREMIERE and states(self.place, self.subject)

    def _rules(self) -> _Rules:
        place, patch, subject = self.place, self.patch, self.subject
        yield Meaning.OTHER_RECORD, other_records(place, subject)
        if patch.is_date:
            reason = f"{patch.value} is the date of something else ({{!r}})".format
            yield Meaning.OTHER_VALUE, map(reason, other_events(place, subject))
            yield Meaning.UNCLEAR, _sentences_without_release(place, patch)
        else:
            yield Meaning.OTHER_VALUE, _other_meanings(place, patch, subject)
            is_near = subject.is_named_or_numbered_in(place.row_or_clause)
            meaning = Meaning.UNCLEAR if is_near else Meaning.OTHER_RECORD
            yield meaning, _unclear_sentences(place, patch, subject)


# Which record a place is about.

_OTHER_ENTRY = re.compile(r"^- .*$", re.MULTILINE)


def other_records(place: Place, subject: Subject) -> Iterator[str]:
    """Yield reasons why a place is not about the subject.

    A row is about the record that it names, else about the one that its heading, caption or page
    names. Prose, which may compare records, is about another candidate if that one's title precedes
    the value and the line has no title of the subject.
    """
    document, title = place.document, repr(subject.title)
    is_short = subject.is_listed and len(document.text) <= MAX_PASSAGE
    if not (is_short or _is_told_apart(document, subject)):
        yield f"the page names neither {subject.artist.name!r} nor the label of {title}"
    if not place.is_prose and subject.is_of_rival("\n".join((place.line, *place.box))):
        yield f"it is about {title} under the number of another candidate"
    for name in other_credits(place, subject):
        yield f"it is about {title} by {name!r}"
    is_named = subject.is_named_in(place.line)
    for text in (place.line,) if is_named else document.headings(place.start):
        for other_type in _other_types(text, subject):
            yield f"it is about {title} of type {other_type}"
    if not is_named:
        yield from _other_titles(place, subject)


def _other_titles(place: Place, subject: Subject) -> Iterator[str]:
    """Yield reasons why a place is not about the subject, which its line does not name."""
    document, line = place.document, place.line
    begin, stop = document.line(place.start)
    before = document.text[max(begin, place.start - MAX_PASSAGE) : place.start]
    above = next(reversed(document.headings(place.start, of_table=False)), "")
    if any(map(subject.names_other, (line, above) if place.is_row else (before,))):
        yield "the passage names another candidate"
    around = document.text[max(0, begin - MAX_PASSAGE // 2) : stop + MAX_PASSAGE // 2]
    if line.startswith("- ") and not clauses.says_release(line):
        around = _OTHER_ENTRY.sub("", around)  # an entry does not tell what the next one is about
    slug = unquote(urlsplit(document.address).path) if "//" in document.address else ""
    texts = (*document.headings(place.start), document.title, slug)
    if not any(map(subject.is_named_in, texts if place.is_row else (*texts, around))):
        yield f"neither the passage nor its headings, page title or address name {subject.title!r}"


@lru_cache(256)
def _is_told_apart(document: SourceText, subject: Subject) -> bool:
    """Return whether a page tells the record from others of its title, such as by the artist."""
    places = unquote(" ".join(document.addresses)) if "//" in document.address else ""
    return subject.is_told_apart_in(f"{document.title} {document.text} {places}")


def _other_types(text: str, subject: Subject) -> Iterator[str]:
    """Yield the types that a text names if only other candidates of the same title have them."""
    words = fact_words()[PRIMARY_TYPE]

    def is_named(*types: str) -> bool:
        return any(find_words((word for name in types for word in words.get(name, ())), text))

    if not is_named(subject.primary_type, "Song"):
        yield from filter(is_named, sorted(subject.other_records.types))


# What the value at a place means.


def other_events(place: Place, subject: Subject) -> Iterator[str]:
    """Yield words in the clause and headings of a date that say that it dates something else."""
    document, start, end, column = place.document, place.start, place.end, place.column
    if word := clauses.doubt_in_clause(document.text, start, end, subject.all_titles):
        yield word
    names = (*subject.all_titles, subject.recording, subject.artist.name)
    sides = {side for name in names for side in name.split(" / ")}
    abroad = clauses.names_abroad(subject.editions.countries, subject.artist.country)
    issue = clauses.other_issue(document.text, start, end, sides, abroad)
    if issue and "+" not in subject.kind:
        yield issue
    for above in reversed(document.headings(place.start)):
        columns = dict(enumerate(above.split(CELLS))) if CELLS in above else {}
        heading = columns.get(column, above)
        if subject.is_named_in(heading):
            continue
        if word := clauses.doubt_in_heading(heading):
            yield word
        if not columns and clauses.says_release(heading):
            return


def _other_meanings(place: Place, patch: Patch, subject: Subject) -> Iterator[str]:
    """Yield reasons why a place does not state a premiere, status, country or type."""
    if clauses.is_denied(place.document.text, place.start, place.end):
        yield f"the text denies {patch.value} or says it of something else"
    if patch.field == PREMIERE:
        if subject.names_other(place.row_or_clause):
            yield "the clause names another candidate"
        return
    if place.is_prose:
        yield from _other_clauses(place, patch, subject)
    yield from _other_editions(place, patch, subject)


def _other_clauses(place: Place, patch: Patch, subject: Subject) -> Iterator[str]:
    """Yield reasons why the clause with a status, country or type does not state it."""
    clause, is_type = _clause_below(place, subject), patch.field == PRIMARY_TYPE
    before = clause.partition(place.value)[0]
    if word := clauses.doubt_in_heading(clause.replace(place.value, " ")):
        yield f"{patch.value} describes something else ({word!r})"
    if clauses.is_negated(clause) or (is_type and clauses.is_from(before)):
        yield f"the text denies {patch.value} or says it of something else"
    words = spaced_words(before if is_type else clause)
    names_other = any(title in words for title in subject.other_records.titles)
    is_named = subject.is_named_or_numbered_in(clause)
    if names_other or (subject.names_other(place.line) and not is_named):
        yield "the clause names another candidate"
    if patch.field == STATUS and clauses.is_of_other_year(clause, subject):
        yield f"it is about another year than that of {subject.title!r}"


def _other_editions(place: Place, patch: Patch, subject: Subject) -> Iterator[str]:
    """Yield why a status, country or type is not that of the subject's edition."""
    document, line, is_row = place.document, place.line, place.is_row
    for name in () if is_row else other_names_credited(place.clause, subject):
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
    is_vague = subject.other_records.has_official_siblings and place.is_prose and not names_release
    if patch.field == STATUS and is_vague:
        yield f"it does not say which release of {subject.title!r} it means"
    is_below = not place.offset or not place.is_prose
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
    has_other = any(code in text for code in subject.other_records.sibling_numbers)
    is_other = has_other and not subject.has_number_in(text)
    return is_other or clauses.is_of_other_year(text, subject)


def _clause_below(place: Place, subject: Subject) -> str:
    """Return the clause of a place, after the title if only a line above names the record.

    An infobox has "Studio album by Queen" below the title.
    """
    is_below = not place.offset and any(map(subject.is_named_in, place.above))
    return f"{subject.title}: {place.clause}" if is_below else place.clause


# Whether a place states its value plainly.


def _dates_alone(place: Place, subject: Subject) -> Iterator[str]:
    """Yield a reason why a date is not plain.

    It is plain in a row or clause that names the subject, with a word for a release, or in a row of
    a label and a value.
    """
    line, clause = place.line, place.clause
    is_named = subject.is_named_in(line if place.is_row else clause)
    texts = (*place.document.headings(place.start), clause)
    if not (is_named or any(map(clauses.says_release, texts)) or line.count(CELLS) == 1):
        yield f"nothing beside {place.value} names {subject.title!r} or a release"


def _sentences_without_release(place: Place, patch: Patch) -> Iterator[str]:
    """Yield a reason why a date in a sentence does not count: no word for a release."""
    is_sentence = place.is_prose and not (place.line.startswith("- ") or may_be_caption(place.line))
    if is_sentence and not any(map(clauses.says_release, (place.clause, *place.above))):
        yield f"the sentence does not say that it came out on {patch.value}"


def _unclear_sentences(place: Place, patch: Patch, subject: Subject) -> Iterator[str]:
    """Yield a reason why prose does not plainly state a status, country or type."""
    if patch.field == PREMIERE or place.is_row or clauses.is_labelled(place.line):
        return
    clause, value = _clause_below(place, subject), patch.value
    is_asked = "?" in place.document.text[place.end :].partition("\n")[0].partition(".")[0]
    if is_asked or not clauses.says_plainly(clause, place.value, patch.field, value, subject):
        yield f"the sentence does not plainly state {value} for {subject.title!r}"


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
) -> Iterator[ClaimedValue]:
    """Yield the places where documents state, or may state, a status, country or type."""
    words = fact_words()[patch.field][patch.value]
    for document in documents:
        for start, end in find_words(words, document.text, document.normal):
            value = ClaimedValue(Place(document, start, end), subject, patch)
            if value.is_possible:
                yield value


def dates_about(
    documents: Iterable[SourceText],
    subject: Subject,
    is_wanted: Callable[[Mention], bool],
    mentions_of: Callable[[SourceText], Iterable[Mention]] = attrgetter("mentions"),
) -> Iterator[MentionedDate]:
    """Yield the dates at which the subject came out, or may have come out."""
    for document in documents:
        for mention in filter(is_wanted, mentions_of(document)):
            date = MentionedDate(Place.of(document, mention), subject, mention)
            if date.is_possible:
                yield date
