"""What MusicBrainz says about recordings, as the evidence needs it."""

from chart_binder.domain.ids import ArtistId, RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz import questions
from chart_binder.musicbrainz.answers import Artist, Metadata, Recording, Release, ReleaseGroup
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
        count: int | None = None
        for _ in range(_MOST_PAGES):
            asked.append(questions.releases_of(recording_id, offset))
            metadata = self._asked(asked[-1])
            page = metadata.release_list or ()
            releases |= {release.id: release for release in page}
            offset += len(page)
            before, count = count, metadata.release_count or 0
            if before not in {None, count}:
                raise self._incomplete(asked, f"{count} releases, and {before} a page before")
            if offset >= count and len(releases) >= count:
                return tuple(releases.values())
            if not page or offset >= count:
                raise self._incomplete(asked, f"{len(releases)} of {count} releases")
        raise self._service.failed(f"recording {recording_id} is on more than {offset} releases")

    def artist(self, artist_id: ArtistId) -> Artist | None:
        """Return an artist."""
        return self._asked(questions.artist(artist_id)).artist

    def release_group(self, group_id: ReleaseGroupId) -> ReleaseGroup | None:
        """Return a release group; its id is another one where the asked one was merged into it."""
        return self._asked(questions.release_group(group_id)).release_group

    def releases_in(self, group_id: ReleaseGroupId) -> tuple[tuple[Release, ...], int]:
        """Return the releases of a group, at most a page of them, and how many there are."""
        found = self._asked(questions.releases_in(group_id))
        releases = found.release_list or ()
        return releases, max(found.release_count or 0, len(releases))

    def release(self, release_id: ReleaseId) -> Release | None:
        """Return a release with its tracks; of another id where it was merged into it."""
        return self._asked(questions.release(release_id)).release

    def search_groups(self, title: str, artist: str) -> tuple[ReleaseGroup, ...]:
        """Search release groups, by the very words of title and artist if any has them.

        Without an artist the words of `title` may be those of either.
        """
        asked = [questions.search_groups_loosely(title, artist or title)]
        if artist:
            asked.insert(0, questions.search_groups(title, artist))
        found = (self._asked(question).release_group_list for question in asked)
        return next(filter(None, found), None) or ()

    def _incomplete(self, asked: list[Question], part: str) -> LookupFailedError:
        """Forget the pages: one of them is wrong, and kept it would be so again."""
        for question in asked:
            self._service.forget(question)
        return self._service.failed(f"the answer is incomplete: {part}; try again later")

    def _asked(self, question: Question) -> Metadata:
        answer = self._service.ask(question)
        self._uses(answer.fetched_at)
        return answer.metadata or Metadata()

    def _uses(self, fetched_at: float) -> None:
        """Remember that an answer of this age is used."""
        if self.oldest_at is None or fetched_at < self.oldest_at:
            self.oldest_at = fetched_at
