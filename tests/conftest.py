"""Of the whole test run: plug-ins, and how many processes `-n auto` stands for."""

import os

import pytest
from hypothesis import settings

# A run of all tests takes minutes; `--hypothesis-profile long` looks further.
settings.register_profile("short", max_examples=15)
settings.register_profile("long", max_examples=3_000)
settings.load_profile("short")

pytest_plugins = ["chart_binder.testing", "pytester"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, for many tests wait for a process or a server."""
    ours = getattr(os, "sched_getaffinity", None)  # not on every system
    return (len(ours(0)) if ours else os.cpu_count() or 1) + 1
