"""Permissions bind nobody who is root, as in many a container: tests of them step down."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = 65_534


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be nobody for a while, if this is root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
