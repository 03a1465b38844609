"""Checks of an answer by code; an answer that one of them refutes is never accepted."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Decided, Verdict
from chart_binder.errors import counted
from chart_binder.llm.answer import FinalAnswer, Labels, read_answer
from chart_binder.llm.confidence import AS_STATED, ConfidenceMap, lower_by_checks
from chart_binder.llm.facts import is_in_evidence, with_verified_facts
from chart_binder.llm.grounding import another_subject, read_date, supporting_passages, verify_facts
from chart_binder.llm.result import Check, Fact, Outcome, Standing
from chart_binder.llm.sources import independent_sources
from chart_binder.react.loop import RefusedError
from chart_binder.react.transcript import Observed
from chart_binder.rules.decide import decide
from chart_binder.rules.representative import representative


def count_independent_sources(
    facts: Sequence[Fact], bundle: EvidenceBundle, home: Mapping[str, str]
) -> int:
    """Return the number of independent sources of the statement that has the fewest.

    Only statements that add to the evidence count, and without any the number is 0: a label, or a
    date that was known, must not support a decision on other grounds. `home` is the release group
    of each release: a date of both is one statement.
    """
    sources: dict[tuple[str, str], list[str]] = defaultdict(list)
    for fact in facts:
        if adds_information(fact, bundle):
            sources[_statement(fact, home)].append(fact.source)
    return min((len(independent_sources(named)) for named in sources.values()), default=0)


def adds_information(fact: Fact, bundle: EvidenceBundle) -> bool:
    """Return whether a fact is verified and changes the evidence that the rules use."""
    return with_verified_facts(bundle, (fact,)) != bundle


def _statement(fact: Fact, home: Mapping[str, str]) -> tuple[str, str]:
    date = read_date(fact)
    said = date.text if date else f"{fact.field} {fact.value}".casefold()
    return home.get(fact.about, fact.about), said


@dataclass(frozen=True, slots=True)
class Claim:
    """An answer to check: `written` is the release group as the model named it, `crg` its id.

    `crg` is None for an id that is neither in the evidence nor in an observation; `misplaced` is a
    release that was named although it is not in the group.
    """

    written: str
    crg: str | None
    rr: str | None
    misplaced: str | None
    facts: tuple[Fact, ...]
    bundle: EvidenceBundle
    labels: Labels
    seen: Sequence[Observed]
    verdict: Verdict | None
    """The rules' verdict with the verified facts added; None where no facts are cited."""
    sources: int
    """The number of independent sources of the facts."""
    min_sources: int


def candidate(claim: Claim) -> Iterator[Check]:
    """Check that the group is a candidate; one that only a page names needs a person."""
    crg, name = claim.crg, claim.labels.name_of(claim.written)
    if crg is None:
        detail = f"{name} is neither among the candidates nor in an observation"
        yield Check("candidate", passed=False, detail=detail)
    elif crg in claim.labels.titles:
        yield Check("candidate", passed=True, detail=f"{name} is a candidate")
    else:
        detail = f"{name} is not among the candidates: only an observation names it"
        yield Check("candidate", passed=False, detail=detail)


def release(claim: Claim) -> Iterator[Check]:
    """Note that the rules' own release replaces one outside the group."""
    if claim.misplaced and claim.crg:
        named, group = map(claim.labels.name_of, (claim.misplaced, claim.crg))
        detail = f"{named} is no release of {group}: the rules' own is taken"
        yield Check("release", passed=True, detail=detail)


def facts(claim: Claim) -> Iterator[Check]:
    """Check that each cited source was read in this run, or is the evidence, and says so."""
    for fact in claim.facts:
        says = "says so" if fact.verified else "was not read in this run, or does not say so"
        about = claim.labels.name_of(fact.about) or "nothing that is named"
        source = fact.source or ("the evidence" if fact.verified else "a source that is not named")
        detail = f"{fact.field} {fact.value} of {about}: {source} {says}"
        yield Check("fact", fact.verified, detail)


def subject(claim: Claim) -> Iterator[Check]:
    """Check that the text which supports a fact is not about another candidate."""
    for fact in claim.facts:
        if fact.verified:
            texts = supporting_passages(fact, claim.seen)
            other = another_subject(fact, texts, claim.bundle, claim.labels)
            if other:
                about, named = map(claim.labels.name_of, (fact.about, other))
                detail = f"{fact.source} names {named}, not {about}, which {fact.value} is cited of"
                yield Check("subject", passed=False, detail=detail)


