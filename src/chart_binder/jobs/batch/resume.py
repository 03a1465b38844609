"""Find what a batch need not do again: decisions, answers, and parts of a refresh."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.audio.reading import read_tags
from chart_binder.domain import records
from chart_binder.domain.evidence import Artifact
from chart_binder.domain.tags import TrackTags, artifact_of
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.errors import INTERRUPTED, AudioError, DamagedRecordError
from chart_binder.files import quoted
from chart_binder.jobs import stored_decisions
from chart_binder.jobs.decision import Decision, FileOutcome, State, year_of
from chart_binder.jobs.gather import TagReader
from chart_binder.jobs.pipeline import override_for
from chart_binder.jobs.write import identity_change
from chart_binder.llm.result import FAILED_SERVICE, AdjudicationResult, Outcome

if TYPE_CHECKING:
    from chart_binder.store import Store

_log = logging.getLogger(__name__)

_MAX_ANSWERS = 500
_MAX_REFRESH_GAP = timedelta(days=7)
"""After a longer gap a refresh begins anew, because its first answers are outdated."""
_OPTIONS_WITHOUT_EFFECT = frozenset({
    "--jobs", "--write", "--policy", "--keep-mtime", "--copy-links", "--report", "--metrics",
    "--executor", "--scheduler", "--output", "--verbose", "--quiet", "--order",
})  # fmt: skip
"""Options that change neither which files are decided nor the evidence for them."""


_IDENTITY = (
    "recording_mbid", "release_mbid", "release_group_mbid", "artist_mbid",
    "isrc", "artist", "title",
)  # fmt: skip
"""The tags by which a recording is looked up."""


class FileSelection(StrEnum):
    """What `--only` selects: files by the state of their last decision, or files of collections."""

    UNDECIDED = "undecided"
    UNMATCHED = "unmatched"
    UNREADABLE = "unreadable"
    ERROR = "error"
    REVIEW = "review"
    COMPILATIONS = "compilations"


@dataclass(frozen=True, slots=True)
class ResumeCheck:
    """Tells which files to decide: by default those without a decision, or with an outdated one.

    `refresh` adds decided files, unless one of `runs` decided them. `is_frozen` leaves out files
    without stored evidence for which no recording was found. If tags come from elsewhere than the
    files, `read_tags` returns them. Raises `StoreError`.
    """

    store: "Store"
    versions: stored_decisions.RunVersions
    overrides: Callable[[], Mapping[str, OverrideRecord]]
    only: frozenset[FileSelection] = frozenset()
    refresh: bool = False
    runs: frozenset[str] = frozenset()
    is_frozen: bool = False
    read_tags: TagReader | None = None

    def check(self, paths: Sequence[Path]) -> Iterator[tuple[Path, bool, FileOutcome | None]]:
        """Yield for each file whether to decide it, and the outcome of those that are resumed."""
        names = [*map(stored_decisions.path_bytes, paths)]
        latest = stored_decisions.current_decisions(self.store, names)
        for path, record in zip(paths, latest, strict=True):
            try:
                is_due, outcome = self.check_file(path, record)
            except DamagedRecordError as error:  # the state of the file counts as error
                is_due = not self.only or FileSelection.ERROR in self.only
                done = "decided again" if is_due else "left out"
                outcome = None
                _log.warning("%s: %s: %s", quoted(path), done, error)
            yield path, is_due, outcome

    def check_file(
        self, path: Path, record: records.DecisionRecord | records.UnreadDecision | None
    ) -> tuple[bool, FileOutcome | None]:
        """Return whether to decide a file by its latest decision, and its outcome if it is resumed.

        Raises `DamagedRecordError`.
        """
        if isinstance(record, records.UnreadDecision):
            raise DamagedRecordError(record.problem)
        if self.only:
            if record is None or record.state not in self.only:
                return False, None
            if record.run_id not in self.runs:
                return True, None
        if record is None:
            return True, None
        decision = self._valid_decision(record, path)
        if decision is None and self._has_no_evidence(record):
            decision = stored_decisions.read_decision(record)
        if decision is None:
            return True, None
        year = _tagged_year(path, record)
        return False, FileOutcome(path, decision, is_resumed=True, tagged_year=year)

    def _valid_decision(self, record: records.DecisionRecord, path: Path) -> Decision | None:
        """Return the decision if it is still valid; without a model, any answer is."""
        is_valid = (
            record.state != State.ERROR
            and (not self.refresh or record.run_id in self.runs)
            and record.rules_version == self.versions.rules
            and (
                record.decided_by in ("rules", "override")
                or record.adjudicator == (self.versions.adjudicator or record.adjudicator)
            )
            and self._is_same_file(path, record)
        )
        if not is_valid:
            return None
        decision = stored_decisions.read_decision(record)
        is_final = decision.state is not State.UNDECIDED or is_answer(decision.adjudication)
        return decision if is_final and self._agrees_with_overrides(record, decision) else None

    def _is_same_file(self, path: Path, record: records.DecisionRecord) -> bool:
        """Return whether a file, or its tags from elsewhere, name the same recording as before."""
        if self.read_tags is None:
            return _is_same_file(self.store, path, record)
        tags = self.read_tags(path)
        before = _identity(stored_decisions.stored_artifact(record))
        return isinstance(tags, TrackTags) and _identity(artifact_of(tags)) == before

    def _has_no_evidence(self, record: records.DecisionRecord) -> bool:
        """Return whether a frozen batch can do nothing, because no evidence was ever stored."""
        if not (self.is_frozen and record.state in (State.UNMATCHED, State.UNREADABLE)):
            return False
        history = self.store.decisions.histories([record.path])[record.path]
        return not any(
            isinstance(earlier, records.DecisionRecord) and earlier.evidence_hash
            for earlier in history
        )

    def _agrees_with_overrides(self, record: records.DecisionRecord, decision: Decision) -> bool:
        """Return whether a decision agrees with the present override, or with its absence."""
        overrides = self.overrides()
        override = overrides.get(record.recording_mbid or "")
        if override is None and overrides and record.decided_by not in ("rules", "override"):
            # An open case names no recording, and a model's answer perhaps another one.
            bundle = stored_decisions.stored_bundle(self.store, record)
            override = override_for(bundle, overrides) if bundle else None
        followed = decision.overruled_at
        return followed == override.set_at_utc if override else not followed


def _identity(artifact: Artifact | None) -> tuple[str | None, ...]:
    tags = (artifact and artifact.tags) or {}
    return tuple(map(tags.get, _IDENTITY))


def _tagged_year(path: Path, record: records.DecisionRecord) -> int | None:
    """Return the year in a file's tags, which may have been written since they were stored."""
    if not _is_untouched(path, record):
        with suppress(AudioError, OSError):
            return year_of(artifact_of(read_tags(path)))
    return year_of(stored_decisions.stored_artifact(record))


