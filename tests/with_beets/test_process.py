"""`beet canon` as a process: with a configuration file, interrupted, and with a locked store."""

import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("beets", reason="needs the extra `beets`")

from integration.compilation import BUNDLES, compilation_files
from integration.services import asking
from servers.http import Request, Response
from servers.musicbrainz import MusicBrainzStandIn

Beet = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def beet(tmp_path: Path) -> Iterator[Beet]:
    """Start `beet` in a home of its own, with a library that a first run imports as singletons."""
    (tmp_path / "config.yaml").write_text(
        f"plugins: canon\ndirectory: {tmp_path}/music\nlibrary: {tmp_path}/library.db\n", "utf-8"
    )
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "BEETSDIR": str(tmp_path),
        "PYTHONUTF8": "1", "XDG_DATA_HOME": str(tmp_path / "data"),
    }  # fmt: skip
    begun: list[subprocess.Popen[str]] = []

    def start(*words: str, program: str = "beets", **variables: str) -> "subprocess.Popen[str]":
        config = ["-c", str(tmp_path / "config.yaml")] if program == "beets" else []
        process = subprocess.Popen(
            [sys.executable, "-m", program, *config, *words],
            env=environment | variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        begun.append(process)
        return process

    compilation_files(tmp_path / "inbox", "flac")
    imported = start("import", "-qAs", str(tmp_path / "inbox"))
    assert (imported.communicate(timeout=60), imported.returncode)[1] == 0
    yield start
    for process in begun:
        with process:
            process.kill()


def printed(process: "subprocess.Popen[str]", status: int = 0) -> str:
    """Return what a process prints until its end."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, out + err
    assert "Traceback" not in err, err
    return out + err


def test_a_library_is_decided_listed_and_reviewed(beet: Beet) -> None:
    with MusicBrainzStandIn(BUNDLES) as mb:
        shown = printed(beet("canon", "--write", **asking(mb)))
    assert "10 items: 8 decided, 2 undecided" in shown
    found = printed(beet("ls", "-f", "$title", "canon_first_date:1977..", "canon_state:decided"))
    assert sorted(found.splitlines()) == ["Song 3", "Song 4", "Song 5"]
    line = next(
        line for line in printed(beet("canon", "review")).splitlines() if "Song 9.flac" in line
    )
    canon, *arguments = shlex.split(line)
    assert canon == "canon"
    assert "Song 9" in printed(beet(*arguments, program="chart_binder.__main__"), 3)
    runs = printed(beet("runs", "list", program="chart_binder.__main__"))
    assert "8 decided, 2 undecided: beet canon --write\n" in runs


def test_ctrl_c_keeps_what_is_decided(beet: Beet, tmp_path: Path) -> None:
    waiting = threading.Event()

    def hang_later(number: int, _: Request, honest: Response) -> Response:
        if number > 12:
            waiting.wait(30)
        return honest

    with MusicBrainzStandIn(BUNDLES, behave=hang_later) as mb:
        process = beet("canon", "--write", **(asking(mb) | {"CANON_MUSICBRAINZ__TIMEOUT_S": "30"}))
        assert process.stdout
        first = process.stdout.readline()
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        shown = first + printed(process, 130)
        assert time.monotonic() - begun < 5
        waiting.set()
    assert "stops within two seconds, and keeps what is decided" in shown
    assert "stopped: interrupted; " in shown
    kept = printed(beet("ls", "-f", "$title", "canon_state::.")).split()
    assert 0 < len(kept) < 2 * len(BUNDLES)
    with closing(sqlite3.connect(tmp_path / "data" / "canon" / "canon.db")) as store:
        [(count,)] = store.execute("SELECT count(*) FROM decisions").fetchall()
        [(status,)] = store.execute("SELECT status FROM runs").fetchall()
    assert (count, status) == (len(kept) / 2, 130)


def test_a_locked_store_is_named(beet: Beet, tmp_path: Path) -> None:
    with MusicBrainzStandIn(BUNDLES) as mb:
        printed(beet("canon", "title:=Song 1", **asking(mb)))
        store = tmp_path / "data" / "canon" / "canon.db"
        with closing(sqlite3.connect(store, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            url = {"CANON_STORE__URL": f"sqlite:///{store}?timeout=1"}
            shown = printed(beet("canon", "title:=Song 2", **(asking(mb) | url)), 1)
    assert "error: canon: the store" in shown
    assert "is locked by another program" in shown


def test_ctrl_c_ends_an_import_that_waits_for_answers(beet: Beet, tmp_path: Path) -> None:
    waiting = threading.Event()

    def hang_later(number: int, _: Request, honest: Response) -> Response:
        if number > 5:
            waiting.wait(30)
        return honest

    with (tmp_path / "config.yaml").open("a") as config:
        config.write("canon:\n  auto: yes\n")
    compilation_files(tmp_path / "second", "flac")
    with MusicBrainzStandIn(BUNDLES, behave=hang_later) as mb:
        settings = asking(mb) | {"CANON_MUSICBRAINZ__TIMEOUT_S": "2"}
        process = beet("import", "-qA", str(tmp_path / "second"), **settings)
        deadline = time.monotonic() + 30
        while len(mb.requests) < 6:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        shown = printed(process)
        waiting.set()
    assert shown.count("no whole answer within 2 s") <= 1
