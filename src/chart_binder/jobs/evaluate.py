"""Decisions on a golden file are scored: right, wrong, or open where they should not be."""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec
from msgspec import UNSET, UnsetType

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import defect, read_bundle
from chart_binder.domain.verdict import Considered
from chart_binder.domain.vocabulary import bare_id, non_blank
from chart_binder.errors import EvidenceError
from chart_binder.jobs.calibrate import Answer, Calibration, KnownAnswer, measure_calibration
from chart_binder.jobs.decide import INDETERMINATE, LLM_ADJUDICATION, Case, Decision, State
from chart_binder.llm.result import AdjudicationResult
from chart_binder.rules.decide import MANUAL_OVERRIDE
from chart_binder.rules.premiere import RULES
from chart_binder.rules.representative import (
    ORIGIN_COUNTRY_EARLIEST,
    REISSUE_FILTER_APPLIED,
    WORLD_EARLIEST,
)

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


class GoldenCase(msgspec.Struct, frozen=True):
    """One case, and the line that it stands on, counted from 1."""

    line: int
    name: str
    bundle: EvidenceBundle
    expected: Expected


class InvalidLine(msgspec.Struct, frozen=True):
    """A line that is no case, and why."""

    line: int
    problem: str


class _Line(msgspec.Struct):
    bundle: msgspec.Raw
    expected: Expected
    id: str | None = None


def read_golden(lines: Iterable[bytes]) -> Iterator[GoldenCase | InvalidLine]:
    """Read every line for itself; a bad one does not stop the rest, an empty one is passed over.

    A name that an earlier line has is a defect: most likely a case was copied and not changed.
    """
    named: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(BOM_UTF8) if number == 1 else line
        if not text.strip():
            continue
        case = _case(number, text)
        if (
            isinstance(case, GoldenCase)
            and (first := named.setdefault(case.name, number)) != number
        ):
            case = InvalidLine(
                number, f"id: {case.name!r} is that of line {first} too; each needs its own"
            )
        yield case


def _case(number: int, line: bytes) -> GoldenCase | InvalidLine:
    try:
        read = _DECODER.decode(line)
        bundle = read_bundle(bytes(read.bundle))
        expected = _expected(read.expected)
    except msgspec.ValidationError as error:
        return InvalidLine(number, ": ".join(filter(None, defect(error))))
    except (msgspec.DecodeError, ValueError, EvidenceError) as error:
        return InvalidLine(number, str(error))
    except RecursionError:
        return InvalidLine(number, "nested too deeply")
    return GoldenCase(number, non_blank(read.id) or f"line {number}", bundle, expected)


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
    rules = (("crg_rule", non_blank(found.crg_rule)), ("rr_rule", non_blank(found.rr_rule)))
    odd = [f"{name} {rule!r}" for name, rule in rules if rule and not rule.endswith(_OPEN)]
    if found.rr_mbid or found.rr_acceptable:
        odd.append("rr_mbid or rr_acceptable")
    return next(iter(odd), None)


def _rule(written: str | None, field: str, known: Sequence[str]) -> str | None:
    """Return the code of a rule; one that no rule has would never match, and not be seen to."""
    code = non_blank(written)
    if code and code not in known:
        raise ValueError(f"expected.{field}: found {code!r}; allowed are {', '.join(known)}")
    return code


def _id(written: str | None, field: str) -> str | None:
    """Return an id; a blank one is refused, for it may be a gap in a table as well as a null."""
    if written is None:
        return None
    if not non_blank(written):
        raise ValueError(f"expected.{field}: found a blank id; an id is allowed, or null for none")
    return bare_id(written)


_DECODER = msgspec.json.Decoder(_Line)


class Mark(StrEnum):
    """How a decision came out against what is expected."""

    RIGHT = "right"
    WRONG = "wrong"
    OPEN = "open"
    """Not decided, though it should be."""
    FAILED = "failed"
    """The adjudicator could not be asked."""
    UNSCORED = "unscored"
    """Nothing is expected, or another mark already says it."""


