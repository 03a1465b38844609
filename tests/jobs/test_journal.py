"""The journal says what became of each write, and differences show every changed key."""

import os
import shutil
import sqlite3
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from audio.tagging import FILES
from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.containers.mp3 import text_frame
from chart_binder.audio.fields import with_fields
from chart_binder.audio.save import PreparedCopy, SaveResult, save_tags
from chart_binder.audio.tagset import TagBlock, TagSet
from chart_binder.domain.records import WriteRecord, WriteState, now_utc
from chart_binder.errors import SaveError, StoreError
from chart_binder.jobs.journal import FieldChange, WritingRun, field_changes, repair_journal
from chart_binder.jobs.stored_decisions import new_run, path_bytes
from chart_binder.store import Store


@pytest.fixture
def song(tmp_path: Path) -> Path:
    """A file without tags."""
    return Path(shutil.copy(FILES / "bare.flac", tmp_path / "song.flac"))


def _changed(tags: TagSet) -> TagSet:
    return with_fields(tags, {"album": ["Lateralus"]})


def test_equal_tags_of_another_run_are_not_its_own(
    store: Store, song: Path, tmp_path: Path
) -> None:
    def overtaken(_: PreparedCopy) -> None:  # as from a machine whose locks do not reach this one
        copy = Path(shutil.copy(song, tmp_path / "copy.flac"))
        save_tags(copy, _changed)
        copy.replace(song)

    run = WritingRun(store, new_run("write"))
    with pytest.raises(SaveError, match="another program changed it meanwhile"):
        run.save(song, _changed, None, overtaken)
    (write,) = store.journal.of_path(path_bytes(song))
    assert write.state is WriteState.FAILED


def test_a_second_run_at_a_file_waits_and_finds_it_written(store: Store, song: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        first, second = (WritingRun(store, new_run("batch")) for _ in "12")
        waiting: list[Future[tuple[SaveResult, WriteRecord | None]]] = []

        def meanwhile(_: PreparedCopy) -> None:
            waiting.append(pool.submit(second.save, song, _changed, None))
            assert not wait(waiting, 0.2).done

        saved, _ = first.save(song, _changed, None, meanwhile)
        outcome, write = waiting[0].result(10)
        assert (saved.changed, outcome.changed, write) == (True, False, None)
        (record,) = store.journal.of_path(path_bytes(song))
    assert (record.run_id, record.state) == (first.run.id, WriteState.DONE)


def test_a_store_that_fails_says_that_the_tags_are_new(
    store: Store, song: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.execute(
            "CREATE TRIGGER worn_out BEFORE UPDATE ON writes BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        run = WritingRun(store, new_run("write"))
        with pytest.raises(StoreError, match="has its new tags"):
            run.save(song, _changed, None)
        connection.execute("DROP TRIGGER worn_out")
        assert list(repair_journal(store)) == [
            f"{song}: a run was cut short after it wrote the tags; the journal has them now"
        ]


def test_intents_of_another_machine_wait_an_hour(store: Store, song: Path, tmp_path: Path) -> None:
    temporary = tmp_path / f".canon-save-{'0' * 8}-1-1-{'0' * 16}.part"
    hours_ago = datetime.now(UTC) - timedelta(hours=2)
    young, old = (
        WriteRecord(
            id=name, run_id="run", path=path_bytes(song), decision_id=None, audio_hash="audio",
            tags_before_hash=read_tag_set(song).hash, tags_after_hash="after", changes=b"{}",
            tags_left=b"", restoration=b"",
            at_utc=at, temporary=os.fsencode(temporary),
        )
        for name, at in (("young", now_utc()), ("old", hours_ago.isoformat()))
    )  # fmt: skip
    store.journal.intend(young)
    store.journal.intend(old)
    assert len(list(repair_journal(store))) == 1
    assert store.journal.open_intents() == (young,)


def test_a_frame_that_is_taken_out_is_told() -> None:
    frames = {"TYER": "1975", "TDAT": "2111", "TIME": "1200"}
    items = tuple(text_frame("id3v2.3", key, (text,)) for key, text in frames.items())
    old = TagSet("mp3", (TagBlock("id3v2.3", items, b"\3\0"),))
    new = with_fields(old, {"date": ("1975-11-21",)})
    assert new != old
    assert field_changes(old, new) == (FieldChange("TIME", ("1200",), ()),)
