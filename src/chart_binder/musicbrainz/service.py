"""Questions are answered from the cache, or else by the server in a few tries."""

import logging
import math
from dataclasses import dataclass

from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz.answers import Metadata, UnreadableError, error_text, read
from chart_binder.musicbrainz.pace import Pace
from chart_binder.musicbrainz.ports import AnswerCache
from chart_binder.musicbrainz.questions import Question
from chart_binder.musicbrainz.server import Server
from chart_binder.musicbrainz.tally import Tally
from chart_binder.musicbrainz.transport import FailureError

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
