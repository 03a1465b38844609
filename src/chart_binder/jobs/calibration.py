"""Whether confidence means anything: of answers given with 0.9, nine in ten should be right."""

from collections.abc import Sequence

import msgspec

_BANDS = 10


class Answer(msgspec.Struct, frozen=True):
    """An answer's confidence, 0..1, and whether it was right."""

    confidence: float
    is_right: bool


class Band(msgspec.Struct, frozen=True):
    """The answers with a confidence from `least` up to `most`."""

    least: float
    most: float
    answers: int
    confidence: float
    """The mean."""
    share_right: float


class Calibration(msgspec.Struct, frozen=True):
    """Confidence held against what was right.

    `brier_score` is the mean squared difference of confidence and truth (0 is perfect, 0.25 is what
    a coin gets); `expected_calibration_error` the mean distance of confidence and share right over
    the bands, by their answers (Guo et al., 2017).
    """

    answers: int
    right: int
    brier_score: float
    expected_calibration_error: float
    bands: tuple[Band, ...]


def calibration(answers: Sequence[Answer]) -> Calibration | None:
    """Return the calibration, or none where there is no answer."""
    if not answers:
        return None
    bands = tuple(_band(n, inside) for n in range(_BANDS) if (inside := _inside(n, answers)))
    return Calibration(
        answers=len(answers),
        right=sum(one.is_right for one in answers),
        brier_score=_mean([(one.confidence - one.is_right) ** 2 for one in answers]),
        expected_calibration_error=sum(
            abs(band.confidence - band.share_right) * band.answers for band in bands
        )
        / len(answers),
        bands=bands,
    )


def _inside(number: int, answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers of a band; full confidence belongs to the last."""
    return [one for one in answers if min(int(one.confidence * _BANDS), _BANDS - 1) == number]


def _band(number: int, inside: Sequence[Answer]) -> Band:
    return Band(
        least=number / _BANDS,
        most=(number + 1) / _BANDS,
        answers=len(inside),
        confidence=_mean([one.confidence for one in inside]),
        share_right=_mean([one.is_right for one in inside]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
