"""The pages of the documentation, and the blocks of code and output that they show."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    """Return the text of a page, by its path from the root of the repository."""
    return (ROOT / name).read_text("utf-8")


def blocks(name: str, language: str) -> list[str]:
    """Return the blocks of a language on a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", page(name), re.MULTILINE | re.DOTALL)
