"""Writes the golden markdown anew: `python tests/llm/make_golden.py`, then read the difference."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.llm.markdown import evidence_markdown
from chart_binder.rules.decide import decide
from golden.bundles import RENDERED

for name, document in RENDERED.items():
    bundle = read_bundle(document)
    text = evidence_markdown(bundle, decide(bundle, RulesConfig()))
    (Path(__file__).parent / "golden" / f"{name}.md").write_text(text + "\n", encoding="utf-8")
