"""The audio of a decision's file, with ranges."""

import os
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse

from chart_binder.jobs.stored_decisions import path_bytes, path_from_bytes

if TYPE_CHECKING:
    from chart_binder.store import Store

_TYPES = {
    ".aif": "audio/aiff", ".aifc": "audio/aiff", ".aiff": "audio/aiff", ".ape": "audio/x-ape",
    ".asf": "audio/x-ms-wma", ".dsf": "audio/x-dsf", ".flac": "audio/flac", ".m4a": "audio/mp4",
    ".m4b": "audio/mp4", ".m4p": "audio/mp4", ".mp+": "audio/x-musepack", ".mp2": "audio/mpeg",
    ".mp3": "audio/mpeg", ".mp4": "audio/mp4", ".mpc": "audio/x-musepack", ".oga": "audio/ogg",
    ".ogg": "audio/ogg", ".opus": "audio/ogg", ".wav": "audio/wav", ".wave": "audio/wav",
    ".wma": "audio/x-ms-wma", ".wv": "audio/x-wavpack",
}  # fmt: skip
"""The media types of audio files by suffix; files with other suffixes are not sent."""


def media_type(path: Path) -> str | None:
    """Return the media type of an audio file by its suffix, None for any other file."""
    return _TYPES.get(path.suffix.lower())


def audio_response(store: "Store", decision_id: str) -> FileResponse:
    """Return the audio file of a decision. Raises `HTTPException` 404 if it is not there.

    The path comes from the store alone, and has no links, as when it was decided.
    """
    record = store.decisions.by_id(decision_id)
    path = path_from_bytes(record.path) if record else Path()
    kind = media_type(path)
    if record is None or kind is None or path_bytes(path) != record.path:
        raise HTTPException(404, "There is no such audio file.")
    try:
        status = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - a link is refused
    except OSError as error:
        raise HTTPException(404, "The file is gone.") from error
    if not S_ISREG(status.st_mode):
        raise HTTPException(404, "There is no such audio file.")
    return FileResponse(path, media_type=kind, stat_result=status)
