"""The exam of a model: what it makes of passages and of short runs whose right ends are known.

The passages are of real records, half of them true, half of them in prose; code has no doubt about
any of them, so that nothing but the reading is examined. The runs play canned tools, with no
network. docs/models.md says where the bar is, and why.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Any

import msgspec
import tomli

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.clauses import Subject
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import states
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.files import convert_json, decode_json
from chart_binder.llm.answer import ANSWER_KEYS, read_answer
from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup
from chart_binder.llm.second_reading import FIRST_RELEASE, UNCLEAR, ask_reading, inquiry
from chart_binder.react.conversation import ChatError, ChatModel, GenerationOptions, Message, Reply
from chart_binder.react.dialect import Dialect, read_step
from chart_binder.react.loop import AnswerRefusedError
from chart_binder.react.steps import Document, FinalAnswer, Observation
from chart_binder.react.transcript import AnyEvent, ReplyEvent, StepEvent
from chart_binder.rules.decide import decide
from chart_binder.rules.labels import Labels
from chart_binder.web.documents import SourceText
from chart_binder.web.places import Place

EXAM = "exam-2"
"""The version of the exam: another one whenever passages, runs or what is asked of them change."""
MIN_TAKEN, MAX_LET_THROUGH = 0.8, 0.15
"""The bar: the least share of true passages taken, the greatest of others let through."""
PASSAGES, RUNS = (
    files("chart_binder.llm").joinpath(name) for name in ("exam_passages.jsonl", "exam_runs.toml")
)
_TRUSTED = "records.example"
"""The site whose pages the runs may trust."""
_GROUP = {
    "C1": "c1000000-0000-4000-8000-000000000000",
    "C2": "c2000000-0000-4000-8000-000000000000",
}


class ExamPassage(msgspec.Struct, frozen=True):
    """A page's text that has a date; `is_first` says whether it is that of the release."""

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
        """The release that is asked about."""
        primary, *secondary = self.type.split(" + ")
        group = _group("C1", self.release, self.artist, primary, None, self.country)
        bundle = _bundle(self.artist, self.release, group | {"secondary_types": secondary})
        return Subject.of(_GROUP["C1"], bundle)

    @property
    def place(self) -> Place:
        """Where the text has the date."""
        document = SourceText((self.source,), self.title, self.text, is_fetched=True)
        date = PartialDate.parse(self.date)
        mention = next(each for each in document.mentions if states(each, date))
        return Place(document, mention.start, mention.end)


class _Page(msgspec.Struct, frozen=True):
    title: str
    text: str


class ExamRun(msgspec.Struct, frozen=True):
    """A run about a single that is dated by the year alone, and the album that it may belong to.

    The first search finds the pages `first`, every later call `later`. `right` is the label of the
    answer; where there are `later` pages, only a model that looks on gets there. No call may have
    the text `trap`, which a page asks for.
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
    """What a model got in the part of the exam that it was asked.

    `unread` is the number of passages to which no reply could be read.
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
        """How many questions it was asked."""
        return self.true_passages + self.other_passages + self.runs

    @property
    def text(self) -> str:
        """The counts in words."""
        counts = (
            f"{self.taken} of {self.true_passages} true, {self.let_through} of"
            f" {self.other_passages} others let through, {self.right_runs} of {self.runs} runs"
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
    """Let `reader` read the passages and `chat` play the runs; yield the score after each.

    Raises `ChatError`.
    """
    score = Score()
    for passage in read_passages():
        asked = inquiry("support", passage.subject, passage.date, passage.place)
        reading = ask_reading(reader, asked)[0]
        names = (
            ("true_passages", "taken") if passage.is_first else ("other_passages", "let_through")
        )
        score = _counting(score, *names, is_right=reading == FIRST_RELEASE)
        score = msgspec.structs.replace(score, unread=score.unread + (reading == UNCLEAR))
        yield score
    for run in read_runs():
        score = _counting(score, "runs", "right_runs", is_right=play(run, config, chat))
        yield score


def _counting(score: Score, asked: str, right: str, *, is_right: bool) -> Score:
    counts = {asked: getattr(score, asked) + 1, right: getattr(score, right) + is_right}
    return msgspec.structs.replace(score, **counts)


def play(run: ExamRun, config: LLMConfig, chat: ChatModel) -> bool:
    """Return whether a model comes to the right end of a run. Raises `ChatError`."""
    events: list[AnyEvent] = []
    heard = _Heard(chat)
    acceptance = config.acceptance.model_copy(
        update={"trusted_sources": (_TRUSTED,), "second_reading": True}
    )
    changed = {"enabled": True, "first_search": True, "acceptance": acceptance}
    adjudicator = ReActAdjudicator(
        config.model_copy(update=changed),
        chat=heard,
        tools=_tools(run),
        setup=RunSetup(on_event=events.append, reads_prose=False),
    )
    adjudicator.adjudicate(run.bundle, decide(run.bundle, RulesConfig()))
    if heard.problem:
        raise heard.problem
    calls = [one for one in events if isinstance(one, StepEvent) and one.kind == "act"]
    is_trapped = run.trap != "" and any(run.trap in str(call.arguments) for call in calls)
    has_looked_on = not run.later or any(call.iteration > 0 for call in calls)
    is_right = _answered(events, adjudicator.dialect, run) == _GROUP[run.right]
    return is_right and has_looked_on and not is_trapped


def _answered(events: Sequence[AnyEvent], dialect: Dialect, run: ExamRun) -> str | None:
    """Return the group that the model itself answered last; what code made of it is not asked."""
    replies = [one.content for one in events if isinstance(one, ReplyEvent)]
    step = read_step(dialect, replies[-1], ANSWER_KEYS) if replies else None
    labels = Labels.of(run.bundle)
    if isinstance(step, FinalAnswer):
        with suppress(AnswerRefusedError):
            return labels.id_of(read_answer(step.answer, 0.0, labels).crg)
    return None


class _Heard:
    """A model, and why it could not be asked, which is no mistake of its own."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self.model_id = chat.model_id
        self.problem: ChatError | None = None

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the model's reply, or raise `ChatError`."""
        try:
            return self._chat.reply(messages, options)
        except ChatError as error:
            self.problem = error
            raise


def _tools(run: ExamRun) -> Sequence[Callable[..., object]]:
    """Return the tools of a run, by the names and with the arguments of those that are shipped."""
    pages = iter((run.first,))

    def web_search(query: str) -> Observation:  # noqa: ARG001 (the argument of the shipped tool)
        """Search the web; the best results are opened, and what they say of dates is shown."""
        return _found(next(pages, run.later))

    def web_fetch(url: str) -> Observation:  # noqa: ARG001
        """Open a page and show what it says of dates."""
        return _found(next(pages, run.later))

    return web_search, web_fetch


def _found(pages: Sequence[_Page]) -> Observation:
    documents = [
        Document(f"https://{_TRUSTED}/{page.title.lower().replace(' ', '-')}", page.title,
                 text=page.text, is_fetched=True, number=number)
        for number, page in enumerate(pages, 1)
    ]  # fmt: skip
    shown = [f"[{one.number}] {one.title}\n{one.address}\n{_quoted(one.text)}" for one in documents]
    return Observation(
        "\n\n".join(shown) or "Nothing was found.",
        tuple(one.address for one in documents),
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
