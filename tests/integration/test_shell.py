"""Completion in real shells, the manual page, and colours."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from chart_binder.cli.main import COMMANDS
from chart_binder.cli.main import canon as root
from chart_binder.cli.output import coloured
from chart_binder.jobs.decision import State
from corpus import rows
from integration.conftest import Canon
from integration.terminal import walking

SHELLS = {
    "bash": (("bash", "--norc", "--noprofile", "-i"), "source <(canon completion bash)"),
    "zsh": (("zsh", "-f", "-i"),
            "autoload -Uz compinit; compinit -D; source <(canon completion zsh)"),
    "fish": (("fish", "--no-config", "-i"), "canon completion fish | source"),
}  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_options_keys_and_values(
    shell: str, home: Path, environment: dict[str, str]
) -> None:
    program, load = SHELLS[shell]
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    called = home / "bin" / "canon"
    called.parent.mkdir()
    called.write_text(f'#!/bin/sh\nexec {sys.executable} -m chart_binder "$@"\n')
    called.chmod(0o700)
    found = environment | {"PATH": f"{called.parent}:{os.environ['PATH']}"}
    with walking(home, found, program=program) as terminal:
        terminal.enter(f"{load}; echo loaded | tr a-z A-Z", "LOADED")
        terminal.enter("canon conf\tpat\t--js\t", '{"config":null')
        terminal.enter("canon config set llm.enab\ttr\t--dry\t", "llm.enabled = true")
        terminal.until("would be set in")
        asked = "canon ls --format jsonl stat\tdeci\tcertain:y\t && echo as asked | tr a-z A-Z"
        terminal.enter(asked, "AS ASKED")


def test_words_are_completed_by_what_is_there(canon: Canon) -> None:
    for line, words in (
        ("canon d", ["demo", "decide", "drift", "doctor"]),
        ("canon config set llm.seed", ["llm.seed"]),
        ("canon review ", ["accept", "choose", "keep", "list", "reject", "show", "walk", "web"]),
        ("canon review --w", ["--web"]),
        ("canon write --policy ", ["dates", "note", "move"]),
        ("canon transcript parse --dialect x", ["xml"]),
        ("canon tools run web_f", ["web_fetch"]),
        ("canon telepathy --off", ["--offline"]),
        ("canon batch --only undecided,unm", ["undecided,unmatched"]),
        ("canon batch --only unmatched,un", ["unmatched,undecided", "unmatched,unreadable"]),
        ("canon review list --state rev", ["review"]),
        ("canon ls a", ["artist:", "album:"]),
        ("canon ls artist:", []),
        ("canon ls st", [f"state:{state}" for state in State]),
        ("canon ls state :", [*State]),  # as bash splits words
        ("canon playlist state : decided,rev", ["decided,review"]),
        ("canon ls certain:", ["certain:yes", "certain:no"]),
    ):
        asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        ran = canon(_CANON_COMPLETE="bash_complete", **asked).must_end(0)
        assert ran.out.split() == [f"plain,{word}" for word in words], line


def test_the_manual_page_has_every_command_and_option(canon: Canon, home: Path) -> None:
    page = canon("man").must_end(0).out
    if shutil.which("groff"):
        (home / "canon.1").write_text(page)
        formatted = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", str(home / "canon.1")],
            capture_output=True, check=True,
        )  # fmt: skip
        assert formatted.stderr == b""
        assert b"canon config set [OPTIONS] KEY VALUE" in re.sub(
            rb"\x1b\[\d+m|.\x08", b"", formatted.stdout
        )
    options = set(re.findall(r"(?<![\w-])--[a-z0-9-]+", re.sub(r"\\f[BR]|\\", "", page)))
    context = click.Context(root)
    for name in COMMANDS:
        assert f"\n.SS canon {name} " in page
        command = root.get_command(context, name)
        assert command
        assert {max(each.opts, key=len) for each in command.params
                if isinstance(each, click.Option)} <= options  # fmt: skip


@pytest.mark.parametrize(("line", "shown"), rows(__file__, "coloured"))
def test_states_dates_and_changes_are_coloured_and_nothing_else(line: str, shown: str) -> None:
    assert re.sub(r"\x1b\[(\d+)m", r"<\1>", coloured(line)) == shown


def test_colours_are_for_terminals_unless_they_are_asked_for(
    canon: Canon, home: Path, environment: dict[str, str]
) -> None:
    assert "\x1b" not in canon("demo").out
    assert "\x1b" not in canon("--json", "--color=always", "demo").out
    for call in (("--color=always", "demo"), ("demo", "--color=always")):
        assert "\x1b[36m1997-02-19\x1b[0m" in canon(*call, NO_COLOR="1").out
    for variables, options, has_colour in (
        ({"NO_COLOR": ""}, (), True),
        ({"NO_COLOR": "1"}, (), False),
        ({"NO_COLOR": ""}, ("--color=never",), False),
        ({"NO_COLOR": "1"}, ("--color=always",), True),
    ):
        with walking(home, environment | variables, "demo", *options) as terminal:
            assert ("\x1b[36m" in terminal.until("next: canon decide")) == has_colour
