"""The year of a decided file: what the commands ask a model, keep, and say."""

from pathlib import Path

from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.fields import all_fields
from golden.bundles import Bundle
from integration.conftest import Canon
from integration.services import TRUSTING, UNSURE, adjudicating, answering, asking, file_of
from llm.verdicts.play import load_evidence
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn
from servers.pages import Pages
from servers.searxng import Searxng, hit

RAW = {
    "artist": "Lena Frost",
    "country": "GB",
    "title": "Slow Tram",
    "records": ['C | Album+Compilation | Best | 1981-03-02 GB [Rowan RWL 4, 12" Vinyl]'],
}


def compilation() -> Bundle:
    """Return the evidence of a song on a lone compilation, with the ids that MusicBrainz gives."""
    bundle = load_evidence("year", RAW).document
    artist = "11111111-2222-4333-8444-555555555555"
    return bundle | {"artist": bundle["artist"] | {"mb_artist_id": artist}}


PAGE = (
    "<title>Slow Tram</title><table><tr><th colspan=2>Slow Tram</th></tr>"
    "<tr><th>Single by</th><td>Lena Frost</td></tr>"
    "<tr><th>Released</th><td>7 October 1977</td></tr></table>"
)
ANSWER = (
    'Final Answer:\n```json\n{"crg_mbid": "C1", "confidence": 0.9, "rationale": "the box"}\n```'
)
ALONE = {"CANON_MUSICBRAINZ__SIBLINGS": "never"}
QUERY = '"Slow Tram" original single release date'


def test_a_batch_asks_for_years_last_once_a_performance_and_decide_asks_at_once(
    canon: Canon, home: Path
) -> None:
    bundle = compilation()
    (home / "a").mkdir()
    files = [file_of(bundle, home / "a", f"{n}.flac", date="1999") for n in range(2)]
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Pages({"/tram": PAGE}) as pages,
        Searxng({f"Lena Frost {QUERY}": [hit(f"{pages.url}/tram", "Slow Tram")]}) as search,
        OllamaStandIn(answering(*[ANSWER] * 3)) as model,
    ):
        settings = asking(mb) | adjudicating(model, search, pages) | TRUSTING | ALONE
        ran = canon("batch", home / "a", "--output=json", **settings).must_end(0)
        assert [line["first_release"]["year_certain"] for line in ran.lines] == [False, False]
        assert not model.chats, "a batch asks about open cases alone"
        years = (home / "a", "--ask-years", "--output=json")
        [found] = canon("batch", *years, "--estimate", **settings).lines
        assert (found["years"]["files"], found["years"]["runs"]) == (2, 1)
        ran = canon("batch", *years, **settings).must_end(0)
        assert [line["first_release"]["date"] for line in ran.lines] == ["1977-10-07"] * 2
        assert [line["decided_by"] for line in ran.lines] == ["rules"] * 2
        assert len(model.chats) == 1
        ran = canon("batch", *years, "--refresh", **settings)
        assert [line["first_release"]["date"] for line in ran.lines] == ["1977-10-07"] * 2
        assert len(model.chats) == 1, "the answer to the same evidence stays"
        ran = canon("decide", files[0], CANON_LLM__ASK="open", **settings).must_end(0)
        assert len(model.chats) == 1
        [line] = canon("decide", files[0], "--output=json", **settings).must_end(0).lines
        assert line["first_release"]["year_certain"]
        assert line["year_answer"]["outcome"] == "accepted"
        assert len(model.chats) == 2


def test_a_year_that_nobody_tells_leaves_the_decision_and_says_what_is_missing(
    canon: Canon, home: Path
) -> None:
    bundle = compilation()
    file = file_of(bundle, home)
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Searxng() as search,
        OllamaStandIn([UNSURE] * 9) as model,
    ):
        settings = asking(mb) | adjudicating(model, search) | ALONE
        [line] = canon("decide", file, "--output=json", **settings).must_end(0).lines
        assert (line["state"], line["first_release"]["year_certain"]) == ("decided", False)
        assert line["year_answer"]["outcome"] == "rejected"
        shown = canon("decide", file, **settings).must_end(0).out
        assert "the model cannot tell" in shown


def test_the_best_known_year_is_written_with_its_mark_and_undone(canon: Canon, home: Path) -> None:
    bundle = compilation()
    file = file_of(bundle, home, date="1999")
    before = file.read_bytes()
    with MusicBrainzStandIn([bundle]) as mb:
        canon("decide", file, **asking(mb) | ALONE).must_end(0)
    canon("write", file).must_end(3, "the year of the first release is not certain")
    canon("write", file, "--best-known", "--apply").must_end(0, "not certain: 1981?")
    fields = all_fields(read_tag_set(file))
    assert fields["original_date"] == fields["note_uncertain_date"] == ("1981",)
    canon("write", file, "--best-known").must_end(0)
    canon("undo", file).must_end(0)
    assert file.read_bytes() == before
