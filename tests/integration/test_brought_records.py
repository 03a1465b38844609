"""A record that the model names, from the command line: decided, stored, shown and replayed."""

from pathlib import Path
from typing import Any

from integration.conftest import Canon
from integration.services import adjudicating, answering, asking, call, final, flac
from servers.musicbrainz import MusicBrainzStandIn
from servers.musicbrainz_world import id_of, world
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng

WORLD = """
Trams | Album | Night Opera | 1975-11-21 GB, 1977 US | tram Night Tram 5:55
Trams | Single | Tram Single | 1975-10-31 GB | tram Night Tram 5:55
Trams | Album+Compilation+Various | Hits | 2004 GB | again Night Tram [remaster] 5:53 GBAAA7500002
"""
ALBUM, SINGLE = id_of("Night Opera"), id_of("Tram Single")
PATIENT = {"CANON_LLM__TIMEOUT_S": "30", "CANON_MUSICBRAINZ__TIMEOUT_S": "20"}


ALIKE = """
Trams | Album | Night Opera | 1975 GB | again Night Tram 5:20
Trams | Single | B Side | 1975 GB | again Night Tram 5:20
Trams | Single | Early | 1974 GB | early Night Tram 5:21
"""


def decided(canon: Canon, song: Path, *replies: str, table: str = WORLD) -> dict[str, Any]:
    """Return the decision on a file; other recordings of the song are not looked up before."""
    with MusicBrainzStandIn(world(table)) as mb, Searxng() as search:
        alone = asking(mb) | PATIENT | {"CANON_MUSICBRAINZ__SIBLINGS": "never"}
        with OllamaStandIn(answering(*replies)) as model:
            settings = alone | adjudicating(model, search)
            return canon("decide", song, "--output=json", **settings).line


def test_a_file_is_decided_by_a_record_that_the_model_names(canon: Canon, home: Path) -> None:
    song = flac(home / "work", recording=id_of("again"), title="Night Tram", artist="Trams")
    line = decided(
        canon,
        song,
        call("musicbrainz", query="Night Opera", artist="Trams"),
        final(crg_mbid=ALBUM, rr_mbid=None),
    )
    assert (line["state"], line["decided_by"], line["crg_mbid"]) == ("decided", "llm", ALBUM), line
    assert (line["crg_title"], line["crg_type"]) == ("Night Opera", "Album")
    assert line["rr_mbid"] == id_of("Night Opera 1975-11-21 GB")
    first = line["first_release"]
    assert (first["date"], first["via_sibling"]) == ("1975-10-31", True)
    (added,) = line["adjudication"]["added"]
    assert (added["relation"], added["mb_recording_id"]) == ("sibling", id_of("tram"))
    # What is stored says it again, without network or model.
    transcript = line["adjudication"]["transcript"]
    canon("transcript", "replay", transcript).must_end(0, "Night Opera")
    canon("transcript", "show", transcript).must_end(0, "Night Opera")
    (listed,) = canon("ls", "--output=json").lines
    assert (listed["crg_mbid"], listed["crg_title"]) == (ALBUM, "Night Opera")
    canon("drift", CANON_MUSICBRAINZ__OFFLINE="true").must_end(0)


def test_a_record_dates_an_open_case_only_after_a_person_accepts_the_answer(
    canon: Canon, home: Path
) -> None:
    song = flac(home / "work", recording=id_of("again"), title="Night Tram", artist="Trams")
    fact = {
        "about": "song", "field": "recording", "value": id_of("early"), "quote": "",
        "source": "musicbrainz",
    }  # fmt: skip
    asked = call("musicbrainz", query="Night Tram", artist="Trams", what="recordings")
    answer = final(crg_mbid=id_of("B Side"), rr_mbid=None, facts=[fact])
    line = decided(canon, song, *[asked, answer] * 3, table=ALIKE)
    assert (line["state"], line["crg_title"]) == ("review", "B Side"), line
    assert len(line["adjudication"]["added"]) == 1
    assert line["first_release"]["date"] == "1975"
    canon("review", "show", song).must_end(3, "single Early", "1974")
    canon("review", "accept", song).must_end(0, "first date   1974")
    with MusicBrainzStandIn(world(ALIKE)) as mb:
        settings = asking(mb) | {"CANON_MUSICBRAINZ__SIBLINGS": "never"}
        line = canon("decide", song, "--output=json", **settings).must_end(0).line
    assert (line["first_release"]["date"], line["first_release"]["by"]) == ("1974", "person")
