"""What a recorded run came to, as lines for a person."""

from collections.abc import Iterator

from chart_binder.cli.text import found, group_name, release_name
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.llm.result import AdjudicationResult, Fact, counted


def outcome_lines(result: AdjudicationResult, bundle: EvidenceBundle | None) -> Iterator[str]:
    """Yield the answer, and what the code found when it checked it; names are the evidence's."""
    group, release = found(bundle, result.crg_mbid, result.rr_mbid)
    yield f"release group  {_named(result.crg_mbid, group_name(group) if group else '')}"
    yield f"release        {_named(result.rr_mbid, release_name(release) if release else '')}"
    yield f"confidence     {result.confidence:.2f}{_stated(result)}"
    for number, check in enumerate(result.checks):
        came_out = "ok" if check.passed else "NOT OK"
        yield f"{'' if number else 'checks':<14} {came_out}: {check.detail}"
    for number, fact in enumerate(result.facts):
        yield f"{'' if number else 'facts':<14} {_fact(fact)}"
    if result.problem and result.rationale:  # else the problem is the first thing said
        yield f"problem        {result.problem}"
    usage = result.usage
    yield (
        f"took           {counted(result.iterations, 'turn')},"
        f" {usage.prompt_tokens} + {usage.completion_tokens} tokens,"
        f" {usage.model_seconds:.1f} s model, {usage.tool_seconds:.1f} s tools"
    )


def _stated(result: AdjudicationResult) -> str:
    """Return the model's own figure, where another is reported."""
    stated = result.stated_confidence
    is_other = stated is not None and f"{stated:.2f}" != f"{result.confidence:.2f}"
    return f" (stated: {stated:.2f})" if is_other else ""


def _named(mbid: str | None, name: str) -> str:
    return " ".join(filter(None, (mbid or "none", name)))


def _fact(fact: Fact) -> str:
    standing = "verified" if fact.verified else "NOT verified"
    return f"{standing}: {fact.field} {fact.value} of {fact.about} ({fact.source})"
