"""The adjudicator: a model researches what the rules leave open, and code checks its answer."""

import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from chart_binder import plugins
from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, read_bundle, write_bundle
from chart_binder.domain.verdict import Open, Verdict
from chart_binder.llm.acceptance import AnswerChecker
from chart_binder.llm.answer import ANSWER_KEYS, final_request
from chart_binder.llm.events import ReadingEvent, ReplayedRun, ResultEvent, StartEvent
from chart_binder.llm.evidence_markdown import evidence_markdown
from chart_binder.llm.open_case import OpenCase
from chart_binder.llm.prompt import Prompt, configured_prompt, prompt_numbers
from chart_binder.llm.recording import RecordFinder, Records, RunLog, failed_services, record_run
from chart_binder.llm.research import SEARCH, first_search, linked_search
from chart_binder.llm.result import AdjudicationResult, Outcome, Usage
from chart_binder.llm.second_reading import SecondReader
from chart_binder.llm.tools import LinksOf, default_tools, linked_pages
from chart_binder.react.conversation import ChatError, ChatModel, Message, UnreachableError
from chart_binder.react.dialect import Dialect
from chart_binder.react.loop import EndedBy, Ending, Hooks, Limits, Task, converse
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import RunContext, Tool, Toolbox
from chart_binder.react.transcript import (
    EventHandler,
    MessageEvent,
    ObservationEvent,
    ReplyEvent,
    partial_findings,
)
from chart_binder.rules.labels import Labels

ASK_AGAIN_S = 60.0
"""How long a model at whose address nothing answered is not asked."""
_MAX_TITLES = 12
_NOT_RECORDED: dict[str, Any] = {"base_url": True, "api_key_env": True, "searxng": {"url"}}
"""Addresses may hold passwords, and a replay needs none."""


