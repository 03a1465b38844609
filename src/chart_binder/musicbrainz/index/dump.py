"""Read a dump of MusicBrainz: an archive `mbdump.tar.bz2`, or a folder of its unpacked tables.

Blank lines in a table, which a dump never has, are skipped.
"""

import bz2
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol, cast

from chart_binder.errors import IndexFileError, counted
from chart_binder.files import quoted

SCHEMAS: Final = (29, 30, 31)
"""The values of `SCHEMA_SEQUENCE` whose columns are known."""
ADDRESS: Final = "https://data.metabrainz.org/pub/musicbrainz/data/fullexport"
"""Where MusicBrainz publishes dumps; the file `LATEST` there names the newest folder."""

_DATES = (
    "begin_date_year:s? begin_date_month:s? begin_date_day:s?"
    " end_date_year:s? end_date_month:s? end_date_day:s?"
)
_WORD = "id:i name:t parent:i? child_order:i description:t? gid:u"
_REDIRECT = "gid:u new_id:i created:z?"
_RELATION = (
    "id:i link:i entity0:i entity1:i edits_pending:i last_updated:z? link_order:i"
    " entity0_credit:t entity1_credit:t"
)
_COLUMNS: Mapping[str, str] = {
    "area": f"id:i gid:u name:t type:i? edits_pending:i last_updated:z? {_DATES} ended:b comment:t",
    "area_type": _WORD,
    "artist": f"id:i gid:u name:t sort_name:t {_DATES} type:i? area:i? gender:i? comment:t"
    " edits_pending:i last_updated:z? ended:b begin_area:i? end_area:i?",
    "artist_alias": "id:i artist:i name:t locale:t? edits_pending:i last_updated:z? type:i?"
    f" sort_name:t {_DATES} primary_for_locale:b ended:b",
    "artist_credit": "id:i name:t artist_count:s ref_count:i? created:z? edits_pending:i gid:u",
    "artist_credit_name": "artist_credit:i position:s artist:i name:t join_phrase:t",
    "artist_gid_redirect": _REDIRECT,
    "iso_3166_1": "area:i code:t",
    "iso_3166_2": "area:i code:t",
    "isrc": "id:i recording:i isrc:t edits_pending:i created:z?",
    "l_area_area": _RELATION,
    "l_recording_recording": _RELATION,
    "l_recording_work": _RELATION,
    "l_release_group_url": _RELATION,
    "label": f"id:i gid:u name:t {_DATES} label_code:i? type:i? area:i? comment:t edits_pending:i"
    " last_updated:z? ended:b",
    "link": f"id:i link_type:i {_DATES} attribute_count:i created:z? ended:b",
    "link_type": "id:i parent:i? child_order:i gid:u entity_type0:t entity_type1:t name:t"
    " description:t? link_phrase:t reverse_link_phrase:t long_link_phrase:t last_updated:z?"
    " is_deprecated:b has_dates:b entity0_cardinality:s entity1_cardinality:s",
    "medium": "id:i release:i position:i format:i? name:t edits_pending:i last_updated:z?"
    " track_count:i gid:u",
    "medium_format": "id:i name:t parent:i? child_order:i year:s? has_discids:b description:t?"
    " gid:u",
    "recording": "id:i gid:u name:t artist_credit:i length:i? comment:t edits_pending:i"
    " last_updated:z? video:b",
    "recording_gid_redirect": _REDIRECT,
    "release": "id:i gid:u name:t artist_credit:i release_group:i status:i? packaging:i?"
    " language:i? script:i? barcode:t? comment:t edits_pending:i quality:s last_updated:z?",
    "release_country": "release:i country:i date_year:s? date_month:s? date_day:s?",
    "release_gid_redirect": _REDIRECT,
    "release_group": "id:i gid:u name:t artist_credit:i type:i? comment:t edits_pending:i"
    " last_updated:z?",
    "release_group_gid_redirect": _REDIRECT,
    "release_group_primary_type": _WORD,
    "release_group_secondary_type": _WORD,
    "release_group_secondary_type_join": "release_group:i secondary_type:i created:z?",
    "release_label": "id:i release:i label:i? catalog_number:t? last_updated:z?",
    "release_status": _WORD,
    "release_unknown_country": "release:i date_year:s? date_month:s? date_day:s?",
    "track": "id:i gid:u recording:i medium:i position:i number:t name:t artist_credit:i length:i?"
    " edits_pending:i last_updated:z? is_data_track:b",
    "url": "id:i gid:u url:t edits_pending:i last_updated:z?",
    "work": "id:i gid:u name:t type:i? comment:t edits_pending:i last_updated:z?",
}
"""The columns of each table in schema 31, each with its type; `?` marks those that may be NULL."""
_REQUIRED = frozenset(
    {
        "area", "area_type", "artist", "artist_credit", "artist_credit_name", "iso_3166_1",
        "medium", "medium_format", "recording", "release", "release_country", "release_group",
        "release_group_primary_type", "release_group_secondary_type", "release_status", "track",
    }
)  # fmt: skip
"""The tables without which there is no index; a dump has no file for an empty table."""
_FORMS = {
    "i": ("INTEGER", re.compile(r"-?\d{1,10}", re.ASCII), "a whole number"),
    "s": ("SMALLINT", re.compile(r"-?\d{1,5}", re.ASCII), "a small whole number"),
    "u": ("UUID", re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "an MBID"),
    "b": ("BOOLEAN", re.compile("[tf]"), "t or f"),
    "t": ("VARCHAR", re.compile(".*", re.DOTALL), "text"),
    "z": ("VARCHAR", re.compile(".*", re.DOTALL), "a time"),
}
_GREATEST = {"i": 2**31 - 1, "s": 2**15 - 1}
_NEVER_RAW = {"\r": "a carriage return", "\0": "a NUL"}
_NOTES = ("SCHEMA_SEQUENCE", "TIMESTAMP")
_NULL = r"\N"
_PIECE = 1 << 20
_TAR_ERRORS = (tarfile.TarError, EOFError, OSError)


