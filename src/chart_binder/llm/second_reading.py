"""The second reading: the model is asked, apart from the run, what a passage says of a record.

Question and answer have a fixed form (docs/adjudicator.md, "The second reading"). What cannot be
read is `unclear`. Only `first_release`, or the value that a fact states, lets the fact stand.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from math import inf, isinf
from textwrap import indent
from typing import Final, Literal, TypeAlias

import tomli
from msgspec.structs import replace

from chart_binder.domain.clauses import Subject
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import Mention, find_dates, states
from chart_binder.domain.patches import fact_words
from chart_binder.llm.answer import object_schema
from chart_binder.llm.events import NOT_ANSWERED, ReadingEvent, ReadingScript
from chart_binder.llm.prompt import fill_placeholders
from chart_binder.llm.result import Reading
from chart_binder.react.conversation import (
    ChatError,
    ChatModel,
    GenerationOptions,
    Message,
    Reply,
    ask,
)
from chart_binder.react.parsing.lenient_json import object_of
from chart_binder.react.parsing.lexer import visible_text
from chart_binder.react.sanitize import one_line
from chart_binder.react.transcript import EventHandler
from chart_binder.web.places import Place

MAX_READINGS: Final = 8
"""Questions in one run."""
UNCLEAR: Final = "unclear"
FIRST_RELEASE: Final = "first_release"
NOT_SAID: Final = "not said"
"""The choice if a passage gives none of the dates or values to choose from."""
OTHER_RECORD: Final = "another record"
"""The choice if a passage gives a value of another record."""
_WORDS = tomli.loads(files("chart_binder.llm").joinpath("second_reading.toml").read_text("utf-8"))
READINGS: Final[Mapping[str, str]] = _WORDS["readings"]
"""What a passage may say of a date."""
_LABELS: Final = {name: name for name in READINGS}
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_MARKS = r"[\s*`\"'“”.]*"

Kind: TypeAlias = Literal["support", "contradiction"]


@dataclass(frozen=True)
class ReadingQuestion:
    """A question of a second reading, and the reading that each answer comes to."""

    text: str
    key: str
    """The member of the answer's object that has the choice."""
    readings: Mapping[str, str]

    @property
    def schema(self) -> Mapping[str, object]:
        """The schema of the answer."""
        return object_schema({self.key: {"enum": list(self.readings)}})

    def read(self, reply: str) -> str:
        """Return the reading that a reply gives as an object's member or as its only word.

        A reading by its own name counts, too: canned transcripts have it.
        """
        spoken = visible_text(reply).text
        if braces := _OBJECT.search(spoken):
            try:
                members = json.loads(braces[0], object_pairs_hook=object_of)
            except (ValueError, RecursionError):
                return UNCLEAR
            choice, label = members.get(self.key), members.get("reading")
        else:
            word = rf"{_MARKS}(?:(?:reading|{self.key}){_MARKS}[:=]{_MARKS})?(.*?){_MARKS}"
            alone = re.fullmatch(word, spoken)
            choice = label = alone[1] if alone else None
        if isinstance(choice, str) and choice in self.readings:
            return self.readings[choice]
        labels = (*READINGS, *self.readings.values())
        return label if isinstance(label, str) and label in labels else UNCLEAR


def inquiry(kind: Kind, subject: Subject, date: str | None, place: Place) -> ReadingQuestion:
    """Return the question about a date at a place, or about a premiere if there is no date.

    Small models agree. So prose that is to support a date is asked when the record came out, with
    the date not named; what may contradict one, and structure, is asked what it says of the date.
    """
    if date is None:
        return _labelled("premiere", "premiere_readings", subject, "", place)
    if kind == "contradiction" or place.is_structured:
        return _labelled("question", "readings", subject, date, place)
    readings = {NOT_SAID: "not_a_release", **_dates_of(place, date)}
    shown = {"choices": "; ".join(readings), "passage": " ".join(place.passage.split())}
    return ReadingQuestion(_filled(_WORDS["when"], subject, shown), "on_sale", readings)


def value_inquiry(field: str, subject: Subject, place: Place) -> ReadingQuestion:
    """Return the question about the value of a status, a country or a type at a place.

    It does not name the value that is claimed.
    """
    values = {value: value for value in sorted(fact_words()[field]) if value != "Song"}
    readings = {NOT_SAID: UNCLEAR, OTHER_RECORD: "other_release", **values}
    shown = {"choices": "; ".join(readings), "passage": " ".join(place.passage.split())}
    key, asked = _WORDS["fields"][field]
    shown |= {"asked": _filled(asked, subject, {}), "key": key}
    return ReadingQuestion(_filled(_WORDS["value"], subject, shown), key, readings)


