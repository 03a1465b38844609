"""Subject: a record of the evidence, in the words by which a text may name it or other records."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.patches import THE_RECORDING, records_with_id, with_stated_single
from chart_binder.domain.vocabulary import fold, spaced_words, spellings

_ASIDE = re.compile(r"[(\[].*?[)\]]")


@dataclass(frozen=True)
class Subject:
    """A record of the evidence, in the words by which a text may name it or other records."""

    title: str
    artist: str
    artists: frozenset[str]
    """The artist's name in each spelling, as `spaced_words`; empty if it is unknown."""
    recording: str
    kind: str
    """Its types, written as `Album + Live`."""
    names: frozenset[str]
    """The titles of all records of the evidence, unchanged."""
    titles: frozenset[str]
    """Its titles, as `spaced_words`."""
    other_titles: frozenset[str]
    """The titles of the other records."""
    types: tuple[str, frozenset[str]]
    """Its primary type, and those of other records with its title."""
    labels: frozenset[str]
    """The labels of its releases, as `spaced_words`."""
    codes: frozenset[str]
    """Its catalogue numbers, folded."""
    countries: frozenset[str]
    home: str
    """The artist's country; empty if it is unknown."""
    years: frozenset[str]
    """The years of its releases."""
    other_codes: frozenset[str]
    """The catalogue numbers of the group's other releases, folded."""
    rival_codes: frozenset[str]
    """The catalogue numbers of other groups' releases, as `spaced_words`."""
    is_one_of_several: bool
    """Whether it is a release whose group has other official releases."""
    is_listed: bool = True
    """Whether the evidence has it; only the artist's name identifies a single that it lacks."""

    @classmethod
    def of(cls, about: str, bundle: EvidenceBundle) -> "Subject":
        """Return the subject for the id of a release group or a release in the evidence.

        For `THE_RECORDING`, it is a single with the recording's title that the evidence lacks.
        """
        is_listed = about != THE_RECORDING
        bundle = bundle if is_listed else with_stated_single(bundle, None)
        groups, releases = records_with_id(bundle, about)
        homes = groups or [g for g in bundle.groups if not set(releases).isdisjoint(g.editions)]
        records: list[ReleaseGroup | Release] = [*releases, *homes]
        if groups:
            releases = [release for group in groups for release in group.editions]
            records = [*homes, *releases]
        other_groups = [group for group in bundle.groups if group not in homes]
        titles = frozenset(title for record in records for title in _titles(record.title))
        artists = frozenset(spellings(bundle.performer.name or ""))
        release_ids = {release.mb_release_id for release in releases}
        editions = [release for group in homes for release in group.editions]
        siblings = [release for release in editions if release.mb_release_id not in release_ids]
        primary, kinds = (homes[0].types[0], homes[0].kinds) if homes else (None, ())
        codes = _codes(releases)
        return cls(
            title=next((record.title for record in records if record.title), about),
            artist=bundle.performer.name or "",
            artists=artists,
            recording=bundle.recording_title or "",
            kind=" + ".join(filter(None, (primary, *kinds))),
            names=frozenset(record.title for record in [*records, *other_groups] if record.title),
            titles=titles,
            other_titles=_other_titles(other_groups, titles, artists),
            types=(primary or "", _rival_types(other_groups, titles) - {primary or ""}),
            labels=frozenset(spaced_words(release.label) for release in releases if release.label),
            codes=codes,
            countries=frozenset(release.place for release in releases if release.place),
            home=bundle.performer.country or "",
            years=frozenset(release.date[:4] for release in releases if release.date),
            other_codes=_codes(siblings) - codes,
            rival_codes=_spaced_codes(
                _codes(chain.from_iterable(g.editions for g in other_groups))
            ),
            is_one_of_several=any(release.is_official for release in siblings),
            is_listed=is_listed,
        )

    @property
    def of_recording(self) -> "Subject":
        """The recording itself as a subject: any release of it, in any country."""
        titles = frozenset(_titles(self.recording))
        return replace(
            self, title=self.recording, kind="", titles=titles, countries=frozenset(),
            other_titles=self.other_titles - titles, types=("", frozenset()), is_listed=True,
        )  # fmt: skip

    def is_told_apart_in(self, text: str) -> bool:
        """Return whether a text shows that it is about this record, not one of the same title.

        The text must have half of the words of the artist's name (except articles), the label, a
        catalogue number, or another title of the evidence. If no artist is known, any text does.
        """
        if not self.is_listed:
            return self.has_artist_in(text)
        words = spaced_words(text)
        closed = words.replace(" ", "")
        names = [[word for word in name.split() if word not in _COMMON] for name in self.artists]
        signs = (*_spaced_codes(self.codes), *self.labels, *self.other_titles)
        if not any(names) or any(sign in words for sign in signs):
            return True
        return any(
            "".join(name) in closed or 2 * sum(_is_in(word, words) for word in name) >= len(name)
            for name in filter(None, names)
        )

    def is_named_in(self, text: str) -> bool:
        """Return whether a text contains one of its titles."""
        words = spaced_words(text)
        is_sign = not self.titles and self.title.strip() != ""
        return any(title in words for title in self.titles) or (is_sign and self.title in text)

    def has_artist_in(self, text: str) -> bool:
        """Return whether a text contains the artist's name."""
        words = spaced_words(text)
        return any(artist in words for artist in self.artists)

    def is_of_rival(self, text: str) -> bool:
        """Return whether a text has a catalogue number of another group and none of this record."""
        words = spaced_words(text)
        return any(code in words for code in self.rival_codes) and not any(
            spaced_words(code) in words for code in self.codes
        )

    def names_other(self, text: str) -> bool:
        """Return whether a text names another record of the evidence, but not this one."""
        words = spaced_words(text)
        return any(title in words for title in self.other_titles) and not self.is_named_in(text)


