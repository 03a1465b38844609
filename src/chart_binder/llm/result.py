"""The result of an adjudication, as values with a JSON form."""

from enum import StrEnum
from typing import Any

import msgspec

from chart_binder.config import AcceptanceConfig
from chart_binder.errors import counted
from chart_binder.react.transcript import AnyEvent
from chart_binder.typed_json import decode_json


class Outcome(StrEnum):
    """How far an answer may be trusted."""

    ACCEPTED = "accepted"
    REVIEW = "review"
    REJECTED = "rejected"
    ERROR = "error"


class Standing(StrEnum):
    """How the rules, with the verified facts added, agree with an answer."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    OPEN = "open"


class Fact(msgspec.Struct, frozen=True):
    """A fact that the answer cites; `verified` if its source was read in this run and says so."""

    about: str
    field: str
    value: str
    source: str
    verified: bool = False


class Check(msgspec.Struct, frozen=True):
    """One check of an answer by code: whether it passed, with one sentence of detail."""

    name: str
    passed: bool
    detail: str


class Usage(msgspec.Struct, frozen=True):
    """What a run used: tokens as the server counts them, seconds of wall-clock time."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_seconds: float = 0.0
    tool_seconds: float = 0.0


class AdjudicationResult(msgspec.Struct, frozen=True):
    """The adjudicator's answer, with everything needed to judge it.

    `confidence` is 0..1, after calibration and checks; `stated_confidence` is the model's own.
    `rules` is the rules' agreement, where facts are cited; `independent_sources` the number of
    sources, not repeating one another, of each fact that the answer rests on. `problem` says in one
    sentence why the outcome is error, review or rejected; `transcript` is the recorded file's path,
    or the events themselves.
    """

    outcome: Outcome
    crg_mbid: str | None = None
    rr_mbid: str | None = None
    confidence: float = 0.0
    stated_confidence: float | None = None
    rationale: str = ""
    facts: tuple[Fact, ...] = ()
    checks: tuple[Check, ...] = ()
    rules: Standing | None = None
    independent_sources: int = 0
    problem: str | None = None
    iterations: int = 0
    usage: Usage = Usage()
    model_id: str = ""
    dialect: str = ""
    prompt_version: str = ""
    evidence_hash: str = ""
    transcript: str | tuple[AnyEvent, ...] | None = None

    def to_json(self) -> bytes:
        """Return the result as JSON."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, document: bytes | str) -> "AdjudicationResult":
        """Read back what `to_json` wrote. Raises `msgspec.ValidationError`."""
        return decode_json(document, cls)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, as they stand in JSON."""
        plain: dict[str, Any] = msgspec.json.decode(self.to_json())
        return plain


def why_not_written(result: AdjudicationResult, acceptance: AcceptanceConfig) -> str | None:
    """Return why an answer must not be written to a file before a person has seen it, or None."""
    if result.outcome is not Outcome.ACCEPTED:
        return result.problem or f"the answer is {result.outcome}"
    needed, found = acceptance.write_min_sources, result.independent_sources
    if found >= needed:
        return None
    shown = counted(found, "independent source")
    return f"the answer rests on {shown}, {needed} needed before it is written unseen"
