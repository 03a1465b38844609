"""Compare first releases with the years in a list: CSV with artist, title, year and maybe isrc.

As the list may be wrong too, the report only says how far the years differ.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.verdict import FirstRelease
from chart_binder.domain.vocabulary import isrc
from chart_binder.errors import CanonError
from chart_binder.jobs.decision import Case, Cause
from chart_binder.jobs.evaluate import InvalidLine
from chart_binder.jobs.gather import limited_lookup
from chart_binder.jobs.pipeline import Pipeline, attempt, decide_bundle

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
