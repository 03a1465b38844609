"""Measure a model's confidence against what was right, and fit a calibration of it."""

from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from chart_binder.domain.evidence_json import defect
from chart_binder.domain.records import VerdictKind, VerdictRecord
from chart_binder.domain.verdict import ConfidenceMap, Point
from chart_binder.domain.vocabulary import bare_id
from chart_binder.errors import CanonError, DamagedRecordError
from chart_binder.jobs.stored_decisions import read_decision
from chart_binder.llm.result import AdjudicationResult

if TYPE_CHECKING:
    from chart_binder.store import Store

_BANDS = 10
Confidence = Annotated[float, msgspec.Meta(ge=0, le=1)]


class KnownAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer known to be right or wrong: the confidence stated (0..1), an `id` for people."""

    confidence: Confidence
    right: bool
    id: str | None = None

    @classmethod
    def of(
        cls, result: AdjudicationResult, *, right: bool, name: str | None = None
    ) -> "KnownAnswer":
        """Return the stated confidence of a result, and whether the result was right."""
        stated = result.stated_confidence
        return cls(result.confidence if stated is None else stated, right, name)

    def line(self) -> bytes:
        """Return the answer as a line of a file."""
        return msgspec.json.encode(self) + b"\n"


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


def measure_calibration(answers: Sequence[KnownAnswer]) -> Calibration | None:
    """Return the calibration, `None` if there are no answers."""
    if not answers:
        return None
    inside: defaultdict[int, list[KnownAnswer]] = defaultdict(list)
    for one in answers:  # full confidence belongs to the last band
        inside[min(int(one.confidence * _BANDS), _BANDS - 1)].append(one)
    bands = tuple(
        Band(
            least=number / _BANDS,
            most=(number + 1) / _BANDS,
            answers=len(each),
            confidence=fmean(one.confidence for one in each),
            share_right=fmean(one.right for one in each),
        )
        for number, each in sorted(inside.items())
    )
    return Calibration(
        answers=len(answers),
        right=sum(one.right for one in answers),
        brier_score=fmean((one.confidence - one.right) ** 2 for one in answers),
        expected_calibration_error=sum(
            abs(band.confidence - band.share_right) * band.answers for band in bands
        )
        / len(answers),
        bands=bands,
    )


def read_answers(lines: Iterable[bytes], place: str) -> Iterator[KnownAnswer]:
    """Yield the answer in every line. Raises `CanonError` with the number of an invalid line."""
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(BOM_UTF8) if number == 1 else line
        if not text.strip():
            continue
        try:
            yield _DECODER.decode(text)
        except msgspec.ValidationError as error:
            problem = ": ".join(filter(None, defect(error)))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problem = str(error)
        else:
            continue
        raise CanonError(
            f'{place}: line {number}: {problem}; {{"confidence": 0.9, "right": true}} is allowed'
        )


_DECODER = msgspec.json.Decoder(KnownAnswer)
MIN_ANSWERS = 30
"""With fewer answers a fit says more about chance than about the model."""
_FOLDS = 5
_DIGITS = 6
"""Confidences that are equal to this precision count as one."""


class FittedCalibration(msgspec.Struct, frozen=True):
    """A calibration, and how it does on answers that it was not fitted from."""

    map: ConfidenceMap
    as_stated: Calibration
    calibrated: Calibration
    """On held-out answers: each fifth is calibrated by a fit of the other four."""

    @property
    def is_better(self) -> bool:
        """Whether confidence is better with the calibration than without."""
        return self.calibrated.brier_score < self.as_stated.brier_score


def fit_and_measure(answers: Sequence[KnownAnswer]) -> FittedCalibration:
    """Fit a calibration and measure it. Raises `CanonError` for too few answers."""
    if len(answers) < MIN_ANSWERS:
        raise CanonError(
            f"a calibration needs {MIN_ANSWERS} answers known to be right or wrong, and there are"
            f" {len(answers)}"
        )
    held_out: list[KnownAnswer] = []
    for fold in range(_FOLDS):
        worth = fit_map([one for n, one in enumerate(answers) if n % _FOLDS != fold])
        held_out += (KnownAnswer(worth(one.confidence), one.right) for one in answers[fold::_FOLDS])
    stated = measure_calibration(answers)
    calibrated = measure_calibration(held_out)
    assert stated is not None
    assert calibrated is not None
    return FittedCalibration(fit_map(answers), stated, calibrated)


def fit_map(answers: Sequence[KnownAnswer]) -> ConfidenceMap:
    """Return the rising map from confidence to share right that fits best (isotonic regression)."""
    given = Counter(round(known.confidence, _DIGITS) for known in answers)
    right = Counter(round(known.confidence, _DIGITS) for known in answers if known.right)
    pools: list[_Pool] = []
    for stated in sorted(given):
        pool = _Pool(stated * given[stated], given[stated], right[stated])
        while pools and pools[-1].share >= pool.share:
            before = pools.pop()
            pool = _Pool(
                before.total + pool.total, before.answers + pool.answers, before.right + pool.right
            )
        pools.append(pool)
    return ConfidenceMap(
        tuple(Point(pool.total / pool.answers, pool.share) for pool in pools), len(answers)
    )


class _Pool(NamedTuple):
    total: float
    answers: int
    right: int

    @property
    def share(self) -> float:
        return (self.right + 1) / (self.answers + 2)


def reviewed_answers(
    store: "Store", model_id: str, unread: Callable[[str], None]
) -> list[KnownAnswer]:  # fmt: skip
    """Return each answer of a model that a person accepted or rejected, once for its evidence.

    Answers without a release group do not count; the problem of one that cannot be read is passed
    to `unread`. Raises `StoreError`, and `CanonError` that lists other models if there are too few
    answers to fit a calibration.
    """
    counts: Counter[str] = Counter()
    found: dict[tuple[str, str, float], KnownAnswer] = {}
    for verdict in store.verdicts.spoken():
        try:
            kept = store.decisions.by_id(verdict.decision_id)
            result = read_decision(kept).adjudication if kept else None
        except DamagedRecordError as error:
            unread(str(error))
            continue
        if result is None or not result.crg_mbid:
            continue
        known = KnownAnswer.of(result, right=_is_right(verdict, result), name=verdict.decision_id)
        if result.model_id == model_id:
            # Files that share evidence may share its one answer: the newest verdict on it counts.
            found[result.evidence_hash, result.crg_mbid, known.confidence] = known
        else:
            counts[result.model_id] += 1
    if len(found) < MIN_ANSWERS:
        listed = ", ".join(f"{count} of {name!r}" for name, count in counts.most_common())
        others = f" ({listed}: llm.model_id says which)" if listed else ""
        raise CanonError(
            f"a calibration needs {MIN_ANSWERS} answers that were reviewed, and there are"
            f" {len(found)} of the model {model_id!r}{others}"
        )
    return list(found.values())


def _is_right(verdict: VerdictRecord, result: AdjudicationResult) -> bool:
    if verdict.crg_mbid and result.crg_mbid:
        return bare_id(verdict.crg_mbid) == bare_id(result.crg_mbid)
    return verdict.verdict is VerdictKind.ACCEPT
