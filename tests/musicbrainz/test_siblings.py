"""Other recordings of a performance are looked up where they are needed, and decide the case."""

from pathlib import Path

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.errors import LookupFailedError
from chart_binder.jobs.decision import Cause, State
from chart_binder.llm.evidence_markdown import evidence_markdown
from musicbrainz.harness import Harness, StoreInMemory
from musicbrainz.sibling_worlds import World, decided, said_of, served, siblings_in, worlds
from rules.making import cases
from servers.http import Request, Response
from servers.musicbrainz import BUSY, GARBAGE, HANG_UP, Behave, always, cut_in_half
from servers.musicbrainz_xml import error

WORLDS = worlds(Path(__file__).with_name("sibling_worlds.txt"))
CASES = Path(__file__).with_name("sibling_cases.txt")


@pytest.mark.parametrize(
    ("world", "file", "state", "group", "first", "siblings", "requests"), cases(CASES)
)
def test_each_file_is_decided_through_what_is_the_same_performance(
    world: str, file: str, state: str, group: str, first: str, siblings: str, requests: str
) -> None:
    with served(WORLDS[world]) as server:
        source = Harness(StoreInMemory(), server).source()
        source.gather(WORLDS[world].tags(file))
        before = source.requests
        case = decided(source, WORLDS[world].tags(file))
        assert said_of(case, WORLDS[world]) == (state, group, first, siblings)
        assert source.requests - before == int(requests)
        assert case == decided(source, WORLDS[world].tags(file))
        assert source.requests - before == int(requests), "responses are cached"


def test_a_server_that_shows_titles_alone_is_asked_for_the_releases() -> None:
    with served(WORLDS["band"]) as server:
        server.hits_have_releases = False
        source = Harness(StoreInMemory(), server).source()
        case = decided(source, WORLDS["band"].tags("sampler"))
    assert said_of(case, WORLDS["band"])[1:] == ("Album-77", "1977-03-01 certain via", "original")
    assert case.bundle
    assert case.bundle.siblings == "looked_up", "those of decades later change nothing"


@pytest.mark.parametrize(("when", "file", "siblings", "looked_up"), [
    ("never", "sampler", "-", None), ("when_needed", "original", "-", None),
    ("always", "original", "duplicate remaster sampler", "looked_up"),
    ("always", "live", "-", None),
])  # fmt: skip
def test_siblings_are_looked_up_as_configured(
    when: str, file: str, siblings: str, looked_up: str | None
) -> None:
    world = WORLDS["band"]
    with served(world) as server:
        case = decided(Harness(StoreInMemory(), server).source(), world.tags(file), when)
    assert case.bundle
    assert case.bundle.siblings == looked_up
    found = (world.name_of(one) for one in siblings_in(case))
    assert sorted(found) == (siblings.split() if siblings != "-" else [])


def test_evidence_says_why_each_is_a_sibling() -> None:
    with served(WORLDS["isrc"]) as server:
        case = decided(Harness(StoreInMemory(), server).source(), WORLDS["isrc"].tags("file"))
    assert case.bundle
    (sibling,) = (one for one in case.bundle.recording_candidates if one.is_sibling)
    assert sibling.because == "it has the same ISRC GBAAA7700001"
    assert sibling.first_release_date == "1977-04-01"
    assert case.bundle.provenance
    assert case.bundle.provenance.sources_used == ("MB",)
    told = "a sibling: another recording of the same performance (it has the same ISRC"
    assert evidence_markdown(case.bundle).count(told) == 1


# Failing look-ups are errors, never "none is there".

SLOW = Response("late", delay_s=5)
PARTS = {
    "search": "/ws/2/recording?", "isrc": "/ws/2/isrc/", "work": "work-rels",
    "recordings of the work": "work=", "releases": None,
}  # fmt: skip


def only(part: str, answer: Response | Behave, world: World) -> Behave:
    """Spoil the answers to requests for a part of the look-up of siblings."""
    original = world.recordings.get("original", "?")

    def behave(number: int, request: Request, honest: Response) -> Response:
        wanted = PARTS[part] or f"recording={original}"
        if wanted not in request.target:
            return honest
        return answer(number, request, honest) if callable(answer) else answer

    return behave


