"""Grounding: where a source that was read in this run says what a fact claims.

A fact is looked for by its quote, word for word, in what its source said, with the value in the
quote or right beside it; what the passage is about is told by structure first (the row, the
heading, the page's title). Whether a date is that of the release is for the second reading.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter

from chart_binder.domain.clauses import (
    doubts_in_clause,
    is_denied,
    is_labelled,
    is_of_other_year,
    says_plainly,
    says_release,
)
from chart_binder.domain.dates_in_text import Mention, states
from chart_binder.domain.naming import Subject, find_words, spaced_words
from chart_binder.domain.patches import COUNTRY, PREMIERE, STATUS, Patch, fact_words
from chart_binder.domain.vocabulary import fold
from chart_binder.llm.result import Fact
from chart_binder.react.sanitize import one_line
from chart_binder.web.documents import Document, documents_named
from chart_binder.web.passages import CELLS
from chart_binder.web.places import Place, date_doubt, find_quote, link_problem, nearest_line

_BESIDE = 60
_MAX_SHOWN = 200
_MIN_NAME = 4


class GroundingError(Exception):
    """A fact does not stand; the text says what was looked for, where, and what was found."""


def ground_fact(
    fact: Fact, patch: Patch, documents: Sequence[Document], subject: Subject
) -> tuple[Place, ...]:
    """Return where the sources of a fact say it, the best place of each document first.

    Raises `GroundingError` where none does.
    """
    named = sorted(documents_named(fact.source, documents), key=lambda d: not d.is_fetched)
    found: list[Place] = []
    problem = f"{fact.source or 'nothing'} was not read in this run"
    if fact.source and "//" not in fact.source:
        problem = f"{fact.source!r} names nothing that was read in this run"
    for number, document in enumerate(named):
        told = _ground_in(document, fact, patch, subject)
        if isinstance(told, Place):
            found.append(told)
        elif number == 0:
            problem = told
    if not found:
        raise GroundingError(problem)
    return tuple(found)


def _ground_in(document: Document, fact: Fact, patch: Patch, subject: Subject) -> Place | str:
    """Return where a document says a fact, or what it says instead."""
    spans, beside, where = [(0, len(document.text))], 0, document.address
    if fact.quote:
        spans, beside = find_quote(document, fact.quote), _BESIDE
        where = f"{_shown(fact.quote)}, in {document.address},"
    if not spans:
        near = _near(document, fact, subject)
        return f"{document.address} does not say {_shown(fact.quote)}{near}"
    problem = None
    for start, end in spans:
        for ground in _values(document, patch, start, end, beside):
            why_not = link_problem(ground, subject) or _value_problem(ground, patch, subject)
            if why_not is None:
                return ground
            problem = problem or f"{why_not}: {_shown(ground.line)}"
    missing = f"{where} does not give {fact.value!r}{_near(document, fact, subject)}"
    return problem or missing


def _values(document: Document, patch: Patch, start: int, end: int, beside: int) -> Iterator[Place]:
    """Yield the places of a value in a span, then those beside it in the same line."""
    if patch.is_date:
        found = [m for m in document.mentions if states(m, patch.date)]
        spans = [(each.start, each.end) for each in found]
    else:
        spans = list(find_words(fact_words()[patch.field][patch.value], document.text))
    first, last = document.line(start)[0], document.line(max(start, end - 1))[1]
    for near in (0, beside) if beside else (0,):
        low, high = max(first, start - near), min(last, end + near)
        yield from (Place(document, a, b) for a, b in spans if a < high and b > low)


def _value_problem(ground: Place, patch: Patch, subject: Subject) -> str | None:
    """Return why a value that stands there does not count, or None.

    What is called first must not be another candidate. A date falls where a word in its own clause
    says that it is another event's.
    """
    if patch.is_date:
        mention = next(m for m in ground.document.mentions if m.start == ground.start)
        doubt = date_doubt(ground.document, mention, subject)
        return f"{patch.value} is said of something else ({doubt!r})" if doubt else None
    if patch.field == PREMIERE:
        is_others = subject.names_other(ground.statement)
        others = ("the clause names another candidate",) if is_others else ()
        return next(chain(_denials(ground, patch), others), None)
    said, is_of_other = (
        ground.document.text[ground.start : ground.end],
        subject.names_other(ground.line),
    )
    in_prose = doubts_in_clause(
        ground.clause, said, patch.field, patch.value, subject, is_of_other=is_of_other
    )
    is_loose = not (ground.is_row or is_labelled(ground.line))
    doubts = in_prose if ground.is_prose else ()
    places = (
        *_places(ground, patch, subject),
        *(_form_problem(ground, said, patch, subject) if is_loose else ()),
    )
    return next(chain(_denials(ground, patch), doubts, places), None)


def _form_problem(place: Place, said: str, patch: Patch, subject: Subject) -> Iterator[str]:
    """Yield why running text does not say a status, country or type plainly."""
    is_asked = "?" in place.document.text[place.end :].partition("\n")[0].partition(".")[0]
    if is_asked or not says_plainly(place.clause, said, patch.field, patch.value, subject):
        yield f"the sentence does not plainly say {patch.value} of {subject.title!r}"


def _denials(place: Place, patch: Patch) -> Iterator[str]:
    if is_denied(place.document.text, place.start, place.end):
        yield f"{patch.value} is denied there, or said of something else"


def _places(ground: Place, patch: Patch, subject: Subject) -> Iterator[str]:
    """Yield why a status, country or type does not stand beside the subject.

    Beside it is its title, its country or its catalogue number.
    """
    document, line, is_row = ground.document, ground.line, ground.is_row
    if patch.field in (STATUS, COUNTRY) and _is_other_edition(document, subject):
        yield f"the page is of another release of {subject.title!r}"
    is_columns = line.count(CELLS) > 1 and not any(sign.isdigit() for sign in line)
    if is_columns and not subject.is_named_in(line):
        yield f"{patch.value} is denied there, or said of something else"
    is_of_one = any(each in fold(ground.clause) for each in (*subject.years, *subject.codes))
    is_vague = subject.is_one_of_several and ground.is_prose and not is_of_one
    if patch.field == STATUS and is_vague:
        yield f"it does not tell which release of {subject.title!r} that is"
    if is_row and is_of_other_year(line, subject):
        yield f"the row is of another release of {subject.title!r}"
    above = () if ground.is_prose else (*document.headings(ground.start), document.title)
    words = fact_words()[COUNTRY]
    names = [word for code in subject.countries for word in (code, *words.get(code, ()))]
    is_beside = (
        any(map(subject.is_named_in, (line, *above)))
        or any(code in fold(line) for code in subject.codes)
        or (patch.field != COUNTRY and any(find_words(names, line)))
    )
    if not is_beside:
        yield f"{patch.value} stands beside nothing that is {subject.title!r}"


def _is_other_edition(document: Document, subject: Subject) -> bool:
    """Return whether a page is of another release of the subject's group."""
    text = fold(document.text)
    has_other = any(code in text for code in subject.other_codes)
    is_other = has_other and not any(code in text for code in subject.codes)
    return is_other or is_of_other_year(text, subject)


