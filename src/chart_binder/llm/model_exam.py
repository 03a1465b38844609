"""The exam of a model: passages to read, short runs whose right answers are known, and the results.

The passages are about real records. Half of them state the first date of the record, and half are
prose. Code accepts all of them, so that only the model's reading is examined. The runs use canned
tools and no network. docs/models.md explains the bar.

The results of all models are stored in one file. A model is identified by the kind and address of
its server, its name, and the model that gives the second readings. If the build that the server
reports (a digest or a size) differs from that of the exam, the model has been replaced since.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import tomli

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import states
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import FileError, masked
from chart_binder.files import convert_json, decode_json
from chart_binder.llm.answer import ANSWER_KEYS, read_answer
from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup
from chart_binder.llm.second_reading import FIRST_RELEASE, UNCLEAR, ask_reading, date_question
from chart_binder.react.conversation import ChatError, ChatModel, GenerationOptions, Message, Reply
from chart_binder.react.dialect import Dialect, read_step
from chart_binder.react.loop import AnswerRefusedError
from chart_binder.react.steps import Document, FinalAnswer, Observation
from chart_binder.react.transcript import AnyEvent, ReplyEvent, StepEvent
from chart_binder.rules.decide import decide
from chart_binder.rules.labels import Labels
from chart_binder.web.documents import SourceText
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject

EXAM = "exam-2"
"""The version of the exam, which changes with the passages, the runs and the questions."""
MIN_TAKEN, MAX_LET_THROUGH = 0.8, 0.15
"""The bar: the least share of true passages accepted, and the greatest share of others."""
PASSAGES, RUNS = (
    files("chart_binder.llm").joinpath(name) for name in ("exam_passages.jsonl", "exam_runs.toml")
)
_TRUSTED = "records.example"
"""The site that is trusted in the runs."""
_GROUP = {
    "C1": "c1000000-0000-4000-8000-000000000000",
    "C2": "c2000000-0000-4000-8000-000000000000",
}


class ExamPassage(msgspec.Struct, frozen=True):
    """A page with a date; `is_first` says whether it is the first date of the release."""

    release: str
    artist: str
    type: str
    country: str
    date: str
    title: str
    text: str
    language: str
    is_first: bool
    source: str

    @property
    def subject(self) -> Subject:
        """The release in question."""
        primary, *secondary = self.type.split(" + ")
        group = _group("C1", self.release, self.artist, primary, None, self.country)
        bundle = _bundle(self.artist, self.release, group | {"secondary_types": secondary})
        return Subject.of(_GROUP["C1"], bundle)

    @property
    def place(self) -> Place:
        """The place of the date in the text."""
        document = SourceText((self.source,), self.title, self.text, is_fetched=True)
        date = PartialDate.parse(self.date)
        mention = next(mention for mention in document.mentions if states(mention, date))
        return Place.of(document, mention)


class _Page(msgspec.Struct, frozen=True):
    title: str
    text: str


class ExamRun(msgspec.Struct, frozen=True):
    """A run about a single with only its year known, and the album that it may belong to.

    The first search finds the pages `first`, and every later call `later`. `right` is the label of
    the right answer; if there are `later` pages, the model must go on looking to find it. `trap` is
    a text that a page asks for and that no call may contain.
    """

    name: str
    artist: str
    song: str
    album: str
    year: str
    album_date: str
    right: str
    first: tuple[_Page, ...]
    later: tuple[_Page, ...] = ()
    trap: str = ""

    @property
    def bundle(self) -> EvidenceBundle:
        """The evidence of the case."""
        single = _group("C1", self.song, self.artist, "Single", self.year)
        album = _group("C2", self.album, self.artist, "Album", self.album_date)
        return _bundle(self.artist, self.song, single, album)


class Score(msgspec.Struct, frozen=True):
    """The counts of a model in the questions of the exam that it has answered.

    `unread` is the number of passages for which its reply could not be read.
    """

    true_passages: int = 0
    taken: int = 0
    other_passages: int = 0
    let_through: int = 0
    runs: int = 0
    right_runs: int = 0
    unread: int = 0

    @property
    def asked(self) -> int:
        """The number of passages and runs so far."""
        return self.true_passages + self.other_passages + self.runs

    @property
    def text(self) -> str:
        """The counts in words."""
        counts = (
            f"{self.taken} of {self.true_passages} true statements accepted, {self.let_through} of"
            f" {self.other_passages} others, {self.right_runs} of {self.runs} runs completed"
        )
        passages = self.true_passages + self.other_passages
        if not self.unread:
            return counts
        if self.unread < passages:
            return f"{counts}; {self.unread} of {passages} replies about passages were unreadable"
        return (
            f"{counts}; none of the {passages} replies about passages could be read, so the model's"
            ' chat template may be wrong: try another file of it, or llm.prompting = "raw"'
        )

    @property
    def is_enough(self) -> bool:
        """Whether the model may decide by prose."""
        return (
            self.taken >= MIN_TAKEN * self.true_passages
            and self.let_through <= MAX_LET_THROUGH * self.other_passages
        )


def read_passages() -> Sequence[ExamPassage]:
    """Return the passages of the exam."""
    return [decode_json(line, ExamPassage) for line in PASSAGES.read_text("utf-8").splitlines()]


def read_runs() -> Sequence[ExamRun]:
    """Return the runs of the exam."""
    return convert_json(tomli.loads(RUNS.read_text("utf-8"))["runs"], list[ExamRun])


def examine(config: LLMConfig, chat: ChatModel, reader: ChatModel) -> Iterator[Score]:
    """Let `reader` read the passages and `chat` do the runs; yield the score after each.

    Raises `ChatError`.
    """
    score = Score()
    for passage in read_passages():
        question = date_question("support", passage.subject, passage.date, passage.place)
        reading = ask_reading(reader, question)[0]
        names = (
            ("true_passages", "taken") if passage.is_first else ("other_passages", "let_through")
        )
        score = _with_count(score, *names, is_right=reading == FIRST_RELEASE)
        score = msgspec.structs.replace(score, unread=score.unread + (reading == UNCLEAR))
        yield score
    for run in read_runs():
        score = _with_count(score, "runs", "right_runs", is_right=passes_run(run, config, chat))
        yield score


def _with_count(score: Score, total: str, right: str, *, is_right: bool) -> Score:
    counts = {total: getattr(score, total) + 1, right: getattr(score, right) + is_right}
    return msgspec.structs.replace(score, **counts)


def passes_run(run: ExamRun, config: LLMConfig, chat: ChatModel) -> bool:
    """Return whether a model finds the right answer of a run. Raises `ChatError`."""
    events: list[AnyEvent] = []
    model = _ErrorRecordingModel(chat)
    acceptance = config.acceptance.model_copy(
        update={"trusted_sources": (_TRUSTED,), "second_reading": True}
    )
    changed = {"enabled": True, "first_search": True, "acceptance": acceptance}
    adjudicator = ReActAdjudicator(
        config.model_copy(update=changed),
        chat=model,
        tools=_tools(run),
        setup=RunSetup(on_event=events.append, reads_prose=False),
    )
    adjudicator.adjudicate(run.bundle, decide(run.bundle, RulesConfig()))
    if model.problem:
        raise model.problem
    calls = [event for event in events if isinstance(event, StepEvent) and event.kind == "act"]
    is_trapped = run.trap != "" and any(run.trap in str(call.arguments) for call in calls)
    has_looked_further = not run.later or any(call.iteration > 0 for call in calls)
    is_right = _answered_group(events, adjudicator.dialect, run) == _GROUP[run.right]
    return is_right and has_looked_further and not is_trapped


def _answered_group(events: Sequence[AnyEvent], dialect: Dialect, run: ExamRun) -> str | None:
    """Return the group in the model's last answer, whatever code decided."""
    replies = [event.content for event in events if isinstance(event, ReplyEvent)]
    step = read_step(dialect, replies[-1], ANSWER_KEYS) if replies else None
    labels = Labels.of(run.bundle)
    if isinstance(step, FinalAnswer):
        with suppress(AnswerRefusedError):
            return labels.id_of(read_answer(step.answer, 0.0, labels).crg)
    return None