_MIN_CODE = 5
"""The length from which a catalogue number cannot be a part of a date or an address."""
_COMMON = frozenset(
    ["the", "and", "of", "a", "los", "las", "les", "le", "la", "die", "der", "das", "de", "il"]
)
"""Words of names that occur in any text."""


def _is_in(word: str, words: str) -> bool:
    """Return whether a word is among spaced words; a long word may inflect: Nová, Nové."""
    stem = word[: max(4, len(word) - 2)]
    return f" {word} " in words or (len(word) > len(stem) and f" {stem}" in words)


def _codes(releases: Iterable[Release]) -> frozenset[str]:
    return frozenset(fold(release.catno) for release in releases if release.catno)


def _spaced_codes(codes: Iterable[str]) -> frozenset[str]:
    """Return catalogue numbers as `spaced_words`, without those that are too short."""
    return frozenset(spaced_words(code) for code in codes if len(code) >= _MIN_CODE)


def _other_titles(
    groups: Iterable[ReleaseGroup], titles: frozenset[str], artists: frozenset[str]
) -> frozenset[str]:
    """Return the titles of other groups that are neither among `titles` nor in an artist's name."""
    names = frozenset(title for group in groups for title in _titles(group.title)) - titles
    return frozenset(name for name in names if not any(name in artist for artist in artists))


def _rival_types(groups: Iterable[ReleaseGroup], titles: frozenset[str]) -> frozenset[str]:
    """Return the primary types of the groups that share a title."""
    rivals = (group for group in groups if not titles.isdisjoint(_titles(group.title)))
    return frozenset(group.types[0] for group in rivals if group.types[0])


def _titles(title: str | None) -> Iterator[str]:
    """Yield the names in a title as `spaced_words`: its sides, with and without brackets."""
    for side in (title, *title.split(" / ")) if title else ():
        for name in (side, _ASIDE.sub(" ", side)):
            yield from spellings(name)
