"""MusicBrainz identifiers, one type for each kind of thing."""

import re
from typing import NewType

ArtistId = NewType("ArtistId", str)
RecordingId = NewType("RecordingId", str)
ReleaseGroupId = NewType("ReleaseGroupId", str)
ReleaseId = NewType("ReleaseId", str)

VARIOUS_ARTISTS = ArtistId("89ad4ac3-39f7-470e-963a-56509c546377")
"""MusicBrainz' special-purpose artist for records by many artists."""

MBID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
"""The form of a MusicBrainz identifier: a UUID."""


def bare_id(written: str) -> str:
    """Return an id as MusicBrainz writes it: a UUID in lower case, with no space around it.

    What is no UUID keeps its letters; a producer may have ids of its own.
    """
    bare = written.strip()
    return bare.lower() if MBID.fullmatch(bare) else bare
