"""What confidence has been worth is fitted from answers known to be right or wrong.

Isotonic regression by pooling neighbours that are out of order (Ayer et al., "An Empirical
Distribution Function for Sampling with Incomplete Information", 1955), as Zadrozny and Elkan
(2002) use it for calibration. Every share is smoothed as Laplace does, (right + 1) / (answers + 2):
nothing that was seen a few times is certain.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from chart_binder.errors import CanonError
from chart_binder.jobs.answers import Known
from chart_binder.jobs.calibration import Answer, Calibration, calibration
from chart_binder.llm.confidence_map import ConfidenceMap, Point

FEWEST = 30
"""Below this many answers a fit says more about chance than about the model."""
_FOLDS = 5
_DIGITS = 6
"""Confidence that differs further behind the point is one: means of such would run together."""


class Fitted(msgspec.Struct, frozen=True):
    """A calibration, and what it is worth on answers that it was not fitted from."""

    map: ConfidenceMap
    as_stated: Calibration
    calibrated: Calibration
    """On held-out answers: each fifth is read by a map of the other four."""

    @property
    def is_better(self) -> bool:
        """Whether confidence is nearer to the truth with the calibration than without."""
        return self.calibrated.brier_score < self.as_stated.brier_score


def fitted(answers: Sequence[Known]) -> Fitted:
    """Fit a calibration, and measure it. Raises `CanonError` for too few answers."""
    if len(answers) < FEWEST:
        raise CanonError(
            f"a calibration needs {FEWEST} answers known to be right or wrong, and there are"
            f" {len(answers)}"
        )
    held_out = [
        known
        for fold in range(_FOLDS)
        for known in _read_by(
            fit([one for n, one in enumerate(answers) if n % _FOLDS != fold]),
            answers[fold::_FOLDS],
        )
    ]
    stated, calibrated = calibration(_read_by(_as_it_is, answers)), calibration(held_out)
    assert stated is not None
    assert calibrated is not None
    return Fitted(fit(answers), stated, calibrated)


def fit(answers: Sequence[Known]) -> ConfidenceMap:
    """Return the shares right that rise with confidence and come nearest to the answers."""
    given = Counter(round(known.confidence, _DIGITS) for known in answers)
    right = Counter(round(known.confidence, _DIGITS) for known in answers if known.right)
    pools: list[_Pool] = []
    for stated in sorted(given):
        pool = _Pool(stated * given[stated], given[stated], right[stated])
        while pools and pools[-1].share >= pool.share:
            pool = pools.pop().with_(pool)
        pools.append(pool)
    return ConfidenceMap(tuple(Point(pool.stated, pool.share) for pool in pools), len(answers))


@dataclass(frozen=True, slots=True)
class _Pool:
    """Neighbouring answers that are taken together: the sum of their confidence, and counts."""

    total: float
    answers: int
    right: int

    @property
    def stated(self) -> float:
        return self.total / self.answers

    @property
    def share(self) -> float:
        return (self.right + 1) / (self.answers + 2)

    def with_(self, other: "_Pool") -> "_Pool":
        return _Pool(
            self.total + other.total, self.answers + other.answers, self.right + other.right
        )


def _read_by(worth: Callable[[float], float], answers: Sequence[Known]) -> list[Answer]:
    return [Answer(worth(known.confidence), known.right) for known in answers]


def _as_it_is(stated: float) -> float:
    return stated
