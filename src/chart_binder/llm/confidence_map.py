"""What a model's confidence has been worth stands in a file that `canon calibrate` writes."""

from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec

from chart_binder.errors import ConfigError
from chart_binder.typed import decoded

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


def read_map(path: Path) -> ConfidenceMap:
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
