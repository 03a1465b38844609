"""The adjudicator: a model researches what the rules leave open, and code checks its answer."""

import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from chart_binder import plugins
from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, read_bundle, write_bundle
from chart_binder.domain.verdict import Open, Verdict
from chart_binder.llm.acceptance import AnswerChecker
from chart_binder.llm.answer import ANSWER_KEYS, final_request
from chart_binder.llm.events import (
    Playback,
    ReadingEvent,
    ResultEvent,
    StartEvent,
    playback_of,
    read_playback,
)
from chart_binder.llm.evidence_markdown import evidence_markdown
from chart_binder.llm.open_case import OpenCase
from chart_binder.llm.prompt import RESERVED_LABELS, Prompt, configured_prompt, prompt_settings
from chart_binder.llm.research import SEARCH, first_search, linked_search
from chart_binder.llm.result import AdjudicationResult, Outcome, Usage
from chart_binder.llm.run_log import (
    FindRecordings,
    RecordFinder,
    RunLog,
    failed_services,
    record_run,
)
from chart_binder.llm.second_reading import SecondReader
from chart_binder.llm.tools import FindLinks, default_tools, linked_pages
from chart_binder.react.conversation import ChatError, ChatModel, Message, UnreachableError
from chart_binder.react.dialect import Dialect
from chart_binder.react.loop import EndedBy, Ending, FinalRequest, Hooks, Limits, Task, converse
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import RunContext, Toolbox, ToolLike
from chart_binder.react.transcript import (
    EventHandler,
    MessageEvent,
    ObservationEvent,
    ReplyEvent,
)
from chart_binder.rules.labels import Labels

if TYPE_CHECKING:
    from chart_binder.musicbrainz.tool import Open as OpenMusicBrainz
    from chart_binder.web.searxng import SearxngClient

