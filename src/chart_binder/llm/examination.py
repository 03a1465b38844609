"""Code has the last word: what it can refute never leaves as accepted."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.llm.answer import FinalAnswer, read_answer
from chart_binder.llm.checks import CHECKS, Claim, stands
from chart_binder.llm.confidence import lowered
from chart_binder.llm.confidence_map import AS_STATED, ConfidenceMap
from chart_binder.llm.grounding import verify
from chart_binder.llm.in_evidence import evidence_says
from chart_binder.llm.labels import Labels
from chart_binder.llm.result import Check, Fact, Outcome, Standing
from chart_binder.llm.settling import with_facts
from chart_binder.llm.support import support
from chart_binder.react.loop import RefusedError
from chart_binder.react.transcript import Observed
from chart_binder.rules.decide import decide
from chart_binder.rules.representative import representative


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an answer is worth after the checks; `problem` is why it is not accepted."""

    outcome: Outcome
    crg: str | None = None
    rr: str | None = None
    facts: tuple[Fact, ...] = ()
    checks: tuple[Check, ...] = ()
    problem: str | None = None
    confidence: float = 0.0
    rules: Standing | None = None
    independent_sources: int = 0


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
    calibrated: ConfidenceMap = AS_STATED

    def read(self, text: str, is_last: bool) -> FinalAnswer:  # noqa: FBT001 (the loop's word)
        """Read an answer with its labels resolved; an id from nowhere is refused.

        In the last turn, when nothing can be asked again, such an id is left in, and `judge` drops
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
        if answer.crg is None:
            problem = "the model cannot tell"
            return Judgement(Outcome.REJECTED, problem=problem, confidence=answer.confidence)
        known = {*self.labels.ids.values(), answer.crg, answer.rr or answer.crg}
        facts = tuple(
            structs.replace(fact, verified=fact.verified or evidence_says(fact, self.bundle))
            for fact in verify(answer.facts, self.observed(), self.labels, known)
        )
        claim = self._claim(answer, facts)
        checks = tuple(check for look in CHECKS for check in look(claim))
        confidence = self.calibrated(answer.confidence)
        outcome, why = settled(confidence, checks, self.config)
        return Judgement(
            outcome,
            claim.crg,
            claim.rr,
            facts,
            (*checks, *calibration(answer.confidence, self.calibrated)),
            why,
            confidence=lowered(confidence, checks),
            rules=stands(claim.crg, claim.verdict),
            independent_sources=claim.sources,
        )

    def _claim(self, answer: FinalAnswer, facts: tuple[Fact, ...]) -> Claim:
        crg = answer.crg if self._is_known(answer.crg, self.labels.titles) else None
        rr, misplaced = self._release(crg, answer.rr)
        return Claim(
            written=answer.crg or "",
            crg=crg,
            rr=rr,
            misplaced=misplaced,
            facts=facts,
            bundle=self.bundle,
            labels=self.labels,
            seen=self.observed(),
            verdict=decide(with_facts(self.bundle, facts), self.knobs) if facts else None,
            sources=support(facts, self.bundle, self.labels.home),
            min_sources=self.config.acceptance.min_sources,
        )

    def _release(self, crg: str | None, named: str | None) -> tuple[str | None, str | None]:
        """Return the release that stands for the group, and one that was named but is not in it.

        The rules choose where the model named none, or one of another group.
        """
        if crg is None:
            return None, None
        home = self.labels.home.get(named) if named else None
        is_from_observation = home is None and crg not in self.labels.titles
        if named and (home == crg or (is_from_observation and self._is_known(named, ()))):
            return (named if named != crg else None), None
        return representative(self.bundle, crg, self.knobs), named

    def _from_nowhere(self, answer: FinalAnswer) -> str | None:
        if not self._is_known(answer.crg, self.labels.titles):
            return answer.crg
        return None if self._is_known(answer.rr, self.labels.home) else answer.rr

    def _is_known(self, identifier: str | None, candidates: Container[str]) -> bool:
        return identifier is None or identifier in candidates or identifier in self.found()


def calibration(stated: float, calibrated: ConfidenceMap) -> Iterator[Check]:
    """Note what a stated confidence is taken for, where a calibration is used."""
    if calibrated.points:
        detail = f"confidence {stated:.2f} is taken for {calibrated(stated):.2f}, by calibration"
        yield Check("calibration", passed=True, detail=detail)


def settled(
    confidence: float, checks: Sequence[Check], config: LLMConfig
) -> tuple[Outcome, str | None]:
    """Return the outcome by confidence, lowered by what the checks refute; and why it is so low."""
    outcome, problem = _by_confidence(confidence, config)
    refuted = next((check.detail for check in checks if not check.passed), None)
    if refuted and outcome is not Outcome.REJECTED:
        return Outcome.REVIEW, refuted
    return outcome, problem


def _by_confidence(confidence: float, config: LLMConfig) -> tuple[Outcome, str | None]:
    least = (
        (Outcome.ACCEPTED, config.auto_accept_threshold),
        (Outcome.REVIEW, config.review_threshold),
    )
    problem = None
    for outcome, threshold in least:
        if confidence >= threshold:
            return outcome, problem
        problem = f"confidence {confidence:.2f} is below {threshold:.2f}"
    return Outcome.REJECTED, problem
