"""A golden file holds one recording a line: its evidence, with what is expected of a decision."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import UNSET, UnsetType

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import EvidenceError


class Expected(msgspec.Struct, frozen=True):
    """What a decision has to be; without a `crg_mbid` the case must stay open.

    Of the rest, what is absent is not looked at.
    """

    crg_mbid: str | None
    rr_mbid: str | UnsetType | None = UNSET
    rr_acceptable: tuple[str, ...] | UnsetType | None = UNSET
    crg_rule: str | None = None
    rr_rule: str | None = None

    @property
    def releases(self) -> frozenset[str | None] | None:
        """The releases that are right, one of them `None` if there must be none; absent: any."""
        if self.rr_mbid is UNSET and self.rr_acceptable is UNSET:
            return None
        named = {self.rr_mbid or None, *(self.rr_acceptable or ())}
        return frozenset(named - {None} or {None})


class Golden(msgspec.Struct, frozen=True):
    """One case, and the line that it stands on, counted from 1."""

    line: int
    name: str
    bundle: EvidenceBundle
    expected: Expected


class IllFormed(msgspec.Struct, frozen=True):
    """A line that is no case, and why."""

    line: int
    problem: str


class _Line(msgspec.Struct):
    bundle: msgspec.Raw
    expected: Expected
    id: str = ""


def read_golden(lines: Iterable[bytes]) -> Iterator[Golden | IllFormed]:
    """Read every line for itself; a bad one does not stop the rest, an empty one is passed over."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _case(number, line)


def _case(number: int, line: bytes) -> Golden | IllFormed:
    try:
        read = _DECODER.decode(line)
        bundle = read_bundle(bytes(read.bundle))
    except (msgspec.DecodeError, UnicodeError, EvidenceError) as error:
        return IllFormed(number, str(error))
    except RecursionError:
        return IllFormed(number, "nested too deeply")
    return Golden(number, read.id or f"line {number}", bundle, read.expected)


_DECODER = msgspec.json.Decoder(_Line)
