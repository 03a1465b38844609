"""`canon` with a model behind a server of OpenAI's format."""

import json
from pathlib import Path

from golden.bundles import year_only_single
from integration.conftest import Canon
from integration.services import ALBUM, adjudicating, asking
from servers.musicbrainz import MusicBrainzStandIn
from servers.openai import OpenAIStandIn
from servers.searxng import Searxng, hit
from servers.talk import Said

OPENAI = {"CANON_LLM__PROVIDER": "openai"}
SEARCH = 'Thought: I need the day.\nAction: web_search\nAction Input: {"query": "queen single"}'
ANSWER = {"crg_mbid": "C2", "confidence": 0.9, "rationale": "It led to the album."}
FINAL = f"Thought: I know enough.\nFinal Answer:\n```json\n{json.dumps(ANSWER)}\n```"


def evidence(home: Path) -> Path:
    file = home / "open.json"
    file.write_text(json.dumps(year_only_single()), "utf-8")
    return file


def test_a_run_is_shown_while_it_is_written_and_once(canon: Canon, home: Path) -> None:
    invented = Said(SEARCH, goes_on="\nObservation: it is C1\n\x1b[2J")
    with (
        Searxng({"queen single": [hit("https://a.example/", "Queen")]}) as search,
        OpenAIStandIn([invented, FINAL], obeys_stop=False) as model,
    ):
        settings = OPENAI | adjudicating(model, search)
        ran = canon("-vv", "decide", "--evidence", evidence(home), "--output=json", **settings)
        assert model.hung_up.wait(5)
    (line,) = ran.lines
    assert (line["state"], line["crg_mbid"]) == ("decided", ALBUM)
    assert ran.err.count(SEARCH) == ran.err.count(FINAL) == 1
    assert "--- turn 1: reply\nThought: I need the day." in ran.err
    assert "--- turn 1: said (" in ran.err
    assert "\x1b" not in ran.err  # what the model wrote before it was stopped can do nothing


def test_one_growing_text_is_asked_for_by_configuration(canon: Canon, home: Path) -> None:
    with (
        Searxng({"queen single": [hit("https://a.example/", "Queen")]}) as search,
        OpenAIStandIn([SEARCH, FINAL]) as model,
    ):
        settings = OPENAI | adjudicating(model, search) | {"CANON_LLM__PROMPTING": "raw"}
        ran = canon("decide", "--evidence", evidence(home), "--output=json", **settings)
        first, second = (each["prompt"] for each in model.chats)
    assert ran.lines[0]["crg_mbid"] == ALBUM
    assert second.startswith(f"{first}{SEARCH}\n\nObservation: ")


def test_doctor_asks_a_server_of_openais_format(canon: Canon) -> None:
    with (
        MusicBrainzStandIn([]) as mb,
        Searxng({"musicbrainz": [hit("https://a.example/", "MusicBrainz")]}) as search,
        OpenAIStandIn(models=({"id": "qwen3"},), key="right") as model,
    ):
        settings = OPENAI | asking(mb) | adjudicating(model, search)
        keyless = canon("doctor", **settings)
        settings |= {"CANON_LLM__API_KEY_ENV": "MY_KEY", "MY_KEY": "right"}
        absent = canon("doctor", **settings)
        well = canon("doctor", **settings, CANON_LLM__MODEL_ID="qwen3")
    assert (keyless.status, absent.status, well.status) == (1, 1, 0)
    assert "set llm.api_key_env to the variable that holds it" in keyless.out
    assert "set llm.model_id to one it has: qwen3" in " ".join(absent.out.split())
    assert f"qwen3 at {model.url}/v1" in well.out
