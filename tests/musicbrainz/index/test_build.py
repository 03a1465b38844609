"""Building an index from the small dump, and from damaged copies of it."""

import bz2
import io
import os
import random
import re
import shutil
import sqlite3
import sys
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.errors import IndexFileError, LookupFailedError
from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.build import BuildOptions, build_index
from chart_binder.musicbrainz.index.reader import Reader
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.index.verify import check_index, write_digest
from chart_binder.musicbrainz.source import MusicBrainzSource
from make_dump import write_dump
from musicbrainz.index.building import DUMP, OLD_INDEX, SilentMeter, build

NOTES = ("TIMESTAMP", "COPYING", "REPLICATION_SEQUENCE", "SCHEMA_SEQUENCE")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "musicbrainz.index"
    build(DUMP, path)
    return path


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A copy of the small dump."""
    return shutil.copytree(DUMP, tmp_path / "dump")


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    file = layout.open_index(path)
    names = [
        name for (name,) in file.execute("SELECT name FROM sqlite_master") if "auto" not in name
    ]
    rows = {name: sorted(file.execute(f"SELECT * FROM {name}"), key=repr) for name in names}
    file.close()
    del rows["meta"]
    return rows


def test_the_index_passes_its_checks_and_nothing_else_is_left(index: Path) -> None:
    summary, pages, recordings = check_index(index, SilentMeter())
    assert pages * layout.PAGE_SIZE + layout.DIGEST_BYTES == index.stat().st_size
    assert 200 < recordings <= 313
    counts = summary.counts["recording"], summary.counts["release"]
    assert (counts, summary.schema) == ((313, 332), 31)
    assert "work" in summary.absent
    assert [*index.parent.iterdir()] == [index]


def one(index: Path, query: str, *values: object) -> tuple[object, ...]:
    file = layout.open_index(index)
    (row,) = file.execute(query, values).fetchall()
    file.close()
    return tuple(row)


def test_escapes_of_the_dump_are_undone(index: Path) -> None:
    (name,) = one(index, "SELECT name FROM recording WHERE name LIKE 'INVENTED%'")
    assert name == "INVENTED\ttab, new\nline and back\\slash \\N"


def test_events_are_by_date_and_those_of_a_day_by_the_names_of_countries(index: Path) -> None:
    query = "SELECT info FROM release WHERE comment LIKE ?"
    countries = {}
    for comment in ("INVENTED: one day in five%", "INVENTED: one day in twenty%"):
        (packed,) = one(index, query, comment)
        assert isinstance(packed, bytes)
        countries[comment[-7:-1]] = [code for _, code in layout.INFO.decode(packed).events]
    assert countries["n five"] == ["AU", "DE", "GB", "US", "JP"], "that of JP lacks a day"
    by_name = "AU AT CA CN FR DE HK IT JP MY MX NL NZ PL RU KR SE TW GB US"
    assert countries["twenty"] == by_name.split()


@pytest.mark.parametrize("schema", [29, 30])
def test_earlier_schemas_make_the_same_index(dump: Path, index: Path, schema: int) -> None:
    change(dump, "isrc", lambda fields: [*fields[:3], r"\N", *fields[3:]])
    if schema == 29:
        change(dump, "medium", lambda fields: fields[:-1])
    (dump / "SCHEMA_SEQUENCE").write_text(f"{schema}\n")
    assert build(dump, dump / "out").schema == schema
    assert rows_of(dump / "out") == rows_of(index)


def change(dump: Path, table: str, new: Callable[[list[str]], list[str]], line: int = 0) -> None:
    """Change the fields of one line of a table, or of all."""
    path = dump / "mbdump" / table
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    for number, text in enumerate(lines, 1):
        if line in (0, number):
            lines[number - 1] = "\t".join(new(text.split("\t")))
    path.write_text("".join(f"{text}\n" for text in lines), encoding="utf-8", newline="\n")


def refusal(source: Path, out: Path) -> str:
    """Return why a build fails, and hold it to leaving the old index and nothing else."""
    out.write_bytes(OLD_INDEX)
    before = {*out.parent.iterdir()}
    with pytest.raises(IndexFileError) as refused:
        build(source, out)
    assert out.read_bytes() == OLD_INDEX
    assert {*out.parent.iterdir()} == before
    return str(refused.value)


@pytest.mark.parametrize(("table", "column", "value", "reason"), [
    ("track", 3, "four", "track', line 2: column medium is 'four', not a whole number$"),
    ("track", 3, "1\t2", "track', line 2: 13 fields, and the table has 12 columns"),
    ("release_country", 2, "40000", "column date_year is '40000', not a small whole number"),
    ("medium", 4, "a\rb", "medium', line 2: a carriage return that is not escaped"),
    ("recording", 1, r"\N", "recording', line 2: column gid is NULL"),
    ("recording", 2, r"\N", "column name is NULL"),
    ("artist", 3, r"\N", "column sort_name is NULL"),
    ("artist_credit_name", 0, r"\N", "column artist_credit is NULL"),
    ("track", 1, r"\N", "column gid is NULL"), ("track", 6, r"\N", "column name is NULL"),
    ("release_country", 1, r"\N", "column country is NULL"),
    ("medium_format", 1, r"\N", "column name is NULL"),
    ("track", 7, "99999999", r"artist_credit lacks rows to which \d+ rows? of track refer"),
    ("artist_credit_name", 0, "99999999", "artist_credit(_name)? lacks rows"),
    ("release_country", 0, "99999999", "release lacks rows to which"),
    ("release_country", 1, "99999999", "area lacks rows to which"),
    ("release_label", 2, "99999999", "label lacks rows to which 1 row of release_label refer"),
    ("recording", 2, "a\0b", "recording', line 2: a NUL that is not escaped"),
])  # fmt: skip
def test_a_damaged_row_is_refused(
    dump: Path, tmp_path: Path, table: str, column: int, value: str, reason: str
) -> None:
    change(dump, table, lambda row: [*row[:column], value, *row[column + 1 :]], line=2)
    assert re.search(reason, refusal(dump, tmp_path / "out"))


@pytest.mark.parametrize(("name", "text", "reason"), [
    *(("TIMESTAMP", text, f"TIMESTAMP' is {text!r}, not a time")
      for text in ("", "yesterday", "2026-07-18 00:10:01", "2026-19-18 00:10:01+00")),
    ("SCHEMA_SEQUENCE", "32\n", "is '32', and this canon reads 29, 30 or 31"),
    ("SCHEMA_SEQUENCE", None, "SCHEMA_SEQUENCE' cannot be read (No such file"),
    ("mbdump/recording", None, "mbdump' lacks the table recording"),
    ("mbdump/recording", "", "recording' is empty"),
])  # fmt: skip
def test_a_file_that_is_missing_or_wrong_is_refused(
    dump: Path, tmp_path: Path, name: str, text: str | None, reason: str
) -> None:
    (dump / name).unlink()
    if text is not None:
        (dump / name).write_text(text)
    assert reason in refusal(dump, tmp_path / "out")


@pytest.mark.parametrize(("table", "reason"), [
    ("track", r"track has two rows with one position on release \d+"),
    ("medium", r"medium has two rows with the id \d+"),
    ("recording", r"recording has two rows with the id \d+"),
])  # fmt: skip
def test_a_row_that_is_there_twice_is_refused(
    dump: Path, tmp_path: Path, table: str, reason: str
) -> None:
    path = dump / "mbdump" / table
    first, _, others = path.read_bytes().partition(b"\n")
    path.write_bytes(first + b"\n" + others + first + b"\n")
    assert re.search(reason, refusal(dump, tmp_path / "out"))


@pytest.mark.parametrize(("table", "reason"), [
    ("track", r"incomplete: track lacks \d+ rows, as the track counts of medium show"),
    ("label", r"label lacks rows to which \d+ rows of release_label refer"),
    ("medium_format", r"medium_format lacks rows to which \d+ rows of medium refer"),
    ("release_status", r"release_status lacks rows to which \d+ rows of release refer"),
    ("artist_credit_name", r"artist_credit_name lacks rows to which \d+ rows of track refer"),
])  # fmt: skip
def test_a_table_that_is_cut_at_the_end_of_a_line_is_refused(
    dump: Path, tmp_path: Path, table: str, reason: str
) -> None:
    path = dump / "mbdump" / table
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    assert re.search(reason, refusal(dump, tmp_path / "out"))


def test_blank_lines_are_skipped(dump: Path, index: Path) -> None:
    for table in ("track", "isrc"):
        path = dump / "mbdump" / table
        path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n", 3) + b"\n")
    build(dump, dump / "out")
    assert rows_of(dump / "out") == rows_of(index)


@pytest.mark.parametrize("table", ["artist", "recording", "release", "release_group"])
def test_a_merged_id_that_another_row_has_is_not_used(
    dump: Path, tmp_path: Path, table: str
) -> None:
    (first, gid, *_), (second, *_), *_ = fields_of(dump, table)
    with (dump / "mbdump" / f"{table}_gid_redirect").open("a") as file:
        file.write(f"{gid}\t{second}\t\\N\n")
    build(dump, tmp_path / "out")
    reader = Reader(tmp_path / "out")
    if table == "recording":
        row = reader.recording_row(gid)
        assert row
        assert reader.recording(row).id == gid
    else:
        kinds = {"artist": 0, "release_group": 1, "release": 2}
        assert reader.row_id(kinds[table], gid) == int(first)


@pytest.mark.parametrize(
    ("parts", "date"),
    [(["0", "6", "5"], 605), (["-5", "6", "5"], 605), (["10000", "6", "5"], 605),
     (["1990", "0", "5"], 1990_00_05), (["1990", "13", "0"], 1990_00_00),
     (["12", "6", "5"], 12_06_05), (["0", "0", "0"], 0)],
)  # fmt: skip
def test_a_part_of_a_date_that_cannot_be_is_unknown(
    dump: Path, tmp_path: Path, parts: list[str], date: int
) -> None:
    change(dump, "release_country", lambda row: [*row[:2], *parts])
    build(dump, tmp_path / "out")
    release = fields_of(dump, "release_country")[0][0]
    (packed,) = one(tmp_path / "out", "SELECT info FROM release WHERE id = ?", release)
    assert isinstance(packed, bytes)
    assert {day for day, _ in layout.INFO.decode(packed).events} == {date}


def test_a_link_to_an_index_stays(tmp_path: Path) -> None:
    link, disk = tmp_path / "link", tmp_path / "disk"
    disk.mkdir()
    link.symlink_to(disk / "index")
    for _ in range(2):  # the second build replaces what the first has written
        build(DUMP, link)
        assert link.is_symlink()
        assert [*disk.iterdir()] == [disk / "index"]
    assert {*tmp_path.iterdir()} == {link, disk}


def test_a_path_that_duckdb_cannot_open_is_refused(dump: Path, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"odd\xff")
    dump.rename(odd)
    assert "odd\\udcff' is not UTF-8, as DuckDB requires" in refusal(odd, tmp_path / "out")
    assert "udcff' is not UTF-8" in refusal(DUMP, tmp_path / os.fsdecode(b"index\xff"))


def test_a_file_that_is_no_index_is_not_replaced(tmp_path: Path) -> None:
    song = tmp_path / "song.flac"
    song.write_bytes(b"fLaC" * 100)
    for out in (song, tmp_path):
        with pytest.raises(IndexFileError, match="is not an index, so it is not replaced"):
            build(DUMP, out)
    assert song.read_bytes() == b"fLaC" * 100
    assert [*tmp_path.iterdir()] == [song]


def test_a_table_that_is_cut_off_is_refused(dump: Path, tmp_path: Path) -> None:
    path = dump / "mbdump" / "recording"
    content = path.read_bytes()
    path.write_bytes(content[:-40])
    assert "recording' is cut off" in refusal(dump, tmp_path / "out")
    path.write_bytes(content[: content.rindex(b"\n", 0, -1) + 1])
    text = refusal(dump, tmp_path / "out")
    assert re.search(r"incomplete: recording lacks rows to which \d+ rows? of track refer", text)
    path.write_bytes(b"\xff".join(content.split(b"INVENTED")))
    assert re.search(r"line \d+: byte 48 is not UTF-8", refusal(dump, tmp_path / "out"))


def archive(path: Path, dump: Path = DUMP) -> Path:
    """Write a dump as an archive, its members in the order of a real one."""
    names = [*NOTES, *sorted(f"mbdump/{table.name}" for table in (dump / "mbdump").iterdir())]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name in names:
            tar.add(dump / name, name)
    path.write_bytes(bz2.compress(content.getvalue(), 1))
    return path


@pytest.mark.parametrize("has_lbzip2", [True, False])
def test_an_archive_makes_the_same_index(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch, *, has_lbzip2: bool
) -> None:
    if not has_lbzip2:
        monkeypatch.setenv("PATH", "")
    source = archive(tmp_path / "mbdump.tar.bz2")
    (tmp_path / "SHA256SUMS").write_text(
        f"{sha256(source.read_bytes()).hexdigest()} *mbdump.tar.bz2\n"
    )
    build(source, tmp_path / "out")
    assert rows_of(tmp_path / "out") == rows_of(index)
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64} *mbdump.tar.bz2\n")
    assert "is damaged: its sha256 is" in refusal(source, tmp_path / "out")


@pytest.mark.parametrize("has_lbzip2", [True, False])
def test_an_archive_of_another_kind_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_lbzip2: bool
) -> None:
    if not has_lbzip2:
        monkeypatch.setenv("PATH", "")
    source = archive(tmp_path / "mbdump.tar.bz2")
    source.write_bytes(bz2.decompress(source.read_bytes()))
    assert "mbdump.tar.bz2' is not compressed with bzip2" in refusal(source, tmp_path / "out")


def test_an_archive_without_a_time_is_refused(dump: Path, tmp_path: Path) -> None:
    (dump / "TIMESTAMP").rename(dump / "COPYING")
    (dump / "TIMESTAMP").mkdir()
    source = archive(tmp_path / "mbdump.tar.bz2", dump)
    assert re.search("ends after .* without TIMESTAMP; ", refusal(source, tmp_path / "out"))


def test_an_archive_is_left_after_the_last_table_that_is_needed(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump", 3_000)
    (dump / "mbdump" / "work_alias").write_bytes(random.Random(1).randbytes(1_500_000))
    source = archive(tmp_path / "mbdump.tar.bz2", dump)
    os.truncate(source, source.stat().st_size - 100_000)
    assert build(source, tmp_path / "out").absent == ()


@pytest.mark.parametrize("has_lbzip2", [True, False])
def test_a_cut_archive_names_the_last_table_or_the_missing_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_lbzip2: bool
) -> None:
    if not has_lbzip2:
        monkeypatch.setenv("PATH", "")
    source = archive(tmp_path / "mbdump.tar.bz2")
    content = source.read_bytes()
    for share in (0.0, 0.1, 0.5, 0.8):
        source.write_bytes(content[: int(len(content) * share)])
        text = refusal(source, tmp_path / "out")
        assert re.search("is cut off or damaged at |ends after .* without ", text), text
    broken = bytearray(content)
    broken[len(content) // 2] ^= 0xFF
    source.write_bytes(broken)
    text = refusal(source, tmp_path / "out")
    assert re.search("is cut off or damaged at |ends after .* without ", text), text


def test_too_little_memory_or_disk_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(IndexFileError, match=r"may use 900,000,000 MB of memory, and .* are free"):
        build_index(DUMP, BuildOptions(tmp_path / "out", memory_mb=900_000_000), SilentMeter())
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1_000))
    with pytest.raises(IndexFileError, match=r"needs about .* GB in .*, and 0\.0 GB are free"):
        build(DUMP, tmp_path / "out")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(("memory_mb", "jobs", "processes", "threads"), [
    (4_000, 4, 4, 4), (4_000, 256, 17, 17), (800, 8, 2, 2), (500, 8, 1, 1),
])  # fmt: skip
def test_more_jobs_do_not_take_more_memory(
    memory_mb: int, jobs: int, processes: int, threads: int
) -> None:
    options = BuildOptions(Path("out"), memory_mb=memory_mb, jobs=jobs)
    assert (options.processes, options.threads) == (processes, threads)
    assert 200 <= options.duckdb_mb <= max(200, memory_mb - 300 - 70 * processes)


def test_a_build_says_that_it_takes_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert "[index]'` installs it" in refusal(DUMP, tmp_path / "out")


def test_recordings_whose_mbids_begin_alike_are_kept_apart(dump: Path, tmp_path: Path) -> None:
    rest = "8000-00000000000"
    gids = [
        f"aaaaaaaa-aaaa-4aaa-{rest}0",
        f"aaaaaaaa-aaaa-4aaa-{rest}1",
        f"aaaaaaaa-aaaa-4aaa-{rest}2",
    ]
    titles = [row[2] for row in fields_of(dump, "recording")[:3]]
    new = dict(zip((row[1] for row in fields_of(dump, "recording")), gids, strict=False))
    change(dump, "recording", lambda row: [row[0], new.get(row[1], row[1]), *row[2:]])
    build(dump, tmp_path / "out")
    reader = Reader(tmp_path / "out")
    rows = [row for row in map(reader.recording_row, gids) if row]
    assert [row[2] for row in rows] == titles
    assert [reader.recording(row).id for row in rows] == gids
    key, _ = layout.key_and_rest(gids[0])
    assert [row[0] for row in rows] == [key, key + 1, key + 2]


def changed_copy(index: Path, folder: Path, query: str) -> Path:
    """Return a copy of an index in which a query was run."""
    changed = Path(shutil.copy(index, folder / "changed"))
    with sqlite3.connect(changed) as file:
        file.execute(query)
    file.close()
    return changed


@pytest.mark.parametrize("table", ["recording", "title", "media", "isrc"])
def test_an_index_without_some_rows_does_not_pass_its_check(
    index: Path, tmp_path: Path, table: str
) -> None:
    query = f"DELETE FROM {table} WHERE {'release' if table == 'media' else 1} > 0"
    changed = changed_copy(index, tmp_path, query)
    write_digest(changed, SilentMeter())
    with pytest.raises(IndexFileError, match=f"{table} has 0 rows, not"):
        check_index(changed, SilentMeter())


@pytest.mark.parametrize(
    "change",
    ["release SET name = 'x', barcode = 1", "credit SET name = 'x'", "artist SET country = 'XX'",
     "recording SET length = 1", "release_group SET first_date = 19990101", "word SET name = 'x'"],
)  # fmt: skip
def test_a_changed_value_does_not_pass_the_check(index: Path, tmp_path: Path, change: str) -> None:
    with pytest.raises(IndexFileError, match="its checksum is wrong"):
        check_index(changed_copy(index, tmp_path, f"UPDATE {change}"), SilentMeter())


def test_a_changed_byte_does_not_pass_the_check(index: Path, tmp_path: Path) -> None:
    content = index.read_bytes()
    for place in random.Random(1).sample(range(len(content)), 50):
        changed = bytearray(content)
        changed[place] ^= 1
        (tmp_path / "changed").write_bytes(changed)
        with pytest.raises(IndexFileError):
            check_index(tmp_path / "changed", SilentMeter())


@pytest.mark.parametrize(
    "query",
    ["DELETE FROM credit", "DELETE FROM artist", "DELETE FROM release",
     "DELETE FROM release_group", "UPDATE recording SET releases = x'0102'",
     "UPDATE release SET info = x'90'", "DELETE FROM recording", "DROP TABLE recording"],
)  # fmt: skip
def test_damage_is_never_taken_for_a_missing_recording(
    index: Path, tmp_path: Path, query: str
) -> None:
    key, rest, isrc = map(str, one(
        index,
        "SELECT r.key, r.rest, i.isrc FROM isrc i JOIN recording r ON r.key = i.recording"
        " WHERE r.releases IS NOT NULL LIMIT 1",
    ))  # fmt: skip
    tags = TrackTags(recording_mbid=layout.gid_of_row(int(key), int(rest)), isrcs=(isrc,))
    source = MusicBrainzSource(IndexService(changed_copy(index, tmp_path, query)))
    with pytest.raises(LookupFailedError, match="changed: the index is damaged"):
        source.gather(tags)


def test_a_damaged_list_of_words_is_an_error_that_says_so(index: Path, tmp_path: Path) -> None:
    query = "UPDATE word SET kind = 'unknown' WHERE kind = 'status'"
    with pytest.raises(IndexFileError, match="changed: the index is damaged"):
        Reader(changed_copy(index, tmp_path, query))


def test_a_damaged_or_foreign_file_is_no_index(index: Path, tmp_path: Path) -> None:
    content = index.read_bytes()
    for name, damaged in (("cut", content[: len(content) // 2]), ("text", b"no database at all")):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(IndexFileError, match=name):
            check_index(tmp_path / name, SilentMeter())
    sqlite3.connect(tmp_path / "foreign").executescript("CREATE TABLE a (b);").close()
    with pytest.raises(IndexFileError, match="is not an index that canon built"):
        check_index(tmp_path / "foreign", SilentMeter())
    with pytest.raises(IndexFileError, match="there is no index"):
        check_index(tmp_path / "nothing", SilentMeter())
    deep = tmp_path.joinpath(*["a" * 250] * 3)  # SQLite opens no file with so long a name
    deep.mkdir(parents=True)
    shutil.copy(index, deep / "index")
    with pytest.raises(IndexFileError, match="cannot be opened"):
        check_index(deep / "index", SilentMeter())


def test_recordings_of_a_release_whose_keys_begin_alike_are_kept_apart(
    dump: Path, tmp_path: Path
) -> None:
    """Media have the upper halves of keys, unless two recordings of the release share one."""
    tracks = fields_of(dump, "track")
    first, second = [track for track in tracks if track[3] == tracks[0][3]][:2]
    gids = {first[2]: gid_like(1), second[2]: gid_like(2)}
    change(dump, "recording", lambda row: [row[0], gids.get(row[0], row[1]), *row[2:]])
    build(dump, tmp_path / "out")
    (medium,) = [row for row in fields_of(dump, "medium") if row[0] == first[3]]
    (release,) = Reader(tmp_path / "out").releases([int(medium[1])], tracks=True)
    recordings = [track.recording.id for track in release.tracks if track.recording]
    assert {*gids.values()} <= {*recordings}
    assert len(recordings) == len([*release.tracks]) == len({*recordings})


def gid_like(number: int) -> str:
    return f"aaaaaaaa-{number:04}-4aaa-8000-000000000000"


def fields_of(dump: Path, table: str) -> list[list[str]]:
    lines = (dump / "mbdump" / table).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]
