"""What is reported of a model's confidence is lowered by what code found against its answer."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec

from chart_binder.errors import ConfigError
from chart_binder.llm.result import Check
from chart_binder.typed import decoded

CHECK_FACTORS = {
    "candidate": 0.5,
    "fact": 0.6,
    "subject": 0.8,
    "sources": 0.8,
}
"""What each check of this name that failed multiplies confidence by, each time."""

CHECK_CEILINGS = {
    "rules": 0.3,
}
"""What confidence is at most where a check of this name failed."""


def lower_by_checks(confidence: float, checks: Iterable[Check]) -> float:
    """Return confidence, 0..1, less what the failed checks take from it.

    Where none failed it is what it was: code finds faults, it does not vouch.
    """
    for check in checks:
        if not check.passed:
            confidence *= CHECK_FACTORS.get(check.name, 1.0)
            confidence = min(confidence, CHECK_CEILINGS.get(check.name, confidence))
    return confidence


_MOST_BYTES = 1_000_000


class Point(msgspec.Struct, frozen=True):
    """Answers given with a confidence of `stated` were right in a share of `right` of cases."""

    stated: float
    right: float


class ConfidenceMap(msgspec.Struct, frozen=True):
    """From stated confidence to the share right: straight lines between points, flat beyond them.

    `stated` grows from point to point, and `right` never falls. No points: as stated.
    """

    points: tuple[Point, ...] = ()
    answers: int = 0
    """How many the map was fitted from, for a person to see."""
    version: Literal[1] = 1

    def __post_init__(self) -> None:
        """Raise `ValueError` for points that make no such line."""
        known = [(point.stated, point.right) for point in self.points]
        if not all(0 <= stated <= 1 and 0 <= right <= 1 for stated, right in known):
            raise ValueError("points must be from 0 to 1")
        for (stated, right), (later, other) in pairwise(known):
            if later <= stated or other < right:
                raise ValueError("points must grow in stated, and not fall in right")

    def __call__(self, stated: float) -> float:
        """Return what a stated confidence is worth."""
        if not self.points:
            return stated
        before = after = self.points[0]
        for after in self.points:
            if after.stated >= stated:
                break
            before = after
        if stated <= before.stated or before is after:
            return before.right
        if stated >= after.stated:
            return after.right
        share = (stated - before.stated) / (after.stated - before.stated)
        return before.right + share * (after.right - before.right)


AS_STATED = ConfidenceMap()


def read_confidence_map(path: Path) -> ConfidenceMap:
    """Read what `canon calibrate -o` wrote. Raises `ConfigError`."""
    try:
        with path.open("rb") as stream:
            return decoded(stream.read(_MOST_BYTES), ConfidenceMap)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"llm.acceptance.calibration: {path} cannot be read ({why});"
            " `canon calibrate ANSWERS.jsonl -o FILE` writes one"
        ) from error
