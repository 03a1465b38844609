"""What is reported of a model's confidence is lowered by what code found against its answer."""

from collections.abc import Iterable

from chart_binder.llm.result import Check

FACTORS = {
    "candidate": 0.5,
    "fact": 0.6,
    "subject": 0.8,
    "sources": 0.8,
}
"""What each check of this name that failed multiplies confidence by, each time."""

CEILINGS = {
    "rules": 0.3,
}
"""What confidence is at most where a check of this name failed."""


def lowered(confidence: float, checks: Iterable[Check]) -> float:
    """Return confidence, 0..1, less what the failed checks take from it.

    Where none failed it is what it was: code finds faults, it does not vouch.
    """
    for check in checks:
        if not check.passed:
            confidence *= FACTORS.get(check.name, 1.0)
            confidence = min(confidence, CEILINGS.get(check.name, confidence))
    return confidence
