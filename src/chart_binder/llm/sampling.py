"""Several runs of one case: a second method where the first fails, and a majority of samples.

Self-consistency, after Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in
Language Models" (2022).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Literal, TypeAlias

from msgspec.structs import astuple, replace

from chart_binder.errors import counted
from chart_binder.llm.acceptance import with_outcome
from chart_binder.llm.open_case import OpenCase
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


def run_methods(method: Method, ask: Callable[[Way], AdjudicationResult]) -> AdjudicationResult:
    """Return the result of the first method, or of the second where the first names nothing.

    Usage is added up. Where neither names anything, a rejection is returned rather than an error. A
    model that never replied is not asked again.
    """
    first, *others = WAYS[method]
    result = ask(first)
    for way in others:
        if _names_group(result) or not result.iterations:
            break
        now = ask(way)
        detail = f"{first} gave nothing ({result.problem}), so {way} was tried: {now.outcome}"
        check = Check("method", passed=_names_group(now), detail=detail)
        is_rejection = result.outcome is Outcome.REJECTED and not check.passed
        taken, usage = result if is_rejection else now, _total_usage((result, now))
        result = replace(taken, checks=(*taken.checks, check), usage=usage)
    return result


def _names_group(result: AdjudicationResult) -> bool:
    return result.outcome is not Outcome.ERROR and result.crg_mbid is not None


def _total_usage(results: Iterable[AdjudicationResult]) -> Usage:
    columns = zip(*(astuple(result.usage) for result in results), strict=True)
    return Usage(*map(sum, columns))


def run_samples(ask: Callable[[int], AdjudicationResult], case: OpenCase) -> AdjudicationResult:
    """Call `ask` with the numbers of `samples` samples, and return the majority's answer.

    After two samples in a row without any reply, the rest is not made.
    """
    samples = case.config.samples
    if samples == 1:
        return ask(0)
    results = [ask(0), ask(1)]
    while len(results) < samples and any(result.iterations for result in results[-2:]):
        results.append(ask(len(results)))
    return replace(_majority_answer(results, case), usage=_total_usage(results))


def _majority_answer(results: Sequence[AdjudicationResult], case: OpenCase) -> AdjudicationResult:
    """Return the answer of more than half of the runs, those not made counted too.

    No majority is a rejection, or an error where failed or missing runs prevented one.
    """
    samples = case.config.samples
    added = tuple(dict.fromkeys(one for result in results for one in result.added))
    case = case.with_recordings(added)
    failures = [result for result in results if result.outcome is Outcome.ERROR]
    votes = Counter(result.crg_mbid for result in results if result not in failures)
    not_made = samples - len(results)
    winner, count = next(iter(votes.most_common(1)), (None, 0))
    name_of = case.labels.name_of
    counts = [f"{name_of(vote) if vote else 'cannot tell'}: {n}" for vote, n in votes.most_common()]
    counts += [f"failed: {len(failures)}"] * bool(failures)
    counts += [f"not made: {not_made}"] * bool(not_made)
    has_majority = 2 * count > samples
    detail = f"of {counted(samples, 'run')}, {'; '.join(counts)}"
    check = Check("agreement", has_majority, detail)
    if has_majority:
        agreeing = [r for r in results if r not in failures and r.crg_mbid == winner]
        return replace(_majority_result(agreeing, check, count / samples, case), added=added)
    outcome, problem, taken = Outcome.REJECTED, f"no majority: {detail}", results[0]
    if 2 * (count + samples - votes.total()) > samples:
        after = f", and {counted(not_made, 'more run')} not made" if not_made else ""
        made = counted(len(results), "run")
        problem = f"{len(failures)} of {made} failed{after}: {failures[0].problem}"
        outcome, taken = Outcome.ERROR, failures[0]
    return replace(
        taken,
        outcome=outcome,
        crg_mbid=None,
        rr_mbid=None,
        confidence=0.0,
        stated_confidence=None,
        rationale=taken.rationale if outcome is Outcome.ERROR else "",
        facts=(),
        added=(),
        checks=(check,),
        rules=None,
        independent_sources=0,
        problem=problem,
    )


def _majority_result(
    agreeing: Sequence[AdjudicationResult], check: Check, share: float, case: OpenCase
) -> AdjudicationResult:
    """Return what the runs that agree, `share` of all, come to.

    The stated confidence is their mean, times their share. Rules decide on the verified facts of
    all of them.
    """
    stated = share * fmean(
        result.confidence if result.stated_confidence is None else result.stated_confidence
        for result in agreeing
    )
    taken = _representative_run(agreeing)
    found = (*(each for each in taken.checks if each.name != "calibration"), check)
    if taken.crg_mbid is None:
        return replace(taken, confidence=stated, stated_confidence=stated, checks=found)
    facts = tuple(dict.fromkeys(fact for result in agreeing for fact in result.facts))
    weighed = case.weigh(facts)
    refuted = any(
        not each.passed and each.name in _LASTING for result in agreeing for each in result.checks
    )
    is_decided = weighed.decides(taken.crg_mbid) and not refuted
    if is_decided:
        found = tuple(each for each in found if each.passed)
    result = replace(taken, stated_confidence=stated, facts=facts)
    return with_outcome(result, found, weighed, case, is_decided=is_decided)


_LASTING = frozenset({"contradiction", "evidence", "candidate"})
"""The checks that no other run makes good."""


def _representative_run(agreeing: Sequence[AdjudicationResult]) -> AdjudicationResult:
    """Return the run that stands for those that agree.

    A run whose verified facts contradict the answer comes first: what code refutes must not be
    outvoted. Then the run with the fewest failed checks, and with the commonest release.
    """
    releases = Counter(result.rr_mbid for result in agreeing)

    def weight(result: AdjudicationResult) -> tuple[bool, int, int]:
        failed = [check.name for check in result.checks if not check.passed]
        return "rules" not in failed, len(failed), -releases[result.rr_mbid]

    return min(agreeing, key=weight)
