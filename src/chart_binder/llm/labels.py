"""Candidates have short labels, so that a model need not copy identifiers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chart_binder.domain.evidence import EvidenceBundle, Release
from chart_binder.domain.vocabulary import MBID, fold
from chart_binder.rules.candidates import Candidate, candidates_of

_LABEL = re.compile(r"(?<![\w.-])C[0-9]{1,4}(?:\.R[0-9]{1,4})?(?![\w-])")
_QUOTES = " .,'\"`*_"


@dataclass(frozen=True, slots=True)
class Labels:
    """The ids behind `C1` (a release group) and `C1.R2` (a release in it)."""

    ids: Mapping[str, str]
    home: Mapping[str, str]
    """The release group of each release, by id."""
    titles: Mapping[str, str]
    """The title of each release group, by id."""

    @classmethod
    def of(cls, bundle: EvidenceBundle) -> "Labels":
        """Label the candidates of a bundle: the same labels whatever order they came in."""
        ids: dict[str, str] = {}
        home: dict[str, str] = {}
        titles: dict[str, str] = {}
        for label, candidate in labelled(bundle):
            ids[label] = candidate.group.mb_rg_id
            titles[candidate.group.mb_rg_id] = candidate.title
            for release_label, release in labelled_releases(label, candidate):
                ids[release_label] = release.mb_release_id
                home.setdefault(release.mb_release_id, candidate.group.mb_rg_id)
        return cls(ids, home, titles)

    def id_of(self, written: str | None) -> str | None:
        """Return the id that a label stands for, the id itself, or what was written.

        An id of the evidence is meant however its letters are written.
        """
        if not written or written in self.ids:
            return self.ids.get(written or "")
        folded = written.casefold()
        return next((known for known in self.ids.values() if known.casefold() == folded), written)

    def meant_by(self, words: str) -> str:
        """Return the id of the one thing that words name: by label, by id, or by a group's title.

        What names nothing, or several things, is returned as it is.
        """
        named = {self.ids[label] for label in _LABEL.findall(words.upper()) if label in self.ids}
        named |= {self.id_of(found) or found for found in MBID.findall(words.casefold())}
        if not named:
            title = fold(words).strip(_QUOTES)
            named = {known for known, each in self.titles.items() if fold(each) == title}
        only, *others = named or {self.id_of(words) or words}
        return words if others else only

    def name_of(self, identifier: str) -> str:
        """Return what to call the thing with an id: its label, its title, else the id itself."""
        label = next((label for label, known in self.ids.items() if known == identifier), None)
        title = self.titles.get(identifier)
        return f"{label} '{title}'" if title else label or identifier


def labelled(bundle: EvidenceBundle) -> Iterator[tuple[str, Candidate]]:
    """Yield the candidates with their labels, by when the recording came out on them."""
    found = candidates_of(bundle.recording_candidates)
    found.sort(key=lambda c: (c.first, c.last, c.title, c.group.mb_rg_id))
    return ((f"C{number}", candidate) for number, candidate in enumerate(found, start=1))


def labelled_releases(label: str, candidate: Candidate) -> Iterator[tuple[str, Release]]:
    """Yield the releases of a candidate with their labels, those that count first, by date."""
    ordered = [*_by_date(candidate.official), *_by_date(candidate.aside)]
    return ((f"{label}.R{number}", release) for number, release in enumerate(ordered, start=1))


def _by_date(releases: Sequence[Release]) -> list[Release]:
    """Sort by the day by which a release was out for certain: a whole date before its bare year."""
    return sorted(
        releases,
        key=lambda r: (r.when.last, -r.when.first, r.place or "", r.mb_release_id),
    )
