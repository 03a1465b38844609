"""The records of the store: answers, runs with measures, decisions, verdicts and writes."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeAlias

import msgspec

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32, which has no letters that look alike."""
_HALF = 10


class CachedAnswer(msgspec.Struct, frozen=True):
    """The body of a service's response, received at `fetched_at` in seconds since the epoch."""

    body: bytes
    fetched_at: float


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a command; `status` is its exit status, `counts` has the files by state.

    A run that has not ended, or was killed, has no end time and no status.
    """

    id: str
    command: str
    arguments: tuple[str, ...] = ()
    started_at_utc: str
    ended_at_utc: str | None = None
    status: int | None = None
    counts: Mapping[str, int] = {}
    measures: bytes | None = None


class DecisionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A decision for a file; it is never changed, because a new decision is a new record.

    `document` is the `Decision` as JSON; the other fields repeat what is searched for. The bundle's
    `artifact` is separate because many files share the other evidence. `adjudicator` is a hash of
    all that affects a model's answer, None if no model answered.
    """

    id: str
    run_id: str
    path: bytes
    file_size: int
    file_mtime_ns: int
    recording_mbid: str | None
    state: str
    decided_by: str | None
    crg_mbid: str | None
    rr_mbid: str | None
    evidence_hash: str | None
    rules_version: str
    trace: str | None
    document: bytes
    decided_at_utc: str
    transcript_id: str | None = None
    artifact: bytes | None = None
    adjudicator: str | None = None


class UnreadDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A damaged record of a decision: its `problem`, and the file's `path` if that can be read."""

    problem: str
    path: bytes | None


class EvidenceRecord(msgspec.Struct, frozen=True):
    """An evidence bundle as JSON, stored once under its evidence hash."""

    hash: str
    document: bytes


class TranscriptRecord(msgspec.Struct, frozen=True):
    """A recorded run of the adjudicator, as JSON Lines (CONTRACTS, section 7)."""

    id: str
    document: bytes


StoredCase: TypeAlias = tuple[DecisionRecord, EvidenceRecord | None, TranscriptRecord | None]


YEAR = "year"
"""A state of the review queue: the rules decided the group, and a model proposed a year."""


class VerdictKind(StrEnum):
    """A person's verdict on a decision: accept it, reject it for another, or keep it as it is."""

    ACCEPT = "accept"
    REJECT = "reject"
    KEEP = "keep"


class VerdictRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A person's verdict on a decision, with the person's choice; the newest verdict counts."""

    decision_id: str
    verdict: VerdictKind
    crg_mbid: str | None = None
    rr_mbid: str | None = None
    reason: str = ""
    at_utc: str


class AuditVerdict(StrEnum):
    """A person's opinion of a decision in a sample: right, wrong, or unsure."""

    RIGHT = "right"
    WRONG = "wrong"
    UNSURE = "unsure"


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A person's verdict on a decision in a sample, which changes nothing; the newest counts."""

    decision_id: str
    verdict: AuditVerdict
    at_utc: str


class WriteState(StrEnum):
    """The state of a change of a file's tags: an intent becomes done or failed, done undone."""

    INTENDED = "intended"
    DONE = "done"
    FAILED = "failed"
    UNDONE = "undone"


class WriteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one file's tags, committed as an intent before the file is touched.

    `changes` are the old and new raw values by key, `temporary` is the name of the copy.
    `tags_left` has all values after the write, `restoration` the data that restores the former
    file from the new one. `undoes` is the write that this one reverses.
    """

    id: str
    run_id: str
    path: bytes
    decision_id: str | None
    state: WriteState = WriteState.INTENDED
    audio_hash: str
    tags_before_hash: str
    tags_after_hash: str
    changes: bytes
    tags_left: bytes
    restoration: bytes
    at_utc: str
    done_at_utc: str | None = None
    temporary: bytes = b""
    problem: str | None = None
    undoes: str | None = None


class UnwrittenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A file whose tags the last run did not write, with the reason and perhaps the decision."""

    path: bytes
    decision_id: str | None
    why: str
    at_utc: str


def new_id() -> str:
    """Return a unique identifier: ten letters for the time, so that it sorts, and ten random."""
    moment = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(7), "big")
    digits = [n >> 5 * place & 31 for n in (moment, random) for place in reversed(range(_HALF))]
    return "".join(_LETTERS[digit] for digit in digits)


def is_new_id(text: str) -> bool:
    """Return whether a text has the form of an identifier of `new_id`."""
    return len(text) == 2 * _HALF and set(text) <= set(_LETTERS)


def now_utc() -> str:
    """Return the current time in its stored form: `2026-11-21T15:45:00.123456Z`."""
    return utc_text(datetime.now(UTC))


def utc_text(moment: datetime) -> str:
    """Return a time, which must be in UTC, in its stored form."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def local_time(moment: str) -> str:
    """Return a stored time for people, in the local zone to the minute: `2026-11-23 10:30`."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


class StageCost(msgspec.Struct, frozen=True):
    """The number of files that went through a stage, and their seconds in total."""

    files: int = 0
    seconds: float = 0.0


class SlowFile(msgspec.Struct, frozen=True):
    """A slow file, with its seconds in all stages."""

    path: str
    seconds: float


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and costs of one run; `stopped` says why it ended early.

    `states` counts `files` and the `folders` that were unreadable or empty. `unsaved` files keep a
    model's earlier answer. `first_releases` counts files by whether the year is certain; `earlier`
    are files with a certain year before that of their tags, `certain_undecided` undecided files
    with a certain year; `years_proposed` are decided files for which a model newly proposed one.
    `errors` and `unwritten` count similar messages under the first of them, and `examples` has a
    file for each.
    """

    files: int = 0
    folders: int = 0
    resumed: int = 0
    unsaved: int = 0
    seconds: float = 0.0
    states: Mapping[str, int] = {}
    decided_by: Mapping[str, int] = {}
    rules: Mapping[str, int] = {}
    tags: Mapping[str, int] = {}
    first_releases: Mapping[str, int] = {}
    earlier: int = 0
    certain_undecided: int = 0
    years_proposed: int = 0
    causes: Mapping[str, int] = {}
    errors: Mapping[str, int] = {}
    unwritten: Mapping[str, int] = {}
    examples: Mapping[str, str] = {}
    stages: Mapping[str, StageCost] = {}
    spent: Mapping[str, int] = {}
    slowest: tuple[SlowFile, ...] = ()
    stopped: str | None = None
