"""Subject: a record of the evidence, in the words by which a text may name it or other records."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.patches import THE_RECORDING, records_with_id, with_stated_single
from chart_binder.domain.vocabulary import fold, spaced_words, spellings

_ASIDE = re.compile(r"[(\[].*?[)\]]")


@dataclass(frozen=True)
class ArtistNames:
    """An artist's names and country, empty if they are unknown."""

    name: str
    spellings: frozenset[str]
    """The name in each spelling, as `spaced_words`."""
    country: str


@dataclass(frozen=True)
class EditionMarks:
    """What texts print of the releases of a record: labels, numbers, countries and years."""

    labels: frozenset[str]
    """The labels, as `spaced_words`."""
    numbers: frozenset[str]
    """The catalogue numbers, folded."""
    countries: frozenset[str]
    years: frozenset[str]

    @classmethod
    def of(cls, releases: Sequence[Release]) -> "EditionMarks":
        """Return the marks of releases."""
        return cls(
            labels=frozenset(spaced_words(release.label) for release in releases if release.label),
            numbers=_numbers(releases),
            countries=frozenset(release.place for release in releases if release.place),
            years=frozenset(release.date[:4] for release in releases if release.date),
        )


@dataclass(frozen=True)
class OtherRecords:
    """The other records of the evidence, which a text may mean instead."""

    titles: frozenset[str]
    """The titles of other groups, as `spaced_words`."""
    types: frozenset[str]
    """The primary types of other groups that share a title with the record."""
    numbers: frozenset[str]
    """The catalogue numbers of other groups' releases, as `spaced_words`."""
    sibling_numbers: frozenset[str]
    """The catalogue numbers of the other releases of its group, folded."""
    has_official_siblings: bool
    """Whether its group has other official releases."""


@dataclass(frozen=True)
class Subject:
    """A record of the evidence that a text may be about, and what the text may call it."""

    title: str
    recording: str
    """The title of the recording."""
    primary_type: str
    kind: str
    """All its types, written as `Album + Live`."""
    titles: frozenset[str]
    """Its titles, as `spaced_words`."""
    all_titles: frozenset[str]
    """The titles of all records of the evidence, unchanged."""
    artist: ArtistNames
    editions: EditionMarks
    other_records: OtherRecords
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
        artist = bundle.performer.name or ""
        names = ArtistNames(artist, frozenset(spellings(artist)), bundle.performer.country or "")
        primary, kinds = (homes[0].types[0], homes[0].kinds) if homes else (None, ())
        editions = EditionMarks.of(releases)
        release_ids = {release.mb_release_id for release in releases}
        siblings = [release for group in homes for release in group.editions
                    if release.mb_release_id not in release_ids]  # fmt: skip
        rival_releases = chain.from_iterable(group.editions for group in other_groups)
        other_records = OtherRecords(
            titles=_other_titles(other_groups, titles, names.spellings),
            types=_rival_types(other_groups, titles) - {primary or ""},
            numbers=_spaced_numbers(_numbers(rival_releases)),
            sibling_numbers=_numbers(siblings) - editions.numbers,
            has_official_siblings=any(release.is_official for release in siblings),
        )
        return cls(
            title=next((record.title for record in records if record.title), about),
            recording=bundle.recording_title or "",
            primary_type=primary or "",
            kind=" + ".join(filter(None, (primary, *kinds))),
            titles=titles,
            all_titles=frozenset(r.title for r in [*records, *other_groups] if r.title),
            artist=names,
            editions=editions,
            other_records=other_records,
            is_listed=is_listed,
        )

    @property
    def of_recording(self) -> "Subject":
        """The recording itself as a subject: any release of it, in any country."""
        titles = frozenset(_titles(self.recording))
        editions = replace(self.editions, countries=frozenset())
        other_records = replace(
            self.other_records, titles=self.other_records.titles - titles, types=frozenset()
        )
        return replace(
            self, title=self.recording, primary_type="", kind="", titles=titles, editions=editions,
            other_records=other_records, is_listed=True,
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
        editions, spelled = self.editions, (name.split() for name in self.artist.spellings)
        names = [[word for word in name if word not in _COMMON] for name in spelled]
        signs = (*_spaced_numbers(editions.numbers), *editions.labels, *self.other_records.titles)
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
        return any(artist in words for artist in self.artist.spellings)

    def has_number_in(self, text: str) -> bool:
        """Return whether a text contains one of its catalogue numbers."""
        folded = fold(text)
        return any(number in folded for number in self.editions.numbers)

    def is_named_or_numbered_in(self, text: str) -> bool:
        """Return whether a text contains one of its titles or catalogue numbers."""
        return self.is_named_in(text) or self.has_number_in(text)

    def is_of_rival(self, text: str) -> bool:
        """Return whether a text has a catalogue number of another group and none of this record."""
        words = spaced_words(text) if self.other_records.numbers else ""
        return any(number in words for number in self.other_records.numbers) and not any(
            spaced_words(number) in words for number in self.editions.numbers
        )

    def names_other(self, text: str) -> bool:
        """Return whether a text names another record of the evidence, but not this one."""
        words = spaced_words(text)
        return any(title in words for title in self.other_records.titles) and not self.is_named_in(
            text
        )


_MIN_NUMBER = 5
"""The length from which a catalogue number cannot be a part of a date or an address."""
_COMMON = frozenset(
    ["the", "and", "of", "a", "los", "las", "les", "le", "la", "die", "der", "das", "de", "il"]
)
"""Words of names that occur in any text."""


def _is_in(word: str, words: str) -> bool:
    """Return whether a word is among spaced words; a long word may inflect: Nová, Nové."""
    stem = word[: max(4, len(word) - 2)]
    return f" {word} " in words or (len(word) > len(stem) and f" {stem}" in words)


def _numbers(releases: Iterable[Release]) -> frozenset[str]:
    return frozenset(fold(release.catno) for release in releases if release.catno)


def _spaced_numbers(numbers: Iterable[str]) -> frozenset[str]:
    """Return catalogue numbers as `spaced_words`, without those that are too short."""
    return frozenset(spaced_words(number) for number in numbers if len(number) >= _MIN_NUMBER)


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
