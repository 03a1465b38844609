"""`canon model check`: readers of several kinds behind servers, and what follows."""

import json
import random
import re
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Event
from time import sleep

import pytest

from chart_binder.llm.model_exam import read_passages, read_runs
from integration.conftest import Canon, Start
from integration.services import asking
from llm.verdicts.play import AGREED, CHOICES, READINGS, choice_of
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn
from servers.openai import OpenAIStandIn
from servers.talk import Body, Talker

OPENAI = {"CANON_LLM__PROVIDER": "openai", "CANON_LLM__MODEL_ID": "qwen3"}
ALWAYS_C1 = '{"crg_mbid": "C1", "rr_mbid": null, "confidence": 0.9, "rationale": "so"}'


def answering(read: Callable[[str], str], *, follows: bool = True) -> Talker:
    """Return a model that reads as a function says, and writes what it is told to write next."""

    def answer(messages: list[Body]) -> str:
        text = messages[-1]["content"]
        if messages[0]["content"].startswith("# Second reading"):
            return read(text)
        _, is_told, step = text.partition("Write next:\n")
        return step.split("\n\n(")[0] if is_told and follows else f"Final Answer: {ALWAYS_C1}"

    return answer


def well(text: str) -> str:
    """Read as the labels of the exam say."""
    asked = re.sub(r"\s+", " ", text)
    fitting = [
        passage
        for passage in read_passages()
        if f"Release: {passage.release}\n" in text
        and re.sub(r"\s+", " ", passage.place.passage) in asked
    ]
    assert fitting, text
    if choices := CHOICES.search(text):
        dates = (passage.date for passage in fitting if passage.is_first)
        found = (choice_of(date, choices[1].split("; ")) for date in dates)
        return json.dumps({"on_sale": next(found, "not said")})
    is_first = any(one.is_first and f"Date: {one.date}\n" in text for one in fitting)
    return json.dumps({"reading": "first_release" if is_first else "other_title"})


def agree(_: str) -> str:
    """Read a first release everywhere."""
    return AGREED


def at_random(text: str) -> str:
    """Read one thing or another."""
    return json.dumps({"reading": random.Random(text).choice(READINGS)})


def results(home: Path) -> list[Body]:
    """Return what is stored."""
    stored: list[Body] = json.loads((home / "data/canon/model-checks.json").read_bytes())
    return stored


@pytest.mark.parametrize(("read", "status", "told"), [
    (well, 0, "30 of 30 true statements accepted, 0 of 30 others, 10 of 10 runs"),
    (agree, 3, "30 of 30 true statements accepted, 30 of 30 others"),
    (lambda _: "<|im_start|>", 3, "none of the 60 replies about passages could be read, so"),
    (at_random, 3, "below the bar: only structure decides, and prose is a proposal"),
])  # fmt: skip
def test_each_reader_gets_what_it_deserves(
    canon: Canon, home: Path, read: Callable[[str], str], status: int, told: str
) -> None:
    with OpenAIStandIn(answering(read), models=({"id": "qwen3"},)) as server:
        ran = canon("model", "check", **OPENAI, CANON_LLM__BASE_URL=server.url)
    ran.must_end(status, told, "60 of 70 answered")
    [result] = results(home)
    assert result["model"]["model_id"] == result["model"]["reader_model_id"] == "qwen3"


def test_a_model_that_follows_nothing_fails_the_runs(canon: Canon) -> None:
    with OpenAIStandIn(answering(well, follows=False), models=({"id": "qwen3"},)) as server:
        ran = canon("model", "check", "--output=json", **OPENAI, CANON_LLM__BASE_URL=server.url)
    ran.must_end(0)
    score = ran.line["result"]["score"]
    first_alone = sum(run.right == "C1" and not run.later for run in read_runs())
    assert (score["right_runs"], score["runs"]) == (first_alone, 10)


def test_a_server_that_dies_leaves_no_result(canon: Canon, home: Path) -> None:
    replies = ['{"reading": "first_release"}'] * 12
    with OpenAIStandIn(replies, models=({"id": "qwen3"},)) as server:
        ran = canon("model", "check", **OPENAI, CANON_LLM__BASE_URL=server.url)
    ran.must_end(1, "10 of 70 answered", "the stand-in has no more replies")
    assert not (home / "data/canon/model-checks.json").exists()


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_interrupted_exam_shows_what_was_answered(start: Start, home: Path, form: str) -> None:
    asked = count()
    waits = Event()

    def read(text: str) -> str:
        if next(asked) == 23:
            waits.set()
            sleep(20)
        return well(text)

    with OpenAIStandIn(answering(read), models=({"id": "qwen3"},)) as server:
        settings = OPENAI | {"CANON_LLM__BASE_URL": server.url}
        process = start("model", "check", f"--output={form}", **settings)
        assert waits.wait(30)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    if form == "json":
        found = json.loads(out)
        assert (found["answered"], found["of"]) == (23, 70)
        assert found["score"]["true_passages"] + found["score"]["other_passages"] == 23
    else:
        assert re.search(rb"23 of 70 answered: (\d+) of \1 true statements acc", out)
        assert b"no result is stored" in out
    assert not (home / "data/canon/model-checks.json").exists()


def test_what_cannot_be_asked_is_misuse(canon: Canon) -> None:
    canon("model", "check", "--offline").must_end(2, "this call is offline")
    canon("model", "check", CANON_LLM__PROVIDER="replay").must_end(2, "plays a transcript")
    canon("model", "check", **OPENAI, CANON_LLM__BASE_URL="http://127.0.0.1:9").must_end(1)


def test_another_model_of_the_server_reads(canon: Canon, home: Path) -> None:
    models = ({"id": "qwen3"}, {"id": "reader"})
    with OpenAIStandIn(answering(well), models=models) as server:
        named = {"CANON_LLM__ACCEPTANCE__READER_MODEL_ID": "reader"}
        canon("model", "check", **OPENAI | named, CANON_LLM__BASE_URL=server.url).must_end(0)
        asked = [chat["model"] for chat in server.chats]
    assert (asked[:60], set(asked[60:])) == (["reader"] * 60, {"qwen3"})
    assert results(home)[0]["model"]["reader_model_id"] == "reader"


def test_doctor_says_what_was_found(canon: Canon, mb: MusicBrainzStandIn) -> None:
    def settings(server: OllamaStandIn) -> dict[str, str]:
        return asking(mb) | {
            "CANON_LLM__ENABLED": "true",
            "CANON_LLM__BASE_URL": server.url,
            "CANON_LLM__SEARXNG__ENABLED": "false",
        }

    with OllamaStandIn(answering(well), digest="one") as server:
        canon("doctor", **settings(server)).must_end(
            0, "not checked yet, so it counts as above the bar: canon model check"
        )
        canon("model", "check", **settings(server)).must_end(0)
        canon("doctor", **settings(server)).must_end(0, "0 of 30 others", "passed the check")
        server.digest = "two"
        canon("doctor", **settings(server)).must_end(0, "the model has changed since it was")


def test_results_that_cannot_be_read_are_no_results(canon: Canon, home: Path) -> None:
    file = home / "data/canon/model-checks.json"
    file.parent.mkdir(parents=True)
    file.write_text("[{]")
    with OpenAIStandIn(answering(well), models=({"id": "qwen3"},)) as server:
        ran = canon("model", "check", **OPENAI, CANON_LLM__BASE_URL=server.url)
    ran.must_end(1, "model-checks.json", "delete it")
