"""Naming: how a text names a record, and words and quotes found in it whatever their spelling."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.patches import things
from chart_binder.domain.vocabulary import fold

_ASIDE = re.compile(r"[(\[].*?[)\]]")
_NO_WORDS = re.compile(r"[\W_]+")
_APOSTROPHES = re.compile("(?<=\\w)['’](?=\\w)")


@dataclass(frozen=True)
class Subject:
    """A record of the evidence in the words by which a text may name it, or name another."""

    title: str
    artist: str
    artists: frozenset[str]
    """The artist's name in each spelling, as `spaced_words`; none where it is not known."""
    recording: str
    """The title of the recording that is asked about."""
    kind: str
    """Its types, as a person says them: `Album + Live`."""
    names: frozenset[str]
    """The titles of all records of the evidence, as they are written."""
    own: frozenset[str]
    """Its titles, as `spaced_words`."""
    others: frozenset[str]
    """The titles of the other records."""
    types: tuple[str, frozenset[str]]
    """Its primary type, and those of other records of its title."""
    labels: frozenset[str]
    """The labels of its releases, as `spaced_words`."""
    codes: frozenset[str]
    """Its catalogue numbers, folded."""
    countries: frozenset[str]
    home: str
    """The artist's country; empty where it is not known."""
    years: frozenset[str]
    """The years of its releases."""
    other_codes: frozenset[str]
    """The catalogue numbers of the group's other releases, folded."""
    is_one_of_several: bool
    """Whether it is a release beside others of its group that are official."""

    @classmethod
    def of(cls, about: str, bundle: EvidenceBundle) -> "Subject":
        """Return the subject for the id of a release group or a release of the evidence."""
        every = [group for each in bundle.recording_candidates for group in each.groups]
        groups, releases = things(bundle, about)
        own = groups or [g for g in every if any(one in releases for one in g.editions)]
        known: list[ReleaseGroup | Release] = [*releases, *own]
        if groups:
            releases = [one for group in groups for one in group.editions]
            known = [*own, *releases]
        others = [group for group in every if group not in own]
        titles = frozenset(title for one in known for title in _titles(one.title))
        artists = frozenset(_spellings(bundle.performer.name or ""))
        mine = {one.mb_release_id for one in releases}
        siblings = [one for g in own for one in g.editions if one.mb_release_id not in mine]
        primary, kinds = (own[0].types[0], own[0].kinds) if own else (None, ())
        same = {g.types[0] for g in others if not titles.isdisjoint(_titles(g.title))}
        codes = _codes(releases)
        return cls(
            title=next((one.title for one in known if one.title), about),
            artist=bundle.performer.name or "",
            artists=artists,
            recording=bundle.recording_title or "",
            kind=" + ".join(filter(None, (primary, *kinds))),
            names=frozenset(one.title for one in [*known, *others] if one.title),
            own=titles,
            others=frozenset(
                title
                for group in others
                for title in _titles(group.title)
                if title not in titles and not any(title in artist for artist in artists)
            ),
            types=(primary or "", frozenset(filter(None, same - {primary}))),
            labels=frozenset(spaced_words(one.label) for one in releases if one.label),
            codes=codes,
            countries=frozenset(one.place for one in releases if one.place),
            home=bundle.performer.country or "",
            years=frozenset(one.date[:4] for one in releases if one.date),
            other_codes=_codes(siblings) - codes,
            is_one_of_several=any(one.is_official for one in siblings),
        )

    @property
    def of_recording(self) -> "Subject":
        """The recording itself as a subject: whatever release of it, in whatever country."""
        own = frozenset(_titles(self.recording))
        return replace(
            self, title=self.recording, kind="", own=own, others=self.others - own,
            types=("", frozenset()), countries=frozenset(),
        )  # fmt: skip

    def is_told_apart_in(self, text: str) -> bool:
        """Return whether a text tells it from a record of the same title by another artist.

        It does by half of the words of the artist's name (articles do not count), by the label or a
        catalogue number, or by another title of the evidence; also where no artist is known.
        """
        words = spaced_words(text)
        closed = words.replace(" ", "")
        names = [[word for word in name.split() if word not in _COMMON] for name in self.artists]
        codes = (spaced_words(code) for code in self.codes if len(code) >= _MIN_CODE)
        if not any(names) or any(one in words for one in (*codes, *self.labels, *self.others)):
            return True
        return any(
            "".join(name) in closed or 2 * sum(_is_in(word, words) for word in name) >= len(name)
            for name in filter(None, names)
        )

    def is_named_in(self, text: str) -> bool:
        """Return whether a text names it by a title."""
        words = spaced_words(text)
        is_sign = not self.own and self.title.strip() != ""
        return any(title in words for title in self.own) or (is_sign and self.title in text)

    def has_artist_in(self, text: str) -> bool:
        """Return whether a text has the artist's name."""
        words = spaced_words(text)
        return any(artist in words for artist in self.artists)

    def names_other(self, text: str) -> bool:
        """Return whether a text names another record of the evidence, and not this one."""
        words = spaced_words(text)
        return any(title in words for title in self.others) and not self.is_named_in(text)


