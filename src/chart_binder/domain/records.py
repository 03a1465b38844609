"""What a run over a library cost, and how its files ended."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: no letter is taken for another."""
_HALF = 10


class KeptRun(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a command; `status` is its exit status, `counts` of files by how they ended.

    `measures` is JSON of what it cost (`domain.measures`), where that was taken.

    A run that has not ended, or was killed, has neither an end nor a status.
    """

    id: str
    command: str
    arguments: tuple[str, ...] = ()
    started_at_utc: str
    ended_at_utc: str | None = None
    status: int | None = None
    counts: Mapping[str, int] = {}
    measures: bytes | None = None


class KeptDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided for a file; decisions are added to, never changed, but for `pinned`.

    `document` is the `Decision` as JSON; the other fields repeat what is searched for. `file_size`
    is in bytes, `rules_version` a hash of the rule table's version and its knobs. `artifact` is
    what the file said of itself, as JSON: rules ask it, while evidence is kept without it, for
    many files share one. `adjudicator` is a hash of all that a model's answer depends on beside the
    evidence; it is empty where nobody kept that, and absent where no model answered, or it failed.
    A pinned decision stands, whatever rules or evidence say later.
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
    pinned: bool = False
    adjudicator: str | None = None


class UnreadDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision whose record is damaged; `problem` names it, and says what is wrong.

    `path` is that of its file, and absent where that cannot be read either.
    """

    problem: str
    path: bytes | None
    pinned: bool = False


class KeptEvidence(msgspec.Struct, frozen=True):
    """An evidence bundle as JSON, kept once under its evidence hash."""

    hash: str
    document: bytes


class KeptTranscript(msgspec.Struct, frozen=True):
    """A recorded run of the adjudicator, as JSON Lines (CONTRACTS, section 7)."""

    id: str
    document: bytes


class VerdictKind(StrEnum):
    """What a person made of a decision: took it, took another, or left it as it is."""

    ACCEPT = "accept"
    REJECT = "reject"
    KEEP = "keep"


class KeptVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A person's verdict on a decision; of several, the newest counts.

    `crg_mbid` and `rr_mbid` are what the person says is right, where they say it.
    """

    decision_id: str
    verdict: VerdictKind
    crg_mbid: str | None = None
    rr_mbid: str | None = None
    reason: str = ""
    at_utc: str


class WriteState(StrEnum):
    """How far a change of a file's tags has come: an intent leads to one of the others."""

    INTENDED = "intended"
    DONE = "done"
    FAILED = "failed"
    UNDONE = "undone"


class KeptWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one file's tags, committed as an intent before the file is touched.

    `changes` is JSON: per raw key the old and the new raw values. `temporary` is the name of the
    copy that takes the file's place (`os.fsencode`). `tags_left` is what every key said afterwards,
    to show what changed since. `problem` says why a write failed.
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
    at_utc: str
    done_at_utc: str | None = None
    temporary: bytes = b""
    problem: str | None = None
    tags_left: bytes | None = None


def new_id() -> str:
    """Return an identifier that no other process makes; later ones sort last.

    Twenty letters and digits: ten of the milliseconds since the epoch, ten by chance.
    """
    moment = time.time_ns() // 1_000_000
    chance = int.from_bytes(os.urandom(7), "big")
    return _in_letters(moment) + _in_letters(chance)


def is_new_id(text: str) -> bool:
    """Say whether a text has the form of what `new_id` makes."""
    return len(text) == 2 * _HALF and set(text) <= set(_LETTERS)


def now_utc() -> str:
    """Return this moment as it is kept: `2026-11-21T15:45:00.123456Z`."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _in_letters(number: int) -> str:
    return "".join(_LETTERS[number >> 5 * place & 31] for place in reversed(range(_HALF)))


class StageCost(msgspec.Struct, frozen=True):
    """How many files went through a stage of the job, and the seconds that all of them took."""

    files: int = 0
    seconds: float = 0.0


class SlowFile(msgspec.Struct, frozen=True):
    """A file that took long, in seconds over all stages."""

    path: str
    seconds: float


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and costs of one run.

    `states` are of `files`, and of `folders` that could not be read or had nothing in them. Of the
    files `resumed` were settled by an earlier run, `pinned` of these because they are pinned.
    `seconds` is by the clock, `rules` counts rule codes, `causes` why files failed in one word.
    `errors` counts the sentences that say why, `unwritten` those why tags were not written: of
    several that say the same the first, and `examples` has the file that it was said of. `spent`
    counts what was asked of others: `musicbrainz_requests` (tries that came to nothing among them),
    `model_runs`, `model_replies`, `prompt_tokens`, `completion_tokens`. `stopped` says why the run
    ended before its time.
    """

    files: int = 0
    folders: int = 0
    resumed: int = 0
    pinned: int = 0
    seconds: float = 0.0
    states: Mapping[str, int] = {}
    decided_by: Mapping[str, int] = {}
    rules: Mapping[str, int] = {}
    tags: Mapping[str, int] = {}
    causes: Mapping[str, int] = {}
    errors: Mapping[str, int] = {}
    unwritten: Mapping[str, int] = {}
    examples: Mapping[str, str] = {}
    stages: Mapping[str, StageCost] = {}
    spent: Mapping[str, int] = {}
    slowest: tuple[SlowFile, ...] = ()
    stopped: str | None = None
