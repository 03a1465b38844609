"""The second reading: the model is asked, apart from the run, what date a passage gives.

Question and answer have a fixed form (docs/adjudicator.md, "The second reading"). What cannot be
read is `unclear`, and only `first_release` lets a fact stand.
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
from chart_binder.llm.answer import object_schema
from chart_binder.llm.prompt import fill_placeholders
from chart_binder.llm.result import Reading
from chart_binder.react.conversation import ChatError, ChatModel, Message, Reply, Terms, ask
from chart_binder.react.parsing.lenient_json import object_of
from chart_binder.react.parsing.lexer import strip_thinking
from chart_binder.react.sanitize import one_line
from chart_binder.react.transcript import NOT_ANSWERED, Read, ReadingScript, Watch
from chart_binder.web.places import Place

MAX_READINGS: Final = 8
"""Questions in one run."""
UNCLEAR: Final = "unclear"
FIRST_RELEASE: Final = "first_release"
_WORDS = tomli.loads(files("chart_binder.llm").joinpath("second_reading.toml").read_text("utf-8"))
READINGS: Final[Mapping[str, str]] = _WORDS["readings"]
"""What a passage may say of a date, as the model is asked."""
SCHEMA: Final = object_schema({"reading": {"enum": list(READINGS)}})
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_MARKS = r"[\s*`\"'“”.]*"
_WORD = re.compile(rf"{_MARKS}(?:reading{_MARKS}[:=]{_MARKS})?({'|'.join(READINGS)}){_MARKS}")

Kind: TypeAlias = Literal["support", "contradiction"]


def question(subject: Subject, date: str | None, passage: str) -> str:
    """Return the message that asks what a passage says of a date, or of a premiere without one.

    The passage is indented, so that no line of a page is taken for one of the question.
    """
    form, readings = _WORDS["question"], READINGS
    if date is None:
        form, readings = _WORDS["premiere"], _WORDS["premiere_readings"]
    choices = "\n".join(f"- {name}: {meaning}" for name, meaning in readings.items())
    known = {
        "release": subject.title,
        "artist": subject.artist or "unknown",
        "type": subject.kind or "unknown",
        "country": next(iter(subject.countries)) if len(subject.countries) == 1 else "any",
        "recording": subject.recording or "unknown",
        "date": date or "",
    }
    lines = {name: one_line(value) for name, value in known.items()}
    shown = {"passage": indent(passage, "  "), "readings": choices}
    return fill_placeholders(form, {**lines, **shown})


def read_reading(text: str) -> str:
    """Return the reading that a reply gives as an object's `reading` or as its only word."""
    spoken = strip_thinking(text).text
    if braces := _OBJECT.search(spoken):
        try:
            members = json.loads(braces[0], object_pairs_hook=object_of)
        except (ValueError, RecursionError):
            return UNCLEAR
        reading = members.get("reading")
        return reading if isinstance(reading, str) and reading in READINGS else UNCLEAR
    word = _WORD.fullmatch(spoken)
    return word[1] if word else UNCLEAR


def ask_reading(
    chat: ChatModel, subject: Subject, ground: Place, date: str | None, seconds: float = inf
) -> tuple[str, Reply]:
    """Return what a model reads in a passage, and its reply. Raises `ChatError`."""
    terms = Terms(schema=SCHEMA, seconds=None if isinf(seconds) else seconds, temperature=0.0)
    reply = ask(chat, [Message("user", question(subject, date, ground.passage))], terms)
    return read_reading(reply.content), reply


@dataclass(slots=True)
class SecondReader:
    """Asks second readings of one run: each question once, and at most `MAX_READINGS`.

    After a failure none is asked, and none at all of a model that is below the bar of
    `canon model check` (`reads_prose` is false).
    """

    chat: ChatModel
    watch: Watch
    seconds_left: Callable[[], float]
    reads_prose: bool = True
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
        self, fact: int, kind: Kind, ground: Place, subject: Subject, date: str | None, turn: int
    ) -> Reading:
        """Return what the passage at a place says of a date, or of a premiere where it is None."""
        passage, source = ground.passage, ground.document.address
        text = question(subject, date, passage)
        key = f"{source}\n{text}"
        if key not in self._readings and not self.is_used_up:
            reading = self._ask(ground, subject, date, Read(turn, fact, kind, source, passage))
            if not self.has_failed:
                self._readings[key] = reading
        return Reading(kind, source, passage, self._readings.get(key, UNCLEAR))

    def _ask(self, ground: Place, subject: Subject, date: str | None, event: Read) -> str:
        self.asked += 1
        started = time.monotonic()
        known = getattr(self.chat, "readings", None)
        try:
            if isinstance(known, ReadingScript):
                reply = known.reply(event)
                reading = read_reading(reply.content)
            else:
                left = self.seconds_left()
                reading, reply = ask_reading(self.chat, subject, ground, date, left)
        except ChatError:
            self.has_failed = True
            self.watch(replace(event, reading=NOT_ANSWERED))
            return UNCLEAR
        self.watch(
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
