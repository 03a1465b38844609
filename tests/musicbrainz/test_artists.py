"""Recordings of artists of one name, and of an artist with guests, are never taken for one."""

import json
from pathlib import Path
from typing import Any

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.jobs.decision import Case, State
from chart_binder.jobs.pipeline import Pipeline, attempt, decide_bundle
from musicbrainz.harness import Harness, StoreInMemory
from musicbrainz.sibling_worlds import RULES, World, decided, mbid, said_of, served, worlds
from rules.making import cases

WORLDS = worlds(Path(__file__).with_name("artist_worlds.txt"))
CASES = Path(__file__).with_name("artist_cases.txt")
LENGTHS = {"Rainbow": 180_000, "Pentecost": 190_000, "Drain": 191_000, "Polly": 201_000}


def tags_of(world: World, **written: Any) -> TrackTags:
    """The tags of a file; ids are written as the names that a world has for them."""
    if name := written.get("artist_mbid"):
        written["artist_mbid"] = mbid("artist", name)
    if name := written.get("release_group_mbid"):
        written["release_group_mbid"] = world.groups[name]
    written.setdefault("duration_ms", LENGTHS.get(written.get("title", ""), 200_000))
    return TrackTags(isrcs=tuple(written.pop("isrcs", ())), **written)


def asked_of(case: Case) -> str:
    return "; ".join(case.decision.missing_facts) or "-"


@pytest.mark.parametrize(("world", "tags", "state", "group", "first", "asked"), cases(CASES))
def test_the_file_tells_which_artist_is_meant_or_all_are_readings(
    world: str, tags: str, state: str, group: str, first: str, asked: str
) -> None:
    known = WORLDS[world]
    with served(known) as server:
        source = Harness(StoreInMemory(), server).source()
        case = decided(source, tags_of(known, **json.loads(tags)))
    assert said_of(case, known)[:3] == (state, group, first)
    assert asked in asked_of(case) if asked != "-" else asked_of(case) == "-"
    if state == "undecided":
        assert [one.kind for one in case.decision.questions] == ["which_copy"]


@pytest.mark.parametrize(("tag", "merged_into"), [
    ("release_group_mbid", WORLDS["nirvana"].groups["Us-91"]),
    ("artist_mbid", mbid("artist", "Nirvana#90s US grunge band")),
])  # fmt: skip
def test_a_merged_id_in_the_tags_tells_which_artist_is_meant(tag: str, merged_into: str) -> None:
    world, old = WORLDS["nirvana"], "11111111-1111-4111-8111-111111111111"
    named: dict[str, Any] = {tag: old}
    tags = TrackTags("Rainbow", "Nirvana", duration_ms=180_000, **named)
    with served(world) as server:
        server.merged = {old: merged_into}
        source = Harness(StoreInMemory(), server).source()
        case = decided(source, tags)
    assert said_of(case, world)[:2] == ("decided", "Us-91")


@pytest.mark.parametrize(("titles", "state", "group"), [
    ("Rainbow Drain Polly", State.DECIDED, "Us-91"),
    ("Rainbow Drain", State.UNDECIDED, "-"),  # one other file is too few
    ("Rainbow Drain Pentecost", State.UNDECIDED, "-"),
    ("Pentecost Drain Polly", State.REVIEW, "Uk-67"),
    ("Rainbow Rainbow Rainbow", State.UNDECIDED, "-"),
])  # fmt: skip
@pytest.mark.parametrize("album", ["Rarities", None])
def test_the_other_files_of_an_album_tell_which_artist_is_meant(
    titles: str, state: State, group: str, album: str | None
) -> None:
    """Its first file is asked for; the album is none that MusicBrainz knows."""
    world = WORLDS["nirvana"]
    files = [
        tags_of(world, title=title, artist="Nirvana", album=album or f"{number}")
        for number, title in enumerate(titles.split())
    ]
    with served(world) as server:
        source = Harness(StoreInMemory(), server).source()
        gather = source.together(files)
        case = attempt(lambda: decide_bundle(Pipeline(RULES), gather(files[0])))
        for each in files:
            gather(each)
        assert source.requests <= 3 * len(files) + 3
        count = source.requests
        gather(files[0])
        assert source.requests == count
    if album is None:  # of loose files, each tells for itself alone
        loose = {"Rainbow": State.UNDECIDED, "Pentecost": State.DECIDED}
        assert case.decision.state is loose[titles.split(maxsplit=1)[0]]
    else:
        assert (case.decision.state, world.name_of(case.decision.crg_mbid)) == (state, group)
