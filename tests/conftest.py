"""Of the whole test run: plug-ins, what spares time, and the processes of `-n auto`."""

import gc
import os
import shutil
import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

# A run of all tests takes minutes; `--hypothesis-profile long` looks further.
settings.register_profile("short", max_examples=15)
settings.register_profile("long", max_examples=3_000)
settings.load_profile("short")

_MEMORY, _ROOM = "/dev/shm", 2 * 1024**3  # a run of all tests leaves a tenth of a gigabyte

pytest_plugins = ["chart_binder.testing", "pytester"]


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Begin alike wherever a run is started from.

    What is compiled is kept, or a hundred processes would compile the program anew. Ctrl-C reaches
    processes of a run in the background, which a shell lets ignore it. Files are made in memory
    where there is room: stores wait for the disk at every change, and that is most of their time.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Hold the garbage collector off thousands of tests, all of which stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Let a worker that has nothing left to do take tests from another one."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, for many tests wait for a process or a server."""
    ours = getattr(os, "sched_getaffinity", None)  # not on every system
    return (len(ours(0)) if ours else os.cpu_count() or 1) + 1
