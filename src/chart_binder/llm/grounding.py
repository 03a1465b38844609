"""A cited fact counts when its source was read in this run, and says so."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from chart_binder.domain.dates import PartialDate
from chart_binder.llm.answer import CitedFact
from chart_binder.llm.dates_in_text import only_date, stands_in
from chart_binder.llm.labels import Labels
from chart_binder.llm.month_names import folded
from chart_binder.llm.result import Fact
from chart_binder.react.transcript import Observed

_ADDRESS = re.compile(r"https?://\S+|^Address:.*$", re.IGNORECASE | re.MULTILINE)
_ENTRIES = re.compile(r"^(?=\d+\. |Answer\b|Infobox\b)", re.MULTILINE)
_SHORTEST = 3
_NUMBERED = re.compile(r"cat|barcode|matrix|number|track|length|duration|isrc", re.IGNORECASE)
"""What a field is called whose value may look like a year, and is none."""


def verify(
    cited: Iterable[CitedFact], seen: Sequence[Observed], labels: Labels, known: Container[str]
) -> tuple[Fact, ...]:
    """Return the facts with what the observations of this run say of each.

    A fact that is about nothing `known` (the ids of the evidence and of the answer) bears nothing
    out, whatever its source says.
    """
    facts = []
    for fact in cited:
        about = labels.ids.get(fact.about.upper(), fact.about.casefold())
        verified = about in known and any(borne_out_by(fact, seen))
        facts.append(Fact(about, fact.field, fact.value, fact.source, verified))
    return tuple(facts)


def read_date(fact: CitedFact | Fact) -> PartialDate | None:
    """Return the date that a fact states, if it states one, in whatever way it is written."""
    if _NUMBERED.search(fact.field):
        return None
    try:
        date = PartialDate.parse(fact.value)
    except ValueError:
        return only_date(fact.value)
    return date if date.is_known else None


def borne_out_by(fact: CitedFact | Fact, seen: Iterable[Observed]) -> Iterator[str]:
    """Yield what the source of a fact says, each time that it was read and says so."""
    return (said for observed in seen if (said := _says(observed, fact)))


def _says(observed: Observed, fact: CitedFact | Fact) -> str | None:
    """Return what the source says, if that is what was read and says the fact in its own words.

    An address that names the value proves nothing: the model may have made it up.
    """
    if observed.error or _address(fact.source) not in map(_address, observed.sources):
        return None
    passage = _passage(observed, fact.source)
    said = _ADDRESS.sub(" ", passage)
    if date := read_date(fact):
        is_said = stands_in(date, said) and not stands_in(date, fact.source)
    else:
        is_said = _has(said, fact.value)
    return passage if is_said else None


def _has(said: str, value: str) -> bool:
    """Whether a text names a label, a country, a catalogue number."""
    words = " ".join(folded(value).split())
    return len(words) >= _SHORTEST and bool(
        re.search(rf"(?<!\w){re.escape(words)}(?!\w)", " ".join(folded(said).split()))
    )


def _passage(observed: Observed, source: str) -> str:
    """Return what an observation of several sources says of this one."""
    if len({_address(each) for each in observed.sources}) == 1:
        return observed.content
    entries = _ENTRIES.split(observed.content)
    return "\n".join(entry for entry in entries if source.strip("<> ") in entry)


def _address(url: str) -> tuple[str, str, str]:
    """Return what makes two ways of writing an address the same: host, path and query."""
    try:
        parts = urlsplit(url.strip().strip("<>"))
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return url, "", ""
    return host.removeprefix("www."), parts.path.rstrip("/"), parts.query
