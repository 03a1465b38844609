"""The tools from the command line and inside a run, each against a server of its own kind."""

from pathlib import Path

from integration.conftest import Canon
from integration.services import (
    ALBUM,
    SINGLE,
    adjudicating,
    answering,
    asking,
    final,
)
from servers.http import StandIn
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng
from servers.wikidata import WikidataStandIn, WikiItem, published

GROUP = "https://musicbrainz.org/release-group/"


def reading(wiki: StandIn) -> dict[str, str]:
    """Settings that lead to a Wikipedia on this machine."""
    return {
        "CANON_LLM__WIKIPEDIA__URL": wiki.url,
        "CANON_LLM__FETCH__PORTS": str(wiki.port),
        "CANON_LLM__FETCH__ALLOW_PRIVATE_HOSTS": "127.0.0.1",
    }


# Of a busy machine: what takes too long is told by tests of its own.
PATIENT = {"CANON_LLM__TIMEOUT_S": "30", "CANON_MUSICBRAINZ__TIMEOUT_S": "20"}


def test_answers_of_musicbrainz_by_hand_are_stored(canon: Canon, mb: MusicBrainzStandIn) -> None:
    asked = '{"query": "Bohemian Rhapsody", "artist": "Queen"}'
    ran = canon("tools", "run", "musicbrainz", asked, **asking(mb))
    again = canon("tools", "run", "musicbrainz", asked, "--output=json", **asking(mb))
    assert [target.partition("?")[0] for target in mb.targets] == [
        "/ws/2/release-group", f"/ws/2/release-group/{SINGLE}", "/ws/2/release",
    ]  # fmt: skip
    assert ran.status == 0, ran.err
    assert ran.out.startswith('Release group "Bohemian Rhapsody" (Single, by Queen)')
    assert again.line["sources"] == [f"{GROUP}{SINGLE}"]


def test_what_musicbrainz_links_to_decides_without_a_search(
    canon: Canon, open_bundle: Path, mb: MusicBrainzStandIn
) -> None:
    item = WikiItem(
        "Bohemian Rhapsody", classes=["Q134556"], groups=[SINGLE], dates=[published("1975-10-31")]
    )
    mb.urls = {SINGLE: ["wikidata https://www.wikidata.org/wiki/Q187745"]}
    with (
        WikidataStandIn({"Q187745": item}) as data,
        Searxng() as search,
        OllamaStandIn(answering(final())) as model,
    ):
        settings = asking(mb) | adjudicating(model, search) | reading(data) | PATIENT
        settings |= {"CANON_LLM__WIKIPEDIA__WIKIDATA_URL": data.url}
        line = canon("decide", "--evidence", open_bundle, "--output=json", **settings).line
    assert (line["state"], line["crg_mbid"]) == ("decided", ALBUM), line
    assert (search.queries, len(model.chats), mb.targets) == (
        [], 1, [f"/ws/2/release-group/{SINGLE}?inc=url-rels"],
    )  # fmt: skip
    (fact,) = line["adjudication"]["facts"]
    assert (fact["verified"], fact["trusted"], fact["cited"]) == (True, True, False)
    transcript = line["adjudication"]["transcript"]
    canon("transcript", "replay", transcript).must_end(0, "the same")
    assert "publication date | 1975-10-31" in canon("transcript", "show", transcript).out
