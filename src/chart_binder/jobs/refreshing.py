"""Evidence is fetched anew until one look-up after the other fails."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.errors import LookupFailedError, NothingFoundError

MOST_IN_A_ROW = 3
"""Look-ups that fail one after the other, each after tries of its own, before no more are made."""


class NotAskedError(LookupFailedError):
    """Nothing was asked: the look-ups before had failed."""


@dataclass(slots=True)
class Refreshing:
    """Gathers evidence by `gather`, and does not ask any more where that keeps failing."""

    gather: Callable[[Path], EvidenceBundle]
    in_a_row: int = 0
    why: str = ""

    def __call__(self, path: Path) -> EvidenceBundle:
        """Return the evidence for a file; raise as `gather` does, or `NotAskedError`."""
        if self.in_a_row >= MOST_IN_A_ROW:
            raise NotAskedError(
                f"{MOST_IN_A_ROW} look-ups in a row had failed, so no more were made: {self.why}"
            )
        try:
            found = self.gather(path)
        except LookupFailedError as error:
            self.in_a_row += 1
            self.why = str(error)
            raise
        except NothingFoundError:
            self.in_a_row = 0  # that, too, is an answer
            raise
        self.in_a_row = 0
        return found
