"""Score decisions on a golden file: right, wrong, or open though they should not be."""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec
from msgspec import UNSET, UnsetType

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import defect, read_bundle
from chart_binder.domain.verdict import Considered, FirstRelease
from chart_binder.domain.vocabulary import bare_id, non_blank
from chart_binder.errors import EvidenceError
from chart_binder.jobs.calibrate import Calibration, KnownAnswer, measure_calibration
from chart_binder.jobs.decide import INDETERMINATE, LLM_ADJUDICATION, Case, Decision, State
from chart_binder.rules import representative
from chart_binder.rules.decide import MANUAL_OVERRIDE
from chart_binder.rules.premiere import RULES, STATED_PREMIERE

_OPEN = ":INDETERMINATE"
CRG_RULES = (
    f"CRG:{MANUAL_OVERRIDE}",
    *(code for code, _ in RULES),
    STATED_PREMIERE,
    f"CRG:{LLM_ADJUDICATION}",
    f"CRG:{INDETERMINATE}",
)
RR_RULES = (
    f"RR:{MANUAL_OVERRIDE}",
    representative.ORIGIN_COUNTRY_EARLIEST,
    representative.WORLD_EARLIEST,
    representative.REISSUE_FILTER_APPLIED,
    f"RR:{LLM_ADJUDICATION}",
    f"RR:{INDETERMINATE}",
)


class ExpectedRelease(msgspec.Struct, frozen=True):
    """The expected first release; without `release_group_mbid` its group is not scored."""

    date: str
    year_certain: bool
    release_group_mbid: str | UnsetType | None = UNSET


class Expected(msgspec.Struct, frozen=True):
    """The expected decision; a `crg_mbid` of null means that the case must stay open.

    A `first_release` of null means that none is known. Other fields that are absent are not scored.
    """

    crg_mbid: str | None
    rr_mbid: str | UnsetType | None = UNSET
    rr_acceptable: tuple[str, ...] | UnsetType | None = UNSET
    crg_rule: str | None = None
    rr_rule: str | None = None
    first_release: ExpectedRelease | UnsetType | None = UNSET

    @property
    def releases(self) -> frozenset[str | None] | None:
        """The right releases, `None` among them if none is right; absent if any is."""
        if self.rr_mbid is UNSET and self.rr_acceptable is UNSET:
            return None
        named = {self.rr_mbid or None, *(self.rr_acceptable or ())}
        return frozenset(named - {None} or {None})


class GoldenCase(msgspec.Struct, frozen=True):
    """One case, and its line, counted from 1."""

    line: int
    name: str
    bundle: EvidenceBundle
    expected: Expected


class InvalidLine(msgspec.Struct, frozen=True):
    """A line that is no case, and the reason."""

    line: int
    problem: str


class _Line(msgspec.Struct):
    bundle: msgspec.Raw
    expected: Expected
    id: str | None = None


def read_golden(lines: Iterable[bytes]) -> Iterator[GoldenCase | InvalidLine]:
    """Yield the case, or the error, of every line that is not blank.

    A name that an earlier line has is an error: most likely a case was copied and not changed.
    """
    named: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(BOM_UTF8) if number == 1 else line
        if not text.strip():
            continue
        case = _golden_case(number, text)
        first = named.setdefault(case.name, number) if isinstance(case, GoldenCase) else number
        if isinstance(case, GoldenCase) and first != number:
            problem = f"id: {case.name!r} is that of line {first} too; each needs its own"
            case = InvalidLine(number, problem)
        yield case


def _golden_case(number: int, line: bytes) -> GoldenCase | InvalidLine:
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
    """Return the expectation with normalized ids. Raises `ValueError`."""
    release, acceptable = found.rr_mbid, found.rr_acceptable
    if acceptable:
        ids = (_id(one, f"rr_acceptable[{n}]") for n, one in enumerate(acceptable))
        acceptable = tuple(one for one in ids if one)
    if found.crg_mbid is None:
        _require_nothing_else(found)
    return Expected(
        crg_mbid=_id(found.crg_mbid, "crg_mbid"),
        rr_mbid=release if release is UNSET else _id(release, "rr_mbid"),
        rr_acceptable=acceptable,
        crg_rule=_rule(found.crg_rule, "crg_rule", CRG_RULES),
        rr_rule=_rule(found.rr_rule, "rr_rule", RR_RULES),
        first_release=_expected_release(found.first_release),
    )


def _expected_release(
    found: ExpectedRelease | UnsetType | None,
) -> ExpectedRelease | UnsetType | None:
    """Return the expectation with a normalized id. Raises `ValueError`."""
    if not isinstance(found, ExpectedRelease):
        return found
    try:
        is_known = PartialDate.parse(found.date).is_known
    except ValueError:
        is_known = False
    if not is_known or not found.date[:4].isdigit():
        raise ValueError(
            f"expected.first_release.date: found {found.date!r}; YYYY, YYYY-MM or YYYY-MM-DD is"
            " allowed, or null in place of the whole where nothing is known"
        )
    group = found.release_group_mbid
    if group is UNSET:
        return found
    known = _id(group, "first_release.release_group_mbid")
    return msgspec.structs.replace(found, release_group_mbid=known)


