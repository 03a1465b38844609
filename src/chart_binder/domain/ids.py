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
