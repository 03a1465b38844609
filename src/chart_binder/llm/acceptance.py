"""Acceptance: code checks an answer, and the rules decide on the evidence with verified facts.

An answer that cannot be accepted is sent back to the model, once for each kind of problem.
"""

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from chart_binder.domain.evidence import RecordingCandidate
from chart_binder.domain.patches import PREMIERE, apply_patches
from chart_binder.domain.verdict import Decided
from chart_binder.errors import counted
from chart_binder.llm.answer import ParsedAnswer, read_answer
from chart_binder.llm.open_case import OpenCase, RulesOnFacts
from chart_binder.llm.prompt import NOT_TAKEN, WRITE_NEXT
from chart_binder.llm.research import Research, further_steps, remark_on
from chart_binder.llm.result import AdjudicationResult, Check, Fact, Outcome, RulesAgreement
from chart_binder.llm.run_log import RecordFinder, RunLog
from chart_binder.llm.second_reading import SecondReader
from chart_binder.llm.verification import Verifier
from chart_binder.react.dialect import Dialect
from chart_binder.react.loop import AnswerRefusedError
from chart_binder.react.steps import Observation
from chart_binder.react.transcript import ObservationEvent, ReplyEvent
from chart_binder.rules.labels import Labels
from chart_binder.rules.representative import representative
from chart_binder.web.documents import read_documents

SENT_BACK = f"This answer {NOT_TAKEN}:"
_REPAIRABLE = frozenset({"fact", "contradiction", "evidence", "sources", "record"})
"""The checks that may pass once the model has looked something up."""
_MAX_NAMED = 3
"""How many failed checks `problem` names."""


