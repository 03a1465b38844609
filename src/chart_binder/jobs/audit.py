"""Samples of stored decisions, what a person says of them, and the share of errors by rule."""

import hashlib
import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from chart_binder.domain.records import AuditRecord, AuditVerdict, DecisionRecord, now_utc
from chart_binder.errors import DamagedRecordError
from chart_binder.jobs.decide import Decision
from chart_binder.jobs.listing import ListedDecision
from chart_binder.jobs.stored_decisions import read_decision

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_Z_95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution, for an interval of 95 %."""
_NO_RULE = "none"
Outcome: TypeAlias = tuple[bytes, str | None, str | None, str | None]
"""What is judged: the file, the release group, the rule, and the date of the first release."""


def sample(
    rows: Iterable[ListedDecision], size: int, seed: int, *, is_by_rule: bool = False
) -> list[ListedDecision]:
    """Return `size` decisions drawn at random, or as many of each rule.

    A file is drawn by the hash of its path and the seed: the same seed draws the same files again,
    also where others came in between.
    """
    drawn: defaultdict[str, list[tuple[int, ListedDecision]]] = defaultdict(list)
    for row in rows:
        digest = hashlib.sha256(b"%d:" % seed + row.kept.path).digest()
        heap = drawn[(row.rule or _NO_RULE) if is_by_rule else ""]
        rank = -int.from_bytes(digest)  # of a heap the smallest goes: the largest hash
        if len(heap) < size:
            heapq.heappush(heap, (rank, row))
        else:
            heapq.heappushpop(heap, (rank, row))
    return [
        row for rule in sorted(drawn) for _, row in sorted(drawn[rule], key=lambda each: -each[0])
    ]


class RuleErrors(msgspec.Struct, frozen=True):
    """How a rule was judged; shares are of those that are right or wrong.

    `low` and `high` bound the share of errors with a confidence of 95 %. Without a judgement that
    counts, shares are absent.
    """

    rule: str
    right: int
    wrong: int
    unsure: int
    share: float | None
    low: float | None
    high: float | None


class AuditReport(msgspec.Struct, frozen=True):
    """How often decisions are wrong, by rule and of all; `left` of the sample are not judged."""

    rules: tuple[RuleErrors, ...]
    all: RuleErrors
    left: int


def audit_report(
    rows: Sequence[ListedDecision], said: Mapping[Outcome, AuditVerdict]
) -> AuditReport:
    """Return the shares of errors among the decisions that were judged."""
    counts: defaultdict[str, Counter[AuditVerdict]] = defaultdict(Counter)
    left = 0
    for row in rows:
        verdict = said.get(outcome(row.kept, row.decision))
        if verdict is None:
            left += 1
        else:
            counts[row.rule or _NO_RULE][verdict] += 1
    total = sum(counts.values(), Counter())
    by_rule = sorted((_errors(rule, found) for rule, found in counts.items()), key=_by_size)
    return AuditReport(tuple(by_rule), _errors("all", total), left)


def _by_size(row: RuleErrors) -> tuple[int, str]:
    return -(row.right + row.wrong + row.unsure), row.rule


def _errors(rule: str, found: Mapping[AuditVerdict, int]) -> RuleErrors:
    right, wrong, unsure = (found[each] for each in AuditVerdict)
    judged = right + wrong
    low, high = wilson_interval(wrong, judged) if judged else (None, None)
    return RuleErrors(rule, right, wrong, unsure, wrong / judged if judged else None, low, high)


def wilson_interval(count: int, of: int) -> tuple[float, float]:
    """Return the bounds, with 95 % confidence, of a share of which `count` in `of` were found.

    The score interval of E. B. Wilson, "Probable inference, the law of succession, and statistical
    inference", Journal of the American Statistical Association 22 (1927), pages 209 to 212: it
    stays within 0 and 1 and holds for few cases and for a count of 0.
    """
    share, z2 = count / of, _Z_95**2
    middle = share + z2 / (2 * of)
    spread = _Z_95 * math.sqrt(share * (1 - share) / of + z2 / (4 * of**2))
    scale = 1 + z2 / of
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def outcome(kept: DecisionRecord, decision: Decision) -> Outcome:
    """Return what a verdict is about: it holds for a later decision that comes to the same."""
    first = decision.first_release
    return kept.path, decision.crg_mbid, decision.crg_rule, first.date if first else None


def judged(store: "Store") -> dict[Outcome, AuditVerdict]:
    """Return what people said of samples, by what they judged. Raises `StoreError`."""
    found: dict[Outcome, AuditVerdict] = {}
    for audit in store.audits.latest().values():
        kept = store.decisions.by_id(audit.decision_id)
        try:
            if kept:
                found[outcome(kept, read_decision(kept))] = audit.verdict
        except DamagedRecordError:  # it is reported where decisions are listed
            continue
    return found


def judge(store: "Store", row: ListedDecision, verdict: AuditVerdict) -> None:
    """Save what a person says of a decision. Raises `StoreError`."""
    audit = AuditRecord(decision_id=row.kept.id, verdict=verdict, at_utc=now_utc())
    store.audits.put(audit)
