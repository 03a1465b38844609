"""Kills a writing process at random moments, mends what it left, and says what was found.

Run as a program, so that it may fork: `python killing.py FOLDER ROUNDS SEED`. Prints a JSON object.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from functools import partial
from itertools import islice
from pathlib import Path

from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.save import Restoration
from chart_binder.domain.records import WriteState
from chart_binder.jobs.journal import WritingRun, clean_folder, only_done, repair_journal
from chart_binder.jobs.stored_decisions import new_run, path_bytes
from chart_binder.jobs.undo import undo_writes, verify
from chart_binder.store import Store, open_store

LONGEST_S = 0.4


def main(folder: Path, rounds: int, seed: int) -> None:
    """Print what was found after each of the kills, counted."""
    chance = random.Random(seed)
    url = f"sqlite:///{folder / 'store.db'}"
    files = sorted(folder.glob("audio/*"))
    sounds = {file: audio_hash(file) for file in files}
    with open_store(url) as store:
        store.journal.open_intents()
    findings: Counter[str] = Counter()
    for number in range(rounds):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            _write_for_ever(url, files, number, writer)
        os.read(reader, 1)  # it has opened the store, and loaded what it needs
        for end in (reader, writer):
            os.close(end)
        time.sleep(chance.random() * LONGEST_S)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        findings.update(_mended(url, folder, sounds))
    sys.stdout.write(json.dumps(findings))


def _write_for_ever(url: str, files: list[Path], number: int, writer: int) -> None:
    with open_store(url) as store:
        audio_hash(files[0])
        os.write(writer, b".")
        for turn in range(1_000_000):
            run = WritingRun(store, new_run("write"))
            comment = f"{number}.{turn} " * (1 + turn % 40)  # in the padding, and beyond it
            for file in files:
                run.save(file, partial(with_fields, fields={"album": (comment,)}), None)
            if turn % 2:
                for file in files:
                    last = islice(only_done(store.journal.of_path(path_bytes(file))), 1)
                    for _ in undo_writes(last, run):
                        pass


def _mended(url: str, folder: Path, sounds: dict[Path, str]) -> list[str]:
    findings = ["kills"]
    with open_store(url) as store:
        findings += [f"open intents: {len(store.journal.open_intents())}"]
        for line in (*repair_journal(store), *clean_folder(folder / "audio")):
            findings.append("said: " + line.split(": ", 1)[1])
        if store.journal.open_intents():
            findings.append("BAD: an intent is still open")
        if len(list((folder / "audio").iterdir())) != len(sounds):
            findings.append("BAD: a temporary file is left")
        for file, sound in sounds.items():
            if audio_hash(file) != sound:
                findings.append("BAD: audio")
            read_tag_set(file)
            findings.append(f"a file is {verify(store, file).state}")
            states = [write.state for write in store.journal.of_path(path_bytes(file))]
            if WriteState.INTENDED in states:
                findings.append("BAD: journal")
            if not _is_as_recorded(store, file):
                findings.append("BAD: bytes")
    return findings


def _is_as_recorded(store: Store, file: Path) -> bool:
    """Say whether a file is, byte for byte, what the last write or undo left."""
    writes = store.journal.of_path(path_bytes(file))
    last = next((write for write in writes if write.state is not WriteState.FAILED), None)
    if last is None:
        return last is None
    expected = Restoration.from_document(last.restoration).new_hash
    return hashlib.sha256(file.read_bytes()).digest() == expected


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
