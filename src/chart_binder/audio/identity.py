"""A file can be looked up by its recording id, by an ISRC, else by artist together with title."""

from pathlib import Path

from chart_binder.audio.files import shown
from chart_binder.domain.track import TrackTags
from chart_binder.errors import UnidentifiedError


def require_identity(tags: TrackTags, path: Path) -> None:
    """Raise `UnidentifiedError`, naming what is missing, if the tags identify no recording."""
    if tags.recording_mbid or tags.isrcs or (tags.artist and tags.title):
        return
    names = [name for name, value in (("artist", tags.artist), ("title", tags.title)) if not value]
    raise UnidentifiedError(
        f"{shown(path)} says too little to be looked up: its tags have no MusicBrainz recording id,"
        f" no ISRC and no {' and no '.join(names)}"
    )
