"""What a model is shown of a search."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from chart_binder.react.tools import Observation
from chart_binder.web.passages import excerpt


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


_LONGEST_SNIPPET = 300
_LONGEST_BOX = 500
_LONGEST_TITLE = 120
_MOST_SUGGESTIONS = 3
_LONGEST_QUERY = 80
_SPARE = 70  # characters kept for the last lines


def search_results(found: Hits, max_results: int, max_chars: int) -> Observation:
    """Show what was found, numbered, best first, whole entries only, and say what was left out.

    The sources are the addresses that are really in the text.
    """
    entries = [*_direct(found), *_results(found.hits[:max_results], found.query)]
    lines = ["Search results:"]  # without the query: it would look like something that was found
    sources: list[str] = []
    left_out = 0
    room = max_chars - len(lines[0]) - _SPARE
    for text, url in entries:
        if len(text) + 1 > room:
            left_out += 1
            continue
        room -= len(text) + 1
        lines.append(text)
        if url:
            sources.append(url)
    if left_out:
        lines.append(f"({left_out} more not shown)")
    if found.failing:
        lines.append("(some search engines did not answer)")
    return Observation("\n".join(lines)[:max_chars], tuple(dict.fromkeys(sources)))


def nothing_found(found: NothingFound) -> Observation:
    """Say that the search worked and found nothing, with what the engines suggest instead."""
    instead = " or ".join(
        repr(_cut(text, _LONGEST_QUERY)) for text in found.suggestions[:_MOST_SUGGESTIONS]
    )
    advice = f"Try {instead}." if instead else "Try fewer or other words."
    return Observation(f"No results. {advice}")


def _direct(found: Hits) -> Iterator[tuple[str, str]]:
    for answer in found.answers:
        yield _entry("Answer", _cut(answer.text, _LONGEST_SNIPPET), answer.url), answer.url
    for box in found.infoboxes:
        told = excerpt((*box.facts, box.text), _LONGEST_BOX, found.query, per_line=3)
        text = " | ".join(filter(None, told.lines))
        yield _entry(f"Infobox {box.title}".strip(), text, box.url), box.url


def _entry(label: str, text: str, url: str) -> str:
    """End in whose it is, also where nobody's: the text may end in the address of another."""
    return f"{label}: {text} ({url or 'no address given'})"


def _results(hits: tuple[Hit, ...], query: str) -> Iterator[tuple[str, str]]:
    for number, hit in enumerate(hits, start=1):
        host = (urlsplit(hit.url).hostname or "").removeprefix("www.")
        about = f"{host}, {hit.date}" if hit.date else host
        lines = [f"{number}. {_cut(hit.title, _LONGEST_TITLE)} ({about})", f"   {hit.url}"]
        if hit.snippet:
            told = excerpt((hit.snippet,), _LONGEST_SNIPPET, query)
            lines.append(f"   {' '.join(told.lines)}")
        yield "\n".join(lines), hit.url


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head, _, _ = text[:longest].rpartition(" ")
    return f"{head or text[: longest - 1]}…"
