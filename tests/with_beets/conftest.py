"""Of the tests with beets: its terminal, and folders of canon that are no user's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.compilation import BUNDLES
from integration.services import asking
from servers.musicbrainz import MusicBrainzStandIn


@pytest.fixture(autouse=True)
def _no_cached_types() -> None:
    """Let beets ask its plug-ins for the types of fields again."""
    from beets.util import cached_classproperty

    cached_classproperty.cache.clear()


@pytest.fixture
def io(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> object:
    """The terminal that the helpers of beets read from and write to."""
    from beets.test._common import DummyIO

    terminal = DummyIO(monkeypatch, capsys)
    if request.instance:
        request.instance.io = terminal
    return terminal


@pytest.fixture
def canon_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the store of a canon that has no configuration."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return f"sqlite:///{tmp_path / 'data' / 'canon' / 'canon.db'}"


@pytest.fixture
def mb(monkeypatch: pytest.MonkeyPatch) -> Iterator[MusicBrainzStandIn]:
    """A MusicBrainz that knows the compilation, and that canon asks."""
    with MusicBrainzStandIn(BUNDLES) as server:
        for name, value in asking(server).items():
            monkeypatch.setenv(name, value)
        yield server
