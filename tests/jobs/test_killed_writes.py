"""A writing process that is killed leaves whole files, and a journal that the next one settles."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from audio.tagging import CONTAINERS

KILLING = Path(__file__).with_name("killing.py")
ROUNDS = [6, pytest.param(200, marks=pytest.mark.slow)]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_after_a_kill_at_any_moment_files_and_journal_agree(rounds: int, tmp_path: Path) -> None:
    (tmp_path / "audio").mkdir()
    for container in CONTAINERS:
        made = container.fully_tagged(tmp_path)
        made.rename(tmp_path / "audio" / f"{container.name}{made.suffix}")
    ran = subprocess.run(
        [sys.executable, KILLING, tmp_path, str(rounds), "7"],
        capture_output=True, check=False, timeout=500,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr.decode()
    found = json.loads(ran.stdout)
    assert found["kills"] == rounds
    assert not [said for said in found if said.startswith("BAD")], found
    states = {said for said in found if said.startswith("a file is ")}
    assert states <= {"a file is same", "a file is unrecorded"}, found
