"""A date on a page that names another record only is a date of that other record."""

import re
from collections.abc import Iterable, Iterator

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.llm.labels import Labels
from chart_binder.llm.month_names import folded
from chart_binder.llm.result import Fact

_ASIDE = re.compile(r"[(\[].*?[)\]]")
_NO_WORDS = re.compile(r"[\W_]+")


def another_subject(
    fact: Fact, texts: Iterable[str], bundle: EvidenceBundle, labels: Labels
) -> str | None:
    """Return the candidate that the texts are about, if the fact is about one they do not name.

    Titles are looked for whole, without case, accents, signs and what stands in brackets; one of
    two sides (`A / B`) will do. Text that names no candidate at all tells nothing.
    """
    about = labels.home.get(fact.about, fact.about)
    titles = {group: set(_titles(title)) for group, title in labels.titles.items()}
    own = titles.pop(about, set())
    known = [_spaced(text) for text in texts]
    if not own or not known or any(title in text for title in own for text in known):
        return None
    # An album of the artist's own name stands on every page about the artist.
    artist = _spaced(bundle.performer.name or "")
    for group, others in titles.items():
        if any(title in text for title in others if title not in artist for text in known):
            return group
    return None


def _titles(title: str) -> Iterator[str]:
    for side in (title, *title.split(" / ")):
        for name in (side, _ASIDE.sub(" ", side)):
            if words := _spaced(name).strip():
                yield f" {words} "


def _spaced(text: str) -> str:
    """Return the words of a text with one space around each."""
    return f" {_NO_WORDS.sub(' ', folded(text)).strip()} "
