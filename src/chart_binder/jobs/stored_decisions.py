"""What a person can do about a file of which nothing came."""

import hashlib
import io
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.reading import read_tags
from chart_binder.audio.tagset import TagSet
from chart_binder.config import AcceptanceConfig, LLMConfig, RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle, write_bundle
from chart_binder.domain.records import (
    KeptDecision,
    KeptEvidence,
    KeptRun,
    KeptTranscript,
    KeptVerdict,
    UnreadDecision,
    VerdictKind,
    WriteState,
    new_id,
    now_utc,
)
from chart_binder.domain.tags import Chosen, TrackTags
from chart_binder.domain.verdict import KeptOverride
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import CanonError, DamagedRecordError, StoreError
from chart_binder.files import read_file
from chart_binder.jobs.decide import Case, Cause, Decision, State
from chart_binder.llm.confidence import AS_STATED, read_confidence_map
from chart_binder.llm.prompt import configured_prompt
from chart_binder.llm.result import Outcome, why_not_written
from chart_binder.react.transcript import record_in
from chart_binder.rules.premiere import TABLE_VERSION
from chart_binder.typed import decoded

if TYPE_CHECKING:
    from chart_binder.store.store import Store


def stored_names(path: Path) -> tuple[bytes, ...]:
    """Return a file's names in the store: its own, then as a link that leads to it was named.

    Stores from before version 3 of the schema have decisions by the names of links.
    """
    return path_bytes(path), os.fsencode(os.path.abspath(path))  # noqa: PTH100 - the link itself


def path_bytes(path: str | Path) -> bytes:
    """Return a path as the store has it: absolute, as bytes, the file's own where a link leads."""
    return os.fsencode(os.path.realpath(path))  # pathlib raises for links that lead in a circle


_DIGITS = 16

StoredCase: TypeAlias = tuple[KeptDecision, KeptEvidence | None, KeptTranscript | None]
"""A decision with the evidence and the transcript that it rests on."""


@dataclass(frozen=True, slots=True)
class RunVersions:
    """What decisions are kept under: their run, and what decided besides evidence.

    `rules` is a `rules_version`; `adjudicator` the `adjudicator_version` of a model's answers.
    """

    run_id: str
    rules: str
    adjudicator: str = ""


