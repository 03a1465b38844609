"""Undo makes the former file again; of a file that others changed since it puts keys back."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mediafile import MediaFile
from mutagen.flac import FLAC
from mutagen.id3 import ID3, TALB, TDOR, TIT2, TXXX

from audio.odd_files import ALBUM, TITLE, id3, make, texts
from audio.tagging import (
    CONTAINERS,
    CONTAINERS_BY_NAME,
    FEW,
    VARIANTS,
    WANTED,
    Container,
    Variant,
    field_texts,
)
from audio.tagging import FIELDS as COMMON
from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.domain.records import WriteRecord, WriteState
from chart_binder.jobs.journal import ChangedKey, WritingRun, last_write
from chart_binder.jobs.stored_decisions import new_run, path_bytes
from chart_binder.jobs.undo import plan_undo, undo_writes, writes_to_undo
from chart_binder.jobs.write import WriteReport, WriteStatus
from chart_binder.store import Store


class _FullDisk:
    f_bavail, f_frsize, f_blocks = 1, 4096, 1_000


Fields = dict[str, tuple[str, ...]]
FIELDS: Fields = {
    name: WANTED[name] for name in ("release_mbid", "original_date", "decision_trace")
} | {"album": ("Lateralus",)}


def write(store: Store, path: Path, fields: Fields = FIELDS) -> WriteRecord:
    run = WritingRun(store, new_run("write"))
    _, record = run.save(path, partial(with_fields, fields=fields), None)
    assert record is not None
    run.end(0)
    return record


def undo(store: Store, *writes: WriteRecord, force: bool = False) -> list[WriteReport]:
    run = WritingRun(store, new_run("undo"))
    reports = list(undo_writes(writes, run, force=force))
    run.end(0)
    return reports


def state(store: Store, record: WriteRecord) -> WriteState:
    saved = store.journal.get(record.id)
    assert saved is not None
    return saved.state


def change_title(container: Container, path: Path, title: str) -> None:
    """Change a key that is not ours, as another program does, which writes all tags anew."""
    audio: Any = MediaFile(path)
    audio.title = title
    if container.name.endswith("2.3"):
        audio.mgfile.tags.update_to_v23()
        audio.mgfile.save(v2_version=3)
    else:
        audio.save()


@pytest.mark.parametrize("variant", FEW, ids=lambda item: item.name)
def test_a_file_that_nobody_changed_is_the_same_byte_for_byte(
    store: Store, tmp_path: Path, variant: Variant
) -> None:
    path = variant.make(tmp_path)
    before = path.read_bytes()
    first = write(store, path)
    between = path.read_bytes()
    second = write(store, path, {"album": ("Ænima" * 2_000,), "release_mbid": ()})
    after = path.read_bytes()
    assert [report.status for report in undo(store, second)] == [WriteStatus.UNDONE]
    assert path.read_bytes() == between
    undoing = store.journal.of_path(path_bytes(path))[0]
    assert undoing.undoes == second.id
    undo(store, undoing)
    assert path.read_bytes() == after
    redone = last_write(store, path)
    assert redone is not None
    undo(store, redone, first)
    assert path.read_bytes() == before
    assert last_write(store, path) is None


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda item: item.name)
def test_other_keys_that_changed_since_stay(
    store: Store, tmp_path: Path, container: Container
) -> None:
    path = container.fully_tagged(tmp_path)
    before, sound = read_tag_set(path), audio_hash(path)
    record = write(store, path)
    change_title(container, path, "Mine")
    (report,) = undo(store, record)
    assert (report.status, report.why, report.kept_keys) == (WriteStatus.UNDONE, None, ())
    assert any(key.new == ("Mine",) for key in report.other_keys)
    assert not {key.field for key in report.other_keys} & {"ALBUM", "TALB", "CANON_TRACE"}
    now = read_tag_set(path)
    assert {name: field_texts(now, name) for name in WANTED} == {
        name: field_texts(before, name) for name in WANTED
    }
    assert MediaFile(path).title == "Mine"
    assert audio_hash(path) == sound
    assert state(store, record) is WriteState.UNDONE


@pytest.mark.parametrize("name", ["flac", "mp3-2.4", "mp3-2.3", "aac", "wma", "ape", "wav"])
def test_a_written_key_that_somebody_changed_is_kept_unless_forced(
    store: Store, tmp_path: Path, name: str
) -> None:
    container = CONTAINERS_BY_NAME[name]
    path = container.fully_tagged(tmp_path)
    before = read_tag_set(path)
    record = write(store, path)
    audio = MediaFile(path)
    audio.album = "Mine"
    audio.mgfile.save(**({"v2_version": 3} if name == "mp3-2.3" else {}))
    (planned,) = plan_undo(store, [record])
    (report,) = undo(store, record)
    assert (planned.status, report.status) == (WriteStatus.PLANNED, WriteStatus.UNDONE)
    assert planned.kept_keys == report.kept_keys
    (kept_key,) = report.kept_keys
    key = container.key(next(item for item in COMMON if item.attribute == "album"))
    assert kept_key == ChangedKey(key, FIELDS["album"], ("Mine",), field_texts(before, "album"))
    assert field_texts(read_tag_set(path), "release_mbid") == field_texts(before, "release_mbid")
    assert state(store, record) is WriteState.DONE

    (again,) = undo(store, record)
    assert (again.status, again.kept_keys) == (WriteStatus.REFUSED, report.kept_keys)
    (forced,) = undo(store, record, force=True)
    assert (forced.status, forced.kept_keys) == (WriteStatus.UNDONE, ())
    assert field_texts(read_tag_set(path), "album") == field_texts(before, "album")
    assert state(store, record) is WriteState.UNDONE


@pytest.mark.parametrize("is_changed", [False, True], ids=["as written", "changed since"])
@pytest.mark.parametrize(
    ("hinder", "status", "reason"),
    [
        (lambda path, _: path.chmod(0o444), WriteStatus.REFUSED, "it is read-only"),
        (
            lambda path, _: path.with_suffix(".link").hardlink_to(path),
            WriteStatus.REFUSED, "hard links",
        ),
        (
            lambda _, patch: patch.setattr(os, "statvfs", lambda _: _FullDisk),
            WriteStatus.FAILED, "no room",
        ),
        (lambda *_: None, WriteStatus.UNDONE, ""),
    ],
)  # fmt: skip
def test_the_preview_asks_what_the_undo_asks(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    hinder: Callable[[Path, pytest.MonkeyPatch], object], status: WriteStatus, reason: str,
    *, is_changed: bool,
) -> None:  # fmt: skip
    container = CONTAINERS_BY_NAME["flac"]
    path = container.fully_tagged(tmp_path)
    first = write(store, path)
    second = write(store, path, {"album": ("Ænima",)})
    if is_changed:
        change_title(container, path, "Mine")
    hinder(path, monkeypatch)
    planned = list(plan_undo(store, [second, first]))
    if status is WriteStatus.UNDONE:
        assert [report.status for report in planned] == [WriteStatus.PLANNED] * 2
        assert [report.status for report in undo(store, second, first)] == [status] * 2
        return
    # The first write is that of a later run while the second is not undone.
    for report in (planned[0], *undo(store, second)):
        assert (report.status, reason in (report.why or "")) == (status, True), report


def test_the_preview_of_an_undo_refuses_a_layout_that_the_undo_refuses(
    store: Store, tmp_path: Path
) -> None:
    path = CONTAINERS_BY_NAME["mp3-2.4"].fully_tagged(tmp_path)
    record = write(store, path)
    with path.open("ab") as file:
        file.write(id3(4, 0, texts(4)))
    (planned,) = plan_undo(store, [record])
    (report,) = undo(store, record)
    assert (planned.status, planned.why) == (report.status, report.why)
    assert report.status is WriteStatus.REFUSED


def test_a_tag_that_was_removed_is_made_again_by_force_alone(store: Store, tmp_path: Path) -> None:
    path = CONTAINERS_BY_NAME["mp3-2.4"].fully_tagged(tmp_path)
    before = read_tag_set(path)
    record = write(store, path)
    ID3(path).delete(path)
    (report,) = undo(store, record)
    assert (report.status, len(report.kept_keys)) == (WriteStatus.REFUSED, 2)
    undo(store, record, force=True)
    tags = read_tag_set(path)
    names = ("album", "release_mbid", "original_date")
    assert [field_texts(tags, name) for name in names] == [
        field_texts(before, name) for name in names
    ]


@pytest.mark.parametrize(("name", "saved"), [("mp3-2.3-full", 4), ("mp3-2.4-full", 3)])
def test_dates_are_put_back_into_a_tag_of_another_version(
    store: Store, tmp_path: Path, name: str, saved: int
) -> None:
    """ID3v2.3 holds the year of an original date alone; one with `TDRC` has a date all the same."""
    path = next(item for item in VARIANTS if item.name == name).make(tmp_path)
    assert field_texts(read_tag_set(path), "date") == ("1981-10-26",)
    record = write(store, path, {"date": ("1975-11-21",), "original_date": ("1975-11-21",)})
    tags: Any = ID3(path)
    tags.add(TIT2(encoding=3, text="Mine"))
    if saved == 3:
        tags.update_to_v23()
    tags.save(path, v2_version=saved)
    (report,) = undo(store, record)
    assert report.kept_keys == ()
    now: Any = ID3(path)
    assert (str(now["TDRC"]), str(now["TIT2"]), "TDOR" in now) == ("1981-10-26", "Mine", False)


@pytest.mark.parametrize(
    ("name", "key", "saved"),
    [
        ("wma", "MusicBrainz/Artist Id", WANTED["artist_mbids"][::-1]),
        ("ape", "Year", ("2011-09-05", "2011-09-05")),
    ],
    ids=["in another order", "of two keys as one"],
)
def test_values_that_taglib_saved_otherwise_are_put_back(
    store: Store, tmp_path: Path, name: str, key: str, saved: tuple[str, ...]
) -> None:
    container = CONTAINERS_BY_NAME[name]
    path = container.fully_tagged(tmp_path)
    before = container.opener(path)[key]
    record = write(store, path, {item: WANTED[item] for item in ("artist_mbids", "date")})
    audio = container.opener(path)
    audio[key] = list(saved)
    audio.save()
    (report,) = undo(store, record)
    assert (report.status, report.kept_keys) == (WriteStatus.UNDONE, ())
    assert container.opener(path)[key] == before


@pytest.mark.parametrize("date", ["1975", "1969-09-09"], ids=["as written", "changed"])
@pytest.mark.parametrize("before", ["1993", None], ids=["replaced", "new"])
def test_a_date_under_the_key_of_another_version_is_put_back(
    store: Store, tmp_path: Path, before: str | None, date: str
) -> None:
    """mutagen saves `TDOR` in ID3v2.3, where `update_to_v23` was not called."""
    path = CONTAINERS_BY_NAME["mp3-2.3"].tagged(
        tmp_path, [("TIT2", ["Sober"]), *([("TDOR", [before])] if before else [])]
    )
    record = write(store, path, {"original_date": ("1975-11-21",), "date": ("1975-11-21",)})
    tags = ID3(path)
    tags.add(TDOR(encoding=3, text=date))
    tags.save(path, v2_version=3)
    keys = {item.key for block in read_tag_set(path).blocks for item in block.items}
    assert keys == {"TIT2", "TDOR", "TDRC"}
    (report,) = undo(store, record)
    if date != "1975":
        assert [key.field for key in report.kept_keys] == ["TDOR"]
        assert str(ID3(path)["TDOR"]) == date
        assert state(store, record) is WriteState.DONE
        undo(store, record, force=True)
    now: Any = ID3(path)
    assert {key: str(now[key]) for key in now} == {
        "TIT2": "Sober", **({"TDOR": before} if before else {})
    }  # fmt: skip


def test_a_new_tag_that_others_use_goes_on_saying_what_it_hides(
    store: Store, tmp_path: Path
) -> None:
    path = make("MP3 with APE alone", tmp_path)
    record = write(store, path)
    tags = ID3(path)
    tags.add(TALB(encoding=3, text="Mine"))
    tags.add(TXXX(encoding=3, desc="MOODS", text="calm"))
    tags.save(path)

    def frames() -> dict[str, str]:
        return {key: str(frame) for key, frame in ID3(path, load_v1=False).items()}

    (report,) = undo(store, record)
    assert [key.field for key in report.kept_keys] == ["TALB"]
    assert [key.field for key in report.other_keys] == ["TXXX:MOODS"]
    expected = {"TALB": "Mine", "TXXX:MOODS": "calm", "TIT2": TITLE, "TDRC": "1996"}
    assert {key: frames().get(key) for key in expected} == expected
    assert not {"TXXX:CANON_TRACE", "TDOR"} & set(frames())
    undo(store, record, force=True)
    assert {key: frames().get(key) for key in expected} == expected | {"TALB": ALBUM}


def test_a_file_that_was_saved_again_is_undone_by_its_records(store: Store, tmp_path: Path) -> None:
    path = CONTAINERS_BY_NAME["flac"].fully_tagged(tmp_path)
    before = read_tag_set(path)
    record = write(store, path)
    audio = FLAC(path)
    audio.save(padding=lambda _: 9)
    (report,) = undo(store, record)
    assert report.status is WriteStatus.UNDONE
    assert read_tag_set(path) == before
    assert not list(writes_to_undo(store, next(store.runs.iterate())))