class ReActAdjudicator:
    """Asks a model about a case that the rules leave open, in a ReAct loop with tools.

    Everything after `config` has a default built from configuration. `searxng` is a search client,
    `musicbrainz` what opens MusicBrainz for its tool, `records` what finds there what a record adds
    to the evidence, `links` what it links release groups to; `reader` answers second readings, and
    `reads_prose` says whether it may read prose (`canon model check`); `record` is a folder for
    transcripts; `on_event` is called with every event, `on_token` with every piece of a reply.
    Nothing is opened before `adjudicate`; threads may share one adjudicator as far as they may
    share `chat`.

    Raises `PluginError` for what is not installed, `ConfigError` for an unknown placeholder in the
    configured prompt.
    """

    def __init__(
        self,
        config: LLMConfig,
        *,
        searxng: object | None = None,
        chat: ChatModel | None = None,
        tools: Sequence[Tool | Callable[..., object]] | None = None,
        dialect: Dialect | None = None,
        record: Path | None = None,
        on_event: EventHandler | None = None,
        rules_config: RulesConfig | None = None,
        on_token: Callable[[str], None] | None = None,
        prompt: Prompt | None = None,
        musicbrainz: object | None = None,
        records: Records | None = None,
        links: LinksOf | None = None,
        reader: ChatModel | None = None,
        reads_prose: bool = True,
    ) -> None:
        self._config = config
        self._record = record
        self._on_event = on_event
        self._on_token = on_token
        self._records = records
        self._links = links if config.tools.wikipedia else None
        self._reads_prose = reads_prose
        self._unreachable, self._ask_again_at = "", 0.0
        self._rules_config = rules_config or RulesConfig()
        if config.enabled:
            self._prompt = prompt or configured_prompt(config.prompt)
            self._numbers = prompt_numbers(config, self._rules_config)
            self._chat: ChatModel = chat or load_model(config)
            self._reader = reader or self._chat
            if reader is None and chat is None and config.acceptance.reader_model_id:
                self._reader = load_reader(config)
            self.dialect = dialect or plugins.load("chart_binder.dialects", config.dialect)()
            offered = default_tools(config, searxng, musicbrainz) if tools is None else tools
            self._tools = Toolbox(offered).tools

    def adjudicate(
        self,
        evidence_bundle: EvidenceBundle | Mapping[str, Any] | bytes | str,
        decision_trace: Verdict | Sequence[str] | str | None = None,
    ) -> AdjudicationResult:
        """Return the result; `decision_trace` says why the case is open.

        If its question is of the kind `year`, the rules decide the group, and the year of the first
        release is asked for.

        Raises `EvidenceError` for an ill-formed bundle; whatever else goes wrong is an outcome.
        Once nothing answers at the model's address, it is not asked for `ASK_AGAIN_S`.
        """
        bundle = read_bundle(evidence_bundle)
        if not self._config.enabled:
            known, problem = evidence_hash(bundle), "LLM adjudication is disabled"
            return AdjudicationResult(Outcome.ERROR, problem=problem, evidence_hash=known)
        problem = self._unreachable
        if problem and time.monotonic() < self._ask_again_at:
            known = evidence_hash(bundle)
            return AdjudicationResult(
                Outcome.ERROR, problem=problem, evidence_hash=known, is_unreachable=True
            )
        questions = decision_trace.questions if isinstance(decision_trace, Open) else ()
        asks_year = any(question.kind == "year" for question in questions)
        task = self._prompt.question(self._numbers, asks_year=asks_year)
        markdown = evidence_markdown(bundle, decision_trace, task)
        return self._run(bundle, markdown, asks_year=asks_year)

    def system_prompt(self) -> str:
        """Return the system prompt: the same bytes for every recording."""
        return self._prompt.render(self.dialect, self._tools, self._numbers)

    def _run(self, bundle: EvidenceBundle, markdown: str, *, asks_year: bool) -> AdjudicationResult:
        """Run the conversation about the evidence."""
        chat, run = self._chat, self._run_event(bundle, asks_year=asks_year)
        context = RunContext(search_topic(bundle))
        linked = (linked_pages(bundle, self._config, self._links),) if self._links else ()
        toolbox = Toolbox((tool.for_run(context) for tool in self._tools), linked)
        replayed = chat.opening(run.evidence_hash) if isinstance(chat, ReplayedRun) else ()
        opening = replayed or (
            Message("system", self.system_prompt()),
            Message("user", markdown),
        )
        with record_run(run, self._record, self._on_event) as record:
            record(run)
            for message in opening:
                record(MessageEvent(message.role, message.content))
            deadline = time.monotonic() + self._config.max_run_s
            reader = SecondReader(
                self._reader, record, lambda: deadline - time.monotonic(), self._reads_prose
            )
            recorded = getattr(chat, "records", None)  # of a run that is replayed
            find = self._records if recorded is None else None
            finder = RecordFinder(record, find, recorded or {}, lambda: deadline - time.monotonic())
            labels = Labels.of(bundle)
            case = OpenCase(bundle, labels, self._rules_config, self._config, asks_year)
            names: Collection[str] = [tool.name for tool in self._tools]
            names = chat.tools_of(names) if isinstance(chat, ReplayedRun) else names
            examination = AnswerChecker(
                case, record, reader, finder, bool(names), tools=names, dialect=self.dialect
            )
            ending = self._converse(toolbox, opening, examination)
            # An answer that was sent back stands where no other came after it.
            answer = ending.answer or examination.pending
            result = _result(answer, ending, run, record, self.dialect)
            if ending.problem and ending.problem == self._unreachable:
                result = msgspec.structs.replace(result, is_unreachable=True)
            record(ResultEvent(result.to_dict() | {"transcript": None}))
        return result

    def _converse(
        self, toolbox: Toolbox, opening: Sequence[Message], examination: AnswerChecker
    ) -> Ending[AdjudicationResult]:
        config, chat = self._config, self._chat
        replay = chat if isinstance(chat, ReplayedRun) else None
        labels, record, finder = examination.case.labels, examination.record, examination.finder
        limits = Limits(
            iterations=config.max_iterations,
            observation_chars=config.fetch.max_chars,
            observation_role=config.observation_role,
            max_run_s=config.max_run_s,
            max_run_tokens=config.max_run_tokens,
            num_ctx=config.num_ctx,
            max_tokens=config.max_tokens,
        )
        task = Task(
            opening,
            examination.read,
            ANSWER_KEYS,
            self._opening_calls(examination),
            (lambda: final_request(labels, finder.shown(), examination.likely))
            if config.final_turn == "force"
            else None,
        )
        hooks = Hooks(record, self._on_token, examination.remark)
        try:
            recording = replay.calls if replay else None
            return converse(chat, self.dialect, toolbox, task, hooks, limits, recording)
        except ChatError as error:
            if isinstance(error, UnreachableError):
                self._unreachable = str(error)
                self._ask_again_at = time.monotonic() + ASK_AGAIN_S
            turns = len(record.all(ReplyEvent))
            return Ending(turns, problem=str(error), ended_by=EndedBy.MODEL)

    def _opening_calls(self, examination: AnswerChecker) -> Iterator[ToolCall]:
        """Yield what code looks up before the model is asked; in a script, what is recorded."""
        recorded: Callable[[], Iterator[ToolCall]] | None = getattr(
            self._chat, "opening_calls", None
        )
        if recorded:
            yield from recorded()
            return
        reading = linked_search(examination.research()) if self._links else None
        if reading:
            yield reading
        can_search = self._config.first_search and SEARCH in examination.tools
        search = first_search(examination.research()) if can_search else None
        if search and not examination.research().is_settled:
            yield search

    def _run_event(self, bundle: EvidenceBundle, *, asks_year: bool) -> StartEvent:
        options: dict[str, object] = {
            "llm": self._config.model_dump(mode="json", exclude=_NOT_RECORDED),
            "rules": self._rules_config.model_dump(mode="json"),
            "tools": [tool.name for tool in self._tools],
        }
        if not self._reads_prose:
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

    Raises `PluginError` for what is not installed, `ConfigError`.
    """
    model: ChatModel = plugins.load("chart_binder.chat_models", config.provider)(config)
    return model


def load_reader(config: LLMConfig) -> ChatModel:
    """Return the model that answers second readings: the configured one where no other is named.

    A replay answers them itself. Raises `PluginError` and `ConfigError`.
    """
    named = config.acceptance.reader_model_id
    is_other = named and config.provider != "replay"
    return load_model(config.model_copy(update={"model_id": named}) if is_other else config)


def search_topic(bundle: EvidenceBundle) -> str:
    """Return artist, title and the titles of candidates, each once, for tools to search with."""
    titles = (
        group.title for recording in bundle.recording_candidates for group in recording.groups
    )
    names = (bundle.performer.name, bundle.recording_title, *titles)
    known = dict.fromkeys(name for name in names if name)
    return " / ".join(list(known)[: _MAX_TITLES + 2])


def _result(
    result: AdjudicationResult | None,
    ending: Ending[AdjudicationResult],
    run: StartEvent,
    record: RunLog,
    dialect: Dialect,
) -> AdjudicationResult:
    """Return what an answer came to, or the error that ended the run, with the facts of the run."""
    if result is None:
        findings = partial_findings(record.events, dialect)
        result = AdjudicationResult(Outcome.ERROR, problem=ending.problem, rationale=findings)
    else:
        failed = tuple(failed_services(record.events))
        checks = (*result.checks, *failed)
        problem = result.problem
        if failed and result.crg_mbid is None:
            problem = f"{problem}; {failed[0].detail}"
        if ending.problem and problem:
            problem = f"{problem}; then {ending.problem}"
        result = msgspec.structs.replace(result, checks=checks, problem=problem)
    answered: list[ReplyEvent | ReadingEvent] = [*record.all(ReplyEvent), *record.all(ReadingEvent)]
    return msgspec.structs.replace(
        result,
        iterations=ending.iterations,
        usage=Usage(
            prompt_tokens=sum(reply.prompt_tokens or 0 for reply in answered),
            completion_tokens=sum(reply.completion_tokens or 0 for reply in answered),
            model_seconds=sum(reply.seconds for reply in answered),
            tool_seconds=sum(seen.seconds for seen in record.all(ObservationEvent)),
            readings=len(record.all(ReadingEvent)),
        ),
        model_id=run.model_id,
        dialect=run.dialect,
        prompt_version=run.prompt_version,
        evidence_hash=run.evidence_hash,
        transcript=record.place,
    )
