"""`canon decide` as a process, from audio file to decision, by rules and by the adjudicator."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chart_binder.jobs.decide import Cause
from chart_binder.jobs.stored_decisions import path_bytes, stored_bundle
from chart_binder.store import open_store
from golden.bundles import CASES, golden, year_only_single
from integration.conftest import REPOSITORY, Canon
from integration.services import ALBUM, LP, RHAPSODY, adjudicating, asking, file_of, flac
from servers.http import Response
from servers.musicbrainz import BUSY, GARBAGE, HANG_UP, MusicBrainzStandIn, always
from servers.ollama import OllamaStandIn
from servers.pages import Pages
from servers.searxng import Mode, Searxng, hit

KEYS = [
    "path", "state", "decided_by", "crg_mbid", "rr_mbid", "recording_mbid", "crg_rule", "rr_rule",
    "confidence", "rationale", "missing_facts", "evidence_hash", "trace", "adjudication", "error",
]  # fmt: skip
SEARCH = 'Thought: I need the day.\nAction: web_search\nAction Input: {"query": "queen single"}'
ANSWER = {
    "crg_mbid": "C2",
    "rr_mbid": "C2.R1",
    "confidence": 0.95,
    "rationale": "The single came out 21 days before the album.",
}


def fetch(url: str) -> str:
    return f'Thought: read it.\nAction: web_fetch\nAction Input: {{"url": "{url}"}}'


def final(**changes: object) -> str:
    answer = json.dumps(ANSWER | changes)
    return f"Thought: I know enough.\nFinal Answer:\n```json\n{answer}\n```"


def test_a_file_with_a_recording_id_is_decided_by_the_rules(canon: Canon, home: Path) -> None:
    bundle = golden("lead-bohemian")
    file = file_of(bundle, home)
    with MusicBrainzStandIn([bundle]) as mb:
        ran = canon("decide", file, "--output", "json", **asking(mb))
    assert ran.status == 0, ran.err
    assert ran.err == ""
    (line,) = ran.lines
    assert list(line) == KEYS
    expected = RHAPSODY["expected"]
    assert (line["path"], line["state"], line["decided_by"]) == (str(file), "decided", "rules")
    assert {key: line[key] for key in ("crg_mbid", "rr_mbid", "crg_rule", "rr_rule")} == {
        key: expected[key] for key in ("crg_mbid", "rr_mbid", "crg_rule", "rr_rule")
    }
    assert line["confidence"] == 1.0
    assert line["trace"] == (
        f"evh={line['evidence_hash'][:8]};crg=ALBUM_LEAD_WINDOW;rr=ORIGIN_COUNTRY_EARLIEST;"
        "src=mb;cfg=lw90,rg10"
    )


@pytest.mark.parametrize(
    "tags", [{"artist": "Queen", "title": "Bohemian Rhapsody"}, {"isrc": "GB-UM7-10-29604"}]
)
def test_a_file_without_a_recording_id_is_found_by_its_other_tags(
    canon: Canon, home: Path, tags: dict[str, str]
) -> None:
    bundle = golden("lead-bohemian")
    bundle["recording_candidates"][0]["length_ms"] = None  # the test's audio lasts a moment
    with MusicBrainzStandIn([bundle]) as mb:
        ran = canon("decide", flac(home, **tags), "--output=json", **asking(mb))
        assert any("query=" in target for target in mb.targets) == ("title" in tags)
    assert ran.lines[0]["crg_mbid"] == ALBUM


def test_answers_are_stored_and_used_again_also_offline(canon: Canon, home: Path) -> None:
    bundle = golden("lead-bohemian")
    file = file_of(bundle, home)
    with MusicBrainzStandIn([bundle]) as mb:
        first = canon("decide", file, "--output=json", **asking(mb))
        asked = len(mb.requests)
        again = canon("decide", file, "--output=json", **asking(mb))
        assert len(mb.requests) == asked
        environment = asking(mb)
    offline = canon("decide", "--offline", file, "--output=json", **environment)
    assert first.lines == again.lines == offline.lines
    unknown = flac(home, "other.flac", recording="00000000-0000-4000-8000-000000000000")
    refused = canon("decide", "--offline", unknown, "--output=json", **environment)
    assert refused.status == 1
    assert "run once without --offline" in refused.lines[0]["error"]


def test_an_open_case_names_the_missing_facts_and_how_to_enable_a_model(
    canon: Canon, home: Path
) -> None:
    bundle = year_only_single()
    file = file_of(bundle, home)
    with MusicBrainzStandIn([bundle]) as mb:
        ran = canon("decide", file, "--output=json", **asking(mb))
        text = canon("decide", file, **asking(mb))
    assert (ran.status, text.status) == (3, 3)
    (line,) = ran.lines
    assert (line["state"], line["crg_mbid"]) == ("indeterminate", None)
    assert (line["crg_rule"], line["rr_rule"]) == ("CRG:INDETERMINATE", "RR:INDETERMINATE")
    assert "1975" in line["missing_facts"][0]
    assert "llm.enabled" in line["rationale"]
    assert line["missing_facts"][0].split()[0] in text.out


def test_the_adjudicator_decides_an_open_case_with_two_tool_calls(canon: Canon, home: Path) -> None:
    bundle = year_only_single()
    file = file_of(bundle, home)
    page = "<title>Bohemian Rhapsody</title><p>Released: 31 October 1975 by EMI.</p>"
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Pages({"/rhapsody": page}) as pages,
        Searxng({"queen single": [hit(f"{pages.url}/rhapsody", "Bohemian Rhapsody")]}) as search,
    ):
        url = f"{pages.url}/rhapsody"
        fact = {"about": "C1", "field": "first_release_date", "value": "1975-10-31", "source": url}
        with OllamaStandIn([SEARCH, fetch(url), final(facts=[fact])]) as model:
            settings = asking(mb) | adjudicating(model, search, pages)
            ran = canon("-vv", "decide", file, "--output=json", **settings)
            chats = model.chats
    assert ran.status == 0, ran.err
    (line,) = ran.lines
    assert (line["state"], line["decided_by"]) == ("decided", "llm")
    assert (line["crg_mbid"], line["rr_mbid"]) == (ALBUM, LP)
    assert (line["crg_rule"], line["rr_rule"]) == ("CRG:LLM_ADJUDICATION", "RR:LLM_ADJUDICATION")
    result = line["adjudication"]
    assert (result["outcome"], result["iterations"], result["confidence"]) == ("accepted", 3, 0.95)
    assert result["facts"][0]["verified"] is True
    assert {check["name"]: check["passed"] for check in result["checks"]} == {
        "candidate": True, "fact": True, "sources": True, "rules": True,
    }  # fmt: skip
    rules = next(check for check in result["checks"] if check["name"] == "rules")
    assert "CRG:ALBUM_LEAD_WINDOW" in rules["detail"]
    assert search.queries == ["queen single"]
    assert [message["role"] for message in chats[2]["messages"]] == [
        "system", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert all(chat["options"] == chats[0]["options"] for chat in chats)
    for word in ("# Recording Evidence", "Action: web_search", "31 October 1975", "Final Answer"):
        assert word in ran.err

    replayed = canon("transcript", "replay", result["transcript"])
    assert replayed.status == 0, replayed.out + replayed.err
    assert "the same" in replayed.out
    shown = canon("transcript", "show", result["transcript"])
    assert "31 October 1975" in shown.out


def adjudicated(canon: Canon, home: Path, *replies: str, mode: Mode = "well") -> dict[str, object]:
    bundle = year_only_single()
    file = file_of(bundle, home)
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Searxng(mode=mode) as search,
        OllamaStandIn(replies) as model,
    ):
        settings = asking(mb) | adjudicating(model, search)
        ran = canon("decide", file, "--output=json", **settings)
    (line,) = ran.lines
    assert ran.status == {"decided": 0, "error": 1}.get(line["state"], 3)
    return line


NEVER_READ = {
    "about": "C1", "field": "first_release_date", "value": "1975-10-31",
    "source": "https://made-up.example/",
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ({"confidence": "medium"}, "review"),
        ({"facts": [NEVER_READ]}, "review"),
        ({"confidence": 0.3}, "indeterminate"),
        ({"crg_mbid": None, "rr_mbid": None}, "indeterminate"),
    ],
    ids=["medium confidence", "a fact that was never read", "low confidence", "null"],
)
def test_an_answer_that_is_not_accepted_is_for_review_or_leaves_the_case_open(
    canon: Canon, home: Path, answer: dict[str, object], state: str
) -> None:
    line = adjudicated(canon, home, final(**answer))
    assert (line["state"], line["crg_mbid"]) == (state, ALBUM if state == "review" else None)
    assert line["missing_facts"] or state == "review"


def test_an_invented_id_is_never_an_answer(canon: Canon, home: Path) -> None:
    invented = final(crg_mbid="12345678-1234-4234-8234-123456789abc")
    line = adjudicated(canon, home, *[invented] * 5)
    assert line["crg_mbid"] is None
    assert line["state"] != "decided"
    assert adjudicated(canon, home, invented, final())["crg_mbid"] == ALBUM


def test_a_release_of_another_group_is_replaced_by_the_rules_own(canon: Canon, home: Path) -> None:
    line = adjudicated(canon, home, final(rr_mbid="C1.R1"))
    assert (line["crg_mbid"], line["rr_mbid"]) == (ALBUM, LP)


@pytest.mark.parametrize("mode", ["json_off", "crashed", "redirect", "slow"])
def test_a_search_service_that_fails_costs_a_turn_not_the_run(
    canon: Canon, home: Path, mode: Mode
) -> None:
    line = adjudicated(canon, home, SEARCH, final(), mode=mode)
    assert (line["state"], line["crg_mbid"]) == ("decided", ALBUM)


def test_an_absent_model_is_an_error_and_the_missing_facts_are_kept(
    canon: Canon, home: Path
) -> None:
    bundle = year_only_single()
    file = file_of(bundle, home)
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Searxng() as search,
        OllamaStandIn(models=("other:latest",)) as model,
    ):
        ran = canon("decide", file, "--output=json", **asking(mb) | adjudicating(model, search))
        gone = (
            asking(mb) | adjudicating(model, search) | {"CANON_LLM__BASE_URL": "http://127.0.0.1:1"}
        )
        absent = canon("decide", file, "--output=json", **gone)
    assert (ran.status, absent.status) == (1, 1)
    assert ran.lines[0]["state"] == "error"
    assert "ollama pull llama3.2" in ran.lines[0]["error"]
    assert "ollama serve" in absent.lines[0]["error"]
    assert ran.lines[0]["missing_facts"]


@pytest.mark.parametrize(
    ("answer", "word"),
    [(BUSY, "503"), (GARBAGE, "no XML"), (HANG_UP, "failed")],
)
def test_a_failed_look_up_is_an_error_never_nothing_found(
    canon: Canon, home: Path, answer: Response, word: str
) -> None:
    file = flac(home, recording=RHAPSODY["bundle"]["recording_candidates"][0]["mb_recording_id"])
    with MusicBrainzStandIn([], behave=always(answer)) as mb:
        ran = canon("decide", file, "--output=json", **asking(mb))
    assert ran.status == 1
    assert "look-up" in ran.lines[0]["error"]
    assert word in ran.lines[0]["error"]


def test_an_unknown_recording_has_another_error_than_a_failed_look_up(
    canon: Canon, home: Path
) -> None:
    file = flac(home, recording="00000000-0000-4000-8000-000000000000")
    with MusicBrainzStandIn([]) as mb:
        ran = canon("decide", file, "--output=json", **asking(mb))
    assert ran.status == 1
    assert "knows no" in ran.lines[0]["error"]
    assert "failed" not in ran.lines[0]["error"]


def test_one_bad_file_does_not_stop_the_next(canon: Canon, home: Path) -> None:
    bundle = golden("lead-bohemian")
    music = home / "music"
    music.mkdir()
    (music / "1-empty.mp3").write_bytes(b"")
    (music / "2-garbage.flac").write_bytes(b"fLaC" + bytes(200))
    flac(music, "3-nameless.flac", title="Untitled")
    file_of(bundle, music, "4-good.flac")
    (music / "cover.jpg").write_bytes(b"no audio")
    with MusicBrainzStandIn([bundle]) as mb:
        ran = canon("decide", music, home / "absent", "--output=json", **asking(mb))
    assert ran.status == 1
    assert [line["state"] for line in ran.lines] == ["error", "error", "error", "decided", "error"]
    errors = [line["error"] for line in ran.lines if line["error"]]
    for error, word in zip(
        errors, ("empty", "damaged", "no artist", "does not exist"), strict=True
    ):
        assert word in error
    assert len(set(errors)) == 4


def test_paths_come_from_standard_input_by_line_or_by_nul(canon: Canon, home: Path) -> None:
    bundle = golden("lead-bohemian")
    file_of(bundle, home, "with\nnewline.flac")
    file_of(bundle, home, "plain.flac")
    with MusicBrainzStandIn([bundle]) as mb:
        by_line = canon(
            "decide", "-", "--output=json", stdin=f"{home}/plain.flac\n".encode(), **asking(mb)
        )
        listed = f"{home}/plain.flac\0{home}/with\nnewline.flac\0".encode()
        by_nul = canon("decide", "-", "--output=json", stdin=listed, **asking(mb))
    assert [line["state"] for line in by_line.lines] == ["decided"]
    assert [line["state"] for line in by_nul.lines] == ["decided", "decided"]


def test_a_name_that_is_not_utf_8_is_shown_and_kept_in_base64(
    cold_canon: Canon, home: Path
) -> None:
    bundle = golden("lead-bohemian")
    file = file_of(bundle, home)
    odd = bytes(home) + b"/caf\xe9.flac"
    file.rename(odd.decode("utf-8", "surrogateescape"))
    with MusicBrainzStandIn([bundle]) as mb:
        ran = cold_canon("decide", "-", "--output=json", stdin=odd + b"\n", **asking(mb))
    (line,) = ran.lines
    assert line["path"].endswith("caf\ufffd.flac")
    assert line["path_b64"]
    assert line["state"] == "decided"


def test_a_bundle_is_decided_without_a_store(canon: Canon, home: Path) -> None:
    bundle = home / "bundle.json"
    bundle.write_text(json.dumps(CASES["pf-time"]["bundle"]))
    by_file = canon("decide", "--evidence", bundle, "--output=json")
    by_pipe = canon("--output=json", "decide", "--evidence=-", stdin=bundle.read_bytes())
    assert by_file.status == by_pipe.status == 0
    assert by_file.lines[0]["crg_mbid"] == CASES["pf-time"]["expected"]["crg_mbid"]
    assert by_pipe.lines[0]["evidence_hash"] == by_file.lines[0]["evidence_hash"]
    assert not (home / "data").exists()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "JSON"),
        ('{"recording_candidates": null, "artist": {"name": "x"}}', "recording_candidates"),
        ('{"recording_candidates": []}', "artist.name or recording_title"),
    ],
)
def test_an_ill_formed_bundle_is_an_error_that_names_the_place(
    canon: Canon, text: str, word: str
) -> None:
    ran = canon("decide", "--evidence=-", "--output=json", stdin=text.encode())
    assert ran.status == 1
    assert word in ran.lines[0]["error"]


def test_logs_on_standard_error_are_json_lines_with_run_and_file(canon: Canon, home: Path) -> None:
    bundle = golden("lead-bohemian")
    file = file_of(bundle, home)
    with MusicBrainzStandIn([bundle]) as mb:
        ran = canon("-vv", "decide", file, "--output=json", **asking(mb))
    logged = [json.loads(line) for line in ran.err.splitlines()]
    assert logged
    assert all(line["file"] == str(file) and line["run"] == logged[0]["run"] for line in logged)
    assert any("/ws/2/recording/" in str(line.get("path")) for line in logged)


def test_decisions_on_files_are_stored_with_their_history(canon: Canon, home: Path) -> None:
    bundle = golden("lead-bohemian")
    file = file_of(bundle, home)
    with MusicBrainzStandIn([bundle]) as mb:
        for _ in range(2):
            ran = canon("decide", file, home / "absent.flac", "--output=json", **asking(mb))
        canon("explain", file, "--offline", **asking(mb))
    with open_store(f"sqlite:///{home / 'data' / 'canon' / 'canon.db'}") as store:
        kept = store.decisions.history(path_bytes(file))
        assert len(kept) == 2
        assert json.loads(kept[0].document) == {
            key: value for key, value in ran.lines[0].items() if key != "path"
        }
        assert stored_bundle(store, kept[0]) is not None
        runs = list(store.runs.iterate())
    assert [(run.command, run.status, run.counts) for run in runs] == [
        ("decide", 1, {"decided": 1, "error": 1})
    ] * 2
    assert runs[0].arguments == ("--output=json", str(file), str(home / "absent.flac"))


def test_a_decision_that_cannot_be_stored_is_shown_as_an_error(canon: Canon, home: Path) -> None:
    bundle = golden("lead-bohemian")
    file = file_of(bundle, home)
    place = home / "canon.db"
    url = {"CANON_STORE__URL": f"sqlite:///{place}?timeout=0.1"}
    with MusicBrainzStandIn([bundle]) as mb:
        canon("decide", file, **asking(mb), **url)
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            ran = canon("decide", file, **asking(mb), **url)
    assert ran.status == 1
    assert "locked by another program" in " ".join(ran.out.split())
    assert ALBUM in ran.out


def test_a_bundle_that_cannot_be_read_has_a_cause(canon: Canon, home: Path) -> None:
    ill = home / "ill.json"
    ill.write_text("{")
    for file, cause in ((home / "absent.json", "file"), (home, "file"), (ill, "evidence")):
        ran = canon("decide", "--evidence", file, "--output=json")
        assert ran.status == 1
        assert ran.lines[0]["cause"] == cause


def test_a_bundle_named_as_an_audio_file_is_an_error_that_names_the_option(
    canon: Canon, home: Path
) -> None:
    bundle = home / "bundle.json"
    bundle.write_text(json.dumps(year_only_single()))
    (line,) = canon("decide", bundle, "--output=json").lines
    assert line["cause"] == "file"
    assert line["error"].endswith("an evidence bundle is decided with --evidence FILE")


def test_the_page_on_decisions_lists_every_key_of_a_line(canon: Canon, home: Path) -> None:
    (line,) = canon("decide", "--evidence", home / "absent.json", "--output=json").lines
    page = (REPOSITORY / "docs" / "decisions.md").read_text("utf-8")
    listed = page.partition("| key | what it is |")[2]
    assert [key for key in line if f"`{key}`" not in listed] == []
    assert [cause for cause in Cause if f"`{cause}`" not in listed] == []


def test_a_country_that_is_no_code_is_warned_of(canon: Canon, home: Path) -> None:
    bundle = home / "bundle.json"
    for country, is_told in (("Great Britain", True), ("uk", False), (None, False)):
        bundle.write_text(json.dumps(year_only_single() | {"artist": {
            "name": "Queen", "begin_area_country": country,
        }}))  # fmt: skip
        ran = canon("decide", "--evidence", bundle)
        assert ("artist.begin_area_country: 'Great Britain' is no code" in ran.err) is is_told
