"""The second reading: in a separate request, a model is asked what a passage says of a record.

Question and answer have a fixed form (docs/adjudicator.md, "The second reading"). An answer that
cannot be read counts as `unclear`. Only `first_release`, or the value of the fact, confirms a fact.
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

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import Mention, find_dates, states
from chart_binder.domain.patches import fact_words
from chart_binder.llm.answer import object_schema
from chart_binder.llm.events import NOT_ANSWERED, ReadingEvent, ReadingScript
from chart_binder.llm.prompt import RESERVED_LABELS, fill_placeholders
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
from chart_binder.web.subject import Subject

MAX_READINGS: Final = 8
"""Questions asked in one run."""
UNCLEAR: Final = "unclear"
FIRST_RELEASE: Final = "first_release"
NOT_SAID: Final = "not said"
"""The choice if a passage gives none of the dates or values on offer."""
OTHER_RECORD: Final = "another record"
"""The choice if a passage gives the value of another record."""
_WORDS = tomli.loads(files("chart_binder.llm").joinpath("second_reading.toml").read_text("utf-8"))
READINGS: Final[Mapping[str, str]] = _WORDS["readings"]
"""What a passage may say about a date."""
_LABELS: Final = {name: name for name in READINGS}
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_MARKS = r"[\s*`\"'“”.]*"

Kind: TypeAlias = Literal["support", "contradiction"]


@dataclass(frozen=True)
class ReadingQuestion:
    """A question of a second reading; `readings` has the reading for each choice of an answer."""

    text: str
    key: str
    """The key of the choice in the answer's object."""
    readings: Mapping[str, str]

    @property
    def schema(self) -> Mapping[str, object]:
        """The JSON schema of the answer's object."""
        return object_schema({self.key: {"enum": list(self.readings)}})

    def read(self, reply: str) -> str:
        """Return the reading that a reply gives as a member of an object or as its only word.

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


def date_question(kind: Kind, subject: Subject, date: str | None, place: Place) -> ReadingQuestion:
    """Return the question about a date at a place, or about a premiere if there is no date.

    For prose that may support a date, the question is when the record came out, and the date is not
    named, because small models agree with what they are asked. For structure, and for a place that
    may contradict a date, the question is what it says about that date.
    """
    if date is None:
        return _labelled("premiere", "premiere_readings", subject, "", place)
    if kind == "contradiction" or place.is_structured:
        return _labelled("question", "readings", subject, date, place)
    readings = {NOT_SAID: "not_a_release", **_dates_of(place, date)}
    words = {"choices": "; ".join(readings), "passage": " ".join(place.passage.split())}
    return ReadingQuestion(_filled(_WORDS["when"], subject, words), "on_sale", readings)


def value_question(field: str, subject: Subject, place: Place) -> ReadingQuestion:
    """Return the question about a status, a country or a type at a place.

    The question does not name the value that the fact claims.
    """
    values = {value: value for value in sorted(fact_words()[field]) if value != "Song"}
    readings = {NOT_SAID: UNCLEAR, OTHER_RECORD: "other_release", **values}
    words = {"choices": "; ".join(readings), "passage": " ".join(place.passage.split())}
    key, question = _WORDS["fields"][field]
    words |= {"asked": _filled(question, subject, {}), "key": key}
    return ReadingQuestion(_filled(_WORDS["value"], subject, words), key, readings)


def _labelled(
    form: str, choices: str, subject: Subject, date: str, place: Place
) -> ReadingQuestion:
    """Return a question with the readings as choices.

    The passage is indented so that a line of it cannot be mistaken for a line of the question.
    """
    lines = "\n".join(f"- {name}: {meaning}" for name, meaning in _WORDS[choices].items())
    words = {"date": date, "passage": indent(place.passage, "  "), "readings": lines}
    return ReadingQuestion(_filled(_WORDS[form], subject, words), "reading", _LABELS)


def _filled(form: str, subject: Subject, words: Mapping[str, str]) -> str:
    years, numbers = subject.editions.years, subject.editions.numbers
    countries = subject.editions.countries
    values = {
        "release": subject.title,
        "artist": subject.artist.name or "unknown",
        "type": subject.kind or "unknown",
        "kind": (subject.kind or "record").lower(),
        "country": next(iter(countries)) if len(countries) == 1 else "any",
        "edition": ", ".join((*years, *numbers)) if max(len(years), len(numbers)) == 1 else "any",
        "recording": subject.recording or "unknown",
    }
    lines = {name: one_line(value, reserved=RESERVED_LABELS) for name, value in values.items()}
    return fill_placeholders(form, {**lines, **words})


def _dates_of(place: Place, date: str) -> Mapping[str, str]:
    """Return the dates in a passage, as it writes them, each with the reading that it means.

    A year in a heading is left out if the passage has a day in that year. If the passage does not
    state the date, its year stands elsewhere in the document, and the day at the place is added.
    """
    value, passage = PartialDate.parse(date), place.passage
    mentions = find_dates(passage)
    readings = {
        one_line(passage[mention.start : mention.end]):
            FIRST_RELEASE if states(mention, value) else "not_a_release"
        for mention in mentions
        if not any(_is_within(precise, mention) for precise in mentions)
    }  # fmt: skip
    if FIRST_RELEASE not in readings.values():
        text = place.document.text
        spans = (
            (mention.start, mention.end)
            for mention in place.document.mentions
            if mention.start < place.end and mention.end > place.start and states(mention, value)
        )
        start, end = next(spans, (place.start, place.end))
        readings[one_line(text[start:end])] = FIRST_RELEASE
    return readings


def _is_within(mention: Mention, wider: Mention) -> bool:
    """Return whether a mention states the date of a wider one more precisely."""
    return all(
        wide.includes(date) and date != wide for date in mention.dates for wide in wider.dates
    )


def ask_reading(
    chat: ChatModel, question: ReadingQuestion, seconds: float = inf
) -> tuple[str, Reply]:
    """Ask a model; return the reading and its reply. Raises `ChatError`.

    `seconds` limits the time of the request.
    """
    options = GenerationOptions(
        schema=question.schema,
        seconds=None if isinf(seconds) else seconds,
        temperature=0.0,
        may_think=False,
    )
    reply = ask(chat, [Message("user", question.text)], options)
    return question.read(reply.content), reply


@dataclass(slots=True)
class SecondReader:
    """Asks the second readings of one run: each question once, and at most `MAX_READINGS`.

    Nothing is asked after a failure, nor of a model that failed `canon model check` (`reads_prose`
    is false). A `script` answers instead of `chat`.
    """

    chat: ChatModel
    on_event: EventHandler
    seconds_left: Callable[[], float]
    reads_prose: bool = True
    script: ReadingScript | None = None
    questions: int = field(default=0, init=False)
    """How many questions were asked."""
    has_failed: bool = field(default=False, init=False)
    """Whether the model could not be asked."""
    _readings: dict[str, str] = field(default_factory=dict, init=False)
    """The readings by source and question."""

    @property
    def is_used_up(self) -> bool:
        """Whether no further question can be asked."""
        is_over = self.questions >= MAX_READINGS or self.seconds_left() <= 0
        return is_over or self.has_failed or not self.reads_prose

    def read(
        self, fact: int, kind: Kind, question: ReadingQuestion, place: Place, turn: int
    ) -> Reading:
        """Return what the passage at a place says, for the fact with this number."""
        passage, source = place.passage, place.document.address
        key = f"{source}\n{question.readings}\n{question.text}"
        if key not in self._readings and not self.is_used_up:
            reading = self._ask(question, ReadingEvent(turn, fact, kind, source, passage))
            if not self.has_failed:
                self._readings[key] = reading
        return Reading(kind, source, passage, self._readings.get(key, UNCLEAR))

    def _ask(self, question: ReadingQuestion, event: ReadingEvent) -> str:
        self.questions += 1
        started = time.monotonic()
        try:
            if self.script:
                reply = self.script.reply(event)
                reading = question.read(reply.content)
            else:
                reading, reply = ask_reading(self.chat, question, self.seconds_left())
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
