"""What MusicBrainz knows comes back as the evidence it was."""

from itertools import groupby

from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.evidence_json import evidence_hash, read_bundle, write_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import ArtistId
from musicbrainz.harness import Harness
from servers.musicbrainz import MusicBrainzStandIn
from servers.musicbrainz_xml import VARIOUS_NAME


def as_the_wire_has_it(bundle: EvidenceBundle) -> EvidenceBundle:
    """The bundle with what WS/2 always says beside it: credits with ids, labels, countries, `2×CD`.

    A browse tells of a group by its releases, so one without any is not heard of.
    """
    artist = bundle.performer.name
    ids = tuple(map(ArtistId, (bundle.performer.mb_artist_id or "").split("+")))

    def release(one: Release) -> Release:
        names = [(name, len(list(same))) for name, same in groupby((one.format or "").split(" + "))]
        text = " + ".join(f"{n}×{name}" if n > 1 else name for name, n in names)
        return replace(one, format=text or None, artist_credit=one.artist_credit or artist)

    def group(one: ReleaseGroup) -> ReleaseGroup:
        return replace(
            one, artist_credit=one.artist_credit or artist,
            artist_ids=None if one.artist_credit in (None, artist,
                VARIOUS_NAME) else one.artist_ids or ids,
            labels=tuple(sorted({r.label for r in one.editions if r.label})),
            countries=tuple(sorted({r.country for r in one.editions if r.country})),
            releases=tuple(map(release, one.editions)),
        )  # fmt: skip

    return replace(
        bundle,
        recording_candidates=tuple(
            replace(
                candidate,
                rg_candidates=tuple(group(one) for one in candidate.groups if one.editions),
            )
            for candidate in bundle.recording_candidates
        ),
    )


def looked_up(golden: dict[str, EvidenceBundle]) -> dict[str, EvidenceBundle]:
    """The golden bundles that are as a look-up by id gives them, without siblings and facts."""
    return {
        name: bundle
        for name, bundle in golden.items()
        if len(bundle.recording_candidates) == 1
        and bundle.siblings is None
        and bundle.complete is None
        and not any(one.premiere for one in bundle.recording_candidates[0].groups)
    }


def test_each_golden_bundle_comes_back(harness: Harness, golden: dict[str, EvidenceBundle]) -> None:
    with MusicBrainzStandIn(golden.values()) as harness.server:
        source = harness.source()
        for name, bundle in looked_up(golden).items():
            (recording,) = bundle.recording_candidates
            tags = TrackTags(recording_mbid=recording.mb_recording_id, duration_ms=1000)
            gathered = source.gather(tags)
            expected = as_the_wire_has_it(bundle)
            assert gathered.artist == expected.artist, name
            assert evidence_hash(gathered) == evidence_hash(expected), name
            assert read_bundle(write_bundle(gathered)) == gathered, name


def test_a_file_is_told_apart_from_the_evidence(harness: Harness, queen: EvidenceBundle) -> None:
    recording_id = queen.recording_candidates[0].mb_recording_id
    tags = TrackTags(title="Bo Rhap", isrcs=("A", "B"), duration_ms=9, recording_mbid=recording_id)
    gathered = harness.gather([queen], tags)
    assert gathered.recording_title == "Bohemian Rhapsody"
    assert gathered.artifact is not None
    assert gathered.artifact.duration_ms == 9
    assert gathered.artifact.tags == {
        "title": "Bo Rhap", "isrc": "A; B", "recording_mbid": recording_id,
    }  # fmt: skip
