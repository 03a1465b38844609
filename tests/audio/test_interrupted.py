"""Whatever kills a save or fills the disk, a file is as it was or as it was meant to be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from audio.variants import FEW, VARIANTS, Variant

SCRIPT = Path(__file__).parent / "interrupted.py"

WAYS = ("kill", "kill-in-write", "full", "broken")


def named(variant: Variant) -> str:
    return variant.name


def tried(path: Path, *way: str) -> dict[str, int]:
    """Return what the saves that were disturbed have left, counted."""
    command = [sys.executable, str(SCRIPT), str(path), *way]
    run = subprocess.run(command, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    counts: dict[str, int] = json.loads(run.stdout)
    return counts


def must_be_right(counts: dict[str, int], way: str) -> None:
    assert counts["wrong"] == 0
    assert counts["old"] + counts["new"] == counts["moments"]
    if way.startswith("kill"):
        assert counts["killed"] == counts["moments"] - 1  # the last one had no such call any more
        assert counts["swept"] > 0
    elif way == "random":
        assert counts["killed"] > 0
    else:
        assert counts["refused"] > 0
        assert counts["swept"] == 0
    assert counts["old"] > 0


@pytest.mark.parametrize("variant", FEW, ids=named)
def test_a_save_killed_before_any_call_leaves_old_or_new(tmp_path: Path, variant: Variant) -> None:
    must_be_right(tried(variant.make(tmp_path), "kill"), "kill")


def test_a_disk_full_at_any_write_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    must_be_right(tried(FEW[0].make(tmp_path), "full"), "full")


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_a_save_of_any_file_disturbed_at_any_call_leaves_old_or_new(
    tmp_path: Path, variant: Variant, way: str
) -> None:
    must_be_right(tried(variant.make(tmp_path), way), way)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_a_save_of_any_file_killed_at_random_leaves_old_or_new(
    tmp_path: Path, variant: Variant
) -> None:
    counts = tried(variant.make(tmp_path), "random", "20")
    must_be_right(counts, "random")
    assert counts["killed"] == 20


@pytest.mark.slow
@pytest.mark.parametrize("variant", FEW, ids=named)
def test_a_save_killed_at_200_random_moments_leaves_old_or_new(
    tmp_path: Path, variant: Variant
) -> None:
    counts = tried(variant.make(tmp_path), "random", "200")
    must_be_right(counts, "random")
    assert counts["killed"] == 200
