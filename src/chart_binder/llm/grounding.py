"""Grounding: where a source that was read in this run says what a fact claims.

A fact is looked for by its quote, word for word, in what its source said, with the value in the
quote or right beside it; what the passage is about is told by structure first (the row, the
heading, the page's title). Whether a date is that of the release is for the second reading.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import chain
from urllib.parse import unquote, urlsplit

import tomli

from chart_binder.domain.date_words import (
    clause_around,
    doubt_in_clause,
    doubt_in_heading,
    other_issue,
    says_release,
)
from chart_binder.domain.dates_in_text import Mention, find_dates, states
from chart_binder.domain.naming import Subject, find_words, plain_text, spaced_words
from chart_binder.domain.patches import COUNTRY, PREMIERE, PRIMARY_TYPE, STATUS, Patch
from chart_binder.domain.vocabulary import fold
from chart_binder.llm.facts import fact_words
from chart_binder.llm.result import Fact
from chart_binder.react.sanitize import one_line
from chart_binder.web.documents import CELLS, MAX_PASSAGE, Document, documents_named

_BESIDE = 60
_MAX_OCCURRENCES = 8
_MAX_SHOWN = 200
_MIN_QUOTE = 4
_MIN_NAME = 4
_CREDIT = re.compile(r"( [-–—] )")


class GroundingError(Exception):
    """A fact does not stand; the text says what was looked for, where, and what was found."""


# What a passage is about.


@dataclass(frozen=True)
class Ground:
    """A place in a document that says what a fact claims."""

    document: Document
    start: int
    end: int

    @property
    def passage(self) -> str:
        """The text around it."""
        return self.document.passage(self.start, self.end)

    @property
    def line(self) -> str:
        """The line in which it begins."""
        return self.document.text[slice(*self.document.line(self.start))]

    @property
    def clause(self) -> str:
        """The clause in which it stands."""
        return clause_around(self.document.text, self.start, self.end)

    @property
    def statement(self) -> str:
        """The row in which it stands, else the clause."""
        return self.line if self.is_row else self.clause

    @cached_property
    def surroundings(self) -> frozenset[tuple[str, ...]]:
        """The runs of five words in the sentences around it, of those long enough to tell."""
        text, near = self.document.text, MAX_PASSAGE // 2
        ends = [each.end() for each in _SENTENCE_END.finditer(text)]
        first = max((each for each in ends if each <= self.start), default=0)
        last = min((each for each in ends if each >= self.end), default=len(text))
        parts = (text[max(0, self.start - near) : first], text[last : self.end + near])
        rows = (row for part in parts for row in _SENTENCE_END.split(part) if CELLS not in row)
        told = [_WORD.findall(fold(row)) for row in rows if len(row) >= _MIN_SENTENCE]
        return frozenset(tuple(row[at : at + _RUN]) for row in told for at in range(len(row) - 4))

    def is_copy_of(self, other: "Ground") -> bool:
        """Return whether the sentences around both are one text, which then is one source."""
        shared = len(self.surroundings & other.surroundings)
        least = min(len(self.surroundings), len(other.surroundings))
        return shared >= _MIN_SHARED and 2 * shared >= least

    @property
    def is_row(self) -> bool:
        """Whether it stands in a row of a table."""
        return CELLS in self.line

    @property
    def is_prose(self) -> bool:
        """Whether it stands in no row, and behind no label in its line."""
        return not (self.is_row or _LABELLED.match(self.line))


_LABELLED = re.compile(r"[^.:]{1,30}: ")
_SENTENCE_END = re.compile(r"[.!?]\s|[。！？\n]")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
"""A word; of what is written without spaces, a letter."""
_RUN, _MIN_SHARED, _MIN_SENTENCE = 5, 4, 25
"""Words of a run; the shared runs that make one text of two; letters of a sentence that counts."""


def _link_problem(ground: Ground, subject: Subject) -> str | None:
    """Return why a place is not about the subject, or None.

    A row is about what it names, else about what its heading, caption or page names. In prose a
    title of another candidate that stands before the value in its line, with none of the subject's
    in that line, is what the value is about.
    """
    document, line, is_row = ground.document, ground.line, ground.is_row
    begin, stop = document.line(ground.start)
    if problem := _artist_problem(document, subject):
        return problem
    if subject.is_named_in(line):
        if is_row and not subject.has_artist_in(line) and _is_credited(document, subject):
            return "the row names another artist"
        other_type = _other_type(line, subject)
        return f"it is said of the {other_type} of that title" if other_type else None
    before = document.text[max(begin, ground.start - MAX_PASSAGE) : ground.start]
    headings = document.headings(ground.start)
    above = next((each for each in reversed(headings) if CELLS not in each), "")
    if subject.names_other(line if is_row else before) or (is_row and subject.names_other(above)):
        return "the passage names another candidate"
    around = document.text[max(0, begin - MAX_PASSAGE // 2) : stop + MAX_PASSAGE // 2]
    slug = unquote(urlsplit(document.address).path) if "//" in document.address else ""
    near = (*headings, document.title, slug, *(() if is_row else (around,)))
    if any(subject.is_named_in(text) for text in near):
        return None
    return f"neither the passage nor its headings, page title or address name {subject.title!r}"


@lru_cache(256)
def _artist_problem(document: Document, subject: Subject) -> str | None:
    """Return why what was read of a page may be about another artist's record, or None.

    A page that is no longer than a passage is shown to the second reading as a whole, so only its
    title is looked at here.
    """
    places = unquote(" ".join(document.addresses)) if "//" in document.address else ""
    if subject.is_told_apart_in(f"{document.title} {document.text} {places}"):
        return None
    before, dash, rest = (*_CREDIT.split(document.title, maxsplit=1), "", "")[:3]
    if dash and subject.is_named_in(rest):
        return f"the page is about {subject.title!r} by {before!r}"
    if len(document.text) > MAX_PASSAGE:
        return f"the page names neither {subject.artist!r} nor the label of {subject.title!r}"
    return None


def _other_type(line: str, subject: Subject) -> str | None:
    """Return the type of another candidate of the same title that a line names, and not its own."""
    own, others = subject.types
    words = fact_words()[PRIMARY_TYPE]
    if not others or any(True for _ in find_words((*words.get(own, ()), *words["Song"]), line)):
        return None
    return next(
        (each for each in sorted(others) if any(find_words(words.get(each, ()), line))), None
    )


@lru_cache(256)
def _is_credited(document: Document, subject: Subject) -> bool:
    """Return whether a row names the subject with its artist."""
    rows = (row for row in document.text.split("\n") if CELLS in row)
    return any(subject.has_artist_in(row) and subject.is_named_in(row) for row in rows)


# Facts.


def ground_fact(
    fact: Fact, patch: Patch, documents: Sequence[Document], subject: Subject
) -> tuple[Ground, ...]:
    """Return where the sources of a fact say it, the best place of each document first.

    Raises `GroundingError` where none does.
    """
    named = sorted(documents_named(fact.source, documents), key=lambda d: not d.is_fetched)
    found: list[Ground] = []
    problem = f"{fact.source or 'nothing'} was not read in this run"
    if fact.source and "//" not in fact.source:
        problem = f"{fact.source!r} names nothing that was read in this run"
    for number, document in enumerate(named):
        told = _ground_in(document, fact, patch, subject)
        if isinstance(told, Ground):
            found.append(told)
        elif number == 0:
            problem = told
    if not found:
        raise GroundingError(problem)
    return tuple(found)


def _ground_in(document: Document, fact: Fact, patch: Patch, subject: Subject) -> Ground | str:
    """Return where a document says a fact, or what it says instead."""
    spans, beside, where = [(0, len(document.text))], 0, document.address
    if fact.quote:
        quote, beside = _QUOTE_MARK.sub("", fact.quote), _BESIDE
        spans = _quoted(document, quote) or list(_with_other_date(document, quote))
        where = f"{_shown(fact.quote)}, in {document.address},"
    if not spans:
        near = _nearest(document, fact, subject)
        return f"{document.address} does not say {_shown(fact.quote)}{near}"
    problem = None
    for start, end in spans[:_MAX_OCCURRENCES]:
        for ground in _values(document, patch, start, end, beside):
            why_not = _link_problem(ground, subject) or _value_problem(ground, patch, subject)
            if why_not is None:
                return ground
            problem = problem or f"{why_not}: {_shown(ground.line)}"
    missing = f"{where} does not give {fact.value!r}{_nearest(document, fact, subject)}"
    return problem or missing


def _values(
    document: Document, patch: Patch, start: int, end: int, beside: int
) -> Iterator[Ground]:
    """Yield the places of a value in a span, then those beside it in the same line."""
    if patch.is_date:
        found = [m for m in document.mentions if states(m, patch.date)]
        spans = [(each.start, each.end) for each in found]
    else:
        spans = list(find_words(fact_words()[patch.field][patch.value], document.text))
    first, last = document.line(start)[0], document.line(max(start, end - 1))[1]
    for near in (0, beside) if beside else (0,):
        low, high = max(first, start - near), min(last, end + near)
        yield from (Ground(document, a, b) for a, b in spans if a < high and b > low)


def _value_problem(ground: Ground, patch: Patch, subject: Subject) -> str | None:
    """Return why a value that stands there does not count, or None.

    What is called first must not be another candidate. A date falls where a word in its own clause
    says that it is another event's.
    """
    if patch.is_date:
        mention = next(m for m in ground.document.mentions if m.start == ground.start)
        doubt = _doubt(ground.document, mention, subject)
        return f"{patch.value} is said of something else ({doubt!r})" if doubt else None
    if patch.field == PREMIERE:
        is_others = subject.names_other(ground.statement)
        others = ("the clause names another candidate",) if is_others else ()
        return next(chain(_denials(ground, patch), others), None)
    in_prose = _prose_problems(ground, patch, subject) if ground.is_prose else ()
    return next(chain(_denials(ground, patch), in_prose, _places(ground, patch, subject)), None)


def _denials(ground: Ground, patch: Patch) -> Iterator[str]:
    text, (begin, end) = ground.document.text, (ground.start, ground.end)
    behind = _OF_SOMETHING.match(text, end) or _NOT_SO.match(text, end)
    if behind or _DENIED.search(text, max(0, begin - MAX_PASSAGE), begin):
        yield f"{patch.value} is denied there, or said of something else"


def _places(ground: Ground, patch: Patch, subject: Subject) -> Iterator[str]:
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
    if is_row and _is_of_other_year(line, subject):
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


def _prose_problems(ground: Ground, patch: Patch, subject: Subject) -> Iterator[str]:
    """Yield why a clause does not say a status, country or type of the subject."""
    clause, value = ground.clause, patch.value
    before, _, behind = clause.partition(ground.document.text[ground.start : ground.end])
    if doubt := doubt_in_heading(clause):
        yield f"{value} is said of something else ({doubt!r})"
    if _NEGATED.search(clause) or (patch.field == PRIMARY_TYPE and _FROM.search(before)):
        yield f"{value} is denied there, or said of something else"
    if patch.field == COUNTRY and _OF_PEOPLE.match(behind):
        yield f"{value} is said of the artist"
    is_named = subject.is_named_in(clause) or any(code in fold(clause) for code in subject.codes)
    said = spaced_words(before if patch.field == PRIMARY_TYPE else clause)
    is_others = not is_named and subject.names_other(ground.line)
    if is_others or any(title in said for title in subject.others):
        yield "the clause names another candidate"
    name = _NAME.match(behind)
    if patch.field == PRIMARY_TYPE and name and not _begins(name[2], subject.own):
        is_titled = name[1] or _begins(name[2], subject.others) or _ARTICLE.search(before)
        if is_titled:
            yield f"{value} is said of {_shown(name[2][:40])}"
    if patch.field == STATUS and _is_of_other_year(clause, subject):
        yield f"it is said of another year than that of {subject.title!r}"


def _is_of_other_year(text: str, subject: Subject) -> bool:
    """Return whether a text names years, and none of the subject's."""
    years = set(_YEAR.findall(text))
    return bool(subject.years and years) and years.isdisjoint(subject.years)


