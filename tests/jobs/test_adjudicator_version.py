"""A model's answer is found again as long as it would be asked the same in the same way."""

from pathlib import Path
from typing import Any

import pytest

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.errors import ConfigError
from chart_binder.jobs.stored_decisions import adjudicator_version

KNOBS = RulesConfig()
NOW = adjudicator_version(LLMConfig(), KNOBS)


@pytest.mark.parametrize(
    "other",
    [
        {"enabled": True, "base_url": "http://elsewhere:1", "timeout_s": 1.0, "stream": True},
        {"searxng": {"url": "http://elsewhere:2", "timeout_s": 1.0}},
        {"acceptance": {"write_min_sources": 0}},
    ],
)
def test_where_and_how_patiently_it_is_asked_does_not_matter(other: dict[str, Any]) -> None:
    assert adjudicator_version(LLMConfig.model_validate(other), KNOBS) == NOW


@pytest.mark.parametrize(
    "other",
    [
        {"model_id": "another"},
        {"temperature": 1.0},
        {"prompt": {"rules": "Toss a coin."}},
        {"tools": {"wikipedia": False}},
        {"acceptance": {"min_sources": 3}},
    ],
)
def test_what_is_asked_does(other: dict[str, Any]) -> None:
    assert adjudicator_version(LLMConfig.model_validate(other), KNOBS) != NOW


def test_the_rules_and_what_confidence_is_worth_do(tmp_path: Path) -> None:
    assert adjudicator_version(LLMConfig(), RulesConfig(lead_window_days=1)) != NOW
    file = tmp_path / "map.json"
    llm = LLMConfig.model_validate({"acceptance": {"calibration": str(file)}})
    with pytest.raises(ConfigError, match="cannot be read"):
        adjudicator_version(llm, KNOBS)
    file.write_bytes(b"{}")
    same = adjudicator_version(llm, KNOBS)
    file.write_bytes(b'{"points": [{"stated": 0.5, "right": 0.4}], "answers": 9}')
    assert adjudicator_version(llm, KNOBS) != same
