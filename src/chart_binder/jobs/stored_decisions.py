"""Save decisions in the store, and read them back."""

import hashlib
import io
import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from chart_binder.audio.open_file import AUDIO_SUFFIXES
from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle, with_recordings, write_bundle
from chart_binder.domain.records import (
    DecisionRecord,
    EvidenceRecord,
    RunRecord,
    StoredCase,
    TranscriptRecord,
    UnreadDecision,
    VerdictKind,
    VerdictRecord,
    WriteRecord,
    new_id,
    now_utc,
)
from chart_binder.errors import CanonError, DamagedRecordError, StoreError, end_status
from chart_binder.files import decode_json, read_file
from chart_binder.jobs.decision import Case, Cause, Decision, State
from chart_binder.llm.prompt import configured_prompt
from chart_binder.llm.result import Outcome
from chart_binder.react.transcript import record_in
from chart_binder.rules.premiere import TABLE_VERSION

if TYPE_CHECKING:
    from chart_binder.store import Store


K = TypeVar("K")
V = TypeVar("V")

_HASH_DIGITS = 16
_WITHOUT_EFFECT: dict[str, Any] = {
    "enabled": True,
    "ask": True,
    "base_url": True,
    "timeout_s": True,
    "stream": True,
    "api_key_env": True,
    "searxng": {"url", "timeout_s"},
    "fetch": {"timeout_s", "user_agent", "host_pause_s"},
}
"""Settings that do not change the answers of a model, such as addresses and timeouts."""


@dataclass(frozen=True, slots=True)
class RunVersions:
    """The run that decisions are saved under, and the versions of rules and adjudicator."""

    run_id: str
    rules: str
    adjudicator: str = ""


NO_RUN = RunVersions("", "")
"""For decisions that are not saved."""


@dataclass(slots=True)
class LazyRun:
    """A run that is saved with its first decision or write; without one it is not saved."""

    store: "Store"
    run: RunRecord
    counts: Counter[str] = field(default_factory=Counter)
    has_begun: bool = field(default=False, init=False)

    def begin(self) -> None:
        """Save the run unless it is saved already. Raises `StoreError`."""
        if not self.has_begun:
            self.store.runs.begin(self.run)
            self.has_begun = True

    def end(self, status: int) -> None:
        """Save the run's exit status, if it saved anything. Raises `StoreError`."""
        if self.has_begun:
            self.store.runs.end(self.run.id, now_utc(), status, self.counts)


def new_run(command: str, arguments: Sequence[str] = ()) -> RunRecord:
    """Return the record of a run that begins now."""
    return RunRecord(
        id=new_id(), command=command, arguments=tuple(arguments), started_at_utc=now_utc()
    )


def rules_version(rules: RulesConfig) -> str:
    """Return a hash of the rule table's version and its settings."""
    return _hash([TABLE_VERSION, rules.model_dump(mode="json")])


def adjudicator_version(llm: LLMConfig, rules: RulesConfig, *, reads_prose: bool = True) -> str:
    """Return a hash of what an answer depends on besides evidence: model, prompt, tools, rules."""
    return _hash([
        TABLE_VERSION,
        rules.model_dump(mode="json"),
        llm.model_dump(mode="json", exclude=_WITHOUT_EFFECT),
        configured_prompt(llm.prompt).name,
        reads_prose,
    ])  # fmt: skip


def _hash(parts: list[object]) -> str:
    encoded = msgspec.json.encode(parts, order="sorted")
    return hashlib.sha256(encoded).hexdigest()[:_HASH_DIGITS]


def path_bytes(path: str | Path) -> bytes:
    """Return a path as the store has it: absolute, links resolved, as bytes."""
    return os.fsencode(os.path.realpath(path))  # pathlib raises for circular links


def path_from_bytes(stored: bytes) -> Path:
    """Return the path that `path_bytes` made bytes of."""
    return Path(os.fsdecode(stored))


def is_below(path: bytes, folder: bytes) -> bool:
    """Return whether a stored path is `folder`, or is inside it."""
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def file_status(path: Path) -> os.stat_result | None:
    """Return the status of a regular file, `None` for anything else."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # reading the file reports the error
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def is_to_be_stored(path: Path, decision: Decision) -> bool:
    """Return whether a decision is to be stored: all are, except on unreadable non-audio files."""
    is_of_file = decision.state is State.ERROR and decision.cause is Cause.FILE
    return not is_of_file or path.suffix.lower() in AUDIO_SUFFIXES


def stored_case(
    case: Case, path: Path, before: os.stat_result | None, versions: RunVersions
) -> StoredCase:
    """Return the records to store for a case; `before` is the file's status before it was read."""
    decision = case.decision
    evidence_hash = decision.evidence_hash
    gathered = _without_added(case)
    evidence = None
    if evidence_hash and gathered:  # without the file's tags: files share evidence
        document = write_bundle(msgspec.structs.replace(gathered, artifact=None))
        evidence = EvidenceRecord(evidence_hash, document)
    transcript = _transcript(decision)
    artifact = case.bundle.artifact if case.bundle else case.artifact
    answer = decision.model_answer
    is_answered = answer is not None and answer.outcome is not Outcome.ERROR
    record = DecisionRecord(
        id=new_id(),
        run_id=versions.run_id,
        path=path_bytes(path),
        file_size=before.st_size if before else 0,
        file_mtime_ns=before.st_mtime_ns if before else 0,
        recording_mbid=decision.recording_mbid,
        state=decision.state,
        decided_by=decision.decided_by,
        crg_mbid=decision.crg_mbid,
        rr_mbid=decision.rr_mbid,
        evidence_hash=evidence_hash,
        rules_version=versions.rules,
        trace=decision.trace,
        document=msgspec.json.encode(decision),
        decided_at_utc=now_utc(),
        transcript_id=transcript.id if transcript else None,
        artifact=msgspec.json.encode(artifact) if artifact else None,
        adjudicator=versions.adjudicator if is_answered else None,
    )
    return record, evidence, transcript