class ScoredCase(msgspec.Struct, frozen=True):
    """One case, decided and marked; `path` is how the decision was reached."""

    line: int
    id: str
    name: str
    crg: Mark
    rr: Mark
    expected: Expected
    decision: Decision
    path: tuple[Considered, ...]
    is_by_another_rule: bool
    titles: dict[str, str]
    """Of the groups expected, found and named by the model, as far as the evidence has them."""

    @property
    def is_as_expected(self) -> bool:
        """Whether nothing came out otherwise."""
        marks = {self.crg, self.rr}
        return marks <= {Mark.RIGHT, Mark.UNSCORED} and not self.is_by_another_rule

    @property
    def is_left_open(self) -> bool:
        """Whether it only lacks an answer."""
        marks = {self.crg, self.rr}
        is_else_right = marks <= {Mark.RIGHT, Mark.OPEN, Mark.UNSCORED}
        return Mark.OPEN in marks and is_else_right and not self.is_by_another_rule


class ScoreTotals(msgspec.Struct, frozen=True):
    """How many came out how; shares are absent where there is nothing to divide by."""

    cases: int
    right: int
    wrong: int
    open: int
    failed: int
    accuracy: float | None
    """The share right of all."""
    precision: float | None
    """The share right of those that are right or wrong."""


class RuleRow(msgspec.Struct, frozen=True):
    """What is expected of one rule, and what became of it."""

    rule: str
    expected: int
    decided: int
    right: int
    wrong: int
    open: int
    """Expected of this rule, but left open."""


class EvaluationReport(msgspec.Struct, frozen=True):
    """The score of a golden file."""

    crg: ScoreTotals
    rr: ScoreTotals
    rightly_open: int
    rules: tuple[RuleRow, ...]
    calibration: Calibration | None
    wrong: tuple[ScoredCase, ...]
    """Everything that is otherwise than expected, and not for being open."""
    open: tuple[ScoredCase, ...]
    ill_formed: tuple[InvalidLine, ...]

    @property
    def status(self) -> int:
        """The exit status: 1 something is wrong, 3 something is open that should not be, else 0."""
        return 1 if self.wrong or self.ill_formed else 3 if self.open else 0


def forget(known: KnownAnswer) -> None:
    """Learn nothing from an answer."""
    del known


def evaluate(
    golden: Iterable[GoldenCase | InvalidLine],
    decide: Callable[[EvidenceBundle], Case],
    learn: Callable[[KnownAnswer], object] = forget,
) -> EvaluationReport:
    """Decide every case and return the score; `learn` is told each answer of the adjudicator.

    Of what is as expected only the count is kept, so that a file may be of any length.
    """
    count = _Count()
    for case in golden:
        if isinstance(case, InvalidLine):
            count.ill_formed.append(case)
        else:
            one = score(case, decide(case.bundle))
            count.add(one)
            for known in _known(one):
                learn(known)
    return EvaluationReport(
        crg=_tally(count.crg),
        rr=_tally(count.rr),
        rightly_open=count.rightly_open,
        rules=tuple(_rows(count.rules)),
        calibration=measure_calibration(count.answers),
        wrong=tuple(count.wrong),
        open=tuple(count.open),
        ill_formed=tuple(count.ill_formed),
    )


