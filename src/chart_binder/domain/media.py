"""Media: the year in which each went on sale, and which were common in a year."""

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache

from chart_binder.domain.evidence import Release

_MEDIA = (
    # medium, family, first year on sale
    ("Cylinder", "shellac", 1889),
    ("Shellac", "shellac", 1889),
    ("Flexi-disc", "vinyl", 1962),
    ("SHM-SACD", "disc", 2010),
    ("SACD", "disc", 1999),
    ("SHM-CD", "disc", 2007),
    ("Blu-spec CD", "disc", 2008),
    ("UHQCD", "disc", 2015),
    ("HQCD", "disc", 2008),
    ("HDCD", "disc", 1995),
    ("Copy Control CD", "disc", 2001),
    ("Enhanced CD", "disc", 1994),
    ("8cm CD", "disc", 1987),
    ("DVD-Audio", "disc", 2000),
    ("DualDisc", "disc", 2004),
    ("Download Card", "digital", 2003),
    ("Digital Media", "digital", 1997),
    ("USB Flash Drive", "digital", 2004),
    ("MiniDisc", "tape", 1992),
    ("DAT", "tape", 1987),
    ("DCC", "tape", 1992),
    ("Cassette", "tape", 1963),
    ("8-Track Cartridge", "tape", 1964),
    ("Reel-to-reel", "tape", 1949),
    ("UMD", "video", 2004),
    ("SD Card", "digital", 1999),
    ("slotMusic", "digital", 2008),
    ("Playbutton", "digital", 2011),
    ("Floppy Disk", "digital", 1971),
    ("Blu-ray", "video", 2006),
    ("LaserDisc", "video", 1978),
    ("VHS", "video", 1976),
    ("DVD", "video", 1996),
    ("Vinyl", "vinyl", 1948),
    ("CD", "disc", 1982),
)
"""MusicBrainz's medium formats; a variant (`12" Vinyl`) is found by the name in it."""

_ERAS = (
    # first year, families from the most to the least common
    (2012, ("disc", "digital", "vinyl", "tape")),
    (1990, ("disc", "vinyl", "tape", "digital")),
    (1958, ("vinyl", "tape", "disc", "digital")),
    (1950, ("vinyl", "shellac", "tape", "disc", "digital")),
    (0, ("shellac", "vinyl", "tape", "disc", "digital")),
)
_COUNT = re.compile(r"^\d+\s*[×x]\s*")
_UNUSUAL = 9


@lru_cache(maxsize=1_024)
def first_year_on_sale(media: str) -> int:
    """Return the year in which a format such as `2×Vinyl + CD` first went on sale; 0 if unknown."""
    return max((year for _, year in _media(media)), default=0)


@lru_cache(maxsize=8_192)
def is_too_early(media: str | None, year: str) -> bool:
    """Return whether a format was not on sale yet in a year."""
    return media is not None and year.isdigit() and first_year_on_sale(media) > int(year)


def is_before_its_time(release: Release) -> bool:
    """Return whether a release has a date before its medium existed: that of the original."""
    return bool(release.date) and is_too_early(release.format, (release.date or "")[:4])


def first_day_on_sale(releases: Iterable[Release]) -> int:
    """Return the first day, as an ordinal, on which one of the releases can have come out.

    That is January 1 of the year when the earliest medium went on sale, or day 1 if one is unknown.
    """
    years = [first_year_on_sale(release.format or "") for release in releases]
    return date(max(min(years, default=0), 1), 1, 1).toordinal()


@lru_cache(maxsize=4_096)
def format_rank(media: str | None, year: int) -> int:
    """Return how uncommon a format was in a year; 0 is the main format of that time."""
    families = next(families for start, families in _ERAS if year >= start)
    ranks = [families.index(name) for name, _ in _media(media or "") if name in families]
    return min(ranks, default=_UNUSUAL)


def _media(text: str) -> list[tuple[str, int]]:
    """Return family and first year on sale of each known medium in a format."""
    names = [_COUNT.sub("", part.strip()).casefold() for part in text.split("+")]
    media = (
        next(((family, year) for name, family, year in _MEDIA if name.casefold() in part), None)
        for part in names
    )
    return [medium for medium in media if medium]