@pytest.mark.parametrize(("part", "world"), [
    ("search", "isrc"), ("isrc", "isrc-only"), ("work", "work"),
    ("recordings of the work", "work"), ("releases", "isrc"),
])  # fmt: skip
@pytest.mark.parametrize("answer", [
    BUSY, GARBAGE, HANG_UP, SLOW, error(403, "No."), cut_in_half,
], ids=["503", "garbage", "hang up", "timeout", "403", "half"])  # fmt: skip
def test_a_failed_lookup_of_siblings_is_an_error_and_may_be_tried_again(
    part: str, world: str, answer: Response | Behave
) -> None:
    with served(WORLDS[world], only(part, answer, WORLDS[world])) as server:
        harness = Harness(StoreInMemory(), server)
        case = decided(harness.source(timeout_s=0.3), WORLDS[world].tags("file"))
        assert case.decision.state is State.ERROR
        assert case.decision.cause is Cause.LOOKUP_FAILED
        assert server.hostname in str(case.decision.error)
        server.behave = None
        case = decided(harness.source(), WORLDS[world].tags("file"))
        assert said_of(case, WORLDS[world])[:2] == ("decided", "Album-77")


@pytest.mark.parametrize(("part", "world"), [
    ("search", "isrc"), ("work", "work"), ("recordings of the work", "work"), ("releases", "isrc"),
])  # fmt: skip
def test_what_was_there_and_is_not_found_now_is_an_error(part: str, world: str) -> None:
    missing = error(404, "Not Found")
    with served(WORLDS[world], only(part, missing, WORLDS[world])) as server:
        harness = Harness(StoreInMemory(), server)
        case = decided(harness.source(), WORLDS[world].tags("file"))
    assert (case.decision.state, case.decision.cause) == (State.ERROR, Cause.LOOKUP_FAILED)


def test_offline_siblings_are_taken_from_the_cache_or_not_at_all() -> None:
    tags = WORLDS["isrc"].tags("file")
    with served(WORLDS["isrc"]) as server:
        harness = Harness(StoreInMemory(), server)
        harness.source().gather(tags)
        count = len(server.requests)
        case = decided(harness.source(offline=True), tags)
        assert len(server.requests) == count
        assert case.bundle
        assert case.bundle.siblings is None
        assert case.decision.state is State.UNDECIDED
        online = decided(harness.source(), tags)
        count = len(server.requests)
        assert decided(harness.source(offline=True), tags) == online
        assert len(server.requests) == count


# Searches that find more than they show.


@pytest.mark.parametrize(("count", "apart", "kind", "queries", "is_complete"), [
    (90, 100, "live", 1, True),
    (150, 0, "live", 2, True),  # the next page
    (300, 100, "live", 2, True),  # by length
    (300, 0, "album 1990-01-01/bootleg", 3, True),  # official ones
    (300, 0, "live", 3, False),
])  # fmt: skip
def test_a_search_for_siblings_is_made_narrower_until_all_is_seen(
    count: int, apart: float, kind: str, queries: int, *, is_complete: bool
) -> None:
    kind, _, status = kind.partition(" ")
    world = World("crowd")
    world.add("file | The Band | Song | 200 | - | - | Sampler various 2004-01-01")
    world.add("original | The Band | Song | 201 | - | - | Album album 1977-01-01")
    for number in range(count):
        row = f"n{number} | The Band | Song | {200 + apart} | - | live, {1900 + number % 90} |"
        world.add(f"{row} R{number} {kind} {status or '1990-01-01'}")
    with served(world) as server:
        source = Harness(StoreInMemory(), server).source()
        source.gather(world.tags("file"))
        before = len(server.requests)
        case = decided(source, world.tags("file"))
        asked = server.requests[before:]
    assert len(asked) <= 5
    assert sum("query" in each.query for each in asked) == queries
    assert case.bundle
    assert case.bundle.complete is (None if is_complete else False)
    assert case.bundle.siblings == ("looked_up" if is_complete else None)
    if is_complete:
        assert said_of(case, world)[1] == "Album"
    else:
        assert not case.decision.first_release or not case.decision.first_release.year_certain


@pytest.mark.parametrize(("editions", "hits_have_releases", "requests", "is_complete"), [
    (90, True, 2, True),
    (150, True, 1, True),  # as the search shows them
    (150, False, 2, False),
])  # fmt: skip
def test_a_sibling_with_many_releases_takes_no_more_requests(
    editions: int, requests: int, *, hits_have_releases: bool, is_complete: bool
) -> None:
    world = World("editions")
    world.add("file | The Band | Song | 200 | - | - | Sampler various 2004-01-01")
    dates = " ".join(f"{1977 + number % 40}-01-{1 + number // 40:02}" for number in range(editions))
    world.add(f"original | The Band | Song | 201 | - | - | Album album {dates}")
    with served(world) as server:
        server.hits_have_releases = hits_have_releases
        source = Harness(StoreInMemory(), server).source()
        source.gather(world.tags("file"))
        before = source.requests
        case = decided(source, world.tags("file"))
        assert source.requests - before == requests
    assert case.bundle
    assert case.bundle.complete is (None if is_complete else False)
    assert said_of(case, world)[:2] == ("decided" if is_complete else "review", "Album")


