"""Score decisions on a golden file, and compare first releases with the years in a list.

A list is CSV with artist, title, year and maybe isrc. As it may be wrong, too, the report only says
how far the years differ.
"""

import csv
from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import defect, read_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.verdict import FirstRelease, RuleStep
from chart_binder.domain.vocabulary import bare_id, isrc, non_blank
from chart_binder.errors import CanonError, EvidenceError
from chart_binder.jobs.decision import Case, Cause, Decision, State
from chart_binder.jobs.gather import limited_lookup
from chart_binder.jobs.pipeline import LLM_ADJUDICATION, Pipeline, attempt, decide_bundle
from chart_binder.rules import representative
from chart_binder.rules.decide import MANUAL_OVERRIDE
from chart_binder.rules.premiere import RULES, STATED_PREMIERE

_OPEN_CRG, _OPEN_RR = "CRG:INDETERMINATE", "RR:INDETERMINATE"
CRG_RULES = (
    f"CRG:{MANUAL_OVERRIDE}",
    *(code for code, _ in RULES),
    STATED_PREMIERE,
    f"CRG:{LLM_ADJUDICATION}",
    _OPEN_CRG,
)
RR_RULES = (
    f"RR:{MANUAL_OVERRIDE}",
    representative.ORIGIN_COUNTRY_EARLIEST,
    representative.WORLD_EARLIEST,
    representative.REISSUE_FILTER_APPLIED,
    f"RR:{LLM_ADJUDICATION}",
    _OPEN_RR,
)