def _is_untouched(path: Path, record: records.DecisionRecord) -> bool:
    status = stored_decisions.file_status(path)
    stored = (record.file_size, record.file_mtime_ns)
    return status is not None and (status.st_size, status.st_mtime_ns) == stored


def _is_same_file(store: "Store", path: Path, record: records.DecisionRecord) -> bool:
    if _is_untouched(path, record):
        return True
    try:
        return identity_change(store, path, record) is None
    except (AudioError, OSError):  # deciding it again reports what is wrong
        return False


@dataclass(slots=True)
class AdjudicationCache:
    """The answers of the `adjudicator` to evidence, from this run and from earlier ones.

    If `runs` are given, only stored answers of these count.
    """

    store: "Store"
    adjudicator: str
    runs: frozenset[str] = frozenset()
    _answers: OrderedDict[str, AdjudicationResult] = field(default_factory=OrderedDict)

    def get(self, evidence_hash: str) -> AdjudicationResult | None:
        """Return the answer to this evidence, if there is one. Raises `StoreError`."""
        if evidence_hash in self._answers:
            return self._answers[evidence_hash]
        try:
            record = self.store.decisions.by_evidence(evidence_hash, self.adjudicator)
            if record is None or (self.runs and record.run_id not in self.runs):
                return None
            answer = stored_decisions.read_decision(record).adjudication
        except DamagedRecordError as error:
            _log.warning("asked again, because the answer cannot be read: %s", error)
            return None
        return answer if is_answer(answer) else None

    def add(self, evidence_hash: str, result: AdjudicationResult | None) -> None:
        """Remember a result, if it is an answer."""
        if result is None or not is_answer(result):
            return
        self._answers[evidence_hash] = result
        if len(self._answers) > _MAX_ANSWERS:
            self._answers.popitem(last=False)


def is_answer(result: AdjudicationResult | None) -> bool:
    """Return whether a result is an answer: no error, no "I cannot tell" after a failed service."""
    if result is None:
        return True
    if result.outcome is Outcome.REJECTED:
        return all(check.passed or check.name != FAILED_SERVICE for check in result.checks)
    return result.outcome is not Outcome.ERROR


@dataclass(frozen=True, slots=True)
class Refresh:
    """The start of a refresh, in seconds since the epoch, and its `runs`; 0 if there is none."""

    since: float = 0.0
    runs: frozenset[str] = frozenset()


def interrupted_refresh(store: "Store", run: records.RunRecord) -> Refresh | None:
    """Return the refresh that a run continues, or None if it begins a new one.

    It continues runs with the same arguments that were cut short within the last week. A call
    without paths, which reads standard input, continues none.
    """
    arguments = _relevant_arguments(run)
    if all(argument.startswith("-") for argument in arguments):
        return None
    earliest, run_ids = run, {run.id}
    for before in store.runs.iterate(partial(_log.warning, "a run is skipped: %s")):
        if before.command != run.command or _relevant_arguments(before) != arguments:
            continue
        if (
            not _is_cut_short(before)
            or _started(earliest) - _last_active(before) > _MAX_REFRESH_GAP
        ):
            break
        earliest = before
        run_ids.add(before.id)
    if earliest is run:
        return None
    return Refresh(_started(earliest).timestamp(), frozenset(run_ids))


def _relevant_arguments(run: records.RunRecord) -> frozenset[str]:
    return frozenset(
        argument
        for argument in run.arguments
        if argument.split("=")[0] not in _OPTIONS_WITHOUT_EFFECT
    )


def _is_cut_short(run: records.RunRecord) -> bool:
    return run.status in (None, INTERRUPTED) or _measures(run).stopped is not None


def _last_active(run: records.RunRecord) -> datetime:
    if run.ended_at_utc:
        return datetime.fromisoformat(run.ended_at_utc)
    return _started(run) + timedelta(seconds=_measures(run).seconds)


def _started(run: records.RunRecord) -> datetime:
    return datetime.fromisoformat(run.started_at_utc)


def _measures(run: records.RunRecord) -> records.Measures:
    try:
        return msgspec.json.decode(run.measures or b"{}", type=records.Measures)
    except (msgspec.DecodeError, UnicodeDecodeError):  # it counts as a run without measures
        return records.Measures()
