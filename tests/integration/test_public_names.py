"""What other programs import from `chart_binder`, and what they get of a batch."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import chart_binder
from chart_binder import BatchOptions, Config, FileResult, Policy, State, Which, run_batch
from golden.bundles import golden
from integration.services import file_of
from servers.musicbrainz import MusicBrainzStandIn

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


def test_the_import_alone_loads_nothing() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "import chart_binder; print(set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"{'chart_binder'}\n"


def test_options_are_told_as_the_command_takes_them() -> None:
    assert BatchOptions().flags == ()
    options = BatchOptions(
        jobs=8, write=True, policy=Policy.MOVE, only=frozenset({Which.REVIEW, Which.UNDECIDED})
    )
    assert options.flags == ("--jobs=8", "--write", "--policy=move", "--only=review,undecided")
    assert replace(options, keep_mtime=True).flags[3] == "--keep-mtime"


def test_a_caller_is_told_of_each_file(tmp_path: Path) -> None:
    bundle = golden("lead-hanae")
    song = file_of(bundle, tmp_path)
    told: list[FileResult] = []
    with MusicBrainzStandIn([bundle]) as mb:
        settings = {"hostname": mb.hostname, "https": False, "rate_limit_per_s": 0}
        config = Config.model_validate(
            {"musicbrainz": settings, "store": {"url": f"sqlite:///{tmp_path}/canon.db"}}
        )
        options = BatchOptions(write=True)
        results = [
            run_batch(str(tmp_path), config, options, on_file=told.append),
            run_batch([song], config, options, on_file=told.append),
        ]
    assert [result.status for result in results] == [0, 0]
    assert [file.run_id for file in told] == [result.run_id for result in results]
    assert [(file.path, file.decision.state) for file in told] == [(song, State.DECIDED)] * 2
    assert [file.resumed for file in told] == [False, True]
    assert [file.tags.status for file in told if file.tags] == ["written", "unchanged"]
    assert told[1].so_far.resumed == told[1].so_far.files == 1