def _begins(text: str, titles: Iterable[str]) -> bool:
    return any(spaced_words(text).startswith(title) for title in titles)


_WORDS = tomli.loads(files("chart_binder.llm").joinpath("value_words.toml").read_text("utf-8"))


def _any(kind: str) -> str:
    """Return the pattern of the words of one kind."""
    return f"(?:{'|'.join(_WORDS[kind])})"


_NEGATED = re.compile(rf"\b{_any('negated')}\b", re.IGNORECASE)
_FROM = re.compile(rf"\b{_any('from')}\W+(?:\w+\W+){{0,3}}$", re.IGNORECASE)
"""A song from the album, the single of the week: what follows is no type of the subject."""
_OF_PEOPLE = re.compile(rf"(?:[ -][\w&-]+){{0,3}}?[ -]{_any('people')}\b", re.IGNORECASE)
_NAME = re.compile(r"\s+([\"'“‘«„]?)(?=[A-ZÀ-ÖØ-Þ])(.{1,200})", re.DOTALL)
_ARTICLE = re.compile(rf"\b{_any('article')}\W+$", re.IGNORECASE)


def _is_other_edition(document: Document, subject: Subject) -> bool:
    """Return whether a page is of another release of the subject's group."""
    text = fold(document.text)
    has_other = any(code in text for code in subject.other_codes)
    is_other = has_other and not any(code in text for code in subject.codes)
    return is_other or _is_of_other_year(text, subject)