def stored_case(case: Case, path: Path, before: os.stat_result, under: RunVersions) -> StoredCase:
    """Return what is kept of a case; `before` is the file as it was while its tags were read."""
    decision = case.decision
    known = decision.evidence_hash
    evidence = KeptEvidence(known, _facts(case.bundle)) if known and case.bundle else None
    transcript = _transcript(decision)
    artifact = case.bundle.artifact if case.bundle else None
    kept = KeptDecision(
        id=new_id(),
        run_id=under.run_id,
        path=path_bytes(path),
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
            return KeptTranscript(Path(found).stem, read_file(found))
        return None
    lines = io.BytesIO()
    record = record_in(lines)
    for event in found:
        record(event)
    return KeptTranscript(new_id(), lines.getvalue())


_INTERRUPTED = 130
_FAILED = 1


@dataclass(slots=True)
class DecisionSaver:
    """Keeps what a run decides; the run is kept when its first decision is."""

    store: "Store"
    run: KeptRun
    under: RunVersions
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
        kept = stored_case(case, path, before, self.under)
        try:
            if not self.has_begun:
                self.store.runs.begin(self.run)
                self.has_begun = True
            if not has_earlier_answer(self.store, kept[0], case.decision):
                self.store.decisions.put(*kept)
        except StoreError as error:
            return _not_kept(case, error)
        return case


@contextmanager
def save_decisions(
    store: "Store",
    command: str,
    arguments: Sequence[str],
    knobs: RulesConfig,
    adjudicator: str = "",
) -> Iterator[DecisionSaver]:
    """Yield what keeps the decisions of one run, which says how it ended where it ends itself.

    `adjudicator` is the `adjudicator_version` that a model's answers are kept under.
    """
    run = KeptRun(
        id=new_id(), command=command, arguments=tuple(arguments), started_at_utc=now_utc()
    )
    keeper = DecisionSaver(store, run, RunVersions(run.id, rules_version(knobs), adjudicator))
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


def read_decision(kept: KeptDecision) -> Decision:
    """Return the decision that was kept. Raises `DamagedRecordError`."""
    try:
        return decoded(kept.document, Decision)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedRecordError(
            f"the decision {kept.id} in the store is damaged: {error}"
        ) from error


def has_earlier_answer(store: "Store", kept: KeptDecision, decision: Decision) -> bool:
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


def stored_bundle(store: "Store", kept: KeptDecision) -> EvidenceBundle | None:
    """Return what a kept decision was made from, the file's own words included.

    `None` where there was no evidence. Raises `StoreError`.
    """
    evidence = store.evidence.get(kept.evidence_hash) if kept.evidence_hash else None
    return bundle_with_tags(kept, evidence) if evidence else None


def bundle_with_tags(kept: KeptDecision, evidence: KeptEvidence) -> EvidenceBundle:
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


def current_decision(store: "Store", *paths: bytes) -> KeptDecision | None:
    """Return the decision on a file that holds: the last that is pinned, else the last.

    `paths` are the names of the file; the first that has decisions counts. Raises `StoreError`,
    and `DamagedRecordError` where it cannot be read.
    """
    (found,) = current_decisions(store, [paths])
    if isinstance(found, UnreadDecision):
        raise DamagedRecordError(found.problem)
    return found


def current_decisions(
    store: "Store", files: Sequence[tuple[bytes, ...]]
) -> Sequence[KeptDecision | UnreadDecision | None]:
    """Return the decision that holds on each of several files, each given by its names."""
    known = store.decisions.histories({path for names in files for path in names})
    found = (next((known[path] for path in names if path in known), ()) for names in files)
    return [
        next((kept for kept in history if kept.pinned), next(iter(history), None))
        for history in found
    ]


def verdict_on(store: "Store", decision: KeptDecision) -> KeptVerdict | None:
    """Return a person's newest yes or no to a decision; that they left it is neither.

    A no holds as well where the same was decided again, by the same evidence and rules.
    """
    spoken = (VerdictKind.ACCEPT, VerdictKind.REJECT)
    history = store.verdicts.history(decision.id)
    found = next((verdict for verdict in history if verdict.verdict in spoken), None)
    if found or history or decision.adjudicator is None:
        return found
    before = store.verdicts.on_the_same(decision)
    return before if before and before.verdict is VerdictKind.REJECT else None


def writable_ids(
    decision: Decision, verdict: KeptVerdict | None, acceptance: AcceptanceConfig
) -> Chosen | str:
    """Return what may be written of a decision, or why nothing may."""
    accepted = verdict is not None and verdict.verdict is VerdictKind.ACCEPT
    why_not = None if accepted else _why_not(decision, verdict, acceptance)
    if why_not:
        return why_not
    named = verdict if accepted and verdict and verdict.crg_mbid else decision
    if not named.crg_mbid:
        return f"nothing was decided: {decision.error or decision.rationale or decision.state}"
    ids = (decision.recording_mbid, named.crg_mbid, named.rr_mbid)
    odd = next((one for one in ids if one and not MBID.fullmatch(one)), None)
    if odd:
        return f"{odd!r} is no MusicBrainz id (a UUID)"
    return Chosen(decision.recording_mbid, named.crg_mbid, named.rr_mbid, decision.trace)


def _why_not(
    decision: Decision, verdict: KeptVerdict | None, acceptance: AcceptanceConfig
) -> str | None:
    if verdict is not None:
        return f"a person rejected it{f': {verdict.reason}' if verdict.reason else ''}"
    match decision.state:
        case State.ERROR:
            return f"no decision was come to: {decision.error}"
        case State.INDETERMINATE:
            return f"it was left open: {decision.rationale or 'the facts do not tell'}"
    if decision.adjudication is not None:
        unseen = why_not_written(decision.adjudication, acceptance)
        return f"a person has to look at it: {unseen}" if unseen else None
    return None if decision.state is State.DECIDED else f"it is for {decision.state}"


def identity_change(
    store: "Store", path: Path, kept: KeptDecision, tags: TagSet | None = None
) -> str | None:
    """Return why a file may be another than the one that was decided; `tags` are those it has.

    Raises `AudioError`, `OSError` and `StoreError`.
    """
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) == (kept.file_size, kept.file_mtime_ns):
        return None
    if _is_ours(store, path, kept, tags or read_tag_set(path)):
        return None
    now = read_tags(path)
    if now.recording_mbid and now.recording_mbid == kept.recording_mbid:
        return None
    if _identity(now) == _identity_then(_said_then(kept)):
        return None
    return "its tags changed since it was decided, and may mean another recording: decide again"


