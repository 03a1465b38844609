"""What MusicBrainz says about recordings, as the evidence needs it."""

from chart_binder.domain.ids import ArtistId, RecordingId
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz import questions
from chart_binder.musicbrainz.answers import Artist, Metadata, Recording, Release
from chart_binder.musicbrainz.questions import Question
from chart_binder.musicbrainz.service import Service

_MOST_PAGES = 100


class Client:
    """MusicBrainz for one piece of evidence; remembers how old the oldest answer used is.

    Every method raises `LookupFailedError` where MusicBrainz could not be asked; nothing, or an
    empty tuple, means that it knows no such thing.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self.oldest_at: float | None = None

    def recording(self, recording_id: RecordingId) -> Recording | None:
        """Return a recording; its id is another one where the asked one was merged into it."""
        return self._asked(questions.recording(recording_id)).recording

    def recordings_with(self, isrc: str) -> tuple[Recording, ...]:
        """Return the recordings that carry an ISRC."""
        found = self._asked(questions.recordings_with(isrc)).isrc
        return found.recording_list if found else ()

    def search(
        self, artist: str, title: str, length_ms: tuple[int, int] | None
    ) -> tuple[Recording, ...]:
        """Search by the very words of artist and title, within a span of lengths."""
        return self._asked(questions.search(artist, title, length_ms)).recording_list or ()

    def search_loosely(self, artist: str, title: str) -> tuple[Recording, ...]:
        """Search by any of the words of artist and title."""
        return self._asked(questions.search_loosely(artist, title)).recording_list or ()

    def releases_of(self, recording_id: RecordingId) -> tuple[Release, ...]:
        """Return all releases that contain a recording, never a part of them."""
        releases: dict[str, Release] = {}
        asked: list[Question] = []
        offset = 0
        for _ in range(_MOST_PAGES):
            asked.append(questions.releases_of(recording_id, offset))
            metadata = self._asked(asked[-1])
            page = metadata.release_list or ()
            releases |= {release.id: release for release in page}
            offset += len(page)
            count = metadata.release_count or 0
            if offset >= count and len(releases) >= count:
                return tuple(releases.values())
            if not page or offset >= count:
                raise self._incomplete(asked, f"{len(releases)} of {count} releases")
        raise self._service.failed(f"recording {recording_id} is on more than {offset} releases")

    def artist(self, artist_id: ArtistId) -> Artist | None:
        """Return an artist."""
        return self._asked(questions.artist(artist_id)).artist

    def _incomplete(self, asked: list[Question], part: str) -> LookupFailedError:
        """Forget the pages: one of them is wrong, and kept it would be so again."""
        for question in asked:
            self._service.forget(question)
        return self._service.failed(f"the answer is incomplete: {part}; try again later")

    def _asked(self, question: Question) -> Metadata:
        answer = self._service.ask(question)
        if self.oldest_at is None or answer.fetched_at < self.oldest_at:
            self.oldest_at = answer.fetched_at
        return answer.metadata or Metadata()