def premieres_said(documents: Iterable[Document]) -> Iterator[Place]:
    """Yield where passages say that something first came out on a record."""
    for document in documents:
        for start, end in find_words(fact_words()[PREMIERE]["true"], document.text):
            ground = Place(document, start, end)
            if not is_denied(document.text, start, end):
                yield ground


def dates_about(
    documents: Iterable[Document],
    subject: Subject,
    is_wanted: Callable[[Mention], bool],
    mentions_of: Callable[[Document], Iterable[Mention]] = attrgetter("mentions"),
) -> Iterator[tuple[Mention, Place, bool]]:
    """Yield the dates that passages may give for a subject, and whether they plainly say release.

    Plainly: a row or a clause that names it, a word of release, or a row of a name and a value.
    What is said of another candidate, or by a word in the clause or heading of another event, is
    left out.
    """
    for document in documents:
        for mention in filter(is_wanted, mentions_of(document)):
            ground = Place(document, mention.start, mention.end)
            if link_problem(ground, subject) or date_doubt(document, mention, subject):
                continue
            line, clause = ground.line, ground.clause
            is_named = subject.is_named_in(line if ground.is_row else clause)
            says = any(map(says_release, (*document.headings(mention.start), clause)))
            is_plain = is_named or says or line.count(CELLS) == 1
            if is_plain or not subject.names_other(clause):
                yield mention, ground, is_plain


def states_words(fact: Fact, documents: Sequence[Document]) -> bool:
    """Return whether a source says the value of a field that moves nothing, word for word."""
    words = spaced_words(fact.value)
    named = documents_named(fact.source, documents)
    return len(words) > _MIN_NAME and any(words in spaced_words(d.text) for d in named)


def _near(document: Document, fact: Fact, subject: Subject) -> str:
    """Return the line that is most like what was looked for, as half a sentence."""
    line = nearest_line(document, f"{fact.quote} {fact.value} {subject.title}")
    return f"; it says {_shown(line)}" if line else ""


def _shown(text: str) -> str:
    return f"‹{one_line(text, _MAX_SHOWN)}›"
