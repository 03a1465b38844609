"""Every test of what is kept runs on a file, and on a real server where there is one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chart_binder.store import Store, open_store
from servers.postgres import NoServerError, Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for all tests of this process."""
    try:
        server = Postgres()
        with server:
            yield server
    except NoServerError as error:
        pytest.skip(str(error))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An empty store, in a file and on a server."""
    with open_store(url) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store: in a file, and on a server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a store %20é.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.database()
