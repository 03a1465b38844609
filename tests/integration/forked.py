"""Runs the command line in processes that are forked from one that has loaded it all.

As a program it reads a request a line (arguments in JSON, with a folder, an environment, and files
for the three streams), and answers with the exit status. A process so made is one of its own, yet
starts in hundredths of a second: what starting costs is measured elsewhere.
"""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import walk_packages
from typing import IO

import mutagen

import chart_binder
from chart_binder import plugins

_NOT_LOADED = (
    "chart_binder.__main__", "chart_binder.testing", "chart_binder.jobs.batch.dask_",
    "chart_binder.react.json.lenient",
    "mutagen._tools", "mutagen.m4a",
)  # fmt: skip
_AND = (
    "encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.utf_16_le",
    "sqlalchemy.dialects.oracle",
)  # fmt: skip
"""What is loaded on demand elsewhere."""
_GROUPS = ("dialects", "tools", "chat_models", "evidence_sources", "adjudicators")


@dataclass(frozen=True, slots=True)
class Forking:
    """A process that waits for requests."""

    process: subprocess.Popen[str]

    def run(
        self, arguments: list[str], streams: tuple[Path, ...], cwd: Path,
        environment: Mapping[str, str],
    ) -> int:  # fmt: skip
        """Run the command line, its streams being files, and return its exit status."""
        request = [arguments, list(map(str, streams)), str(cwd), dict(environment)]
        to, back = self._pipes
        to.write(json.dumps(request) + "\n")
        to.flush()
        return int(back.readline())

    @property
    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self.process.stdin
        assert self.process.stdout
        return self.process.stdin, self.process.stdout


@contextmanager
def forking() -> Iterator[Forking]:
    """Start the process, and let it end."""
    command = [sys.executable, "-W", "error", __file__]
    environment = os.environ | {"PYTHONUTF8": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield Forking(process)
        assert process.stdin
        process.stdin.close()


def _serve() -> None:
    for module in chain(_modules(), _AND):
        import_module(module)
    for group in _GROUPS:
        plugins.names(f"chart_binder.{group}")
    gc.freeze()  # what a child's collector does not touch stays shared
    for line in sys.stdin:
        arguments, streams, cwd, environment = json.loads(line)
        child = os.fork()
        if not child:
            _become(arguments, streams, cwd, environment)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _modules() -> Iterator[str]:
    for package in (chart_binder, mutagen):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(_NOT_LOADED):
                yield module.name


def _become(
    arguments: list[str], streams: list[str], cwd: str, environment: dict[str, str]
) -> None:
    for number, (name, flags) in enumerate(
        zip(streams, (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)
    ):
        os.dup2(os.open(name, flags), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    from chart_binder.cli.main import run

    status = 70
    try:
        status = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        if status == 70:  # a fault of the program: to be seen by who runs the tests
            import traceback

            traceback.print_exc()
            sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve()