def _require_nothing_else(found: Expected) -> None:
    """Raise `ValueError` for a field that contradicts that the case must stay open."""
    rules = (("crg_rule", non_blank(found.crg_rule)), ("rr_rule", non_blank(found.rr_rule)))
    odd = [f"{name} {rule!r}" for name, rule in rules if rule and not rule.endswith(_OPEN)]
    if found.rr_mbid or found.rr_acceptable:
        odd.append("rr_mbid or rr_acceptable")
    if odd:
        raise ValueError(f"expected.{odd[0]} is given beside a crg_mbid of null, which means: open")


def _rule(written: str | None, field: str, known: Sequence[str]) -> str | None:
    """Return the code of a rule. Raises `ValueError` for one that no rule has."""
    code = non_blank(written)
    if code and code not in known:
        raise ValueError(f"expected.{field}: found {code!r}; allowed are {', '.join(known)}")
    return code


def _id(written: str | None, field: str) -> str | None:
    """Return an id. Raises `ValueError` for a blank one, which may be a gap or a null."""
    if written is None:
        return None
    if not non_blank(written):
        raise ValueError(f"expected.{field}: found a blank id; an id is allowed, or null for none")
    return bare_id(written)


_DECODER = msgspec.json.Decoder(_Line)


class Mark(StrEnum):
    """The score of a decision."""

    RIGHT = "right"
    WRONG = "wrong"
    OPEN = "open"
    """Not decided, though it should be."""
    FAILED = "failed"
    """The adjudicator could not be asked."""
    UNSCORED = "unscored"
    """Nothing is expected, or another mark already says it."""


_UNBLAMED = frozenset({Mark.RIGHT, Mark.UNSCORED})


class ScoredCase(msgspec.Struct, frozen=True):
    """One case, decided and scored; `path` are the rules that were tried."""

    line: int
    id: str
    name: str
    crg: Mark
    rr: Mark
    first: Mark
    expected: Expected
    decision: Decision
    path: tuple[Considered, ...]
    is_by_another_rule: bool
    titles: dict[str, str]
    """The titles of the release groups that are expected, decided, or named by the model."""

    @property
    def is_as_expected(self) -> bool:
        """Whether everything is as expected."""
        return {self.crg, self.rr, self.first} <= _UNBLAMED and not self.is_by_another_rule

    @property
    def is_left_open(self) -> bool:
        """Whether it is open, and otherwise as expected."""
        marks = {self.crg, self.rr, self.first}
        is_open = Mark.OPEN in marks and marks <= _UNBLAMED | {Mark.OPEN}
        return is_open and not self.is_by_another_rule


class ScoreTotals(msgspec.Struct, frozen=True):
    """Counts of scores; a share is absent if there is nothing to divide by."""

    cases: int
    right: int
    wrong: int
    open: int
    failed: int
    accuracy: float | None
    """The share right of all."""
    precision: float | None
    """The share right of those that are right or wrong."""


class FirstReleaseTotals(msgspec.Struct, frozen=True):
    """Counts of first releases: all right, and what is wrong with the others.

    `wrong_year` are those of a certain year that is not the expected one.
    """

    cases: int
    right: int
    wrong_date: int
    wrong_group: int
    wrong_year: int
    wrongly_certain: int
    wrongly_uncertain: int


class RuleRow(msgspec.Struct, frozen=True):
    """The counts for one rule: expected of it, decided by it, and how these were scored."""

    rule: str
    expected: int
    decided: int
    right: int
    wrong: int
    open: int
    """Expected of this rule, but open."""


class EvaluationReport(msgspec.Struct, frozen=True):
    """The score of a golden file."""

    first_release: FirstReleaseTotals
    crg: ScoreTotals
    rr: ScoreTotals
    rightly_open: int
    rules: tuple[RuleRow, ...]
    calibration: Calibration | None
    wrong: tuple[ScoredCase, ...]
    """The cases that are not as expected, other than open ones."""
    open: tuple[ScoredCase, ...]
    ill_formed: tuple[InvalidLine, ...]

    @property
    def status(self) -> int:
        """The exit status: 1 if something is wrong, 3 if something is open unexpectedly, else 0."""
        return 1 if self.wrong or self.ill_formed else 3 if self.open else 0