class Column(NamedTuple):
    """A column of a table: its name, its SQL type, and whether it may be NULL."""

    name: str
    kind: str
    is_optional: bool

    @property
    def sql_type(self) -> str:
        """DuckDB's type for the column."""
        return _FORMS[self.kind][0]

    def problem(self, value: str) -> str | None:
        """Return why a field of the column is damaged, or None."""
        if value == _NULL:
            return None if self.is_optional else "is NULL (\\N), which it must not be"
        _, form, expected = _FORMS[self.kind]
        is_valid = form.fullmatch(value) and (
            self.kind not in _GREATEST or abs(int(value)) <= _GREATEST[self.kind]
        )
        return None if is_valid else f"is {value[:80]!r}, not {expected}"


def columns_of(table: str, schema: int) -> tuple[Column, ...]:
    """Return the columns of a table in a schema, in the order of the dump."""
    words = _COLUMNS[table].split()
    if schema < 31 and table == "isrc":  # noqa: PLR2004 (the schema that dropped the column)
        words.insert(3, "source:s?")
    if schema < 30 and table == "medium":  # noqa: PLR2004 (the schema that added the column)
        words.pop()
    pairs = [word.split(":") for word in words]
    return tuple(Column(name, kind[0], kind.endswith("?")) for name, kind in pairs)


class Meter(Protocol):
    """Shows how far a build is; `unit` is what a stage counts, such as `rows` or `MB`."""

    def begin(self, stage: str, total: float = 0, unit: str = "") -> None:
        """Begin a stage, of unknown size if `total` is 0."""

    def show(self, done: float) -> None:
        """Show how many units of the stage are done."""

    def follow(self, done: Callable[[], float] | None) -> None:
        """Call `done` from another thread from time to time to show more, until it is None."""


@dataclass(frozen=True)
class Dump:
    """The unpacked tables of a dump; `absent` are those that it lacks, which count as empty."""

    schema: int
    timestamp: str
    replication_sequence: str
    tables: Mapping[str, Path]
    absent: tuple[str, ...] = ()


def read_folder(folder: Path) -> Dump:
    """Find the tables in a folder, or in its folder `mbdump`. Raises `IndexFileError`."""
    tables = folder / "mbdump" if (folder / "mbdump").is_dir() else folder
    notes = folder if (folder / "SCHEMA_SEQUENCE").exists() else tables.parent
    schema = _schema(notes, _note(notes, "SCHEMA_SEQUENCE"))
    paths = {name: tables / name for name in _COLUMNS if (tables / name).is_file()}
    if missing := sorted(_REQUIRED - set(paths)):
        plural = "table" if len(missing) == 1 else "tables"
        raise IndexFileError(f"{quoted(tables)} lacks the {plural} {', '.join(missing)}")
    absent = tuple(sorted(set(_COLUMNS) - set(paths)))
    timestamp = _note(notes, "TIMESTAMP")
    if not _is_time(timestamp):
        raise IndexFileError(
            f"{quoted(notes / 'TIMESTAMP')} is {timestamp[:40]!r}, not a time such as"
            " 2026-07-18 00:10:01.834512+00"
        )
    replication = _note(notes, "REPLICATION_SEQUENCE", is_needed=False)
    return Dump(schema, timestamp, replication, paths, absent)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _note(folder: Path, name: str, *, is_needed: bool = True) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        if not is_needed:
            return ""
        reason = getattr(error, "strerror", None) or str(error)
        raise IndexFileError(
            f"{quoted(folder / name)} cannot be read ({reason}); the dump has it beside its tables"
        ) from error


def _schema(source: Path, text: str) -> int:
    known = ", ".join(map(str, SCHEMAS[:-1])) + f" or {SCHEMAS[-1]}"
    if text.isdecimal() and int(text) in SCHEMAS:
        return int(text)
    raise IndexFileError(
        f"{quoted(source)}: SCHEMA_SEQUENCE is {text[:40]!r}, and this canon reads {known}"
    )


# Archives.


