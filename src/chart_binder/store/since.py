"""Kept answers of which the older ones count for nothing."""

from chart_binder.store.answers import Cached, CachedAnswers


class AnswersSince:
    """Answers that were fetched since a moment, in seconds since the epoch; new ones are kept."""

    def __init__(self, answers: CachedAnswers, moment: float) -> None:
        self._answers = answers
        self._moment = moment
        self.put = answers.put
        self.forget = answers.forget

    def get(self, key: str) -> Cached | None:
        """Return the answer kept under `key`, if it is new enough. Raises `StoreError`."""
        kept = self._answers.get(key)
        return kept if kept and kept.fetched_at >= self._moment else None