def evaluate(
    golden: Iterable[GoldenCase | InvalidLine],
    decide: Callable[[EvidenceBundle], Case],
    learn: Callable[[KnownAnswer], object] = lambda _: None,
) -> EvaluationReport:
    """Decide every case and return the scores; `learn` is called with the adjudicator's answers.

    Cases that are as expected are only counted, so that a file may have any length.
    """
    crg, rr = Counter[Mark](), Counter[Mark]()
    first: Counter[str] = Counter()
    rules: Counter[tuple[str, str]] = Counter()
    rightly_open = 0
    answers: list[KnownAnswer] = []
    wrong: list[ScoredCase] = []
    left_open: list[ScoredCase] = []
    ill_formed: list[InvalidLine] = []
    for case in golden:
        if isinstance(case, InvalidLine):
            ill_formed.append(case)
            continue
        one = score(case, decide(case.bundle))
        crg[one.crg] += 1
        rr[one.rr] += 1
        defects = _first_defects(one.expected.first_release, one.decision.first_release)
        first.update((one.first, *defects))
        rules.update(_told(one))
        rightly_open += one.crg is Mark.RIGHT and not one.expected.crg_mbid
        if (result := one.decision.adjudication) and result.crg_mbid:
            is_right = bare_id(result.crg_mbid) == one.expected.crg_mbid
            answers.append(KnownAnswer(result.confidence, is_right))
            learn(KnownAnswer.of(result, right=is_right, name=one.id))
        if not one.is_as_expected:
            (left_open if one.is_left_open else wrong).append(one)
    return EvaluationReport(
        first_release=_first_totals(first),
        crg=_tally(crg),
        rr=_tally(rr),
        rightly_open=rightly_open,
        rules=tuple(_rows(rules)),
        calibration=measure_calibration(answers),
        wrong=tuple(wrong),
        open=tuple(left_open),
        ill_formed=tuple(ill_formed),
    )


def score(golden: GoldenCase, case: Case) -> ScoredCase:
    """Score one decision.

    An answer for review counts as open. Releases are scored if the release group is right, rules
    if the rules decided.
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
        first=_first_mark(decision, expected),
        expected=expected,
        decision=decision,
        path=case.verdict.path if case.verdict else (),
        is_by_another_rule=crg is Mark.RIGHT
        and decision.decided_by == "rules"
        and decision.state is State.DECIDED
        and (
            expected.crg_rule not in (None, decision.crg_rule)
            or (rr in _UNBLAMED and expected.rr_rule not in (None, decision.rr_rule))
        ),
        titles=_titles(golden.bundle, *_named_groups(decision, expected)),
    )


def _first_mark(decision: Decision, expected: Expected) -> Mark:
    if expected.first_release is UNSET:
        return Mark.UNSCORED
    if decision.state is State.ERROR and decision.first_release is None:
        return Mark.FAILED
    defects = [*_first_defects(expected.first_release, decision.first_release)]
    return Mark.WRONG if defects else Mark.RIGHT


def _first_defects(
    expected: ExpectedRelease | UnsetType | None, found: FirstRelease | None
) -> Iterator[str]:
    """Yield the fields of `FirstReleaseTotals` in which a first release counts as wrong."""
    if expected is UNSET:
        return
    if expected is None or found is None:
        if (expected, found) != (None, None):
            yield "wrong_date"
            if found and found.year_certain:
                yield "wrong_year"
        return
    if found.date != expected.date:
        yield "wrong_date"
    group = found.release_group_mbid and bare_id(found.release_group_mbid)
    if expected.release_group_mbid is not UNSET and group != expected.release_group_mbid:
        yield "wrong_group"
    if found.year_certain and found.date[:4] != expected.date[:4]:
        yield "wrong_year"
    if found.year_certain is not expected.year_certain:
        yield "wrongly_certain" if found.year_certain else "wrongly_uncertain"


def _first_totals(count: Counter[str]) -> FirstReleaseTotals:
    marks = (Mark.RIGHT, Mark.WRONG, Mark.FAILED)
    fields = FirstReleaseTotals.__struct_fields__[2:]
    return FirstReleaseTotals(
        sum(count[mark] for mark in marks), count[Mark.RIGHT], *(count[name] for name in fields)
    )


def _named_groups(decision: Decision, expected: Expected) -> Iterator[str | None]:
    yield from (expected.crg_mbid, decision.crg_mbid)
    if decision.adjudication:
        yield decision.adjudication.crg_mbid
    if isinstance(expected.first_release, ExpectedRelease):
        yield expected.first_release.release_group_mbid or None
    if decision.first_release:
        yield decision.first_release.release_group_mbid


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
    """Yield what one case adds to the rows of rules, as rule and column."""
    expected, decision = one.expected, one.decision
    rr = one.rr if expected.crg_mbid else one.crg
    crg_rule, rr_rule = decision.crg_rule, decision.rr_rule
    if decision.state is State.REVIEW and decision.decided_by == "rules":  # only proposed
        crg_rule, rr_rule = f"CRG:{INDETERMINATE}", f"RR:{INDETERMINATE}"
    for wanted, found, mark in (
        (expected.crg_rule, crg_rule, one.crg),
        (expected.rr_rule, rr_rule, rr),
    ):
        if wanted:
            yield wanted, "expected"
            if mark is Mark.OPEN:
                yield wanted, "open"
        if found and one.crg is not Mark.FAILED:  # a failure does not even leave a case open
            yield found, "decided"
            if mark in (Mark.RIGHT, Mark.WRONG):
                yield found, mark.value


def _rows(count: Counter[tuple[str, str]]) -> list[RuleRow]:
    columns = ("expected", "decided", "right", "wrong", "open")
    rows = [
        RuleRow(rule, *(count[rule, column] for column in columns))
        for rule in {rule for rule, _ in count}
    ]
    return sorted(rows, key=lambda row: (row.rule.partition(":")[0], -row.decided, row.rule))
