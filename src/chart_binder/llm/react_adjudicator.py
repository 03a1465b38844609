"""The adjudicator: a model researches what the rules leave open, and code checks its answer."""

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from chart_binder import plugins
from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, read_bundle, write_bundle
from chart_binder.domain.verdict import Verdict
from chart_binder.errors import counted
from chart_binder.llm.acceptance import Examination, with_outcome
from chart_binder.llm.answer import last_word
from chart_binder.llm.evidence_markdown import evidence_markdown
from chart_binder.llm.open_case import OpenCase
from chart_binder.llm.prompt import Prompt, configured_prompt, prompt_numbers
from chart_binder.llm.recording import Record, RecordFinder, Records, failed_services, record_run
from chart_binder.llm.result import AdjudicationResult, Check, Outcome, Usage
from chart_binder.llm.second_reading import SecondReader
from chart_binder.llm.tools import default_tools
from chart_binder.react.conversation import ChatError, ChatModel, Message
from chart_binder.react.dialect import Dialect
from chart_binder.react.loop import Ending, Limits, call_tool, converse
from chart_binder.react.tools import Tool, Toolbox
from chart_binder.react.transcript import (
    Brought,
    Observed,
    Read,
    Replay,
    Replied,
    Result,
    Run,
    Said,
    Watch,
    partial_findings,
)
from chart_binder.rules.labels import Labels

_MAX_TITLES = 12
_NOT_RECORDED: dict[str, Any] = {
    "base_url": True,
    "api_key_env": True,
    "searxng": {"url"},
}
"""Addresses may hold passwords, and a replay needs none."""


