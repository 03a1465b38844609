"""An index gives the same evidence as the web service that serves the same facts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, write_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.source import MusicBrainzSource
from chart_binder.rules.decide import decide
from musicbrainz.harness import Harness, StoreInMemory
from musicbrainz.index.small_index import write_index
from musicbrainz.test_golden_worlds import credited, each_world
from servers.musicbrainz import MusicBrainzStandIn

RULES = RulesConfig()


def assert_same_siblings(
    index: MusicBrainzSource, web: MusicBrainzSource, tags: TrackTags
) -> EvidenceBundle:
    """Compare the siblings that two sources find, and what is decided by them; return a bundle.

    For a much later sibling the web path has only what a search shows: no labels, and no dates of
    groups. An index has them, so that it may describe steps and rivals in more detail.
    """
    ours, theirs = (source.with_siblings(source.gather(tags)) for source in (index, web))
    assert siblings_of(ours) == siblings_of(theirs)
    assert (ours.siblings, ours.complete) == (theirs.siblings, theirs.complete)
    verdicts = (decide(bundle, RULES) for bundle in (ours, theirs))
    verdict, other = (replace(verdict, path=(), rivals=()) for verdict in verdicts)
    assert verdict == other
    return ours


def siblings_of(bundle: EvidenceBundle) -> list[tuple[str, str | None]]:
    """Return the siblings in a bundle, each with the reason why it is one."""
    recordings = (each for each in bundle.recording_candidates if each.is_sibling)
    return sorted((recording.mb_recording_id, recording.because) for recording in recordings)


def tags_of(bundle: EvidenceBundle) -> Iterator[TrackTags]:
    """Yield tags that name each recording of a bundle: by id, by ISRC, by artist and title."""
    for recording in bundle.recording_candidates:
        yield TrackTags(recording_mbid=recording.mb_recording_id)
        if recording.isrcs:
            yield TrackTags(isrcs=recording.isrcs[:1], title=recording.title)
        yield TrackTags(
            artist=bundle.performer.name, title=recording.title, duration_ms=recording.length_ms
        )


@pytest.mark.slow
def test_the_golden_recordings_have_the_same_evidence(
    golden: dict[str, EvidenceBundle], tmp_path: Path
) -> None:
    apart = []
    for name, bundle in golden.items():
        index = MusicBrainzSource(IndexService(write_index(tmp_path / name, [bundle])))
        with MusicBrainzStandIn([bundle]) as server:
            web = Harness(StoreInMemory(), server).source()
            for tags in tags_of(bundle):
                ours, theirs = (source.gather(tags) for source in (index, web))
                if evidence_hash(ours) != evidence_hash(theirs):
                    apart.append((name, write_bundle(ours), write_bundle(theirs)))
    assert apart == []


@each_world
def test_a_recording_has_the_same_siblings(
    world: dict[str, Any], golden: dict[str, EvidenceBundle], tmp_path: Path
) -> None:
    bundle = credited(golden[world["id"]], world["various"])
    served = [*world["original"], *world["others"], bundle]
    index = MusicBrainzSource(IndexService(write_index(tmp_path / "index", served)))
    (tags, *_) = tags_of(bundle)
    with MusicBrainzStandIn(served) as server:
        web = Harness(StoreInMemory(), server).source()
        assert_same_siblings(index, web, tags)
