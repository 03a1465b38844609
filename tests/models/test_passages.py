"""The questions of passages.jsonl: their form, and that they measure what they are meant to."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import find_dates

FILE = Path(__file__).with_name("passages.jsonl")
LINES = FILE.read_text("utf-8").splitlines()
QUESTIONS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
LABELS = {"first_release", "other_release", "other_title", "not_a_release", "unclear"}
KEYS = {
    "id", "release", "artist", "type", "country", "date", "passage", "page_title", "headings",
    "shape", "language", "label", "why", "source", "origin", "part", "is_whole",
}  # fmt: skip


def share(part: list[dict[str, Any]], key: str, value: object) -> float:
    return len([question for question in part if question[key] == value]) / len(part)


def test_each_question_is_complete() -> None:
    for question in QUESTIONS:
        assert question.keys() - {"columns"} == KEYS, question["id"]
        empty = [key for key in KEYS - {"headings"} if question[key] in ("", None)]
        assert empty == [], question["id"]
        assert question["label"] in LABELS
        assert question["shape"] in {"row", "infobox", "list", "prose"}
        assert question["origin"] in {"real", "reworded", "made"}
        assert PartialDate.parse(question["date"]).is_known
        cells = len(question["passage"].split(" | "))
        assert len(question.get("columns", [""] * cells)) == cells, question["id"]


def test_ids_and_questions_are_unique() -> None:
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    asked = ("release", "artist", "type", "country", "date", "passage", "page_title")
    assert len({tuple(question[key] for key in asked) for question in QUESTIONS}) == len(QUESTIONS)


def test_prose_of_a_page_is_never_marked_as_its_text() -> None:
    prose = [question for question in QUESTIONS if question["shape"] == "prose"]
    assert [question["id"] for question in prose if question["origin"] == "real"] == []


def test_the_set_is_large_and_varied() -> None:
    passages = {question["passage"]: question["shape"] for question in QUESTIONS}
    assert len(passages) >= 300
    assert sum(shape != "prose" for shape in passages.values()) >= 100
    assert 0.45 <= share(QUESTIONS, "label", "first_release") <= 0.55
    assert 0.40 <= share(QUESTIONS, "language", "en") <= 0.50
    languages = Counter(question["language"] for question in QUESTIONS)
    assert sum(count >= 15 for count in languages.values()) >= 11


def test_the_parts_share_no_artist_and_are_alike() -> None:
    parts = [
        [question for question in QUESTIONS if question["part"] == part]
        for part in ("tune", "held")
    ]
    assert sum(map(len, parts)) == len(QUESTIONS)
    artists = [{question["artist"] for question in part} for part in parts]
    passages = [{question["passage"] for question in part} for part in parts]
    assert artists[0] & artists[1] == set()
    assert passages[0] & passages[1] == set()
    for key in ("label", "shape"):
        for value in {question[key] for question in QUESTIONS}:
            first, second = (share(part, key, value) for part in parts)
            assert abs(first - second) <= 0.03, (key, value)
    assert abs(share(parts[0], "language", "en") - share(parts[1], "language", "en")) <= 0.03


def test_a_whole_date_stands_in_its_passage() -> None:
    for question in QUESTIONS:
        date = PartialDate.parse(question["date"])
        is_stated = any(
            date.first <= stated.first and stated.last <= date.last
            for mention in find_dates(question["passage"])
            for stated in mention.dates
        )
        assert is_stated or not question["is_whole"], question["id"]
