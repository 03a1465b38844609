"""Hash names and titles, the slowest part of a build, in several processes."""

import csv
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.musicbrainz.index.dump import Meter
from chart_binder.musicbrainz.index.keys import name_hashes, title_hash

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FEW = 50_000
"""So few texts are hashed sooner than processes start."""
_FILE_BYTES = 2_000_000
_LONGEST_FIELD = 1 << 24

_QUERIES: Mapping[str, str] = {
    "title": "SELECT key AS id, name FROM recording",
    "group_title": "SELECT id, name FROM release_group",
    "artist_name": (
        "SELECT id, name FROM artist UNION SELECT id, sort_name FROM artist"
        " UNION SELECT artist, name FROM alias UNION SELECT artist, name FROM credit_name"
        " UNION SELECT n.artist, c.name FROM credit c JOIN credit_name n ON n.credit = c.id"
        " WHERE n.position = 0"
    ),
}
"""What is hashed for each table of an index: the id of a row, and a text."""


def hash_texts(connection: "DuckDBPyConnection", folder: Path, jobs: int, meter: Meter) -> None:
    """Stage the hashes of each table as `hash_<table>` (id, hash)."""
    for table, query in _QUERIES.items():
        texts = folder / table
        meter.begin(f"export texts for {table}")
        connection.execute(
            f"COPY ({query}) TO '{_quoted(texts)}'"
            f" (FORMAT csv, HEADER false, FILE_SIZE_BYTES {_FILE_BYTES}, PER_THREAD_OUTPUT true)"
        )
        files = sorted(texts.iterdir())
        size = sum(file.stat().st_size for file in files)
        meter.begin(f"hash texts for {table}", size / 1e6, "MB")
        done = 0
        few = size < _FEW * 20 or jobs == 1
        with closing(_hashed(files, table, 1 if few else jobs)) as results:
            for file_size in results:
                done += file_size
                meter.show(done / 1e6)
        connection.execute(
            f"CREATE TABLE hash_{table} AS SELECT * FROM read_csv('{_quoted(texts)}/*.hashes',"
            " header=false, auto_detect=false, delim=',',"
            " columns={'id': 'BIGINT', 'hash': 'BIGINT'})"
        )
        for file in texts.iterdir():
            file.unlink()


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _hashed(files: Iterable[Path], table: str, jobs: int) -> Generator[int, None, None]:
    """Yield the size of each file that was hashed."""
    work = partial(hash_file, table=table)
    if jobs == 1:
        yield from map(work, files)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as pool:
        try:
            yield from pool.map(work, files)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """Leave interrupts to the parent, and end when it ends, even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def hash_file(path: Path, table: str) -> int:
    """Write the hashes of a file's texts beside it, and delete it; return its size."""
    size = path.stat().st_size
    hashes_of: Callable[[str], Iterable[int]] = name_hashes
    if table != "artist_name":
        hashes_of = _title_hashes
    csv.field_size_limit(_LONGEST_FIELD)
    target_path = path.with_suffix(".hashes")
    with path.open(encoding="utf-8", newline="") as source, target_path.open("w") as target:
        for row_id, text in csv.reader(source):
            target.writelines([f"{row_id},{number}\n" for number in hashes_of(text)])
    path.unlink()
    return size


def _title_hashes(title: str) -> tuple[int]:
    return (title_hash(title),)
