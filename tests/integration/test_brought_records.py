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


def decided(canon: Canon, song: Path, *replies: str) -> dict[str, Any]:
    """Return the decision on a file; other recordings of the song are not looked up before."""
    with MusicBrainzStandIn(world(WORLD)) as mb, Searxng() as search:
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