ASK_AGAIN_S = 60.0
"""Seconds for which a model is not asked after nothing answered at its address."""
_MAX_TITLES = 12
_NOT_RECORDED: dict[str, Any] = {"base_url": True, "api_key_env": True, "searxng": {"url"}}
"""Addresses may hold passwords, and a replay needs none."""


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What an adjudicator works with besides its configuration; every part has a default.

    `on_event` is called with every event of a run, `on_token` with every piece of a reply. `reader`
    is the model that answers second readings, and `reads_prose` whether it may read prose (`canon
    model check`). `musicbrainz` opens MusicBrainz for the tool of that name, `find_recordings`
    finds what a record there adds to the evidence, and `find_links` what it links groups to.
    """

    on_event: EventHandler | None = None
    on_token: Callable[[str], None] | None = None
    rules: RulesConfig = field(default_factory=RulesConfig)
    prompt: Prompt | None = None
    reader: ChatModel | None = None
    reads_prose: bool = True
    musicbrainz: "OpenMusicBrainz | None" = None
    find_recordings: FindRecordings | None = None
    find_links: FindLinks | None = None


_DEFAULT_SETUP = RunSetup()


class ReActAdjudicator:
    """Asks a model about a case that the rules leave open, in a ReAct loop with tools.

    `config` describes the model, the tools and the dialect; `chat`, `tools`, `dialect` and the
    client `searxng` replace them. `record` is the folder for transcripts. `setup` holds the rest.
    If there is a `playback`, its run is played again in place of `chat`. Nothing is opened before
    `adjudicate`. Threads may share one adjudicator as far as they may share `chat`.

    Raises `PluginError` for a plug-in that is not installed, and `ConfigError` for an unknown
    placeholder in the configured prompt.
    """

    def __init__(
        self,
        config: LLMConfig,
        *,
        searxng: "SearxngClient | None" = None,
        chat: ChatModel | None = None,
        tools: Sequence[ToolLike] | None = None,
        dialect: Dialect | None = None,
        record: Path | None = None,
        setup: RunSetup = _DEFAULT_SETUP,
        playback: Playback | None = None,
    ) -> None:
        self._config = config
        self._record = record
        self._setup = setup
        self._find_links = setup.find_links if config.tools.wikipedia else None
        self._unreachable, self._ask_again_at = "", 0.0
        if config.enabled:
            self._prompt = setup.prompt or configured_prompt(config.prompt)
            self._prompt_settings = prompt_settings(config, setup.rules)
            self._choose_models(chat, playback)
            self.dialect = dialect or plugins.load("chart_binder.dialects", config.dialect)()
            offered = default_tools(config, searxng, setup.musicbrainz) if tools is None else tools
            self._tools = Toolbox(offered).tools

    def _choose_models(self, chat: ChatModel | None, playback: Playback | None) -> None:
        """Set the model, the model for second readings, and the playback, if any."""
        config, reader = self._config, self._setup.reader
        if playback is None and chat is None and config.provider == "replay":
            playback = read_playback(config)
        elif playback is None and chat is not None:
            playback = playback_of(chat)
        self._playback = playback
        self._chat: ChatModel = playback.chat if playback else chat or load_model(config)
        if reader is None and chat is None and not playback and config.acceptance.reader_model_id:
            reader = load_reader(config)
        self._reader = reader or self._chat
        played = playback_of(reader) if reader else playback
        self._readings = played.readings if played else None

    def adjudicate(
        self,
        evidence_bundle: EvidenceBundle | Mapping[str, Any] | bytes | str,
        decision_trace: Verdict | Sequence[str] | str | None = None,
    ) -> AdjudicationResult:
        """Return the result; `decision_trace` says why the case is open.

        If one of its questions is of the kind `year`, the model is asked for the year of the first
        release, because the rules decide the group.

        Raises `EvidenceError` for an ill-formed bundle; any other failure is reported
        as an outcome.
        After a request to which nothing answered, the model is not asked for `ASK_AGAIN_S` seconds.
        """
        bundle = read_bundle(evidence_bundle)
        if not self._config.enabled:
            return AdjudicationResult(
                Outcome.ERROR,
                problem="LLM adjudication is disabled",
                evidence_hash=evidence_hash(bundle),
            )
        if self._unreachable and time.monotonic() < self._ask_again_at:
            return AdjudicationResult(
                Outcome.ERROR,
                problem=self._unreachable,
                evidence_hash=evidence_hash(bundle),
                is_unreachable=True,
            )
        questions = decision_trace.questions if isinstance(decision_trace, Open) else ()
        asks_year = any(question.kind == "year" for question in questions)
        task = self._prompt.question(self._prompt_settings, asks_year=asks_year)
        markdown = evidence_markdown(bundle, decision_trace, task)
        return self._run(bundle, markdown, asks_year=asks_year)

    def system_prompt(self) -> str:
        """Return the system prompt: the same bytes for every recording."""
        return self._prompt.render(self.dialect, self._tools, self._prompt_settings)

    def _run(self, bundle: EvidenceBundle, markdown: str, *, asks_year: bool) -> AdjudicationResult:
        """Run the conversation about the evidence, and record it."""
        start, playback = self._start_event(bundle, asks_year=asks_year), self._playback
        recorded = playback.opening_about(start.evidence_hash) if playback else ()
        opening = recorded or (
            Message("system", self.system_prompt()),
            Message("user", markdown),
        )
        with record_run(start, self._record, self._setup.on_event) as log:
            log(start)
            for message in opening:
                log(MessageEvent(message.role, message.content))
            checker = self._checker(bundle, log, asks_year=asks_year)
            ending = self._converse(opening, checker)
            # An answer that was sent back stands if no other answer followed it.
            answer = ending.answer or checker.pending
            result = _result(answer, ending, start, log)
            if ending.ended_by is EndedBy.UNREACHABLE:
                result = replace(result, is_unreachable=True)
            interruption = ending.problem if answer and ending.problem else UNSET
            log(ResultEvent(result.to_dict() | {"transcript": None}, interruption))
        return result

    def _checker(self, bundle: EvidenceBundle, log: RunLog, *, asks_year: bool) -> AnswerChecker:
        """Return the checker of a run's answers; `max_run_s` counts from now."""
        setup, playback = self._setup, self._playback
        deadline = time.monotonic() + self._config.max_run_s

        def seconds_left() -> float:
            return deadline - time.monotonic()

        reader = SecondReader(self._reader, log, seconds_left, setup.reads_prose, self._readings)
        recorded = playback.records if playback else None
        find = setup.find_recordings if recorded is None else None
        finder = RecordFinder(log, find, recorded or {}, seconds_left)
        case = OpenCase(bundle, Labels.of(bundle), setup.rules, self._config, asks_year)
        names: Collection[str] = [tool.name for tool in self._tools]
        names = playback.tool_names(names) if playback else names
        return AnswerChecker(case, log, reader, finder, tools=names, dialect=self.dialect)

    def _toolbox(self, bundle: EvidenceBundle) -> Toolbox:
        context, find_links = RunContext(search_topic(bundle)), self._find_links
        linked = (linked_pages(bundle, self._config, find_links),) if find_links else ()
        return Toolbox((tool.for_run(context) for tool in self._tools), linked)

    def _converse(
        self, opening: Sequence[Message], checker: AnswerChecker
    ) -> Ending[AdjudicationResult]:
        config, case, log = self._config, checker.case, checker.log
        limits = Limits(
            iterations=config.max_iterations,
            observation_chars=config.fetch.max_chars,
            observation_role=config.observation_role,
            max_run_s=config.max_run_s,
            max_run_tokens=config.max_run_tokens,
            num_ctx=config.num_ctx,
            max_tokens=config.max_tokens,
        )

        def request() -> FinalRequest:
            return final_request(case.labels, checker.finder.shown(), checker.likely)

        task = Task(
            opening,
            checker.read,
            ANSWER_KEYS,
            self._opening_calls(checker),
            request if config.final_turn == "force" else None,
            RESERVED_LABELS,
        )
        hooks = Hooks(log, self._setup.on_token, checker.remark)
        toolbox = self._toolbox(case.bundle)
        calls = self._playback.calls if self._playback else None
        try:
            return converse(self._chat, self.dialect, toolbox, task, hooks, limits, calls)
        except ChatError as error:
            ended_by = EndedBy.MODEL
            if isinstance(error, UnreachableError):
                ended_by, self._unreachable = EndedBy.UNREACHABLE, str(error)
                self._ask_again_at = time.monotonic() + ASK_AGAIN_S
            turns = len(log.all(ReplyEvent))
            return Ending(turns, problem=str(error), ended_by=ended_by)

    def _opening_calls(self, checker: AnswerChecker) -> Iterator[ToolCall]:
        """Yield the calls that code makes before the model is asked, or the recorded ones."""
        if self._playback:
            yield from self._playback.opening_calls
            return
        lookup = linked_search(checker.research()) if self._find_links else None
        if lookup:
            yield lookup
        can_search = self._config.first_search and SEARCH in checker.tools
        search = first_search(checker.research()) if can_search else None
        if search and not checker.research().is_settled:
            yield search

    def _start_event(self, bundle: EvidenceBundle, *, asks_year: bool) -> StartEvent:
        options: dict[str, object] = {
            "llm": self._config.model_dump(mode="json", exclude=_NOT_RECORDED),
            "rules": self._setup.rules.model_dump(mode="json"),
            "tools": [tool.name for tool in self._tools],
        }
        if not self._setup.reads_prose:
            options["reads_prose"] = False
        if asks_year:
            options["asks"] = "year"
        if self._prompt != configured_prompt(self._config.prompt):
            options["prompt"] = msgspec.to_builtins(self._prompt)
        return StartEvent(
            id=uuid.uuid4().hex[:12],
            started_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            model_id=self._chat.model_id,
            dialect=self.dialect.name,
            prompt_version=self._prompt.name,
            evidence_hash=evidence_hash(bundle),
            options=options,
            evidence=msgspec.json.decode(write_bundle(bundle)),
        )


