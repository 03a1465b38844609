"""A person's verdict on a recording, as it is kept."""

import msgspec

from chart_binder.domain.ids import RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.domain.verdict import Override


class KeptOverride(msgspec.Struct, frozen=True):
    """What a person ruled on a recording, why, and when; the fields are the store's columns.

    Without `rr_mbid` the rules name the release. `set_at_utc` is ISO 8601 with microseconds, so
    that of two the newer sorts last.
    """

    recording_mbid: RecordingId
    crg_mbid: ReleaseGroupId
    rr_mbid: ReleaseId | None
    reason: str
    set_at_utc: str

    @property
    def ruling(self) -> Override:
        """What the rules are told."""
        return Override(self.crg_mbid, self.rr_mbid, self.reason)
