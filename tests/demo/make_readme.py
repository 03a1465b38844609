"""Writes a decision of the demo into the README: `python tests/demo/make_readme.py`."""

import os
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
BEFORE, AFTER = "<!-- demo output -->\n```text\n", "```\n<!-- /demo output -->"

printed = subprocess.run(
    [sys.executable, "-m", "chart_binder", "demo"],
    env=os.environ | {"COLUMNS": "100"},
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    text=True,
    check=True,
).stdout
head, _, rest = README.read_text("utf-8").partition(BEFORE)
tail = rest.partition(AFTER)[2]
decision = printed.split("\n\n")[2] + "\n"  # behind the introduction and the first file
README.write_text(head + BEFORE + decision + AFTER + tail, "utf-8")
