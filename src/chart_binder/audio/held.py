"""A file is held while its tags are changed, so that of two runs the second waits for the first."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chart_binder.audio.files import shown
from chart_binder.audio.opened import opened
from chart_binder.audio.temporaries import locked
from chart_binder.errors import SaveError

PATIENCE_S = 10.0
"""How long another run may take for a file; a copy of an album's longest track takes about one."""
_AGAIN_S = 0.05


class HeldError(SaveError):
    """Another run is changing the file's tags, and took longer than it was waited for."""


@contextmanager
def held(target: Path, patience_s: float = PATIENCE_S) -> Iterator[int]:
    """Hand out a descriptor of a file that no other run changes until it is given back.

    Runs keep to this among themselves (`flock`), on a file system that has locks; other programs
    do not. Raises `AudioError` as `opened` does, and `HeldError`.
    """
    until = time.monotonic() + patience_s
    while True:
        with opened(target) as descriptor:
            if not locked(descriptor):
                if time.monotonic() >= until:
                    raise HeldError(
                        f"{shown(target)} is left as it is: another run is writing its tags, and"
                        f" did not end within {patience_s:g} s"
                    )
            elif _is_named(descriptor, target):
                yield descriptor
                return
            else:
                continue  # whoever held it put a new file in its place
        time.sleep(_AGAIN_S)


def _is_named(descriptor: int, target: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), target.stat())
    except OSError:  # gone: opening it anew says so
        return False
