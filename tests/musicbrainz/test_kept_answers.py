"""Answers are kept with their age; failures never are."""

import subprocess
import sys
from pathlib import Path

import pytest

from chart_binder.domain.evidence import EvidenceBundle, Provenance
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import NothingFoundError
from musicbrainz.harness import Harness, age_s, warned
from servers.musicbrainz import BUSY, MusicBrainzStandIn, always

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def harness(harness_with_store: Harness) -> Harness:
    return harness_with_store


def test_a_fresh_answer_is_not_asked_for_again(harness: Harness, tags: TrackTags) -> None:
    source = harness.source(cache_ttl_s=100.0)
    one = source.gather(tags)
    asked = len(harness.server.requests)
    harness.now += 60
    other = source.gather(tags)
    assert len(harness.server.requests) == asked == 3
    assert one.recording_candidates == other.recording_candidates
    assert one.provenance == Provenance(("MB",), "2027-01-15T08:00:00+00:00", 0)
    assert other.provenance == Provenance(("MB",), "2027-01-15T08:00:00+00:00", 60)


@pytest.mark.parametrize(
    "odd", [b"<torn", b'<?xml version="1.0" encoding="foo-bar"?><error/>'], ids=["torn", "encoding"]
)
def test_an_unreadable_answer_is_renewed(harness: Harness, tags: TrackTags, odd: bytes) -> None:
    source = harness.source()
    source.gather(tags)
    key = harness.server.hostname + harness.server.targets[0]
    assert harness.store.answers.get(key) is not None
    harness.store.answers.put(key, odd, harness.now)
    assert source.gather(tags).recording_candidates
    assert len(harness.server.requests) == 4


@pytest.mark.parametrize(
    ("ttl_s", "later_s"), [(100.0, 100), (0.0, 0), (100.0, -3_600)],
    ids=["past its time", "without a time to live", "from the future"],
)  # fmt: skip
def test_an_answer_that_is_not_fresh_is_asked_for_again(
    harness: Harness, tags: TrackTags, ttl_s: float, later_s: int
) -> None:
    source = harness.source(cache_ttl_s=ttl_s)
    source.gather(tags)
    harness.now += later_s
    again = source.gather(tags)
    assert len(harness.server.requests) == 6
    assert age_s(again) == 0


def test_an_old_answer_is_better_than_none_with_its_age_told(
    harness: Harness, tags: TrackTags, caplog: pytest.LogCaptureFixture
) -> None:
    source = harness.source(cache_ttl_s=100.0)
    source.gather(tags)
    harness.now += 5_000
    harness.server.behave = always(BUSY)
    gathered = source.gather(tags)
    assert age_s(gathered) == 5_000
    assert set(warned(caplog)) == {"an old musicbrainz answer is used"}


def test_that_a_recording_is_unknown_is_kept_like_any_answer(harness: Harness) -> None:
    tags = TrackTags(recording_mbid=UNKNOWN)
    source = harness.source()
    for _ in range(2):
        with pytest.raises(NothingFoundError):
            source.gather(tags)
    assert len(harness.server.requests) == 1
    with pytest.raises(NothingFoundError):
        harness.source(offline=True).gather(tags)


def test_hosts_share_no_answers(harness: Harness, queen: EvidenceBundle, tags: TrackTags) -> None:
    with MusicBrainzStandIn([queen]) as one, MusicBrainzStandIn([queen]) as other:
        harness.source(one.hostname).gather(tags)
        harness.source(other.hostname).gather(tags)
        assert len(other.requests) == 3


OFFLINE = """
import sys
from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz.source import connect
from chart_binder.store import open_store

def forbid(event, _):
    if event.startswith("socket."):
        raise SystemExit(f"offline, and yet {event}")

sys.addaudithook(forbid)
_, url, hostname, known, unknown = sys.argv
with open_store(url) as store:
    config = MusicBrainzConfig(hostname=hostname, https=True, offline=True)
    source = connect(config, store.answers, store.slots)
    print(source.gather(TrackTags(recording_mbid=known)).recording_title)
    print(source.check().is_reachable)
    try:
        source.gather(TrackTags(recording_mbid=unknown, artist="Queen", title="Innuendo"))
    except LookupFailedError as error:
        print(error)
"""


def test_offline_never_opens_a_socket(harness: Harness, tags: TrackTags, tmp_path: Path) -> None:
    harness.source().gather(tags)
    url = f"sqlite:///{tmp_path / 'store.db'}"
    arguments = [url, harness.server.hostname, str(tags.recording_mbid), UNKNOWN]
    ran = subprocess.run(
        [sys.executable, "-c", OFFLINE, *arguments], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Bohemian Rhapsody" in ran.stdout
    assert "\nNone\n" in ran.stdout
    assert "canon is offline, and no answer to it is stored" in ran.stdout