@dataclass(slots=True)
class AnswerChecker:
    """Checks the answers of one run against the evidence and against what was read in it.

    `tools` are the names of the tools that the model has. Only `read` changes the checker: `case`,
    `pending`, `added_recordings` and `_sent_back`. The other methods may be called in any order.
    """

    case: OpenCase
    """The case, with the recordings that `read` has added."""
    log: RunLog
    reader: SecondReader
    finder: RecordFinder
    tools: Collection[str]
    dialect: Dialect
    pending: AdjudicationResult | None = field(default=None, init=False)
    """The result of the last answer that was sent back."""
    added_recordings: dict[str, RecordingCandidate] = field(default_factory=dict, init=False)
    """The recordings that records named in answers have added to the evidence, by id."""
    _sent_back: set[str] = field(default_factory=set, init=False)
    """The kinds of problems for which an answer was sent back."""

    def read(self, text: str, is_last: bool) -> AdjudicationResult:  # noqa: FBT001 (the loop's)
        """Return the result of an answer, without the figures of the run.

        Raises `AnswerRefusedError` if the answer cannot be read. Unless the turn is the last, also
        raises it for an unknown id, and once for each kind of problem that prevents a decision.
        """
        labels = self.case.labels
        default = self.case.config.review_threshold if is_last else None
        answer = read_answer(text, default, labels)
        answer = replace(answer, crg=labels.id_of(answer.crg), rr=labels.id_of(answer.rr))
        for identifier, candidates in ((answer.crg, labels.titles), (answer.rr, labels.home)):
            if not (is_last or self._is_known(identifier, candidates)):
                raise AnswerRefusedError(
                    f"{identifier} is neither among the candidates nor in an observation. Use a"
                    " label of the evidence, such as C1 and C1.R1, or null if you cannot tell."
                )
        result, problems = self._examine(answer)
        new = {kind: text for kind, text in problems.items() if kind not in self._sent_back}
        if new and not is_last:
            self._sent_back |= new.keys()
            self.pending = result
            text = f"{SENT_BACK} {next(iter(new.values()))}.{self._next_step()}"
            raise AnswerRefusedError(text, stands=True)
        return result

    def research(self) -> Research:
        """Return the research on the open questions in what was read so far."""
        return Research(self.case, read_documents(self.log.events))

    @property
    def likely(self) -> str:
        """The label of the group that the rules choose with what was read, by default `C1`."""
        ids, likely = self.case.labels.ids.items(), self._likely_group
        return next((label for label, group in ids if group == likely), "C1")

    @property
    def _likely_group(self) -> str | None:
        """The group that the rules give with what was read, if they decide."""
        return remark_on(self.research(), ()).crg

    def remark(self, observation: Observation) -> str:
        """Return the remark to show below an observation: what the pages would settle."""
        observed = ObservationEvent.of(observation, 0)
        research = Research(self.case, read_documents((*self.log.events, observed)))
        steps = further_steps(research, self.tools, (*self.log.events, observed))
        turns_left = self.case.config.max_iterations - len(self.log.all(ReplyEvent))
        return remark_on(research, steps, is_last=turns_left <= 1).shown(self.dialect)

    def _next_step(self) -> str:
        step = next(further_steps(self.research(), self.tools, self.log.events), None)
        return f" {WRITE_NEXT}:\n{self.dialect.render(step)}" if step else ""

    def _examine(self, answer: ParsedAnswer) -> tuple[AdjudicationResult, Mapping[str, str]]:
        """Return the result of an answer, and sentences on what the model can repair, by kind."""
        rejected_records = self._add_recordings(answer)
        case = self.case
        answer = replace(answer, crg=self._group_of(answer.crg))
        crg = answer.crg if self._is_known(answer.crg, case.labels.titles) else None
        rr, misplaced = self._release(crg, answer.rr)
        documents = read_documents(self.log.events)
        turn = len(self.log.all(ReplyEvent))
        verifier = Verifier(case, documents, self.reader, self.finder, turn)
        uncited = Research(case, documents).facts()
        facts, contradictions = verifier.verify((*answer.facts, *uncited))
        ruling = case.weigh(facts)
        impossible = self._impossible(facts)
        chosen, ruled = crg, self._ruled(ruling, crg)
        is_decided = ruled is not None and not (ruling.lacking or contradictions or impossible)
        if ruled is not None:
            crg, rr = ruled.crg, (ruled.rr if is_decided else None) or rr
        checks = (
            *self._candidate_checks(answer, chosen, misplaced),
            *self._record_checks(rejected_records, is_decided=is_decided),
            *self._fact_checks(facts, is_decided=is_decided),
            *(Check("contradiction", passed=False, detail=text) for text in contradictions),
            *(Check("evidence", passed=False, detail=text) for text in impossible),
            *self._source_checks(ruling),
            *self._rules_check(chosen, ruling),
        )
        problems = self._repairable(answer, chosen, facts, ruling, checks, is_decided=is_decided)
        result = AdjudicationResult(
            Outcome.REJECTED,
            crg,
            rr,
            answer.confidence,
            answer.confidence,
            answer.rationale,
            facts,
            added=tuple(self.added_recordings.values()),
            problem="the model cannot tell",
        )
        if crg is not None or answer.crg is not None:
            result = self._with_outcome(result, checks, ruling, is_decided=is_decided)
        return result, problems

    def _ruled(self, ruling: RulesOnFacts, chosen: str | None) -> Decided | None:
        """Return the rules' decision with the verified facts.

        If it depends on no fact, it counts only if the model chose the same group. If the year is
        asked for, the year must be certain.
        """
        verdict = ruling.verdict
        if not isinstance(verdict, Decided) or not self.case.outcome(ruling.turns_on).is_settled:
            return None
        is_chosen = self.case.asks_year or verdict.crg == chosen
        return verdict if ruling.turns_on or is_chosen else None

    def _with_outcome(
        self,
        result: AdjudicationResult,
        checks: Sequence[Check],
        ruling: RulesOnFacts,
        *,
        is_decided: bool,
    ) -> AdjudicationResult:
        """Return the result with its outcome and the reason if it is not accepted."""
        crg, confidence = result.crg_mbid, result.confidence
        agreement = RulesAgreement.OPEN if crg else None
        if crg and isinstance(ruling.verdict, Decided):
            agreement = (
                RulesAgreement.CONFIRMED
                if ruling.verdict.crg == crg
                else RulesAgreement.CONTRADICTED
            )
        threshold, low = self.case.config.review_threshold, None
        if confidence < threshold:
            low = f"confidence {confidence:.2f} is below {threshold:.2f}"
        if is_decided:
            outcome, problem = Outcome.ACCEPTED, None
        else:
            missing = _missing(checks) or "the rules do not decide with what was verified"
            proposal = f"a proposal, because rules decide: {missing}"
            outcome = Outcome.REJECTED if low or crg is None else Outcome.REVIEW
            problem = f"{low}; {proposal}" if low else proposal
        return msgspec.structs.replace(
            result,
            outcome=outcome,
            problem=problem,
            checks=tuple(checks),
            rules=agreement,
            independent_sources=ruling.sources,
        )

    def _add_recordings(self, answer: ParsedAnswer) -> Mapping[str, str]:
        """Add the recordings of the records that an answer names.

        Returns why a record adds nothing, by its id.
        """
        reasons: dict[str, str] = {}
        for mbid in self.finder.named_in(answer):
            if mbid in self.case.labels.titles or mbid in self.added_recordings:
                continue
            recordings = self.finder.add(self.case.bundle, mbid)
            if isinstance(recordings, str):
                reasons[mbid] = recordings
                continue
            self.added_recordings |= {
                recording.mb_recording_id: recording for recording in recordings
            }
            self.case = self.case.with_recordings(recordings)
        return reasons

    def _group_of(self, identifier: str | None) -> str | None:
        """Return the group that the rules give for an added recording, else the id itself."""
        if identifier not in self.added_recordings:
            return identifier
        groups = {group.mb_rg_id for group in self.added_recordings[identifier].groups}
        verdict = self.case.verdict()
        if isinstance(verdict, Decided) and verdict.crg in groups:
            return verdict.crg
        candidates = Labels.of(self.case.bundle).titles
        return next((group for group in candidates if group in groups), identifier)

    def _impossible(self, facts: Sequence[Fact]) -> list[str]:
        """Return sentences on verified facts that the evidence, or another fact, rules out."""
        patches = self.case.verified_patches(facts)
        name_of = self.case.labels.name_of
        return [
            f"{patch.field} {patch.value} of {name_of(patch.about)} cannot be: {reason}"
            for patch, reason in apply_patches(self.case.bundle, patches).impossible.items()
        ]

    # Checks.

    def _candidate_checks(
        self, answer: ParsedAnswer, crg: str | None, misplaced: str | None
    ) -> Iterator[Check]:
        if answer.crg is None:
            return
        labels = self.case.labels
        is_candidate, standing = crg in labels.titles, "is a candidate"
        if not is_candidate:
            standing = "is not among the candidates: only an observation names it"
        if crg is None:
            standing = "is neither among the candidates nor in an observation"
        yield Check("candidate", is_candidate, f"{labels.name_of(answer.crg)} {standing}")
        if misplaced and crg:
            release, group = map(labels.name_of, (misplaced, crg))
            detail = (
                f"{release} is not a release of {group}: the release that the rules choose is used"
            )
            yield Check("release", passed=True, detail=detail)

    def _record_checks(
        self, rejected_records: Mapping[str, str], *, is_decided: bool
    ) -> Iterator[Check]:
        for mbid, recording in self.added_recordings.items():
            detail = f"{recording.title!r} (recording {mbid}) is added: {recording.because}"
            yield Check("record", passed=True, detail=f"{detail}, by MusicBrainz")
        for mbid, reason in rejected_records.items():
            detail = f"{mbid} adds nothing to the evidence: {reason}"
            yield Check("record", passed=is_decided, detail=detail)

    def _fact_checks(self, facts: Sequence[Fact], *, is_decided: bool) -> Iterator[Check]:
        for fact in facts:
            about = self.case.labels.name_of(fact.about) or "nothing that is named"
            claim = f"{fact.field} {fact.value} of {about}"
            if fact.verified:
                source = fact.source or "the evidence"
                yield Check("fact", passed=True, detail=f"{claim}: {source} says so")
            else:
                effect = ", and nothing turns on it" if is_decided else ""
                source = "" if fact.source else " (no source)"
                detail = f"{claim}{source} is not verified{effect}: {fact.problem}"
                yield Check("fact", passed=is_decided, detail=detail)

    def _source_checks(self, ruling: RulesOnFacts) -> Iterator[Check]:
        for patch, missing in ruling.lacking:
            count = "one more" if missing == 1 else f"{missing} more"
            sources = f"{count} independent source{'s' * (missing > 1)}"
            name = self.case.labels.name_of(patch.about)
            value = patch.value if patch.field != PREMIERE else PREMIERE
            yield Check("sources", passed=False, detail=f"{sources} for {value} of {name}")
        if ruling.turns_on and not ruling.lacking:
            sources = counted(ruling.sources, "independent source")
            if ruling.sources < self.case.config.acceptance.min_sources:
                sources = f"{sources}, or a page of a trusted site,"
            detail = f"{sources} for each fact it turns on"
            yield Check("sources", passed=True, detail=detail)

    def _rules_check(self, crg: str | None, ruling: RulesOnFacts) -> Iterator[Check]:
        verdict, labels = ruling.verdict, self.case.labels
        if self.case.asks_year:
            outcome = self.case.outcome(ruling.turns_on)
            doubt = "" if outcome.is_settled else "the year is not certain: "
            yield Check("year", outcome.is_settled, f"{doubt}{outcome.text}")
            return
        basis = "with what MusicBrainz adds, " if self.added_recordings else ""
        basis = "with the verified facts, " if ruling.turns_on else basis
        if not isinstance(verdict, Decided):
            missing = "; ".join(verdict.missing_facts[:2]) or verdict.because
            yield Check("rules", passed=False, detail=f"the rules leave it open: {missing}")
        elif crg:
            detail = f"{basis}{verdict.crg_rule} gives {labels.name_of(verdict.crg)}"
            is_same = verdict.crg == crg
            choice = "" if is_same else f"; the model chose {labels.name_of(crg)}"
            yield Check("rules", is_same or bool(ruling.turns_on), f"{detail}{choice}")

    def _repairable(
        self,
        answer: ParsedAnswer,
        crg: str | None,
        facts: Sequence[Fact],
        ruling: RulesOnFacts,
        checks: Sequence[Check],
        *,
        is_decided: bool,
    ) -> Mapping[str, str]:
        """Return sentences on what the model can repair, by kind of problem."""
        verdict, problems = ruling.verdict, dict[str, str]()
        outcome = self.case.outcome(ruling.turns_on)
        if isinstance(verdict, Decided) and verdict.crg != crg and not self.case.asks_year:
            group = self.case.labels.name_of(verdict.crg)
            if verdict.crg != self._likely_group:
                problems["rules"] = f"the rules give {group}, and you chose otherwise"
        if is_decided or not self.tools:
            return problems
        for check in checks:
            if not check.passed and check.name in _REPAIRABLE:
                problems.setdefault(check.name, check.detail)
        is_silent = answer.crg and not any(map(self.case.patch_of, facts))
        if is_silent and "fact" not in problems and not outcome.is_settled:
            problems["silent"] = f"nothing read so far settles what is open: {outcome.text}"
        return problems

    # Ids.

    def _release(self, crg: str | None, release: str | None) -> tuple[str | None, str | None]:
        """Return the release that represents the group, and `release` if it is not in the group."""
        if crg is None:
            return None, None
        home = self.case.labels.home.get(release) if release else None
        is_from_observation = home is None and crg not in self.case.labels.titles
        if release and (home == crg or (is_from_observation and self._is_known(release, ()))):
            return (release if release != crg else None), None
        return representative(self.case.bundle, crg, self.case.rules), release

    def _is_known(self, identifier: str | None, candidates: Container[str]) -> bool:
        if identifier is None or identifier in candidates:
            return True
        return identifier in self.log.observed_ids()


def _missing(checks: Sequence[Check]) -> str:
    """Return in words what failed, sources first, because sources are easy to add."""
    failed = [check for check in checks if not check.passed]
    failed.sort(key=lambda check: check.name != "sources")
    details = [check.detail for check in failed[:_MAX_NAMED]]
    if len(failed) > _MAX_NAMED:
        details.append(f"and {len(failed) - _MAX_NAMED} more")
    return "; ".join(details)