def _without_added(case: Case) -> EvidenceBundle | None:
    """Return the evidence without recordings that a model added, which are in its answer."""
    answer = case.decision.model_answer
    if case.bundle is None or answer is None or not answer.added:
        return case.bundle
    added = {recording.mb_recording_id for recording in answer.added}
    gathered = tuple(
        recording
        for recording in case.bundle.recording_candidates
        if recording.mb_recording_id not in added
    )
    return msgspec.structs.replace(case.bundle, recording_candidates=gathered)


def _transcript(decision: Decision) -> TranscriptRecord | None:
    """Return the transcript of the adjudicator's run, from its file or from memory."""
    transcript = decision.model_answer.transcript if decision.model_answer else None
    if not transcript:
        return None
    if isinstance(transcript, str):
        with suppress(CanonError):  # a warning has reported that nothing was recorded
            return TranscriptRecord(Path(transcript).stem, read_file(transcript))
        return None
    lines = io.BytesIO()
    write_event = record_in(lines)
    for event in transcript:
        write_event(event)
    return TranscriptRecord(new_id(), lines.getvalue())


@contextmanager
def saved_run(store: "Store", command: str, arguments: Sequence[str]) -> Iterator[LazyRun]:
    """Yield a run to save decisions under; if it is cut short, save its exit status."""
    run = LazyRun(store, new_run(command, arguments))
    try:
        yield run
    except (KeyboardInterrupt, OSError, CanonError) as error:
        with suppress(StoreError):  # the first error is the one to report
            run.end(end_status(error))
        raise


def read_decision(record: DecisionRecord) -> Decision:
    """Return the decision in a record. Raises `DamagedRecordError`."""
    try:
        return decode_json(record.document, Decision)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"the decision {record.id} in the store is damaged: {error}"
        raise DamagedRecordError(problem) from error


def earlier_decision(store: "Store", record: DecisionRecord, decision: Decision) -> Decision | None:
    """Return the file's earlier decision if it is to stay the latest one. Raises `StoreError`.

    It stays if a look-up or a model failed this time. A model's answer to the same evidence stays
    if no model was asked this time, the file did not change, and the rules leave the case, or its
    year, open again.
    """
    first, year_answer = decision.first_release, decision.year_answer
    if decision.decided_by == "rules" and (not year_answer or year_answer.outcome is Outcome.ERROR):
        return _with_year_answered(store, record) if first and not first.year_certain else None
    is_failed = decision.cause is Cause.LOOKUP_FAILED
    is_unasked = decision.state is State.UNDECIDED and decision.adjudication is None
    if not (is_failed or is_unasked or decision.cause is Cause.MODEL):
        return None
    with suppress(DamagedRecordError):
        before = store.decisions.latest(record.path)
        if before is None:
            return None
        is_changed = _tags_read(before) != _tags_read(record)
        if is_failed:
            return None if is_changed or before.state == State.ERROR else read_decision(before)
        if before.adjudicator is not None and before.evidence_hash == record.evidence_hash:
            answer = read_decision(before)
            is_by_older_rules = (
                before.state == State.DECIDED and before.rules_version != record.rules_version
            )
            return None if is_unasked and (is_changed or is_by_older_rules) else answer
    return None


def _with_year_answered(store: "Store", record: DecisionRecord) -> Decision | None:
    """Return the earlier decision on the same evidence if it has a model's answer on the year."""
    with suppress(DamagedRecordError):
        before = store.decisions.latest(record.path)
        if before is None or before.decided_by != "rules" or _basis(before) != _basis(record):
            return None
        decision = read_decision(before)
        return decision if decision.year_answer else None
    return None


def _basis(record: DecisionRecord) -> tuple[object, ...]:
    """Return what a decision of the rules depends on."""
    return record.evidence_hash, record.rules_version, _tags_read(record)


def _tags_read(record: DecisionRecord) -> Artifact:
    """Return the tags of a decided file without the original date, because canon writes that."""
    artifact = stored_artifact(record) or Artifact()
    tags = {name: text for name, text in (artifact.tags or {}).items() if name != "original_date"}
    return msgspec.structs.replace(artifact, tags=tags)


