"""The result of an adjudication, as values with a JSON form."""

from enum import StrEnum
from typing import Any

import msgspec

from chart_binder.domain.evidence import RecordingCandidate
from chart_binder.files import decode_json
from chart_binder.llm.events import AnyRunEvent


class Outcome(StrEnum):
    """What may be done with an answer: decide by it, propose it to a person, or nothing."""

    ACCEPTED = "accepted"
    REVIEW = "review"
    REJECTED = "rejected"
    ERROR = "error"


class RulesAgreement(StrEnum):
    """Whether the rules with the verified facts agree with an answer."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    OPEN = "open"


class Reading(msgspec.Struct, frozen=True):
    """What a second reading says about a passage.

    `kind` says whether the passage may be a `support` or a `contradiction` of the fact.
    """

    kind: str
    source: str
    passage: str
    reading: str


class Fact(msgspec.Struct, frozen=True):
    """A fact that the answer cites or that code found, and the result of its verification.

    `problem` says why it is not `verified`; `question` is the open question that it answers, in the
    model's words; `before` is the value of the evidence that it changes. It is `trusted` if its
    source is a fetched page of one of `trusted_sources`, and `cited` if the model cites it.
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
"""The name of the check for a service that failed, after which a run is worth repeating."""


class Check(msgspec.Struct, frozen=True):
    """A check of an answer by code; `detail` is one sentence."""

    name: str
    passed: bool
    detail: str


class Usage(msgspec.Struct, frozen=True):
    """What a run used: tokens as the server counts them, and seconds of wall-clock time.

    The sums include second readings; `readings` is their number.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_seconds: float = 0.0
    tool_seconds: float = 0.0
    readings: int = 0


class AdjudicationResult(msgspec.Struct, frozen=True):
    """The adjudicator's answer, with everything needed to judge it.

    `confidence` and `stated_confidence` are the model's own, from 0 to 1. `rules` says whether the
    rules with the verified facts agree. `independent_sources` is the least number of sources of a
    fact that the decision depends on. `added` holds the recordings of records that the model named.
    `problem` says why the answer is not accepted. `transcript` is the path of the recorded file, or
    the events. `is_unreachable` says that nothing answers at the model's address.
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
        """Whether the answer decides; otherwise it is a proposal."""
        return self.outcome is Outcome.ACCEPTED

    def to_json(self) -> bytes:
        """Return the result as JSON."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, document: bytes | str) -> "AdjudicationResult":
        """Return a result from its JSON. Raises `msgspec.ValidationError`."""
        return decode_json(document, cls)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, as they stand in JSON."""
        plain: dict[str, Any] = msgspec.json.decode(self.to_json())
        return plain


def why_not_written(result: AdjudicationResult) -> str | None:
    """Return why an answer may not be written to a file without a person; None if it may."""
    if result.outcome is not Outcome.ACCEPTED:
        return result.problem or f"the answer is {result.outcome}"
    return None
