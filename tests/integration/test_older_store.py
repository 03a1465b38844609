"""A store that another version of canon wrote is refused, and left as it is."""

from pathlib import Path

import pytest

from chart_binder.store import VERSION, open_store
from integration.conftest import Canon
from store.records import execute


@pytest.mark.parametrize("command", ["batch .", "undo", "ls", "decide --evidence {}", "doctor"])
def test_a_store_of_another_version_is_refused_with_what_to_do(
    canon: Canon, home: Path, command: str
) -> None:
    store, bundle = home / "data" / "canon" / "canon.db", home / "bundle.json"
    store.parent.mkdir(parents=True)
    open_store(f"sqlite:///{store}").close()
    execute(store, "UPDATE schema_version SET version = 6")
    bundle.write_text('{"version": 1, "artist": {"name": "A"}, "recording_candidates": []}')
    content = store.read_bytes()
    told = canon(*command.format(bundle).split(), "--offline").must_end(
        1,
        f"the store '{store}' was written by another version of canon (schema 6, this one reads"
        f" only {VERSION}): use that version, or name another store in store.url",
    )
    assert "Traceback" not in told.err
    assert store.read_bytes() == content
