"""A cited fact counts when its source was read in this run, and says so."""

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from chart_binder.domain.dates import PartialDate
from chart_binder.llm.answer import CitedFact
from chart_binder.llm.dates_in_text import stands_in
from chart_binder.llm.labels import Labels
from chart_binder.llm.result import Fact
from chart_binder.react.transcript import Observed

DATE_FIELDS = frozenset({"first_release_date", "release_date", "date"})


def verify(
    cited: Iterable[CitedFact], seen: Sequence[Observed], labels: Labels
) -> tuple[Fact, ...]:
    """Return the facts with what the observations of this run say of each."""
    return tuple(
        Fact(
            about=labels.ids.get(fact.about.upper(), fact.about),
            field=fact.field,
            value=fact.value,
            source=fact.source,
            verified=any(_says(observed, fact) for observed in seen),
        )
        for fact in cited
    )


def hosts(facts: Iterable[Fact]) -> frozenset[str]:
    """Return the independent hosts that bear out the verified facts."""
    return frozenset(_address(fact.source)[0] for fact in facts if fact.verified)


def _says(observed: Observed, fact: CitedFact) -> bool:
    if observed.error or _address(fact.source) not in map(_address, observed.sources):
        return False
    if fact.field not in DATE_FIELDS:
        return fact.value.casefold() in observed.content.casefold()
    try:
        date = PartialDate.parse(fact.value)
    except ValueError:
        return False
    return date.is_known and stands_in(date, observed.content)


def _address(url: str) -> tuple[str, str, str]:
    """Return what makes two ways of writing an address the same: host, path and query."""
    try:
        parts = urlsplit(url.strip().strip("<>"))
        host = parts.hostname or ""
    except ValueError:
        return url, "", ""
    return host.removeprefix("www."), parts.path.rstrip("/"), parts.query
