"""Write the tables of an index from the staged dump, each in the order of its key."""

import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import structs

from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.areas import Areas, collation_key
from chart_binder.musicbrainz.index.dump import Meter
from chart_binder.musicbrainz.index.staging import first_row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ROWS_OF_RANGE: Final = 200_000
_RELEASES_WITH_TRACKS: Final = 20_000
"""Rows that are aggregated at once, which bounds the memory of a build."""
_CHUNK = 10_000

_SOURCES: Final = {
    "artist_name": "hash_artist_name",
    "discography": "artist",
    "group_title": "release_group",
    "identifier": "release",
    "isrc": "isrc_key",
    "media": "release",
    "title": "recording",
}
"""The staged tables that have about as many rows as a table of the index, if not its namesake."""

Row: TypeAlias = tuple[Any, ...]

_ARTISTS = """
SELECT a.id, unhex(hex_of(a.gid)), a.name, nullif(a.sort_name, a.name), a.comment, a.begin_area,
    a.area, s.names
FROM artist a LEFT JOIN (
    SELECT artist, list(name ORDER BY name) AS names FROM alias
    WHERE artist BETWEEN $first AND $last GROUP BY artist
) s ON s.artist = a.id WHERE a.id BETWEEN $first AND $last ORDER BY a.id
"""
_DISCOGRAPHIES = """
WITH own_group AS (
    SELECT c.artist, unhex(string_agg(id_hex(g.id), '' ORDER BY g.id)) AS ids
    FROM release_group g JOIN credit_artist c ON c.credit = g.credit
    WHERE c.artist BETWEEN $first AND $last GROUP BY c.artist
), own_release AS (
    SELECT c.artist, unhex(string_agg(id_hex(r.id), '' ORDER BY r.id)) AS ids
    FROM release r JOIN credit_artist c ON c.credit = r.credit
    WHERE c.artist BETWEEN $first AND $last GROUP BY c.artist
), other AS (
    SELECT artist, unhex(string_agg(id_hex(release), '' ORDER BY release)) AS ids
    FROM appearance WHERE artist BETWEEN $first AND $last GROUP BY artist
)
SELECT a.id, g.ids, r.ids, o.ids FROM artist a
LEFT JOIN own_group g ON g.artist = a.id LEFT JOIN own_release r ON r.artist = a.id
LEFT JOIN other o ON o.artist = a.id
WHERE a.id BETWEEN $first AND $last
    AND (g.ids IS NOT NULL OR r.ids IS NOT NULL OR o.ids IS NOT NULL)
ORDER BY a.id
"""
_CREDITS = """
SELECT c.id, c.name, n.artists, n.names, n.phrases FROM credit c LEFT JOIN (
    SELECT credit, list(artist ORDER BY position) AS artists, list(name ORDER BY position) AS names,
        list(join_phrase ORDER BY position) AS phrases
    FROM credit_name WHERE credit BETWEEN $first AND $last GROUP BY credit
) n ON n.credit = c.id WHERE c.id BETWEEN $first AND $last ORDER BY c.id
"""
_GROUPS = """
SELECT g.id, unhex(hex_of(g.gid)), g.name, g.credit, g.type, coalesce(s.bits, 0),
    date_of(r.first), g.comment, r.ids, l.types, l.urls, l.ended
FROM release_group g LEFT JOIN (
    SELECT release_group, bit_or(1 << secondary_type) AS bits FROM secondary
    WHERE release_group BETWEEN $first AND $last GROUP BY release_group
) s ON s.release_group = g.id LEFT JOIN (
    SELECT r.release_group, min(d.date) AS first,
        unhex(string_agg(id_hex(r.id), '' ORDER BY r.id)) AS ids
    FROM release r LEFT JOIN release_date d ON d.release = r.id
    WHERE r.release_group BETWEEN $first AND $last GROUP BY r.release_group
) r ON r.release_group = g.id LEFT JOIN (
    SELECT release_group, list(type ORDER BY url) AS types, list(url ORDER BY url) AS urls,
        list(ended ORDER BY url) AS ended
    FROM group_link WHERE release_group BETWEEN $first AND $last GROUP BY release_group
) l ON l.release_group = g.id WHERE g.id BETWEEN $first AND $last ORDER BY g.id
"""
_RELEASES = """
SELECT r.id, unhex(hex_of(r.gid)), nullif(r.name, g.name), nullif(r.credit, g.credit),
    r.release_group, r.status, r.comment, r.barcode, e.dates, e.areas, l.catnos, l.labels, m.formats
FROM release r JOIN release_group g ON g.id = r.release_group LEFT JOIN (
    SELECT release, list(date ORDER BY date) AS dates, list(area ORDER BY date) AS areas
    FROM event WHERE release BETWEEN $first AND $last GROUP BY release
) e ON e.release = r.id LEFT JOIN (
    SELECT release, list(catno) AS catnos, list(label) AS labels
    FROM release_label WHERE release BETWEEN $first AND $last GROUP BY release
) l ON l.release = r.id LEFT JOIN (
    SELECT release, list(format ORDER BY position) AS formats
    FROM medium WHERE release BETWEEN $first AND $last GROUP BY release
) m ON m.release = r.id WHERE r.id BETWEEN $first AND $last ORDER BY r.id
"""
_MEDIA = """
SELECT m.release, m.position, m.format, m.name, t.gids, t.recordings, t.positions, t.data_tracks,
    t.titles, t.credits
FROM medium m LEFT JOIN (
    SELECT medium, unhex(string_agg(hex_of(gid), '' ORDER BY is_data, position)) AS gids,
        unhex(string_agg(key_hex(recording), '' ORDER BY is_data, position)) AS recordings,
        list(position ORDER BY is_data, position) AS positions,
        count(*) FILTER (is_data) AS data_tracks,
        CASE WHEN count(title) > 0 THEN list(title ORDER BY is_data, position) END AS titles,
        CASE WHEN count(credit) > 0 THEN list(credit ORDER BY is_data, position) END AS credits
    FROM placed WHERE release BETWEEN $first AND $last GROUP BY medium
) t ON t.medium = m.id WHERE m.release BETWEEN $first AND $last ORDER BY m.release, m.position
"""
_RECORDINGS = """
SELECT r.key, r.rest, r.name, r.credit, r.length, date_of(o.first), r.comment,
    CASE WHEN r.video THEN 1 END, i.isrcs, o.ids, p.works, x.relations
FROM recording r LEFT JOIN (
    SELECT recording, min(date) AS first,
        unhex(string_agg(id_hex(release), '' ORDER BY release)) AS ids
    FROM on_release WHERE recording BETWEEN $first AND $last GROUP BY recording
) o ON o.recording = r.key LEFT JOIN (
    SELECT recording, string_agg(isrc, ' ' ORDER BY isrc) AS isrcs
    FROM isrc_key WHERE recording BETWEEN $first AND $last GROUP BY recording
) i ON i.recording = r.key LEFT JOIN (
    SELECT recording, unhex(string_agg(key_hex(work), '' ORDER BY work)) AS works
    FROM performance WHERE recording BETWEEN $first AND $last GROUP BY recording
) p ON p.recording = r.key LEFT JOIN (
    SELECT recording, unhex('dd' || id_hex(count(*)) || string_agg(
        '94d2' || id_hex(type) || CASE WHEN is_backward THEN 'c3d3' ELSE 'c2d3' END
        || key_hex(other) || CASE WHEN ended THEN 'c3' ELSE 'c2' END,
        '' ORDER BY type, is_backward, other)) AS relations
    FROM relation WHERE recording BETWEEN $first AND $last GROUP BY recording
) x ON x.recording = r.key WHERE r.key BETWEEN $first AND $last ORDER BY r.key
"""
"""`relations` is MessagePack: an array of arrays of an integer, a boolean, a key and a boolean."""
_WORKS = """
SELECT w.key, w.rest, w.name, unhex(string_agg(key_hex(p.recording), '' ORDER BY p.recording))
FROM performance p JOIN work w ON w.key = p.work WHERE w.key BETWEEN $first AND $last
GROUP BY w.key, w.rest, w.name ORDER BY w.key
"""
_IDENTIFIERS = """
SELECT kind, unhex(hex_of(gid)), id FROM (
    SELECT 0 AS kind, gid, id FROM artist UNION ALL SELECT 1, gid, id FROM release_group
    UNION ALL SELECT 2, gid, id FROM release
    UNION ALL SELECT kind, gid, new_id FROM redirect WHERE kind < 3
    UNION ALL SELECT 3, d.gid, r.key FROM redirect d JOIN recording r ON r.id = d.new_id
        WHERE d.kind = 3
) ORDER BY kind, gid
"""
_TITLES = """
SELECT DISTINCT c.artist, h.hash, h.id FROM hash_title h JOIN recording r ON r.key = h.id
JOIN credit_artist c ON c.credit = r.credit ORDER BY c.artist, h.hash, h.id
"""


