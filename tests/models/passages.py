"""The questions of passages.jsonl as code sees them: a record, a page, and the place of a date."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import states
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.patches import FIRST_DATE, Patch
from chart_binder.web.documents import SourceText
from chart_binder.web.judgement import ClaimedValue
from chart_binder.web.passages import CELLS
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject

FILE = Path(__file__).with_name("passages.jsonl")
_GROUP, _BULLET = "group", "- "


@dataclass(frozen=True)
class Question:
    """One line of the set; `place` is None if code finds no such date in the passage."""

    fields: dict[str, Any]
    subject: Subject
    document: SourceText
    place: Place | None
    doubt: str | None
    """Why code would not ask about that place at all."""

    @property
    def is_true(self) -> bool:
        """Whether the passage gives the date as that of this release."""
        return bool(self.fields["label"] == "first_release")

    @property
    def is_structured(self) -> bool:
        """Whether a row, an infobox or a list has the date."""
        return self.place is not None and self.place.is_structured

    @property
    def passage(self) -> str:
        """What a second reading is shown."""
        return self.place.passage if self.place else self.document.passage(0, 1)


def read_questions(part: str) -> Iterator[Question]:
    """Yield the questions of a part (`tune` or `held`) in the order of the file."""
    for line in FILE.read_text("utf-8").splitlines():
        fields = json.loads(line)
        if fields["part"] == part:
            yield question_of(fields)


def question_of(fields: dict[str, Any]) -> Question:
    """Return a question with what code finds in its passage."""
    subject, document = _subject(fields), _document(fields)
    date = PartialDate.parse(fields["date"])
    claimed = Patch(_GROUP, FIRST_DATE, fields["date"])
    first: tuple[Place, str | None] | None = None
    for mention in document.mentions:
        if states(mention, date):
            place = Place.of(document, mention)
            doubt = ClaimedValue(place, subject, claimed).judgement.reason or None
            if first is None or (first[1] and not doubt):
                first = place, doubt
    if first is None:
        return Question(fields, subject, document, None, "code finds no such date")
    return Question(fields, subject, document, *first)


def _subject(fields: dict[str, Any]) -> Subject:
    primary, *secondary = fields["type"].split(" + ")
    group = {
        "mb_rg_id": _GROUP,
        "title": fields["release"],
        "artist_credit": fields["artist"],
        "primary_type": primary,
        "secondary_types": secondary,
        "releases": [
            {
                "mb_release_id": "release",
                "title": fields["release"],
                "country": fields["country"] or None,
                "status": "Official",
            }
        ],
    }
    recording = {"mb_recording_id": "rec", "title": fields["release"], "rg_candidates": [group]}
    bundle = {
        "artifact": {"title": fields["release"], "artist": fields["artist"]},
        "artist": {"name": fields["artist"]},
        "recording_candidates": [recording],
    }
    return Subject.of(_GROUP, read_bundle(bundle))


def _document(fields: dict[str, Any]) -> SourceText:
    headings = [f"{'#' * level} {text}" for level, text in enumerate(fields["headings"], 2)]
    columns = [CELLS.join(fields["columns"])] if fields.get("columns") else []
    passage = fields["passage"]
    if fields["shape"] == "list" and not passage.startswith(_BULLET):
        passage = _BULLET + passage
    text = "\n".join((*headings, *columns, passage))
    return SourceText((fields["source"],), fields["page_title"], text, is_fetched=True)