@pytest.mark.parametrize(("count", "release", "queries", "unread"), [
    (60, "1990-01-01", 1, None),
    (60, "1978-06-01", 1, "56 more recordings that may be meant were not read"),
    (300, "1990-01-01", 6, "a search (status:official, primarytype:album) shows 100 of 301"),
    (4_644, "1990-01-01", 6, "a search (status:official, primarytype:album) shows 100 of 4645"),
    (300, "1990-01-01/bootleg", 4, None),
    (150, "1990-01-01 EPs", 6, None),  # half on albums, half on EPs
])  # fmt: skip
def test_a_search_by_name_is_made_narrower_until_all_is_seen(
    count: int, release: str, queries: int, unread: str | None
) -> None:
    """Of more recordings than are read the earliest are, and what is not read is said."""
    world = World("names")
    date, _, is_half = release.partition(" ")
    kinds = ("album", "EP") if is_half else ("album",)
    for number in range(count):
        row = f"n{number} | The Band | Song | 200 | - | take {number} |"
        world.add(f"{row} R{number} {kinds[number % len(kinds)]} {date}")
    world.add(f"other | The Band | Song | 200 | - | - | First {kinds[-1]} 1977-01-01")
    tags = TrackTags(title="Song", artist="The Band", duration_ms=200_000)
    with served(world) as server:
        case = decided(Harness(StoreInMemory(), server).source(), tags)
        searched = sum("query" in each.query for each in server.requests)
    assert case.bundle
    assert case.bundle.complete is (False if unread else None)
    if unread:
        told = [case.decision.rationale or "", *case.decision.missing_facts]
        assert any(unread in text for text in told), told
    elif date == "1990-01-01":
        assert world.recordings["other"] in [
            one.mb_recording_id for one in case.bundle.recording_candidates
        ]
    assert searched <= queries


# The files of an album share their requests.


def album_of(count: int, artists: int = 1, extra: int = 0) -> World:
    """A world of a sampler with songs whose originals have other recordings.

    `extra` are more records by each artist, with a song of their own each.
    """
    world = World(f"album-{count}-{artists}-{extra}")
    for number in range(count):
        by = f"Band {number % artists} | Song {number}"
        world.add(f"f{number} | {by} | 200 | - | - | Sampler various 2004-01-01")
        world.add(f"o{number} | {by} | 201 | - | - | A{number} album 1977-01-01")
    for number in range(extra * artists):
        row = f"x{number} | Band {number % artists} | Other {number} | 200 | - | - |"
        world.add(f"{row} X{number} album 1990-01-01")
    return world


@pytest.mark.parametrize(("count", "artists", "extra", "page", "most"), [
    (10, 1, 0, 500, 2),
    (10, 1, 60, 10, 10),  # too many pages: searches in place of the lists
    (10, 1, 2_000, 500, 10), (10, 10, 0, 500, 10), (10, 3, 0, 500, 10),
    (8, 8, 0, 500, 10),  # the first files leave enough for the last
    (3, 1, 0, 500, 9), (24, 2, 50, 5, 24),
])  # fmt: skip
@pytest.mark.parametrize("together", [True, False])
def test_an_album_takes_at_most_as_many_requests_as_files(
    count: int, artists: int, extra: int, page: int, most: int, *, together: bool
) -> None:
    world = album_of(count, artists, extra)
    files = [world.tags(f"f{number}") for number in range(count)]
    with served(world) as server:
        server.most_tracks = page
        source = Harness(StoreInMemory(), server).source()
        gather = source.together(files) if together else source.gather
        bundles = [gather(tags) for tags in files]
        before = source.requests
        widened = [*map(source.siblings_together(bundles), bundles)]
        assert source.requests - before <= most
    for number, bundle in enumerate(widened):
        assert bundle.siblings == "looked_up"
        names = [world.name_of(one.mb_recording_id) for one in bundle.recording_candidates]
        assert names == [f"f{number}", f"o{number}"]


def test_a_failure_of_a_shared_lookup_leaves_each_to_its_own() -> None:
    world = album_of(4)
    files = [world.tags(f"f{number}") for number in range(4)]

    def behave(_: int, request: Request, honest: Response) -> Response:
        return BUSY if "artist=" in request.target else honest

    with served(world) as server:
        harness = Harness(StoreInMemory(), server)
        bundles = [harness.source().gather(tags) for tags in files]
        server.behave = always(BUSY)
        look_up = harness.source().siblings_together(bundles)
        with pytest.raises(LookupFailedError, match="503"):
            look_up(bundles[0])
        server.behave = behave
        widened = [*map(harness.source().siblings_together(bundles), bundles)]
    assert [len(one.recording_candidates) for one in widened] == [2, 2, 2, 2]
