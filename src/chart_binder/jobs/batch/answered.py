"""What a model said of some evidence is not asked of it again."""

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

from chart_binder.errors import DamagedRecordError
from chart_binder.jobs.keeping import kept_decision
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.llm.unanswered import UNANSWERED

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_MOST_REMEMBERED = 500

_log = logging.getLogger(__name__)


class Answered:
    """Answers of this run, and of earlier ones in the store, by evidence hash.

    `adjudicator` is the `adjudicator_version` that an answer must have been given under. Where
    `runs` are given, only what they kept counts.
    """

    def __init__(
        self, store: "Store", adjudicator: str, runs: frozenset[str] = frozenset()
    ) -> None:
        self._store = store
        self._adjudicator = adjudicator
        self._runs = runs
        self._remembered: OrderedDict[str, AdjudicationResult] = OrderedDict()

    def known(self, evidence: str) -> AdjudicationResult | None:
        """Return what was answered of this evidence. Raises `StoreError`."""
        if evidence in self._remembered:
            return self._remembered[evidence]
        try:
            kept = self._store.decisions.by_evidence(evidence, self._adjudicator)
            if kept is None or (self._runs and kept.run_id not in self._runs):
                return None
            found = kept_decision(kept).adjudication
        except DamagedRecordError as error:
            _log.warning("asked again, for the answer cannot be read: %s", error)
            return None
        return found if is_answer(found) else None

    def learn(self, evidence: str, result: AdjudicationResult | None) -> None:
        """Remember an answer."""
        if result is None or not is_answer(result):
            return
        self._remembered[evidence] = result
        if len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)


def is_answer(result: AdjudicationResult | None) -> bool:
    """Say whether a case need not be asked about again, as far as its answer tells.

    A run that failed is no answer; nor one that came to nothing while a service failed.
    """
    if result is None:
        return True
    if result.outcome is Outcome.REJECTED:
        return all(check.passed or check.name != UNANSWERED for check in result.checks)
    return result.outcome is not Outcome.ERROR
