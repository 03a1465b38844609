"""What a run that came to no answer had learned."""

from collections.abc import Iterable

from chart_binder.react.dialect import Dialect
from chart_binder.react.inert import one_line
from chart_binder.react.steps import Malformed
from chart_binder.react.transcript import AnyEvent, Observed, Replied

_MOST_OF_A_THOUGHT = 400
_MOST_OF_A_SOURCE = 200
_MOST_SOURCES = 10


def learned(events: Iterable[AnyEvent], dialect: Dialect) -> str:
    """Return the last thought and the sources that were read, in one line; empty if none."""
    events = tuple(events)
    sources = dict.fromkeys(
        one_line(source, _MOST_OF_A_SOURCE)
        for event in events
        if isinstance(event, Observed) and not event.error
        for source in event.sources
    )
    more = f" and {len(sources) - _MOST_SOURCES} more" if len(sources) > _MOST_SOURCES else ""
    thought = _last_thought(events, dialect)
    told = (
        f'the last thought was "{thought}"' if thought else "",
        f"read: {' '.join(list(sources)[:_MOST_SOURCES])}{more}" if sources else "",
    )
    known = "; ".join(filter(None, told))
    return f"no answer was reached; {known}" if known else ""


def _last_thought(events: Iterable[AnyEvent], dialect: Dialect) -> str:
    steps = (dialect.parse(event.content) for event in events if isinstance(event, Replied))
    thoughts = [step.thought for step in steps if not isinstance(step, Malformed) and step.thought]
    return one_line(thoughts[-1], _MOST_OF_A_THOUGHT) if thoughts else ""
