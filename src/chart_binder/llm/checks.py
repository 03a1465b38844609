"""What code looks into before an answer leaves: each check is a function that yields findings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Decided, Verdict
from chart_binder.llm.grounding import borne_out_by
from chart_binder.llm.labels import Labels
from chart_binder.llm.result import Check, Fact, Standing, counted
from chart_binder.llm.subject import another_subject
from chart_binder.llm.support import tells_more
from chart_binder.react.transcript import Observed


@dataclass(frozen=True, slots=True)
class Claim:
    """An answer to look into: `written` is the group as the model named it, `crg` as it is known.

    `crg` is absent for an id that is neither in the evidence nor in an observation; `misplaced` is
    a release that was named though it is not in the group.
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
    """What the rules say with the verified facts in; absent where no facts are cited."""
    sources: int
    """How many independent sources the facts have."""
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
    """Look whether each cited source was read in this run, or is the evidence, and says so."""
    for fact in claim.facts:
        says = "says so" if fact.verified else "was not read in this run, or does not say so"
        about = claim.labels.name_of(fact.about) or "nothing that is named"
        source = fact.source or ("the evidence" if fact.verified else "a source that is not named")
        detail = f"{fact.field} {fact.value} of {about}: {source} {says}"
        yield Check("fact", fact.verified, detail)


def subject(claim: Claim) -> Iterator[Check]:
    """Look whether what bears a fact out is about another candidate."""
    for fact in claim.facts:
        if fact.verified:
            texts = borne_out_by(fact, claim.seen)
            other = another_subject(fact, texts, claim.bundle, claim.labels)
            if other:
                about, named = map(claim.labels.name_of, (fact.about, other))
                detail = f"{fact.source} names {named}, not {about}, which {fact.value} is cited of"
                yield Check("subject", passed=False, detail=detail)


def sources(claim: Claim) -> Iterator[Check]:
    """Count the independent sources behind each of the cited facts.

    An answer that cites none, or only what tells nothing new, rests on the evidence alone and needs
    none. Where several are required that holds only as long as nothing of strangers was read: a
    page may tell a model to answer and to cite nothing.
    """
    counts = any(not fact.verified or tells_more(fact, claim.bundle) for fact in claim.facts)
    was_told = any(observed.sources and not observed.error for observed in claim.seen)
    if counts or (claim.min_sources > 1 and was_told):
        shown = counted(claim.sources, "independent host")
        detail = f"{shown} for the cited facts, {claim.min_sources} needed"
        yield Check("sources", claim.sources >= claim.min_sources, detail)


def rules(claim: Claim) -> Iterator[Check]:
    """Hold the answer against the rules with the verified facts in: they must not contradict it."""
    standing = stands(claim.crg, claim.verdict)
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


def stands(crg: str | None, verdict: Verdict | None) -> Standing | None:
    """Return how an answer stands to what the rules say, where both there are."""
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
