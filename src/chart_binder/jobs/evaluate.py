"""Score decisions on a golden file, and compare first releases with the years of a list.

The list may be wrong, too: the report says how far apart the two are.
"""

import csv
from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
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

_OPEN = ":INDETERMINATE"
CRG_RULES = (
    f"CRG:{MANUAL_OVERRIDE}",
    *(code for code, _ in RULES),
    STATED_PREMIERE,
    f"CRG:{LLM_ADJUDICATION}",
    f"CRG{_OPEN}",
)
RR_RULES = (
    f"RR:{MANUAL_OVERRIDE}",
    representative.ORIGIN_COUNTRY_EARLIEST,
    representative.WORLD_EARLIEST,
    representative.REISSUE_FILTER_APPLIED,
    f"RR:{LLM_ADJUDICATION}",
    f"RR{_OPEN}",
)


_EntityId = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""An id; a blank one is refused, for it may be a gap as well as a null."""
_Date = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}(-(0[1-9]|1[0-2])(-[0-3][0-9])?)?$")]


_NOT_OPEN = "expected.{field} is given beside a crg_mbid of null, which means: open"


class ExpectedRelease(msgspec.Struct, frozen=True):
    """The expected first release; without `release_group_mbid` its group is not scored."""

    date: _Date
    year_certain: bool
    release_group_mbid: _EntityId | UnsetType | None = UNSET


class ExpectedDecision(msgspec.Struct, frozen=True):
    """The expected decision; null means that it stays open. What is absent is not scored."""

    crg_mbid: _EntityId | None
    rr_mbid: _EntityId | UnsetType | None = UNSET
    rr_acceptable: tuple[_EntityId, ...] | UnsetType | None = UNSET
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
    expected: ExpectedDecision


class InvalidLine(msgspec.Struct, frozen=True):
    """A line that is no case, and the reason."""

    line: int
    problem: str


class _GoldenLine(msgspec.Struct):
    bundle: msgspec.Raw
    expected: ExpectedDecision
    id: str | None = None


def read_golden(lines: Iterable[bytes]) -> Iterator[GoldenCase | InvalidLine]:
    """Yield the case, or the error, of every line that is not blank; no two may have one name."""
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


def _expected(found: ExpectedDecision) -> ExpectedDecision:
    """Return the expectation with normalized ids. Raises `ValueError`."""
    is_open = found.crg_mbid is None
    for field, known in (("crg_rule", CRG_RULES), ("rr_rule", RR_RULES)):
        code = getattr(found, field)
        if code and code not in known:
            raise ValueError(f"expected.{field}: found {code!r}; allowed are {', '.join(known)}")
        if code and is_open and not code.endswith(_OPEN):
            raise ValueError(_NOT_OPEN.format(field=f"{field} {code!r}"))
    if is_open and (found.rr_mbid or found.rr_acceptable):
        raise ValueError(_NOT_OPEN.format(field="rr_mbid or rr_acceptable"))
    first, acceptable = found.first_release, found.rr_acceptable
    if isinstance(first, ExpectedRelease):
        group = _bare(first.release_group_mbid)
        first = msgspec.structs.replace(first, release_group_mbid=group)
    return msgspec.structs.replace(
        found,
        crg_mbid=_bare(found.crg_mbid),
        rr_mbid=_bare(found.rr_mbid),
        rr_acceptable=tuple(map(bare_id, acceptable)) if acceptable else acceptable,
        first_release=first,
    )


def _bare(written: str | UnsetType | None) -> str | UnsetType | None:
    return bare_id(written) if isinstance(written, str) else written


_DECODER = msgspec.json.Decoder(_GoldenLine)


class Grade(StrEnum):
    """The score of a decision."""

    RIGHT = "right"
    WRONG = "wrong"
    OPEN = "open"
    """Not decided, though it should be."""
    FAILED = "failed"
    """The adjudicator could not be asked."""
    UNSCORED = "unscored"
    """Nothing is expected, or another mark already says it."""


_UNBLAMED = frozenset({Grade.RIGHT, Grade.UNSCORED})


class ScoredCase(msgspec.Struct, frozen=True):
    """One case, decided and scored; `path` are the rules that were tried."""

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
    def mark(self) -> Grade:
        """The worst of its marks: wrong, else open, else right."""
        blamed = {self.crg, self.rr, self.first} - _UNBLAMED
        if self.is_by_another_rule or blamed - {Grade.OPEN}:
            return Grade.WRONG
        return Grade.OPEN if blamed else Grade.RIGHT


class ScoreTotals(msgspec.Struct, frozen=True):
    """Counts of scores; `accuracy` is the share right of all, `precision` of right and wrong."""

    cases: int
    right: int
    wrong: int
    open: int
    failed: int
    accuracy: float | None
    precision: float | None


class FirstReleaseTotals(msgspec.Struct, frozen=True):
    """Counts of first releases: right ones, and what is wrong with others (a certain year)."""

    cases: int
    right: int
    wrong_date: int
    wrong_group: int
    wrong_year: int
    wrongly_certain: int
    wrongly_uncertain: int


class RuleRow(msgspec.Struct, frozen=True):
    """The counts for one rule: expected of it (`open` of these), decided by it, right and wrong."""

    rule: str
    expected: int
    decided: int
    right: int
    wrong: int
    open: int


class EvaluationReport(msgspec.Struct, frozen=True):
    """The score of a golden file."""

    first_release: FirstReleaseTotals
    crg: ScoreTotals
    rr: ScoreTotals
    rightly_open: int
    rules: tuple[RuleRow, ...]
    wrong: tuple[ScoredCase, ...]
    """The cases that are not as expected, other than open ones."""
    open: tuple[ScoredCase, ...]
    ill_formed: tuple[InvalidLine, ...]

    @property
    def status(self) -> int:
        """The exit status: 1 if something is wrong, 3 if something is open unexpectedly, else 0."""
        return 1 if self.wrong or self.ill_formed else 3 if self.open else 0


def evaluate(
    golden: Iterable[GoldenCase | InvalidLine], decide: Callable[[EvidenceBundle], Case]
) -> EvaluationReport:
    """Decide and score every case."""
    crg, rr = Counter[Grade](), Counter[Grade]()
    counts: Counter[str] = Counter()
    rules: Counter[tuple[str, str]] = Counter()
    blamed: defaultdict[Grade, list[ScoredCase]] = defaultdict(list)
    ill_formed: list[InvalidLine] = []
    for case in golden:
        if isinstance(case, InvalidLine):
            ill_formed.append(case)
            continue
        one = score(case, decide(case.bundle))
        crg[one.crg] += 1
        rr[one.rr] += 1
        defects = _first_defects(one.expected.first_release, one.decision.first_release)
        counts.update((one.first, *defects))
        counts["cases"] += one.first is not Grade.UNSCORED
        rules.update(_rule_counts(one))
        counts["rightly_open"] += one.crg is Grade.RIGHT and not one.expected.crg_mbid
        if one.mark is not Grade.RIGHT:
            blamed[one.mark].append(one)
    firsts = (counts[name] for name in FirstReleaseTotals.__struct_fields__)
    return EvaluationReport(
        first_release=FirstReleaseTotals(*firsts),
        crg=_tally(crg),
        rr=_tally(rr),
        rightly_open=counts["rightly_open"],
        rules=tuple(_rows(rules)),
        wrong=tuple(blamed[Grade.WRONG]),
        open=tuple(blamed[Grade.OPEN]),
        ill_formed=tuple(ill_formed),
    )


def score(golden: GoldenCase, case: Case) -> ScoredCase:
    """Score one decision; an answer for review counts as open, a release of a wrong group not."""
    decision, expected = case.decision, golden.expected
    crg = _mark(decision, decision.crg_mbid, frozenset({expected.crg_mbid}))
    rr = Grade.UNSCORED
    if crg is Grade.RIGHT and expected.crg_mbid and expected.releases is not None:
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
        is_by_another_rule=crg is Grade.RIGHT
        and decision.decided_by == "rules"
        and decision.state is State.DECIDED
        and (
            expected.crg_rule not in (None, decision.crg_rule)
            or (rr in _UNBLAMED and expected.rr_rule not in (None, decision.rr_rule))
        ),
        titles={
            bare_id(group.mb_rg_id): group.title or group.mb_rg_id for group in golden.bundle.groups
        },
    )


def _first_mark(decision: Decision, expected: ExpectedDecision) -> Grade:
    if expected.first_release is UNSET:
        return Grade.UNSCORED
    if decision.state is State.ERROR and decision.first_release is None:
        return Grade.FAILED
    defects = [*_first_defects(expected.first_release, decision.first_release)]
    return Grade.WRONG if defects else Grade.RIGHT


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


def _mark(decision: Decision, found: str | None, right: frozenset[str | None]) -> Grade:
    if decision.state is State.ERROR:
        return Grade.FAILED
    answer = bare_id(found) if found and decision.state is State.DECIDED else None
    if answer in right:
        return Grade.RIGHT
    return Grade.WRONG if answer else Grade.OPEN


def _tally(count: Counter[Grade]) -> ScoreTotals:
    right, wrong = count[Grade.RIGHT], count[Grade.WRONG]
    cases, answered = count.total() - count[Grade.UNSCORED], right + wrong
    accuracy = right / cases if cases else None
    precision = right / answered if answered else None
    return ScoreTotals(
        cases,
        right,
        wrong,
        count[Grade.OPEN],
        count[Grade.FAILED],
        accuracy,
        precision,
    )


def _rule_counts(one: ScoredCase) -> Iterator[tuple[str, str]]:
    """Yield what one case adds to the rows of rules, as rule and column."""
    expected, decision = one.expected, one.decision
    rr = one.rr if expected.crg_mbid else one.crg
    crg_rule, rr_rule = decision.crg_rule, decision.rr_rule
    if decision.state is State.REVIEW and decision.decided_by == "rules":  # only proposed
        crg_rule, rr_rule = f"CRG{_OPEN}", f"RR{_OPEN}"
    for wanted, found, mark in (
        (expected.crg_rule, crg_rule, one.crg),
        (expected.rr_rule, rr_rule, rr),
    ):
        if wanted:
            yield wanted, "expected"
            if mark is Grade.OPEN:
                yield wanted, "open"
        if found and one.crg is not Grade.FAILED:  # a failure does not even leave a case open
            yield found, "decided"
            if mark in (Grade.RIGHT, Grade.WRONG):
                yield found, mark.value


def _rows(count: Counter[tuple[str, str]]) -> list[RuleRow]:
    columns = RuleRow.__struct_fields__[1:]
    rows = [
        RuleRow(rule, *(count[rule, name] for name in columns)) for rule in {r for r, _ in count}
    ]
    return sorted(rows, key=lambda row: (row.rule.partition(":")[0], -row.decided, row.rule))


# First releases against the years of a list: CSV with artist, title, year and, if known, isrc.

_NEEDED = ("artist", "title", "year")
_DELIMITERS = (",", ";", "\t")
_FIRST_YEAR, _LAST_YEAR = 1860, 2100
"""The first recording of a human voice that is preserved is of 1860."""
_CLOSE, _FAR = 1, 2


class ListedYear(msgspec.Struct, frozen=True):
    """A row of the list, with its line counted from 1."""

    line: int
    artist: str
    title: str
    year: int
    isrc: str | None = None


class ComparedYear(msgspec.Struct, frozen=True):
    """A row with what was decided, `off` years later than listed, or the `problem`."""

    row: ListedYear
    first_release: FirstRelease | None
    off: int | None = None
    problem: str | None = None


class YearShares(msgspec.Struct, frozen=True):
    """How many of `rows` have the list's year, or are near or far; without rows no shares."""

    rows: int
    exact: int
    within_one: int
    more_than_two: int
    exact_share: float | None
    within_one_share: float | None
    more_than_two_share: float | None


