"""The form of an index: one SQLite file that is built once and only read afterwards.

An MBID is 16 bytes. A recording or work has its first 8 bytes as the row's key and the other 8 in
`rest`, both as signed integers; if that key is taken, the next free one, and a row in `displaced`.
Artists, release groups and releases have MusicBrainz's row ids. A date is the integer `yyyymmdd`
with 00 for an unknown part; 0 is no date. Texts that MusicBrainz stores as "" are NULL.
"""

import sqlite3
import struct
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from chart_binder.errors import IndexFileError
from chart_binder.files import convert_json

FORMAT: Final = 1
"""The version of the form, in the file's `user_version`."""
APPLICATION_ID: Final = 0x63616E69
"""Marks SQLite files that are an index (`cani`)."""
ID_OFFSET: Final = 68
"""Where a SQLite file has its application id, in 4 bytes."""
PAGE_SIZE: Final = 8192
DIGEST_BYTES: Final = 32
"""At the end of the file, after SQLite's pages, is the SHA-256 of these pages."""
DAMAGE: Final = (
    sqlite3.Error, struct.error, msgspec.MsgspecError, ArithmeticError, AttributeError, LookupError,
    TypeError, ValueError,
)  # fmt: skip
"""Raised while a damaged file is read."""
DAMAGED: Final = "{}: the index is damaged ({}): `canon index verify` checks it"

TABLES: Final = """
-- the fields of `Summary`, each as JSON unless it is text
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
-- kind is one of WORD_KINDS
CREATE TABLE word (kind TEXT, id INTEGER, name TEXT, PRIMARY KEY (kind, id)) WITHOUT ROWID;
-- every MBID of artists, release groups and releases, of recordings only those that were merged;
-- kind is one of the numbers below, id the row's id or key
CREATE TABLE identifier (kind INTEGER, gid BLOB, id INTEGER, PRIMARY KEY (kind, gid)) WITHOUT ROWID;
-- recordings and works whose key is not the beginning of their MBID: all are read at once
CREATE TABLE displaced (
    kind INTEGER, key INTEGER, gid BLOB, PRIMARY KEY (kind, key)
) WITHOUT ROWID;
-- sort_name is NULL if it is the name; aliases is a list of texts (`TEXTS`)
CREATE TABLE artist (
    id INTEGER PRIMARY KEY, gid BLOB, name TEXT, sort_name TEXT, comment TEXT, country TEXT,
    aliases BLOB
);
-- row ids (`ids_of`): the artist's own groups and releases; releases of others with a track by it
CREATE TABLE discography (
    artist INTEGER PRIMARY KEY, release_groups BLOB, releases BLOB, appearances BLOB
);
-- artist is credited first; parts (`PARTS`) is NULL if it is the only one, under this name
CREATE TABLE credit (id INTEGER PRIMARY KEY, name TEXT, artist INTEGER, parts BLOB);
-- secondary has the bit 1 << id for each secondary type; releases are row ids; links: `LINKS`
CREATE TABLE release_group (
    id INTEGER PRIMARY KEY, gid BLOB, name TEXT, credit INTEGER, type INTEGER, secondary INTEGER,
    first_date INTEGER, comment TEXT, releases BLOB, links BLOB
);
-- name and credit are NULL if they are the group's; info: `INFO`
CREATE TABLE release (
    id INTEGER PRIMARY KEY, gid BLOB, name TEXT, credit INTEGER, release_group INTEGER,
    status INTEGER, comment TEXT, barcode TEXT, info BLOB
);
-- media by position: `MEDIA`
CREATE TABLE media (release INTEGER PRIMARY KEY, media BLOB);
-- isrcs are sorted, with a space between them; releases are row ids; works are keys (`keys_of`);
-- relations: `RELATIONS`
CREATE TABLE recording (
    key INTEGER PRIMARY KEY, rest INTEGER, name TEXT, credit INTEGER, length INTEGER,
    first_date INTEGER, comment TEXT, video INTEGER, isrcs TEXT, releases BLOB, works BLOB,
    relations BLOB
);
-- recordings are keys
CREATE TABLE work (key INTEGER PRIMARY KEY, rest INTEGER, name TEXT, recordings BLOB);
CREATE TABLE isrc (isrc TEXT, recording INTEGER, PRIMARY KEY (isrc, recording)) WITHOUT ROWID;
-- hashes of a name, sort name, alias, credited name or whole credit (`keys.name_hashes`)
CREATE TABLE artist_name (hash INTEGER, artist INTEGER, PRIMARY KEY (hash, artist)) WITHOUT ROWID;
-- every credited artist of a recording, with the hash of its title (`keys.title_hash`)
CREATE TABLE title (
    artist INTEGER, hash INTEGER, recording INTEGER, PRIMARY KEY (artist, hash, recording)
) WITHOUT ROWID;
CREATE TABLE group_title (
    hash INTEGER, release_group INTEGER, PRIMARY KEY (hash, release_group)
) WITHOUT ROWID;
"""
WORD_KINDS: Final = ("status", "primary_type", "secondary_type", "format", "link_type")
ARTIST, RELEASE_GROUP, RELEASE, RECORDING, WORK = range(5)
"""The kinds of `identifier` (without works) and of `displaced` (recordings and works alone)."""


