"""A recording is found by its id, else by ISRC, else by artist and title."""

import pytest
from msgspec.structs import replace

from chart_binder.domain.evidence import Artist, EvidenceBundle, RecordingCandidate
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import ArtistId, RecordingId
from chart_binder.errors import NothingFoundError, UnidentifiedError
from musicbrainz.harness import Harness

UNKNOWN = "00000000-0000-4000-8000-000000000000"
OTHER = "11111111-1111-4111-8111-111111111111"


def sibling(bundle: EvidenceBundle, number: int, **changes: object) -> EvidenceBundle:
    """A bundle with another recording of the same song, by the same artist unless told."""
    artist = changes.pop("artist", bundle.performer)
    (recording,) = bundle.recording_candidates
    new_id = RecordingId(f"{number:08}-0000-4000-8000-000000000000")
    changed = replace(recording, mb_recording_id=new_id, **changes)
    return replace(bundle, artist=artist, recording_candidates=(changed,))


def ids(bundle: EvidenceBundle) -> list[str]:
    return [recording.mb_recording_id for recording in bundle.recording_candidates]


def recording_of(bundle: EvidenceBundle) -> RecordingCandidate:
    (recording,) = bundle.recording_candidates
    return recording


@pytest.mark.parametrize("redirects", [True, False])
def test_a_merged_id_is_answered_under_the_id_it_was_merged_into(
    harness: Harness, queen: EvidenceBundle, redirects: bool
) -> None:
    harness.server.merged = {OTHER: recording_of(queen).mb_recording_id}
    harness.server.redirects = redirects
    gathered = harness.source().gather(TrackTags(recording_mbid=OTHER))
    assert ids(gathered) == ids(queen)
    assert gathered.performer == queen.performer, "the redirect names no includes, we do"


@pytest.mark.parametrize("recording_id", [UNKNOWN, "unknown", "../../etc", "é" * 36, None])
def test_an_id_that_is_not_known_gives_way_to_the_isrc(
    harness: Harness, queen: EvidenceBundle, recording_id: str | None
) -> None:
    (code,) = recording_of(queen).isrcs or ()
    spelled = f"{code[:2]}-{code[2:5]}-{code[5:7]}-{code[7:]}".lower()
    tags = TrackTags(recording_mbid=recording_id, isrcs=("nonsense", spelled))
    gathered = harness.gather([queen], tags)
    assert gathered.recording_candidates[0].isrcs == (code,)
    assert ids(gathered) == ids(queen)


def test_an_isrc_may_mean_several_recordings(harness: Harness, queen: EvidenceBundle) -> None:
    bundles = [sibling(queen, n, length_ms=300_000 + n * 1_000) for n in range(1, 8)]
    tags = TrackTags(isrcs=recording_of(queen).isrcs or (), duration_ms=303_100)
    gathered = harness.gather(bundles, tags)
    assert [name[7] for name in ids(gathered)] == ["3", "4", "2", "5", "1"]


def test_a_search_keeps_all_plausible_recordings(harness: Harness, queen: EvidenceBundle) -> None:
    length = recording_of(queen).length_ms or 0
    bundles = [
        queen, sibling(queen, 1, length_ms=length + 6_000),
        sibling(queen, 2, length_ms=length + 8_000), sibling(queen, 3, length_ms=None),
    ]  # fmt: skip
    tags = TrackTags(artist="queen", title="Bohemian rhapsody", duration_ms=length)
    gathered = harness.gather(bundles, tags)
    assert ids(gathered) == [ids(queen)[0], ids(bundles[1])[0]]


def test_covers_and_karaoke_are_out(harness: Harness, golden: dict[str, EvidenceBundle]) -> None:
    original = golden["after-mongol800"]
    karaoke = sibling(original, 1, artist=Artist("MONGOL800 Tribute", ArtistId(OTHER)))
    backing = sibling(original, 2, disambiguation="instrumental")
    everything = [golden["after-koda"], karaoke, backing, original]
    tags = TrackTags(artist="MONGOL800", title="小さな恋のうた")
    gathered = harness.gather(everything, tags)
    assert ids(gathered) == ids(original)
    assert gathered.performer.name == "MONGOL800"


def test_a_live_recording_is_meant_if_tags_say_so(harness: Harness, queen: EvidenceBundle) -> None:
    live = sibling(queen, 1, disambiguation="live, 1975-12-24: Hammersmith Odeon, London")
    studio, stage = ids(queen)[0], ids(live)[0]
    for title, album, found in (
        ("Bohemian Rhapsody", None, [studio]),
        ("Bohemian Rhapsody (live at Hammersmith)", None, [stage]),
        ("Bohemian Rhapsody", "Live Killers", [stage, studio]),
    ):
        tags = TrackTags(artist="Queen", title=title, album=album)
        assert ids(harness.gather([queen, live], tags)) == found


@pytest.mark.parametrize("tags", [
    TrackTags(recording_mbid="B1A9C0E9-D987-4042-AE91-78D6A3267D69"),
    TrackTags("Bohemian Rhapsody - Remastered 2011", "Queen"),
    TrackTags("Bohemian Rhapsodie", "Queen"),
    TrackTags("bohemian  rhapsody (2011)", "QUEEN feat. Somebody"),
    TrackTags("Bohemian Rhapsody feat. Nobody", "The Queen"),
])  # fmt: skip
def test_spelling_does_not_hide_a_recording(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags
) -> None:
    assert ids(harness.source().gather(tags)) == ids(queen)


def test_lucene_syntax_in_a_tag_is_text(harness: Harness, queen: EvidenceBundle) -> None:
    odd = '"Heroes" AND (NOT *) [1 TO 2] \\ && || ! AC/DC?'
    bundle = sibling(queen, 1, title=odd)
    gathered = harness.gather([bundle], TrackTags(artist="Queen", title=odd))
    assert ids(gathered) == ids(bundle)
    assert r"\"Heroes\" AND \(NOT \*\)" in harness.server.requests[0].query["query"]


def test_a_tag_of_any_length_is_searched_for(harness: Harness) -> None:
    tags = TrackTags(artist="(" * 100_000, title="feat. [" * 50_000)
    with pytest.raises(NothingFoundError):
        harness.source().gather(tags)
    assert max(map(len, harness.server.targets)) < 8_000


def test_nothing_found_says_what_was_looked_for(harness: Harness) -> None:
    tags = TrackTags(
        recording_mbid=UNKNOWN, isrcs=("GBXXX0000000",), artist="Queen", title="Innuendo",
        duration_ms=391_000,
    )  # fmt: skip
    with pytest.raises(NothingFoundError) as caught:
        harness.gather([], tags)
    assert str(caught.value) == (
        f"MusicBrainz ({harness.server.hostname}) knows no recording with the id {UNKNOWN},"
        " nor recording with the ISRC GBXXX0000000, nor 'Innuendo' by 'Queen' of about 6:31"
    )


def test_a_recording_on_no_release_is_found(harness: Harness, queen: EvidenceBundle) -> None:
    alone = sibling(queen, 1, rg_candidates=())
    gathered = harness.gather([alone], TrackTags(recording_mbid=ids(alone)[0]))
    assert gathered.recording_candidates[0].groups == ()


def test_tags_that_say_too_little_are_told_apart(harness: Harness) -> None:
    for tags in (TrackTags(title="T"), TrackTags(artist="Q", isrcs=("X",), recording_mbid="Y")):
        with pytest.raises(UnidentifiedError):
            harness.source("127.0.0.1:1").gather(tags)
