"""Of the whole test run: plug-ins, and how many processes `-n auto` stands for."""

import os

import pytest

pytest_plugins = ["chart_binder.testing", "pytester"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, for many tests wait for a process or a server."""
    return len(os.sched_getaffinity(0)) + 1
