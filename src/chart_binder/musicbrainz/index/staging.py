"""Stage a dump in DuckDB: load its tables, and derive what MusicBrainz does not export.

Recordings and works are referred to by their keys in an index. A date is sorted as `yyyymmdd`, with
9999 or 99 for an unknown part. Tables that are read in ranges are sorted, so a range is read fast.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chart_binder.errors import IndexFileError
from chart_binder.files import quoted
from chart_binder.musicbrainz.index.areas import Areas
from chart_binder.musicbrainz.index.dump import Dump, Meter, columns_of, damage_in
from chart_binder.musicbrainz.index.layout import RECORDING, WORK, gid_of_row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MACROS = r"""
CREATE MACRO plain(x) AS CASE WHEN contains(x, '\') THEN
    replace(replace(replace(replace(replace(replace(replace(replace(x,
        '\\', chr(1)), '\t', chr(9)), '\n', chr(10)), '\r', chr(13)), '\b', chr(8)),
        '\f', chr(12)), '\v', chr(11)), chr(1), '\')
    ELSE x END;
CREATE MACRO text_or_null(x) AS nullif(plain(x), '');
CREATE MACRO hex_of(gid) AS replace(gid::VARCHAR, '-', '');
CREATE MACRO signed(x) AS CASE WHEN x >= 9223372036854775808
    THEN (x::HUGEINT - 18446744073709551616)::BIGINT ELSE x::BIGINT END;
CREATE MACRO key_of(gid) AS signed(('0x' || left(hex_of(gid), 16))::UBIGINT);
CREATE MACRO rest_of(gid) AS signed(('0x' || right(hex_of(gid), 16))::UBIGINT);
CREATE MACRO key_hex(key) AS lpad(to_hex(key), 16, '0');
CREATE MACRO id_hex(id) AS lpad(to_hex(id::BIGINT), 8, '0');
CREATE MACRO sort_date(y, m, d) AS
    coalesce(y, 9999)::INTEGER * 10000 + coalesce(m, 99)::INTEGER * 100 + coalesce(d, 99);
CREATE MACRO date_of(s) AS
    CASE WHEN s // 10000 = 9999 THEN 0 ELSE s // 10000 * 10000 END
    + CASE WHEN s // 100 % 100 = 99 THEN 0 ELSE s // 100 % 100 * 100 END
    + CASE WHEN s % 100 = 99 THEN 0 ELSE s % 100 END;
"""
NO_DATE: Final = 99_999_999

_LOADS: Mapping[str, tuple[str, ...]] = {
    "word": (
        "SELECT 'status' AS kind, id, plain(name) AS name FROM {release_status}",
        "SELECT 'primary_type', id, plain(name) FROM {release_group_primary_type}",
        "SELECT 'secondary_type', id, plain(name) FROM {release_group_secondary_type}",
        "SELECT 'format', id, plain(name) FROM {medium_format}",
    ),
    "link_type": ("SELECT id, entity_type0 || '-' || entity_type1 AS pair, name FROM {link_type}",),
    "link": ("SELECT id, link_type, ended FROM {link}",),
    "area_type": ("SELECT id, plain(name) AS name FROM {area_type}",),
    "area": ("SELECT id, plain(name) AS name, type FROM {area}",),
    "code": (
        "SELECT area, code, true AS is_country FROM {iso_3166_1}",
        "SELECT area, code, false FROM {iso_3166_2}",
    ),
    "part_of": (
        (
            "SELECT entity1 AS area, entity0 AS parent FROM {l_area_area} r"
            " JOIN link ON link.id = r.link JOIN link_type t ON t.id = link.link_type"
            " WHERE t.pair = 'area-area' AND t.name = 'part of'"
        ),
    ),
    "artist": (
        (
            "SELECT id, gid, plain(name) AS name, plain(sort_name) AS sort_name,"
            " text_or_null(comment) AS comment, area, begin_area FROM {artist}"
        ),
    ),
    "alias": ("SELECT DISTINCT artist, plain(name) AS name FROM {artist_alias}",),
    "credit": ("SELECT id, plain(name) AS name FROM {artist_credit}",),
    "credit_name": (
        (
            "SELECT artist_credit AS credit, position, artist, plain(name) AS name,"
            " plain(join_phrase) AS join_phrase FROM {artist_credit_name}"
        ),
    ),
    "recording": (
        (
            "SELECT id, key_of(gid) AS key, rest_of(gid) AS rest, plain(name) AS name,"
            " artist_credit AS credit, length, text_or_null(comment) AS comment, video"
            " FROM {recording} ORDER BY key"
        ),
    ),
    "isrc": ("SELECT DISTINCT recording AS id, isrc FROM {isrc}",),
    "release_group": (
        (
            "SELECT id, gid, plain(name) AS name, artist_credit AS credit, type,"
            " text_or_null(comment) AS comment FROM {release_group} ORDER BY id"
        ),
    ),
    "secondary": (
        "SELECT DISTINCT release_group, secondary_type FROM {release_group_secondary_type_join}",
    ),
    "release": (
        (
            "SELECT id, gid, plain(name) AS name, artist_credit AS credit, release_group, status,"
            " text_or_null(barcode) AS barcode, text_or_null(comment) AS comment"
            " FROM {release} ORDER BY id"
        ),
    ),
    "event": (
        (
            "SELECT release, country AS area, sort_date(date_year, date_month, date_day) AS date"
            " FROM {release_country}"
        ),
        (
            "SELECT release, NULL, sort_date(date_year, date_month, date_day)"
            " FROM {release_unknown_country} ORDER BY release"
        ),
    ),
    "release_label": (
        (
            "SELECT release, text_or_null(catalog_number) AS catno, plain(l.name) AS label"
            " FROM {release_label} r LEFT JOIN {label} l ON l.id = r.label ORDER BY release"
        ),
    ),
    "medium": (
        (
            "SELECT id, release, position, format, text_or_null(name) AS name FROM {medium}"
            " ORDER BY release"
        ),
    ),
    "track": (
        (
            "SELECT gid, recording, medium, position, plain(name) AS name, artist_credit AS credit,"
            " is_data_track AS is_data FROM {track}"
        ),
    ),
    "redirect": (
        "SELECT 0 AS kind, gid, new_id FROM {artist_gid_redirect}",
        "SELECT 1, gid, new_id FROM {release_group_gid_redirect}",
        "SELECT 2, gid, new_id FROM {release_gid_redirect}",
        "SELECT 3, gid, new_id FROM {recording_gid_redirect}",
    ),
    "work": (
        "SELECT id, key_of(gid) AS key, rest_of(gid) AS rest, plain(name) AS name FROM {work}",
    ),
    "recording_work": ("SELECT link, entity0, entity1 FROM {l_recording_work}",),
    "recording_relation": ("SELECT link, entity0, entity1 FROM {l_recording_recording}",),
    "group_link": (
        (
            "SELECT r.entity0 AS release_group, t.id AS type, link.ended, plain(u.url) AS url"
            " FROM {l_release_group_url} r JOIN link ON link.id = r.link"
            " JOIN link_type t ON t.id = link.link_type JOIN {url} u ON u.id = r.entity1"
            " WHERE t.name IN ('wikidata', 'wikipedia')"
        ),
    ),
}
"""The staged tables, each the union of queries of the dump's tables in braces."""

_DERIVED: Final = (
    (
        "group the artists of credits",
        "CREATE TABLE credit_artist AS SELECT DISTINCT credit, artist FROM credit_name",
    ),
    (
        "find the first dates of releases",
        f"""CREATE TABLE release_date AS
        SELECT release, min(date) AS date FROM event JOIN release ON release.id = event.release
        WHERE date <> {NO_DATE} AND coalesce(status, 0) NOT IN
            (SELECT id FROM word WHERE kind = 'status' AND name = 'Cancelled')
        GROUP BY release""",
    ),
    (
        "join tracks, media and recordings",
        """CREATE TABLE placed AS
        SELECT m.release, m.id AS medium, t.gid, r.key AS recording, t.position, t.is_data,
            CASE WHEN t.name <> r.name THEN t.name END AS title,
            CASE WHEN t.credit <> r.credit THEN t.credit END AS credit, t.credit AS shown_credit
        FROM track t JOIN medium m ON m.id = t.medium JOIN recording r ON r.id = t.recording
        ORDER BY m.release""",
    ),
    (
        "find the releases of recordings",
        """CREATE TABLE on_release AS
        SELECT DISTINCT p.recording, p.release, d.date FROM placed p
        LEFT JOIN release_date d ON d.release = p.release ORDER BY p.recording""",
    ),
    (
        "find the ISRCs of recordings",
        """CREATE TABLE isrc_key AS
        SELECT r.key AS recording, i.isrc FROM isrc i JOIN recording r ON r.id = i.id
        ORDER BY r.key""",
    ),
    (
        "find the works of recordings",
        """CREATE TABLE performance AS
        SELECT DISTINCT r.key AS recording, w.key AS work FROM recording_work x
        JOIN link ON link.id = x.link JOIN link_type t ON t.id = link.link_type
        JOIN recording r ON r.id = x.entity0 JOIN work w ON w.id = x.entity1
        WHERE t.name = 'performance' ORDER BY r.key""",
    ),
    (
        "find the relations of recordings",
        """CREATE TABLE relation AS
        SELECT a.key AS recording, t.id AS type, s.is_backward, b.key AS other, link.ended
        FROM (
            SELECT link, entity0 AS here, entity1 AS there, false AS is_backward
            FROM recording_relation
            UNION ALL SELECT link, entity1, entity0, true FROM recording_relation
        ) s JOIN link ON link.id = s.link JOIN link_type t ON t.id = link.link_type
        JOIN recording a ON a.id = s.here JOIN recording b ON b.id = s.there ORDER BY a.key""",
    ),
    (
        "find the records on which artists appear",
        """CREATE TABLE appearance AS
        SELECT DISTINCT c.artist, s.release FROM (
            SELECT DISTINCT p.shown_credit AS credit, p.release
            FROM placed p JOIN release r ON r.id = p.release WHERE p.shown_credit <> r.credit
        ) s JOIN credit_artist c ON c.credit = s.credit JOIN release r ON r.id = s.release
        ANTI JOIN credit_artist o ON o.credit = r.credit AND o.artist = c.artist""",
    ),
)
"""The stages that derive a table, and their queries."""

_REFERENCES = (
    ("track", "recording", "recording", "id"), ("track", "medium", "medium", "id"),
    ("medium", "release", "release", "id"), ("release", "release_group", "release_group", "id"),
    ("release", "credit", "credit", "id"), ("recording", "credit", "credit", "id"),
    ("release_group", "credit", "credit", "id"), ("credit_name", "artist", "artist", "id"),
)  # fmt: skip
"""Columns that must refer to a row of another table, or tables were cut at the end of a line."""


def require_duckdb() -> None:
    """Raise `IndexFileError` if DuckDB is not installed."""
    try:
        import duckdb  # noqa: F401 (it is only tried)
    except ImportError as error:
        raise IndexFileError(
            "to build an index takes DuckDB: install chart-binder[index]; nothing more is needed"
            " to use one"
        ) from error


def open_staging(folder: Path, memory_mb: int, jobs: int) -> "DuckDBPyConnection":
    """Open a temporary database."""
    import duckdb

    connection = duckdb.connect(
        folder / "staging.duckdb",
        config={
            "memory_limit": f"{memory_mb}MB",
            "threads": jobs,
            "temp_directory": str(folder / "spilled"),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    connection.execute(_MACROS)
    return connection


def load(connection: "DuckDBPyConnection", dump: Dump, meter: Meter, *, deletes: bool) -> None:
    """Load all tables; `deletes` the files of those that are loaded. Raises `IndexFileError`."""
    sizes = {name: path.stat().st_size / 1e6 for name, path in dump.tables.items()}
    meter.begin("load tables", sum(sizes.values()), "MB")
    sources = {name: _source(dump, name) for name in (*dump.tables, *dump.absent)}
    done = 0.0
    for table, queries in _LOADS.items():
        query = " UNION ALL ".join(queries)
        names = [name for name in dump.tables if f"{{{name}}}" in query]
        for name in names:
            _refuse_cut(dump.tables[name])
        part = sum(sizes[name] for name in names)
        create = f"CREATE TABLE {table} AS {query.format_map(sources)}"
        with _damage_named(dump, names):
            run(connection, create, meter, (done, part))
            for column in (row[1] for row in _REFERENCES if row[0] == table):
                connection.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET NOT NULL")
        done += part
        meter.show(done)
        for name in names if deletes else ():
            dump.tables[name].unlink()


def _source(dump: Dump, table: str) -> str:
    columns = columns_of(table, dump.schema)
    if table not in dump.tables:
        empty = ", ".join(f"NULL::{column.sql_type} AS {column.name}" for column in columns)
        return f"(SELECT {empty} WHERE false)"
    types = ", ".join(f"'{column.name}': '{column.sql_type}'" for column in columns)
    path = str(dump.tables[table]).replace("'", "''")
    return (
        rf"read_csv('{path}', delim='\t', quote='', escape='', header=false, nullstr='\N',"
        rf" auto_detect=false, new_line='\n', columns={{{types}}})"
    )


def _refuse_cut(path: Path) -> None:
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 1))
        if stream.read() != b"\n":
            raise IndexFileError(f"{quoted(path)} is cut off: its last line has no end")


@contextlib.contextmanager
def _damage_named(dump: Dump, names: list[str]) -> Iterator[None]:
    """If DuckDB refuses a table, find the row and the column."""
    import duckdb

    try:
        yield
    except (duckdb.DataError, duckdb.IntegrityError, duckdb.InvalidInputException) as error:
        for name in names:
            if damage := damage_in(dump.tables[name], name, dump.schema):
                raise IndexFileError(damage) from error
        raise


def run(
    connection: "DuckDBPyConnection",
    query: str,
    meter: Meter,
    share: tuple[float, float] = (0, 100),
) -> "DuckDBPyConnection":
    """Run a query; meanwhile the meter shows a share of the stage: its begin and its size."""
    begin, size = share
    meter.follow(lambda: begin + size * max(0.0, connection.query_progress()) / 100)
    try:
        return connection.execute(query)
    finally:
        meter.follow(None)


def derive(connection: "DuckDBPyConnection", meter: Meter) -> None:
    """Derive all other tables. Raises `IndexFileError` if rows refer to others that are missing."""
    meter.begin("check references", len(_REFERENCES), "columns")
    for number, (table, column, other, key) in enumerate(_REFERENCES, 1):
        query = (
            f"SELECT count(*), min(a.{column}) FROM {table} a"
            f" ANTI JOIN {other} b ON b.{key} = a.{column}"
        )
        count, least = first_row(connection, query)
        if count:
            raise IndexFileError(
                f"the dump is incomplete: {count:,} rows of {table} refer to a {other} that is not"
                f" there (such as {least})"
            )
        meter.show(number)
    _separate_keys(connection)
    for stage, query in _DERIVED:
        meter.begin(stage, 100, "%")
        run(connection, query, meter)


def _separate_keys(connection: "DuckDBPyConnection") -> None:
    """Give rows whose MBIDs begin with the same 8 bytes different keys, listed in `displaced`."""
    connection.execute("CREATE TABLE displaced (kind INTEGER, key BIGINT, gid BLOB)")
    for kind, table in ((RECORDING, "recording"), (WORK, "work")):
        same = f"SELECT key FROM {table} GROUP BY key HAVING count(*) > 1"
        rows = connection.execute(
            f"SELECT id, key, rest FROM {table} WHERE key IN ({same}) ORDER BY key, rest"
        ).fetchall()
        taken: set[int] = set()
        for row_id, key, rest in rows:
            free = key
            while free in taken:
                free += 1
            taken.add(free)
            if free != key:
                gid = bytes.fromhex(gid_of_row(key, rest).replace("-", ""))
                connection.execute(f"UPDATE {table} SET key = ? WHERE id = ?", [free, row_id])
                connection.execute("INSERT INTO displaced VALUES (?, ?, ?)", [kind, free, gid])


def first_row(connection: "DuckDBPyConnection", query: str) -> tuple[Any, ...]:
    """Return the first row of a query that has one."""
    row = connection.execute(query).fetchone()
    return row or ()


def read_areas(connection: "DuckDBPyConnection") -> Areas:
    """Return all areas."""

    def grouped(query: str) -> dict[int, tuple[Any, ...]]:
        groups: dict[int, list[Any]] = {}
        for area, value in connection.execute(query).fetchall():
            groups.setdefault(area, []).append(value)
        return {area: tuple(values) for area, values in groups.items()}

    countries = connection.execute(
        "SELECT a.id FROM area a JOIN area_type t ON t.id = a.type WHERE t.name = 'Country'"
    ).fetchall()
    return Areas(
        names=dict(connection.execute("SELECT id, name FROM area").fetchall()),
        countries=frozenset(area for (area,) in countries),
        codes=grouped("SELECT area, code FROM code WHERE is_country ORDER BY code"),
        part_codes=grouped("SELECT area, code FROM code WHERE NOT is_country ORDER BY code"),
        parents=grouped("SELECT area, parent FROM part_of ORDER BY parent"),
    )
