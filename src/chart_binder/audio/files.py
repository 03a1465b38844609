"""Why the file system would not hand out a file, as one sentence."""

from pathlib import Path

from chart_binder.errors import AudioError

# The first row that fits; anything else shows the system's own words.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (FileNotFoundError, "does not exist"),
    (NotADirectoryError, "does not exist: a part of its path is a file"),
    (IsADirectoryError, "is a folder, not an audio file"),
    (PermissionError, "may not be read: permission denied"),
)


def shown(path: Path) -> str:
    """Return the path as messages name it: quoted, with whatever a terminal cannot show escaped."""
    return repr(str(path))


def refused(path: Path, error: OSError | ValueError) -> AudioError:
    """Return what to tell the person at the terminal when `path` could not be reached.

    A `ValueError` is what Python raises for a path that no system can have (a NUL byte in it).
    """
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return AudioError(f"{shown(path)} {reason}")
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return AudioError(f"{shown(path)} cannot be read: {words}")
