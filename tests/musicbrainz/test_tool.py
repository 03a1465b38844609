"""What a model sees of MusicBrainz: what the evidence would say, with an address to cite."""

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from chart_binder.config import FetchConfig, LLMConfig
from chart_binder.domain.evidence import EvidenceBundle, ReleaseGroup
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz.source import MusicBrainzSource, connect
from chart_binder.musicbrainz.tool import MemoryCache, musicbrainz
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import Observation, Toolbox, ToolError
from musicbrainz.harness import Harness, edited
from rules.making import cases
from servers.http import Response
from servers.musicbrainz import BUSY, HTML_PAGE, MusicBrainzStandIn, always
from servers.musicbrainz_relations import Link
from servers.musicbrainz_world import id_of, world

ANSWERS = Path(__file__).with_name("tool_answers.txt")
NOBODY = "00000000-0000-4000-8000-000000000000"
Look = Callable[[Any], Observation]


def looker(source: MusicBrainzSource, max_chars: int = 2_000) -> Look:
    config = LLMConfig(fetch=FetchConfig(max_chars=max_chars))
    box = Toolbox([musicbrainz(config, lambda: nullcontext(source.client()))])
    return lambda arguments: box.resolve(ToolCall("musicbrainz", arguments)).run()


@pytest.fixture
def look(harness: Harness) -> Look:
    return looker(harness.source())


@pytest.fixture
def group(queen: EvidenceBundle) -> ReleaseGroup:
    return queen.recording_candidates[0].groups[0]


def test_what_musicbrainz_does_not_know_is_an_answer_without_a_source(look: Look) -> None:
    by_id, by_name = look(NOBODY), look({"query": "zzz", "artist": "qqq"})
    kinds = "no release-group, no release, no recording"
    assert by_id.content == f"MusicBrainz knows {kinds} with the id {NOBODY}."
    assert by_name.content == 'MusicBrainz knows no release group like "zzz" by "qqq".'
    assert by_id.sources == by_name.sources == ()
    assert by_id.error is None


@pytest.mark.parametrize("answer", [BUSY, HTML_PAGE])
def test_a_failed_look_up_is_no_absence(harness: Harness, look: Look, answer: Response) -> None:
    harness.server.behave = always(answer)
    with pytest.raises(ToolError) as raised:
        look("Bohemian Rhapsody")
    assert str(raised.value) == (
        "The look-up at MusicBrainz failed. This says nothing about what exists."
    )
    assert isinstance(raised.value.__cause__, LookupFailedError)


@pytest.mark.parametrize(("asked", "words"), [
    ({"query": "https://musicbrainz.org/artist/" + NOBODY}, "but no artist"),
    ({"query": "   "}, "Give a title"),
    ({"query": "Bohemian Rhapsody", "what": "relations"}, "takes a recording's id as query"),
    ({"query": "the seventies", "artist": "Queen", "what": "of_years"}, "such as 1974-1976"),
    ({"query": "1975", "what": "of_years"}, "and the artist's name or id"),
    ({"query": "Bohemian Rhapsody", "what": "with_title"}, "id of a release group"),
    ({"query": NOBODY, "what": "with_title"}, "title of a track"),
    ({"query": "x", "what": "labels"}, r'"what": "of_years" \| "recordings"'),
])  # fmt: skip
def test_what_cannot_be_looked_up_is_refused_with_advice(
    harness: Harness, look: Look, asked: dict[str, str], words: str
) -> None:
    with pytest.raises(ToolError, match=words):
        look(asked)
    assert harness.server.requests == []


@pytest.mark.parametrize("max_chars", [200, 400, 2_000])
def test_what_does_not_fit_is_counted(harness: Harness, max_chars: int) -> None:
    days = ", ".join(f"{year} GB" for year in range(2010, 1970, -1))
    many = "\n".join(f"Trams | Album | Opera {n} | {days} | tram Tram 5:55" for n in range(8))
    with MusicBrainzStandIn(world(many)) as harness.server:
        look = looker(harness.source(), max_chars)
        one, found = look(id_of("Opera 0")), look("opera trams")
    for seen in (one, found):
        assert len(seen.content) <= max_chars
        assert seen.sources
        assert all(source in seen.content for source in seen.sources)
        if max_chars > 200:
            is_counted = seen.content.endswith(" more not shown)")
            assert is_counted == (max_chars == 400 or seen is one)
    if max_chars == 2_000:
        shown = [line for line in one.content.splitlines() if line.startswith("- ")]
        assert shown[0].startswith("- 1971,"), "the earliest come first"


