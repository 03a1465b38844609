"""A transcript's events, grouped into the turns they belong to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from chart_binder.react.transcript import AnyEvent, Observed, Replied, Stepped


@dataclass(frozen=True, slots=True)
class Exchange:
    """A step and what the model was shown for it; a canned or a killed run may lack either."""

    step: Stepped | None = None
    observation: Observed | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply and the exchanges it led to; `number` counts from 1."""

    number: int
    reply: Replied | None = None
    exchanges: tuple[Exchange, ...] = ()


def turns(events: Iterable[AnyEvent]) -> Iterator[Turn]:
    """Yield the turns in order. A reply begins one; what comes before the first is left out."""
    number = 0
    reply: Replied | None = None
    steps: list[Stepped] = []
    shown: list[Observed] = []
    for event in events:
        if isinstance(event, Replied):
            if reply:
                yield Turn(number, reply, _paired(steps, shown))
            number, reply, steps, shown = number + 1, event, [], []
        elif isinstance(event, Stepped):
            steps.append(event)
        elif isinstance(event, Observed):
            shown.append(event)
    if reply:
        yield Turn(number, reply, _paired(steps, shown))


def _paired(steps: list[Stepped], shown: list[Observed]) -> tuple[Exchange, ...]:
    """Pair steps and observations by their place in the turn: they come in the order of calls."""
    return tuple(Exchange(step, seen) for step, seen in zip_longest(steps, shown))