_MIN_CODE = 5
"""Letters of a catalogue number that is no part of a date or an address."""
_COMMON = frozenset(
    ["the", "and", "of", "a", "los", "las", "les", "le", "la", "die", "der", "das", "de", "il"]
)
"""Words of names that stand in any text."""


def _is_in(word: str, words: str) -> bool:
    """Return whether a word is among spaced ones; a long one with any ending: Nová, Nové."""
    stem = word[: max(4, len(word) - 2)]
    return f" {word} " in words or (len(word) > len(stem) and f" {stem}" in words)


def _codes(releases: Iterable[Release]) -> frozenset[str]:
    return frozenset(fold(one.catno) for one in releases if one.catno)


def _titles(title: str | None) -> Iterator[str]:
    """Yield the names in a title as `spaced_words`: its sides, with and without asides."""
    for side in (title, *title.split(" / ")) if title else ():
        for name in (side, _ASIDE.sub(" ", side)):
            yield from _spellings(name)


def _spellings(name: str) -> Iterator[str]:
    """Yield a name as `spaced_words`, of Cyrillic and Greek letters in Latin ones too."""
    written = unicodedata.normalize("NFC", name).casefold()
    others = (fold(written.translate(each)).translate(each) for each in _LATIN)
    for each in dict.fromkeys((written, *others)):
        if (words := spaced_words(each)).strip():
            yield words


_LETTERS = (
    "а б в г ґ д е ё є ж з и і ї й к л м н о п р с т у ф х ц ч ш щ ъ ы ь э ю я "
    "α β γ δ ε ζ η θ ι κ λ μ ν ξ ο π ρ σ ς τ υ φ χ ψ ω"
)
_ENGLISH = (
    "a b v g g d e yo ye zh z i i yi y k l m n o p r s t u f kh ts ch sh shch _ y _ e yu ya "
    "a v g d e z i th i k l m n x o p r s s t y f ch ps o"
)
_SCHOLARLY = (
    "a b v g g d e e je z z i i ji j k l m n o p r s t u f ch c c s sc _ y _ e ju ja "
    "a b g d e z e th i k l m n x o p r s s t u ph kh ps o"
)
_COLLOQUIAL = (
    "a b v g g d e e e zh z i i i i k l m n o p r s t u f h ts ch sh sch _ i _ e iu ia "
    "a v g d e z i th i k l m n ks o p r s s t i f h ps o"
)
_LATIN = [
    dict(zip(map(ord, _LETTERS.split()), (sign.strip("_") for sign in way.split()), strict=True))
    for way in (_ENGLISH, _SCHOLARLY, _COLLOQUIAL)
]
"""Latin letters for Cyrillic and Greek ones, in three usual ways, without their accents."""


@lru_cache(256)
def spaced_words(text: str) -> str:
    """Return the words of a text with one space around each, in one of their usual spellings."""
    plain = _APOSTROPHES.sub("", fold(text)).replace("&", " and ")
    return f" {_NO_WORDS.sub(' ', plain).strip()} ".replace(" pt ", " part ")


def find_words(words: Iterable[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield where one of the words stands as a whole; short ones count in capitals alone."""
    normal, places = plain_text(text)
    for word in words:
        for found in re.finditer(rf"(?<!\w){re.escape(plain_text(word)[0])}(?!\w)", normal):
            start, end = places[found.start()], places[found.end() - 1] + 1
            if len(word) > 3 or not word.isalpha() or text[start:end].isupper():  # noqa: PLR2004
                yield start, end


_DROPPED = frozenset("\\\"'“”„‟‘’‚‛«»‹›「」『』*_`")
_DASHES = frozenset("-‐‑‒–—―−")


def plain_text(text: str) -> tuple[str, list[int]]:
    """Return a text without case, accents, quotation marks and kinds of dash and space.

    A colon behind a label and what parts cells are a space, so that `Released: 1974` is in the row.
    With it stands the offset in the text of each character.
    """
    signs: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        if letter in _DROPPED:
            continue
        is_label_end = letter == ":" and (text[place + 1 : place + 2] or " ").isspace()
        if letter.isspace() or letter == "|" or is_label_end:
            if signs and signs[-1] != " ":
                signs.append(" ")
                places.append(place)
            continue
        for sign in "-" if letter in _DASHES else fold(letter):
            signs.append(sign)
            places.append(place)
    return "".join(signs), places


def minutes(length_ms: int) -> str:
    """Return a length as minutes and seconds: `3:05`."""
    return "{}:{:02}".format(*divmod(round(length_ms / 1000), 60))
