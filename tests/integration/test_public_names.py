"""What other programs import from `chart_binder`, and what they get of a batch."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import chart_binder
from chart_binder import BatchOptions, FileSelection, Policy, errors
from docs.pages import blocks
from integration.services import RHAPSODY, asking, file_of
from servers.musicbrainz import MusicBrainzStandIn

NAMES = (
    "AdjudicationResult", "BatchOptions", "BatchResult", "CanonError", "Config", "Decision",
    "Document", "EvidenceBundle", "Executor", "FileResult", "FileSelection", "FirstRelease",
    "LLMConfig", "Measures", "Observation", "Order", "Outcome", "Policy", "ReActAdjudicator",
    "RunContext", "RunSetup", "State", "Tool", "ToolError", "decide_file", "read_bundle",
    "run_batch",
)  # fmt: skip


def test_every_name_is_there_when_it_is_asked_for() -> None:
    for name in NAMES:
        assert name in dir(chart_binder)
        assert getattr(chart_binder, name).__name__ == name
    assert sorted(name for names in chart_binder._EXPORTS.values() for name in names) == [*NAMES]
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
        jobs=8, write=True, policy=Policy.MOVE,
        only=frozenset({FileSelection.REVIEW, FileSelection.UNDECIDED}),
    )  # fmt: skip
    assert options.flags == ("--jobs=8", "--write", "--policy=move", "--only=review,undecided")
    assert replace(options, keep_mtime=True).flags[3] == "--keep-mtime"


def test_the_readmes_program_prints_a_first_release(
    home: Path, environment: dict[str, str]
) -> None:
    (folder := home / "work" / "Compilation").mkdir()
    file_of(RHAPSODY["bundle"], folder, "07.flac")
    (program,) = blocks("README.md", "python")
    asks_for_a_folder = f"{program}decide_file('Compilation')"
    with MusicBrainzStandIn([RHAPSODY["bundle"]]) as musicbrainz:
        printed, refused = (
            subprocess.run(
                [sys.executable, "-c", code],
                cwd=home / "work",
                env=environment | asking(musicbrainz),
                capture_output=True,
                text=True,
                check=False,
            )
            for code in (program, asks_for_a_folder)
        )
    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout.startswith("1975-10-31 Bohemian Rhapsody\ndecided the single")
    assert "'Compilation' is a folder: `run_batch` decides folders" in refused.stderr


def test_the_tree_of_errors_has_every_error() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    names = [kind.__name__ for kind in kinds if issubclass(kind, errors.CanonError)]
    assert len(names) > 15
    assert [name for name in names if f"`{name}`" not in str(errors.__doc__)] == []
