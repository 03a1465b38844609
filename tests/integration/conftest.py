"""The command line as a process, in a home of its own."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from golden.bundles import Bundle, golden, year_only_single
from integration.forked import Forking, forking
from integration.services import asking, file_of
from servers.musicbrainz import MusicBrainzStandIn

REPOSITORY = Path(__file__).parents[2]
_KEPT = ("PATH", "LANG", "SYSTEMROOT", "PYTHONPATH")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output read as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def line(self) -> dict[str, Any]:
        """The only line of standard output, read as JSON."""
        (line,) = self.lines
        return line

    def must_end(self, status: int, *words: str) -> "Ran":
        """Hold the run to its exit status, and to words on either stream, wrapped or not."""
        told = self.out + self.err
        unwrapped = " ".join(told.split())
        assert self.status == status, told
        assert [each for each in words if each not in told and each not in unwrapped] == [], told
        return self


Canon = Callable[..., Ran]


def in_store(home: Path, statement: str, *values: object) -> list[Any]:
    """Run a statement in the store of a home, as nobody but a test does."""
    with sqlite3.connect(home / "data" / "canon" / "canon.db") as database:
        return database.execute(statement, values).fetchall()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder; the program runs in `work` below it."""
    (tmp_path / "work").mkdir()
    return tmp_path


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """The least a program needs, with every folder it may write to below `home`."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {
        "HOME": str(home), "XDG_DATA_HOME": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"), "XDG_CACHE_HOME": str(home / "cache"),
        "PYTHONWARNINGS": "error", "PYTHONUTF8": "1",
    }  # fmt: skip


@pytest.fixture
def cold_canon(home: Path, environment: dict[str, str]) -> Canon:
    """Run `canon` as a user does, from the start of Python on: for what depends on that."""

    def run(*arguments: object, stdin: bytes = b"", **variables: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "chart_binder", *map(_argument, arguments)], input=stdin,
            capture_output=True, cwd=home / "work", env=environment | variables, timeout=60,
            check=False,
        )  # fmt: skip
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def _argument(value: object) -> str:
    return os.fspath(value) if isinstance(value, Path) else str(value)


@pytest.fixture(scope="session")
def forked() -> Iterator[Forking]:
    """A process that has loaded the program, to fork others from."""
    with forking() as process:
        yield process


@pytest.fixture
def canon(home: Path, environment: dict[str, str], forked: Forking) -> Canon:
    """Run `canon` with arguments, standard input, and more environment.

    Each run is a process of its own, forked from one that has loaded the program: starting Python
    for each would cost more than everything that is tested. `knowing` are the bundles of a
    MusicBrainz that is there for this run.
    """

    def run(
        *arguments: object, stdin: bytes = b"", knowing: Sequence[Bundle] = (), **variables: str
    ) -> Ran:
        if knowing:
            with MusicBrainzStandIn(knowing) as server:
                variables = asking(server) | variables
                return run(*arguments, stdin=stdin, knowing=(), **variables)
        streams = tuple(home / f".stream-{number}" for number in range(3))
        for stream, content in zip(streams, (stdin, b"", b""), strict=True):
            stream.write_bytes(content)
        status = forked(
            list(map(_argument, arguments)), streams, home / "work", environment | variables
        )
        out, err = (stream.read_bytes().decode() for stream in streams[1:])
        assert "Traceback" not in err, err
        return Ran(status, out, err)

    return run


Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(home: Path, environment: dict[str, str]) -> Iterator[Start]:
    """Start `canon` in a session of its own, with pipes, and go on; in the end it is killed."""
    begun: list[subprocess.Popen[bytes]] = []

    def run(*arguments: object, **variables: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "chart_binder", *map(_argument, arguments)],
            env=environment | variables, cwd=home / "work", start_new_session=True, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        begun.append(process)
        return process

    yield run
    for process in begun:
        with process:
            process.kill()


@pytest.fixture
def mb() -> Iterator[MusicBrainzStandIn]:
    """A MusicBrainz that knows the recording of `song`."""
    with MusicBrainzStandIn([golden("lead-bohemian")]) as server:
        yield server


@pytest.fixture
def song(home: Path) -> Path:
    """An audio file that the rules can decide."""
    return file_of(golden("lead-bohemian"), home)


@pytest.fixture
def open_bundle(home: Path) -> Path:
    """An evidence bundle that the rules leave open."""
    path = home / "open.json"
    path.write_text(json.dumps(year_only_single()), "utf-8")
    return path
