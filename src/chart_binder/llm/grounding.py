"""Grounding: where a source that was read in this run says what a fact claims.

A fact is looked for by its quote, word for word, in what its source said, with the value in the
quote or right beside it; what the passage is about is told by structure first (the row, the
heading, the page's title). Whether a date is that of the release is for the second reading.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, unquote, urlsplit

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import Mention, find_dates, states
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.vocabulary import fold
from chart_binder.llm.answer import CitedFact
from chart_binder.llm.date_words import (
    date_clause,
    doubt_in_clause,
    doubt_in_heading,
    says_release,
)
from chart_binder.llm.facts import COUNTRY, PRIMARY_TYPE, Patch, fact_words
from chart_binder.llm.sources import independent_sources, registered_site
from chart_binder.react.sanitize import one_line
from chart_binder.react.transcript import AnyEvent, Observed, Stepped

MAX_PASSAGE = 700
"""Characters of a passage, with its page's title and heading."""
_FETCHING = frozenset({"web_fetch", "wikipedia", "musicbrainz"})
"""The tools that read a page itself, rather than what a search engine says of it."""
_BESIDE = 60
_MAX_OCCURRENCES = 8
_MAX_SHOWN = 200
_MIN_QUOTE = 4
_MIN_NAME = 4
_CELLS = " | "
_CREDIT = re.compile(r"( [-–—] )")


class GroundingError(Exception):
    """A fact does not stand; the text says what was looked for, where, and what was found."""


