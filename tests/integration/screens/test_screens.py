"""The screens that are seen most are as in the files beside this one, and fit the terminal."""

import os
import tempfile

import pytest

from chart_binder.cli.output import display_width
from integration.forked import Forking
from integration.screens.screens import FOLDER, NAMES, columns_of, screens


def test_the_screens_are_as_they_were_read(forked: Forking) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    for name, printed in screens(kept | {"TMPDIR": tempfile.gettempdir()}, forked):
        assert printed == (FOLDER / f"{name}.txt").read_text("utf-8"), name


@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_wider_than_the_terminal(name: str) -> None:
    """Only what is to be copied whole may be: an address, or a call of canon."""
    lines = (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()[1:]
    wide = [line.split() for line in lines if display_width(line) > columns_of(name)]
    assert [words for words in wide if words[1:] and not is_copied(words)] == []


def is_copied(words: list[str]) -> bool:
    """Say whether a line is a call, or one label and an address: `C1 https://...`."""
    return words[0] == "canon" or (len(words) == 2 and words[1].startswith("https:"))