class _ErrorRecordingModel:
    """Stores the error of a model that cannot be asked, because that is not a wrong answer."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self.model_id = chat.model_id
        self.problem: ChatError | None = None

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the model's reply. Raises `ChatError`."""
        try:
            return self._chat.reply(messages, options)
        except ChatError as error:
            self.problem = error
            raise


def _tools(run: ExamRun) -> Sequence[Callable[..., object]]:
    """Return the tools of a run, with names and arguments of the shipped tools."""
    pages = iter((run.first,))

    def web_search(query: str) -> Observation:  # noqa: ARG001 (the argument of the shipped tool)
        """Search the web; the best results are opened, and what they say of dates is shown."""
        return _observation(next(pages, run.later))

    def web_fetch(url: str) -> Observation:  # noqa: ARG001
        """Open a page and show what it says of dates."""
        return _observation(next(pages, run.later))

    return web_search, web_fetch


def _observation(pages: Sequence[_Page]) -> Observation:
    documents = [
        Document(f"https://{_TRUSTED}/{page.title.lower().replace(' ', '-')}", page.title,
                 text=page.text, is_fetched=True, number=number)
        for number, page in enumerate(pages, 1)
    ]  # fmt: skip
    page_texts = [
        f"[{document.number}] {document.title}\n{document.address}\n{_quoted(document.text)}"
        for document in documents
    ]
    return Observation(
        "\n\n".join(page_texts) or "Nothing was found.",
        tuple(document.address for document in documents),
        documents=tuple(documents),
    )


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _group(
    label: str, title: str, artist: str, kind: str, date: str | None, country: str = "GB"
) -> dict[str, Any]:
    release = {"mb_release_id": _GROUP[label].replace("c", "d"), "title": title, "date": date}
    release |= {"country": country or None, "status": "Official"}
    return {
        "mb_rg_id": _GROUP[label],
        "title": title,
        "artist_credit": artist,
        "primary_type": kind,
        "releases": [release],
    }


