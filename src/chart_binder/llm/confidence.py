"""A model's confidence: read as it was written, and lowered by the checks that failed."""

import math
import re
from collections.abc import Iterable

from chart_binder.llm.result import Check
from chart_binder.react.loop import RefusedError

CONFIDENCE_WORDS = {"high": 0.9, "medium": 0.7, "low": 0.4}
"""Confidence in words: by the default thresholds accepted, for review, and rejected."""
CHECK_FACTORS = {"candidate": 0.5, "fact": 0.6, "contradiction": 0.8, "sources": 0.8}
"""The factor by which each failed check of this name multiplies confidence."""
CHECK_CEILINGS = {"rules": 0.3}
"""The highest confidence where a check of this name failed."""
_NUMBER = re.compile(r"([+-]?\d*[.,]?\d+(?:e[+-]?\d+)?)\s*(%|percent)?", re.IGNORECASE)
_MAX_PERCENT = 100


def lower_by_checks(confidence: float, checks: Iterable[Check]) -> float:
    """Return confidence (0..1) lowered by the failed checks; passed checks do not raise it."""
    for check in checks:
        if not check.passed:
            confidence *= CHECK_FACTORS.get(check.name, 1.0)
            confidence = min(confidence, CHECK_CEILINGS.get(check.name, confidence))
    return confidence


def read_confidence(value: object, default: float | None = None) -> float:
    """Return confidence as 0..1; `90` and `"90%"` are 0.9, words as in `CONFIDENCE_WORDS`.

    For anything else (missing, not finite, negative, above 100) it is `default`, and without one
    `RefusedError` is raised.
    """
    amount, is_percent = _amount(value)
    if is_percent or amount > 1:
        amount /= 100
    if not 0 <= amount <= 1:  # which nothing is that is not a number
        if default is not None:
            return default
        shown = "missing" if value is None else repr(value)[:40]
        raise RefusedError(f'"confidence" is {shown}; write a number from 0 to 1, such as 0.8')
    return amount


def _amount(value: object) -> tuple[float, bool]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (float(value) if abs(value) <= _MAX_PERCENT else math.nan), False
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in CONFIDENCE_WORDS:
            return CONFIDENCE_WORDS[word], False
        if number := _NUMBER.fullmatch(word):
            return float(number[1].replace(",", ".")), bool(number[2])
    return math.nan, False
