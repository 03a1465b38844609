"""What part a release group plays in the story of a recording, by its types."""

import enum
from functools import lru_cache

from chart_binder.domain.evidence import ReleaseGroup
from chart_binder.domain.words import type_names


class Role(enum.Enum):
    """The parts that the rules tell apart."""

    SOUNDTRACK = "soundtrack"
    ALBUM = "album"
    """A studio album: an Album by one artist, of none of the types in `_NO_STUDIO_ALBUM`."""
    SINGLE = "single"
    """A single or EP, remixes and demos included."""
    LIVE = "live"
    OTHER = "other"
    """An official work all the same: a remix album, a broadcast, a tribute by many artists."""
    COMPILATION = "compilation"
    """It gathers what came out elsewhere: a compilation or a DJ's mix."""


_GATHERING = ("Compilation", "DJ-mix")
_NO_STUDIO_ALBUM = frozenset({*_GATHERING, "Soundtrack", "Live", "Remix"})
"""Secondary types of an Album that no single leads to; a mixtape or a demo album is one."""


@lru_cache(maxsize=1_024)
def part_of(primary: str | None, secondary: tuple[str, ...]) -> tuple[Role, str]:
    """Return the role by the types of a group, and what to call such a record.

    Types are MusicBrainz' own (musicbrainz.org/doc/Release_Group/Type); the noun is `single`,
    `live album`, `remix EP`, `DJ mix` ...
    """
    record, kinds = type_names(primary, secondary)
    return _role(record, kinds), _noun(record, kinds)


def _role(record: str | None, kinds: tuple[str, ...]) -> Role:
    if any(kind in _GATHERING for kind in kinds):
        return Role.COMPILATION
    if "Soundtrack" in kinds:
        return Role.SOUNDTRACK
    if "Live" in kinds:
        return Role.LIVE
    if record in ("Single", "EP"):
        return Role.SINGLE
    is_studio = record == "Album" and _NO_STUDIO_ALBUM.isdisjoint(kinds)
    return Role.ALBUM if is_studio else Role.OTHER


def _noun(record: str | None, kinds: tuple[str, ...]) -> str:
    noun = {"Album": "album", "Single": "single", "EP": "EP"}.get(record or "", "record")
    if "Compilation" in kinds:
        return "soundtrack compilation" if "Soundtrack" in kinds else "compilation"
    if "DJ-mix" in kinds:
        return "DJ mix"
    if "Soundtrack" in kinds:
        return "soundtrack" if noun != "single" else "soundtrack single"
    if "Mixtape/Street" in kinds:
        return "mixtape"
    return " ".join([*(kind.casefold() for kind in kinds[:1]), noun])


def gathers(group: ReleaseGroup) -> bool:
    """Whether it is a compilation by its types, be it one that runs as a soundtrack."""
    role, _ = part_of(group.primary_type, group.secondary_types or ())
    return role is Role.COMPILATION


def is_soundtrack(group: ReleaseGroup) -> bool:
    """Whether it is a soundtrack, be it one of songs that were out before."""
    return _sounds(group.primary_type, group.secondary_types or ())


@lru_cache(maxsize=1_024)
def _sounds(primary: str | None, secondary: tuple[str, ...]) -> bool:
    return "Soundtrack" in type_names(primary, secondary)[1]