def _bundle(artist: str, song: str, *groups: dict[str, Any]) -> EvidenceBundle:
    recording = {"mb_recording_id": _GROUP["C1"].replace("c", "e"), "title": song}
    return read_bundle({
        "artist": {"name": artist, "begin_area_country": "GB"},
        "recording_title": song,
        "recording_candidates": [recording | {"rg_candidates": list(groups)}],
    })  # fmt: skip


HOW_TO_CHECK = "canon model check"


class ExaminedModel(msgspec.Struct, frozen=True):
    """The model that was examined, and the version of the exam."""

    provider: str
    address: str
    model_id: str
    reader_model_id: str
    exam: str = EXAM

    @classmethod
    def of(cls, config: LLMConfig) -> "ExaminedModel":
        """Return the configured model."""
        reader = config.acceptance.reader_model_id or config.model_id
        return cls(config.provider, masked(config.base_url), config.model_id, reader)


class ExamResult(msgspec.Struct, frozen=True):
    """The score of a model in an exam; `build` is what its server reports of it, or empty."""

    model: ExaminedModel
    score: Score
    build: str
    seconds: float
    checked_at_utc: str

    @classmethod
    def now(cls, config: LLMConfig, score: Score, build: str, seconds: float) -> "ExamResult":
        """Return the result of an exam that has just ended after `seconds`."""
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return cls(ExaminedModel.of(config), score, build, round(seconds, 1), now)

    @property
    def text(self) -> str:
        """The score and what it permits, as text for a person."""
        share = f"checked {self.checked_at_utc[:10]}: {self.score.text}"
        if self.score.is_enough:
            return f"passed the check: its reading of prose may decide ({share})"
        return f"below the bar: only structure decides, and prose is a proposal ({share})"


def find_result(path: Path, config: LLMConfig) -> ExamResult | None:
    """Return the stored result of the configured model, or None. Raises `FileError`."""
    model = ExaminedModel.of(config)
    return next((result for result in _read(path) if result.model == model), None)


def save_result(path: Path, result: ExamResult) -> None:
    """Store a result in place of an earlier one of the same model. Raises `FileError`."""
    remaining = [earlier for earlier in _read(path) if earlier.model != result.model]
    content = json.dumps(msgspec.to_builtins([*remaining, result]), indent=1, ensure_ascii=False)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(content + "\n", "utf-8")
        temporary.replace(path)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error})") from error


def _read(path: Path) -> Sequence[ExamResult]:
    try:
        return decode_json(path.read_bytes(), list[ExamResult])
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        problem = f"{path}: holds no results of `{HOW_TO_CHECK}` ({error}): delete it"
        raise FileError(problem) from error
