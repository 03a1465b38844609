"""Acceptance: the rules decide on the evidence with verified facts in; checks say what is missing.

What does not stand goes back to the model once; then the answer is judged as it is.
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
from chart_binder.llm.recording import RecordFinder, RunLog
from chart_binder.llm.research import Research, further_steps, remark_on
from chart_binder.llm.result import AdjudicationResult, Check, Fact, Outcome, RulesAgreement
from chart_binder.llm.second_reading import SecondReader
from chart_binder.llm.verification import Verifier
from chart_binder.react.dialect import Dialect
from chart_binder.react.loop import AnswerRefusedError
from chart_binder.react.steps import Observation
from chart_binder.react.transcript import ObservationEvent, ReplyEvent
from chart_binder.rules.labels import Labels
from chart_binder.rules.representative import representative
from chart_binder.web.documents import read_documents

SENT_BACK = "This answer cannot be taken yet:"
_MENDABLE = frozenset({"fact", "contradiction", "evidence", "sources", "record"})
"""The checks that a model can mend with what it looks up."""
_MAX_TOLD = 3
"""How many failed checks `problem` names."""


@dataclass(slots=True)
class AnswerChecker:
    """Checks answers against the evidence and against what was read in this run.

    `tools` are the names of the tools that the model has.
    """

    case: OpenCase
    log: RunLog
    reader: SecondReader
    finder: RecordFinder
    tools: Collection[str]
    dialect: Dialect
    pending: AdjudicationResult | None = field(default=None, init=False)
    """The result of the last answer that was sent back."""
    added: dict[str, RecordingCandidate] = field(default_factory=dict, init=False)
    """The recordings that records named in answers have added to the evidence, by id."""
    _sent_back: set[str] = field(default_factory=set, init=False)
    """The kinds of problems for which an answer was sent back."""
    _is_sending_back: bool = field(default=False, init=False)
    """Whether the next observation is the advice on an answer that was sent back."""

    def read(self, text: str, is_last: bool) -> AdjudicationResult:  # noqa: FBT001 (the loop's)
        """Return what an answer comes to, without what is known of the run.

        Raises `AnswerRefusedError` for what cannot be read, for an unknown id, and, once for each
        reason, for what keeps the answer from a decision; in the last turn only for the first.
        """
        labels = self.case.labels
        default = self.case.config.review_threshold if is_last else None
        answer = read_answer(text, default, labels)
        answer = replace(answer, crg=labels.id_of(answer.crg), rr=labels.id_of(answer.rr))
        for named, known in ((answer.crg, labels.titles), (answer.rr, labels.home)):
            if not (is_last or self._is_known(named, known)):
                raise AnswerRefusedError(
                    f"{named} is neither among the candidates nor in an observation. Use a label"
                    " of the evidence, such as C1 and C1.R1, or null if you cannot tell."
                )
        result, problems = self._examine(answer)
        new = {key: text for key, text in problems.items() if key not in self._sent_back}
        if new and not is_last:
            self._sent_back |= new.keys()
            self.pending, self._is_sending_back = result, True
            raise AnswerRefusedError(f"{SENT_BACK} {next(iter(new.values()))}.{self._next_step()}")
        return result

    def research(self) -> Research:
        """Return what was read so far, seen from the open questions."""
        return Research(self.case, read_documents(self.log.events))

    @property
    def likely(self) -> str:
        """The label of the group that the rules give with what was read, else the first one."""
        ids, remarked = self.case.labels.ids.items(), self._remarked
        return next((label for label, group in ids if group == remarked), "C1")

    @property
    def _remarked(self) -> str | None:
        """The group that the last remark named, if what was read decides."""
        return remark_on(self.research(), ()).crg

    def remark(self, observation: Observation) -> str:
        """Return what all that was read would settle, once this observation is read, too."""
        if self._is_sending_back:
            self._is_sending_back = False
            return ""
        observed = ObservationEvent.of(observation, 0)
        research = Research(self.case, read_documents((*self.log.events, observed)))
        steps = further_steps(research, self.tools, (*self.log.events, observed))
        turns_left = self.case.config.max_iterations - len(self.log.all(ReplyEvent))
        return remark_on(research, steps, is_last=turns_left <= 1).shown(self.dialect)

    def _next_step(self) -> str:
        step = next(further_steps(self.research(), self.tools, self.log.events), None)
        return f" Write next:\n{self.dialect.render(step)}" if step else ""

    def _examine(self, answer: ParsedAnswer) -> tuple[AdjudicationResult, Mapping[str, str]]:
        """Return the outcome, and what the model can mend, by kind."""
        useless = self._bring_in(answer)
        case = self.case
        answer = replace(answer, crg=self._group_of(answer.crg))
        crg = answer.crg if self._is_known(answer.crg, case.labels.titles) else None
        rr, misplaced = self._release(crg, answer.rr)
        documents = read_documents(self.log.events)
        turn = len(self.log.all(ReplyEvent))
        verifier = Verifier(case, documents, self.reader, self.finder, turn)
        found = Research(case, documents).facts()
        facts, contradictions = verifier.verify((*answer.facts, *found))
        weighed = case.weigh(facts)
        impossible = self._impossible(facts)
        chosen, ruled = crg, self._ruled(weighed, crg)
        is_decided = ruled is not None and not (weighed.short or contradictions or impossible)
        if ruled is not None:
            crg, rr = ruled.crg, (ruled.rr if is_decided else None) or rr
        checks = (
            *self._candidate_checks(answer, chosen, misplaced),
            *self._record_checks(useless, is_decided=is_decided),
            *self._fact_checks(facts, is_decided=is_decided),
            *(Check("contradiction", passed=False, detail=text) for text in contradictions),
            *(Check("evidence", passed=False, detail=text) for text in impossible),
            *self._source_checks(weighed),
            *self._rules_check(chosen, weighed),
        )
        problems = self._to_mend(answer, chosen, facts, weighed, checks, is_decided=is_decided)
        result = AdjudicationResult(
            Outcome.REJECTED,
            crg,
            rr,
            answer.confidence,
            answer.confidence,
            answer.rationale,
            facts,
            added=tuple(self.added.values()),
            problem="the model cannot tell",
        )
        if crg is not None or answer.crg is not None:
            result = self._with_outcome(result, checks, weighed, is_decided=is_decided)
        return result, problems

    def _ruled(self, weighed: RulesOnFacts, chosen: str | None) -> Decided | None:
        """Return what the rules decide with the verified facts in.

        Without any fact that they turn on, they count only if the model chose the same group. If
        the year is asked for, they have to make it certain.
        """
        verdict = weighed.verdict
        if not isinstance(verdict, Decided) or not self.case.outcome(weighed.turns_on).is_settled:
            return None
        is_chosen = self.case.asks_year or verdict.crg == chosen
        return verdict if weighed.turns_on or is_chosen else None

    def _with_outcome(
        self,
        result: AdjudicationResult,
        checks: Sequence[Check],
        weighed: RulesOnFacts,
        *,
        is_decided: bool,
    ) -> AdjudicationResult:
        """Return a result with its outcome, and why it is not accepted (docs/adjudicator.md)."""
        crg, confidence = result.crg_mbid, result.confidence
        standing = RulesAgreement.OPEN if crg else None
        if crg and isinstance(weighed.verdict, Decided):
            standing = (
                RulesAgreement.CONFIRMED
                if weighed.verdict.crg == crg
                else RulesAgreement.CONTRADICTED
            )
        least = self.case.config.review_threshold
        low = f"confidence {confidence:.2f} is below {least:.2f}" if confidence < least else None
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
            rules=standing,
            independent_sources=weighed.sources,
        )

    def _bring_in(self, answer: ParsedAnswer) -> Mapping[str, str]:
        """Add what the records that an answer names have; return why others add nothing, by id."""
        useless: dict[str, str] = {}
        for mbid in self.finder.named_in(answer):
            if mbid in self.case.labels.titles or mbid in self.added:
                continue
            found = self.finder.add(self.case.bundle, mbid)
            if isinstance(found, str):
                useless[mbid] = found
                continue
            self.added |= {one.mb_recording_id: one for one in found}
            self.case = self.case.with_recordings(found)
        return useless

    def _group_of(self, named: str | None) -> str | None:
        """Return the group of a recording that was added, by the rules; any other id as it is."""
        if named not in self.added:
            return named
        groups = {group.mb_rg_id for group in self.added[named].groups}
        verdict = self.case.verdict()
        if isinstance(verdict, Decided) and verdict.crg in groups:
            return verdict.crg
        return next((one for one in Labels.of(self.case.bundle).titles if one in groups), named)

    def _impossible(self, facts: Sequence[Fact]) -> list[str]:
        """Return what verified facts say that the evidence, or each other, rules out."""
        patches = self.case.verified_patches(facts)
        name_of = self.case.labels.name_of
        return [
            f"{patch.field} {patch.value} of {name_of(patch.about)} cannot be: {why}"
            for patch, why in apply_patches(self.case.bundle, patches).findings.items()
        ]

    # Checks.

    def _candidate_checks(
        self, answer: ParsedAnswer, crg: str | None, misplaced: str | None
    ) -> Iterator[Check]:
        if answer.crg is None:
            return
        labels = self.case.labels
        is_candidate, what = crg in labels.titles, "is a candidate"
        if not is_candidate:
            what = "is not among the candidates: only an observation names it"
        if crg is None:
            what = "is neither among the candidates nor in an observation"
        yield Check("candidate", is_candidate, f"{labels.name_of(answer.crg)} {what}")
        if misplaced and crg:
            named, group = map(labels.name_of, (misplaced, crg))
            detail = f"{named} is no release of {group}: the rules' own is taken"
            yield Check("release", passed=True, detail=detail)

    def _record_checks(self, useless: Mapping[str, str], *, is_decided: bool) -> Iterator[Check]:
        for one in self.added.values():
            detail = f"{one.title!r} (recording {one.mb_recording_id}) is added: {one.because}"
            yield Check("record", passed=True, detail=f"{detail}, by MusicBrainz")
        for mbid, why in useless.items():
            detail = f"{mbid} adds nothing to the evidence: {why}"
            yield Check("record", passed=is_decided, detail=detail)

    def _fact_checks(self, facts: Sequence[Fact], *, is_decided: bool) -> Iterator[Check]:
        for fact in facts:
            about = self.case.labels.name_of(fact.about) or "nothing that is named"
            what = f"{fact.field} {fact.value} of {about}"
            if fact.verified:
                source = fact.source or "the evidence"
                yield Check("fact", passed=True, detail=f"{what}: {source} says so")
            else:
                noted = ", and nothing turns on it" if is_decided else ""
                source = "" if fact.source else " (no source)"
                detail = f"{what}{source} is not verified{noted}: {fact.problem}"
                yield Check("fact", passed=is_decided, detail=detail)

    def _source_checks(self, weighed: RulesOnFacts) -> Iterator[Check]:
        for patch, missing in weighed.short:
            more = "one more" if missing == 1 else f"{missing} more"
            more = f"{more} independent source{'s' * (missing > 1)}"
            name = self.case.labels.name_of(patch.about)
            what = patch.value if patch.field != PREMIERE else PREMIERE
            yield Check("sources", passed=False, detail=f"{more} for {what} of {name}")
        if weighed.turns_on and not weighed.short:
            shown = counted(weighed.sources, "independent source")
            if weighed.sources < self.case.config.acceptance.min_sources:
                shown = f"{shown}, or a page of a trusted site,"
            detail = f"{shown} for each fact it turns on"
            yield Check("sources", passed=True, detail=detail)

    def _rules_check(self, crg: str | None, weighed: RulesOnFacts) -> Iterator[Check]:
        verdict, names = weighed.verdict, self.case.labels
        if self.case.asks_year:
            outcome = self.case.outcome(weighed.turns_on)
            doubt = "" if outcome.is_settled else "the year is not certain: "
            yield Check("year", outcome.is_settled, f"{doubt}{outcome.said}")
            return
        known = "with the verified facts in, " if weighed.turns_on else ""
        known = "with what MusicBrainz adds, " if self.added and not known else known
        if not isinstance(verdict, Decided):
            missing = "; ".join(verdict.missing_facts[:2]) or verdict.because
            yield Check("rules", passed=False, detail=f"the rules leave it open: {missing}")
        elif crg:
            detail = f"{known}{verdict.crg_rule} gives {names.name_of(verdict.crg)}"
            other = "" if verdict.crg == crg else f"; the model chose {names.name_of(crg)}"
            is_passed = not other or bool(weighed.turns_on)
            yield Check("rules", passed=is_passed, detail=f"{detail}{other}")

    def _to_mend(
        self,
        answer: ParsedAnswer,
        crg: str | None,
        facts: Sequence[Fact],
        weighed: RulesOnFacts,
        checks: Sequence[Check],
        *,
        is_decided: bool,
    ) -> Mapping[str, str]:
        verdict, found = weighed.verdict, dict[str, str]()
        outcome = self.case.outcome(weighed.turns_on)
        if isinstance(verdict, Decided) and verdict.crg != crg and not self.case.asks_year:
            group = self.case.labels.name_of(verdict.crg)
            if verdict.crg != self._remarked:
                found["rules"] = f"the rules give {group}, and you chose otherwise"
        if is_decided or not self.tools:
            return found
        for check in checks:
            if not check.passed and check.name in _MENDABLE:
                found.setdefault(check.name, check.detail)
        is_silent = answer.crg and not any(map(self.case.patch_of, facts))
        if is_silent and "fact" not in found and not outcome.is_settled:
            found["silent"] = f"nothing read so far settles what is open: {outcome.said}"
        return found

    # Ids.

    def _release(self, crg: str | None, named: str | None) -> tuple[str | None, str | None]:
        """Return the release that stands for the group, and one that was named but is not in it."""
        if crg is None:
            return None, None
        home = self.case.labels.home.get(named) if named else None
        is_from_observation = home is None and crg not in self.case.labels.titles
        if named and (home == crg or (is_from_observation and self._is_known(named, ()))):
            return (named if named != crg else None), None
        return representative(self.case.bundle, crg, self.case.rules), named

    def _is_known(self, identifier: str | None, candidates: Container[str]) -> bool:
        return identifier is None or identifier in candidates or identifier in self.log.found_ids()


def _missing(checks: Sequence[Check]) -> str:
    """Return what failed, as one sentence: missing sources first, which are soonest mended."""
    failed = [check.detail for check in checks if not check.passed and check.name == "sources"]
    failed += [each.detail for each in checks if not each.passed and each.name != "sources"]
    more = [f"and {len(failed) - _MAX_TOLD} more"] if len(failed) > _MAX_TOLD else []
    return "; ".join([*failed[:_MAX_TOLD], *more])