@dataclass(slots=True)
class _Count:
    """What has come out so far."""

    crg: Counter[Mark] = field(default_factory=Counter)
    rr: Counter[Mark] = field(default_factory=Counter)
    rules: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By rule and column of its row."""
    rightly_open: int = 0
    answers: list[Answer] = field(default_factory=list)
    wrong: list[ScoredCase] = field(default_factory=list)
    open: list[ScoredCase] = field(default_factory=list)
    ill_formed: list[InvalidLine] = field(default_factory=list)

    def add(self, one: ScoredCase) -> None:
        self.crg[one.crg] += 1
        self.rr[one.rr] += 1
        self.rules.update(_told(one))
        self.rightly_open += one.crg is Mark.RIGHT and not one.decision.crg_mbid
        self.answers += [Answer(result.confidence, right) for result, right in _answers(one)]
        if one.is_left_open:
            self.open.append(one)
        elif not one.is_as_expected:
            self.wrong.append(one)


def score(golden: GoldenCase, case: Case) -> ScoredCase:
    """Hold one decision against what is expected of it.

    An answer that is only for review decides nothing yet. The release is looked at where the
    release group is right; rules where rules decided.
    """
    decision, expected = case.decision, golden.expected
    crg = _mark(decision, decision.crg_mbid, frozenset({expected.crg_mbid}))
    rr = Mark.UNSCORED
    if crg is Mark.RIGHT and expected.crg_mbid and expected.releases is not None:
        rr = _mark(decision, decision.rr_mbid, expected.releases)
    return ScoredCase(
        line=golden.line,
        id=golden.name,
        name=golden.bundle.name,
        crg=crg,
        rr=rr,
        expected=expected,
        decision=decision,
        path=case.verdict.path if case.verdict else (),
        is_by_another_rule=_is_by_another_rule(crg, rr, expected, decision),
        titles=_titles(golden.bundle, expected.crg_mbid, decision.crg_mbid, _answered(decision)),
    )


def _is_by_another_rule(crg: Mark, rr: Mark, expected: Expected, decision: Decision) -> bool:
    """Whether what is right, the release included where one is expected, is so by another rule."""
    told = [(expected.crg_rule, decision.crg_rule)]
    if rr in (Mark.RIGHT, Mark.UNSCORED):
        told.append((expected.rr_rule, decision.rr_rule))
    is_right = crg is Mark.RIGHT and decision.decided_by == "rules"
    return is_right and any(rule not in (None, found) for rule, found in told)


def _answered(decision: Decision) -> str | None:
    return decision.adjudication.crg_mbid if decision.adjudication else None


def _titles(bundle: EvidenceBundle, *groups: str | None) -> dict[str, str]:
    wanted = {bare_id(group) for group in groups if group}
    return {
        known: group.title or group.mb_rg_id
        for recording in bundle.recording_candidates
        for group in recording.groups
        if (known := bare_id(group.mb_rg_id)) in wanted
    }


def _mark(decision: Decision, found: str | None, right: frozenset[str | None]) -> Mark:
    if decision.state is State.ERROR:
        return Mark.FAILED
    answer = bare_id(found) if found and decision.state is State.DECIDED else None
    if answer in right:
        return Mark.RIGHT
    return Mark.WRONG if answer else Mark.OPEN


def _tally(count: Counter[Mark]) -> ScoreTotals:
    cases = count.total() - count[Mark.UNSCORED]
    answered = count[Mark.RIGHT] + count[Mark.WRONG]
    return ScoreTotals(
        cases=cases,
        right=count[Mark.RIGHT],
        wrong=count[Mark.WRONG],
        open=count[Mark.OPEN],
        failed=count[Mark.FAILED],
        accuracy=count[Mark.RIGHT] / cases if cases else None,
        precision=count[Mark.RIGHT] / answered if answered else None,
    )


def _told(one: ScoredCase) -> Iterator[tuple[str, str]]:
    """Yield what one case adds to the rows of the rules: the rule and the column."""
    expected, decision = one.expected, one.decision
    rr = one.rr if expected.crg_mbid else one.crg
    for wanted, found, mark in (
        (expected.crg_rule, decision.crg_rule, one.crg),
        (expected.rr_rule, decision.rr_rule, rr),
    ):
        if wanted:
            yield wanted, "expected"
            if mark is Mark.OPEN:
                yield wanted, "open"
        if found and one.crg is not Mark.FAILED:  # which decides nothing, not even: open
            yield found, "decided"
            if mark in (Mark.RIGHT, Mark.WRONG):
                yield found, mark.value


def _rows(count: Counter[tuple[str, str]]) -> list[RuleRow]:
    """Return a row for each rule that is expected or decided, the most used first."""
    columns = ("expected", "decided", "right", "wrong", "open")
    rows = [
        RuleRow(rule, *(count[rule, column] for column in columns))
        for rule in {rule for rule, _ in count}
    ]
    return sorted(rows, key=lambda row: (row.rule.partition(":")[0], -row.decided, row.rule))


def _answers(one: ScoredCase) -> Iterator[tuple[AdjudicationResult, bool]]:
    """Yield what the adjudicator said, accepted or not, if it named a group; if that is right."""
    result = one.decision.adjudication
    if result and result.crg_mbid:
        yield result, bare_id(result.crg_mbid) == one.expected.crg_mbid


def _known(one: ScoredCase) -> Iterator[KnownAnswer]:
    return (KnownAnswer.of(result, right=right, name=one.id) for result, right in _answers(one))
