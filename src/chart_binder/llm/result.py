"""The result of an adjudication, as values with a JSON form."""

from enum import StrEnum
from typing import Any

import msgspec

from chart_binder.domain.evidence import RecordingCandidate
from chart_binder.files import decode_json
from chart_binder.llm.events import AnyRunEvent


class Outcome(StrEnum):
    """How far an answer may be trusted."""

    ACCEPTED = "accepted"
    REVIEW = "review"
    REJECTED = "rejected"
    ERROR = "error"


class RulesAgreement(StrEnum):
    """How the rules, with the verified facts added, agree with an answer."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    OPEN = "open"


class Reading(msgspec.Struct, frozen=True):
    """What a second reading said of a passage.

    `kind` is `support` or `contradiction`, of the date that the fact claims.
    """

    kind: str
    source: str
    passage: str
    reading: str


class Fact(msgspec.Struct, frozen=True):
    """A fact that the answer cites, or that code found beside it, with how it was verified.

    `problem` says why it is not `verified`, `question` which open question the model says it
    answers, `before` what the evidence has that it changes; a fetched page of one of
    `trusted_sources` is `trusted`; `cited` says that the model cites it.
    """

    about: str
    field: str
    value: str
    source: str
    quote: str = ""
    question: str = ""
    verified: bool = False
    problem: str | None = None
    before: str | None = None
    trusted: bool = False
    cited: bool = True
    readings: tuple[Reading, ...] = ()


FAILED_SERVICE = "unanswered"
"""The name of the check for a service that failed: the run is worth repeating."""


class Check(msgspec.Struct, frozen=True):
    """One check of an answer by code: whether it passed, with one sentence of detail."""

    name: str
    passed: bool
    detail: str


class Usage(msgspec.Struct, frozen=True):
    """What a run used: tokens as the server counts them, seconds of wall-clock time.

    Second readings (`readings` of them) are in the sums.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_seconds: float = 0.0
    tool_seconds: float = 0.0
    readings: int = 0


class AdjudicationResult(msgspec.Struct, frozen=True):
    """The adjudicator's answer, with everything needed to judge it.

    `confidence` is the model's own (0..1), and so is `stated_confidence`; checks lower neither.
    `rules` is the rules' agreement with the verified facts in; `independent_sources` those of the
    fact that has the fewest of those that the decision turns on; `added` recordings of records that
    the model named; `problem` why it is not accepted; `transcript` the recorded file's path, or the
    events; `is_unreachable` says that nothing answers at the model's address.
    """

    outcome: Outcome
    crg_mbid: str | None = None
    rr_mbid: str | None = None
    confidence: float = 0.0
    stated_confidence: float | None = None
    rationale: str = ""
    facts: tuple[Fact, ...] = ()
    checks: tuple[Check, ...] = ()
    rules: RulesAgreement | None = None
    independent_sources: int = 0
    added: tuple[RecordingCandidate, ...] = ()
    problem: str | None = None
    iterations: int = 0
    usage: Usage = Usage()
    model_id: str = ""
    dialect: str = ""
    prompt_version: str = ""
    evidence_hash: str = ""
    transcript: str | tuple[AnyRunEvent, ...] | None = None
    is_unreachable: bool | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_accepted(self) -> bool:
        """Whether it decides, rather than proposes."""
        return self.outcome is Outcome.ACCEPTED

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


def why_not_written(result: AdjudicationResult) -> str | None:
    """Return why an answer must not be written to a file before a person has seen it, or None."""
    if result.outcome is not Outcome.ACCEPTED:
        return result.problem or f"the answer is {result.outcome}"
    return None
