"""The adjudicator: a ReAct run over an evidence bundle, its answer checked by code."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from chart_binder import plugins
from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, read_bundle, write_bundle
from chart_binder.domain.verdict import Verdict
from chart_binder.llm.answer import FinalAnswer
from chart_binder.llm.examination import Examination
from chart_binder.llm.labels import Labels
from chart_binder.llm.markdown import evidence_markdown
from chart_binder.llm.prompt import PROMPT_VERSION, load_prompt
from chart_binder.llm.recording import Record, recorded
from chart_binder.llm.result import AdjudicationResult, Outcome, Usage
from chart_binder.react.conversation import ChatError, ChatModel, Message
from chart_binder.react.dialect import Dialect
from chart_binder.react.loop import Ending, Limits, call_live, converse
from chart_binder.react.replay import Replay
from chart_binder.react.tools import Tool, Toolbox
from chart_binder.react.transcript import Result, Run, Said, Watch

SEARCH = "web_search"
DISABLED = "LLM adjudication is disabled"
_NOT_RECORDED: dict[str, Any] = {"base_url": True, "api_key_env": True, "searxng": {"url"}}
"""Addresses may hold passwords, and a replay needs none."""


class ReActAdjudicator:
    """Looks into a case that the rules leave open, by reasoning in the open and looking things up.

    Everything after `config` has a default built from configuration. `searxng` is a search client
    for `web_search`; `record` a folder for transcripts; `watch` is told every event as it happens;
    `knobs` are those of the rules that an answer is held against. Nothing is opened before
    `adjudicate`; threads may share one adjudicator as far as they may share `chat`.

    Raises `PluginError` for a provider, tool or dialect that is not installed.
    """

    def __init__(
        self,
        config: LLMConfig,
        *,
        searxng: object | None = None,
        chat: ChatModel | None = None,
        tools: Sequence[Tool] | None = None,
        dialect: Dialect | None = None,
        record: Path | None = None,
        watch: Watch | None = None,
        knobs: RulesConfig | None = None,
    ) -> None:
        self._config = config
        self._record = record
        self._watch = watch
        self._knobs = knobs or RulesConfig()
        if config.enabled:
            self._chat = chat or _chat_model(config)
            self._dialect = dialect or plugins.load("chart_binder.dialects", config.dialect)()
            tools = default_tools(config, searxng) if tools is None else tools
            self._toolbox = Toolbox(tools)

    def adjudicate(
        self,
        evidence_bundle: EvidenceBundle | Mapping[str, Any] | bytes | str,
        decision_trace: Verdict | Sequence[str] | str | None = None,
    ) -> AdjudicationResult:
        """Return the answer, of whatever outcome; `decision_trace` says why the case is open.

        Raises `EvidenceError` for an ill-formed bundle, a caller's mistake. Whatever the model, the
        network or a page does becomes the outcome.
        """
        bundle = read_bundle(evidence_bundle)
        if not self._config.enabled:
            known = evidence_hash(bundle)
            return AdjudicationResult(Outcome.ERROR, problem=DISABLED, evidence_hash=known)
        labels, run = Labels.of(bundle), self._run(bundle)
        opening = (
            Message("system", self.system_prompt()),
            Message("user", evidence_markdown(bundle, decision_trace)),
        )
        with recorded(run, self._record, self._watch) as record:
            record(run)
            for message in opening:
                record(Said(message.role, message.content))
            examination = Examination(
                bundle, labels, self._knobs, self._config, record.observed, record.found_ids
            )
            ending = self._converse(opening, examination, record)
            result = _result(ending, examination, run, record)
            record(Result(result.to_dict() | {"transcript": None}))
        return result

    def system_prompt(self) -> str:
        """Return the system prompt: the same bytes for every recording."""
        numbers = self._config.model_dump() | self._knobs.model_dump()
        return load_prompt().render(self._dialect, self._toolbox.tools, numbers)

    def _run(self, bundle: EvidenceBundle) -> Run:
        return Run(
            id=uuid.uuid4().hex[:12],
            started_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            model_id=self._chat.model_id,
            dialect=self._dialect.name,
            prompt_version=PROMPT_VERSION,
            evidence_hash=evidence_hash(bundle),
            options={
                "llm": self._config.model_dump(mode="json", exclude=_NOT_RECORDED),
                "rules": self._knobs.model_dump(mode="json"),
            },
            evidence=msgspec.json.decode(write_bundle(bundle)),
        )

    def _converse(
        self, opening: Sequence[Message], examination: Examination, record: Record
    ) -> Ending[FinalAnswer]:
        try:
            return converse(
                self._chat,
                self._dialect,
                self._toolbox,
                opening,
                judge=examination.read,
                watch=record,
                limits=Limits(self._config.max_iterations, self._config.fetch.max_chars),
                perform=self._chat.perform if isinstance(self._chat, Replay) else call_live,
            )
        except ChatError as error:
            return Ending(len(record.replies()), problem=str(error))


def _chat_model(config: LLMConfig) -> ChatModel:
    chat: ChatModel = plugins.load("chart_binder.chat_models", config.provider)(config)
    return chat


def default_tools(config: LLMConfig, searxng: object | None = None) -> tuple[Tool, ...]:
    """Return every tool that is installed and not turned off; none opens a socket yet.

    Raises `PluginError` for one that cannot be loaded.
    """
    return tuple(
        plugins.load("chart_binder.tools", name)(
            config, *([searxng] if searxng and name == SEARCH else [])
        )
        for name in plugins.names("chart_binder.tools")
        if name != SEARCH or config.searxng.enabled
    )


def _result(
    ending: Ending[FinalAnswer], examination: Examination, run: Run, record: Record
) -> AdjudicationResult:
    answer = ending.answer
    said = AdjudicationResult(
        outcome=Outcome.ERROR,
        problem=ending.problem,
        iterations=ending.iterations,
        usage=_usage(record),
        model_id=run.model_id,
        dialect=run.dialect,
        prompt_version=run.prompt_version,
        evidence_hash=run.evidence_hash,
        transcript=record.place,
    )
    if answer is None:
        return said
    judgement = examination.judge(answer)
    return msgspec.structs.replace(
        said,
        outcome=judgement.outcome,
        crg_mbid=judgement.crg,
        rr_mbid=judgement.rr,
        confidence=answer.confidence,
        rationale=answer.rationale,
        facts=judgement.facts,
        checks=judgement.checks,
        problem=judgement.problem,
    )


def _usage(record: Record) -> Usage:
    replies = record.replies()
    return Usage(
        prompt_tokens=sum(reply.prompt_tokens or 0 for reply in replies),
        completion_tokens=sum(reply.completion_tokens or 0 for reply in replies),
        model_seconds=sum(reply.seconds for reply in replies),
        tool_seconds=sum(seen.seconds for seen in record.observed()),
    )