def _is_ours(store: "Store", path: Path, kept: KeptDecision, tags: TagSet) -> bool:
    """Say whether the tags are those that were last written here, for the file as it was decided.

    Another file may have stood here since, and have been written by a decision of its own.
    """
    writes = store.journal.of_path(path_bytes(path))
    done = next((write for write in writes if write.state is WriteState.DONE), None)
    if done is None or done.tags_after_hash != tags.hash or done.decision_id is None:
        return False
    try:
        by = store.decisions.by_id(done.decision_id)
    except DamagedRecordError:  # nothing tells then that it is ours: its tags are looked at
        return False
    return by is not None and _as_decided(by) == _as_decided(kept)


def _said_then(kept: KeptDecision) -> Artifact:
    try:
        return decoded(kept.artifact, Artifact) if kept.artifact else Artifact()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedRecordError(
            f"what the file said when {kept.id} was decided is damaged in the store: {error}"
        ) from error


def _as_decided(kept: KeptDecision) -> tuple[object, ...]:
    return kept.file_size, kept.file_mtime_ns, kept.artifact


def _identity(tags: TrackTags) -> tuple[str | None, ...]:
    return tags.recording_mbid, "; ".join(tags.isrcs) or None, tags.artist, tags.title


def _identity_then(said: Artifact) -> tuple[str | None, ...]:
    tags = said.tags or {}
    return tuple(tags.get(name) for name in ("recording_mbid", "isrc", "artist", "title"))


_NO_MATTER: dict[str, Any] = {
    "enabled": True,
    "base_url": True,
    "timeout_s": True,
    "stream": True,
    "api_key_env": True,
    "searxng": {"url", "timeout_s"},
    "fetch": {"timeout_s", "user_agent", "host_pause_s"},
    "acceptance": {"write_min_sources", "calibration"},
}
"""Where and how patiently a model is asked, and what is made of its answer later."""
_ADJUDICATOR_VERSION_DIGITS = 16


def adjudicator_version(llm: LLMConfig, knobs: RulesConfig) -> str:
    """Return a hash that is the same as long as a model is asked the same in the same way.

    It is over the model, its options, tools and prompt, what its confidence is read by, and the
    rules that an answer is held against. Raises `ConfigError` where the configuration names a
    prompt or a calibration that there is not.
    """
    file = llm.acceptance.calibration
    confidence = read_confidence_map(Path(file).expanduser()) if file else AS_STATED
    said = [
        TABLE_VERSION,
        knobs.model_dump(mode="json"),
        llm.model_dump(mode="json", exclude=_NO_MATTER),
        configured_prompt(llm.prompt).name,
        confidence,
    ]
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()[
        :_ADJUDICATOR_VERSION_DIGITS
    ]


class OverrideEffect(msgspec.Struct, frozen=True):
    """What the store knows around an override: files that it holds for, evidence of one of them."""

    files: tuple[bytes, ...] = ()
    bundle: EvidenceBundle | None = None


def override_effect(store: "Store", ruled: KeptOverride) -> OverrideEffect:
    """Return what was decided of files that an override holds for.

    Evidence that cannot be read names nothing, as if there were none. Raises `StoreError`.
    """
    decisions = store.verdicts.reached_by(ruled)
    files = tuple(dict.fromkeys(each.path for each in decisions))
    for each in reversed(decisions):
        try:
            bundle = stored_bundle(store, each)
        except DamagedRecordError:
            continue
        if bundle:
            return OverrideEffect(files, bundle)
    return OverrideEffect(files)


_AGAIN = "`canon decide` tries again"
_BY_CAUSE = {
    Cause.FILE: f"mend or replace the file, then {_AGAIN}",
    Cause.UNIDENTIFIED: f"give it tags (artist and title, or a recording id), then {_AGAIN}",
    Cause.LOOKUP_FAILED: f"{_AGAIN}; `canon doctor` says what answers",
    Cause.NOTHING_FOUND: "correct its tags, or add the recording to MusicBrainz; then"
    " `canon batch --refresh` looks again",
    Cause.NOT_LOOKED_UP: "`canon batch` without `--frozen`, or `canon decide`, looks it up",
    Cause.EVIDENCE: f"correct the evidence, then {_AGAIN}",
    Cause.MODEL: f"{_AGAIN}; `canon doctor` says what answers",
    Cause.STORE: f"{_AGAIN}; `canon doctor` says what is wrong with the store",
    Cause.FAULT: f"report it, with the error; {_AGAIN}",
}


def advice_for(cause: Cause | msgspec.UnsetType | None) -> str:
    """Return what helps against a cause, as half a sentence."""
    return _BY_CAUSE.get(cause, _AGAIN) if isinstance(cause, Cause) else _AGAIN
