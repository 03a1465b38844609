"""Verification of cited facts: the source was read in this run, and says so."""

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import quote, unquote, urlsplit

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.vocabulary import fold
from chart_binder.llm.answer import CitedFact, Labels
from chart_binder.llm.old_dates import contains_date, single_date
from chart_binder.llm.result import Fact
from chart_binder.llm.sources import independent_sources
from chart_binder.react.transcript import Observed

_WORDS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*")
_NUMBERED = frozenset(
    {"cat", "catno", "catalog", "catalogue", "catalognumber", "barcode", "matrix", "number"}
    | {"numbers", "track", "tracks", "length", "duration", "isrc"}
)
"""Words in what a field is called whose value may look like a year, and is none."""
_DATED = frozenset({"date", "dates", "dated", "day", "year"})
"""Words that make it a date for all that."""
_RELEASED = re.compile(r"date|releas|publish|issued|year", re.IGNORECASE)
_ELSE = re.compile(
    r"recorded|recording|session|perform|birth|death|copyright|chart|peak|re-?issue|re-?release",
    re.IGNORECASE,
)


def is_number_field(field: str) -> bool:
    """Return whether a field holds a number or a code, which may look like a date."""
    words = {word.casefold() for word in _WORDS.findall(field)}
    return bool(words & _NUMBERED and not words & _DATED)


def is_release_date_field(field: str) -> bool:
    """Return whether a field is the date of a release rather than of another event."""
    return bool(_RELEASED.search(field)) and not _ELSE.search(field)


Address: TypeAlias = tuple[str, str, str]
"""Host with port, path, query."""

_ADDRESS = re.compile(r"https?://\S+|^Address:.*$", re.IGNORECASE | re.MULTILINE)
_OF_PAGE = re.compile(
    r"^(Title: .*\n(?:Address: .*\n)?)Published: .*$|^([0-9]+\. .*), [0-9-]{10}\)$", re.MULTILINE
)
"""Where a tool says of what day a page itself is, which is no word of the page on a record."""
_RESULT = re.compile(r"^[0-9]+\. .*\n[ ]*(https?://\S+)[ ]*$", re.IGNORECASE | re.MULTILINE)
"""An entry of a search: its number, its title, and below it the address that it is of."""
_DIRECT = re.compile(r"^‹?(?:Answer|Infobox)\b.*", re.MULTILINE)  # a label is shown in marks
_LAST = re.compile(r"\((https?://\S+)\)[ ]*$", re.IGNORECASE)
_SHORTEST = 3
_ESCAPE = re.compile("%[0-9a-fA-F]{2}")
_PLAIN = "".join(map(chr, range(0x21, 0x7F)))
_PARTING = "/?#%&=+;"
"""Signs that part an address where they stand as themselves (RFC 3986, 2.2)."""


def verify_facts(
    cited: Iterable[CitedFact], seen: Sequence[Observed], labels: Labels, known: Container[str]
) -> tuple[Fact, ...]:
    """Return the facts, verified where an observation of this run supports them.

    A fact about nothing `known` (the ids of the evidence and of the answer) is never verified.
    """
    facts = []
    for fact in cited:
        about = labels.meant_by(fact.about)
        verified = about in known and any(supporting_passages(fact, seen))
        facts.append(Fact(about, fact.field, fact.value, fact.source, verified))
    return tuple(facts)


def read_date(fact: CitedFact | Fact) -> PartialDate | None:
    """Return the date that a fact states, in any written form, or None."""
    if is_number_field(fact.field):
        return None
    try:
        date = PartialDate.parse(fact.value)
    except ValueError:
        return single_date(fact.value)
    return date if date.is_known else None


def supporting_passages(fact: CitedFact | Fact, seen: Iterable[Observed]) -> Iterator[str]:
    """Yield the passages of a fact's source that support it."""
    return (said for observed in seen if (said := _says(observed, fact)))


def _says(observed: Observed, fact: CitedFact | Fact) -> str | None:
    """Return what the source says, if that is what was read and says the fact in its own words.

    An address that names the value proves nothing: the model may have made it up.
    """
    if observed.error or _address(fact.source) not in map(_address, observed.sources):
        return None
    passage = _passage(observed, fact.source)
    said = _ADDRESS.sub(" ", _OF_PAGE.sub(r"\1\2", passage))
    if date := read_date(fact):
        is_said = contains_date(date, said, of_release=is_release_date_field(fact.field))
        is_said = is_said and not contains_date(date, fact.source)
    else:
        is_said = _has(said, fact.value)
    return passage if is_said else None


