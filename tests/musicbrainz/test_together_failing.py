"""Where the shared look-ups of an album fail, each file is looked up by itself."""

import re
from dataclasses import replace

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.errors import LookupFailedError, NothingFoundError, UnidentifiedError
from musicbrainz.albums import files_of, mbid
from musicbrainz.band import BAND, FIRST, SECOND, lists_asked, same, with_body
from musicbrainz.bench import Bench
from servers.http import Request, Response
from servers.musicbrainz import BUSY, GARBAGE, NOT_FOUND, Behave, MusicBrainzStandIn, always
from servers.musicbrainz_xml import error


def browses_refused(answer: Response) -> Behave:
    """Spoil the lists of an artist's releases alone."""

    def behave(_: int, request: Request, honest: Response) -> Response:
        return answer if {"artist", "track_artist"} & set(request.query) else honest

    return behave


@pytest.mark.parametrize(
    ("told", "instead"),
    [
        (rb'<track-list count="6"', rb'<track-list count="7"'),
        (rb'<release-list count="7"', rb'<release-list count="8"'),
    ],
)
def test_a_list_with_a_part_missing_is_not_used(
    bench: Bench,
    caplog: pytest.LogCaptureFixture,
    told: bytes,
    instead: bytes,
) -> None:
    def lie(_: int, request: Request, honest: Response) -> Response:
        assert isinstance(honest.body, bytes)
        return with_body(honest, honest.body.replace(told, instead))

    with MusicBrainzStandIn(BAND, behave=lie) as server:
        source = bench.source(server.hostname)
        files = files_of(FIRST)
        gathered = [*map(source.together(files), files)]
        server.behave = None
        alone = [*map(bench.source(server.hostname, cache_ttl_s=0.0).gather, files)]
        assert all(map(same, gathered, alone))
        assert bench.store.answers.get(server.hostname + server.targets[1]) is None
    warned = [line for line in caplog.records if line.levelname == "WARNING"]
    assert [line.message for line in warned] == ["musicbrainz' list of an artist is incomplete"]


@pytest.mark.parametrize(
    "answer",
    [error(400, "track_artist is not a valid parameter"), NOT_FOUND, BUSY, GARBAGE],
    ids=["bad request", "not found", "busy", "garbage"],
)
def test_where_lists_of_releases_fail_files_are_looked_up_one_by_one(
    bench: Bench, caplog: pytest.LogCaptureFixture, answer: Response
) -> None:
    with MusicBrainzStandIn(BAND, behave=browses_refused(answer)) as server:
        source = bench.source(server.hostname)
        for record in (FIRST, SECOND):
            assert all(map(source.together(files_of(record)), files_of(record)))
        failed = 3 if answer is BUSY else 1
        assert lists_asked(server) == failed, "another album does not try that again at once"
        warned = [line for line in caplog.records if line.levelname == "WARNING"]
        assert len(warned) == 1
        assert "one by one" in warned[0].message
        server.behave = None
        bench.now += 10**9  # so that nothing kept will do
        source.together(files_of(FIRST))
        assert lists_asked(server) == failed + 2, "it is tried again some time"


def test_each_file_fails_for_itself(bench: Bench) -> None:
    unknown = replace(files_of(FIRST)[0], recording_mbid=mbid("nothing"), title=None)
    files = [*files_of(FIRST), unknown, TrackTags()]
    with MusicBrainzStandIn(BAND) as server:
        gather = bench.source(server.hostname).together(files)
        assert all(gather(tags).recording_candidates for tags in files_of(FIRST))
        with pytest.raises(NothingFoundError):
            gather(unknown)
        with pytest.raises(UnidentifiedError):
            gather(TrackTags())
        assert bench.source(server.hostname).together([])(files[0]).recording_candidates


def test_where_nothing_answers_each_file_says_so(bench: Bench) -> None:
    with MusicBrainzStandIn(BAND, behave=always(BUSY)) as server:
        gather = bench.source(server.hostname).together(files_of(FIRST))
        for tags in files_of(FIRST)[:2]:
            with pytest.raises(LookupFailedError):
                gather(tags)


def test_offline_what_is_kept_of_a_catalogue_is_used(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with MusicBrainzStandIn(BAND) as server:
        first, *_ = files_of(FIRST)
        asked = bench.source(server.hostname).together(files_of(FIRST))(first)
        offline = bench.source(server.hostname, offline=True, cache_ttl_s=1.0)
        bench.now += 10**9
        gather = offline.together(files_of(SECOND))
        assert all(gather(tags).recording_candidates for tags in files_of(SECOND))
        assert same(gather(first), asked)
        assert (offline.requests, len(server.requests)) == (0, 3)
    nowhere = bench.source("musicbrainz.invalid", offline=True)
    with pytest.raises(LookupFailedError, match="canon is offline"):
        nowhere.together(files_of(FIRST))(files_of(FIRST)[0])
    assert not caplog.records


def test_a_list_that_changes_while_it_is_read_is_not_used(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """A page that was kept may be from another day than the next."""

    def grown(_: int, request: Request, honest: Response) -> Response:
        assert isinstance(honest.body, bytes)
        body = re.sub(rb'release-list count="7"', rb'release-list count="6"', honest.body)
        return with_body(honest, body) if request.query.get("offset") else honest

    files = [*files_of(FIRST), *files_of(SECOND)]
    with MusicBrainzStandIn(BAND, behave=grown) as server:
        server.most_tracks = 10
        source = bench.source(server.hostname)
        gathered = [*map(source.together(files), files)]
        server.behave = None
        assert all(map(same, gathered, map(source.gather, files)))
        asked = lists_asked(server)
        bench.now += 10**9
        source.together(files)
        assert lists_asked(server) == asked + 6, "no page is taken from before"
    assert [line.message for line in caplog.records if line.levelname == "WARNING"] == [
        "musicbrainz' list of an artist is incomplete"
    ]
