"""Kills a batch that writes tags at random moments, starts it again, and says what was found.

Run as a program, so that it may fork: `python killing_batch.py FOLDER HOSTNAME ROUNDS SEED`, where
`FOLDER/pristine` has the files and HOSTNAME is a MusicBrainz. Prints a JSON object.
"""

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.batch import BatchOptions, BatchResult, run_batch
from chart_binder.config import BatchConfig, Config, MusicBrainzConfig, StoreConfig
from chart_binder.jobs.journal import repair_journal
from chart_binder.jobs.stored_decisions import path_bytes
from chart_binder.store import open_store

LONGEST_S, PATIENT_S = 1.0, 120.0


def main(folder: Path, hostname: str, rounds: int, seed: int) -> None:
    """Print what was found after each of the kills, counted."""
    chance = random.Random(seed)
    sounds = {file.name: audio_hash(file) for file in (folder / "pristine").iterdir()}
    findings: Counter[str] = Counter()
    number = 0
    while findings["kills"] < rounds:
        config = _afresh(folder, hostname, number)
        number += 1
        child = _started(folder, config)
        while not _ended_within(child, _until(chance) if findings["kills"] < rounds else PATIENT_S):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            findings["kills"] += 1
            findings.update(_standing(folder, config, sounds))
            child = _started(folder, config)
        findings["completed"] += 1
        findings.update(_complete(folder, config, sounds))
    sys.stdout.write(json.dumps(findings))


def _until(chance: random.Random) -> float:
    return chance.random() * LONGEST_S


def _afresh(folder: Path, hostname: str, number: int) -> Config:
    """Put the library back as it was, with a store that knows nothing of it."""
    shutil.rmtree(folder / "music", ignore_errors=True)
    shutil.copytree(folder / "pristine", folder / "music")
    return Config(
        musicbrainz=MusicBrainzConfig(hostname=hostname, https=False, rate_limit_per_s=0.0),
        store=StoreConfig(url=f"sqlite:///{folder / f'store-{number}.db'}"),
        batch=BatchConfig(jobs=2, write_jobs=2),
    )


def _started(folder: Path, config: Config) -> int:
    child = os.fork()
    if not child:
        os._exit(_batch(folder, config).status)
    return child


def _batch(folder: Path, config: Config) -> BatchResult:
    return run_batch([folder / "music"], config, BatchOptions(write=True))


def _ended_within(child: int, seconds: float) -> bool:
    """Wait for a run; one that fails ends the proof."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        answer, status = os.waitpid(child, os.WNOHANG)
        if answer:
            assert os.waitstatus_to_exitcode(status) == 0, status
            return True
        time.sleep(0.002)
    return False


def _standing(folder: Path, config: Config, sounds: dict[str, str]) -> list[str]:
    """Say what a killed run left, before another begins."""
    findings = [f"decisions kept: {min(1, len(_decided(config)))}+"]
    for name, sound in sounds.items():
        file = folder / "music" / name
        if audio_hash(file) != sound:
            findings.append("BAD: audio")
        read_tag_set(file)
    if any(count > 1 for count in _decided(config).values()):
        findings.append("BAD: a decision was kept twice")
    return findings


def _complete(folder: Path, config: Config, sounds: dict[str, str]) -> list[str]:
    """Say what a run that came to its end left."""
    findings = _standing(folder, config, sounds)
    counts = _decided(config)
    music = folder / "music"
    with open_store(config.store.url) as store:
        if list(repair_journal(store)):
            findings.append("BAD: something was left to repair")
        for name in sounds:
            writes = store.journal.of_path(path_bytes(music / name))
            hashes = {write.tags_after_hash for write in writes if write.state == "done"}
            if read_tag_set(music / name).hash not in hashes:
                findings.append("BAD: tags are not as the journal says")
            if counts.get(os.fsencode(music / name)) != 1:
                findings.append("BAD: not decided once")
    if {file.name for file in music.iterdir()} != set(sounds):
        findings.append("BAD: a temporary file is left")
    return findings


def _decided(config: Config) -> Counter[bytes]:
    place = Path(config.store.url.removeprefix("sqlite:///"))
    if not place.exists():
        return Counter()
    with closing(sqlite3.connect(place)) as database:
        answer = database.execute("SELECT name FROM sqlite_schema WHERE name = 'decisions'")
        if not answer.fetchall():
            return Counter()
        return Counter(dict(database.execute("SELECT path, count(*) FROM decisions GROUP BY path")))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
