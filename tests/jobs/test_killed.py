"""Killed processes leave whole files, and a journal and store that the next run continues."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from audio.tagging import CONTAINERS, FIELDS
from golden.bundles import golden
from servers.musicbrainz import MusicBrainzStandIn

KILLING = Path(__file__).with_name("killing.py")
ROUNDS = [6, pytest.param(200, marks=pytest.mark.slow)]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_after_a_kill_at_any_moment_files_and_journal_agree(rounds: int, tmp_path: Path) -> None:
    (tmp_path / "audio").mkdir()
    for container in CONTAINERS:
        song = container.fully_tagged(tmp_path)
        song.rename(tmp_path / "audio" / f"{container.name}{song.suffix}")
    ran = subprocess.run(
        [sys.executable, KILLING, tmp_path, str(rounds), "7"],
        capture_output=True, check=False, timeout=500,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr.decode()
    lines = json.loads(ran.stdout)
    assert lines["kills"] == rounds
    assert not [line for line in lines if line.startswith("BAD")], lines
    states = {line for line in lines if line.startswith("a file is ")}
    assert states <= {f"a file is {state}" for state in ("same", "put back", "unrecorded")}, lines


KILLING_BATCH = Path(__file__).with_name("killing_batch.py")
BATCH_ROUNDS = [2, pytest.param(200, marks=pytest.mark.slow)]
NAMES = ("lead-bohemian", "lead-hanae", "s90-aiko", "s90-bump")
RECORDING_ID = next(field for field in FIELDS if field.attribute == "recording_mbid")


@pytest.mark.parametrize("rounds", BATCH_ROUNDS)
def test_a_killed_batch_loses_and_doubles_nothing(rounds: int, tmp_path: Path) -> None:
    (tmp_path / "pristine").mkdir()
    bundles = [golden(name) for name in NAMES]
    for number, container in enumerate(CONTAINERS):
        recording = bundles[number % len(bundles)]["recording_candidates"][0]["mb_recording_id"]
        song = container.tagged(tmp_path, [(container.key(RECORDING_ID), (recording,))])
        song.rename(tmp_path / "pristine" / f"{container.name}{song.suffix}")
    with MusicBrainzStandIn(bundles) as mb:
        ran = subprocess.run(
            [sys.executable, KILLING_BATCH, tmp_path, mb.hostname, str(rounds), "7"],
            capture_output=True, check=False, timeout=900,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr.decode()
    lines = json.loads(ran.stdout)
    assert lines["kills"] >= rounds
    assert lines["completed"] >= 1
    assert not [line for line in lines if line.startswith("BAD")], lines
