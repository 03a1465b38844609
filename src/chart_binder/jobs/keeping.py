"""What was decided for a file is kept, with the evidence and the transcript it rests on."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.kept import (
    KeptDecision,
    KeptEvidence,
    KeptRun,
    new_id,
    now_utc,
)
from chart_binder.errors import CanonError, DamagedRecordError, StoreError
from chart_binder.jobs.decide import Case
from chart_binder.jobs.decision import Cause, Decision, State
from chart_binder.jobs.kept_case import Under, file_status, rules_version, to_keep
from chart_binder.typed import decoded

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_INTERRUPTED = 130
_FAILED = 1


@dataclass(slots=True)
class Keeper:
    """Keeps what a run decides; the run is kept when its first decision is."""

    store: "Store"
    run: KeptRun
    under: Under
    counts: Counter[str] = field(default_factory=Counter)
    has_begun: bool = False

    def kept(self, path: Path, attempt: Callable[[], Case]) -> Case:
        """Decide the file at `path` by `attempt`, and keep the decision.

        Where that fails, the case is an error that says so, with the decision in it all the same.
        What is no file is decided, hence an error, and not kept.
        """
        before = file_status(path)  # as it is while its tags are read
        case = attempt()
        if before is not None:
            case = self._keep(path, before, case)
        self.counts[case.decision.state] += 1
        return case

    def end(self, status: int) -> None:
        """Keep how the run ended, if it decided anything. Raises `StoreError`."""
        if self.has_begun:
            self.store.runs.end(self.run.id, now_utc(), status, self.counts)

    def _keep(self, path: Path, before: os.stat_result, case: Case) -> Case:
        kept = to_keep(case, path, before, self.under)
        try:
            if not self.has_begun:
                self.store.runs.begin(self.run)
                self.has_begun = True
            if not is_outweighed(self.store, kept[0], case.decision):
                self.store.decisions.put(*kept)
        except StoreError as error:
            return _not_kept(case, error)
        return case


@contextmanager
def keeping(
    store: "Store",
    command: str,
    arguments: Sequence[str],
    knobs: RulesConfig,
    adjudicator: str = "",
) -> Iterator[Keeper]:
    """Yield what keeps the decisions of one run, which says how it ended where it ends itself.

    `adjudicator` is the `adjudicator_version` that a model's answers are kept under.
    """
    run = KeptRun(
        id=new_id(), command=command, arguments=tuple(arguments), started_at_utc=now_utc()
    )
    keeper = Keeper(store, run, Under(run.id, rules_version(knobs), adjudicator))
    try:
        yield keeper
    except KeyboardInterrupt:
        with suppress(StoreError):  # whoever interrupts is told that alone
            keeper.end(_INTERRUPTED)
        raise
    except (OSError, CanonError):  # nobody reads the results any more, or they cannot be written
        with suppress(StoreError):
            keeper.end(_FAILED)
        raise


def kept_decision(kept: KeptDecision) -> Decision:
    """Return the decision that was kept. Raises `DamagedRecordError`."""
    try:
        return decoded(kept.document, Decision)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedRecordError(
            f"the decision {kept.id} in the store is damaged: {error}"
        ) from error


def is_outweighed(store: "Store", kept: KeptDecision, decision: Decision) -> bool:
    """Say whether a model failed over evidence that one answered for before: that stays to be seen.

    Raises `StoreError`.
    """
    if decision.cause is not Cause.MODEL:
        return False
    try:
        before = store.decisions.latest(kept.path)
    except DamagedRecordError:
        return False
    if before is None or before.adjudicator is None:
        return False
    return before.evidence_hash == kept.evidence_hash


def kept_bundle(store: "Store", kept: KeptDecision) -> EvidenceBundle | None:
    """Return what a kept decision was made from, the file's own words included.

    `None` where there was no evidence. Raises `StoreError`.
    """
    evidence = store.evidence.get(kept.evidence_hash) if kept.evidence_hash else None
    return bundle_of(kept, evidence) if evidence else None


def bundle_of(kept: KeptDecision, evidence: KeptEvidence) -> EvidenceBundle:
    """Return the evidence with the file's own words. Raises `StoreError` for a damaged one."""
    try:
        bundle = read_bundle(evidence.document)
        said = decoded(kept.artifact, Artifact) if kept.artifact else None
    except (CanonError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedRecordError(
            f"the evidence of {kept.id} in the store is damaged: {error}"
        ) from error
    return msgspec.structs.replace(bundle, artifact=said)


def _not_kept(case: Case, error: StoreError) -> Case:
    failed = case.decision.error
    told = f"{failed}; nor can that be kept: {error}" if failed else f"decided, not kept: {error}"
    return replace(
        case,
        decision=msgspec.structs.replace(
            case.decision, state=State.ERROR, error=told, cause=Cause.STORE
        ),
    )
