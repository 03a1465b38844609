"""What a run of the adjudicator may take, and what it says when that is used up."""

import json
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from chart_binder.chat.ollama import connect
from chart_binder.chat.scripted import Scripted
from chart_binder.config import LLMConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.llm.answer import ANSWER_KEYS, final_request
from chart_binder.llm.result import Outcome
from chart_binder.rules.labels import Labels
from golden.bundles import year_only_single
from llm.scripted_runs import DAY, ELSEWHERE, QUOTE, YES, adjudicated, is_replayed, look
from servers.ollama import OllamaStandIn

ANSWER: dict[str, object] = {"rationale": "so", "crg_mbid": "C2", "rr_mbid": None}
ANSWER |= {"confidence": 0.9, "facts": [DAY]}
LONG_PAGE = " ".join([f"{QUOTE}."] * 40 + ["Queen"])


@pytest.mark.parametrize(("replies", "problem"), [
    (["hm", "hm", "hm", "hm"], "3 turns in a row led nowhere, and the forced last answer"),
    ([], "the script has 1 replies"),
])  # fmt: skip
def test_an_error_says_what_ended_the_run(replies: list[str], problem: str, tmp_path: Path) -> None:
    result = adjudicated(look(), *replies, record=tmp_path)
    assert result.outcome is Outcome.ERROR
    assert problem in (result.problem or "")
    assert is_replayed(result)


@pytest.mark.parametrize(
    "form",
    ["%s", "Final Answer: %s", "<think>Final Answer: C1?</think>%s", "```json\n%s\n```"],
)
def test_the_last_of_the_turns_asks_for_the_answer_alone(form: str, tmp_path: Path) -> None:
    chat = Scripted([look(), form % json.dumps(ANSWER)], readings=YES)
    result = adjudicated(chat=chat, record=tmp_path, max_iterations=2)
    assert (result.outcome, result.iterations) == (Outcome.ACCEPTED, 2)
    assert "No turn is left" in chat.asked[-1][-1].content
    assert is_replayed(result)


CHOSEN = ("C99", ELSEWHERE, "C1", None)


@pytest.mark.parametrize(("changes", "outcome"), [
    ({"confidence": "very sure"}, Outcome.ACCEPTED),  # nothing can be asked again: 0.6
    ({"confidence": None}, Outcome.ACCEPTED),
    # Rules decide on what is verified, whatever is chosen; on a proposal they do not.
    *(({"crg_mbid": crg}, Outcome.ACCEPTED) for crg in CHOSEN),
    *(({"crg_mbid": crg, "facts": []}, Outcome.REVIEW) for crg in CHOSEN),
    ({"facts": []}, Outcome.REVIEW),
    ({"facts": [DAY | {"source": "https://x.example/"}]}, Outcome.REVIEW),
])  # fmt: skip
def test_a_forced_answer_is_checked_as_others(changes: dict[str, object], outcome: Outcome) -> None:
    reply = json.dumps(ANSWER | changes)
    assert adjudicated(look(), reply, max_iterations=2).outcome is outcome


def test_the_last_turn_may_be_like_the_others() -> None:
    plain: dict[str, Any] = {"page": LONG_PAGE, "max_iterations": 1, "final_turn": "none"}
    assert adjudicated(look(), **plain).problem == (
        "no answer in 1 turn; the last thing said to the model was: " + LONG_PAGE[:200]
    )
    result = adjudicated(look(), f"Final Answer: {json.dumps(ANSWER)}", final_turn="none")
    assert (result.outcome, result.iterations) == (Outcome.ACCEPTED, 2)


def test_the_schema_has_reasons_before_the_choice_and_no_label_that_is_not_there() -> None:
    labels = Labels.of(read_bundle(year_only_single()))
    schema: Any = final_request(labels).schema
    assert list(schema["properties"]) == ["rationale", "crg_mbid", "rr_mbid", "confidence"]
    assert {*schema["properties"], "facts"} == {*ANSWER_KEYS}
    assert schema["properties"]["crg_mbid"]["enum"] == ["C1", "C2", "C3", None]
    assert set(schema["properties"]["rr_mbid"]["enum"]) <= {*labels.ids, None}


def test_a_run_ends_in_time_however_slow_the_model(tmp_path: Path) -> None:
    with OllamaStandIn(fault="falls silent") as server:
        config = LLMConfig.model_validate({"base_url": server.url, "timeout_s": 60.0})
        began = monotonic()
        result = adjudicated(chat=connect(config, {}), record=tmp_path, max_run_s=0.3)
    assert monotonic() - began < 10
    assert "max_run_s = 0.3" in (result.problem or "")
    assert is_replayed(result)
