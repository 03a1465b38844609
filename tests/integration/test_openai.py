"""`canon` with a model behind a server of OpenAI's format."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.conftest import Canon
from integration.services import ALBUM, adjudicating, call, final
from servers.openai import OpenAIStandIn
from servers.searxng import Searxng, hit

OPENAI = {"CANON_LLM__PROVIDER": "openai"}
SEARCH = call("web_search", query="queen single")
AGAIN = final(rationale="There is no more to find.")
"""The answer to what an answer without a fact is told."""


@pytest.fixture
def search() -> Iterator[Searxng]:
    results = [hit("https://a.example/", "MusicBrainz")]
    with Searxng({"queen single": results, "musicbrainz": results}) as server:
        yield server


def test_a_run_is_shown_while_written(canon: Canon, open_bundle: Path, search: Searxng) -> None:
    invented = f"{SEARCH}\nObservation: it is C1\n\x1b[2J"
    with OpenAIStandIn([invented, final(), AGAIN], obeys_stop=False) as model:
        settings = OPENAI | adjudicating(model, search)
        ran = canon("-vv", "decide", "--evidence", open_bundle, "--output=json", **settings)
    assert (ran.line["state"], ran.line["crg_mbid"]) == ("review", ALBUM)
    assert ran.err.count(SEARCH) == ran.err.count(final()) == 1
    assert "--- turn 1: reply\nThought: I look it up." in ran.err
    assert "--- turn 1: end of reply (" in ran.err
    assert "\x1b" not in ran.err  # what the model writes can do nothing
