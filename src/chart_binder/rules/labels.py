"""Labels of candidates (`C1`, `C1.R2`), and the candidate that a text names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

from chart_binder.domain.evidence import EvidenceBundle, Release
from chart_binder.domain.vocabulary import MBID, fold, spaced_words
from chart_binder.rules.candidates import Candidate, candidates_in

_LABEL_IN_TEXT = re.compile(r"(?<![\w.-])C[0-9]{1,4}(?:\.R[0-9]{1,4})?(?![\w-])")
_SPELLINGS = (
    (re.compile(r"\bcandidate\s+c?([0-9]{1,4})\b", re.IGNORECASE), r"C\1"),
    (re.compile(r"\bc([0-9]{1,4})\s*[-/_,.]?\s*(?:release\s+r?|r)([0-9]{1,3})\b", re.IGNORECASE),
     r"C\1.R\2"),
)  # fmt: skip
"""Labels as models write them (`Candidate 1`, `C1-R2`, `C1, release 2`), and the usual form."""
_FILLERS = frozenset({"the", "a", "7", "12", "inch", "vinyl", "release", "group", "record"})
_TITLE_QUOTES = " .,'\"`*_“”„«»‘’「」『』"


def labelled_candidates(bundle: EvidenceBundle) -> Iterator[tuple[str, Candidate]]:
    """Return the candidates with their labels, in the order of their dates."""
    candidates = sorted(candidates_in(bundle), key=attrgetter("first", "last", "title", "id"))
    return ((f"C{number}", candidate) for number, candidate in enumerate(candidates, start=1))


def labelled_releases(label: str, candidate: Candidate) -> Iterator[tuple[str, Release]]:
    """Return the releases of a candidate with their labels: official ones first, then by date."""
    ordered = (*sorted(candidate.official, key=_when), *sorted(candidate.unofficial, key=_when))
    return ((f"{label}.R{number}", release) for number, release in enumerate(ordered, start=1))


def _when(release: Release) -> tuple[int, int, str, str]:
    """Return a sort key in which a whole date precedes its month and year."""
    when = release.when
    return when.last, -when.first, release.place or "", release.mb_release_id


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of candidates: `C1` for a release group, `C1.R2` for a release in it.

    `ids` are by label, `home` has the group of each release, `titles` and `kinds` are by group.
    """

    ids: dict[str, str]
    home: dict[str, str]
    titles: dict[str, str]
    kinds: dict[str, str]
    artist: str = ""

    @classmethod
    def of(cls, bundle: EvidenceBundle) -> "Labels":
        """Label the candidates of a bundle; its order makes no difference."""
        labels = cls({}, {}, {}, {}, bundle.performer.name or "")
        for label, candidate in labelled_candidates(bundle):
            group = candidate.id
            labels.ids[label] = group
            labels.titles[group], labels.kinds[group] = candidate.title, candidate.kind
            for release_label, release in labelled_releases(label, candidate):
                labels.ids[release_label] = release.mb_release_id
                labels.home.setdefault(release.mb_release_id, group)
        return labels

    def extended(self, bundle: EvidenceBundle) -> "Labels":
        """Return these labels with the names of groups of another bundle, which get no labels."""
        added = Labels.of(bundle)
        return replace(
            self,
            home={**added.home, **self.home},
            titles={**added.titles, **self.titles},
            kinds={**added.kinds, **self.kinds},
        )

    def id_of(self, text: str | None) -> str | None:
        """Return the id that a text names; None if there is no text."""
        return self.meant_by(text) if text else None

    def meant_by(self, words: str) -> str:
        """Return the id that a text names by a label, an id or a group's title.

        A title may have the artist and the kind beside it; the kind distinguishes groups with the
        same title: `Killer Queen (Single)`. Return the text if it names nothing or several things.
        """
        labels = _LABEL_IN_TEXT.findall(with_usual_labels(words).upper())
        mbids = {self.ids[label] for label in labels if label in self.ids}
        folded = {identifier.casefold(): identifier for identifier in self.ids.values()}
        mbids |= {folded.get(mbid, mbid) for mbid in MBID.findall(words.casefold())}
        only, *further_ids = mbids or self._titled(words) or {folded.get(words.casefold(), words)}
        return words if further_ids else only

    def _titled(self, words: str) -> set[str]:
        """Return the groups whose title a text is, alone or with its kind or artist."""
        title = fold(words).strip(_TITLE_QUOTES)
        bare, _, kind = title.rstrip(")] ").replace("[", "(").rpartition("(")
        bare, titles = bare.strip(_TITLE_QUOTES), self.titles.items()
        return (
            {group for group, its_title in titles if fold(its_title) == title}
            or {
                group
                for group, its_title in titles
                if fold(its_title) == bare and kind.strip() in fold(self.kinds[group])
            }
            or {group for group in self.titles if self._is_named_beside(title, group)}
        )

    def _is_named_beside(self, words: str, group: str) -> bool:
        """Return whether a text is a group's title with its kind or artist, or the kind alone."""
        remaining, name = spaced_words(words), spaced_words(self.titles[group])
        artist, kind = spaced_words(self.artist), fold(self.kinds[group]).split()
        allowed, has_artist = {*kind, *_FILLERS}, False
        if name.strip() and name in remaining:
            remaining = remaining.replace(name, " ", 1)
            has_artist = artist.strip() != "" and artist in remaining
        if has_artist:
            remaining, allowed = remaining.replace(artist, " ", 1), allowed | {"by"}
        unexplained = {*remaining.split()}
        return unexplained <= allowed and (has_artist or kind[-1] in unexplained)

    def label_of(self, identifier: str) -> str | None:
        """Return the label of an id, or None."""
        return next((label for label, its_id in self.ids.items() if its_id == identifier), None)

    def name_of(self, identifier: str) -> str:
        """Return the label and title of an id; the id itself if it has neither."""
        title = self.titles.get(identifier)
        parts = (self.label_of(identifier), f"'{title}'" if title else None)
        return " ".join(filter(None, parts)) or identifier


def with_usual_labels(text: str) -> str:
    """Return a text with its labels in the usual form."""
    for pattern, usual in _SPELLINGS:
        text = pattern.sub(usual, text)
    return text
