"""Grounding: finds the place where a source states a fact about the right record."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from chart_binder.domain.dates_in_text import states
from chart_binder.domain.patches import Patch, fact_words
from chart_binder.domain.vocabulary import find_words, plain_text, spaced_words
from chart_binder.llm.prompt import RESERVED_LABELS
from chart_binder.llm.result import Fact
from chart_binder.react.sanitize import one_line
from chart_binder.web.documents import SourceText, documents_named
from chart_binder.web.judgement import ClaimedValue
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject

_BESIDE = 60
"""Characters around a quote in which its value may stand."""
_MAX_QUOTED = 200
_MIN_NAME = 4
"""The shortest value that is looked for as words, with its spaces."""


class GroundingError(Exception):
    """No source states the fact; the text says what was looked for, and what is there instead."""


def ground_fact(
    fact: Fact, patch: Patch, documents: Sequence[SourceText], subject: Subject
) -> tuple[ClaimedValue, ...]:
    """Return where the sources of a fact state it. Raises `GroundingError` if none does."""
    sources = sorted(
        documents_named(fact.source, documents), key=lambda document: not document.is_fetched
    )
    values: list[ClaimedValue] = []
    problem = f"{fact.source} was not read in this run" if fact.source else "nothing was read yet"
    if fact.source and "//" not in fact.source:
        problem = f"{fact.source!r} names nothing that was read in this run"
    for number, document in enumerate(sources):
        value = _value_in(document, fact, patch, subject)
        if isinstance(value, ClaimedValue):
            values.append(value)
        elif number == 0:
            problem = value
    if not values:
        raise GroundingError(problem)
    return tuple(values)


def _value_in(
    document: SourceText, fact: Fact, patch: Patch, subject: Subject
) -> ClaimedValue | str:
    """Return the value where a document states a fact, or a sentence on what is missing."""
    spans, beside, where = [(0, len(document.text))], 0, document.address
    if fact.quote:
        spans, beside = _find_quote(document, fact.quote), _BESIDE
        where = f"{quoted(fact.quote)}, in {document.address},"
    if not spans:
        near = _nearest(document, fact, subject)
        return f"{document.address} does not say {quoted(fact.quote)}{near}"
    problem = None
    for start, end in spans:
        for place in _places(document, patch, start, end, beside):
            value = ClaimedValue(place, subject, patch)
            if value.is_plain or value.is_linked:
                return value
            problem = problem or f"{value.judgement.reason}: {quoted(place.line)}"
    missing = f"{where} does not give {fact.value!r}{_nearest(document, fact, subject)}"
    return problem or missing


def _places(
    document: SourceText, patch: Patch, start: int, end: int, beside: int
) -> Iterator[Place]:
    """Yield the places of a value within a span, then those up to `beside` characters around it."""
    if patch.is_date:
        spans = [
            (mention.start, mention.end)
            for mention in document.mentions
            if states(mention, patch.date)
        ]
    else:
        words = fact_words()[patch.field].get(patch.value, (patch.value,))  # any country's code
        spans = list(find_words(words, document.text, document.normal))
    first, last = document.line(start)[0], document.line(max(start, end - 1))[1]
    for margin in (0, beside) if beside else (0,):
        low, high = max(first, start - margin), min(last, end + margin)
        for span_start, span_end in spans:
            if span_start < high and span_end > low:
                yield Place(document, span_start, span_end)


def states_words(fact: Fact, documents: Sequence[SourceText]) -> bool:
    """Return whether a source has the value word for word; for a fact that changes nothing."""
    words = spaced_words(fact.value)
    sources = documents_named(fact.source, documents)
    is_long = len(words) > _MIN_NAME
    return is_long and any(words in spaced_words(document.text) for document in sources)


def _nearest(document: SourceText, fact: Fact, subject: Subject) -> str:
    """Return a clause that quotes the line with most words of a fact, or an empty text."""
    words = set(spaced_words(f"{fact.quote} {fact.value} {subject.title}").split())

    def shared_words(line: str) -> int:
        return len(words & set(spaced_words(line).split()))

    line = max(document.text.split("\n"), key=shared_words)
    return f"; it says {quoted(line)}" if shared_words(line) else ""


def quoted(text: str) -> str:
    """Return a text of a page as problems quote it: in ‹›, on one line, shortened."""
    return f"‹{one_line(text, _MAX_QUOTED, RESERVED_LABELS)}›"


_MAX_OCCURRENCES = 8
_MIN_QUOTE = 4
_QUOTE_MARK = re.compile(r"(?:^|(?<=\s))> ")
"""The mark that tools show before each line of a page, and that models copy."""


def _find_quote(document: SourceText, quote: str) -> list[tuple[int, int]]:
    """Return the spans of at most eight occurrences of a quote."""
    words = plain_text(_QUOTE_MARK.sub("", quote))[0].strip(" .,;:…")
    normal, places = document.normal
    matches = re.finditer(re.escape(words), normal) if len(words) >= _MIN_QUOTE else ()
    spans = ((places[match.start()], places[match.end() - 1] + 1) for match in matches)
    return list(islice(spans, _MAX_OCCURRENCES))
