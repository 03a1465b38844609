"""The country an artist is from."""

from collections.abc import Iterator

from chart_binder.domain.words import NO_COUNTRIES
from chart_binder.musicbrainz.answers import Area
from chart_binder.musicbrainz.answers import Artist as ArtistRecord


def country_of(artist: ArtistRecord) -> str | None:
    """Return the country an artist began in, or else belongs to; historical ones as they were.

    A city has at most an ISO 3166-2 code, such as `GB-LND`, whose prefix is the country. Worldwide
    and Europe (`XW`, `XE`) are none.
    """
    return next((code for code in _codes(artist) if code not in NO_COUNTRIES), None)


def _codes(artist: ArtistRecord) -> Iterator[str]:
    for area in (artist.begin_area, artist.area):
        yield from _country_codes(area or Area())
    if artist.country:
        yield artist.country


def _country_codes(area: Area) -> Iterator[str]:
    yield from filter(None, area.iso_3166_1_code_list)
    yield from (code.partition("-")[0] for code in area.iso_3166_2_code_list if code)