class Info(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a release row packs into `info`, in the web service's order."""

    events: tuple[tuple[int, str | None], ...]
    """Date and ISO 3166-1 code of each event."""
    labels: tuple[tuple[str | None, str | None], ...]
    """Catalogue number and label name."""
    formats: tuple[int | None, ...]
    """The format of each medium, a word's id."""


class PackedMedium(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A medium with its tracks: first the pregap, then tracks by position, then data tracks."""

    position: int
    format: int | None
    name: str | None
    gids: bytes
    """The MBIDs of the tracks, 16 bytes each."""
    recordings: bytes
    """The upper halves of the keys of their recordings, 4 bytes each; if two recordings of the
    release have the same, whole keys."""
    positions: tuple[int, ...]
    """The tracks' positions; empty if they are 1, 2, 3 ..."""
    data_tracks: int
    titles: dict[int, str]
    """The titles that differ from the recording's, by the track's place from 0."""
    credits: dict[int, int]
    """The credits that differ from the recording's, likewise."""

    def key_ranges(self) -> Iterable[tuple[int, int]]:
        """Return the first and the last key that the recording of each track may have.

        Of the recordings with such a key, only one is on the release.
        """
        count = len(self.gids) // 16
        if len(self.recordings) == 8 * count:
            return [(key, key) for key in keys_of(self.recordings)]
        halves = struct.unpack(f">{count}i", self.recordings)
        return [(half << 32, half << 32 | 0xFFFF_FFFF) for half in halves]


class Summary(msgspec.Struct, frozen=True):
    """What an index was built from and when, with the number of rows of its tables."""

    schema: int
    timestamp: str
    """The time of the dump, as in its file `TIMESTAMP`."""
    replication_sequence: str
    built_at: str
    canon: str
    """The version of canon that built the index."""
    absent: tuple[str, ...]
    """Tables that the dump did not have, which count as empty."""
    counts: dict[str, int]

    @property
    def dumped_at(self) -> datetime:
        """The time of the dump."""
        return datetime.fromisoformat(self.timestamp)

    def age_days(self, now: datetime) -> float:
        """Return how many days old the dump is, and 0 if the clock is behind."""
        return max(0.0, (now - self.dumped_at).total_seconds() / 86_400)


Part: TypeAlias = tuple[int, str, str]
"""A credited artist's row id, the name in the credit, and what joins it to the next."""
PackedLink: TypeAlias = tuple[int, str, bool]
"""The type of a release group's link (a word's id), the address, and whether it has ended."""
PackedRelation: TypeAlias = tuple[int, bool, int, bool]
"""The type of a relation, whether it is backward, the other recording's key, whether it ended."""

ENCODER: Final = msgspec.msgpack.Encoder()
TEXTS: Final = msgspec.msgpack.Decoder(tuple[str, ...])
PARTS: Final = msgspec.msgpack.Decoder(tuple[Part, ...])
LINKS: Final = msgspec.msgpack.Decoder(tuple[PackedLink, ...])
RELATIONS: Final = msgspec.msgpack.Decoder(tuple[PackedRelation, ...])
INFO: Final = msgspec.msgpack.Decoder(Info)
MEDIA: Final = msgspec.msgpack.Decoder(tuple[PackedMedium, ...])
_KEY_AND_REST = struct.Struct(">qq")


def ids_of(packed: bytes | None) -> tuple[int, ...]:
    """Return the row ids of a packed column."""
    return struct.unpack(f">{len(packed) // 4}I", packed) if packed else ()


def keys_of(packed: bytes | None) -> tuple[int, ...]:
    """Return the keys of a packed column."""
    return struct.unpack(f">{len(packed) // 8}q", packed) if packed else ()


def gid_text(gid: bytes) -> str:
    """Return an MBID as text."""
    text = gid.hex("-", 2)  # with two hyphens too many
    return f"{text[:4]}{text[5:29]}{text[30:34]}{text[35:]}"


def gid_of_row(key: int, rest: int) -> str:
    """Return the MBID of a recording or work as text, if it is not in `displaced`."""
    return gid_text(_KEY_AND_REST.pack(key, rest))


def key_and_rest(gid: str) -> tuple[int, int]:
    """Return the two integers of an MBID. A row with another `rest` does not match."""
    key, rest = _KEY_AND_REST.unpack(bytes.fromhex(gid.replace("-", "")))
    return key, rest


@lru_cache(maxsize=65_536)
def date_text(number: int | None) -> str | None:
    """Return a date as MusicBrainz writes it: `1999-06`, `????-06`, `1999-??-21`."""
    if not number:
        return None
    year, month, day = number // 10_000, number // 100 % 100, number % 100
    parts = [f"{year:04}" if year else "????", f"{month:02}" if month else "??", f"{day:02}"]
    known = 3 if day else 2 if month else 1
    return "-".join(parts[:known])


def open_index(path: Path) -> sqlite3.Connection:
    """Open an index for reading; a file that replaces it later is not seen. Raises an error.

    The error is an `IndexFileError` that says what is wrong and how to build a new index.
    """
    if not path.is_file():
        raise IndexFileError(f"{path}: there is no index; `canon index build DUMP` makes one")
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise IndexFileError(f"{path}: cannot be opened ({error})") from error
    try:
        application_id, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        connection.execute(f"PRAGMA mmap_size = {path.stat().st_size}")
    except (sqlite3.Error, OSError) as error:
        connection.close()
        raise IndexFileError(
            f"{path}: cannot be read as an index ({error}); build it again"
        ) from error
    problem = "" if application_id == APPLICATION_ID else "is not an index that canon built"
    if not problem and version != FORMAT:
        problem = f"has format {version}, and this canon reads format {FORMAT}; build it again"
    if problem:
        connection.close()
        raise IndexFileError(f"{path}: {problem}")
    return connection


def write_summary(connection: sqlite3.Connection, summary: Summary) -> None:
    """Write the summary of a new index."""
    values = msgspec.structs.asdict(summary)
    rows = [
        (name, value if isinstance(value, str) else msgspec.json.encode(value).decode())
        for name, value in values.items()
    ]
    connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
    connection.commit()


def read_summary(connection: sqlite3.Connection) -> Summary:
    """Return the summary of an open index. Raises `IndexFileError`."""
    try:
        values = dict(connection.execute("SELECT name, value FROM meta"))
        for name in ("schema", "absent", "counts"):
            values[name] = msgspec.json.decode(values[name])
        summary = convert_json(values, Summary)
        summary.dumped_at.astimezone(UTC)
    except DAMAGE as error:
        raise IndexFileError(f"the index has no readable summary ({error})") from error
    return summary
