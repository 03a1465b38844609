"""What was looked up for an album as a whole serves each of its files."""

from dataclasses import dataclass, field

from chart_binder.domain.ids import RecordingId
from chart_binder.musicbrainz.answers import Recording, Release
from chart_binder.musicbrainz.catalogue import Catalogue
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.service import Service


@dataclass(frozen=True, slots=True)
class Known:
    """What was looked up, by recording.

    `catalogues` know all releases of it; `tracks` are of a release, with their time of arrival.
    """

    catalogues: dict[RecordingId, Catalogue] = field(default_factory=dict)
    tracks: dict[RecordingId, tuple[Recording, float]] = field(default_factory=dict)


class AlbumClient(Client):
    """MusicBrainz for one piece of evidence, where much is known of the album already."""

    def __init__(self, service: Service, known: Known) -> None:
        super().__init__(service)
        self._known = known

    def recording(self, recording_id: RecordingId) -> Recording | None:
        """Return a recording; its id is another one where the asked one was merged into it."""
        if catalogue := self._known.catalogues.get(recording_id):
            self._uses(catalogue.fetched_at)
            return catalogue.recordings[recording_id]
        if track := self._known.tracks.get(recording_id):
            recording, fetched_at = track
            self._uses(fetched_at)
            return recording
        return super().recording(recording_id)

    def releases_of(self, recording_id: RecordingId) -> tuple[Release, ...]:
        """Return all releases that contain a recording, never a part of them."""
        if catalogue := self._known.catalogues.get(recording_id):
            self._uses(catalogue.fetched_at)
            return catalogue.releases_of(recording_id)
        return super().releases_of(recording_id)
