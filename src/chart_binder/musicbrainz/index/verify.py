"""Check an index: its checksum and pages, the numbers of rows, and a sample by a second path."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from chart_binder.errors import IndexFileError
from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.dump import Meter, digest_of
from chart_binder.musicbrainz.index.keys import title_hash

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SAMPLE = 1_000
"""The number of recordings that are checked."""
_COUNTED = (
    "artist", "credit", "release_group", "release", "recording", "media", "work", "isrc", "title",
    "artist_name",
)  # fmt: skip
_LOWEST_KEY, _HIGHEST_KEY = -(2**63), 2**63 - 1
_CANCELLED = "SELECT id FROM word WHERE kind = 'status' AND name = 'Cancelled'"


def count_rows(file: sqlite3.Connection, meter: Meter) -> dict[str, int]:
    """Return the number of rows of the larger tables."""
    meter.begin("count rows", len(_COUNTED), "tables")
    counts = {}
    for number, table in enumerate(_COUNTED, 1):
        (counts[table],) = file.execute(f"SELECT count(*) FROM {table}").fetchone()
        meter.show(number)
    return counts


class Checked(NamedTuple):
    """What an index without a defect has, and how many pages and recordings were checked."""

    summary: layout.Summary
    pages: int
    recordings: int


def check_index(path: Path, meter: Meter) -> Checked:
    """Check an index. Raises `IndexFileError` for the first defect."""
    file = layout.open_index(path)
    try:
        summary = layout.read_summary(file)
        _check_digest(path, meter)
        file.execute("PRAGMA mmap_size = 0")  # pages that are read once need not stay in memory
        meter.begin("check the file's pages")
        rows = file.execute("PRAGMA quick_check(1)").fetchall()
        if rows != [("ok",)]:
            raise IndexFileError(f"{path}: the file is damaged: {rows[0][0]}")
        counts = count_rows(file, meter)
        for table, count in counts.items():
            if count != summary.counts.get(table):
                raise IndexFileError(
                    f"{path}: {table} has {count:,} rows, not {summary.counts.get(table):,}"
                )
        (pages,) = file.execute("PRAGMA page_count").fetchone()
        keys = _sample(file)
        meter.begin("check a sample", len(keys), "recordings")
        for number, key in enumerate(keys, 1):
            for problem in _problems(file, key):
                raise IndexFileError(f"{path}: {problem}")
            meter.show(number)
    except layout.DAMAGE as error:
        raise IndexFileError(f"{path}: the file is damaged: {error}") from error
    finally:
        file.close()
    return Checked(summary, pages, len(keys))


def write_digest(path: Path, meter: Meter) -> None:
    """Append to a new index the digest by which `check_index` knows that nothing has changed."""
    size = path.stat().st_size
    meter.begin("compute the checksum", size / 1e6, "MB")
    digest = digest_of(path, size, meter)
    with path.open("ab") as stream:
        stream.write(digest)


def _check_digest(path: Path, meter: Meter) -> None:
    size = path.stat().st_size - layout.DIGEST_BYTES
    meter.begin("check the checksum", size / 1e6, "MB")
    with path.open("rb") as stream:
        stream.seek(max(0, size))
        digest = stream.read()
    if digest != digest_of(path, size, meter):
        raise IndexFileError(f"{path}: the file is damaged: its checksum is wrong; build it again")


def _sample(file: sqlite3.Connection) -> set[int]:
    numbers = random.Random(0)  # noqa: S311 (no secret)
    query = "SELECT key FROM recording WHERE key >= ? ORDER BY key LIMIT 1"
    starts = (numbers.randint(_LOWEST_KEY, _HIGHEST_KEY) for _ in range(SAMPLE))
    return {key for start in starts for (key,) in file.execute(query, (start,))}


def _problems(file: sqlite3.Connection, key: int) -> Iterator[str]:
    """Compare a recording with the rows that refer to it."""
    rest, name, credit, first_date, isrcs, releases, works = file.execute(
        "SELECT rest, name, credit, first_date, isrcs, releases, works FROM recording"
        " WHERE key = ?",
        (key,),
    ).fetchone()
    recording = f"recording {layout.gid_of_row(key, rest)}"
    dates = []
    for release in layout.ids_of(releases):
        packed, info, status = _release(file, release)
        if not any(
            first <= key <= last
            for medium in layout.MEDIA.decode(packed)
            for first, last in medium.key_ranges()
        ):
            yield f"{recording} is not on its release {release}"
        if not status:
            dates += [date for date, _ in layout.INFO.decode(info).events if date]
    if (min(dates, key=_as_last, default=None)) != first_date:
        yield f"{recording} has the first date {first_date}, and its releases another"
    artist, parts = file.execute(
        "SELECT artist, parts FROM credit WHERE id = ?", (credit,)
    ).fetchone()
    artists = [part[0] for part in layout.PARTS.decode(parts)] if parts else [artist]
    lookups = [
        ("SELECT 1 FROM title WHERE artist = ? AND hash = ? AND recording = ?",
         (artist, title_hash(name), key)) for artist in artists
    ] + [
        ("SELECT 1 FROM isrc WHERE isrc = ? AND recording = ?", (isrc, key))
        for isrc in (isrcs or "").split()
    ]  # fmt: skip
    for query, values in lookups:
        if not file.execute(query, values).fetchone():
            yield f"{recording} is not found by {query.partition('WHERE ')[2]} {values}"
    for work in layout.keys_of(works):
        row = file.execute("SELECT recordings FROM work WHERE key = ?", (work,)).fetchone()
        if row is None or key not in layout.keys_of(row[0]):
            yield f"{recording} is not listed by its work"


def _release(file: sqlite3.Connection, release: int) -> tuple[bytes, bytes, bool]:
    row = file.execute(
        f"SELECT media, info, coalesce(status, 0) IN ({_CANCELLED}) FROM release"
        " JOIN media ON media.release = release.id WHERE id = ?",
        (release,),
    ).fetchone()
    if row is None:
        raise ValueError(f"there is no release {release}")
    return row[0], row[1], bool(row[2])


def _as_last(date: int) -> tuple[int, int, int]:
    year, month, day = date // 10_000, date // 100 % 100, date % 100
    return year or 9999, month or 99, day or 99


def compare_with_dump(
    staging: "DuckDBPyConnection", file: sqlite3.Connection, meter: Meter
) -> None:
    """Compare the numbers of rows, and a sample of recordings, with the rows of the dump.

    Raises `IndexFileError`, because the index must not be used.
    """
    for table in ("artist", "credit", "release_group", "release", "recording"):
        query = f"SELECT count(*) FROM {table}"
        (staged,), (written,) = staging.execute(query).fetchall()[0], file.execute(query).fetchone()
        if staged != written:
            raise IndexFileError(
                f"{table} has {written:,} rows in the index, {staged:,} in the dump"
            )
    meter.begin("compare a sample with the dump", SAMPLE, "recordings")
    rows = staging.execute(
        f"WITH s AS (SELECT * FROM recording USING SAMPLE {SAMPLE} ROWS)"
        " SELECT s.key, s.rest, s.name, c.name, s.length, list(DISTINCT m.release)"
        " FILTER (m.release IS NOT NULL) FROM s JOIN credit c ON c.id = s.credit"
        " LEFT JOIN track t ON t.recording = s.id LEFT JOIN medium m ON m.id = t.medium"
        " GROUP BY ALL"
    ).fetchall()
    for number, (key, *facts, releases) in enumerate(rows, 1):
        *written, packed = file.execute(
            "SELECT rest, recording.name, credit.name, length, releases FROM recording"
            " JOIN credit ON credit.id = credit WHERE key = ?",
            (key,),
        ).fetchone() or (None,)
        if facts != written or sorted(releases or ()) != sorted(layout.ids_of(packed)):
            recording = layout.gid_of_row(key, facts[0])
            raise IndexFileError(f"recording {recording} differs from the dump: {written}")
        meter.show(number)
