"""Draws the golden timelines anew: `python tests/cli/make_timelines.py`; read the difference."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cli.drawing import DRAWN, drawn

for name, bundle in DRAWN.items():
    text = "".join(f"{line}\n" for line in drawn(bundle))
    (Path(__file__).parent / "timelines" / f"{name}.txt").write_text(text, encoding="utf-8")
