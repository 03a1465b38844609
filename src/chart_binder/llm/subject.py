"""A date on a page that names another record only is a date of that other record."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.llm.dates_in_text import stands_in
from chart_binder.llm.fields import is_of_release
from chart_binder.llm.grounding import read_date
from chart_binder.llm.labels import Labels
from chart_binder.llm.month_names import folded
from chart_binder.llm.result import Fact

_ASIDE = re.compile(r"[(\[].*?[)\]]")
_CELLS = " | "
_NO_WORDS = re.compile(r"[\W_]+")


def another_subject(
    fact: Fact, texts: Iterable[str], bundle: EvidenceBundle, labels: Labels
) -> str | None:
    """Return the candidate that the texts are about, if the fact is about one they do not name.

    Titles are looked for whole, without case, accents, signs and what stands in brackets; one of
    two sides (`A / B`) will do. Text that names no candidate at all tells nothing. Where a date
    stands in rows of tables alone, the rows must not be another's either.
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
    of_release = is_of_release(fact.field)
    lines = [
        line
        for text in texts
        for line in text.splitlines()
        if date and stands_in(date, line, of_release=of_release)
    ]
    return lines if all(_CELLS in line for line in lines) else []


def _titles(title: str) -> Iterator[str]:
    for side in (title, *title.split(" / ")):
        for name in (side, _ASIDE.sub(" ", side)):
            if words := _spaced(name).strip():
                yield f" {words} "


def _spaced(text: str) -> str:
    """Return the words of a text with one space around each."""
    return f" {_NO_WORDS.sub(' ', folded(text)).strip()} "
