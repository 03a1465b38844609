"""What part a release group plays in the story of a recording, by its types."""

import enum
from functools import lru_cache

from chart_binder.domain.evidence import ReleaseGroup
from chart_binder.domain.words import type_names


class Role(enum.Enum):
    """The parts that the rules tell apart."""

    SOUNDTRACK = "soundtrack"
    ALBUM = "album"
    """A studio album: an Album without any secondary type, by one artist."""
    SINGLE = "single"
    """A single or EP, remixes and demos included."""
    LIVE = "live"
    OTHER = "other"
    """An official work all the same: a remix album, a mixtape, a tribute by many artists."""
    COMPILATION = "compilation"
    """It gathers what came out elsewhere: a compilation or a DJ's mix."""


_GATHERING = ("Compilation", "DJ-mix")


@lru_cache(maxsize=1_024)
def role_of(primary: str | None, kinds: tuple[str, ...]) -> Role:
    """Return the role by the types of a group (musicbrainz.org/doc/Release_Group/Type)."""
    primary, kinds = type_names(primary, kinds)
    if any(kind in _GATHERING for kind in kinds):
        return Role.COMPILATION
    if "Soundtrack" in kinds:
        return Role.SOUNDTRACK
    if "Live" in kinds:
        return Role.LIVE
    if primary in ("Single", "EP"):
        return Role.SINGLE
    return Role.ALBUM if primary == "Album" and not kinds else Role.OTHER


@lru_cache(maxsize=1_024)
def noun(primary: str | None, kinds: tuple[str, ...]) -> str:
    """Return what to call such a record: `single`, `live album`, `remix EP`, `DJ mix` ..."""
    primary, kinds = type_names(primary, kinds)
    record = {"Album": "album", "Single": "single", "EP": "EP"}.get(primary or "", "record")
    if "Compilation" in kinds:
        return "soundtrack compilation" if "Soundtrack" in kinds else "compilation"
    if "DJ-mix" in kinds:
        return "DJ mix"
    if "Soundtrack" in kinds:
        return "soundtrack" if record != "single" else "soundtrack single"
    if "Mixtape/Street" in kinds:
        return "mixtape"
    return " ".join([*(kind.casefold() for kind in kinds[:1]), record])


def is_soundtrack(group: ReleaseGroup) -> bool:
    """Whether it is a soundtrack, be it one of songs that were out before."""
    return "Soundtrack" in group.kinds
