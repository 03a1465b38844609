"""What code looks into before an answer leaves: each check is a function that yields findings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Decided
from chart_binder.llm.grounding import hosts
from chart_binder.llm.labels import Labels
from chart_binder.llm.result import Check, Fact, counted
from chart_binder.llm.settling import with_facts
from chart_binder.rules.decide import decide


@dataclass(frozen=True, slots=True)
class Claim:
    """An answer to look into: `written` is the group as the model named it, `crg` as it is known.

    `crg` is absent for an id that is neither in the evidence nor in an observation; `misplaced` is
    a release that was named though it is not in the group.
    """

    written: str
    crg: str | None
    misplaced: str | None
    facts: tuple[Fact, ...]
    bundle: EvidenceBundle
    labels: Labels
    knobs: RulesConfig
    min_sources: int


def candidate(claim: Claim) -> Iterator[Check]:
    """Look whether the group is a candidate; one that only a page names is for a person to see."""
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
    """Note that the rules' own release stands in for one outside the group."""
    if claim.misplaced and claim.crg:
        named, group = map(claim.labels.name_of, (claim.misplaced, claim.crg))
        detail = f"{named} is no release of {group}: the rules' own is taken"
        yield Check("release", passed=True, detail=detail)


def facts(claim: Claim) -> Iterator[Check]:
    """Look whether each cited source was read in this run, and says so."""
    for fact in claim.facts:
        says = "says so" if fact.verified else "was not read in this run, or does not say so"
        about = claim.labels.name_of(fact.about)
        detail = f"{fact.field} {fact.value} of {about}: {fact.source} {says}"
        yield Check("fact", fact.verified, detail)


def sources(claim: Claim) -> Iterator[Check]:
    """Count the independent hosts behind the cited facts."""
    if claim.facts:
        found = len(hosts(claim.facts))
        shown = counted(found, "independent host")
        detail = f"{shown} for the cited facts, {claim.min_sources} needed"
        yield Check("sources", found >= claim.min_sources, detail)


def rules(claim: Claim) -> Iterator[Check]:
    """Run the rules again with the verified facts in: they must not contradict the answer."""
    if not (claim.crg and claim.facts):
        return
    verdict = decide(with_facts(claim.bundle, claim.facts), claim.knobs)
    named, known = claim.labels.name_of(claim.crg), "with the verified facts in"
    if not isinstance(verdict, Decided):
        yield Check("rules", passed=True, detail=f"{known} the rules still leave it open")
    elif verdict.crg == claim.crg:
        yield Check("rules", passed=True, detail=f"{known}, {verdict.crg_rule} confirms {named}")
    else:
        other = claim.labels.name_of(verdict.crg)
        detail = f"{known}, {verdict.crg_rule} gives {other}, not {named}"
        yield Check("rules", passed=False, detail=detail)


CHECKS: tuple[Callable[[Claim], Iterator[Check]], ...] = (candidate, release, facts, sources, rules)
"""In the order in which they are reported."""
