"""The screens that are seen most are as in the files beside this one, and fit the terminal."""

import os
import tempfile
from collections.abc import Mapping

import pytest

from chart_binder.cli.output import display_width
from integration.screens.screens import COLUMNS, FOLDER, NAMES, screens


@pytest.fixture(scope="module")
def printed() -> Mapping[str, str]:
    """What each command prints."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return dict(screens(kept | {"PYTHONWARNINGS": "error", "TMPDIR": tempfile.gettempdir()}))


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_is_as_it_was_read(name: str, printed: Mapping[str, str]) -> None:
    assert printed[name] == (FOLDER / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_wider_than_the_terminal(name: str, printed: Mapping[str, str]) -> None:
    """Only an address, which is to be copied whole, may be."""
    lines = printed[name].splitlines()[1:]
    wide = [line.split() for line in lines if display_width(line) > COLUMNS]
    assert [words for words in wide if words[1:] and not is_labelled_address(words)] == []


def is_labelled_address(words: list[str]) -> bool:
    """Say whether a line is one label and an address: `C1 https://...`."""
    return len(words) == 2 and words[1].startswith("https:")
