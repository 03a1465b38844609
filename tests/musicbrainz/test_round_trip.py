"""What MusicBrainz knows comes back as the evidence it was."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.evidence_json import evidence_hash, read_bundle, write_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import RecordingId
from musicbrainz.albums import mbid
from musicbrainz.harness import Harness
from servers.musicbrainz import MusicBrainzStandIn


def as_the_wire_has_it(bundle: EvidenceBundle) -> EvidenceBundle:
    """The bundle with what WS/2 always says beside it: credits, labels, countries, `2×CD`.

    A browse tells of a group by its releases, so one without any is not heard of.
    """
    artist = bundle.performer.name

    def release(one: Release) -> Release:
        names = [(name, len(list(same))) for name, same in groupby((one.format or "").split(" + "))]
        text = " + ".join(f"{n}×{name}" if n > 1 else name for name, n in names)
        return replace(one, format=text or None, artist_credit=one.artist_credit or artist)

    def group(one: ReleaseGroup) -> ReleaseGroup:
        return replace(
            one,
            artist_credit=one.artist_credit or artist,
            labels=tuple(sorted({r.label for r in one.editions if r.label})),
            countries=tuple(sorted({r.country for r in one.editions if r.country})),
            releases=tuple(map(release, one.editions)),
        )

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


def test_every_golden_bundle_comes_back(
    harness: Harness, golden: dict[str, EvidenceBundle]
) -> None:
    with MusicBrainzStandIn(golden.values()) as harness.server:
        source = harness.source()
        for name, bundle in golden.items():
            (recording,) = bundle.recording_candidates
            tags = TrackTags(recording_mbid=recording.mb_recording_id, duration_ms=1000)
            gathered = source.gather(tags)
            expected = as_the_wire_has_it(bundle)
            assert gathered.artist == expected.artist, name
            assert evidence_hash(gathered) == evidence_hash(expected), name
            assert read_bundle(write_bundle(gathered)) == gathered, name


def told_alike(bundles: Iterable[EvidenceBundle]) -> list[list[EvidenceBundle]]:
    """Part bundles so that none tells of a release other than another of its part does."""
    parts: list[tuple[list[EvidenceBundle], dict[str, object]]] = []
    for bundle in bundles:
        told: dict[str, object] = {
            release.mb_release_id: (release, replace(group, releases=()), bundle.artist)
            for recording in bundle.recording_candidates
            for group in recording.groups
            for release in group.editions
        }
        for part, known in parts:
            if all(known.get(release, what) == what for release, what in told.items()):
                part.append(bundle)
                known.update(told)
                break
        else:
            parts.append(([bundle], told))
    return [part for part, _ in parts]


def with_siblings(bundle: EvidenceBundle) -> Iterator[EvidenceBundle]:
    """Yield a bundle, then two more recordings that stand on the same releases."""
    (recording,) = bundle.recording_candidates
    yield bundle
    for number in (1, 2):
        another = RecordingId(mbid(recording.mb_recording_id, str(number)))
        changed = replace(recording, mb_recording_id=another, length_ms=number)
        yield replace(bundle, recording_candidates=(changed,))


def test_every_golden_bundle_is_the_same_together(
    harness: Harness, golden: dict[str, EvidenceBundle]
) -> None:
    parts = told_alike(golden.values())
    assert len(parts) < 5
    for part in parts:
        albums: defaultdict[str | None, list[TrackTags]] = defaultdict(list)
        served = [copy for bundle in part for copy in with_siblings(bundle)]
        for bundle in served:
            artist = bundle.performer.mb_artist_id
            recording_id = bundle.recording_candidates[0].mb_recording_id
            albums[artist].append(TrackTags(recording_mbid=recording_id, artist_mbid=artist))
        with MusicBrainzStandIn(served) as harness.server:
            source = harness.source()
            gathers = {artist: source.together(files) for artist, files in albums.items()}
            for bundle in served:
                artist = bundle.performer.mb_artist_id
                recording_id = bundle.recording_candidates[0].mb_recording_id
                tags = TrackTags(recording_mbid=recording_id, artist_mbid=artist)
                gathered, expected = gathers[artist](tags), as_the_wire_has_it(bundle)
                assert evidence_hash(gathered) == evidence_hash(expected)
                assert gathered.artist == expected.artist
            assert len(harness.server.requests) == 3 * len(albums)


def test_the_file_itself_is_told_apart_from_the_evidence(
    harness: Harness, queen: EvidenceBundle
) -> None:
    recording_id = queen.recording_candidates[0].mb_recording_id
    tags = TrackTags(title="Bo Rhap", isrcs=("A", "B"), duration_ms=9, recording_mbid=recording_id)
    gathered = harness.gather([queen], tags)
    assert gathered.recording_title == "Bohemian Rhapsody"
    assert gathered.artifact is not None
    assert gathered.artifact.duration_ms == 9
    assert gathered.artifact.tags == {
        "title": "Bo Rhap",
        "isrc": "A; B",
        "recording_mbid": recording_id,
    }
