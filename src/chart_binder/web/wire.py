"""SearXNG's JSON, read with patience: one odd value spoils itself, not the answer.

The format is that of `GET /search?format=json` (searx/webapp.py and searx/result_types), of
searx 1.1 as well as today's; engines put numbers where titles belong, and null anywhere.
"""

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import httpx
import msgspec

from chart_binder.react.inert import one_line
from chart_binder.typed import converted
from chart_binder.web.outcomes import (
    Answer,
    Degraded,
    EngineFailure,
    Hit,
    Hits,
    Infobox,
    NothingFound,
    SearchOutcome,
)

_LONGEST_URL = 500
_LONGEST_NUMBER = 40
_LONGEST_TEXT = 2_000  # before it is folded: some letters unfold to eighteen others
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
# What tells who sent a visitor, and the names of one site for other screens.
_DECORATION = re.compile(r"(?<=[?&])(?:utm_\w+|fbclid|gclid)=[^&]*&?")
_PREFIXES = re.compile(r"^(?:www|m|mobile)\.|(?<=^\w\w\.)m\.")

_Objects: TypeAlias = list[dict[str, object]]


class SearchBody(msgspec.Struct, frozen=True):
    """An answer as it arrives; `results` alone must be there, or it is no search answer."""

    results: list[object]
    answers: object = None
    infoboxes: object = None
    suggestions: object = None
    corrections: object = None
    unresponsive_engines: object = None


def read(data: bytes) -> SearchBody:
    """Read an answer, or raise `ValueError` or `RecursionError` where it is none."""
    return converted(document(data), SearchBody)


def document(data: bytes) -> object:
    """Read JSON with what strict readers refuse in a value: 1e999, half a character, a lost byte.

    Raises `ValueError` or `RecursionError`.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = data.removeprefix(BOM_UTF8).decode("utf-8", "replace")
        return json.loads(text, strict=False, parse_int=_whole)


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else digits


def outcome(body: SearchBody, query: str) -> SearchOutcome:
    """Tell what an answer to a query means."""
    hits = tuple(_hits(body))
    infoboxes = tuple(_infoboxes(body))
    answers = tuple(_answers(body, computed=False))
    failing = tuple(_failing(body))
    if hits or infoboxes or answers:
        return Hits(query, hits, infoboxes, answers, failing)
    if failing or body.results:
        return Degraded(query, failing, len(body.results))
    if computed := tuple(_answers(body, computed=True)):
        return Hits(query, (), answers=computed)
    suggestions = map(_text, [*_list(body.corrections), *_list(body.suggestions)])
    return NothingFound(query, tuple(dict.fromkeys(text for text in suggestions if text)))


def _hits(body: SearchBody) -> Iterator[Hit]:
    """Yield the results, of each page and of each text the first only."""
    seen: set[object] = set()
    for result in _objects(body.results):
        url = _web_address(result.get("url"))
        title, snippet = _text(result.get("title")), _text(result.get("content"))
        same = {_place(url), (title, snippet) if snippet else url}
        if url and seen.isdisjoint(same):
            seen |= same
            yield Hit(url, title or url, snippet, _date(result))


def _place(url: str) -> str:
    """Return what the addresses of one page have in common."""
    place = _DECORATION.sub("", url.partition("://")[2]).rstrip("?&/")
    return _PREFIXES.sub("", place)


def _date(result: Mapping[str, object]) -> str:
    dates = (_DATE.match(_text(result.get(name))) for name in ("publishedDate", "pubdate"))
    return next((found[0] for found in dates if found), "")


def _infoboxes(body: SearchBody) -> Iterator[Infobox]:
    for box in _objects(body.infoboxes):
        facts = tuple(
            f"{_text(fact.get('label'))}: {_text(fact.get('value'))}"
            for fact in _objects(box.get("attributes"))
            if _text(fact.get("value"))
        )
        text = _text(box.get("content"))
        links = [box.get("id"), *(link.get("url") for link in _objects(box.get("urls")))]
        url = next(filter(None, map(_web_address, links)), "")
        if text or facts:
            yield Infobox(_text(box.get("infobox")), text, url, facts)


def _answers(body: SearchBody, *, computed: bool) -> Iterator[Answer]:
    """Yield the answers of engines, or those that the server made up itself.

    It computes what looks like a sum and tells the time to who asks for a song called Time.
    """
    for answer in _list(body.answers):
        given = answer if isinstance(answer, dict) else {"answer": answer}
        text = _text(given.get("answer"))
        if text and computed == _text(given.get("engine")).startswith(("answerer", "plugin")):
            yield Answer(text, _web_address(given.get("url")))


def _failing(body: SearchBody) -> Iterator[EngineFailure]:
    given = body.unresponsive_engines
    entries = [list(pair) for pair in given.items()] if isinstance(given, dict) else _list(given)
    for entry in entries:
        engine, reason, *_ = [*entry, "", ""] if isinstance(entry, list) else [entry, ""]
        yield EngineFailure(_text(engine), _text(reason))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> _Objects:
    return [item for item in _list(value) if isinstance(item, dict)]


def _text(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return one_line(str(value)[:_LONGEST_TEXT]) if isinstance(value, str | int | float) else ""


def _web_address(value: object) -> str:
    """Return an address a model may be shown, in its one normal spelling, or ""."""
    if not isinstance(value, str) or len(value) > _LONGEST_URL:
        return ""
    try:
        url = httpx.URL(value.strip()).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError):
        return ""
    return str(url) if url.scheme in {"http", "https"} and url.host and not url.userinfo else ""