def load_model(config: LLMConfig) -> ChatModel:
    """Return the configured model; its server is not asked yet.

    Raises `PluginError` if the provider is not installed, and `ConfigError`.
    """
    model: ChatModel = plugins.load("chart_binder.chat_models", config.provider)(config)
    return model


def load_reader(config: LLMConfig) -> ChatModel:
    """Return the model that answers second readings, by default the configured one.

    A replay answers them itself. Raises `PluginError` and `ConfigError`.
    """
    model_id = config.acceptance.reader_model_id
    has_model = model_id and config.provider != "replay"
    return load_model(config.model_copy(update={"model_id": model_id}) if has_model else config)


def search_topic(bundle: EvidenceBundle) -> str:
    """Return artist, title and the titles of candidates, each once, for tools to search with."""
    titles = (
        group.title for recording in bundle.recording_candidates for group in recording.groups
    )
    names = (bundle.performer.name, bundle.recording_title, *titles)
    topics = dict.fromkeys(name for name in names if name)
    return " / ".join(list(topics)[: _MAX_TITLES + 2])


def _result(
    answer: AdjudicationResult | None,
    ending: Ending[AdjudicationResult],
    start: StartEvent,
    log: RunLog,
) -> AdjudicationResult:
    """Return the answer, or the error that ended the run, with the run's usage and names."""
    if answer is None:
        result = AdjudicationResult(Outcome.ERROR, problem=ending.problem)
    else:
        failures = tuple(failed_services(log.events))
        failure = failures[0].detail if failures and answer.crg_mbid is None else None
        problem = problem_text(answer.problem, failure, ending.problem)
        result = replace(answer, checks=(*answer.checks, *failures), problem=problem)
    replies: list[ReplyEvent | ReadingEvent] = [*log.all(ReplyEvent), *log.all(ReadingEvent)]
    return replace(
        result,
        iterations=ending.iterations,
        usage=Usage(
            prompt_tokens=sum(reply.prompt_tokens or 0 for reply in replies),
            completion_tokens=sum(reply.completion_tokens or 0 for reply in replies),
            model_seconds=sum(reply.seconds for reply in replies),
            tool_seconds=sum(observation.seconds for observation in log.all(ObservationEvent)),
            readings=len(log.all(ReadingEvent)),
        ),
        model_id=start.model_id,
        dialect=start.dialect,
        prompt_version=start.prompt_version,
        evidence_hash=start.evidence_hash,
        transcript=log.transcript,
    )


def problem_text(problem: str | None, failure: str | None, interruption: str | None) -> str | None:
    """Return a sentence on an answer that was not accepted; None for one that was.

    `problem` is what is wrong with the answer, `failure` what went wrong in a service that it
    needed, and `interruption` what ended the run before a better answer.
    """
    if problem is None:
        return None
    text = f"{problem}; {failure}" if failure else problem
    return f"{text}; then {interruption}" if interruption else text
