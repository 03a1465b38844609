"""What other programs import from `chart_binder`, and what they get of a batch."""

import subprocess
import sys
from dataclasses import replace

import pytest

import chart_binder
from chart_binder import BatchOptions, FileSelection, Policy

NAMES = (
    "run_batch", "BatchOptions", "BatchResult", "FileResult", "Config", "LLMConfig",
    "ReActAdjudicator", "CanonError", "Measures",
)  # fmt: skip


def test_every_name_is_there_when_it_is_asked_for() -> None:
    for name in NAMES:
        assert name in dir(chart_binder)
        assert getattr(chart_binder, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'run_botch'"):
        chart_binder.run_botch  # noqa: B018


def test_the_import_alone_loads_what_imports_later_and_nothing_else() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "import chart_binder; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"['chart_binder', 'chart_binder.lazy']\n"


def test_options_are_told_as_the_command_takes_them() -> None:
    assert BatchOptions().flags == ()
    options = BatchOptions(
        jobs=8,
        write=True,
        policy=Policy.MOVE,
        only=frozenset({FileSelection.REVIEW, FileSelection.UNDECIDED}),
    )
    assert options.flags == ("--jobs=8", "--write", "--policy=move", "--only=review,undecided")
    assert replace(options, keep_mtime=True).flags[3] == "--keep-mtime"