_EntityId = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""An id; a blank id is refused, because it could mean a forgotten value as well as null."""
_Date = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}(-(0[1-9]|1[0-2])(-[0-3][0-9])?)?$")]


class ExpectedRelease(msgspec.Struct, frozen=True):
    """The expected first release; its group is scored only if `release_group_mbid` is set."""

    date: _Date
    year_certain: bool
    release_group_mbid: _EntityId | UnsetType | None = UNSET


class ExpectedDecision(msgspec.Struct, frozen=True):
    """The expected decision: null means that the case stays open, absent that it is not scored."""

    crg_mbid: _EntityId | None
    rr_mbid: _EntityId | UnsetType | None = UNSET
    rr_acceptable: tuple[_EntityId, ...] | UnsetType | None = UNSET
    crg_rule: str | None = None
    rr_rule: str | None = None
    first_release: ExpectedRelease | UnsetType | None = UNSET

    @property
    def releases(self) -> frozenset[str | None] | None:
        """The right releases, `{None}` if no release is right, or None if any release is."""
        if self.rr_mbid is UNSET and self.rr_acceptable is UNSET:
            return None
        releases = {self.rr_mbid or None, *(self.rr_acceptable or ())}
        return frozenset(releases - {None} or {None})


class GoldenCase(msgspec.Struct, frozen=True):
    """A case of a golden file, with the number of its line, from 1 on."""

    line: int
    name: str
    bundle: EvidenceBundle
    expected: ExpectedDecision


class InvalidLine(msgspec.Struct, frozen=True):
    """A line that cannot be read as a case, and the reason."""

    line: int
    problem: str


class _GoldenLine(msgspec.Struct):
    bundle: msgspec.Raw
    expected: ExpectedDecision
    id: str | None = None


def read_golden(lines: Iterable[bytes]) -> Iterator[GoldenCase | InvalidLine]:
    """Yield the case or the problem of every line that is not blank; names must be unique."""
    lines_by_name: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(BOM_UTF8) if number == 1 else line
        if not text.strip():
            continue
        case = _golden_case(number, text)
        if isinstance(case, GoldenCase):
            first = lines_by_name.setdefault(case.name, number)
            if first != number:
                case = InvalidLine(number, f"id: line {first} has {case.name!r} too")
        yield case


def _golden_case(number: int, line: bytes) -> GoldenCase | InvalidLine:
    try:
        fields = _DECODER.decode(line)
        bundle = read_bundle(bytes(fields.bundle))
        expected = _expected(fields.expected)
    except msgspec.ValidationError as error:
        return InvalidLine(number, ": ".join(filter(None, defect(error))))
    except (msgspec.DecodeError, ValueError, EvidenceError) as error:
        return InvalidLine(number, str(error))
    except RecursionError:
        return InvalidLine(number, "nested too deeply")
    return GoldenCase(number, non_blank(fields.id) or f"line {number}", bundle, expected)


def _expected(expected: ExpectedDecision) -> ExpectedDecision:
    """Return the expected decision with normalized ids. Raises `ValueError` for unknown rules."""
    for field, code, rules in (
        ("crg_rule", expected.crg_rule, CRG_RULES), ("rr_rule", expected.rr_rule, RR_RULES)
    ):  # fmt: skip
        if code and code not in rules:
            raise ValueError(f"expected.{field}: found {code!r}; allowed are {', '.join(rules)}")
    first, acceptable = expected.first_release, expected.rr_acceptable
    if isinstance(first, ExpectedRelease):
        group = _bare(first.release_group_mbid)
        first = msgspec.structs.replace(first, release_group_mbid=group)
    return msgspec.structs.replace(
        expected,
        crg_mbid=_bare(expected.crg_mbid),
        rr_mbid=_bare(expected.rr_mbid),
        rr_acceptable=tuple(map(bare_id, acceptable)) if acceptable else acceptable,
        first_release=first,
    )


def _bare(mbid: str | UnsetType | None) -> str | UnsetType | None:
    return bare_id(mbid) if isinstance(mbid, str) else mbid


_DECODER = msgspec.json.Decoder(_GoldenLine)


class Grade(StrEnum):
    """The grade of a decision, or of a part of it."""

    RIGHT = "right"
    WRONG = "wrong"
    OPEN = "open"
    """The case is not decided, although it should be."""
    FAILED = "failed"
    """The adjudicator could not be asked."""
    UNSCORED = "unscored"
    """The case expects nothing, or another grade covers it."""


_FAULTLESS = frozenset({Grade.RIGHT, Grade.UNSCORED})


class ScoredCase(msgspec.Struct, frozen=True):
    """A case with its decision and grades; `path` has the rules that were tried."""

    line: int
    id: str
    name: str
    crg: Grade
    rr: Grade
    first: Grade
    expected: ExpectedDecision
    decision: Decision
    path: tuple[RuleStep, ...]
    is_by_another_rule: bool
    titles: dict[str, str]

    @property
    def worst(self) -> Grade:
        """The worst of its grades: wrong, else open, else right."""
        faults = {self.crg, self.rr, self.first} - _FAULTLESS
        if self.is_by_another_rule or faults - {Grade.OPEN}:
            return Grade.WRONG
        return Grade.OPEN if faults else Grade.RIGHT


class ScoreTotals(msgspec.Struct, frozen=True):
    """Counts of grades; `accuracy` is the share of right ones, `precision` without open cases."""

    cases: int
    right: int
    wrong: int
    open: int
    failed: int
    accuracy: float | None
    precision: float | None


class FirstReleaseTotals(msgspec.Struct, frozen=True):
    """Counts of first releases, right and by fault; `wrong_year` counts certain years only."""

    cases: int
    right: int
    wrong_date: int
    wrong_group: int
    wrong_year: int
    wrongly_certain: int
    wrongly_uncertain: int


class RuleRow(msgspec.Struct, frozen=True):
    """The counts for a rule: cases that expect it, how many of these are open, cases it decided."""

    rule: str
    expected: int
    decided: int
    right: int
    wrong: int
    open: int


class EvaluationReport(msgspec.Struct, frozen=True):
    """The scores of a golden file."""

    first_release: FirstReleaseTotals
    crg: ScoreTotals
    rr: ScoreTotals
    rightly_open: int
    rules: tuple[RuleRow, ...]
    wrong: tuple[ScoredCase, ...]
    """The cases that are not as expected, without open ones."""
    open: tuple[ScoredCase, ...]
    ill_formed: tuple[InvalidLine, ...]

    @property
    def status(self) -> int:
        """The exit status: 1 if a case is wrong, 3 if one is unexpectedly open, otherwise 0."""
        return 1 if self.wrong or self.ill_formed else 3 if self.open else 0


def evaluate(
    golden: Iterable[GoldenCase | InvalidLine], decide: Callable[[EvidenceBundle], Case]
) -> EvaluationReport:
    """Decide and score every case."""
    crg, rr = Counter[Grade](), Counter[Grade]()
    counts: Counter[str] = Counter()
    rules: Counter[tuple[str, str]] = Counter()
    faulty: defaultdict[Grade, list[ScoredCase]] = defaultdict(list)
    ill_formed: list[InvalidLine] = []
    for golden_case in golden:
        if isinstance(golden_case, InvalidLine):
            ill_formed.append(golden_case)
            continue
        case = score(golden_case, decide(golden_case.bundle))
        crg[case.crg] += 1
        rr[case.rr] += 1
        faults = _first_release_faults(case.expected.first_release, case.decision.first_release)
        counts.update((case.first, *faults))
        counts["cases"] += case.first is not Grade.UNSCORED
        rules.update(_rule_counts(case))
        counts["rightly_open"] += case.crg is Grade.RIGHT and not case.expected.crg_mbid
        if case.worst is not Grade.RIGHT:
            faulty[case.worst].append(case)
    first_release = (counts[name] for name in FirstReleaseTotals.__struct_fields__)
    return EvaluationReport(
        first_release=FirstReleaseTotals(*first_release),
        crg=_totals(crg),
        rr=_totals(rr),
        rightly_open=counts["rightly_open"],
        rules=tuple(_rule_rows(rules)),
        wrong=tuple(faulty[Grade.WRONG]),
        open=tuple(faulty[Grade.OPEN]),
        ill_formed=tuple(ill_formed),
    )


def score(golden: GoldenCase, case: Case) -> ScoredCase:
    """Grade a decision; a proposal counts as open, the release of a wrong group is not scored."""
    decision, expected = case.decision, golden.expected
    crg = _grade(decision, decision.crg_mbid, frozenset({expected.crg_mbid}))
    rr = Grade.UNSCORED
    if crg is Grade.RIGHT and expected.crg_mbid and expected.releases is not None:
        rr = _grade(decision, decision.rr_mbid, expected.releases)
    return ScoredCase(
        line=golden.line,
        id=golden.name,
        name=golden.bundle.name,
        crg=crg,
        rr=rr,
        first=_first_release_grade(decision, expected),
        expected=expected,
        decision=decision,
        path=case.verdict.path if case.verdict else (),
        is_by_another_rule=crg is Grade.RIGHT
        and decision.decided_by == "rules"
        and decision.state is State.DECIDED
        and (
            expected.crg_rule not in (None, decision.crg_rule)
            or (rr in _FAULTLESS and expected.rr_rule not in (None, decision.rr_rule))
        ),
        titles={
            bare_id(group.mb_rg_id): group.title or group.mb_rg_id for group in golden.bundle.groups
        },
    )


def _first_release_grade(decision: Decision, expected: ExpectedDecision) -> Grade:
    if expected.first_release is UNSET:
        return Grade.UNSCORED
    if decision.state is State.ERROR and decision.first_release is None:
        return Grade.FAILED
    faults = [*_first_release_faults(expected.first_release, decision.first_release)]
    return Grade.WRONG if faults else Grade.RIGHT


def _first_release_faults(
    expected: ExpectedRelease | UnsetType | None, first: FirstRelease | None
) -> Iterator[str]:
    """Yield the fields of `FirstReleaseTotals` that count a first release as faulty."""
    if expected is UNSET:
        return
    if expected is None or first is None:
        if (expected, first) != (None, None):
            yield "wrong_date"
            if first and first.year_certain:
                yield "wrong_year"
        return
    if first.date != expected.date:
        yield "wrong_date"
    group = first.release_group_mbid and bare_id(first.release_group_mbid)
    if expected.release_group_mbid is not UNSET and group != expected.release_group_mbid:
        yield "wrong_group"
    if first.year_certain and first.date[:4] != expected.date[:4]:
        yield "wrong_year"
    if first.year_certain is not expected.year_certain:
        yield "wrongly_certain" if first.year_certain else "wrongly_uncertain"


def _grade(decision: Decision, mbid: str | None, right: frozenset[str | None]) -> Grade:
    if decision.state is State.ERROR:
        return Grade.FAILED
    answer = bare_id(mbid) if mbid and decision.state is State.DECIDED else None
    if answer in right:
        return Grade.RIGHT
    return Grade.WRONG if answer else Grade.OPEN


def _totals(grades: Counter[Grade]) -> ScoreTotals:
    right, wrong = grades[Grade.RIGHT], grades[Grade.WRONG]
    cases, answered = grades.total() - grades[Grade.UNSCORED], right + wrong
    accuracy = right / cases if cases else None
    precision = right / answered if answered else None
    counts = (cases, right, wrong, grades[Grade.OPEN], grades[Grade.FAILED])
    return ScoreTotals(*counts, accuracy, precision)


def _rule_counts(case: ScoredCase) -> Iterator[tuple[str, str]]:
    """Yield the rule and the column of every count that a case adds to the rows of rules."""
    expected, decision = case.expected, case.decision
    rr = case.rr if expected.crg_mbid else case.crg
    crg_rule, rr_rule = decision.crg_rule, decision.rr_rule
    if decision.state is State.REVIEW and decision.decided_by == "rules":  # only proposed
        crg_rule, rr_rule = _OPEN_CRG, _OPEN_RR
    for expected_rule, rule, grade in (
        (expected.crg_rule, crg_rule, case.crg),
        (expected.rr_rule, rr_rule, rr),
    ):
        if expected_rule:
            yield expected_rule, "expected"
            if grade is Grade.OPEN:
                yield expected_rule, "open"
        if rule and case.crg is not Grade.FAILED:  # no rule left a failed case open
            yield rule, "decided"
            if grade in (Grade.RIGHT, Grade.WRONG):
                yield rule, grade.value


def _rule_rows(count: Counter[tuple[str, str]]) -> list[RuleRow]:
    columns = RuleRow.__struct_fields__[1:]
    rows = [
        RuleRow(rule, *(count[rule, name] for name in columns)) for rule in {r for r, _ in count}
    ]
    return sorted(rows, key=lambda row: (row.rule.partition(":")[0], -row.decided, row.rule))


# Lists of years.

_REQUIRED = ("artist", "title", "year")
_DELIMITERS = (",", ";", "\t")
_FIRST_YEAR, _LAST_YEAR = 1860, 2100
"""The oldest preserved recording of a human voice is from 1860."""
_CLOSE, _FAR = 1, 2
_UNDATED = "no official, dated release of it is known"


class ListedYear(msgspec.Struct, frozen=True):
    """A row of the list, with the number of its line, from 1 on."""

    line: int
    artist: str
    title: str
    year: int
    isrc: str | None = None


class ComparedYear(msgspec.Struct, frozen=True):
    """A row with its first release, which is `off` years after the listed year, or a `problem`."""

    row: ListedYear
    first_release: FirstRelease | None
    off: int | None = None
    problem: str | None = None


class YearShares(msgspec.Struct, frozen=True):
    """How many rows have the listed year or a near one, and their shares, None without rows."""

    rows: int
    exact: int
    within_one: int
    more_than_two: int
    exact_share: float | None
    within_one_share: float | None
    more_than_two_share: float | None


class YearReport(msgspec.Struct, frozen=True):
    """The comparison with a list, with its worst rows and those without a year."""

    rows: int
    share_decided: float
    decided: YearShares
    certain: YearShares
    not_found: int
    undated: int
    failed: int
    worst: tuple[ComparedYear, ...]
    without_year: tuple[ComparedYear, ...]
    ill_formed: tuple[InvalidLine, ...]

    @property
    def status(self) -> int:
        """The exit status: 1 if a look-up failed or a line is invalid, 3 if a year is missing."""
        return 1 if self.failed or self.ill_formed else 3 if self.without_year else 0


def read_years(content: bytes, name: str) -> Iterator[ListedYear | InvalidLine]:
    """Yield the rows of a list and its invalid lines. Raises `CanonError` if it is not a list."""
    try:
        lines = content.decode("utf-8-sig").splitlines(keepends=True)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise CanonError(f"{name}: line {line} is not UTF-8: save the list as UTF-8") from error
    head = next(filter(str.strip, lines), "")
    reader = csv.reader(lines, delimiter=max(_DELIMITERS, key=head.count), strict=True)
    filled = (values for values in reader if any(map(str.strip, values)))
    count = 0
    try:
        header = [value.strip().casefold() for value in next(filled, [])]
        if any(header.count(name) != 1 for name in _REQUIRED) or header.count("isrc") > 1:
            raise CanonError(
                f"{name}: the header has {', '.join(map(repr, header)) or 'nothing'}; artist, title"
                " and year are needed, once each, isrc may be there"
            )
        for values in filled:
            count += 1
            yield _row(reader.line_num, dict(zip(header, values, strict=False)))
    except csv.Error as error:
        raise CanonError(f"{name}: line {reader.line_num} is not CSV: {error}") from error
    if not count:
        raise CanonError(f"{name}: has a header but no rows, so there is nothing to compare")


def _row(line: int, values: dict[str, str]) -> ListedYear | InvalidLine:
    artist, title, year = (values.get(name, "").strip() for name in _REQUIRED)
    code = isrc(values.get("isrc", ""))
    is_year = year.isascii() and year.isdigit() and _FIRST_YEAR <= int(year) <= _LAST_YEAR
    for name, value, is_right, allowed in (
        ("artist", artist, bool(artist), "a name"),
        ("title", title, bool(title), "a name"),
        ("year", year, is_year, f"a year from {_FIRST_YEAR} to {_LAST_YEAR}"),
        ("isrc", code, len(code or "") in (0, 12), "a code such as GBUM71029604"),
    ):
        if not is_right:
            return InvalidLine(line, f"{name}: found {value!r}; {allowed} is allowed")
    return ListedYear(line, artist, title, int(year), code or None)


def compare_years(
    rows: Iterable[ListedYear | InvalidLine],
    gather: Callable[[TrackTags], EvidenceBundle],
    pipeline: Pipeline,
    *,
    worst: int,
    on_row: Callable[[Case], None] = lambda _: None,
) -> YearReport:
    """Decide every row and compare its year, until three look-ups in a row fail."""
    look_up = limited_lookup(gather)

    def decide(row: ListedYear) -> Case:
        isrcs = (row.isrc,) if row.isrc else ()
        tags = TrackTags(title=row.title, artist=row.artist, isrcs=isrcs)
        return attempt(lambda: decide_bundle(pipeline, look_up(tags)))

    compared: list[tuple[ComparedYear, Case]] = []
    ill_formed: list[InvalidLine] = []
    for row in rows:
        if isinstance(row, InvalidLine):
            ill_formed.append(row)
            continue
        case = decide(row)
        compared.append((_compared(row, case), case))
        on_row(case)
    dated = [year for year, _ in compared if year.off is not None]
    certain = [year for year in dated if year.first_release and year.first_release.year_certain]
    causes = [case.decision.cause for year, case in compared if year.off is None]
    not_found = causes.count(Cause.NOTHING_FOUND)
    failed = sum(isinstance(cause, Cause) for cause in causes) - not_found
    by_distance = sorted(dated, key=lambda year: (-abs(year.off or 0), year.row.line))
    return YearReport(
        rows=len(compared),
        share_decided=len(dated) / len(compared) if compared else 0.0,
        decided=_shares(dated),
        certain=_shares(certain),
        not_found=not_found,
        undated=len(causes) - not_found - failed,
        failed=failed,
        worst=tuple(year for year in by_distance[:worst] if year.off),
        without_year=tuple(year for year, _ in compared if year.off is None),
        ill_formed=tuple(ill_formed),
    )


def _compared(row: ListedYear, case: Case) -> ComparedYear:
    first = case.decision.first_release
    if first is None:
        return ComparedYear(row, None, problem=case.decision.failure or _UNDATED)
    return ComparedYear(row, first, first.year - row.year)


def _shares(rows: Sequence[ComparedYear]) -> YearShares:
    distances = [abs(row.off or 0) for row in rows]
    counts = (
        distances.count(0),
        sum(distance <= _CLOSE for distance in distances),
        sum(distance > _FAR for distance in distances),
    )
    shares = (count / len(rows) if rows else None for count in counts)
    return YearShares(len(rows), *counts, *shares)
