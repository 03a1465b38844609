"""Code has the last word: what it can refute never leaves as accepted."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Decided, Verdict
from chart_binder.llm.answer import FinalAnswer, read_answer
from chart_binder.llm.grounding import hosts, verify
from chart_binder.llm.labels import Labels
from chart_binder.llm.result import Check, Fact, Outcome
from chart_binder.llm.settling import with_facts
from chart_binder.react.loop import RefusedError
from chart_binder.react.transcript import Observed
from chart_binder.rules.decide import decide
from chart_binder.rules.representative import representative

CANNOT_TELL = "the model cannot tell"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an answer is worth after the checks."""

    outcome: Outcome
    crg: str | None
    rr: str | None
    facts: tuple[Fact, ...] = ()
    checks: tuple[Check, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Examination:
    """Holds answers against the evidence and against what was observed in this run."""

    bundle: EvidenceBundle
    labels: Labels
    knobs: RulesConfig
    config: LLMConfig
    observed: Callable[[], Sequence[Observed]]
    found: Callable[[], Container[str]]
    """The MusicBrainz ids that observations of this run brought in."""

    def read(self, text: str, is_last: bool) -> FinalAnswer:  # noqa: FBT001 (the loop's word)
        """Read an answer with its labels resolved; an id from nowhere is refused.

        In the last turn, when nothing can be asked again, such an id is left in and `judge` drops
        it. Raises `RefusedError`.
        """
        answer = read_answer(text)
        answer = replace(answer, crg=self.labels.id_of(answer.crg), rr=self.labels.id_of(answer.rr))
        unknown = self._from_nowhere(answer)
        if unknown and not is_last:
            raise RefusedError(
                f"{unknown} is neither among the candidates nor in an observation. Use a label of"
                " the evidence, such as C1 and C1.R1, or null if you cannot tell."
            )
        return answer

    def judge(self, answer: FinalAnswer) -> Judgement:
        """Return the outcome by confidence, lowered by what the checks refute."""
        facts = verify(answer.facts, self.observed(), self.labels)
        crg = answer.crg if self._is_known(answer.crg, self.labels.groups) else None
        rr, rr_check = self._release(crg, answer)
        checks = [*self._checks(answer, crg, facts), *([rr_check] if rr_check else [])]
        refuted = [check for check in checks if not check.passed]
        outcome, problem = self._by_confidence(answer, crg)
        if outcome is Outcome.ACCEPTED and refuted:
            outcome, problem = Outcome.REVIEW, refuted[0].detail
        elif refuted and not crg and answer.crg:
            problem = refuted[0].detail
        return Judgement(outcome, crg, rr, facts, tuple(checks), problem)

    def _by_confidence(self, answer: FinalAnswer, crg: str | None) -> tuple[Outcome, str | None]:
        accept, review = self.config.auto_accept_threshold, self.config.review_threshold
        if answer.crg is None:
            return Outcome.REJECTED, CANNOT_TELL
        if answer.confidence < review:
            return Outcome.REJECTED, f"confidence {answer.confidence:.2f} is below {review:.2f}"
        if answer.confidence < accept or crg is None:
            return Outcome.REVIEW, f"confidence {answer.confidence:.2f} is below {accept:.2f}"
        return Outcome.ACCEPTED, None

    def _checks(
        self, answer: FinalAnswer, crg: str | None, facts: Sequence[Fact]
    ) -> Iterator[Check]:
        if answer.crg:
            yield self._candidate(answer.crg, crg, facts)
        if facts:
            yield from self._sources(facts)
            if crg:
                yield self._rules_again(crg, facts)

    def _candidate(self, written: str, crg: str | None, facts: Sequence[Fact]) -> Check:
        if crg is None:
            detail = f"{written} is neither among the candidates nor in an observation"
            return Check("candidate", passed=False, detail=detail)
        if crg in self.labels.groups:
            return Check("candidate", passed=True, detail=f"{self._name(crg)} is a candidate")
        vouched = any(fact.verified and fact.about == crg for fact in facts)
        detail = f"{crg} is not among the candidates; it stands in an observation"
        return Check("candidate", vouched, detail + (", with a verified fact" if vouched else ""))

    def _sources(self, facts: Sequence[Fact]) -> Iterator[Check]:
        for fact in facts:
            says = "says so" if fact.verified else "was not read in this run, or does not say so"
            detail = f"{fact.field} {fact.value} of {self._name(fact.about)}: {fact.source} {says}"
            yield Check("fact", fact.verified, detail)
        found, least = len(hosts(facts)), self.config.acceptance.min_sources
        detail = f"{found} independent hosts bear the cited facts out; {least} are asked for"
        yield Check("sources", found >= least, detail)

    def _rules_again(self, crg: str, facts: Sequence[Fact]) -> Check:
        """Run the rules again with the verified facts in."""
        verdict: Verdict = decide(with_facts(self.bundle, facts), self.knobs)
        if not isinstance(verdict, Decided):
            return Check("rules", passed=True, detail="still open with the verified facts in")
        if verdict.crg == crg:
            detail = f"{verdict.crg_rule} confirms {self._name(crg)} with the verified facts in"
            return Check("rules", passed=True, detail=detail)
        detail = (
            f"{verdict.crg_rule} gives {self._name(verdict.crg)} with the verified facts in,"
            f" not {self._name(crg)}"
        )
        return Check("rules", passed=False, detail=detail)

    def _release(self, crg: str | None, answer: FinalAnswer) -> tuple[str | None, Check | None]:
        """Return the release as answered if it is in the group, else the rules' own choice."""
        if crg is None:
            return None, None
        home = self.labels.home.get(answer.rr or "")
        if answer.rr and (home == crg or (home is None and crg not in self.labels.groups)):
            return (
                (answer.rr, None) if self._is_known(answer.rr, self.labels.home) else (None, None)
            )
        ruled = representative(self.bundle, crg, self.knobs)
        if answer.rr is None:
            return ruled, None
        detail = f"{answer.rr} is no release of {self._name(crg)}; the rules' own is taken: {ruled}"
        return ruled, Check("release", passed=True, detail=detail)

    def _from_nowhere(self, answer: FinalAnswer) -> str | None:
        if not self._is_known(answer.crg, self.labels.groups):
            return answer.crg
        return None if self._is_known(answer.rr, self.labels.home) else answer.rr

    def _is_known(self, identifier: str | None, candidates: Container[str]) -> bool:
        return identifier is None or identifier in candidates or identifier in self.found()

    def _name(self, identifier: str) -> str:
        label = self.labels.label_of(identifier)
        return f"{label} ({identifier})" if label else identifier
