"""Writes the golden texts anew: `python tests/llm/make_golden.py`, then read the difference.

A changed prompt gets another `version`, for results name the prompt by it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.llm.evidence_markdown import evidence_markdown
from chart_binder.llm.prompt import load_prompt, prompt_settings
from chart_binder.react.dialect import Classic
from chart_binder.react.tools import Tool
from chart_binder.rules.decide import decide
from golden.bundles import RENDERED

GOLDEN = Path(__file__).parent / "golden"


def web_search(query: str) -> str:
    """Search the web."""
    return query


for name, document in RENDERED.items():
    bundle = read_bundle(document)
    text = evidence_markdown(bundle, decide(bundle, RulesConfig()))
    (GOLDEN / f"{name}.md").write_text(text + "\n", encoding="utf-8")
values = prompt_settings(LLMConfig(), RulesConfig())
text = load_prompt().render(Classic(), [Tool.of(web_search)], values)
(GOLDEN / "prompt.txt").write_text(text + "\n", encoding="utf-8")
