"""One run of a model over a case: a conversation, recorded, and its answer judged."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, write_bundle
from chart_binder.llm.answer import FinalAnswer
from chart_binder.llm.confidence_map import AS_STATED, ConfidenceMap
from chart_binder.llm.examination import Examination
from chart_binder.llm.labels import Labels
from chart_binder.llm.last_word import last_word
from chart_binder.llm.learned import learned
from chart_binder.llm.markdown import Trace, evidence_markdown
from chart_binder.llm.prompt import Prompt, configured
from chart_binder.llm.recording import Record, recorded
from chart_binder.llm.result import AdjudicationResult, Outcome, Usage
from chart_binder.llm.unanswered import unanswered
from chart_binder.react.calls import call_live
from chart_binder.react.conversation import ChatError, ChatModel, Message
from chart_binder.react.dialect import Dialect
from chart_binder.react.loop import Ending, Limits, converse
from chart_binder.react.replay import Replay
from chart_binder.react.tools import Toolbox
from chart_binder.react.transcript import Result, Run, Said, Watch

_NOT_RECORDED: dict[str, Any] = {
    "base_url": True,
    "api_key_env": True,
    "searxng": {"url"},
    "acceptance": {"calibration"},
}
"""Addresses may hold passwords, and a replay needs none; nor the file of what is recorded whole."""


@dataclass(frozen=True, slots=True)
class Case:
    """An evidence bundle and its open question, as a model is asked about it."""

    bundle: EvidenceBundle
    labels: Labels
    markdown: str
    evidence_hash: str

    @classmethod
    def of(cls, bundle: EvidenceBundle, trace: Trace, task: str | None = None) -> "Case":
        """Make a bundle ready to be asked about; `trace` says why it is open, `task` what to do."""
        known = evidence_hash(bundle)
        return cls(bundle, Labels.of(bundle), evidence_markdown(bundle, trace, task), known)


@dataclass(frozen=True, slots=True)
class Asking:
    """What one run asks with. `config` is this run's own: a replay needs nothing but it.

    `part_of` says of which samples and methods the run is a part, for the record.
    """

    config: LLMConfig
    knobs: RulesConfig
    chat: ChatModel
    dialect: Dialect
    toolbox: Toolbox
    prompt: Prompt
    system_prompt: str
    part_of: Mapping[str, object]
    calibrated: ConfidenceMap = AS_STATED
    record: Path | None = None
    watch: Watch | None = None
    listen: Callable[[str], None] | None = None

    def about(self, case: Case) -> AdjudicationResult:
        """Run, and return what came of it, of whatever outcome."""
        run = self._run(case)
        opening = self._opening(case)
        with recorded(run, self.record, self.watch) as record:
            record(run)
            for message in opening:
                record(Said(message.role, message.content))
            examination = Examination(
                case.bundle,
                case.labels,
                self.knobs,
                self.config,
                record.observed,
                record.found_ids,
                self.calibrated,
            )
            ending = self._converse(opening, examination, record)
            result = self._result(ending, examination, run, record)
            record(Result(result.to_dict() | {"transcript": None}))
        return result

    def _opening(self, case: Case) -> tuple[Message, ...]:
        """Return how the conversation opens; one that is played again, as it was recorded."""
        as_recorded = self.chat.opening(case.evidence_hash) if isinstance(self.chat, Replay) else ()
        written = (Message("system", self.system_prompt), Message("user", case.markdown))
        return as_recorded or written

    def _run(self, case: Case) -> Run:
        return Run(
            id=uuid.uuid4().hex[:12],
            started_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            model_id=self.chat.model_id,
            dialect=self.dialect.name,
            prompt_version=self.prompt.name,
            evidence_hash=case.evidence_hash,
            options={
                "llm": self.config.model_dump(mode="json", exclude=_NOT_RECORDED),
                "rules": self.knobs.model_dump(mode="json"),
                "part_of": dict(self.part_of),
                **self._own_prompt(),
                **self._own_calibration(),
            },
            evidence=msgspec.json.decode(write_bundle(case.bundle)),
        )

    def _own_prompt(self) -> Mapping[str, object]:
        """Return the prompt for the record, if the configuration does not lead to it."""
        if self.prompt == configured(self.config.prompt):
            return {}
        return {"prompt": msgspec.to_builtins(self.prompt)}

    def _own_calibration(self) -> Mapping[str, object]:
        """Return the calibration for the record, if one is used."""
        if not self.calibrated.points:
            return {}
        return {"calibration": msgspec.to_builtins(self.calibrated)}

    def _converse(
        self, opening: tuple[Message, ...], examination: Examination, record: Record
    ) -> Ending[FinalAnswer]:
        replay = self.chat if isinstance(self.chat, Replay) else None
        is_forced = self.config.final_turn == "force"
        try:
            return converse(
                self.chat,
                self.dialect,
                self.toolbox,
                opening,
                judge=examination.read,
                watch=record,
                limits=limits(self.config),
                perform=replay.perform if replay else call_live,
                recall=replay.recall if replay else None,
                last_word=last_word(examination.labels) if is_forced else None,
                listen=self.listen,
            )
        except ChatError as error:
            return Ending(len(record.replies()), problem=str(error))

    def _result(
        self, ending: Ending[FinalAnswer], examination: Examination, run: Run, record: Record
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
            known = learned(record.events, self.dialect)
            return msgspec.structs.replace(said, rationale=known)
        judgement = examination.judge(answer)
        return msgspec.structs.replace(
            said,
            outcome=judgement.outcome,
            crg_mbid=judgement.crg,
            rr_mbid=judgement.rr,
            confidence=judgement.confidence,
            stated_confidence=answer.confidence,
            rationale=answer.rationale,
            facts=judgement.facts,
            checks=(*judgement.checks, *unanswered(record.events)),
            rules=judgement.rules,
            independent_sources=judgement.independent_sources,
            problem=judgement.problem,
        )


def limits(config: LLMConfig) -> Limits:
    """Return how far a run may go."""
    return Limits(
        iterations=config.max_iterations,
        observation_chars=config.fetch.max_chars,
        observation_role=config.observation_role,
        max_run_s=config.max_run_s,
        max_run_tokens=config.max_run_tokens,
        num_ctx=config.num_ctx,
        max_tokens=config.max_tokens,
    )


def _usage(record: Record) -> Usage:
    replies = record.replies()
    return Usage(
        prompt_tokens=sum(reply.prompt_tokens or 0 for reply in replies),
        completion_tokens=sum(reply.completion_tokens or 0 for reply in replies),
        model_seconds=sum(reply.seconds for reply in replies),
        tool_seconds=sum(seen.seconds for seen in record.observed()),
    )
