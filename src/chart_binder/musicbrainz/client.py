"""What MusicBrainz says about recordings, as the evidence needs it."""

import logging
import math
from dataclasses import dataclass

from chart_binder.domain.vocabulary import ArtistId, RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz import queries
from chart_binder.musicbrainz.http import AnswerCache, FailureError, Pace, Server, Tally
from chart_binder.musicbrainz.queries import Question
from chart_binder.musicbrainz.responses import (
    Artist,
    Metadata,
    Recording,
    Release,
    ReleaseGroup,
    UnreadableError,
    error_text,
    read,
)

LONGEST_WAIT_S = 30.0
"""A server that wants to be left alone for longer is not waited for."""
_PAUSES_S = (0.5, 1.0)
"""Before the second try, then before the third; longer if the server asks for it."""

TRIES = 1 + len(_PAUSES_S)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered, `None` where MusicBrainz knows no such thing, with its time of arrival."""

    metadata: Metadata | None
    fetched_at: float


class Service:
    """MusicBrainz with a memory; without a server it is offline, and kept answers must do.

    Failures are never kept; that MusicBrainz knows no such thing is an answer like any other.
    """

    def __init__(
        self, host: str, server: Server | None, cache: AnswerCache, pace: Pace, ttl_s: float
    ) -> None:
        self.host = host
        self._server = server
        self._cache = cache
        self._pace = pace
        self._ttl_s = ttl_s
        self.kept_used = Tally()

    @property
    def requests(self) -> int:
        """How many requests were sent, those that failed among them."""
        return self._server.sent.count if self._server else 0

    def ask(self, question: Question) -> Answer:
        """Return the answer, kept or new, or raise `LookupFailedError`.

        An answer older than `ttl_s` is asked for again. Where that fails the old one is used, with
        a warning: a known age is better than no evidence.
        """
        key = self.host + question.target
        kept = self._kept(key, question)
        if kept is not None and self.is_fresh(kept.fetched_at):
            self.kept_used.add_one()
            _log.debug(
                "musicbrainz", extra={"path": question.target, "cached": True, "seconds": 0.0}
            )
            return kept
        try:
            return self._fetched(question, key)
        except LookupFailedError as error:
            if kept is None:
                raise
            age_s = round(self.age_s(kept.fetched_at))
            _log.warning(
                "an old musicbrainz answer is used", extra={"why": str(error), "age_s": age_s}
            )
            self.kept_used.add_one()
            return kept

    def cost(self, question: Question) -> float:
        """Return how many requests an answer will take: none if it is kept, else one.

        Offline no number of requests brings what is not kept.
        """
        kept = self._cache.get(self.host + question.target)
        if kept is not None and self.is_fresh(kept.fetched_at):
            return 0
        return 1 if self._server else math.inf

    def is_fresh(self, fetched_at: float) -> bool:
        """Whether an answer of that time is used without asking again; offline any is."""
        return self._server is None or 0 <= self.now() - fetched_at < self._ttl_s

    def forget(self, question: Question) -> None:
        """Keep no answer to a question any more, as it proved to be wrong."""
        self._cache.forget(self.host + question.target)

    def now(self) -> float:
        """Return the time that answers are dated by, in seconds since the epoch."""
        return self._pace.clock()

    def age_s(self, fetched_at: float) -> float:
        """Return how many seconds ago something was fetched."""
        return max(0.0, self.now() - fetched_at)

    def failed(self, problem: str) -> LookupFailedError:
        """Return the error that says that the look-up failed, where and why."""
        return LookupFailedError(f"the look-up at MusicBrainz ({self.host}) failed: {problem}")

    def _fetched(self, question: Question, key: str) -> Answer:
        if self._server is None:
            raise self.failed(
                f"nothing is kept of {question.shown}, and canon is offline: run once without"
                " --offline"
            )
        for attempt in range(TRIES):
            try:
                body, metadata = self._server.ask(question)
            except FailureError as error:
                self._pace.wait(self._pause_s(error, attempt))
                continue
            answer = Answer(metadata, self._pace.clock())
            self._cache.put(key, body, answer.fetched_at)
            return answer
        raise AssertionError("the last try ends in an answer or a failure")

    def _pause_s(self, error: FailureError, attempt: int) -> float:
        """Return how long to wait for another try, or raise `LookupFailedError` if none is due."""
        if not error.is_passing:
            raise self.failed(f"{error}; {error.advice}") from error
        if attempt == TRIES - 1:
            raise self.failed(f"{error}, {TRIES} times; {error.advice}") from error
        if error.retry_after_s > LONGEST_WAIT_S:
            wanted = f"wants to be left alone for {error.retry_after_s:.0f} s"
            raise self.failed(f"{error} and {wanted}") from error
        pause_s = max(error.retry_after_s, _PAUSES_S[attempt])
        _log.info("musicbrainz is asked again", extra={"why": str(error), "after_s": pause_s})
        return pause_s

    def _kept(self, key: str, question: Question) -> Answer | None:
        kept = self._cache.get(key)
        if kept is None:
            return None
        try:
            metadata = None if error_text(kept.body) else read(kept.body, question.wanted)
        except UnreadableError as error:
            _log.warning(
                "a kept musicbrainz answer cannot be read", extra={"key": key, "why": str(error)}
            )
            return None
        return Answer(metadata, kept.fetched_at)


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
        return self._asked(queries.recording(recording_id)).recording

    def recordings_with(self, isrc: str) -> tuple[Recording, ...]:
        """Return the recordings that carry an ISRC."""
        found = self._asked(queries.recordings_with(isrc)).isrc
        return found.recording_list if found else ()

    def search(
        self, artist: str, title: str, length_ms: tuple[int, int] | None
    ) -> tuple[Recording, ...]:
        """Search by the very words of artist and title, within a span of lengths."""
        return self._asked(queries.search(artist, title, length_ms)).recording_list or ()

    def search_loosely(self, artist: str, title: str) -> tuple[Recording, ...]:
        """Search by any of the words of artist and title."""
        return self._asked(queries.search_loosely(artist, title)).recording_list or ()

    def releases_of(self, recording_id: RecordingId) -> tuple[Release, ...]:
        """Return all releases that contain a recording, never a part of them."""
        releases: dict[str, Release] = {}
        asked: list[Question] = []
        offset = 0
        count: int | None = None
        for _ in range(_MOST_PAGES):
            asked.append(queries.releases_of(recording_id, offset))
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
        return self._asked(queries.artist(artist_id)).artist

    def release_group(self, group_id: ReleaseGroupId) -> ReleaseGroup | None:
        """Return a release group; its id is another one where the asked one was merged into it."""
        return self._asked(queries.release_group(group_id)).release_group

    def releases_in(self, group_id: ReleaseGroupId) -> tuple[tuple[Release, ...], int]:
        """Return the releases of a group, at most a page of them, and how many there are."""
        found = self._asked(queries.releases_in(group_id))
        releases = found.release_list or ()
        return releases, max(found.release_count or 0, len(releases))

    def release(self, release_id: ReleaseId) -> Release | None:
        """Return a release with its tracks; of another id where it was merged into it."""
        return self._asked(queries.release(release_id)).release

    def search_groups(self, title: str, artist: str) -> tuple[ReleaseGroup, ...]:
        """Search release groups, by the very words of title and artist if any has them.

        Without an artist the words of `title` may be those of either.
        """
        asked = [queries.search_groups_loosely(title, artist or title)]
        if artist:
            asked.insert(0, queries.search_groups(title, artist))
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
