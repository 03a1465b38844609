"""Compare the confidence that a model states with how often its answers are right."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import msgspec

_BANDS = 10


class ScoredAnswer(NamedTuple):
    """The confidence (0..1) of an answer, and whether the answer was right."""

    confidence: float
    right: bool


class Band(msgspec.Struct, frozen=True):
    """The answers with a confidence from `least` up to `most`."""

    least: float
    most: float
    answers: int
    confidence: float
    """The mean."""
    share_right: float


class Calibration(msgspec.Struct, frozen=True):
    """How well confidence agrees with what was right.

    `brier_score` is the mean squared difference of confidence and truth (0 is perfect, 0.25 is what
    a coin gets); `expected_calibration_error` the mean distance of confidence and share right over
    the bands, by their answers (Guo et al., 2017).
    """

    answers: int
    right: int
    brier_score: float
    expected_calibration_error: float
    bands: tuple[Band, ...]


def measure_calibration(answers: Sequence[ScoredAnswer]) -> Calibration | None:
    """Return the calibration, or `None` if there are no answers."""
    if not answers:
        return None
    by_band: defaultdict[int, list[ScoredAnswer]] = defaultdict(list)
    for answer in answers:  # full confidence belongs to the last band
        by_band[min(int(answer.confidence * _BANDS), _BANDS - 1)].append(answer)
    bands = tuple(
        Band(
            least=number / _BANDS,
            most=(number + 1) / _BANDS,
            answers=len(members),
            confidence=fmean(answer.confidence for answer in members),
            share_right=fmean(answer.right for answer in members),
        )
        for number, members in sorted(by_band.items())
    )
    distances = (abs(band.confidence - band.share_right) * band.answers for band in bands)
    return Calibration(
        answers=len(answers),
        right=sum(answer.right for answer in answers),
        brier_score=fmean((answer.confidence - answer.right) ** 2 for answer in answers),
        expected_calibration_error=sum(distances) / len(answers),
        bands=bands,
    )
