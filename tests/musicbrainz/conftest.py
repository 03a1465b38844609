"""The golden bundles, sources that ask a stand-in, with a real store or without."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.store import open_store
from musicbrainz.harness import Harness, StoreInMemory
from servers.musicbrainz import MusicBrainzStandIn

GOLDEN = Path(__file__).parents[1] / "golden" / "decisions.jsonl"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def harness(queen: EvidenceBundle) -> Iterator[Harness]:
    """A harness without a store, whose files would take most of a test's time."""
    with MusicBrainzStandIn([queen]) as server:
        yield Harness(StoreInMemory(), server)


@pytest.fixture
def harness_with_store(queen: EvidenceBundle, tmp_path: Path) -> Iterator[Harness]:
    with (
        MusicBrainzStandIn([queen]) as server,
        open_store(f"sqlite:///{tmp_path / 'store.db'}") as store,
    ):
        yield Harness(store, server)


@pytest.fixture(scope="session")
def golden() -> dict[str, EvidenceBundle]:
    """Every golden bundle by its name."""
    rows = (msgspec.json.decode(line) for line in GOLDEN.read_bytes().splitlines())
    return {row["id"]: read_bundle(msgspec.json.encode(row["bundle"])) for row in rows}


@pytest.fixture(scope="session")
def queen(golden: dict[str, EvidenceBundle]) -> EvidenceBundle:
    """Bohemian Rhapsody: one recording on three release groups."""
    return golden["lead-bohemian"]


@pytest.fixture
def tags(queen: EvidenceBundle) -> TrackTags:
    """Tags that name the recording of `queen`."""
    return TrackTags(recording_mbid=queen.recording_candidates[0].mb_recording_id)
