"""An index gives the same evidence as the web service that serves the same facts."""

from collections.abc import Iterator
from pathlib import Path

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, write_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.source import MusicBrainzSource
from musicbrainz.harness import Harness, StoreInMemory
from musicbrainz.index.small_index import write_index
from servers.musicbrainz import MusicBrainzStandIn


def tags_of(bundle: EvidenceBundle) -> Iterator[TrackTags]:
    """Yield tags that name each recording of a bundle: by id, by ISRC, by artist and title."""
    for recording in bundle.recording_candidates:
        yield TrackTags(recording_mbid=recording.mb_recording_id)
        if recording.isrcs:
            yield TrackTags(isrcs=recording.isrcs[:1], title=recording.title)
        yield TrackTags(
            artist=bundle.performer.name, title=recording.title, duration_ms=recording.length_ms
        )


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