class YearReport(msgspec.Struct, frozen=True):
    """The comparison of a list, with the rows that are furthest off and those without a year."""

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
        """The exit status: 1 if a look-up failed or a line is ill-formed, 3 if a year lacks."""
        return 1 if self.failed or self.ill_formed else 3 if self.without_year else 0


def read_years(content: bytes, name: str) -> Iterator[ListedYear | InvalidLine]:
    """Yield the rows of a list, and the lines that are none. Raises `CanonError` for no list."""
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
        if any(header.count(each) != 1 for each in _NEEDED) or header.count("isrc") > 1:
            raise CanonError(
                f"{name}: the header has {', '.join(map(repr, header)) or 'nothing'}; artist, title"
                " and year are needed, once each, isrc may be there"
            )
        for values in filled:
            count += 1
            yield _row(reader.line_num, dict(zip(header, values, strict=False)))
    except csv.Error as error:
        raise CanonError(f"{name}: line {reader.line_num}: is no CSV: {error}") from error
    if not count:
        raise CanonError(f"{name}: has a header and no rows, so there is nothing to compare")


def _row(line: int, values: dict[str, str]) -> ListedYear | InvalidLine:
    artist, title, year = (values.get(name, "").strip() for name in _NEEDED)
    code = isrc(values.get("isrc", ""))
    is_year = year.isascii() and year.isdigit() and _FIRST_YEAR <= int(year) <= _LAST_YEAR
    for name, value, is_right, allowed in (
        ("artist", artist, bool(artist), "a name"),
        ("title", title, bool(title), "a name"),
        ("year", year, is_year, f"a year from {_FIRST_YEAR} to {_LAST_YEAR}"),
        ("isrc", code, len(code or "") in (0, 12), "one such as GBUM71029604"),
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

    def decide(tags: TrackTags) -> Case:
        return decide_bundle(pipeline, look_up(tags))

    compared: list[tuple[ComparedYear, Case]] = []
    ill_formed: list[InvalidLine] = []
    for row in rows:
        if isinstance(row, InvalidLine):
            ill_formed.append(row)
            continue
        codes = (row.isrc,) if row.isrc else ()
        tags = TrackTags(title=row.title, artist=row.artist, isrcs=codes)
        case = attempt(partial(decide, tags))
        first = case.decision.first_release
        why_not = case.decision.failure or "no official, dated release of it is known"
        off, problem = (first.year - row.year, None) if first else (None, why_not)
        compared.append((ComparedYear(row, first, off, problem), case))
        on_row(case)
    known = [one for one, _ in compared if one.off is not None]
    certain = [one for one in known if one.first_release and one.first_release.year_certain]
    causes = [case.decision.cause for one, case in compared if one.off is None]
    not_found = causes.count(Cause.NOTHING_FOUND)
    failed = sum(isinstance(cause, Cause) for cause in causes) - not_found
    by_distance = sorted(known, key=lambda one: (-abs(one.off or 0), one.row.line))
    return YearReport(
        rows=len(compared),
        share_decided=len(known) / len(compared) if compared else 0.0,
        decided=_shares(known),
        certain=_shares(certain),
        not_found=not_found,
        undated=len(causes) - not_found - failed,
        failed=failed,
        worst=tuple(one for one in by_distance[:worst] if one.off),
        without_year=tuple(one for one, _ in compared if one.off is None),
        ill_formed=tuple(ill_formed),
    )


def _shares(rows: Sequence[ComparedYear]) -> YearShares:
    distances = [abs(one.off or 0) for one in rows]
    counts = (
        distances.count(0),
        sum(each <= _CLOSE for each in distances),
        sum(each > _FAR for each in distances),
    )
    shares = (count / len(rows) if rows else None for count in counts)
    return YearShares(len(rows), *counts, *shares)
