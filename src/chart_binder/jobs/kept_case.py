"""What is kept of a case, beside the file it is about."""

import hashlib
import io
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import write_bundle
from chart_binder.domain.kept import KeptDecision, KeptEvidence, KeptTranscript, new_id, now_utc
from chart_binder.errors import CanonError
from chart_binder.files import read_named
from chart_binder.jobs.decide import Case
from chart_binder.jobs.decision import Decision
from chart_binder.jobs.file_names import kept_path
from chart_binder.llm.result import Outcome
from chart_binder.react.transcript import record_in
from chart_binder.rules.table import TABLE_VERSION

_DIGITS = 16

Kept: TypeAlias = tuple[KeptDecision, KeptEvidence | None, KeptTranscript | None]
"""A decision with the evidence and the transcript that it rests on."""


@dataclass(frozen=True, slots=True)
class Under:
    """What decisions are kept under: their run, and what decided besides evidence.

    `rules` is a `rules_version`; `adjudicator` the `adjudicator_version` of a model's answers.
    """

    run_id: str
    rules: str
    adjudicator: str = ""


def to_keep(case: Case, path: Path, before: os.stat_result, under: Under) -> Kept:
    """Return what is kept of a case; `before` is the file as it was while its tags were read."""
    decision = case.decision
    known = decision.evidence_hash
    evidence = KeptEvidence(known, _facts(case.bundle)) if known and case.bundle else None
    transcript = _transcript(decision)
    artifact = case.bundle.artifact if case.bundle else None
    kept = KeptDecision(
        id=new_id(),
        run_id=under.run_id,
        path=kept_path(path),
        file_size=before.st_size,
        file_mtime_ns=before.st_mtime_ns,
        recording_mbid=decision.recording_mbid,
        state=decision.state,
        decided_by=decision.decided_by,
        crg_mbid=decision.crg_mbid,
        rr_mbid=decision.rr_mbid,
        evidence_hash=known,
        rules_version=under.rules,
        trace=decision.trace,
        document=msgspec.json.encode(decision),
        decided_at_utc=now_utc(),
        transcript_id=transcript.id if transcript else None,
        artifact=msgspec.json.encode(artifact) if artifact else None,
        adjudicator=under.adjudicator if _is_answered(decision) else None,
    )
    return kept, evidence, transcript


def file_status(path: Path) -> os.stat_result | None:
    """Return how a file stands; `None` for what is no file, or cannot be looked at."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # the attempt says in its own words what is wrong
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def rules_version(knobs: RulesConfig) -> str:
    """Return a hash of the rule table's version and its knobs: what decided besides evidence."""
    said = msgspec.json.encode([TABLE_VERSION, knobs.model_dump(mode="json")], order="sorted")
    return hashlib.sha256(said).hexdigest()[:_DIGITS]


def _is_answered(decision: Decision) -> bool:
    found = decision.adjudication
    return found is not None and found.outcome is not Outcome.ERROR


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
