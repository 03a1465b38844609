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
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import walk_packages

import mutagen

import chart_binder
from chart_binder import plugins

_NOT_LOADED = (
    "chart_binder.__main__", "chart_binder.testing",
    "mutagen._tools", "mutagen.m4a",
)  # fmt: skip
_AND = (
    "encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.utf_16_le",
    "sqlalchemy.dialects.oracle",
)  # fmt: skip
"""What is loaded on demand elsewhere."""
_GROUPS = ("dialects", "tools", "chat_models")


Forking = Callable[[list[str], tuple[Path, ...], Path, Mapping[str, str]], int]
"""From arguments, files for the three streams, a folder and an environment to an exit status."""


@contextmanager
def forking() -> Iterator[Forking]:
    """Start the process that forks, and let it end."""
    command = [sys.executable, "-W", "error", __file__]
    environment = os.environ | {"PYTHONUTF8": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        to, back = process.stdin, process.stdout
        assert to
        assert back

        def run(
            arguments: list[str], streams: tuple[Path, ...], cwd: Path, env: Mapping[str, str]
        ) -> int:
            to.write(json.dumps([arguments, list(map(str, streams)), str(cwd), dict(env)]) + "\n")
            to.flush()
            return int(back.readline())

        yield run
        to.close()


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
    # What the first standard error could do, such as seeking, this one may not.
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    from chart_binder.cli.main import run

    status = 70
    try:
        status = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001  # a fault of the program: to be seen in the tests
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    _serve()
