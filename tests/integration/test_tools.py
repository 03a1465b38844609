"""The tools from the command line and inside a run, each against a server of its own kind."""

from pathlib import Path

from integration.conftest import Canon
from integration.services import (
    ALBUM,
    LP,
    SINGLE,
    TRUSTING,
    adjudicating,
    answering,
    asking,
    call,
    final,
)
from servers.http import StandIn
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng
from servers.wikidata import WikidataStandIn, WikiItem, published
from servers.wikipedia import WikipediaStandIn

GROUP = "https://musicbrainz.org/release-group/"
ARTICLE = "<p><b>Bohemian Rhapsody</b> is a single by Queen, released on 31 October 1975.</p>"


def reading(wiki: StandIn) -> dict[str, str]:
    """Settings that lead to a Wikipedia on this machine."""
    return {
        "CANON_LLM__WIKIPEDIA__URL": wiki.url,
        "CANON_LLM__FETCH__PORTS": str(wiki.port),
        "CANON_LLM__FETCH__ALLOW_PRIVATE_HOSTS": "127.0.0.1",
    }


# Of a busy machine: what takes too long is told by tests of its own.
PATIENT = {"CANON_LLM__TIMEOUT_S": "30", "CANON_MUSICBRAINZ__TIMEOUT_S": "20"}


def citing(source: str) -> str:
    """Return an answer that rests on the single's date."""
    fact = {"about": "C1", "field": "first_release_date", "value": "1975-10-31", "source": source}
    return final(facts=[fact])


def test_tools_that_are_enabled_are_listed_and_offline_only_local_ones(canon: Canon) -> None:
    listed = canon("tools", "list", "--output=json").lines
    names = [each["name"] for each in listed]
    assert names == ["web_search", "web_fetch", "musicbrainz", "wikipedia"]
    assert all(len(each["description"]) < 100 for each in listed)
    off = canon("tools", "list", CANON_LLM__TOOLS__WIKIPEDIA="false")
    assert "wikipedia(" not in off.out
    assert "wikipedia(" not in canon("config", "prompt", CANON_LLM__TOOLS__WIKIPEDIA="false").out
    offline = canon("tools", "list", "--output=json", CANON_MUSICBRAINZ__OFFLINE="true")
    assert offline.lines == []


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


def test_a_date_from_each_is_verified(
    canon: Canon, open_bundle: Path, mb: MusicBrainzStandIn
) -> None:
    with WikipediaStandIn({"Bohemian Rhapsody": ARTICLE}) as wiki, Searxng() as search:
        by_musicbrainz = [
            call("musicbrainz", query=SINGLE),
            citing(f"{GROUP}{SINGLE}"),
        ]
        by_wikipedia = [
            call("wikipedia", query="Bohemian Rhapsody", language="en"),
            citing(f"{wiki.url}/wiki/Bohemian_Rhapsody"),
        ]
        for replies in (by_wikipedia, by_musicbrainz):
            with OllamaStandIn(answering(*replies)) as model:
                settings = asking(mb) | adjudicating(model, search) | reading(wiki)
                settings |= PATIENT | TRUSTING
                line = canon("decide", "--evidence", open_bundle, "--output=json", **settings).line
            assert (line["state"], line["crg_mbid"], line["rr_mbid"]) == ("decided", ALBUM, LP), (
                line
            )
            assert [fact["verified"] for fact in line["adjudication"]["facts"]] == [True]
    transcript = line["adjudication"]["transcript"]
    canon("transcript", "replay", transcript).must_end(0)
    shown = canon("transcript", "show", transcript).out
    assert "Read so far: C1 'Bohemian Rhapsody' came out 1975-10-31" in shown


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
