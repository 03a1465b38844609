"""Stage a dump in DuckDB: load its tables, and derive what MusicBrainz does not export.

Recordings and works are referred to by their keys in an index. A date is sorted as `yyyymmdd`, with
9999 or 99 for an unknown part. Tables that are read in ranges are sorted, so a range is read fast.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chart_binder.errors import IndexFileError, counted, how_to_install
from chart_binder.files import quoted
from chart_binder.musicbrainz.index.areas import Areas
from chart_binder.musicbrainz.index.dump import Dump, Meter, columns_of, damage_in
from chart_binder.musicbrainz.index.layout import RECORDING, WORK

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_REFERENCES: Mapping[str, str] = {
    "track": "recording medium credit credit=credit_name",
    "medium": "release format=medium_format",
    "release": "release_group credit credit=credit_name status=release_status",
    "recording": "credit credit=credit_name",
    "release_group": "credit credit=credit_name type=primary_type",
    "credit_name": "credit artist",
    "alias": "artist",
    "artist": "area begin_area=area",
    "area": "type=area_type",
    "code": "area",
    "event": "release area",
    "release_label": "release label",
    "secondary": "release_group secondary_type",
    "isrc": "id=recording",
    "link": "link_type",
    "area_relation": "link entity0=area entity1=area",
    "recording_work": "link entity0=recording entity1=work",
    "recording_relation": "link entity0=recording entity1=recording",
    "artist_gid_redirect": "new_id=artist",
    "release_group_gid_redirect": "new_id=release_group",
    "release_gid_redirect": "new_id=release",
    "recording_gid_redirect": "new_id=recording",
}
"""The columns of each staged table that refer to rows of others, in a dump always to existing ones:
`column=table`, or one word if both have the same name."""
_NAMES = {
    "alias": "artist_alias", "area_relation": "l_area_area", "code": "iso_3166_1",
    "credit": "artist_credit", "credit_name": "artist_credit_name", "event": "release_country",
    "primary_type": "release_group_primary_type", "recording_relation": "l_recording_recording",
    "recording_work": "l_recording_work", "secondary": "release_group_secondary_type_join",
    "secondary_type": "release_group_secondary_type",
}  # fmt: skip
"""The tables of a dump that are staged under another name."""
_MISSING_TRACKS: Final = 0.001
"""The share of tracks that may be missing by the track counts of media: triggers keep these."""


def read_queries(name: str) -> dict[str, str]:
    """Return the queries in a file of this package by the comments above them."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    _, *parts = re.split(r"^-- (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def require_duckdb() -> None:
    """Raise `IndexFileError` if DuckDB is not installed."""
    try:
        import duckdb  # noqa: F401 (it is only tried)
    except ImportError as error:
        raise IndexFileError(
            f"DuckDB, which builds an index, is not installed ({error}): {how_to_install('index')}"
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
    connection.execute(read_queries("staging.sql")["macros"])
    return connection


def load(connection: "DuckDBPyConnection", dump: Dump, meter: Meter, *, deletes: bool) -> None:
    """Load all tables; `deletes` the files of those that are loaded. Raises `IndexFileError`."""
    sizes = {name: path.stat().st_size / 1e6 for name, path in dump.tables.items()}
    meter.begin("load tables", sum(sizes.values()), "MB")
    sources = {name: _source(dump, name) for name in (*dump.tables, *dump.absent)}
    done = 0.0
    for title, query in read_queries("staging.sql").items():
        if not title.startswith("load "):
            continue
        table = title.removeprefix("load ")
        names = [name for name in dump.tables if f"{{{name}}}" in query]
        for name in names:
            _refuse_cut(dump.tables[name])
        part = sum(sizes[name] for name in names)
        create = f"CREATE TABLE {table} AS {query.format_map(sources)}"
        with _damage_named(dump, names):
            run(connection, create, meter, (done, part))
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
    damage = [f"{column.name} IS NULL" for column in columns if not column.is_optional]
    damage += [
        f"contains({column.name}, chr(0))" for column in columns if column.sql_type == "VARCHAR"
    ]
    return (
        rf"(SELECT * FROM read_csv('{path}', delim='\t', quote='', escape='', header=false,"
        rf" nullstr='\N', auto_detect=false, new_line='\n', columns={{{types}}})"
        f" WHERE CASE WHEN {' OR '.join(damage)} THEN error('{table} is damaged') ELSE true END)"
    )


def _refuse_cut(path: Path) -> None:
    with path.open("rb") as stream:
        if not stream.seek(0, 2):
            raise IndexFileError(f"{quoted(path)} is empty; a dump has no file for an empty table")
        stream.seek(-1, 2)
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
        paths = " or ".join(quoted(dump.tables[name]) for name in names)
        first_line = str(error).partition("\n")[0]
        raise IndexFileError(f"{paths} cannot be loaded: {first_line}") from error


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
    _check_references(connection, meter)
    _separate_keys(connection)
    for title, query in read_queries("staging.sql").items():
        if title.startswith("derive "):
            table, stage = title.removeprefix("derive ").split(": ")
            meter.begin(stage, 100, "%")
            run(connection, f"CREATE TABLE {table} AS {query}", meter)


def _check_references(connection: "DuckDBPyConnection", meter: Meter) -> None:
    """Raise `IndexFileError` if rows are missing: a table may be cut at the end of a line."""
    references = [
        (table, reference.split("=")[0], reference.split("=")[-1])
        for table, columns in _REFERENCES.items()
        for reference in columns.split()
    ]
    for other in {other for _, _, other in references} - {"credit_name"}:
        query = f"SELECT id FROM {other} GROUP BY id HAVING count(*) > 1 LIMIT 1"
        if row := first_row(connection, query):
            name = _NAMES.get(other, other)
            raise IndexFileError(f"the dump is damaged: {name} has two rows with the id {row[0]}")
    meter.begin("check references", len(references), "columns")
    for number, (table, column, other) in enumerate(references, 1):
        key = "credit" if other == "credit_name" else "id"
        query = (
            f"SELECT count(a.{column}), min(a.{column}) FROM {table} a"
            f" ANTI JOIN {other} b ON b.{key} = a.{column}"
        )
        count, least = first_row(connection, query)
        if count:
            raise IndexFileError(
                f"the dump is incomplete: {_NAMES.get(other, other)} lacks rows to which"
                f" {counted(count, 'row')} of {_NAMES.get(table, table)} refer (such as {least})"
            )
        meter.show(number)
    missing, total = first_row(
        connection,
        "SELECT coalesce(sum(greatest(0, track_count - coalesce(t.rows, 0))), 0),"
        " coalesce(sum(track_count), 0) FROM medium LEFT JOIN"
        " (SELECT medium, count(*) AS rows FROM track GROUP BY medium) t ON t.medium = id",
    )
    if missing > total * _MISSING_TRACKS:
        raise IndexFileError(
            f"the dump is incomplete: track lacks {counted(missing, 'row')}, as the track counts"
            " of medium show"
        )


def _separate_keys(connection: "DuckDBPyConnection") -> None:
    """Give rows whose MBIDs begin with the same 8 bytes different keys, listed in `displaced`."""
    connection.execute("CREATE TABLE displaced (kind INTEGER, key BIGINT, gid BLOB)")
    for kind, table in ((RECORDING, "recording"), (WORK, "work")):
        alike = (
            "SELECT id, row_number() OVER (PARTITION BY key ORDER BY rest) - 1 AS place"
            f" FROM {table} WHERE key IN"
            f" (SELECT key FROM {table} GROUP BY key HAVING count(*) > 1)"
        )
        connection.execute(
            f"CREATE OR REPLACE TABLE alike AS {alike};"
            f" INSERT INTO displaced SELECT {kind}, key + place, unhex(key_hex(key)"
            f" || key_hex(rest)) FROM {table} JOIN alike USING (id) WHERE place > 0;"
            f" UPDATE {table} SET key = key + place FROM alike"
            f" WHERE alike.id = {table}.id AND place > 0"
        )


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
        parents=grouped(
            "SELECT r.entity1, r.entity0 FROM area_relation r JOIN link ON link.id = r.link"
            " JOIN link_type t ON t.id = link.link_type"
            " WHERE t.pair = 'area-area' AND t.name = 'part of' ORDER BY r.entity0"
        ),
    )