_NOT_SO = re.compile(
    r"\s*[:|(]\s*(?:no|none|not|false|never|nein|non|nee|[-–—✗✘×])(?!\w)", re.IGNORECASE
)
_DENIED = re.compile(
    r"\b(?:not|never|no|nor|nicht|kein\w*|pas|no|non|n[aã]o)\W+(?:\w+\W+){0,2}$", re.IGNORECASE
)
_OF_SOMETHING = re.compile(rf"\W+(?:\w+\W+)?{_any('no_record')}\b", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")


def premieres_said(documents: Iterable[Document]) -> Iterator[Ground]:
    """Yield where passages say that something first came out on a record."""
    for document in documents:
        for start, end in find_words(fact_words()[PREMIERE]["true"], document.text):
            ground = Ground(document, start, end)
            if not any(_denials(ground, Patch("", PREMIERE, "true"))):
                yield ground


def dates_about(
    documents: Iterable[Document], subject: Subject, is_wanted: Callable[[Mention], bool]
) -> Iterator[tuple[Mention, Ground, bool]]:
    """Yield the dates that passages may give for a subject, and whether they plainly say release.

    Plainly: a row or a clause that names it, a word of release, or a row of a name and a value.
    What is said of another candidate, or by a word in the clause or heading of another event, is
    left out.
    """
    for document in documents:
        for mention in filter(is_wanted, document.mentions):
            ground = Ground(document, mention.start, mention.end)
            if _link_problem(ground, subject) or _doubt(document, mention, subject):
                continue
            line, clause = ground.line, ground.clause
            is_named = subject.is_named_in(line if ground.is_row else clause)
            says = any(map(says_release, (*document.headings(mention.start), clause)))
            is_plain = is_named or says or line.count(CELLS) == 1
            if is_plain or not subject.names_other(clause):
                yield mention, ground, is_plain


def _doubt(document: Document, mention: Mention, subject: Subject) -> str | None:
    """Return a word that says that a date is of something else: in its clause, or its heading."""
    if doubt := doubt_in_clause(document.text, mention, subject.names):
        return doubt
    sides = (side for name in (*subject.names, subject.recording) for side in name.split(" / "))
    if "+" not in subject.kind and (
        said := other_issue(document.text, mention, frozenset(sides), _abroad(subject.countries))
    ):
        return said
    for above in reversed(document.headings(mention.start)):
        heading = _column(above, document, mention) if CELLS in above else above
        if subject.is_named_in(heading):
            continue
        if doubt := doubt_in_heading(heading):
            return doubt
        if heading is above and says_release(heading):
            return None
    return None


@lru_cache(64)
def _abroad(own: frozenset[str]) -> frozenset[str]:
    """Return the names of the countries that are none of these; none where it has none."""
    known = fact_words()[COUNTRY].items()
    others = (names for code, names in known if code not in {*own, "XE", "XW"})
    return frozenset(name for names in others for name in names) if own else frozenset()


def _column(names: str, document: Document, mention: Mention) -> str:
    """Return the name of the column of a date, of a table whose columns have these names."""
    cells = names.split(CELLS)
    place = document.text[document.line(mention.start)[0] : mention.start].count(CELLS)
    return cells[place] if place < len(cells) else names


def states_words(fact: Fact, documents: Sequence[Document]) -> bool:
    """Return whether a source says the value of a field that moves nothing, word for word."""
    words = spaced_words(fact.value)
    named = documents_named(fact.source, documents)
    return len(words) > _MIN_NAME and any(words in spaced_words(d.text) for d in named)


# Quotes.

_QUOTE_MARK = re.compile(r"(?:^|(?<=\s))> ")
"""What `web_fetch` shows before each line of a page, and models copy."""
_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…|\[\.\.\.\])\s*")