def verify_sums(archive: Path, meter: Meter) -> None:
    """Compare an archive with the sum beside it. Raises `IndexFileError` if they differ."""
    for file_name, algorithm in (("SHA256SUMS", "sha256"), ("MD5SUMS", "md5")):
        wanted = _sum_in(archive.with_name(file_name), archive.name)
        if not wanted:
            continue
        meter.begin(f"check {file_name}", archive.stat().st_size / 1e6, "MB")
        actual = digest_of(archive, archive.stat().st_size, meter, algorithm).hex()
        if actual != wanted:
            raise IndexFileError(
                f"{quoted(archive)} is damaged: its {algorithm} is {actual}, and {file_name} says"
                f" {wanted}; fetch it again"
            )
        return


def digest_of(path: Path, size: int, meter: Meter, algorithm: str = "sha256") -> bytes:
    """Return the digest of the first `size` bytes of a file."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as stream:
        while piece := stream.read(min(_PIECE, size - stream.tell())):
            digest.update(piece)
            meter.show(stream.tell() / 1e6)
    return digest.digest()


def _sum_in(path: Path, name: str) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    pairs = (line.split(maxsplit=1) for line in lines)
    return next(
        (pair[0].lower() for pair in pairs if len(pair) > 1 and pair[1].lstrip("*") == name), ""
    )


def unpack(archive: Path, folder: Path, jobs: int, meter: Meter) -> Dump:
    """Unpack the needed tables of an archive into a folder, and stop after the last of them.

    Raises `IndexFileError` if the archive is cut off, damaged, or lacks a table.
    """
    wanted = set(_COLUMNS)
    (folder / "mbdump").mkdir()
    last = "its beginning"
    try:
        with _decompressed(archive, jobs) as (stream, position):
            meter.begin(f"unpack {archive.name}", archive.stat().st_size / 1e6, "MB")
            for member, content in _members(stream):
                name = member.name.removeprefix("./").removeprefix("mbdump/")
                last = f"{name} ({member.size:,} bytes)"
                if member.name.endswith(f"mbdump/{name}") and name in wanted:
                    _copy(content, folder / "mbdump" / name, lambda: meter.show(position() / 1e6))
                    wanted.discard(name)
                elif name in {*_NOTES, "REPLICATION_SEQUENCE"}:
                    (folder / name).write_bytes(content.read())
                    if name == "SCHEMA_SEQUENCE":
                        _schema(archive, (folder / name).read_text(errors="replace").strip())
                if not wanted:
                    break
    except _TAR_ERRORS as error:
        if isinstance(error, OSError) and error.errno is not None:  # a full disk, a lost file
            raise
        raise IndexFileError(
            f"{quoted(archive)} is cut off or damaged at {last}: {error}; fetch it again"
        ) from error
    notes = (name for name in _NOTES if not (folder / name).exists())
    if missing := [*notes, *sorted(wanted & _REQUIRED)]:
        raise IndexFileError(
            f"{quoted(archive)} ends after {last} without {', '.join(missing)}; fetch it again"
        )
    return read_folder(folder)


def _members(stream: IO[bytes]) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            if member.isfile() and (content := tar.extractfile(member)):
                yield member, content


def _copy(content: IO[bytes], path: Path, tick: Callable[[], None]) -> None:
    with path.open("wb") as target:
        while piece := content.read(_PIECE):
            target.write(piece)
            tick()


@contextmanager
def _decompressed(archive: Path, jobs: int) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """Open the content of an archive, and a function that tells how much of it was read."""
    program = shutil.which("lbzip2")
    with archive.open("rb") as raw:
        if os.pread(raw.fileno(), 3, 0) not in {b"", b"BZh"}:
            raise IndexFileError(f"{quoted(archive)} is not compressed with bzip2, as a dump is")
        if program is None:
            with bz2.open(raw) as stream:
                yield stream, raw.tell
            return
        call = [program, "--decompress", "--stdout", f"-n{jobs}"]
        with subprocess.Popen(  # noqa: S603 (a program of the system, without a shell)
            call, stdin=raw, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
        ) as process:  # in a group of its own, so that Ctrl-C ends canon and not the archive
            try:
                # If lbzip2 fails, its output is cut off, which the reader of the archive notices.
                yield cast("IO[bytes]", process.stdout), lambda: raw.seek(0, 1)
            finally:
                process.kill()


# Damage.


def damage_in(path: Path, table: str, schema: int) -> str | None:
    """Return the first defect of a table with its line and column, or None.

    It is slow, so it is called only if DuckDB refused the table.
    """
    columns = columns_of(table, schema)
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if problem := _line_problem(line, columns):
                return f"{quoted(path)}, line {number:,}: {problem}"
    return None


def _line_problem(line: bytes, columns: tuple[Column, ...]) -> str | None:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} is not UTF-8"
    if not text.endswith("\n"):
        return "the line has no end, so the file is cut off"
    if raw := next((name for sign, name in _NEVER_RAW.items() if sign in text), None):
        return f"{raw} that is not escaped"
    fields = text[:-1].split("\t")
    if len(fields) != len(columns):
        return f"{counted(len(fields), 'field')}, and the table has {len(columns)} columns"
    for column, value in zip(columns, fields, strict=True):
        if problem := column.problem(value):
            return f"column {column.name} {problem}"
    return None