def sources(claim: Claim) -> Iterator[Check]:
    """Check the number of independent sources of the cited facts.

    An answer that cites nothing new rests on the evidence alone and needs none; but where several
    are required, only as long as no page was read, which may tell a model to cite nothing.
    """
    counts = any(not fact.verified or adds_information(fact, claim.bundle) for fact in claim.facts)
    was_told = any(observed.sources and not observed.error for observed in claim.seen)
    if counts or (claim.min_sources > 1 and was_told):
        shown = counted(claim.sources, "independent host")
        detail = f"{shown} for the cited facts, {claim.min_sources} needed"
        yield Check("sources", claim.sources >= claim.min_sources, detail)


def rules(claim: Claim) -> Iterator[Check]:
    """Check that the rules, with the verified facts added, do not contradict the answer."""
    standing = rules_agreement(claim.crg, claim.verdict)
    if standing is None or not claim.crg:
        return
    named, known = claim.labels.name_of(claim.crg), "with the verified facts in"
    if not isinstance(claim.verdict, Decided):
        yield Check("rules", passed=True, detail=f"{known} the rules still leave it open")
    elif standing is Standing.CONFIRMED:
        detail = f"{known}, {claim.verdict.crg_rule} confirms {named}"
        yield Check("rules", passed=True, detail=detail)
    else:
        other = claim.labels.name_of(claim.verdict.crg)
        detail = f"{known}, {claim.verdict.crg_rule} gives {other}, not {named}"
        yield Check("rules", passed=False, detail=detail)


def rules_agreement(crg: str | None, verdict: Verdict | None) -> Standing | None:
    """Return how the rules agree with an answer, where there are both."""
    if crg is None or verdict is None:
        return None
    if not isinstance(verdict, Decided):
        return Standing.OPEN
    return Standing.CONFIRMED if verdict.crg == crg else Standing.CONTRADICTED


CHECKS: tuple[Callable[[Claim], Iterator[Check]], ...] = (
    candidate,
    release,
    facts,
    subject,
    sources,
    rules,
)
"""In the order in which they are reported."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of an answer after the checks; `problem` is why it is not accepted."""

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
    """Checks answers against the evidence and against the observations of this run."""

    bundle: EvidenceBundle
    labels: Labels
    rules_config: RulesConfig
    config: LLMConfig
    observed: Callable[[], Sequence[Observed]]
    found: Callable[[], Container[str]]
    """The MusicBrainz ids that observations of this run contain."""
    calibrated: ConfidenceMap = AS_STATED

    def read(self, text: str, is_last: bool) -> FinalAnswer:  # noqa: FBT001 (the loop's word)
        """Read an answer and resolve its labels. Raises `RefusedError`, also for an unknown id.

        In the last turn an unknown id is left in, and dropped by `judge`.
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
        """Return the outcome by confidence, lowered by failed checks."""
        if answer.crg is None:
            problem = "the model cannot tell"
            return Judgement(Outcome.REJECTED, problem=problem, confidence=answer.confidence)
        known = {*self.labels.ids.values(), answer.crg, answer.rr or answer.crg}
        facts = tuple(
            structs.replace(fact, verified=fact.verified or is_in_evidence(fact, self.bundle))
            for fact in verify_facts(answer.facts, self.observed(), self.labels, known)
        )
        claim = self._claim(answer, facts)
        checks = tuple(check for look in CHECKS for check in look(claim))
        confidence = self.calibrated(answer.confidence)
        outcome, why = outcome_of(confidence, checks, self.config)
        return Judgement(
            outcome,
            claim.crg,
            claim.rr,
            facts,
            (*checks, *calibration_check(answer.confidence, self.calibrated)),
            why,
            confidence=lower_by_checks(confidence, checks),
            rules=rules_agreement(claim.crg, claim.verdict),
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
            verdict=decide(with_verified_facts(self.bundle, facts), self.rules_config)
            if facts
            else None,
            sources=count_independent_sources(facts, self.bundle, self.labels.home),
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
        return representative(self.bundle, crg, self.rules_config), named

    def _from_nowhere(self, answer: FinalAnswer) -> str | None:
        if not self._is_known(answer.crg, self.labels.titles):
            return answer.crg
        return None if self._is_known(answer.rr, self.labels.home) else answer.rr

    def _is_known(self, identifier: str | None, candidates: Container[str]) -> bool:
        return identifier is None or identifier in candidates or identifier in self.found()


def calibration_check(stated: float, calibrated: ConfidenceMap) -> Iterator[Check]:
    """Note the calibrated value of a stated confidence, where a calibration is used."""
    if calibrated.points:
        detail = f"confidence {stated:.2f} is taken for {calibrated(stated):.2f}, by calibration"
        yield Check("calibration", passed=True, detail=detail)


def outcome_of(
    confidence: float, checks: Sequence[Check], config: LLMConfig
) -> tuple[Outcome, str | None]:
    """Return the outcome by confidence, lowered by failed checks, and why it is not accepted."""
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