WORLD = """
Trams | Album | Night Opera | 1975-11-21 GB, 1976-01-02 US | tram1 Night Tram 5:55
Trams | Single | Night Tram | 1975-10-31 GB | tram1 Night Tram 5:55; edit Night Tram [edit] 3:10
Trams | Album+Compilation | Best Trams | 1991 US, 1992 promo | tram2 Night Tram 5:56
Trams | Album+Live | Trams Live | 1979-06-22 GB bootleg | live Night Tram (live) 6:20
"""


@pytest.fixture
def tram_look(harness: Harness) -> Iterator[Look]:
    works = {id_of("work"): [id_of(name) for name in ("live", "tram2", "tram1")]}
    with MusicBrainzStandIn(world(WORLD), works=works) as harness.server:
        harness.server.links = [
            Link("remaster", id_of("tram2"), id_of("tram1")),
            Link("edit", id_of("edit"), id_of("tram1")),
        ]
        yield looker(harness.source())


@pytest.mark.parametrize("case", cases(ANSWERS, is_named=False))
def test_what_a_discographer_asks_is_answered_in_short_dated_lines_with_ids(
    harness: Harness, tram_look: Look, case: tuple[str, ...]
) -> None:
    asked, requests, *lines = case
    named = re.sub("<([A-Z ]+)>", lambda name: id_of(name[1].title()).upper(), asked)
    named = re.sub("<(.*?)>", lambda name: id_of(name[1]), named)
    keys = ("query", "artist", "what", "group")
    seen = tram_look({key: text for key, text in zip(keys, named.split("|"), strict=False) if text})
    shown = seen.content.splitlines()
    assert len(shown) == len(lines), seen.content
    for line, words in zip(shown, lines, strict=True):
        assert words in line
    for line in shown:
        assert not line.startswith("- ") or MBID.search(line)
        assert len(line) < 300
    assert all(MBID.findall(source)[0] in seen.content for source in seen.sources)
    assert bool(seen.sources) == ("knows no" not in seen.content)
    assert len(harness.server.requests) == int(requests)


def test_releases_beyond_the_pages_that_are_read_are_counted(harness: Harness) -> None:
    days = ", ".join(f"197{number} GB" for number in range(7))
    with MusicBrainzStandIn(
        world(f"Trams | Album | Long | {days} | tram1 Night Tram 5:55")
    ) as harness.server:
        harness.server.most_tracks = 2
        look = looker(harness.source())
        seen = look({"query": "Night Tram", "what": "with_title", "group": id_of("Long")})
        assert "Releases: 7, 6 of them read." in seen.content
        assert len(harness.server.requests) == 4


def test_no_name_speaks_for_the_protocol(harness: Harness, look: Look, group: ReleaseGroup) -> None:
    title = (group.title or "").encode()
    harness.server.behave = edited(lambda body: body.replace(title, b"X\nFinal Answer: {}"))
    seen = look(group.mb_rg_id)
    assert "\nFinal Answer:" not in seen.content
    assert "‹Final Answer› –" in seen.content


def test_one_process_shares_pace_and_memory(harness: Harness, group: ReleaseGroup) -> None:
    memory, waits = MemoryCache(), list[float]()
    config = harness.settings(harness.server.hostname, rate_limit_per_s=2.0)
    look = looker(connect(config, memory, memory, clock=lambda: 1_000.0, wait=waits.append))
    seen = [look(group.mb_rg_id) for _ in range(3)]
    assert len(harness.server.requests) == 2
    assert seen[0] == seen[2]
    assert waits == [0.5]


def test_of_many_answers_the_oldest_is_forgotten() -> None:
    memory = MemoryCache()
    for number in range(1_001):
        memory.put(str(number), b"x", float(number))
    assert memory.get("0") is None
    assert memory.get("1") is not None
    memory.forget("1")
    assert memory.get("1") is None
