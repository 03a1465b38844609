"""What the places in documents say about a record."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from urllib.parse import unquote, urlsplit

from chart_binder.domain.dates_in_text import Mention
from chart_binder.domain.patches import COUNTRY, PREMIERE, PRIMARY_TYPE, STATUS, Patch, fact_words
from chart_binder.domain.vocabulary import find_words, fold
from chart_binder.web import clauses
from chart_binder.web.credits import other_credits, other_names_credited
from chart_binder.web.documents import MAX_PASSAGE, SourceText
from chart_binder.web.passages import CELLS, may_be_caption
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject

_OTHER_ENTRY = re.compile(r"^- .*$", re.MULTILINE)


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
    artists = (f"by {name!r}" for name in other_credits(place, subject))
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
    return subject.is_of_rival("\n".join((place.line, *place.box)))


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
