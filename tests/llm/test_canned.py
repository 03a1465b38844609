"""Canned runs: each file holds a conversation and, in its last line, what it comes to."""

from pathlib import Path

import pytest

from chart_binder import plugins
from chart_binder.config import LLMConfig
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.testing import Play
from golden.bundles import year_only_single

TRANSCRIPTS = Path(__file__).parent / "transcripts"
FILES = sorted(TRANSCRIPTS.glob("*/*.jsonl"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_canned_run_comes_to_what_its_file_says(file: Path, canned: Play) -> None:
    run = canned(file)
    config = LLMConfig(enabled=True, dialect=file.parent.name)
    adjudicator = ReActAdjudicator(config, chat=run, tools=run.tools)
    result = adjudicator.adjudicate(year_only_single()).to_dict()
    assert run.result
    assert {key: result[key] for key in run.result} == run.result


def test_every_dialect_has_a_canned_run() -> None:
    assert {file.parent.name for file in FILES} == set(plugins.names("chart_binder.dialects"))