def _labelled(
    form: str, choices: str, subject: Subject, date: str, place: Place
) -> ReadingQuestion:
    """Return a question with the readings as choices.

    The passage is indented, so that no line of a page is taken for one of the question.
    """
    lines = "\n".join(f"- {name}: {meaning}" for name, meaning in _WORDS[choices].items())
    shown = {"date": date, "passage": indent(place.passage, "  "), "readings": lines}
    return ReadingQuestion(_filled(_WORDS[form], subject, shown), "reading", _LABELS)


def _filled(form: str, subject: Subject, shown: Mapping[str, str]) -> str:
    is_edition = max(len(subject.years), len(subject.codes)) == 1
    known = {
        "release": subject.title,
        "artist": subject.artist or "unknown",
        "type": subject.kind or "unknown",
        "kind": (subject.kind or "record").lower(),
        "country": next(iter(subject.countries)) if len(subject.countries) == 1 else "any",
        "edition": ", ".join((*subject.years, *subject.codes)) if is_edition else "any",
        "recording": subject.recording or "unknown",
    }
    lines = {name: one_line(value) for name, value in known.items()}
    return fill_placeholders(form, {**lines, **shown})


def _dates_of(place: Place, date: str) -> Mapping[str, str]:
    """Return the dates of a passage as it writes them, each with what choosing it comes to.

    The year of a heading is left out if the passage has a day of that year. Where the year stands
    elsewhere in the document, the day at the place is the date.
    """
    value, passage = PartialDate.parse(date), place.passage
    mentions = find_dates(passage)
    readings = {
        one_line(passage[mention.start : mention.end]):
            FIRST_RELEASE if states(mention, value) else "not_a_release"
        for mention in mentions
        if not any(_is_within(other, mention) for other in mentions)
    }  # fmt: skip
    if FIRST_RELEASE not in readings.values():
        text = place.document.text
        near = (each for each in place.document.mentions if each.start < place.end)
        near = (each for each in near if each.end > place.start and states(each, value))
        start, end = next(((each.start, each.end) for each in near), (place.start, place.end))
        readings[one_line(text[start:end])] = FIRST_RELEASE
    return readings


def _is_within(mention: Mention, other: Mention) -> bool:
    """Return whether a mention states the other's date more precisely."""
    return all(
        wide.first <= date.first and date.last <= wide.last and date != wide
        for date in mention.dates
        for wide in other.dates
    )


def ask_reading(chat: ChatModel, asked: ReadingQuestion, seconds: float = inf) -> tuple[str, Reply]:
    """Return what a model reads in a passage, and its reply. Raises `ChatError`."""
    left = None if isinf(seconds) else seconds
    options = GenerationOptions(schema=asked.schema, seconds=left, temperature=0.0, may_think=False)
    reply = ask(chat, [Message("user", asked.text)], options)
    return asked.read(reply.content), reply


@dataclass(slots=True)
class SecondReader:
    """Asks second readings of one run: each question once, and at most `MAX_READINGS`.

    After a failure none is asked, and none at all of a model that is below the bar of
    `canon model check` (`reads_prose` is false).
    """

    chat: ChatModel
    on_event: EventHandler
    seconds_left: Callable[[], float]
    reads_prose: bool = True
    script: ReadingScript | None = None
    asked: int = 0
    has_failed: bool = field(default=False, init=False)
    """Whether the model could not be asked."""
    _readings: dict[str, str] = field(default_factory=dict, init=False)
    """The readings by source and question."""

    @property
    def is_used_up(self) -> bool:
        """Whether no further question can be asked."""
        is_over = self.asked >= MAX_READINGS or self.seconds_left() <= 0
        return is_over or self.has_failed or not self.reads_prose

    def read(
        self, fact: int, kind: Kind, asked: ReadingQuestion, ground: Place, turn: int
    ) -> Reading:
        """Return what the passage at a place says of what is asked."""
        passage, source = ground.passage, ground.document.address
        key = f"{source}\n{asked.readings}\n{asked.text}"
        if key not in self._readings and not self.is_used_up:
            reading = self._ask(asked, ReadingEvent(turn, fact, kind, source, passage))
            if not self.has_failed:
                self._readings[key] = reading
        return Reading(kind, source, passage, self._readings.get(key, UNCLEAR))

    def _ask(self, asked: ReadingQuestion, event: ReadingEvent) -> str:
        self.asked += 1
        started = time.monotonic()
        try:
            if self.script:
                reply = self.script.reply(event)
                reading = asked.read(reply.content)
            else:
                reading, reply = ask_reading(self.chat, asked, self.seconds_left())
        except ChatError:
            self.has_failed = True
            self.on_event(replace(event, reading=NOT_ANSWERED))
            return UNCLEAR
        self.on_event(
            replace(
                event,
                answer=reply.content,
                reading=reading,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
                seconds=reply.seconds or round(time.monotonic() - started, 3),
            )
        )
        return reading
