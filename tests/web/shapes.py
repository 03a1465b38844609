"""Pages of the shapes that music is looked up on, each with the dated facts a reader takes from it.

They are templates in `page_shapes/`, listed in its `shapes.toml`, in the markup such sites use,
with as much around the facts as there is in life: navigation, references, other people's dates.
None is a copy of a real page.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tomli
from jinja2 import Environment, FileSystemLoader

WITHIN = 150
"""Characters within which a date and what it dates still stand together."""
_FOLDER = Path(__file__).parent / "page_shapes"
_LISTED = tomli.loads((_FOLDER / "shapes.toml").read_text("utf-8"))
_WORDS: dict[str, list[str]] = _LISTED["words"]
_DAY_SHARE = 0.04


@dataclass(frozen=True, slots=True)
class DatedFact:
    """A date as the page writes it, and the words it has to stand beside to mean anything."""

    date: str
    beside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A page; `about` is what a model is asked about: artist, title, titles of candidates."""

    name: str
    about: str
    body: str
    facts: tuple[DatedFact, ...]
    content_type: str


class Words(random.Random):
    """Words that say nothing, the same ones for each seed."""

    def band(self) -> str:
        return self.choice(_WORDS["BANDS"])

    def title(self) -> str:
        return self.choice(_WORDS["TITLES"])

    def day(self, first: int = 1970, last: int = 2020) -> str:
        return f"{self.randint(1, 28)} {self.choice(_WORDS['MONTHS'])} {self.randint(first, last)}"

    def iso(self, first: int, last: int) -> str:
        year, month = self.randint(first, last), self.randint(1, 12)
        return f"{year}-{month:02}-{self.randint(1, 28):02}"

    def prose(self, sentences: int = 1, year_share: float = 0.15) -> str:
        """Write sentences, some with a year in them, a few with a day."""
        return " ".join(self._sentence(year_share) for _ in range(sentences))

    def _sentence(self, year_share: float) -> str:
        noun, other = self.sample(_WORDS["NOUNS"], 2)
        verb, third = self.choice(_WORDS["VERBS"]), self.choice(_WORDS["NOUNS"])
        when = f" in {self.randint(1965, 2019)}" if self.random() < year_share else ""
        when = f" on {self.day()}" if self.random() < _DAY_SHARE else when
        return f"The {noun} {verb} the {other} of the {third}{when}."

    def paragraphs(self, count: int, year_share: float = 0.15) -> str:
        texts = (self.prose(self.randint(3, 7), year_share) for _ in range(count))
        return "".join(f"<p>{text}</p>\n" for text in texts)


def kept(fact: DatedFact, text: str) -> bool:
    """Tell whether a text holds a fact: its date, and near it the words it belongs to."""
    plain = " ".join(text.split())
    return any(
        all(word in plain[max(0, at.start() - WITHIN) : at.end() + WITHIN] for word in fact.beside)
        for at in re.finditer(rf"(?<!\d){re.escape(fact.date)}(?!\d)", plain)
    )


def _shapes() -> Sequence[Shape]:
    templates = Environment(loader=FileSystemLoader(_FOLDER), trim_blocks=True, lstrip_blocks=True)
    templates.globals |= _WORDS
    shapes = []
    for seed, row in enumerate(_LISTED["page"]):
        file = row["file"]
        template = templates.get_template("page.html" if file.endswith(".html") else file)
        body = template.render(file=file, title=row.get("title"), w=Words(seed))
        facts = tuple(DatedFact(date, tuple(beside)) for date, *beside in row["facts"])
        kind = row.get("content_type", "text/html; charset=utf-8")
        shapes.append(Shape(row["name"], row["about"], body, facts, kind))
    return shapes


SHAPES = _shapes()