def _has(said: str, value: str) -> bool:
    """Whether a text names a label, a country, a catalogue number."""
    words = " ".join(fold(value).split())
    return len(words) >= _SHORTEST and bool(
        re.search(rf"(?<!\w){re.escape(words)}(?!\w)", " ".join(fold(said).split()))
    )


def _passage(observed: Observed, source: str) -> str:
    """Return what an observation of several sources says of this one.

    An entry is of the address on its own address line alone, whatever else it names. What stands
    before the entries is of the sources that none of them is of, where those are one site: a page
    may be cited as it was asked for, or by where it was read in the end. An answer that is of no
    address is nobody's.
    """
    wanted = _address(source)
    head, owned = _entries(observed.content)
    named = {owner for owner, _ in owned}
    if wanted in named:
        return "\n".join(entry for owner, entry in owned if owner == wanted)
    others = [each for each in observed.sources if _address(each) not in named]
    return head if len(independent_sources(others)) == 1 else ""


def _entries(content: str) -> tuple[str, list[tuple[Address, str]]]:
    """Return what stands before the entries of a search, and each entry with whose it is.

    Answers and infoboxes are one line each, before the numbered entries: further down such a line
    is what a stranger wrote.
    """
    starts = list(_RESULT.finditer(content))
    ends = [each.start() for each in starts[1:]] + [len(content)]
    head = content[: starts[0].start()] if starts else content
    owned = [
        (_address(last[1]), line) for line in _DIRECT.findall(head) if (last := _LAST.search(line))
    ]
    owned += [
        (_address(start[1]), content[start.start() : end])
        for start, end in zip(starts, ends, strict=False)
    ]
    return _DIRECT.sub("", head), owned


def _address(url: str) -> Address:
    """Return what makes two ways of writing an address the same: host, path and query."""
    try:
        parts = urlsplit(url.strip().strip("<>"))
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url, "", ""
    place = host.removeprefix("www.") + (f":{port}" if port not in {None, 80, 443} else "")
    return place, _spelled(parts.path).rstrip("/"), _spelled(parts.query)


def _spelled(part: str) -> str:
    """Return a part of an address with nothing escaped but what has to be."""
    return _ESCAPE.sub(_unescaped, quote(part, safe=_PLAIN))


def _unescaped(escape: re.Match[str]) -> str:
    sign = unquote(escape[0], "latin-1")
    return sign if sign in _PLAIN and sign not in _PARTING else escape[0].upper()


_ASIDE = re.compile(r"[(\[].*?[)\]]")
_CELLS = " | "
_NO_WORDS = re.compile(r"[\W_]+")


def another_subject(
    fact: Fact, texts: Iterable[str], bundle: EvidenceBundle, labels: Labels
) -> str | None:
    """Return the candidate that the texts name, where they do not name the fact's own.

    Titles are compared as whole words without case, accents, signs and bracketed parts; one side of
    `A / B` is enough. None is returned where no candidate is named. Where a date stands in rows of
    tables alone, the rows must not name another candidate either.
    """
    texts = tuple(texts)
    # An album of the artist's own name stands on every page about the artist.
    artist = _spaced(bundle.performer.name or "")
    about = labels.home.get(fact.about, fact.about)
    titles = {
        group: {each for each in _titles(title) if group == about or each not in artist}
        for group, title in labels.titles.items()
    }
    own = titles.pop(about, set())
    return _named(texts, own, titles) or _named(_rows(fact, texts), own, titles)


def _named(
    texts: Iterable[str], own: Collection[str], others: Mapping[str, Collection[str]]
) -> str | None:
    """Return the group that texts name by its title, if they do not name the one by its own."""
    known = [_spaced(text) for text in texts]
    if not own or any(title in text for title in own for text in known):
        return None
    for group, titles in others.items():
        if any(title in text for title in titles for text in known):
            return group
    return None


def _rows(fact: Fact, texts: Iterable[str]) -> list[str]:
    """Return the rows that say when it was, if nothing else says so."""
    date = read_date(fact)
    of_release = is_release_date_field(fact.field)
    lines = [
        line
        for text in texts
        for line in text.splitlines()
        if date and contains_date(date, line, of_release=of_release)
    ]
    return lines if all(_CELLS in line for line in lines) else []


def _titles(title: str) -> Iterator[str]:
    for side in (title, *title.split(" / ")):
        for name in (side, _ASIDE.sub(" ", side)):
            if words := _spaced(name).strip():
                yield f" {words} "


def _spaced(text: str) -> str:
    """Return the words of a text with one space around each."""
    return f" {_NO_WORDS.sub(' ', fold(text)).strip()} "
