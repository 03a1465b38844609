"""A golden file holds one recording a line: its evidence, with what is expected of a decision."""

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import defect, read_bundle
from chart_binder.domain.ids import bare_id
from chart_binder.domain.words import said
from chart_binder.errors import EvidenceError
from chart_binder.jobs.decision import INDETERMINATE, LLM_ADJUDICATION
from chart_binder.rules.override import MANUAL_OVERRIDE
from chart_binder.rules.representative import (
    ORIGIN_COUNTRY_EARLIEST,
    REISSUE_FILTER_APPLIED,
    WORLD_EARLIEST,
)
from chart_binder.rules.table import RULES

_OPEN = ":INDETERMINATE"
_CRG_RULES = (
    f"CRG:{MANUAL_OVERRIDE}",
    *(code for code, _ in RULES),
    f"CRG:{LLM_ADJUDICATION}",
    f"CRG:{INDETERMINATE}",
)
_RR_RULES = (
    f"RR:{MANUAL_OVERRIDE}",
    ORIGIN_COUNTRY_EARLIEST,
    WORLD_EARLIEST,
    REISSUE_FILTER_APPLIED,
    f"RR:{LLM_ADJUDICATION}",
    f"RR:{INDETERMINATE}",
)


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
    id: str | None = None


def read_golden(lines: Iterable[bytes]) -> Iterator[Golden | IllFormed]:
    """Read every line for itself; a bad one does not stop the rest, an empty one is passed over.

    A name that an earlier line has is a defect: most likely a case was copied and not changed.
    """
    named: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(BOM_UTF8) if number == 1 else line
        if not text.strip():
            continue
        case = _case(number, text)
        if isinstance(case, Golden) and (first := named.setdefault(case.name, number)) != number:
            case = IllFormed(
                number, f"id: {case.name!r} is that of line {first} too; each needs its own"
            )
        yield case


def _case(number: int, line: bytes) -> Golden | IllFormed:
    try:
        read = _DECODER.decode(line)
        bundle = read_bundle(bytes(read.bundle))
        expected = _expected(read.expected)
    except msgspec.ValidationError as error:
        return IllFormed(number, ": ".join(filter(None, defect(error))))
    except (msgspec.DecodeError, ValueError, EvidenceError) as error:
        return IllFormed(number, str(error))
    except RecursionError:
        return IllFormed(number, "nested too deeply")
    return Golden(number, said(read.id) or f"line {number}", bundle, expected)


def _expected(found: Expected) -> Expected:
    """Return what is expected with its ids as they are compared. Raises `ValueError`."""
    release, acceptable = found.rr_mbid, found.rr_acceptable
    if acceptable:
        ids = (_id(one, f"rr_acceptable[{n}]") for n, one in enumerate(acceptable))
        acceptable = tuple(one for one in ids if one)
    if found.crg_mbid is None and (odd := _beside_none(found)):
        raise ValueError(f"expected.{odd} stands beside a crg_mbid of null, which means: open")
    return Expected(
        crg_mbid=_id(found.crg_mbid, "crg_mbid"),
        rr_mbid=release if release is UNSET else _id(release, "rr_mbid"),
        rr_acceptable=acceptable,
        crg_rule=_rule(found.crg_rule, "crg_rule", _CRG_RULES),
        rr_rule=_rule(found.rr_rule, "rr_rule", _RR_RULES),
    )


def _beside_none(found: Expected) -> str | None:
    """Name what contradicts that a case must stay open."""
    rules = (("crg_rule", said(found.crg_rule)), ("rr_rule", said(found.rr_rule)))
    odd = [f"{name} {rule!r}" for name, rule in rules if rule and not rule.endswith(_OPEN)]
    if found.rr_mbid or found.rr_acceptable:
        odd.append("rr_mbid or rr_acceptable")
    return next(iter(odd), None)


def _rule(written: str | None, field: str, known: Sequence[str]) -> str | None:
    """Return the code of a rule; one that no rule has would never match, and not be seen to."""
    code = said(written)
    if code and code not in known:
        raise ValueError(f"expected.{field}: found {code!r}; allowed are {', '.join(known)}")
    return code


def _id(written: str | None, field: str) -> str | None:
    """Return an id; a blank one is refused, for it may be a gap in a table as well as a null."""
    if written is None:
        return None
    if not said(written):
        raise ValueError(f"expected.{field}: found a blank id; an id is allowed, or null for none")
    return bare_id(written)


_DECODER = msgspec.json.Decoder(_Line)
