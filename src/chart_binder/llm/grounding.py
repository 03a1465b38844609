"""A cited fact counts when its source was read in this run, and says so."""

import re
from collections.abc import Container, Iterable, Sequence
from urllib.parse import urlsplit

from chart_binder.domain.dates import PartialDate
from chart_binder.llm.answer import CitedFact
from chart_binder.llm.dates_in_text import stands_in
from chart_binder.llm.labels import Labels
from chart_binder.llm.result import Fact
from chart_binder.react.transcript import Observed

_ADDRESS = re.compile(r"https?://\S+|^Address:.*$", re.IGNORECASE | re.MULTILINE)
_ENTRIES = re.compile(r"^(?=\d+\. |Answer\b|Infobox\b)", re.MULTILINE)
_SHORTEST = 3
# Where a country's registry sells names one level down: bbc.co.uk, not co.uk.
_SECOND_LEVELS = frozenset({"ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"})


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
        verified = about in known and any(_says(observed, fact) for observed in seen)
        facts.append(Fact(about, fact.field, fact.value, fact.source, verified))
    return tuple(facts)


def read_date(fact: CitedFact | Fact) -> PartialDate | None:
    """Return the date that a fact states, if it states one."""
    try:
        date = PartialDate.parse(fact.value)
    except ValueError:
        return None
    return date if date.is_known else None


def hosts(facts: Iterable[Fact]) -> frozenset[str]:
    """Return the independent sites that bear out the verified facts."""
    return frozenset(_site(_address(fact.source)[0]) for fact in facts if fact.verified)


def _says(observed: Observed, fact: CitedFact) -> bool:
    """Whether the source is what was read, and says it in words of its own.

    An address that names the value proves nothing: the model may have made it up.
    """
    if observed.error or _address(fact.source) not in map(_address, observed.sources):
        return False
    said = _ADDRESS.sub(" ", _passage(observed, fact.source))
    date = read_date(fact)
    if date:
        return stands_in(date, said) and not stands_in(date, fact.source)
    value = " ".join(fact.value.casefold().split())
    return len(value) >= _SHORTEST and bool(
        re.search(rf"(?<!\w){re.escape(value)}(?!\w)", " ".join(said.casefold().split()))
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


def _site(host: str) -> str:
    """Return the name that somebody registered: two hosts below it are no independent sources."""
    labels = host.split(".")
    deep = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVELS  # noqa: PLR2004
    return ".".join(labels[-3:] if deep else labels[-2:])
