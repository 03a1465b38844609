"""Read the worlds of `cases/`: evidence with an open question, and what the web holds about it.

A world has no script. Whatever a model or a program searches for is answered, by `World.finds`.
README.md says how a case is written.
"""

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from chart_binder.domain.vocabulary import fold
from llm.verdicts.play import Evidence, Page, Truth, load_evidence

FOLDER = Path(__file__).with_name("cases")
SETS = ("right", "misleading", "detour", "values_right", "values_misleading")
YEAR_SETS = ("year_right", "year_misleading")
"""Sets in which the group is decided and the year is asked for."""
_WORDS = (
    "Amber",
    "Birch",
    "Canal",
    "Dawn",
    "Ember",
    "Fathom",
    "Garden",
    "Hollow",
    "Iron",
    "Kettle",
)


@dataclass(frozen=True)
class Result:
    """A page as a search shows it; `status` says why it cannot be read, or is empty."""

    page: Page
    title: str
    status: str
    is_off_topic: bool = False

    @property
    def is_useful(self) -> bool:
        """Whether the page can be read and is about the records."""
        return not (self.status or self.is_off_topic)


@dataclass(frozen=True)
class World:
    """One case: `answer` is the record that the truth decides for, or the year."""

    id: str
    set: str
    """One of `SETS` or `YEAR_SETS`."""
    kind: str
    language: str
    why: str
    evidence: Evidence
    answer: str
    truth: Mapping[str, str]
    told_by: str
    """`structure`, `sites` (two), `prose` (of one page), or empty: no page tells the truth."""
    misleading: Mapping[str, str]
    misled_to: str
    pages: Mapping[str, Result]
    searches: Sequence[tuple[Sequence[str], Sequence[str]]]
    truths: tuple[Truth, ...]

    def finds(self, query: str) -> list[Result]:
        """Return what a search finds: the first rule all of whose words are in the query."""
        words = fold(query)
        if not self._is_about(words):
            return []
        for required, keys in self.searches:
            if all(fold(word) in words for word in required):
                return [self.pages[key] for key in keys]
        return []

    def _is_about(self, query: str) -> bool:
        """Whether a query names the artist, or a word of the artist or of a record."""
        names = [self.evidence.document["artist"]["name"], *self.evidence.titles.values()]
        words = {word for name in names for word in (fold(name), *fold(name).split())}
        return any(word in query for word in words if len(word) > 2 or not word.isascii())

    def at(self, url: str) -> Result | None:
        """Return the page at an address."""
        return next((page for page in self.pages.values() if page.page.url == url), None)


@cache
def worlds(name: str = "") -> tuple[World, ...]:
    """Return the worlds of a set, or of all `SETS`."""
    sets = (name,) if name else SETS
    found = [world for each in sets for world in _read(each)]
    assert len({world.id for world in found}) == len(found), "an id is used twice"
    return tuple(found)


def _read(name: str) -> Iterator[World]:
    for path in sorted(FOLDER.glob(f"{name}_*.toml")):
        for raw in tomllib.loads(path.read_text("utf-8"))["case"]:
            yield _world(name, raw)


def _world(name: str, raw: dict[str, Any]) -> World:
    pages = {page["key"]: _result(page) for page in raw["page"]}
    searches = [(rule.get("words", ()), rule["finds"]) for rule in raw["search"]]
    truths = [*map(Truth.read, raw.get("reads", ()))]
    truths += [truth for result in pages.values() for truth in result.page.truths]
    return World(
        id=raw["id"],
        set=name,
        kind=raw["kind"],
        language=raw["language"],
        why=raw["why"],
        evidence=load_evidence(raw["id"], raw["evidence"]),
        answer=raw["year"] if name in YEAR_SETS else raw["answer"],
        truth=raw.get("truth", {}),
        told_by=raw["told_by"],
        misleading=raw.get("misleading", {}),
        misled_to=raw.get("misled_to", ""),
        pages=pages,
        searches=searches,
        truths=tuple(truths),
    )


def _result(raw: dict[str, Any]) -> Result:
    body = raw.get("html", "").replace("{filler}", _filler(raw.get("filler", 0), raw["key"]))
    html = f"<title>{escape(raw['title'], quote=False)}</title>{body}"
    truths = tuple(map(Truth.read, raw.get("reads", ())))
    page = Page(raw["url"], html, truths, raw.get("snippet", ""), raw.get("to", ""))
    return Result(page, raw["title"], raw.get("status", ""), raw.get("off_topic", False))


def _filler(lines: int, seed: str) -> str:
    """Return entries of a long list, the same ones each time: other records, all dated."""
    chance = random.Random(seed)
    entries = []
    for number in range(lines):
        name, title = (" ".join(chance.sample(_WORDS, 2)) for _ in range(2))
        day = f"{chance.randint(1, 28)}/{chance.randint(1, 12)}/{chance.randint(1955, 1999)}"
        entries.append(f"<li>{number + 1}. {name}: {title} ({day})</li>")
    return f"<ul>{''.join(entries)}</ul>"
