"""Write the tables of an index from the staged dump, each in the order of its key."""

import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import structs

from chart_binder.errors import IndexFileError
from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.areas import Areas, collation_key
from chart_binder.musicbrainz.index.dump import Meter
from chart_binder.musicbrainz.index.staging import first_row, read_queries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ROWS_OF_RANGE: Final = 200_000
_RELEASES_WITH_TRACKS: Final = 20_000
"""Rows that are aggregated at once, which bounds the memory of a build."""
_CHUNK = 10_000
_NOT_SHOWN: Final = frozenset({"", "0"})
"""Catalogue numbers that the web service leaves out, but sorts by."""

_SOURCES: Final = {
    "artist_name": "hash_artist_name",
    "discography": "artist",
    "group_title": "release_group",
    "identifier": "release",
    "isrc": "isrc_key",
    "media": "release",
    "title": "recording",
    "word": "link_type",
}
"""The staged tables that have about as many rows as a table of the index, if not its namesake."""

Row: TypeAlias = tuple[Any, ...]


def write_tables(
    staging: "DuckDBPyConnection", file: sqlite3.Connection, areas: Areas, meter: Meter
) -> None:
    """Write all tables but `meta`."""
    writer = _Writer(staging, file, meter)
    changes: dict[str, Callable[[Iterable[Row]], Iterable[Row]]] = {
        "artist": partial(map, partial(_artist, areas)),
        "credit": partial(map, _credit),
        "release_group": partial(map, _group),
        "release": partial(map, partial(_release, areas)),
        "media": _grouped,
    }
    for table, query in read_queries("tables.sql").items():
        rows = writer.rows_in_ranges(table, query) if "$first" in query else writer.rows(query)
        writer.insert(table, changes[table](rows) if table in changes else rows)


@dataclass(frozen=True)
class _Writer:
    staging: "DuckDBPyConnection"
    file: sqlite3.Connection
    meter: Meter

    def insert(self, table: str, rows: Iterable[Row]) -> None:
        """Insert rows that are sorted by the table's key."""
        self.meter.begin(f"write {table}", self._expected(table), "rows")
        rows = iter(rows)
        count = 0
        width = len(self.file.execute(f"PRAGMA table_info({table})").fetchall())
        insert = f"INSERT INTO {table} VALUES ({', '.join('?' * width)})"
        while chunk := list(islice(rows, _CHUNK)):
            self.file.executemany(insert, chunk)
            count += len(chunk)
            self.meter.show(count)
        self.file.commit()

    def rows_in_ranges(self, table: str, query: str) -> Iterator[Row]:
        """Yield the rows of a query with a range of keys, range by range."""
        source = _SOURCES.get(table, table)
        key = "key" if source in {"recording", "work"} else "id"
        counted = f"SELECT count(*), min({key}), max({key}) FROM {source}"
        count, least, greatest = first_row(self.staging, counted)
        if not count:
            return
        parts = count // (_RELEASES_WITH_TRACKS if table == "media" else _ROWS_OF_RANGE) + 1
        step = (greatest - least) // parts + 1
        for first in range(least, greatest + 1, step):
            last = min(greatest, first + step - 1)
            yield from self.rows(query, {"first": first, "last": last})

    def rows(self, query: str, parameters: dict[str, int] | None = None) -> Iterator[Row]:
        """Yield the rows of a query."""
        cursor = self.staging.execute(query, parameters)
        while chunk := cursor.fetchmany(_CHUNK):
            yield from chunk

    def _expected(self, table: str) -> int:
        """Return about how many rows a table will have, to show how far it is."""
        source = _SOURCES.get(table, table)
        return int(first_row(self.staging, f"SELECT count(*) FROM {source}")[0])


def _artist(areas: Areas, row: Row) -> Row:
    *first, begin_area, area, aliases = row
    packed = layout.ENCODER.encode(aliases) if aliases else None
    return (*first, areas.home(begin_area, area), packed)


def _credit(row: Row) -> Row:
    credit_id, name, artists, names, phrases = row
    if not artists:
        return credit_id, name, None, None
    is_plain = names == [name] and not phrases[0]
    parts = [*zip(artists, names, phrases, strict=True)]
    return credit_id, name, artists[0], None if is_plain else layout.ENCODER.encode(parts)


def _group(row: Row) -> Row:
    *first, types, urls, ended = row
    links = [*zip(types, urls, ended, strict=True)] if types else []
    return (*first, layout.ENCODER.encode(links) if links else None)


def _release(areas: Areas, row: Row) -> Row:
    *first, dates, places, catnos, labels, formats = row
    events = [*zip(dates or (), places or (), strict=True)]
    if len(events) > 1:
        events.sort(key=lambda event: (event[0], areas.name_key(event[1])))
    numbers = [*zip(catnos or (), labels or (), strict=True)]
    if len(numbers) > 1:
        numbers.sort(key=_label_key)
    shown = tuple((None if catno in _NOT_SHOWN else catno, label) for catno, label in numbers)
    info = layout.Info(
        tuple((_date(date), areas.code_of(area)) for date, area in events),
        shown,
        tuple(formats or ()),
    )
    return (*first, layout.ENCODER.encode(info))


def _label_key(number: tuple[str | None, str | None]) -> tuple[object, ...]:
    catno, label = number
    return catno is None, catno or "", label is None, collation_key(label or "")


def _date(date: int) -> int:
    """Return a date with 0 for each unknown part."""
    year, month, day = date // 10_000, date // 100 % 100, date % 100
    return year % 9999 * 10_000 + month % 99 * 100 + day % 99


def _grouped(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield each release with its media packed; the rows are sorted by release."""
    for release, group in groupby(rows, itemgetter(0)):
        media = [_medium(*medium) for _, *medium in group]
        positions: list[tuple[str, Sequence[int]]] = [
            ("medium", [medium.position for medium in media])
        ]
        positions += [("track", medium.positions) for medium in media]
        for table, places in positions:
            if len(set(places)) < len(places):
                raise IndexFileError(
                    f"the dump is damaged: {table} has two rows with one position on release"
                    f" {release}"
                )
        yield release, layout.ENCODER.encode(_shortened(media))


def _shortened(media: list[layout.PackedMedium]) -> list[layout.PackedMedium]:
    """Return media with the upper halves of keys, if those of the release are unique."""
    keys = {key for medium in media for key in layout.keys_of(medium.recordings)}
    if len({key >> 32 for key in keys}) < len(keys):
        return media
    return [
        structs.replace(medium, recordings=_upper_halves(medium.recordings)) for medium in media
    ]


def _upper_halves(keys: bytes) -> bytes:
    count = len(keys) // 4
    return struct.pack(f">{count // 2}I", *struct.unpack(f">{count}I", keys)[::2])


def _medium(
    position: int,
    medium_format: int | None,
    name: str | None,
    gids: bytes | None,
    recordings: bytes | None,
    positions: list[int] | None,
    data_tracks: int | None,
    titles: list[str | None] | None,
    credits_: list[int | None] | None,
) -> layout.PackedMedium:
    positions = positions or []
    is_usual = positions == [*range(1, len(positions) + 1)]
    return layout.PackedMedium(
        position,
        medium_format,
        name,
        gids or b"",
        recordings or b"",
        () if is_usual else tuple(positions),
        data_tracks or 0,
        {place: title for place, title in enumerate(titles or ()) if title is not None},
        {place: credit for place, credit in enumerate(credits_ or ()) if credit is not None},
    )
