"""Whatever kills a save or fills the disk, a file is as it was or as it was meant to be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from audio.tagging import FEW, VARIANTS, Variant

SCRIPT = Path(__file__).parent / "interrupted.py"
by_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
by_task = pytest.mark.parametrize("task", ["write", "undo"])


def must_be_right(path: Path, way: str, task: str = "write") -> None:
    """Disturb saves of a file, and check what they left."""
    command = [sys.executable, str(SCRIPT), str(path), task, way]
    run = subprocess.run(command, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    counts: dict[str, int] = json.loads(run.stdout)
    assert counts["wrong"] == 0
    assert counts["old"] + counts["new"] == counts["moments"]
    assert counts["old"] > 0
    match way:
        case "kill" | "kill-in-write":
            assert counts["killed"] == counts["moments"] - 1  # there was no such call any more
            assert counts["swept"] > 0
        case _:
            assert counts["refused"] > 0
            assert counts["swept"] == 0


@pytest.mark.parametrize("variant", FEW[::2], ids=lambda variant: variant.name)
def test_a_save_killed_before_any_call_leaves_old_or_new(tmp_path: Path, variant: Variant) -> None:
    must_be_right(variant.make(tmp_path), "kill")


@pytest.mark.parametrize("variant", FEW[1:2], ids=lambda variant: variant.name)
def test_an_undo_killed_before_any_call_leaves_old_or_new(tmp_path: Path, variant: Variant) -> None:
    must_be_right(variant.make(tmp_path), "kill", task="undo")


@by_task
def test_a_disk_full_at_any_write_leaves_the_file_as_it_was(tmp_path: Path, task: str) -> None:
    must_be_right(FEW[0].make(tmp_path), "full", task=task)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["kill", "kill-in-write", "full", "broken"])
@by_task
@by_variant
def test_a_save_of_any_file_disturbed_at_any_call_leaves_old_or_new(
    tmp_path: Path, variant: Variant, way: str, task: str
) -> None:
    must_be_right(variant.make(tmp_path), way, task=task)
