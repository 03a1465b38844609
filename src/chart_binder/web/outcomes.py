"""What a search came to: hits, nothing found, or degraded; three outcomes, never two."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Hit:
    """One result; `date` is `YYYY-MM-DD` as the page gives it, "" where it gives none."""

    url: str
    title: str
    snippet: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Infobox:
    """What an encyclopedia says about the thing searched for; `url` is where, "" if unknown.

    `facts` are such as `Release date: 20 January 1997`.
    """

    title: str
    text: str
    url: str = ""
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A direct answer of an engine, and where it is from, "" if unknown."""

    text: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class EngineFailure:
    """An engine behind the server that did not answer, and what the server says of it."""

    engine: str
    reason: str

    def __str__(self) -> str:
        return f"{self.engine} ({self.reason})" if self.reason else self.engine


@dataclass(frozen=True, slots=True)
class Hits:
    """Something was found; `failing` engines may have had more."""

    query: str
    hits: tuple[Hit, ...]
    infoboxes: tuple[Infobox, ...] = ()
    answers: tuple[Answer, ...] = ()
    failing: tuple[EngineFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class NothingFound:
    """Every engine that was asked answered, and none knew anything."""

    query: str
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Degraded:
    """Nothing usable came back, but not for want of anything: this says nothing of what exists.

    Engines failed, or so many results came `unreadable`: without an address that can be shown.
    """

    query: str
    failing: tuple[EngineFailure, ...]
    unreadable: int = 0


SearchOutcome: TypeAlias = Hits | NothingFound | Degraded
