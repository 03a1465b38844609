"""What code alone makes of the real passages: which rows and entries state a date by themselves.

A passage stands without its page: of a box there is one line, so boxes are left out.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chart_binder.domain.patches import FIRST_DATE, Patch
from chart_binder.react.steps import Document
from chart_binder.web.documents import SourceText
from chart_binder.web.judgement import ClaimedValue
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject
from llm.verdicts.play import load_evidence

SHAPES = ("row", "list")


@cache
def passages(part: str, shape: str) -> tuple[Mapping[str, Any], ...]:
    """Return the questions of one part whose passage has a shape and gives the date whole."""
    lines = Path(__file__).with_name("passages.jsonl").read_text("utf-8").splitlines()
    every = map(json.loads, lines)
    return tuple(
        one for one in every if (one["part"], one["shape"]) == (part, shape) and one["is_whole"]
    )


def is_stated(asked: Mapping[str, Any]) -> bool:
    """Return whether code takes the passage alone for a statement of the date."""
    country = asked["country"] if len(asked["country"]) == 2 else ""
    record = (
        f"S | {asked['type'] or '-'} | {asked['release']} | {asked['date'][:4]} {country or '-'}"
    )
    raw = {"artist": asked["artist"], "title": asked["release"], "records": [record]}
    evidence = load_evidence(asked["id"], raw | ({"country": country} if country else {}))
    subject = Subject.of(evidence.ids["S"], evidence.bundle)
    mark = "- " if asked["shape"] == "list" else ""
    columns = " | ".join(asked.get("columns") or ())
    headings = tuple(asked.get("headings") or ())
    text = "\n".join(filter(None, (columns, f"{mark}{asked['passage']}")))
    document = SourceText.of(
        Document("https://pages.example/1", asked["page_title"] or "", headings, text)
    )
    patch = Patch(evidence.ids["S"], FIRST_DATE, asked["date"])
    dates = [
        ClaimedValue(Place.of(document, each), subject, patch)
        for each in document.mentions
        if [date.text for date in each.dates] == [asked["date"]]
    ]
    return any(date.is_in_structure and date.is_plain for date in dates)


@pytest.mark.parametrize("part", ["tune", "held"])
def test_few_rows_and_entries_state_a_date_that_is_not_the_records(part: str) -> None:
    others = [
        each
        for shape in SHAPES
        for each in passages(part, shape)
        if each["label"] != "first_release"
    ]
    stated = [each["id"] for each in others if is_stated(each)]
    assert len(stated) <= 0.05 * len(others), stated


@pytest.mark.parametrize("part", ["tune", "held"])
def test_most_rows_of_a_release_state_its_date(part: str) -> None:
    rows = [each for each in passages(part, "row") if each["label"] == "first_release"]
    assert sum(map(is_stated, rows)) >= 0.8 * len(rows)
