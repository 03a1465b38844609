"""Requests keep the pace that is configured, and do not hold one another up."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.errors import NothingFoundError
from chart_binder.musicbrainz.source import MusicBrainzSource
from musicbrainz.harness import Harness


@pytest.fixture
def harness(harness_with_store: Harness) -> Harness:
    return harness_with_store


def ask_for(source: MusicBrainzSource, number: int) -> None:
    try:
        source.gather(TrackTags(recording_mbid=f"00000000-0000-4000-8000-{number:012}"))
    except NothingFoundError:
        return


def test_a_try_again_keeps_the_pace_as_well(harness: Harness, tags: TrackTags) -> None:
    harness.source(rate_limit_per_s=0.5).gather(tags)
    assert harness.waits == [2.0, 4.0], "by a clock that stands still"


def test_a_mirror_is_asked_without_waiting(harness: Harness, tags: TrackTags) -> None:
    harness.source(rate_limit_per_s=0.0).gather(tags)
    service = f"musicbrainz {harness.server.hostname}"
    assert harness.store.slots.reserve(service, 9, harness.now) == 0
    assert harness.waits == []


def test_a_slow_answer_holds_up_nobody_else(harness: Harness) -> None:
    harness.server.behave = lambda _, __, honest: replace(honest, delay_s=0.4)
    with ThreadPoolExecutor(8) as pool:
        source = harness.source()
        started = time.monotonic()
        list(pool.map(lambda n: ask_for(source, n), range(8)))
        assert time.monotonic() - started < 1.6, "one after the other would take 3.2 s"