def stored_bundle(store: "Store", record: DecisionRecord) -> EvidenceBundle | None:
    """Return the evidence of a decision, with tags and added recordings. Raises `StoreError`."""
    evidence = store.evidence.get(record.evidence_hash) if record.evidence_hash else None
    return _whole_bundle(record, evidence)


def _whole_bundle(record: DecisionRecord, evidence: EvidenceRecord | None) -> EvidenceBundle | None:
    bundle = bundle_with_tags(record, evidence) if evidence else None
    was_asked = record.adjudicator is not None or record.transcript_id is not None
    answer = read_decision(record).model_answer if bundle and was_asked else None
    return with_recordings(bundle, answer.added) if bundle and answer else bundle


def bundle_with_tags(record: DecisionRecord, evidence: EvidenceRecord) -> EvidenceBundle:
    """Return evidence with the tags in the decision. Raises `DamagedRecordError`."""
    try:
        bundle = read_bundle(evidence.document)
    except CanonError as error:
        problem = f"the evidence of {record.id} in the store is damaged: {error}"
        raise DamagedRecordError(problem) from error
    return msgspec.structs.replace(bundle, artifact=stored_artifact(record))


def stored_artifact(record: DecisionRecord) -> Artifact | None:
    """Return the file's tags in a decision. Raises `DamagedRecordError`."""
    try:
        return decode_json(record.artifact, Artifact) if record.artifact else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = f"the tags of the decision {record.id} in the store are damaged: {error}"
        raise DamagedRecordError(problem) from error


def current_decisions(
    store: "Store", paths: Sequence[bytes]
) -> Sequence[DecisionRecord | UnreadDecision | None]:
    """Return the newest decision on each file, or None, in the order of `paths`."""
    histories = store.decisions.histories(paths)
    return [next(iter(histories.get(path, ())), None) for path in paths]


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision on a file, stored or not, with a function that returns its evidence."""

    record: DecisionRecord
    evidence: Callable[[], EvidenceBundle | None]


class RecordsOfFiles:
    """The newest decisions on files, or `unsaved` ones, with their evidence, verdicts and writes.

    Each kind of record is read with one query. The methods raise `StoreError`; for a damaged
    record, `DamagedRecordError`.
    """

    def __init__(
        self, store: "Store", paths: Sequence[Path], unsaved: Mapping[Path, StoredDecision]
    ) -> None:
        self.store = store
        self._unsaved = unsaved
        keys = [path_bytes(path) for path in paths]
        self._newest = dict(zip(paths, current_decisions(store, keys), strict=True))
        self._newest |= {path: unsaved[path].record for path in paths if path in unsaved}
        records = [item for item in self._newest.values() if isinstance(item, DecisionRecord)]
        hashes = {record.evidence_hash for record in records if record.evidence_hash}
        self._evidence = _read_together(store.evidence.of, store.evidence.get, hashes)
        verdicts, ids = store.verdicts, [record.id for record in records]
        self._verdicts = _read_together(verdicts.histories, verdicts.history, ids)
        self._writes = _read_together(store.journal.of_paths, store.journal.of_path, keys)

    def decision(self, path: Path) -> DecisionRecord | None:
        """Return the decision on a file."""
        newest = self._newest[path]
        if isinstance(newest, UnreadDecision):
            raise DamagedRecordError(newest.problem)
        return newest

    def bundle(self, path: Path, record: DecisionRecord) -> EvidenceBundle | None:
        """Return the evidence of the decision on a file, as `stored_bundle` does."""
        if unsaved := self._unsaved.get(path):
            return unsaved.evidence()
        return _whole_bundle(record, self._evidence(record.evidence_hash or ""))

    def verdict(self, record: DecisionRecord) -> VerdictRecord | None:
        """Return the newest verdict that accepts a decision, or rejects it or an equal one."""
        history = self._verdicts(record.id) or ()
        lasting = (verdict for verdict in history if verdict.verdict is not VerdictKind.KEEP)
        if history or record.adjudicator is None:
            return next(lasting, None)
        before = self.store.verdicts.on_equal(record)
        return before if before and before.verdict is VerdictKind.REJECT else None

    def writes(self, path: Path) -> Sequence[WriteRecord]:
        """Return every write of a file, the newest first."""
        return self._writes(path_bytes(path)) or ()


def _read_together(
    read_all: Callable[[Collection[K]], Mapping[K, V]],
    read_record: Callable[[K], V | None],
    names: Collection[K],
) -> Callable[[K], V | None]:
    """Return a function that reads a record by its name.

    All records are read at once. If one of them is damaged, each is read by itself.
    """

    @cache
    def together() -> Mapping[K, V] | None:
        try:
            return read_all(names)
        except DamagedRecordError:
            return None

    def read_one(name: K) -> V | None:
        records = together()
        return read_record(name) if records is None else records.get(name)

    return read_one
