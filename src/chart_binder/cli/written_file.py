"""A file that is written anew is nobody's music: one slip of the keys would be the end of it."""

import os
from pathlib import Path

from chart_binder.audio.walking import AUDIO_SUFFIXES
from chart_binder.cli.results import readable
from chart_binder.errors import UsageError

_LEFT_OUT_OF_FOLDERS = frozenset({".asf", ".mp4"})


def require_no_song(option: str, path: str | Path) -> None:
    """Raise `UsageError` where a file that an option names, or a link leads to, is called audio."""
    places = map(Path, (path, os.path.realpath(path)))
    if any(place.suffix.lower() in AUDIO_SUFFIXES | _LEFT_OUT_OF_FOLDERS for place in places):
        raise UsageError(f"{option} {readable(str(path))}: so audio is called, and is not replaced")
