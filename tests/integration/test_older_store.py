"""A store that an older canon wrote is refused by name, and left as it is."""

from pathlib import Path

import pytest

from chart_binder.store import VERSION, open_store
from golden.bundles import golden
from integration.conftest import Canon
from integration.services import file_of
from store.records import execute

BUNDLE = golden("lead-bohemian")


@pytest.fixture
def older(home: Path) -> Path:
    """The store where the program looks for it."""
    path = home / "data" / "canon" / "canon.db"
    path.parent.mkdir(parents=True)
    open_store(f"sqlite:///{path}").close()
    execute(path, "UPDATE schema_version SET version = 6")
    return path


@pytest.mark.parametrize(
    "command",
    ["decide {song}", "batch {song}", "write {song} --apply", "undo", "drift", "ls", "review list",
     "override list", "runs list", "verify {song}"],
)  # fmt: skip
def test_an_older_store_is_refused_with_what_to_do(
    canon: Canon, home: Path, older: Path, command: str
) -> None:
    song = file_of(BUNDLE, home)
    audio, content = song.read_bytes(), older.read_bytes()
    words = command.format(song=song).split()
    told = canon(*words, "--offline").must_end(
        1,
        f"the store '{older}' was written by an older canon (schema 6, this one reads"
        f" only {VERSION}",
        "move the file away, with its -wal, or name another in store.url, run `canon batch` again",
        "set your overrides again",
        "run its `canon undo` first",
    )
    assert "Traceback" not in told.err
    assert (song.read_bytes(), older.read_bytes()) == (audio, content)


def test_a_bundle_is_not_decided_past_lost_overrides(canon: Canon, older: Path, home: Path) -> None:
    bundle = home / "bundle.json"
    bundle.write_text('{"version": 1, "artist": {"name": "A"}, "recording_candidates": []}')
    canon("decide", "--evidence", bundle).must_end(1, "older canon (schema 6")
    canon("doctor", "--offline").must_end(1, "older canon (schema 6")


def test_the_commands_work_once_it_is_moved_away(canon: Canon, home: Path, older: Path) -> None:
    song = file_of(BUNDLE, home)
    older.rename(older.with_name("older.db"))
    canon("batch", song, knowing=[BUNDLE]).must_end(0)
    canon("write", song, "--apply").must_end(0)
    canon("undo").must_end(0)
