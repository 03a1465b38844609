"""Compare the first releases that are decided with the years of a list (`canon eval --dates`).

The list is CSV with the columns artist, title, year and, if known, isrc. What a list says may be
wrong too: the report says how far apart the two are, not which is right.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.verdict import FirstRelease
from chart_binder.domain.vocabulary import isrc
from chart_binder.errors import CanonError
from chart_binder.jobs.decide import Case, Cause, Decider, case_or_error, limited_lookup
from chart_binder.jobs.evaluate import InvalidLine

_NEEDED = ("artist", "title", "year")
_DELIMITERS = (",", ";", "\t")
_ISRC_LENGTH = 12
_FIRST_YEAR, _LAST_YEAR = 1860, 2100
"""The first recording of a human voice that is preserved is of 1860."""
_CLOSE = 1
_FAR = 2
_GIVEN_UP = "{count} look-ups in a row had failed, so no more were made: {last}"


class ListedYear(msgspec.Struct, frozen=True):
    """A row of the list, with its line counted from 1."""

    line: int
    artist: str
    title: str
    year: int
    isrc: str | None = None

    @property
    def tags(self) -> TrackTags:
        """The row as the tags of a file have it."""
        codes = (self.isrc,) if self.isrc else ()
        return TrackTags(title=self.title, artist=self.artist, isrcs=codes)


class ComparedYear(msgspec.Struct, frozen=True):
    """A row with what was decided; `off` is how many years that is later than the list says.

    `problem` says why nothing is known.
    """

    row: ListedYear
    first_release: FirstRelease | None
    off: int | None = None
    problem: str | None = None


class YearShares(msgspec.Struct, frozen=True):
    """How many of `rows` have the year of the list, one within a year of it, or one far from it.

    Far is more than two years off. Shares are of `rows`, and absent if there are none.
    """

    rows: int
    exact: int
    within_one: int
    more_than_two: int
    exact_share: float | None
    within_one_share: float | None
    more_than_two_share: float | None


class YearReport(msgspec.Struct, frozen=True):
    """The comparison of a list; `share_decided` is the share of rows with a first release.

    `worst` has the rows that are furthest off, `failed` those that could not be looked up.
    """

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
    """Yield the rows of a list, and the lines that are none.

    Raises `CanonError` for a file that is empty, is not UTF-8, or lacks a column.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise CanonError(
            f"{name}: line {line} is not UTF-8 (byte {content[error.start]:#04x}): save the list as"
            " UTF-8"
        ) from error
    lines = text.splitlines(keepends=True)
    head = next((line for line in lines if line.strip()), "")
    if not head:
        raise CanonError(f"{name}: is empty; a header with {', '.join(_NEEDED)} is needed")
    delimiter = max(_DELIMITERS, key=lambda each: len({*_columns(head, each)} & {*_NEEDED}))
    _check_columns(_columns(head, delimiter), name)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] = []
    rows = 0
    try:
        for values in reader:
            if not any(value.strip() for value in values):
                continue
            if not header:
                header = [value.strip().casefold() for value in values]
                continue
            rows += 1
            yield _row(reader.line_num, dict(zip(header, values, strict=False)))
    except csv.Error as error:
        raise CanonError(f"{name}: line {reader.line_num}: is no CSV: {error}") from error
    if not rows:
        raise CanonError(f"{name}: has a header and no rows, so there is nothing to compare")


def _check_columns(columns: Sequence[str], name: str) -> None:
    for column in (*_NEEDED, "isrc"):
        if (count := columns.count(column)) > 1:
            raise CanonError(f"{name}: has {count} columns {column!r}: leave one of them")
    missing = [column for column in _NEEDED if column not in columns]
    if missing:
        found = ", ".join(map(repr, sorted(columns))) or "nothing"
        raise CanonError(
            f"{name}: has no column {missing[0]!r}; found {found}; artist, title, year are needed,"
            " isrc may be there"
        )


def _columns(head: str, delimiter: str) -> list[str]:
    return [name.strip().casefold() for name in next(csv.reader([head], delimiter=delimiter), [])]


def _row(line: int, values: dict[str, str]) -> ListedYear | InvalidLine:
    artist, title, year = (values.get(name, "").strip() for name in _NEEDED)
    code = isrc(values.get("isrc", ""))
    for name, value in (("artist", artist), ("title", title)):
        if not value:
            return InvalidLine(line, f"{name}: found nothing; a name is needed")
    if not (year.isascii() and year.isdigit() and _FIRST_YEAR <= int(year) <= _LAST_YEAR):
        return InvalidLine(
            line, f"year: found {year!r}; a year from {_FIRST_YEAR} to {_LAST_YEAR} is allowed"
        )
    if code and len(code) != _ISRC_LENGTH:
        return InvalidLine(line, f"isrc: found {values['isrc']!r}; such as GBUM71029604 is allowed")
    return ListedYear(line, artist, title, int(year), code or None)


def compare_years(
    rows: Iterable[ListedYear | InvalidLine],
    gather: Callable[[TrackTags], EvidenceBundle],
    decider: Decider,
    *,
    worst: int,
    on_row: Callable[[Case], None] = lambda _: None,
) -> YearReport:
    """Decide every row and compare its first release; at most `worst` of the furthest are listed.

    `on_row` is called with each row's case. After three failed look-ups in a row no more
    are made.
    """
    look_up = limited_lookup(gather, _GIVEN_UP)
    compared: list[tuple[ComparedYear, Case]] = []
    ill_formed: list[InvalidLine] = []
    for row in rows:
        if isinstance(row, InvalidLine):
            ill_formed.append(row)
            continue
        tags = row.tags
        case = case_or_error(lambda tags=tags: decider.decide(look_up(tags)))  # type: ignore[misc]
        compared.append((_compared(row, case), case))
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


def _compared(row: ListedYear, case: Case) -> ComparedYear:
    first = case.decision.first_release
    if first is None:
        decision = case.decision
        why = decision.error or (decision.rationale if decision.cause else None)
        why = why or "no official, dated release of it is known"
        return ComparedYear(row, None, problem=why)
    return ComparedYear(row, first, first.year - row.year)


def _shares(rows: Sequence[ComparedYear]) -> YearShares:
    distances = [abs(one.off or 0) for one in rows]
    counts = (
        sum(each == 0 for each in distances),
        sum(each <= _CLOSE for each in distances),
        sum(each > _FAR for each in distances),
    )
    return YearShares(
        len(rows), *counts, *(count / len(rows) if rows else None for count in counts)
    )
