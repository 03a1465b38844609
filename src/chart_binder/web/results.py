"""What a model is shown of a search."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from chart_binder.react.tools import Observation
from chart_binder.web.outcomes import Answer, Hit, Hits, Infobox, NothingFound

_LONGEST_SNIPPET = 300
_LONGEST_BOX = 500
_LONGEST_TITLE = 120
_MOST_SUGGESTIONS = 3
_LONGEST_QUERY = 80
_SPARE = 70  # characters kept for the last lines


def shown(found: Hits, max_results: int, max_chars: int) -> Observation:
    """Show what was found, numbered, best first, whole entries only, and say what was left out.

    The sources are the addresses that are really in the text.
    """
    entries = [*_direct(found), *_results(found.hits[:max_results])]
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


def nothing(found: NothingFound) -> Observation:
    """Say that the search worked and found nothing, with what the engines suggest instead."""
    instead = " or ".join(
        repr(_cut(text, _LONGEST_QUERY)) for text in found.suggestions[:_MOST_SUGGESTIONS]
    )
    advice = f"Try {instead}." if instead else "Try fewer or other words."
    return Observation(f"No results. {advice}")


def _direct(found: Hits) -> Iterator[tuple[str, str]]:
    for item in (*found.answers, *found.infoboxes):
        match item:
            case Answer(text, url):
                yield _entry("Answer", text, _LONGEST_SNIPPET, url), url
            case Infobox(title, text, url):
                yield _entry(f"Infobox {title}".strip(), text, _LONGEST_BOX, url), url


def _entry(label: str, text: str, longest: int, url: str) -> str:
    source = f" ({url})" if url else ""
    return f"{label}: {_cut(text, longest)}{source}"


def _results(hits: tuple[Hit, ...]) -> Iterator[tuple[str, str]]:
    for number, hit in enumerate(hits, start=1):
        host = (urlsplit(hit.url).hostname or "").removeprefix("www.")
        about = f"{host}, {hit.date}" if hit.date else host
        lines = [f"{number}. {_cut(hit.title, _LONGEST_TITLE)} ({about})", f"   {hit.url}"]
        if hit.snippet:
            lines.append(f"   {_cut(hit.snippet, _LONGEST_SNIPPET)}")
        yield "\n".join(lines), hit.url


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head, _, _ = text[:longest].rpartition(" ")
    return f"{head or text[: longest - 1]}…"
