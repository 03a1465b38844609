"""What the tests of the jobs share: an empty store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chart_binder.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store in a file."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened
