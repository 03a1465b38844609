"""Confidence maps: what a stated confidence is worth, fitted to answers that were judged."""

from bisect import bisect
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Literal

import msgspec

from chart_binder.errors import ConfigError
from chart_binder.files import decode_json

_MAX_BYTES = 1_000_000


class Point(msgspec.Struct, frozen=True):
    """Of the answers given with confidence `stated`, the share `right` was right (both 0..1)."""

    stated: float
    right: float


class ConfidenceMap(msgspec.Struct, frozen=True):
    """A map from stated confidence to the share that is right: linear between points, flat beyond.

    `stated` grows from point to point and `right` never falls. Without points, confidence is
    returned as stated.
    """

    points: tuple[Point, ...] = ()
    answers: int = 0
    """The number of answers that the map was fitted to."""
    version: Literal[1] = 1

    def __post_init__(self) -> None:
        """Raise `ValueError` for points out of range or out of order."""
        known = [(point.stated, point.right) for point in self.points]
        if not all(0 <= stated <= 1 and 0 <= right <= 1 for stated, right in known):
            raise ValueError("points must be from 0 to 1")
        for (stated, right), (later, other) in pairwise(known):
            if later <= stated or other < right:
                raise ValueError("points must grow in stated, and not fall in right")

    def __call__(self, stated: float) -> float:
        """Return the calibrated confidence."""
        if not self.points:
            return stated
        at = bisect(self.points, stated, key=attrgetter("stated"))
        before, after = self.points[max(0, at - 1)], self.points[min(at, len(self.points) - 1)]
        if before is after or stated <= before.stated:
            return before.right
        share = (stated - before.stated) / (after.stated - before.stated)
        return before.right + share * (after.right - before.right)


AS_STATED = ConfidenceMap()


def read_confidence_map(path: Path) -> ConfidenceMap:
    """Read what `canon calibrate -o` wrote. Raises `ConfigError`."""
    try:
        with path.open("rb") as stream:
            return decode_json(stream.read(_MAX_BYTES), ConfidenceMap)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"llm.acceptance.calibration: {path} cannot be read ({why});"
            " `canon calibrate ANSWERS.jsonl -o FILE` writes one"
        ) from error
