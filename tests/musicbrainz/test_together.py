"""The files of an album are looked up together, and found to be what they are one by one."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chart_binder.domain.evidence_json import evidence_hash
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import LookupFailedError, NothingFoundError, UnidentifiedError
from chart_binder.musicbrainz import album
from musicbrainz.albums import (
    ARTIST,
    BAND,
    FIRST,
    HITS,
    SAMPLER,
    SECOND,
    Record,
    Song,
    as_one_by_one,
    bundles_of,
    files_of,
    lists_asked,
    mbid,
    same,
    songs_of,
)  # fmt: skip
from musicbrainz.harness import Harness, StoreInMemory, edited, warned
from servers.http import Request, Response
from servers.musicbrainz import BUSY, GARBAGE, NOT_FOUND, MusicBrainzStandIn
from servers.musicbrainz_xml import error, track_id


@pytest.fixture
def harness() -> Iterator[Harness]:
    with MusicBrainzStandIn(BAND) as server:
        yield Harness(StoreInMemory(), server)


@pytest.mark.parametrize(
    ("files", "most_tracks", "requests"),
    [
        (files_of(FIRST), 500, 3),
        (files_of(SECOND), 500, 3),
        (files_of(HITS), 500, 3),
        (files_of(SAMPLER), 500, 3 + 1 + 2 + 1),
        ([*files_of(FIRST), *files_of(SECOND)], 10, 1 + 5 + 1),
        (files_of(FIRST, FIRST.songs[:4]), 1, 1 + 1 + 1 + 4),  # artist, look, release, each
        (files_of(FIRST, FIRST.songs[:2]), 500, 1 + 2 + 1),
        ([replace(tags, artist_mbid=None) for tags in files_of(FIRST)], 500, 1 + 3),
        ([TrackTags(song.title, "The Band") for song in FIRST.songs], 500, 6 + 3),
    ],
    ids=["an album", "another", "hits", "a sampler", "read to the last page", "not worth reading",
         "two files", "without artist's id", "without any id"],
)  # fmt: skip
def test_files_looked_up_together_are_what_they_are_one_by_one(
    harness: Harness, files: list[TrackTags], most_tracks: int, requests: int
) -> None:
    harness.server.most_tracks = most_tracks
    assert as_one_by_one(harness, files) == requests


def test_what_an_album_took_without_the_catalogue_counts_for_the_next(harness: Harness) -> None:
    harness.server.most_tracks = 1
    source = harness.source()
    for files, requests in (
        (files_of(FIRST, FIRST.songs[:4]), 1 + 1 + 1 + 4),
        (files_of(SECOND, SECOND.songs[:5]), 6 + 1),
        (files_of(FIRST), 0),
    ):
        before = source.requests
        assert all(map(source.together(files), files))
        assert source.requests - before == requests


def test_what_is_kept_already_is_no_reason_for_a_catalogue(harness: Harness) -> None:
    source = harness.source()
    for tags in files_of(FIRST):
        source.gather(tags)
    asked = len(harness.server.requests)
    gather = source.together(files_of(FIRST))
    assert all(gather(tags).recording_candidates for tags in files_of(FIRST))
    assert len(harness.server.requests) == asked


@pytest.mark.parametrize("redirects", [True, False])
def test_a_recording_that_was_merged_is_looked_up(harness: Harness, redirects: bool) -> None:
    old = mbid("an id of old")
    files = [replace(files_of(FIRST)[0], recording_mbid=old), *files_of(FIRST)[1:]]
    harness.server.merged = {old: FIRST.songs[0].id}
    harness.server.redirects = redirects
    assert as_one_by_one(harness, files) == 3 + (2 if redirects else 1)


def test_an_artist_that_was_merged_is_found(harness: Harness) -> None:
    old = mbid("an artist's id of old")
    files = [replace(tags, artist_mbid=old.upper()) for tags in files_of(FIRST)]
    harness.server.merged = {old: ARTIST}
    assert as_one_by_one(harness, files) == 2 + 1 + 2, "redirect, by its new id, lists"


def test_a_song_by_somebody_else_is_not_answered_from_the_catalogue(harness: Harness) -> None:
    guest = Song("Others", "Some, part 1")
    split = Record("Split", "The Band", (*FIRST.songs[:3], guest))
    theirs = Record("Theirs", "Others", (guest,))
    with MusicBrainzStandIn(bundles_of([FIRST, split, theirs])) as harness.server:
        as_one_by_one(harness, files_of(split))
        gathered = harness.source().together(files_of(split))(files_of(split)[3])
    assert len(gathered.recording_candidates[0].groups) == 2


def test_a_recording_whose_tracks_are_credited_to_others_is_looked_up(harness: Harness) -> None:
    """Of such a recording there may be releases that neither list has."""
    first = FIRST.songs[0].id
    names = [track_id(FIRST.release_id(number), first) for number in range(2)]
    tracks = "|".join(f'<track id="{name}">' for name in names).encode()
    composer = (
        f'<artist-credit><name-credit><artist id="{mbid("Bach")}">'
        "<name>Bach</name></artist></name-credit></artist-credit>"
    ).encode()
    harness.server.behave = edited(lambda body: re.sub(tracks, rb"\g<0>" + composer, body))
    assert as_one_by_one(harness, files_of(FIRST)) == 3 + 2
    asked = [target for target in harness.server.targets[:5] if first in target]
    assert len(asked) == 2, "the recording, its releases"


def test_a_composer_s_releases_are_not_read_on(harness: Harness) -> None:
    player, recording = (
        mbid("a player").encode(),
        re.compile(b"<recording .*?</recording>", re.DOTALL),
    )

    def played(body: bytes) -> bytes:
        return recording.sub(lambda found: found[0].replace(ARTIST.encode(), player), body)

    harness.server.behave = edited(played)
    assert as_one_by_one(harness, files_of(FIRST)) == 1 + 1 + 1 + 6 + 1
    assert lists_asked(harness) == 1


def test_hidden_tracks_count(harness: Harness) -> None:
    first = re.compile(
        rb'<track-list count="\d+"><track (.*?)</track>(.*?)</track-list>', re.DOTALL
    )
    hidden = rb"<pregap \1</pregap><data-track-list>\2</data-track-list>"
    harness.server.behave = edited(lambda body: first.sub(hidden, body))
    assert as_one_by_one(harness, files_of(FIRST)) == 3


def test_threads_wait_for_a_catalogue_that_another_reads(harness: Harness) -> None:
    start = threading.Barrier(4)

    def look_up(record: Record) -> list[str]:
        start.wait()
        gather = source.together(files_of(record))
        return [evidence_hash(gather(tags)) for tags in files_of(record)]

    with ThreadPoolExecutor(4) as pool:
        source = harness.source()
        hashes = list(pool.map(look_up, [FIRST, SECOND, FIRST, SECOND]))
        assert source.requests == len(harness.server.requests) == 3
    assert hashes[0] == hashes[2]
    assert hashes[1] == hashes[3]


def test_of_a_folder_by_many_artists_only_its_own_recordings_are_held(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(album, "MAX_HELD", 20)
    names = [f"Band {number}" for number in range(8)]
    records = [Record("One", name, songs_of(name, "One", 6), editions=2) for name in names]
    files = [tags for record in records for tags in files_of(record, record.songs[:4])]
    with MusicBrainzStandIn(bundles_of(records)) as harness.server:
        assert as_one_by_one(harness, files) == 3 * len(names)


@pytest.mark.parametrize(("told", "instead", "only"), [
    (b'<track-list count="6"', b'<track-list count="7"', ""),
    (b'<release-list count="7"', b'<release-list count="8"', ""),
    (b'<release-list count="7"', b'<release-list count="6"', "offset="),
], ids=["a track", "a release", "of another day than the first page"])  # fmt: skip
def test_a_list_with_a_part_missing_is_not_used(
    harness: Harness, caplog: pytest.LogCaptureFixture, told: bytes, instead: bytes, only: str
) -> None:
    harness.server.behave = edited(lambda body: body.replace(told, instead), only)
    harness.server.most_tracks = 10
    files = [*files_of(FIRST), *files_of(SECOND)]
    gathered = [*map(harness.source().together(files), files)]
    harness.server.behave = None
    assert all(map(same, gathered, map(harness.source(cache_ttl_s=0.0).gather, files)))
    assert harness.store.answers.get(harness.server.hostname + harness.server.targets[1]) is None
    assert warned(caplog) == ["musicbrainz' list of an artist is incomplete"]


@pytest.mark.parametrize("answer", [
    error(400, "track_artist is not a valid parameter"), NOT_FOUND, BUSY, GARBAGE,
], ids=["bad request", "not found", "busy", "garbage"])  # fmt: skip
def test_where_lists_of_releases_fail_files_are_looked_up_one_by_one(
    harness: Harness, caplog: pytest.LogCaptureFixture, answer: Response
) -> None:
    def behave(_: int, request: Request, honest: Response) -> Response:
        return answer if {"artist", "track_artist"} & set(request.query) else honest

    harness.server.behave = behave
    source = harness.source()
    for record in (FIRST, SECOND):
        assert all(map(source.together(files_of(record)), files_of(record)))
    failed = 3 if answer is BUSY else 1
    assert lists_asked(harness) == failed, "another album does not try that again at once"
    (message,) = warned(caplog)
    assert "one by one" in message
    harness.server.behave = None
    harness.now += 10**9  # so that nothing kept will do
    source.together(files_of(FIRST))
    assert lists_asked(harness) == failed + 2, "it is tried again some time"


def test_each_file_fails_for_itself(harness: Harness) -> None:
    unknown = replace(files_of(FIRST)[0], recording_mbid=mbid("nothing"), title=None)
    files = [*files_of(FIRST), unknown, TrackTags()]
    gather = harness.source().together(files)
    assert all(gather(tags).recording_candidates for tags in files_of(FIRST))
    with pytest.raises(NothingFoundError):
        gather(unknown)
    with pytest.raises(UnidentifiedError):
        gather(TrackTags())
    assert harness.source().together([])(files[0]).recording_candidates
    with pytest.raises(LookupFailedError, match="canon is offline"):
        harness.source("musicbrainz.invalid", offline=True).together(files)(files[0])


def test_offline_a_catalogue_is_used(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    first, *_ = files_of(FIRST)
    asked = harness.source().together(files_of(FIRST))(first)
    offline = harness.source(offline=True, cache_ttl_s=1.0)
    harness.now += 10**9
    gather = offline.together(files_of(SECOND))
    assert all(gather(tags).recording_candidates for tags in files_of(SECOND))
    assert same(gather(first), asked)
    assert (offline.requests, len(harness.server.requests)) == (0, 3)
    assert not caplog.records
