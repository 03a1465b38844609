"""What people said of a model's answers is what is known of their being right."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from chart_binder.domain.ids import bare_id
from chart_binder.domain.kept import KeptVerdict, VerdictKind
from chart_binder.errors import CanonError, DamagedRecordError
from chart_binder.jobs.answers import Known
from chart_binder.jobs.fitting import FEWEST
from chart_binder.jobs.keeping import kept_decision
from chart_binder.llm.result import AdjudicationResult

if TYPE_CHECKING:
    from chart_binder.store.store import Store


def reviewed_answers(
    store: "Store", model_id: str, unread: Callable[[str], None]
) -> list[Known]:  # fmt: skip
    """Return each answer of a model that a person accepted or rejected, once for its evidence.

    An answer that named no release group is none. One that cannot be read is left out, and `unread`
    is told what is wrong with it. Raises `StoreError`, and `CanonError` where there
    are too few to fit a calibration from, with the models whose answers there are.
    """
    counts: Counter[str] = Counter()
    found: dict[tuple[str, str, float], Known] = {}
    for verdict, result in _answers(store, unread):
        known = Known.of(result, right=_is_right(verdict, result), name=verdict.decision_id)
        if result.model_id == model_id:
            # Files that share evidence may share its one answer: the newest verdict on it counts.
            found[result.evidence_hash, result.crg_mbid or "", known.confidence] = known
        else:
            counts[result.model_id] += 1
    if len(found) < FEWEST:
        listed = ", ".join(f"{count} of {name!r}" for name, count in counts.most_common())
        others = f" ({listed}: llm.model_id says which)" if listed else ""
        raise CanonError(
            f"a calibration needs {FEWEST} answers that were reviewed, and there are {len(found)}"
            f" of the model {model_id!r}{others}"
        )
    return list(found.values())


def _answers(
    store: "Store", unread: Callable[[str], None]
) -> Iterator[tuple[KeptVerdict, AdjudicationResult]]:
    for verdict in store.verdicts.spoken():
        try:
            kept = store.decisions.by_id(verdict.decision_id)
            result = kept_decision(kept).adjudication if kept else None
        except DamagedRecordError as error:
            unread(str(error))
            continue
        if result and result.crg_mbid:
            yield verdict, result


def _is_right(verdict: KeptVerdict, result: AdjudicationResult) -> bool:
    if verdict.crg_mbid and result.crg_mbid:
        return bare_id(verdict.crg_mbid) == bare_id(result.crg_mbid)
    return verdict.verdict is VerdictKind.ACCEPT
