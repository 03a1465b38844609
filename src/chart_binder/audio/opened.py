"""Audio files are opened for reading, never a pipe, never waiting."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from chart_binder.audio.files import refused, shown
from chart_binder.errors import AudioError


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Hand out a descriptor of a regular file that is not empty; raise `AudioError` otherwise."""
    try:
        # Opening a pipe waits for somebody to write into it, unless told not to.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise refused(path, error) from error
    try:
        require_content(path, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def require_content(path: Path, status: os.stat_result) -> None:
    """Raise `AudioError` for what is no file, or is an empty one."""
    if S_ISDIR(status.st_mode):
        raise AudioError(f"{shown(path)} is a folder, not an audio file")
    if not S_ISREG(status.st_mode):
        raise AudioError(f"{shown(path)} is a device or a pipe, not an audio file")
    if not status.st_size:
        raise AudioError(f"{shown(path)} is empty (0 bytes)")
