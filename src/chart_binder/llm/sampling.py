"""Several runs of one case are taken together: the majority answers, and agreement counts.

Self-consistency, after Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in
Language Models" (2022).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

from msgspec.structs import replace

from chart_binder.config import LLMConfig
from chart_binder.llm.examination import settled
from chart_binder.llm.methods import total
from chart_binder.llm.result import AdjudicationResult, Check, Outcome, Usage, counted

_CANNOT_TELL = ""


def sampled(
    ask: Callable[[int], AdjudicationResult], config: LLMConfig, name_of: Callable[[str], str]
) -> AdjudicationResult:
    """Ask `config.samples` times, told the number of the sample, and take the answers together.

    A model that did not reply at all in one sample is not asked for the next.
    """
    results = [ask(0)]
    while len(results) < config.samples and results[-1].iterations:
        results.append(ask(len(results)))
    return results[0] if config.samples == 1 else agreed(results, config, name_of)


def agreed(
    results: Sequence[AdjudicationResult], config: LLMConfig, name_of: Callable[[str], str]
) -> AdjudicationResult:
    """Return the answer of more than half of `config.samples` runs.

    Confidence is the mean of those that agree, times their share: the outcome follows from it, and
    the checks of the run that is taken may lower it. No majority is a rejection; where failed runs
    kept it from one, an error. `name_of` says what to call a release group.
    """
    usage = total(*(result.usage for result in results))
    failures = [result for result in results if result.outcome is Outcome.ERROR]
    votes = Counter(_vote(result) for result in results if result not in failures)
    failed = config.samples - votes.total()
    winner, count = next(iter(votes.most_common(1)), (_CANNOT_TELL, 0))
    named = [f"{name_of(vote) or 'cannot tell'}: {n}" for vote, n in votes.most_common()]
    told = "; ".join([*named, f"failed: {failed}"] if failed else named)
    has_majority = 2 * count > config.samples
    check = Check("agreement", has_majority, f"of {counted(config.samples, 'run')}, {told}")
    if has_majority:
        agreeing = [r for r in results if r not in failures and _vote(r) == winner]
        return _taken(agreeing, check, count / config.samples, config, usage)
    is_failure = 2 * (count + failed) > config.samples
    return replace(
        failures[0] if is_failure else results[0],
        outcome=Outcome.ERROR if is_failure else Outcome.REJECTED,
        problem=f"{failed} of {config.samples} runs failed: {failures[0].problem}"
        if is_failure
        else f"no majority: {check.detail}",
        crg_mbid=None,
        rr_mbid=None,
        confidence=0.0,
        rationale=failures[0].rationale if is_failure else "",
        facts=(),
        checks=(check,),
        usage=usage,
    )


def _taken(
    agreeing: Sequence[AdjudicationResult],
    check: Check,
    share: float,
    config: LLMConfig,
    usage: Usage,
) -> AdjudicationResult:
    confidence = fmean(result.confidence for result in agreeing) * share
    taken = _spokesman(agreeing)
    checks = (*taken.checks, check)
    taken = replace(taken, confidence=confidence, checks=checks, usage=usage)
    if taken.crg_mbid is None:
        return taken
    outcome, problem = settled(confidence, checks, config)
    return replace(taken, outcome=outcome, problem=problem)


def _vote(result: AdjudicationResult) -> str:
    return result.crg_mbid or _CANNOT_TELL


def _spokesman(agreeing: Sequence[AdjudicationResult]) -> AdjudicationResult:
    """Choose the run whose answer is taken.

    One whose verified facts contradict it speaks for all, for what code refutes must not be
    outvoted. Then the one that code found least against, with the commonest release.
    """
    releases = Counter(result.rr_mbid for result in agreeing)

    def weight(result: AdjudicationResult) -> tuple[bool, int, int]:
        failed = [check.name for check in result.checks if not check.passed]
        return "rules" not in failed, len(failed), -releases[result.rr_mbid]

    return min(agreeing, key=weight)
