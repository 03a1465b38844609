"""Sentences that say the same of several files are counted together, the first of them in full."""

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

_MOST_KINDS = 200
_OTHER = "others"
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|/\S+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\d+(?:\.\d+)?")
"""What differs from file to file in sentences that say the same."""


@dataclass(slots=True)
class Kinds:
    """Counts sentences by what they have in common; more of them take no more room."""

    _counts: Counter[str] = field(default_factory=Counter)
    _first: dict[str, tuple[str, Path | None]] = field(default_factory=dict)

    def add(self, why: str, path: Path) -> None:
        """Count what was said of a file."""
        kind = _PARTICULAR.sub("…", why)
        is_other = kind not in self._counts and len(self._counts) >= _MOST_KINDS
        if is_other:
            kind = _OTHER
        self._counts[kind] += 1
        self._first.setdefault(kind, (_OTHER, None) if is_other else (why, path))

    def counts(self) -> dict[str, int]:
        """Return the first sentence of each kind with how many there are, the most frequent first.

        Beyond a bound, kinds are counted together as `others`.
        """
        return {self._first[kind][0]: count for kind, count in self._counts.most_common()}

    def files(self) -> dict[str, str]:
        """Return the file that each of those sentences was said of."""
        return {why: readable(path) for why, path in self._first.values() if path}


def readable(path: Path) -> str:
    """Return a path as text that JSON can hold."""
    return os.fsencode(path).decode("utf-8", errors="replace")