class ReActAdjudicator:
    """Asks a model about a case that the rules leave open, in a ReAct loop with tools.

    Everything after `config` has a default built from configuration. `searxng` is a search client,
    `musicbrainz` what opens MusicBrainz for its tool, `records` what finds there what a record adds
    to the evidence; `record` is a folder for transcripts; `watch` is called with every event,
    `listen` with every piece of a reply. Nothing is opened before `adjudicate`; threads may share
    one adjudicator as far as they may share `chat`.

    Raises `PluginError` for what is not installed, `ConfigError` for a prompt that cannot be
    read.
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
        watch: Watch | None = None,
        rules_config: RulesConfig | None = None,
        listen: Callable[[str], None] | None = None,
        prompt: Prompt | None = None,
        musicbrainz: object | None = None,
        records: Records | None = None,
    ) -> None:
        self._config = config
        self._record = record
        self._watch = watch
        self._listen = listen
        self._records = records
        self._rules_config = rules_config or RulesConfig()
        if config.enabled:
            self._prompt = prompt or configured_prompt(config.prompt)
            self._numbers = prompt_numbers(config, self._rules_config)
            self._samples: list[tuple[LLMConfig, ChatModel]] = [
                (each, chat or plugins.load("chart_binder.chat_models", each.provider)(each))
                for each in _samples(config)
            ]
            self._dialect = dialect or plugins.load("chart_binder.dialects", config.dialect)()
            offered = default_tools(config, searxng, musicbrainz) if tools is None else tools
            self._tools = Toolbox(offered).tools

    def adjudicate(
        self,
        evidence_bundle: EvidenceBundle | Mapping[str, Any] | bytes | str,
        decision_trace: Verdict | Sequence[str] | str | None = None,
    ) -> AdjudicationResult:
        """Return the result; `decision_trace` says why the case is open.

        Raises `EvidenceError` for an ill-formed bundle; whatever else goes wrong is an outcome.
        """
        bundle = read_bundle(evidence_bundle)
        if not self._config.enabled:
            known, problem = evidence_hash(bundle), "LLM adjudication is disabled"
            return AdjudicationResult(Outcome.ERROR, problem=problem, evidence_hash=known)
        task = self._prompt.question(self._numbers)
        case = _AskedCase(
            OpenCase(bundle, Labels.of(bundle), self._rules_config, self._config),
            evidence_markdown(bundle, decision_trace, task),
            evidence_hash(bundle),
        )
        return run_methods(self._config.method, partial(self._ask, case))

    def system_prompt(self) -> str:
        """Return the system prompt: the same bytes for every recording."""
        tools = () if self._config.method == "direct" else self._tools
        return self._prompt.render(self._dialect, tools, self._numbers)

    def _ask(self, case: "_AskedCase", way: str) -> AdjudicationResult:
        tools = self._tools if way == "react" else ()
        toolbox = Toolbox(tool.for_run(search_topic(case.open_case.bundle)) for tool in tools)

        def ask(sample: int) -> AdjudicationResult:
            config, chat = self._samples[sample]
            part_of = {
                "method": self._config.method,
                "samples": self._config.samples,
                "sample": sample + 1,
            }
            config = config.model_copy(update={"method": way})
            return self._run(case, config, chat, toolbox, part_of)

        return run_samples(ask, case.open_case)

    def _run(
        self,
        case: "_AskedCase",
        config: LLMConfig,
        chat: ChatModel,
        toolbox: Toolbox,
        part_of: Mapping[str, object],
    ) -> AdjudicationResult:
        """Run one conversation; `part_of` is recorded: which method and which sample it is."""
        run = self._run_event(case, config, chat, part_of)
        recorded = chat.opening(case.evidence_hash) if isinstance(chat, Replay) else ()
        opening = recorded or (
            Message("system", self._prompt.render(self._dialect, toolbox.tools, self._numbers)),
            Message("user", case.markdown),
        )
        with record_run(run, self._record, self._watch) as record:
            record(run)
            for message in opening:
                record(Said(message.role, message.content))
            deadline = time.monotonic() + config.max_run_s
            reader = SecondReader(chat, record, lambda: deadline - time.monotonic(), case.readings)
            kept = getattr(chat, "records", None)  # of a run that is replayed
            find, known = (self._records, case.records) if kept is None else (None, kept)
            finder = RecordFinder(record, find, known, lambda: deadline - time.monotonic())
            examination = Examination(
                case.open_case, record, reader, finder, can_look_up=bool(toolbox.tools)
            )
            ending = self._converse(chat, config, toolbox, opening, examination)
            result = _result(ending, examination, run, record, self._dialect)
            record(Result(result.to_dict() | {"transcript": None}))
        return result

    def _converse(
        self,
        chat: ChatModel,
        config: LLMConfig,
        toolbox: Toolbox,
        opening: Sequence[Message],
        examination: Examination,
    ) -> Ending[AdjudicationResult]:
        replay = chat if isinstance(chat, Replay) else None
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
        try:
            return converse(
                chat,
                self._dialect,
                toolbox,
                opening,
                judge=examination.read,
                watch=record,
                limits=limits,
                perform=replay.perform if replay else call_tool,
                recall=replay.recall if replay else None,
                last_word=(lambda: last_word(labels, finder.shown()))
                if config.final_turn == "force"
                else None,
                listen=self._listen,
            )
        except ChatError as error:
            return Ending(len(record.all(Replied)), problem=str(error))

    def _run_event(
        self, case: "_AskedCase", config: LLMConfig, chat: ChatModel, part_of: Mapping[str, object]
    ) -> Run:
        options: dict[str, object] = {
            "llm": config.model_dump(mode="json", exclude=_NOT_RECORDED),
            "rules": self._rules_config.model_dump(mode="json"),
            "part_of": part_of,
        }
        if self._prompt != configured_prompt(config.prompt):
            options["prompt"] = msgspec.to_builtins(self._prompt)
        return Run(
            id=uuid.uuid4().hex[:12],
            started_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            model_id=chat.model_id,
            dialect=self._dialect.name,
            prompt_version=self._prompt.name,
            evidence_hash=case.evidence_hash,
            options=options,
            evidence=msgspec.json.decode(write_bundle(case.open_case.bundle)),
        )


def _samples(config: LLMConfig) -> Sequence[LLMConfig]:
    if config.samples == 1:
        return (config,)
    warm = {"samples": 1, "temperature": config.sample_temperature}
    return [
        config.model_copy(update=warm | {"seed": config.seed + number})
        for number in range(config.samples)
    ]


def search_topic(bundle: EvidenceBundle) -> str:
    """Return artist, title and the titles of candidates, each once, for tools to search with."""
    titles = (
        group.title for recording in bundle.recording_candidates for group in recording.groups
    )
    names = (bundle.performer.name, bundle.recording_title, *titles)
    known = dict.fromkeys(name for name in names if name)
    return " / ".join(list(known)[: _MAX_TITLES + 2])


@dataclass(frozen=True, slots=True)
class _AskedCase:
    """An open case as a model is asked about it; all runs on it share `readings`, `records`."""

    open_case: OpenCase
    markdown: str
    evidence_hash: str
    readings: dict[str, str] = field(default_factory=dict)
    records: dict[str, Brought] = field(default_factory=dict)


def _result(
    ending: Ending[AdjudicationResult],
    examination: Examination,
    run: Run,
    record: Record,
    dialect: Dialect,
) -> AdjudicationResult:
    # An answer that was sent back stands where no other came after it.
    result = ending.answer or examination.pending
    if result is None:
        findings = partial_findings(record.events, dialect)
        result = AdjudicationResult(Outcome.ERROR, problem=ending.problem, rationale=findings)
    else:
        checks = (*result.checks, *failed_services(record.events))
        problem = result.problem
        if ending.problem and problem:
            problem = f"{problem}; then {ending.problem}"
        result = msgspec.structs.replace(result, checks=checks, problem=problem)
    answered: list[Replied | Read] = [*record.all(Replied), *record.all(Read)]
    return msgspec.structs.replace(
        result,
        iterations=ending.iterations,
        usage=Usage(
            prompt_tokens=sum(reply.prompt_tokens or 0 for reply in answered),
            completion_tokens=sum(reply.completion_tokens or 0 for reply in answered),
            model_seconds=sum(reply.seconds for reply in answered),
            tool_seconds=sum(seen.seconds for seen in record.all(Observed)),
            readings=len(record.all(Read)),
        ),
        model_id=run.model_id,
        dialect=run.dialect,
        prompt_version=run.prompt_version,
        evidence_hash=run.evidence_hash,
        transcript=record.place,
    )


def run_methods(method: str, ask: Callable[[str], AdjudicationResult]) -> AdjudicationResult:
    """Return the result of the first method, or of the second where the first names nothing.

    Where neither does, a rejection is returned rather than an error. A model that never replied is
    not asked again.
    """
    first, *others = method.split("_then_")
    result = ask(first)
    for way in others:
        if _names_group(result) or not result.iterations:
            break
        now = ask(way)
        detail = f"{first} gave nothing ({result.problem}), so {way} was tried: {now.outcome}"
        check = Check("method", passed=_names_group(now), detail=detail)
        is_rejection = result.outcome is Outcome.REJECTED and not check.passed
        taken, usage = result if is_rejection else now, _total_usage((result, now))
        result = replace(taken, checks=(*taken.checks, check), usage=usage)
    return result


def _names_group(result: AdjudicationResult) -> bool:
    return result.outcome is not Outcome.ERROR and result.crg_mbid is not None


def _total_usage(results: Iterable[AdjudicationResult]) -> Usage:
    columns = zip(*(astuple(result.usage) for result in results), strict=True)
    return Usage(*map(sum, columns))


def run_samples(ask: Callable[[int], AdjudicationResult], case: OpenCase) -> AdjudicationResult:
    """Call `ask` with the numbers of `samples` samples, and return the majority's answer.

    After two samples in a row without any reply, the rest is not made.
    """
    samples = case.config.samples
    if samples == 1:
        return ask(0)
    results = [ask(0), ask(1)]
    while len(results) < samples and any(result.iterations for result in results[-2:]):
        results.append(ask(len(results)))
    return replace(_majority_answer(results, case), usage=_total_usage(results))


def _majority_answer(results: Sequence[AdjudicationResult], case: OpenCase) -> AdjudicationResult:
    """Return the answer of more than half of the runs, else a rejection or the error of those."""
    samples = case.config.samples
    added = tuple(dict.fromkeys(one for result in results for one in result.added))
    case = case.with_recordings(added)
    failures = [result for result in results if result.outcome is Outcome.ERROR]
    votes = Counter(result.crg_mbid for result in results if result not in failures)
    not_made = samples - len(results)
    winner, count = next(iter(votes.most_common(1)), (None, 0))
    name_of = case.labels.name_of
    counts = [f"{name_of(vote) if vote else 'cannot tell'}: {n}" for vote, n in votes.most_common()]
    counts += [f"failed: {len(failures)}"] * bool(failures)
    counts += [f"not made: {not_made}"] * bool(not_made)
    has_majority = 2 * count > samples
    detail = f"of {counted(samples, 'run')}, {'; '.join(counts)}"
    check = Check("agreement", has_majority, detail)
    if has_majority:
        agreeing = [r for r in results if r not in failures and r.crg_mbid == winner]
        return replace(_majority_result(agreeing, check, count / samples, case), added=added)
    if 2 * (count + samples - votes.total()) > samples:
        after = f", and {counted(not_made, 'more run')} not made" if not_made else ""
        made = counted(len(results), "run")
        problem = f"{len(failures)} of {made} failed{after}: {failures[0].problem}"
        return replace(failures[0], checks=(check,), problem=problem)
    of_run = {name: getattr(results[0], name) for name in _OF_RUN}
    problem = f"no majority: {detail}"
    return AdjudicationResult(Outcome.REJECTED, checks=(check,), problem=problem, **of_run)


_OF_RUN = (
    "iterations", "model_id", "dialect", "prompt_version", "evidence_hash", "transcript",
)  # fmt: skip
"""What a result says of its run rather than of its answer."""


def _majority_result(
    agreeing: Sequence[AdjudicationResult], check: Check, share: float, case: OpenCase
) -> AdjudicationResult:
    """Return what the runs that agree, `share` of all, come to, with their verified facts."""
    stated = share * fmean(result.confidence for result in agreeing)
    taken = _representative_run(agreeing)
    found = (*taken.checks, check)
    if taken.crg_mbid is None:
        return replace(taken, confidence=stated, stated_confidence=stated, checks=found)
    facts = tuple(dict.fromkeys(fact for result in agreeing for fact in result.facts))
    weighed = case.weigh(facts)
    refuted = any(
        not each.passed and each.name in _LASTING for result in agreeing for each in result.checks
    )
    is_decided = weighed.decides(taken.crg_mbid) and not refuted
    if is_decided:
        found = tuple(each for each in found if each.passed)
    result = replace(taken, confidence=stated, stated_confidence=stated, facts=facts)
    return with_outcome(result, found, weighed, case, is_decided=is_decided)


_LASTING = frozenset({"contradiction", "evidence", "candidate"})
"""The checks that no other run makes good."""


def _representative_run(agreeing: Sequence[AdjudicationResult]) -> AdjudicationResult:
    """Return one that code refutes, which must not be outvoted, else with fewest failed checks."""
    releases = Counter(result.rr_mbid for result in agreeing)

    def weight(result: AdjudicationResult) -> tuple[bool, int, int]:
        failed = [check.name for check in result.checks if not check.passed]
        return "rules" not in failed, len(failed), -releases[result.rr_mbid]

    return min(agreeing, key=weight)
