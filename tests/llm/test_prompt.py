"""The prompt is made of sections, each of which a caller may say in other words."""

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from chart_binder.chat.scripted import Scripted
from chart_binder.cli.main import run
from chart_binder.config import AcceptanceConfig, LLMConfig, PromptConfig, RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import ConfigError
from chart_binder.jobs.transcripts import replay
from chart_binder.llm.prompt import (
    Prompt,
    configured_prompt,
    load_prompt,
    prompt_settings,
)
from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup
from chart_binder.llm.result import Outcome
from chart_binder.react.conversation import Message
from chart_binder.react.dialect import Classic
from chart_binder.react.tools import Tool
from chart_binder.rules.labels import Labels
from golden.bundles import crowd, year_only_single
from llm.scripted_runs import adjudicated, look

GOLDEN = Path(__file__).parent / "golden"
NUMBERS = prompt_settings(LLMConfig(), RulesConfig())
ANSWER = 'Final Answer: {"crg_mbid": "C2", "confidence": 0.9, "rationale": "so"}'


def web_search(query: str) -> str:
    """Search the web."""
    return query


TOOLS = (Tool.of(web_search),)


def rendered(prompt: Prompt, *tools: Tool) -> str:
    return prompt.render(Classic(), tools, NUMBERS)


def test_the_shipped_prompt_changes_only_with_its_version() -> None:
    assert rendered(load_prompt(), *TOOLS) + "\n" == (GOLDEN / "prompt.txt").read_text("utf-8")
    assert load_prompt().name == configured_prompt(PromptConfig()).name == "react-5"


@pytest.mark.parametrize("turns", [1, 5])
def test_the_form_of_the_answer_that_is_copied_out_decides_nothing(turns: int) -> None:
    text = rendered(load_prompt(), *TOOLS)
    assert not set(re.findall(r"\bC[0-9]+\b", text)) & set(
        Labels.of(read_bundle(crowd(400, 1))).ids
    )
    forms = re.findall(r'^\{"crg_mbid": "C.*\}$', text, re.MULTILINE)
    assert forms
    for copied in forms:
        answer = f"Final Answer:\n```json\n{copied}\n```"
        result = adjudicated(look(), *[answer] * 5, max_iterations=turns)
        assert result.outcome in (Outcome.REVIEW, Outcome.ERROR)


def test_a_section_may_take_up_its_own_words_and_numbers() -> None:
    prompt = configured_prompt(
        PromptConfig(
            rules="{rules}\n9. {lead_window_days} days, {{lead_window_days}}.",
            tools="Call these:\n{tools}",
            format="{format}\nBe brief.",
        )
    )
    text = rendered(prompt, *TOOLS)
    assert "1. If a line below an observation" in text
    assert "the confidence low.\n9. 90 days, {lead_window_days}." in text
    assert "Call these:\nYou can use these tools:\n\n- web_search(query)" in text
    assert "never both.\nBe brief." in text


@pytest.mark.parametrize(("acceptance", "words"), [
    (AcceptanceConfig(), "2 independent sites, or one page of musicbrainz.org, "),
    (AcceptanceConfig(min_sources=1, trusted_sources=()), "1 independent site, or one page of"),
])  # fmt: skip
def test_a_section_may_say_what_settings_ask(acceptance: AcceptanceConfig, words: str) -> None:
    prompt = load_prompt().overridden(
        rules="It needs {independent_sites}, or one page of {trusted_sources}."
    )
    numbers = prompt_settings(LLMConfig(acceptance=acceptance), RulesConfig())
    assert f"It needs {words}" in prompt.render(Classic(), TOOLS, numbers)


def test_a_section_of_blanks_is_left_out() -> None:
    text = rendered(configured_prompt(PromptConfig(role=" ")), *TOOLS)
    assert text.startswith("You can use these tools:")
    assert "\n\n\n" not in text
    assert text == text.strip()


@pytest.mark.parametrize(
    "words", ["{", "}", "{}", "{ x }", "{0}", "}{", '{"crg_mbid": {"a": 1}}', "{{", "%s", "{!r}"]
)
def test_a_stray_brace_is_a_brace(words: str) -> None:
    assert words in rendered(configured_prompt(PromptConfig(answer=f"Write {words} here.")))


@pytest.mark.parametrize(("section", "words", "told"), [
    ("rules", "{lead_days}", "{lead_window_days}"), ("rules", "{tools}", "{rules}"),
    ("role", "{base_url}", "{role}"), ("tools", "{Tools}", "{tools}"),
    ("task", "{label}", "{task}"),
])  # fmt: skip
def test_an_unknown_placeholder_is_refused_by_its_key(section: str, words: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured_prompt(PromptConfig.model_validate({section: words}))
    assert str(caught.value).startswith(f"llm.prompt.{section}: found {words}; allowed here: ")
    assert told in str(caught.value)


def test_the_prompt_is_checked_before_any_file_is_read() -> None:
    config = LLMConfig(enabled=True, prompt=PromptConfig(rules="{x}"))
    with pytest.raises(ConfigError, match=r"llm\.prompt\.rules.*allowed here"):
        ReActAdjudicator(config, chat=Scripted([]))


def test_a_changed_prompt_is_told_apart_by_its_name() -> None:
    def name(**words: object) -> str:
        return configured_prompt(PromptConfig.model_validate(words)).name

    assert name() == "react-5"
    assert name(rules="{rules}") == "react-5"
    assert name(rules="a").startswith("react-5+rules@")
    assert name(rules="a") != name(rules="b")
    assert name(role="a", task="b").startswith("react-5+role+task@")
    mine = dataclasses.replace(load_prompt(), version="mine", role="a")
    assert mine.name.startswith("mine+role@")


def asked(
    folder: Path, config: PromptConfig, prompt: Prompt | None = None
) -> tuple[Sequence[Message], str]:
    """Return the opening of a run, and its prompt's name, which a replay has too."""
    script, settings = Scripted([ANSWER]), LLMConfig(enabled=True, prompt=config)
    setup = RunSetup(prompt=prompt)
    adjudicator = ReActAdjudicator(
        settings, chat=script, tools=[web_search], setup=setup, record=folder
    )
    result = adjudicator.adjudicate(year_only_single())
    again = replay(Path(str(result.transcript)))
    assert (again.prompt_version, again.crg_mbid) == (result.prompt_version, result.crg_mbid)
    return script.asked[0], result.prompt_version


def test_a_run_is_replayed_with_the_prompt_configured_or_handed_over(tmp_path: Path) -> None:
    prompt = load_prompt().overridden(role="You judge records.", task="Which one? {max_iterations}")
    (system, evidence), name = asked(tmp_path, PromptConfig(), prompt)
    assert system.content.startswith("You judge records.\n\n")
    assert evidence.content.endswith("\n\n## Your Task\nWhich one? 5")
    assert name == prompt.name
    _, name = asked(tmp_path, PromptConfig(rules="None."))
    assert name.startswith("react-5+rules@")


def test_the_prompt_can_be_read_without_a_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANON_LLM__PROMPT__ROLE", "You are \x1b[31mred.")
    assert run(["config", "prompt"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("You are \ufffd[31mred.\n\nYou can use these tools:")
    assert "## Your Task\nWhich candidate is the CRG?" in text
    assert run(["config", "prompt", "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["prompt_version"].startswith("react-5+role@")
    assert set(found) == {"prompt_version", "dialect", "system", "task"}