def _quoted(document: Document, quote: str) -> list[tuple[int, int]]:
    """Return where a quote stands; parts around an ellipsis must be of one sentence."""
    parts = [plain_text(part)[0].strip(" .,;:") for part in _ELLIPSIS.split(quote)]
    parts = [part for part in parts if part]
    if sum(map(len, parts)) < _MIN_QUOTE:
        return []
    normal, places = document.normal
    found: list[tuple[int, int]] = []
    start = normal.find(parts[0])
    while start >= 0 and len(found) < _MAX_OCCURRENCES:
        end = start + len(parts[0])
        for part in parts[1:]:
            at = normal.find(part, end, end + MAX_PASSAGE)
            if at < 0 or _SENTENCE_END.search(document.text, places[end - 1], places[at]):
                end = -1
                break
            end = at + len(part)
        if end > 0:
            found.append((places[start], places[end - 1] + 1))
        start = normal.find(parts[0], start + 1)
    return found


def _with_other_date(document: Document, quote: str) -> Iterator[tuple[int, int]]:
    """Yield where a quote stands but for the form of its date: `May 17, 1974` for `17 May 1974`."""

    def plain(text: str) -> str:
        return _BEFORE_DATE.sub("", plain_text(text)[0].strip(_MARKS)).strip(_MARKS)

    for told in find_dates(quote):
        before, behind = plain(quote[: told.start]), plain(quote[told.end :])
        for there in document.mentions if len(told.dates) == 1 else ():
            near = max(0, there.start - 2 * told.start - _BESIDE)
            said = plain(document.text[near : there.start])
            rest = plain(document.text[there.end : there.end + 2 * len(quote) + _BESIDE])
            if there.dates == told.dates and said.endswith(before) and rest.startswith(behind):
                yield there.start, there.end


_MARKS = " .,;:()"
_BEFORE_DATE = re.compile(r"(?:\s(?:on|in|the))+$")


def _nearest(document: Document, fact: Fact, subject: Subject) -> str:
    """Return the line that shares most words with what was looked for, as half a sentence."""
    wanted = set(spaced_words(f"{fact.quote} {fact.value} {subject.title}").split())
    lines = [line for line in document.text.split("\n") if line.strip()]
    best = max(lines, key=lambda line: len(wanted & set(spaced_words(line).split())), default="")
    shared = wanted & set(spaced_words(best).split())
    return f"; it says {_shown(best)}" if shared else ""


def _shown(text: str) -> str:
    return f"‹{one_line(text, _MAX_SHOWN)}›"
