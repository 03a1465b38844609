"""The words and the markup that pages of every shape are made of."""

import html
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

HTML = "text/html; charset=utf-8"
WITHIN = 150
"""Characters within which a date and what it dates still stand together."""


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
    content_type: str = HTML


Written: TypeAlias = tuple[str, tuple[DatedFact, ...]]
SHAPES: list[Shape] = []


def shape(
    seed: int, name: str, about: str, content_type: str = HTML
) -> Callable[[Callable[[random.Random], Written]], None]:
    """Write a page with random words, the same ones every time, and add it to `SHAPES`."""

    def add(write: Callable[[random.Random], Written]) -> None:
        SHAPES.append(Shape(name, about, *write(random.Random(seed)), content_type))

    return add


def kept(fact: DatedFact, text: str) -> bool:
    """Tell whether a text holds a fact: its date, and near it the words it belongs to."""
    plain = " ".join(text.split())
    return any(
        all(word in plain[max(0, found.start() - WITHIN) : found.end() + WITHIN] for word in words)
        for words in [fact.beside]
        for found in re.finditer(rf"(?<!\d){re.escape(fact.date)}(?!\d)", plain)
    )


NOUNS = (
    "studio", "guitar", "chorus", "piano", "audience", "stage", "tape", "engineer", "harmony",
    "drummer", "melody", "bass", "rehearsal", "ballad", "verse", "tour", "manager", "crowd",
    "voice", "bridge", "sleeve", "session", "amplifier", "mixer", "village", "reviewer",
)  # fmt: skip
_DAY_SHARE = 0.04
_VERBS = (
    "recalled", "layered", "admired", "rejected", "praised", "recorded", "rehearsed", "shaped",
    "answered", "carried", "moved", "described", "rewrote", "doubled", "finished", "opened",
)  # fmt: skip
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

BANDS = ("The Hollow Reeds", "Marigold Sons", "Paper Harbour", "Nine Lamps", "Orla Finch", "Vesper")
TITLES = ("Glass Orchard", "Slow Weather", "Tin Parade", "Red Kites", "Northern Mail", "Salt Road")


def prose(chance: random.Random, sentences: int, year_share: float = 0.15) -> str:
    """Write sentences that say nothing, some with a year in them, a few with a day."""
    told = []
    for _ in range(sentences):
        noun, other = chance.sample(NOUNS, 2)
        when = f" in {chance.randint(1965, 2019)}" if chance.random() < year_share else ""
        when = f" on {day(chance)}" if chance.random() < _DAY_SHARE else when
        told.append(
            f"The {noun} {chance.choice(_VERBS)} the {other} of the {chance.choice(NOUNS)}{when}."
        )
    return " ".join(told)


def paragraphs(chance: random.Random, count: int, year_share: float = 0.15) -> str:
    return "".join(
        f"<p>{prose(chance, chance.randint(3, 7), year_share)}</p>\n" for _ in range(count)
    )


def day(chance: random.Random, first: int = 1970, last: int = 2020) -> str:
    return f"{chance.randint(1, 28)} {chance.choice(MONTHS)} {chance.randint(first, last)}"


def iso(chance: random.Random, first: int, last: int) -> str:
    year, month = chance.randint(first, last), chance.randint(1, 12)
    return f"{year}-{month:02}-{chance.randint(1, 28):02}"


def navigation(words: Sequence[str]) -> str:
    items = "".join(f'<li><a href="/{word}">{word}</a></li>' for word in words)
    menu = "".join(
        f'<div class="menu-item"><a>{noun} {verb}</a></div>'
        for noun, verb in zip(NOUNS, _VERBS, strict=False)
    )
    return f'<nav class="menu"><ul>{items}</ul></nav><div class="more">{menu}</div>'


def table(rows: Sequence[Sequence[str]], head: Sequence[str] = (), kind: str = "tbl") -> str:
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(
        f'<tr class="{"even" if at % 2 else "odd"}">'
        + "".join(f"<td>{c}</td>" for c in row)
        + "</tr>\n"
        for at, row in enumerate(rows)
    )
    return f'<table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def page(title: str, body: str, head: str = "") -> str:
    style = "<style>" + ".a{color:#123}" * 200 + "</style>"
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"{style}{head}<script>var page = {{start: 1 < 2}};</script></head><body>{body}"
        "</body></html>"
    )


def references(chance: random.Random, count: int) -> str:
    items = "".join(
        f'<li id="cite-{n}"><b>^</b> <cite>{chance.choice(BANDS)} ({day(chance)}). '
        f'"{prose(chance, 1)}" <i>Weekly Sound</i>. Retrieved {day(chance, 2009, 2020)}.'
        "</cite></li>"
        for n in range(count)
    )
    return f'<div class="reflist"><ol class="references">{items}</ol></div>'


def infobox(title: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = "".join(
        f'<tr><th scope="row" class="infobox-label">{label}</th>'
        f'<td class="infobox-data">{value}</td></tr>'
        for label, value in rows
    )
    return (
        f'<table class="infobox vevent"><tbody><tr><th colspan="2">{title}</th></tr>'
        f'<tr><td colspan="2"><img alt="Cover" src="x.jpg"></td></tr>{lines}</tbody></table>'
    )