def write_tables(
    staging: "DuckDBPyConnection", file: sqlite3.Connection, areas: Areas, meter: Meter
) -> None:
    """Write all tables but `meta`."""
    writer = _Writer(staging, file, meter)
    types = "SELECT id FROM link_type WHERE pair IN ('recording-recording', 'release_group-url')"
    writer.write(
        "word",
        f"SELECT kind, id, name FROM word UNION ALL SELECT 'link_type', id, name FROM link_type"
        f" WHERE id IN ({types}) ORDER BY 1, 2",
    )
    writer.write("identifier", _IDENTIFIERS)
    writer.write("displaced", "SELECT kind, key, gid FROM displaced ORDER BY kind, key")
    writer.write("artist", _ARTISTS, partial(_artist, areas), of="artist")
    writer.write("discography", _DISCOGRAPHIES, of="artist")
    writer.write("credit", _CREDITS, _credit, of="credit")
    writer.write("release_group", _GROUPS, _group, of="release_group")
    writer.write("release", _RELEASES, partial(_release, areas), of="release")
    media = writer.rows_in_ranges(_MEDIA, "release", _RELEASES_WITH_TRACKS)
    writer.insert("media", _grouped(media))
    writer.write("recording", _RECORDINGS, of="recording")
    writer.write("work", _WORKS, of="work")
    writer.write("isrc", "SELECT isrc, recording FROM isrc_key ORDER BY isrc, recording")
    writer.write("artist_name", "SELECT DISTINCT hash, id FROM hash_artist_name ORDER BY hash, id")
    writer.write("title", _TITLES)
    writer.write("group_title", "SELECT DISTINCT hash, id FROM hash_group_title ORDER BY hash, id")


