"""What was decided for a file is kept, with the evidence and the transcript it rests on."""

import hashlib
import io
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle, write_bundle
from chart_binder.domain.kept import (
    KeptDecision,
    KeptEvidence,
    KeptRun,
    KeptTranscript,
    new_id,
    now_utc,
)
from chart_binder.errors import CanonError, StoreError
from chart_binder.files import read_named
from chart_binder.jobs.decide import Case
from chart_binder.jobs.decision import Decision, State
from chart_binder.llm.result import Outcome
from chart_binder.react.transcript import record_in
from chart_binder.rules.table import TABLE_VERSION

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_INTERRUPTED = 130
_DIGITS = 16


@dataclass(slots=True)
class Keeper:
    """Keeps what a run decides; the run is kept when its first decision is."""

    store: "Store"
    run: KeptRun
    rules: str
    adjudicator: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    has_begun: bool = False

    def kept(self, path: Path, attempt: Callable[[], Case]) -> Case:
        """Decide the file at `path` by `attempt`, and keep the decision.

        Where that fails, the case is an error that says so, with the decision in it all the same.
        What is no file is decided, hence an error, and not kept.
        """
        before = _standing(path)  # as it is while its tags are read
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
        decision = case.decision
        known = decision.evidence_hash
        evidence = KeptEvidence(known, _facts(case.bundle)) if known and case.bundle else None
        transcript = _transcript(decision)
        artifact = case.bundle.artifact if case.bundle else None
        kept = KeptDecision(
            id=new_id(),
            run_id=self.run.id,
            path=kept_path(path),
            file_size=before.st_size,
            file_mtime_ns=before.st_mtime_ns,
            recording_mbid=decision.recording_mbid,
            state=decision.state,
            decided_by=decision.decided_by,
            crg_mbid=decision.crg_mbid,
            rr_mbid=decision.rr_mbid,
            evidence_hash=known,
            rules_version=self.rules,
            trace=decision.trace,
            document=msgspec.json.encode(decision),
            decided_at_utc=now_utc(),
            transcript_id=transcript.id if transcript else None,
            artifact=msgspec.json.encode(artifact) if artifact else None,
            adjudicator=self.adjudicator if _is_answered(decision) else None,
        )
        try:
            if not self.has_begun:
                self.store.runs.begin(self.run)
                self.has_begun = True
            self.store.decisions.put(kept, evidence, transcript)
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
    keeper = Keeper(store, run, rules_version(knobs), adjudicator)
    try:
        yield keeper
    except KeyboardInterrupt:
        with suppress(StoreError):  # whoever interrupts is told that alone
            keeper.end(_INTERRUPTED)
        raise


def kept_path(path: str | Path) -> bytes:
    """Return a path as the store has it: absolute, with links left in it, as bytes."""
    return os.fsencode(os.path.abspath(path))  # noqa: PTH100 - a link is a name of its own


def kept_decision(kept: KeptDecision) -> Decision:
    """Return the decision that was kept. Raises `StoreError` for a damaged one."""
    try:
        return msgspec.json.decode(kept.document, type=Decision)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"the decision {kept.id} in the store is damaged: {error}") from error


def kept_bundle(store: "Store", kept: KeptDecision) -> EvidenceBundle | None:
    """Return what a kept decision was made from, the file's own words included.

    `None` where there was no evidence. Raises `StoreError`.
    """
    if kept.evidence_hash is None:
        return None
    evidence = store.evidence.get(kept.evidence_hash)
    if evidence is None:
        return None
    try:
        bundle = read_bundle(evidence.document)
        said = msgspec.json.decode(kept.artifact, type=Artifact) if kept.artifact else None
    except (CanonError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"the evidence of {kept.id} in the store is damaged: {error}") from error
    return msgspec.structs.replace(bundle, artifact=said)


def rules_version(knobs: RulesConfig) -> str:
    """Return a hash of the rule table's version and its knobs: what decided besides evidence."""
    said = msgspec.json.encode([TABLE_VERSION, knobs.model_dump(mode="json")], order="sorted")
    return hashlib.sha256(said).hexdigest()[:_DIGITS]


def _is_answered(decision: Decision) -> bool:
    found = decision.adjudication
    return found is not None and found.outcome is not Outcome.ERROR


def _standing(path: Path) -> os.stat_result | None:
    try:
        found = path.stat()
    except (OSError, ValueError):  # the attempt says in its own words what is wrong
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _facts(bundle: EvidenceBundle) -> bytes:
    return write_bundle(msgspec.structs.replace(bundle, artifact=None))


def _transcript(decision: Decision) -> KeptTranscript | None:
    """Return the recorded run: from its file, if that can be read, or as it came."""
    found = decision.adjudication.transcript if decision.adjudication else None
    if not found:
        return None
    if isinstance(found, str):
        with suppress(CanonError):  # a warning said that it could not be recorded
            return KeptTranscript(Path(found).stem, read_named(found))
        return None
    lines = io.BytesIO()
    record = record_in(lines)
    for event in found:
        record(event)
    return KeptTranscript(new_id(), lines.getvalue())


def _not_kept(case: Case, error: StoreError) -> Case:
    failed = case.decision.error
    told = f"{failed}; nor can that be kept: {error}" if failed else f"decided, not kept: {error}"
    return replace(
        case, decision=msgspec.structs.replace(case.decision, state=State.ERROR, error=told)
    )
