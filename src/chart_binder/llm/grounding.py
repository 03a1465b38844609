"""Grounding: where a source that was read in this run says what a fact claims.

A fact is looked for by its quote, word for word, in what its source said, with the value in the
quote or right beside it; what the passage is about is told by structure first (the row, the
heading, the page's title), by `web.places`. Whether a date is that of the release is for the second
reading.
"""

from collections.abc import Iterator, Sequence

from chart_binder.domain.clauses import Subject
from chart_binder.domain.dates_in_text import states
from chart_binder.domain.patches import Patch, fact_words
from chart_binder.domain.vocabulary import find_words, spaced_words
from chart_binder.llm.result import Fact
from chart_binder.react.sanitize import one_line
from chart_binder.web.documents import Document, documents_named
from chart_binder.web.places import Place, find_quote, link_problem, nearest_line, value_doubt

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
    problem = f"{fact.source} was not read in this run" if fact.source else "nothing was read yet"
    if fact.source and "//" not in fact.source:
        problem = f"{fact.source!r} names nothing that was read in this run"
    for number, document in enumerate(named):
        place = _ground_in(document, fact, patch, subject)
        if isinstance(place, Place):
            found.append(place)
        elif number == 0:
            problem = place
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
            why_not = link_problem(ground, subject) or value_doubt(ground, patch, subject)
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
