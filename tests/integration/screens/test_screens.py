"""What commands print is as in the files beside this one, and fits the terminal."""

import os
import re
import tempfile

import pytest

from chart_binder.cli.main import COMMANDS
from chart_binder.cli.output import display_width
from integration.forked import Forking
from integration.screens.screens import FOLDER, Screen, make_screens, read_calls

FOR_PROGRAMS = (["completion", "bash"], ["man"], ["transcript", "parse", "reply.txt"])
"""What prints for a program, which takes lines of any length."""


def test_the_screens_are_as_they_were_read(forked: Forking) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    printed = make_screens(kept | {"TMPDIR": tempfile.gettempdir()}, forked)
    for command, text in printed.items():
        assert text == (FOLDER / f"{command}.txt").read_text("utf-8"), command
    assert printed.keys() == {*COMMANDS, "help"} == {file.stem for file in FOLDER.glob("*.txt")}


@pytest.mark.parametrize("command", [*COMMANDS, "help"])
def test_no_line_is_wider_than_the_terminal(command: str) -> None:
    """Only what is to be copied whole may be: an address, or a call of canon."""
    text = (FOLDER / f"{command}.txt").read_text("utf-8")
    calls = [call for call in read_calls() if isinstance(call, Screen) and call.command == command]
    for screen, section in zip(calls, re.split(r"^\$ ", text, flags=re.MULTILINE)[1:], strict=True):
        heading, *lines = section.splitlines()
        assert heading == screen.heading.removeprefix("$ ")
        if screen.words not in FOR_PROGRAMS:
            wide = [line.split() for line in lines if display_width(line) > screen.shown_columns]
            assert [words for words in wide if words[1:] and not is_copied(words)] == []


def is_copied(words: list[str]) -> bool:
    """Say whether a line is a call, or one label and an address: `C1 https://...`."""
    return words[0] == "canon" or (len(words) == 2 and words[1].startswith("https:"))
