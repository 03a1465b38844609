"""Candidates have short labels, so that a model need not copy identifiers."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Labels:
    """The ids behind `C1` (a release group) and `C1.R2` (a release in it)."""

    ids: Mapping[str, str]
    groups: frozenset[str]
    home: Mapping[str, str]
    """The release group of each release, by id."""

    def id_of(self, written: str | None) -> str | None:
        """Return the id that a label stands for, or what was written when it is none."""
        return self.ids.get(written, written) if written else None

    def label_of(self, identifier: str) -> str | None:
        """Return the label of an id."""
        return next((label for label, known in self.ids.items() if known == identifier), None)