# Documents.

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_PAGE_HEAD = re.compile(r"\ATitle: (.*)\n(?:Address: .*\n)?(?:Published: .*\n)?")
_REMARK = re.compile(
    r"^\((?:passages about|the page|nothing on|no passage|some search|\d+ more).*\)$", re.MULTILINE
)
_ENTRY = re.compile(r"^([0-9]+)\. (.*)\n[ ]*(https?://\S+)[ ]*$", re.IGNORECASE | re.MULTILINE)
"""An entry of a search: its number, its title, and below it the address that it is of."""
_ENTRY_SITE = re.compile(r" \([^()]*\)$")
_DIRECT = re.compile(r"^‹?(?:Answer|Infobox)\b.*", re.MULTILINE)  # a label is shown in marks
_LAST = re.compile(r"\((https?://\S+)\)[ ]*$", re.IGNORECASE)
_QUOTE_MARK = re.compile(r"^> ?", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """What one source said in this run: a page, or one entry among search results.

    `addresses` begins with the one where it was read in the end; `number` is that of a result.
    """

    addresses: tuple[str, ...]
    title: str
    text: str
    number: int | None = None
    is_fetched: bool = False

    @property
    def address(self) -> str:
        """Where it was read."""
        return self.addresses[0]

    @property
    def site(self) -> str:
        """The registered domain that is responsible for it."""
        return registered_site(self.address)

    @cached_property
    def mentions(self) -> Sequence[Mention]:
        """The dates in the text."""
        return find_dates(self.text)

    @cached_property
    def normal(self) -> tuple[str, list[int]]:
        """The text as quotes are compared, with the offset of each of its characters."""
        return _normal(self.text)

    def line(self, place: int) -> tuple[int, int]:
        """Return where the line around an offset begins and ends."""
        end = self.text.find("\n", place)
        return self.text.rfind("\n", 0, place) + 1, len(self.text) if end < 0 else end

    def headings(self, place: int) -> tuple[str, ...]:
        """Return the nearest heading above an offset, and the names of its table's columns."""
        found: list[str] = []
        lines = self.text[: self.line(place)[0]].split("\n")[:-1]
        if _CELLS in self.text[slice(*self.line(place))]:
            rows = 0
            while rows < len(lines) and _CELLS in lines[-1 - rows]:
                rows += 1
            if rows and not any(sign.isdigit() for sign in lines[-rows]):
                found.append(lines[-rows])
        heading = next((line for line in reversed(lines) if line.startswith("#")), None)
        return (*((heading.lstrip("# "),) if heading else ()), *found)

    def passage(self, place: int, end: int) -> str:
        """Return the text around a span, with the page's title and the nearest heading."""
        head = [f"Page: {self.title[:120]}"] if self.title else []
        head += [f"Under: {each[:120]}" for each in self.headings(place)]
        room = MAX_PASSAGE - sum(len(line) + 1 for line in head)
        begin, stop = self.line(place)[0], self.line(max(place, end - 1))[1]
        if stop - begin <= room:  # neighbouring lines, as many as there is room for
            while begin > 0 and stop - self.line(begin - 1)[0] <= room - (room // 3):
                begin = self.line(begin - 1)[0]
            while stop < len(self.text) and self.line(stop + 1)[1] - begin <= room:
                stop = self.line(stop + 1)[1]
        else:
            begin = max(begin, place - room // 2)
            stop = min(stop, begin + room)
        return "\n".join((*map(one_line, head), *map(one_line, self.text[begin:stop].split("\n"))))


def read_documents(events: Iterable[AnyEvent]) -> tuple[Document, ...]:
    """Return what the sources of a run said, in the order in which they were read.

    An entry of a search is of the address on its own line alone, whatever else it names. What
    stands before the entries is of the sources that none of them is of, where those are one site.
    """
    tool: str | None = None
    found: list[Document] = []
    for event in events:
        if isinstance(event, Stepped):
            tool = event.tool
        elif isinstance(event, Observed) and not event.error and event.sources:
            found += _documents(event, is_fetched=tool in _FETCHING)
    return tuple(found)


def _documents(observed: Observed, *, is_fetched: bool) -> Iterator[Document]:
    content = _REMARK.sub("", observed.content)
    starts = list(_ENTRY.finditer(content))
    head = content[: starts[0].start()] if starts else content
    owned = {_normal_address(start[3]) for start in starts}
    for line in _DIRECT.findall(head):
        if last := _LAST.search(line):
            owned.add(_normal_address(last[1]))
            yield Document((last[1],), "", _without_addresses(line[: last.start()]))
    others = [each for each in observed.sources if _normal_address(each) not in owned]
    if others and len(independent_sources(others)) == 1:
        page = _PAGE_HEAD.match(head)
        text = _DIRECT.sub("", head[page.end() :] if page else head)
        text = _without_addresses(_QUOTE_MARK.sub("", text)).strip("\n")
        yield Document(tuple(others), page[1] if page else "", text, is_fetched=is_fetched)
    ends = (*(each.start() for each in starts), len(content))
    for start, end in zip(starts, ends[1:], strict=True):
        title = _ENTRY_SITE.sub("", start[2])
        text = _without_addresses(content[start.end() : end]).strip("\n")
        yield Document((start[3],), title, f"{title}\n{text}", int(start[1]))


def _without_addresses(text: str) -> str:
    """Drop addresses: one that names a date proves nothing, as the model may have made it up."""
    return _ADDRESS.sub(" ", text)


_ESCAPE = re.compile("%[0-9a-fA-F]{2}")
_PLAIN = "".join(map(chr, range(0x21, 0x7F)))
_PARTING = "/?#%&=+;"
"""Signs that part an address where they stand as themselves (RFC 3986, 2.2)."""


def _normal_address(url: str) -> tuple[str, str, str]:
    """Return what makes two ways of writing an address the same: host with port, path, query."""
    try:
        parts = urlsplit(url.strip().strip("<>"))
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url, "", ""
    place = host.removeprefix("www.") + (f":{port}" if port not in {None, 80, 443} else "")
    return place, _spelled(parts.path).rstrip("/"), _spelled(parts.query)


def _spelled(part: str) -> str:
    """Return a part of an address with nothing escaped but what has to be."""

    def unescaped(escape: re.Match[str]) -> str:
        sign = unquote(escape[0], "latin-1")
        return sign if sign in _PLAIN and sign not in _PARTING else escape[0].upper()

    return _ESCAPE.sub(unescaped, quote(part, safe=_PLAIN))


_RESULT_NUMBER = re.compile(
    r"(?:search )?(?:result|source|observation)?\s*[\[(#]?(\d{1,2})[\])]?\.?"
)
_BARE_HOST = re.compile(r"(?:www\.)?((?:[a-z0-9-]+\.)+[a-z]{2,})/?", re.IGNORECASE)


def documents_named(source: str, documents: Sequence[Document]) -> Sequence[Document]:
    """Return the documents that a source names: by address, result number, host or page title.

    Without a source it is all of them. Raises `GroundingError` where nothing read in this run is
    named.
    """
    written = source.strip().strip("<>\"'` ")
    if not written:
        return documents
    if "//" in written:
        if not (named := _of_addresses([written], documents)):
            raise GroundingError(f"{source} was not read in this run")
        return named
    plain = " ".join(fold(written).split())
    tests: list[Sequence[Document]] = []
    if number := _RESULT_NUMBER.fullmatch(plain):
        results = (d.address for d in documents if d.number == int(number[1]))
        tests.append(_of_addresses(results, documents))
    if host := _BARE_HOST.fullmatch(plain):
        tests.append([d for d in documents if _is_on(d, host[1])])
    if "/" in plain and "." in plain.split("/")[0]:
        tests.append(_of_addresses([f"https://{written}"], documents))
    if len(plain) >= _MIN_NAME:
        tests.append([d for d in documents if plain in " ".join(fold(d.title).split())])
        tests.append([d for d in documents if (t := fold(d.title)) and t in plain])
        tests.append([d for d in documents if fold(d.site.partition(".")[0]) == plain])
        names = plain.split()
        tests.append([d for d in documents if d.site.partition(".")[0] in names])
    for named in tests:
        if named:
            return named
    raise GroundingError(f"{source!r} names nothing that was read in this run")


def _of_addresses(written: Iterable[str], documents: Sequence[Document]) -> Sequence[Document]:
    wanted = set(map(_normal_address, written))
    return [d for d in documents if not wanted.isdisjoint(map(_normal_address, d.addresses))]


def _is_on(document: Document, host: str) -> bool:
    try:
        own = urlsplit(document.address).hostname or ""
    except ValueError:
        return False
    return f".{own.casefold()}".endswith(f".{host.casefold()}")


# What a passage is about.

_ASIDE = re.compile(r"[(\[].*?[)\]]")
_NO_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Subject:
    """What a fact is about, in the words by which a passage may name it, or name another."""

    about: str
    title: str
    artist: str
    kind: str
    country: str | None
    names: frozenset[str]
    """The titles of all candidates, as they are written."""
    own: frozenset[str]
    """Its titles, as `_spaced` words."""
    others: frozenset[str]
    """The titles of the other candidates."""
    types: tuple[str, frozenset[str]]
    """Its primary type, and those of other candidates of its title."""
    codes: frozenset[str]
    """Its catalogue numbers, folded."""
    countries: frozenset[str]

    @classmethod
    def of(cls, about: str, bundle: EvidenceBundle) -> "Subject":
        """Return the subject for the id of a release group or a release of the evidence."""
        groups = [group for each in bundle.recording_candidates for group in each.groups]
        own = [g for g in groups if about == g.mb_rg_id or about in _ids(g.editions)]
        releases = [
            one for g in own for one in g.editions if about in (g.mb_rg_id, one.mb_release_id)
        ]
        written = [one.title for one in own] + [one.title for one in releases]
        titles = {t for title in written if title for t in _titles(title)}
        artist = _spaced(bundle.performer.name or "")
        named = {t for g in groups if g not in own and g.title for t in _titles(g.title)}
        places = {one.place for one in releases} - {None}
        release = next((one for one in releases if one.mb_release_id == about), None)
        group: ReleaseGroup | None = own[0] if own else None
        return cls(
            about,
            (release and release.title) or (group and group.title) or about,
            bundle.performer.name or "",
            " + ".join(filter(None, (group.types[0], *group.kinds))) if group else "",
            release.place if release else next(iter(places)) if len(places) == 1 else None,
            frozenset(filter(None, (*written, *(one.title for one in groups)))),
            frozenset(titles),
            frozenset(t for t in named - titles if t not in artist),
            _types(own, groups, titles),
            frozenset(fold(one.catno) for one in releases if one.catno),
            frozenset(filter(None, places)),
        )

    def is_named_in(self, text: str) -> bool:
        """Return whether a text names it by a title."""
        words = _spaced(text)
        return any(title in words for title in self.own)

    def names_other(self, text: str) -> bool:
        """Return whether a text names another candidate, and not this one."""
        words = _spaced(text)
        return any(title in words for title in self.others) and not self.is_named_in(text)


def _types(
    own: Sequence[ReleaseGroup], groups: Iterable[ReleaseGroup], titles: Container[str]
) -> tuple[str, frozenset[str]]:
    """Return the primary type of a group, and those of others that have one of its titles."""
    same = {
        group.types[0]
        for group in groups
        if group not in own and any(each in titles for each in _titles(group.title or ""))
    }
    known = own[0].types[0] if own else None
    return known or "", frozenset(filter(None, same - {known}))


def _ids(releases: Iterable[Release]) -> set[str]:
    return {release.mb_release_id for release in releases}


def _titles(title: str) -> Iterator[str]:
    for side in (title, *title.split(" / ")):
        for name in (side, _ASIDE.sub(" ", side)):
            if words := _spaced(name).strip():
                yield f" {words} "


def _spaced(text: str) -> str:
    """Return the words of a text with one space around each."""
    return f" {_NO_WORDS.sub(' ', fold(text)).strip()} "


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


def _link_problem(ground: Ground, subject: Subject) -> str | None:
    """Return why a place is not about the subject, or None.

    A row is about what it names, else about what its heading, caption or page names. In prose a
    title of another candidate that stands before the value in its line, with none of the subject's
    in that line, is what the value is about.
    """
    document = ground.document
    begin, stop = document.line(ground.start)
    line = document.text[begin:stop]
    if other := _other_artist(document, subject):
        return f"the page is about {subject.title!r} by {other!r}"
    is_row = _CELLS in line
    if subject.is_named_in(line):
        if is_row and _is_row_of_other_artist(document, line, subject):
            return "the row names another artist"
        other_type = _other_type(line, subject)
        return f"it is said of the {other_type} of that title" if other_type else None
    if subject.names_other(line if is_row else document.text[begin : ground.start]):
        return "the passage names another candidate"
    around = document.text[max(0, begin - MAX_PASSAGE // 2) : stop + MAX_PASSAGE // 2]
    slug = unquote(urlsplit(document.address).path) if "//" in document.address else ""
    near = (*document.headings(ground.start), document.title, slug, *(() if is_row else (around,)))
    if any(subject.is_named_in(text) for text in near):
        return None
    return f"the passage does not name {subject.title!r}"


def _other_artist(document: Document, subject: Subject) -> str | None:
    """Return whom the page's title puts before the subject's, where it names the artist nowhere."""
    before, dash, rest = (*_CREDIT.split(document.title, maxsplit=1), "", "")[:3]
    artist = set(_spaced(subject.artist).split())
    said = set(_spaced(f"{document.title} {document.text}").split())
    if not (dash and artist and subject.is_named_in(rest)) or artist & said:
        return None
    return before


def _other_type(line: str, subject: Subject) -> str | None:
    """Return the type of another candidate of the same title that a line names, and not its own."""
    own, others = subject.types
    words = fact_words()[PRIMARY_TYPE]
    if not others or any(True for _ in _places_of((*words.get(own, ()), *words["Song"]), line)):
        return None
    return next(
        (each for each in sorted(others) if any(_places_of(words.get(each, ()), line))), None
    )


def _is_row_of_other_artist(document: Document, line: str, subject: Subject) -> bool:
    """Return whether another row names the subject with its artist, and this one without."""
    artist = _spaced(subject.artist)
    rows = (row for row in document.text.split("\n") if _CELLS in row and row != line)
    is_credited = any(artist in _spaced(row) and subject.is_named_in(row) for row in rows)
    return is_credited and artist.strip() != "" and artist not in _spaced(line)


# Facts.


def ground_fact(
    fact: CitedFact, patch: Patch, documents: Sequence[Document], subject: Subject
) -> tuple[Ground, ...]:
    """Return where the sources of a fact say it, the best place of each document first.

    Raises `GroundingError` where none does.
    """
    named = sorted(documents_named(fact.source, documents), key=lambda d: not d.is_fetched)
    if not named:
        raise GroundingError("nothing was read in this run")
    problems: list[str] = []
    found: list[Ground] = []
    for document in named:
        try:
            found.append(_ground_in(document, fact, patch, subject))
        except GroundingError as error:
            problems.append(str(error))
    if not found:
        raise GroundingError(problems[0])
    return tuple(found)


def _ground_in(document: Document, fact: CitedFact, patch: Patch, subject: Subject) -> Ground:
    spans = _quoted(document, fact.quote) if fact.quote else [(0, len(document.text))]
    if not spans:
        near = _nearest(document, fact, subject)
        raise GroundingError(f"{document.address} does not say {_shown(fact.quote)}{near}")
    problem = None
    for start, end in spans[:_MAX_OCCURRENCES]:
        beside = _BESIDE if fact.quote else 0
        for ground in _values(document, patch, start, end, beside):
            why_not = _link_problem(ground, subject) or _value_problem(ground, patch, subject)
            if why_not is None:
                return ground
            problem = problem or f"{why_not}: {_shown(_line_at(ground))}"
    where = f"{_shown(fact.quote)}, in {document.address}," if fact.quote else document.address
    missing = f"{where} does not give {fact.value!r}{_nearest(document, fact, subject)}"
    raise GroundingError(problem or missing)


def _values(
    document: Document, patch: Patch, start: int, end: int, beside: int
) -> Iterator[Ground]:
    """Yield the places of a value in a span, then those beside it in the same line."""
    if patch.is_date:
        found = [m for m in document.mentions if states(m, patch.date)]
        spans = [(each.start, each.end) for each in found]
    else:
        spans = list(_places_of(fact_words()[patch.field][patch.value], document.text))
    first, last = document.line(start)[0], document.line(max(start, end - 1))[1]
    for near in (0, beside) if beside else (0,):
        low, high = max(first, start - near), min(last, end + near)
        yield from (Ground(document, a, b) for a, b in spans if a < high and b > low)


def _places_of(words: Iterable[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield where one of the words stands as a whole; short ones count in capitals alone."""
    normal, places = _normal(text)
    for word in words:
        for found in re.finditer(rf"(?<!\w){re.escape(_normal(word)[0])}(?!\w)", normal):
            start, end = places[found.start()], places[found.end() - 1] + 1
            if len(word) > 3 or not word.isalpha() or text[start:end].isupper():  # noqa: PLR2004
                yield start, end


def _value_problem(ground: Ground, patch: Patch, subject: Subject) -> str | None:
    """Return why a value that stands there does not count, or None.

    A date falls where a word in its own clause says that it is another event's. A status or a
    country must stand beside the release's title, country or catalogue number.
    """
    document, line = ground.document, _line_at(ground)
    if patch.is_date:
        mention = next(m for m in document.mentions if m.start == ground.start)
        doubt = _doubt(document, mention, subject)
        return f"{patch.value} is said of something else ({doubt!r})" if doubt else None
    beside = fold(line)
    names = [word for code in subject.countries for word in fact_words()[COUNTRY].get(code, ())]
    is_beside = (
        subject.is_named_in(line)
        or any(code in beside for code in subject.codes)
        or (patch.field != COUNTRY and any(True for _ in _places_of(names, line)))
        or any(map(subject.is_named_in, (*document.headings(ground.start), document.title)))
    )
    return None if is_beside else f"{patch.value} stands beside nothing that is {subject.title!r}"


def dates_about(
    documents: Iterable[Document], subject: Subject
) -> Iterator[tuple[Mention, Ground, bool]]:
    """Yield the dates that passages may give for a subject, and whether they clearly say release.

    Clearly: a row that names it, or a clause with a word of release. What is said of another
    candidate, or by a word in the clause or heading of another event, is left out.
    """
    for document in documents:
        for mention in document.mentions:
            ground = Ground(document, mention.start, mention.end)
            if _link_problem(ground, subject) or _doubt(document, mention, subject):
                continue
            line, clause = _line_at(ground), date_clause(document.text, mention)
            is_row = _CELLS in line and subject.is_named_in(line)
            says = any(map(says_release, (*document.headings(mention.start), clause)))
            yield mention, ground, is_row or says


def _doubt(document: Document, mention: Mention, subject: Subject) -> str | None:
    """Return a word that says that a date is of something else: in its clause, or its heading."""
    headings = (each for each in document.headings(mention.start) if not subject.is_named_in(each))
    return doubt_in_clause(document.text, mention, subject.names) or next(
        filter(None, map(doubt_in_heading, headings)), None
    )


def states_words(fact: CitedFact, documents: Sequence[Document]) -> bool:
    """Return whether a source says the value of a field that moves nothing, word for word."""
    try:
        named = documents_named(fact.source, documents)
    except GroundingError:
        return False
    words = _spaced(fact.value)
    return len(words.strip()) >= _MIN_NAME - 1 and any(words in _spaced(d.text) for d in named)


# Quotes.

_DROPPED = frozenset("\\\"'“”„‟‘’‚‛«»‹›「」『』*_`")
_DASHES = frozenset("-‐‑‒–—―−")
_SENTENCE_END = re.compile(r"[.!?]\s|[。！？\n]")
_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…|\[\.\.\.\])\s*")


def _normal(text: str) -> tuple[str, list[int]]:
    """Return a text without case, accents, quotation marks and kinds of dash and space.

    With it stands the offset in the text of each character.
    """
    signs: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        if letter in _DROPPED:
            continue
        if letter.isspace() or letter == "|":
            if signs and signs[-1] != " ":
                signs.append(" ")
                places.append(place)
            continue
        for sign in "-" if letter in _DASHES else fold(letter):
            signs.append(sign)
            places.append(place)
    return "".join(signs), places


def _quoted(document: Document, quote: str) -> list[tuple[int, int]]:
    """Return where a quote stands; parts around an ellipsis must be of one sentence."""
    parts = [_normal(part)[0].strip(" .,;:") for part in _ELLIPSIS.split(quote)]
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


def _line_at(ground: Ground) -> str:
    return ground.document.text[slice(*ground.document.line(ground.start))]


def _nearest(document: Document, fact: CitedFact, subject: Subject) -> str:
    """Return the line that shares most words with what was looked for, as half a sentence."""
    wanted = set(_spaced(f"{fact.quote} {fact.value} {subject.title}").split())
    lines = [line for line in document.text.split("\n") if line.strip()]
    best = max(lines, key=lambda line: len(wanted & set(_spaced(line).split())), default="")
    shared = wanted & set(_spaced(best).split())
    return f"; it says {_shown(best)}" if shared else ""


def _shown(text: str) -> str:
    line = one_line(text)
    return f"‹{line if len(line) <= _MAX_SHOWN else line[: _MAX_SHOWN - 1] + '…'}›"


def is_overlapping(dates: Iterable[PartialDate], value: PartialDate) -> bool:
    """Return whether one of the dates that a mention may mean is within, or around, a value."""
    return any(each.first <= value.last and value.first <= each.last for each in dates)
