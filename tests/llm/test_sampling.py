"""Self-consistency and fall-backs: several runs, one answer."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chart_binder.chat.scripted import Scripted
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.react.conversation import ChatError, Message, Reply, Terms
from chart_binder.react.transcript import Result, Run, read_transcript
from llm.scripted_runs import (
    ALBUM,
    DAY,
    DECIDED,
    OTHER,
    PAGE,
    QUOTE,
    SINGLE,
    TRUSTED,
    YES,
    adjudicated,
    check,
    final,
    is_replayed,
    look,
)

GIBBERISH = ["hm", "hm", "hm"]


UNKNOWN = final(None, confidence=0.3)


def sampled(*replies: str | Reply, **more: Any) -> tuple[AdjudicationResult, Scripted]:
    chat = Scripted(replies, readings=YES)
    return adjudicated(chat=chat, **more), chat


def voted(*replies: str | Reply, **more: Any) -> tuple[AdjudicationResult, Scripted]:
    """Return the result of samples without tools: nothing is sent back, a reply is an answer."""
    return sampled(*replies, method="direct", **more)


def test_one_run_is_the_default_and_says_nothing_of_agreement() -> None:
    result, chat = voted(final())
    assert len(chat.asked) == 1
    assert [check.name for check in result.checks] == ["candidate", "rules"]


@pytest.mark.parametrize(
    ("replies", "stated", "told"),
    [
        ((final(), final(confidence=0.94), final(confidence=0.92)), 0.92, ": 3"),
        ((final(), final("C1"), final()), 0.6, ": 2; C1 'Bohemian Rhapsody': 1"),
        ((final(), *GIBBERISH, "never", final()), 0.6, ": 2; failed: 1"),
    ],
)
def test_a_majority_is_the_answer_with_a_confidence_by_its_share(
    replies: tuple[str, ...], stated: float, told: str
) -> None:
    result, _ = voted(*replies, samples=3)
    assert (result.outcome, result.crg_mbid) == (Outcome.REVIEW, ALBUM)
    assert result.stated_confidence == pytest.approx(stated)
    assert check(result, "agreement").passed
    assert check(result, "agreement").detail == f"of 3 runs, C2 'A Night at the Opera'{told}"
    assert "the rules leave it open" in (result.problem or "")


ONE_PAGE, OTHER_PAGE = (
    (look(url), final(facts=[DAY | {"source": url}])) for url in (PAGE, OTHER)
)  # fmt: skip


@pytest.mark.parametrize(
    ("runs", "sources", "outcome"),
    [
        ((DECIDED, DECIDED, DECIDED), 1, Outcome.ACCEPTED),
        ((DECIDED, (final(), final()), (final(), final())), 1, Outcome.ACCEPTED),
        ((ONE_PAGE, OTHER_PAGE), 2, Outcome.ACCEPTED),
        ((ONE_PAGE, ONE_PAGE), 1, Outcome.REVIEW),
        (((final(), final()),) * 2, 0, Outcome.REVIEW),
    ],
)
def test_rules_decide_on_the_facts_of_all_runs_that_agree(
    runs: Sequence[Sequence[str]], sources: int, outcome: Outcome
) -> None:
    replies = []
    for run in runs:  # what needs more is sent back once, and given again
        replies += [*run, run[-1]] if run in {ONE_PAGE, OTHER_PAGE} else [*run]
    result, _ = sampled(*replies, samples=len(runs))
    assert (result.outcome, result.independent_sources) == (outcome, sources), result
    assert len(result.facts) == len(set(result.facts))


def test_mirrors_that_two_runs_read_are_one_source() -> None:
    text = f"{QUOTE}. The band had worked on it for three weeks in Rockfield and four other rooms."
    replies = [reply for run in (ONE_PAGE, OTHER_PAGE) for reply in (*run, run[-1])]
    for other, sources in ((text, 1), (f"In shops: {QUOTE}.", 2)):
        result, _ = sampled(*replies, samples=2, page={PAGE: text, OTHER: other})
        assert result.independent_sources == sources, result


def test_runs_of_a_case_share_their_readings() -> None:
    result, _ = sampled(*DECIDED * 3, samples=3)
    assert (result.outcome, result.usage.readings) == (Outcome.ACCEPTED, 1)


def test_what_a_run_that_does_not_agree_verified_is_no_fact_of_the_majority() -> None:
    early = DAY | {"value": "1975-05-02", "quote": ""}
    refuted = (look(), final("C1", facts=[early]))
    page = {TRUSTED: "Bohemian Rhapsody came out on 2 May 1975."}
    result, _ = sampled(*refuted, *[final()] * 4, samples=3, page=page)
    assert (result.outcome, result.crg_mbid, result.facts) == (Outcome.REVIEW, ALBUM, ())


@pytest.mark.parametrize(
    "replies", [(final(), final("C1")), (final(), final("C1"), UNKNOWN), (final(), UNKNOWN)]
)
def test_a_tie_is_no_majority_and_is_left_open(replies: tuple[str, ...]) -> None:
    result, _ = voted(*replies, samples=len(replies))
    assert (result.outcome, result.crg_mbid, result.confidence) == (Outcome.REJECTED, None, 0)
    assert (result.problem or "").startswith(f"no majority: of {len(replies)} runs, ")
    assert not check(result, "agreement").passed


def test_a_majority_may_be_that_it_cannot_be_told() -> None:
    result, _ = voted(UNKNOWN, final(), UNKNOWN, samples=3)
    assert (result.outcome, result.crg_mbid) == (Outcome.REJECTED, None)
    assert result.problem == "the model cannot tell"
    assert check(result, "agreement").passed


class Failing:
    """A model that cannot be asked at some times, counted from 1, and answers at the others."""

    model_id = "failing"

    def __init__(self, *at: int) -> None:
        self.at = at
        self.asked = 0

    def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:
        self.asked += 1
        if self.asked in self.at:
            raise ChatError("it timed out")
        return Reply(final())


def five_samples(failing: Sequence[int], **config: Any) -> tuple[AdjudicationResult, int]:
    chat = Failing(*failing)
    config = {"method": "direct"} | config
    return adjudicated(chat=chat, samples=5, **config), chat.asked


@pytest.mark.parametrize("at", [(1,), (5,), (1, 3), (2, 4)])
def test_a_run_that_could_not_be_asked_does_not_end_the_vote(at: tuple[int, ...]) -> None:
    result, asked = five_samples(at)
    assert (result.crg_mbid, asked) == (ALBUM, 5)
    assert check(result, "agreement").detail.endswith(f": {5 - len(at)}; failed: {len(at)}")


@pytest.mark.parametrize(
    ("at", "asked", "told"),
    [
        ((1, 2), 2, "2 of 2 runs failed, and 3 more runs not made: it timed out"),
        ((2, 3), 3, "2 of 3 runs failed, and 2 more runs not made: it timed out"),
        ((1, 3, 5), 5, "3 of 5 runs failed: it timed out"),
        ((3, 4), 4, "2 of 4 runs failed, and 1 more run not made: it timed out"),
    ],
)
def test_a_vote_without_a_majority_says_how_many_runs_were_made(
    at: tuple[int, ...], asked: int, told: str
) -> None:
    result, count = five_samples(at)
    assert (result.outcome, result.problem, count) == (Outcome.ERROR, told, asked)


def test_a_server_that_is_down_is_asked_twice() -> None:
    result, asked = five_samples(range(1, 99), method="react_then_direct")
    assert (result.outcome, asked) == (Outcome.ERROR, 2)
    assert "it timed out" in (result.problem or "")


def test_what_the_runs_took_is_added_up() -> None:
    replies = [Reply(final(), prompt_tokens=2_000, completion_tokens=5, seconds=0.5)] * 3
    usage = voted(*replies, samples=3)[0].usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.model_seconds) == (6_000, 15, 1.5)


def test_a_run_whose_verified_facts_contradict_it_is_not_outvoted() -> None:
    refuted = (look(), *[final("C1", facts=[DAY])] * 2)
    result, _ = sampled(*[final("C1")] * 2, *refuted, *[final("C1")] * 2, samples=3)
    assert (result.outcome, result.crg_mbid) == (Outcome.REVIEW, SINGLE)
    assert not check(result, "rules").passed


def _run(path: Path) -> tuple[Run, dict[str, object]]:
    run, *_, end = read_transcript(path.read_bytes().splitlines(keepends=True))
    assert isinstance(run, Run)
    assert isinstance(end, Result)
    return run, end.result


def test_each_run_is_recorded_with_its_own_seed_and_temperature(tmp_path: Path) -> None:
    replies = (*[final("C1")] * 2, *DECIDED, *[final()] * 2)
    result, _ = sampled(*replies, record=tmp_path, samples=3, seed=7)
    runs = [_run(path) for path in tmp_path.iterdir()]
    options = [run.options for run, _ in runs]
    assert sorted(each["llm"]["seed"] for each in options) == [7, 8, 9]  # type: ignore[index]
    assert {each["llm"]["temperature"] for each in options} == {0.7}  # type: ignore[index]
    assert sorted(each["part_of"]["sample"] for each in options) == [1, 2, 3]  # type: ignore[index]
    assert options[0]["part_of"]["samples"] == 3  # type: ignore[index]
    taken, said = _run(Path(str(result.transcript)))
    assert said["crg_mbid"] == result.crg_mbid == ALBUM
    assert taken.id in str(result.transcript)


def test_each_run_is_replayed_alone_to_its_own_result(tmp_path: Path) -> None:
    replies = (*GIBBERISH, "never", final(None), final(), *DECIDED)
    sampled(*replies, record=tmp_path, samples=2, method="react_then_direct")
    paths = list(tmp_path.iterdir())
    assert len(paths) == 4
    for path in paths:
        recorded = AdjudicationResult.from_json(json.dumps(_run(path)[1]))
        assert is_replayed(replace(recorded, transcript=str(path)))


def test_direct_answering_has_no_tools() -> None:
    result, chat = voted(look(), final(facts=[DAY]))
    assert (result.outcome, result.facts[0].verified) == (Outcome.REVIEW, False)
    assert "web_fetch" not in chat.asked[0][0].content
    assert "There is no tool 'web_fetch'" in chat.asked[1][-1].content


@pytest.mark.parametrize("nothing", [[UNKNOWN], [*GIBBERISH, "never"]])
@pytest.mark.parametrize("method", ["react_then_direct", "direct_then_react"])
def test_the_second_way_is_tried_where_the_first_gives_nothing(
    method: str, nothing: list[str]
) -> None:
    result, chat = sampled(*nothing, final(), method=method)
    assert (result.outcome, result.crg_mbid) == (Outcome.REVIEW, ALBUM)
    first, second = method.split("_then_")
    detail = check(result, "method").detail
    assert detail.startswith(f"{first} gave nothing (")
    assert detail.endswith(f"so {second} was tried: review")
    has_tools = ["web_fetch" in asked[0].content for asked in (chat.asked[0], chat.asked[-1])]
    assert has_tools == [first == "react", second == "react"]


def test_the_second_way_is_left_where_the_first_gives_an_answer() -> None:
    result, chat = sampled(*DECIDED, method="react_then_direct")
    assert len(chat.asked) == 2
    assert "method" not in [check.name for check in result.checks]


def test_where_neither_gives_anything_not_knowing_goes_before_a_failure() -> None:
    result, _ = sampled(UNKNOWN, *GIBBERISH, "never", method="react_then_direct")
    assert (result.outcome, result.problem) == (Outcome.REJECTED, "the model cannot tell")
    assert not check(result, "method").passed


def test_direct_samples_without_a_majority_fall_back_to_looking_things_up() -> None:
    replies = (final("C1"), final("C2"), *DECIDED, *DECIDED)
    result, _ = sampled(*replies, samples=2, method="direct_then_react")
    assert (result.outcome, result.crg_mbid) == (Outcome.ACCEPTED, ALBUM)
    assert "direct gave nothing (no majority" in check(result, "method").detail
