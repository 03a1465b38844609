"""A case is asked about in one way, or in a second one where the first gives nothing.

Reasoning with tools and answering from what is known fall back on one another as in Yao et al.,
"ReAct: Synergizing Reasoning and Acting in Language Models" (2022), section 3.2.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec.structs import replace

from chart_binder.llm.result import AdjudicationResult, Check, Outcome, Usage

Way: TypeAlias = Literal["react", "direct"]
"""With tools, or without."""
Method: TypeAlias = Literal["react", "direct", "react_then_direct", "direct_then_react"]

WAYS: dict[Method, tuple[Way, ...]] = {
    "react": ("react",),
    "direct": ("direct",),
    "react_then_direct": ("react", "direct"),
    "direct_then_react": ("direct", "react"),
}


def by_method(method: Method, ask: Callable[[Way], AdjudicationResult]) -> AdjudicationResult:
    """Return what the first way gives, else the second; what both took is added up.

    Where neither gives anything, not knowing goes before a failure. A model that never replied is
    not asked again.
    """
    first, *others = WAYS[method]
    result = ask(first)
    for way in others:
        if gives_something(result) or not result.iterations:
            break
        result = _second(first, result, way, ask(way))
    return result


def gives_something(result: AdjudicationResult) -> bool:
    """Tell whether a result names a release group."""
    return result.outcome is not Outcome.ERROR and result.crg_mbid is not None


def total(*usages: Usage) -> Usage:
    """Add up what several runs took."""
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        model_seconds=sum(usage.model_seconds for usage in usages),
        tool_seconds=sum(usage.tool_seconds for usage in usages),
    )


def _second(
    way: Way, before: AdjudicationResult, other: Way, now: AdjudicationResult
) -> AdjudicationResult:
    taken = before if before.outcome is Outcome.REJECTED and not gives_something(now) else now
    check = Check(
        "method",
        passed=gives_something(now),
        detail=f"{way} gave nothing ({before.problem}), so {other} was tried: {now.outcome}",
    )
    usage = total(before.usage, now.usage)
    return replace(taken, checks=(*taken.checks, check), usage=usage)
