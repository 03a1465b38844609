"""A statement is as well supported as there are independent sources that say so."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from chart_binder.config import AcceptanceConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.llm.grounding import read_date
from chart_binder.llm.independence import independent
from chart_binder.llm.result import AdjudicationResult, Fact, Outcome, counted
from chart_binder.llm.settling import with_facts


def support(facts: Sequence[Fact], bundle: EvidenceBundle, home: Mapping[str, str]) -> int:
    """Return how many independent sources say the statement that the fewest say.

    Only statements that tell more than the evidence does are looked at, and without one there is
    no source: a label, or a date that was known, must not vouch for what is decided on other
    grounds. `home` is the release group of each release: a date of both is one statement.
    """
    sources: dict[tuple[str, str], list[str]] = defaultdict(list)
    for fact in facts:
        if tells_more(fact, bundle):
            sources[_statement(fact, home)].append(fact.source)
    return min((len(independent(named)) for named in sources.values()), default=0)


def tells_more(fact: Fact, bundle: EvidenceBundle) -> bool:
    """Whether a fact is borne out, and changes what the rules go by."""
    return with_facts(bundle, (fact,)) != bundle


def why_not_written(result: AdjudicationResult, acceptance: AcceptanceConfig) -> str | None:
    """Return why a model's answer must not go into a file without a person's look; else nothing."""
    if result.outcome is not Outcome.ACCEPTED:
        return result.problem or f"the answer is {result.outcome}"
    needed, found = acceptance.write_min_sources, result.independent_sources
    if found >= needed:
        return None
    shown = counted(found, "independent source")
    return f"the answer rests on {shown}, {needed} needed before it is written unseen"


def _statement(fact: Fact, home: Mapping[str, str]) -> tuple[str, str]:
    date = read_date(fact)
    said = date.text if date else f"{fact.field} {fact.value}".casefold()
    return home.get(fact.about, fact.about), said


def hosts(facts: Iterable[Fact]) -> frozenset[str]:
    """Return the independent sources that bear out the verified facts."""
    return independent(fact.source for fact in facts if fact.verified)