@dataclass(frozen=True)
class _Writer:
    staging: "DuckDBPyConnection"
    file: sqlite3.Connection
    meter: Meter

    def write(
        self, table: str, query: str, change: Callable[[Row], Row] | None = None, of: str = ""
    ) -> None:
        """Write the rows of a query; `of` names the staged table whose ranges it reads."""
        rows = self.rows_in_ranges(query, of) if of else self._rows(query)
        self.insert(table, map(change, rows) if change else rows)

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

    def rows_in_ranges(self, query: str, table: str, size: int = _ROWS_OF_RANGE) -> Iterator[Row]:
        """Yield the rows of a query with a range of keys of a table, range by range."""
        key = "key" if table in {"recording", "work"} else "id"
        count, least, greatest = first_row(
            self.staging,
            f"SELECT count(*), min({key}), max({key}) FROM {table}",
        )
        if not count:
            return
        parts = count // size + 1
        step = (greatest - least) // parts + 1
        for first in range(least, greatest + 1, step):
            yield from self._rows(query, {"first": first, "last": min(greatest, first + step - 1)})

    def _rows(self, query: str, parameters: dict[str, int] | None = None) -> Iterator[Row]:
        cursor = self.staging.execute(query, parameters)
        while chunk := cursor.fetchmany(_CHUNK):
            yield from chunk

    def _expected(self, table: str) -> int:
        """Return about how many rows a table will have, to show how far it is."""
        source = _SOURCES.get(table, table)
        (count,) = first_row(self.staging, f"SELECT count(*) FROM {source}")
        return int(count)


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
    info = layout.Info(
        tuple((_date(date), areas.code_of(area)) for date, area in events),
        tuple(numbers),
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
    release, media = None, list[layout.PackedMedium]()
    for release_id, *medium in rows:
        if release_id != release:
            if media:
                yield release, layout.ENCODER.encode(_shortened(media))
            release, media = release_id, []
        media.append(_medium(*medium))
    if media:
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
