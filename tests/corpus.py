"""Cases of tests that stand in a text file beside the module, one a line."""

from ast import literal_eval
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _tables(file: Path) -> dict[str, list[str]]:
    tables: dict[str, list[str]] = {}
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("== "):
            tables[line.removeprefix("== ")] = lines = []
        elif line and not line.startswith("# "):
            lines.append(line)
    return tables


def rows(module: str, table: str) -> list[Any]:
    """Return the cases below the heading `== table` in the text file of a test module.

    A case is a Python value: a tuple with the arguments of a test, or one argument.
    """
    return [literal_eval(line) for line in _tables(Path(module).with_suffix(".txt"))[table]]
