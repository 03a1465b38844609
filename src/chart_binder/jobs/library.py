"""Count stored decisions: how they ended and why, and which tracks are older than their album.

Each figure has the query of `canon ls` that lists its files. If the first year is not certain, the
recording came out in that year or earlier, so a track may be older than its figure says.
"""

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from chart_binder.domain.vocabulary import fold
from chart_binder.jobs.decision import FAILED_STATES, State
from chart_binder.jobs.listing import DecisionQuery, ListedDecision, query_text

FILES, CERTAIN, UNCERTAIN = "files", "certain", "uncertain"
_GAPS = {1: "1", 4: "2..4", 9: "5..9", 19: "10..19", 29: "20..29", 9999: "30.."}
"""The groups in which numbers of years are counted, by the last number of each, as terms."""
_COLUMNS = (CERTAIN, UNCERTAIN, FILES, *_GAPS.values())


class Figure(msgspec.Struct, frozen=True):
    """A number of files, with the query that lists them."""

    count: int
    query: str


class FigureRow(msgspec.Struct, frozen=True):
    """The figures of one kind of files, by the name of the column."""

    name: str
    figures: Mapping[str, Figure]

    @property
    def count(self) -> int:
        """The sum of the figures."""
        return sum(figure.count for figure in self.figures.values())


class LibraryFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted in a library, in tables of rows that count at least one file.

    `older` are the files whose first release precedes their album, `older_certain` those of a
    certain first year. `older_by_decade` has them by decade of the first release,
    `older_by_years` by the difference in years; both have the columns `certain` and `uncertain`.
    `older_by_both` has decades as rows and years as columns. `open` has the kinds of questions of
    cases in review and undecided, and the causes of the others. A case counts for each question.
    """

    files: Figure
    older: Figure
    older_certain: Figure
    older_by_decade: tuple[FigureRow, ...]
    older_by_years: tuple[FigureRow, ...]
    older_by_both: tuple[FigureRow, ...]
    tags: tuple[FigureRow, ...]
    states: tuple[FigureRow, ...]
    decided_by: tuple[FigureRow, ...]
    rules: tuple[FigureRow, ...]
    open: tuple[FigureRow, ...]


class LibraryTrack(msgspec.Struct, frozen=True):
    """A file in the list of a figure, as printable text."""

    decision_id: str
    path: str
    artist: str
    title: str
    first_date: str
    album_year: int | None
    state: str
    years_older: int


FileLists: TypeAlias = Mapping[str, Sequence[LibraryTrack]]
"""The first files of each figure, by its query."""


class _Kind(NamedTuple):
    """A figure: its table, row and column, and its terms in a query."""

    table: str
    row: str
    column: str
    terms: str


_FAILED = f"state:{','.join(FAILED_STATES)}"
_ALL = _Kind("files", "", FILES, "")
_OLDER = _Kind("tags", "older", FILES, "older:1..")
_OLDER_CERTAIN = _Kind("older", "", CERTAIN, "older:1.. certain:yes")


def library_figures(
    rows: Iterable[ListedDecision], query: DecisionQuery, most_files: int = 0
) -> tuple[LibraryFigures, FileLists]:
    """Count decisions that match a query, and list at most `most_files` files of each figure.

    Lists begin with the tracks that are most years older than their album. Decisions are read
    one at a time.
    """
    counts: Counter[_Kind] = Counter()
    tracks: defaultdict[_Kind, list[LibraryTrack]] = defaultdict(list)
    for row in rows:
        kinds = [*_outcome_kinds(row), *_age_kinds(row)]
        counts.update(kinds)
        if not most_files:
            continue
        track = _track(row)
        for kind in kinds:
            tracks[kind].append(track)
            if len(tracks[kind]) >= 2 * most_files:
                tracks[kind] = sorted(tracks[kind], key=_track_order)[:most_files]
    base = query_text(query)
    lists = {
        _joined(base, kind): sorted(some, key=_track_order)[:most_files]
        for kind, some in tracks.items()
    }
    return _figures(counts, base), lists


def first_tracks(rows: Iterable[ListedDecision], most: int) -> list[LibraryTrack]:
    """Return the first `most` tracks in the order of the lists."""
    return heapq.nsmallest(most, map(_track, rows), key=_track_order)


def columns_of(rows: Iterable[FigureRow]) -> list[str]:
    """Return the names of the columns of a table, in their order."""
    present = {name for row in rows for name in row.figures}
    return [name for name in _COLUMNS if name in present]


def _outcome_kinds(row: ListedDecision) -> Iterator[_Kind]:
    """Yield the figures that count how a decision ended."""
    decision, state = row.decision, row.decision.state
    yield _ALL
    yield _Kind("states", state, FILES, f"state:{state}")
    if state is State.DECIDED:
        if by := decision.decided_by:
            yield _Kind("decided_by", by, FILES, f"state:decided by:{by}")
        if row.rule:
            yield _Kind("rules", row.rule, FILES, f"state:decided rule:CRG:{row.rule}")
    elif state not in FAILED_STATES:
        for kind in row.questions:
            yield _Kind("open", kind, FILES, f"state:review,undecided question:{kind}")
    elif decision.cause:
        yield _Kind("open", decision.cause, FILES, f"{_FAILED} cause:{decision.cause}")


def _age_kinds(row: ListedDecision) -> Iterator[_Kind]:
    """Yield the figures that compare the first release with the tags."""
    years, first = row.years_older, row.decision.first_release
    if years is None or first is None:
        yield _Kind("tags", "unknown", FILES, "older:none")
    elif years <= 0:
        name, term = ("later", "..-1") if years else ("same", "0")
        yield _Kind("tags", name, FILES, f"older:{term}")
    else:
        column, answer = (CERTAIN, "yes") if first.year_certain else (UNCERTAIN, "no")
        decade = f"{first.year // 10:03}0s"
        gap = next(term for last, term in _GAPS.items() if years <= last)
        in_decade = f"older:1.. decade:{decade} certain:{answer}"
        yield _OLDER
        if first.year_certain:
            yield _OLDER_CERTAIN
        yield _Kind("older_by_decade", decade, column, in_decade)
        yield _Kind("older_by_years", gap, column, f"older:{gap} certain:{answer}")
        yield _Kind("older_by_both", decade, gap, f"older:{gap} decade:{decade}")


def _figures(counts: Counter[_Kind], base: str) -> LibraryFigures:
    tables: defaultdict[str, defaultdict[str, dict[str, Figure]]]
    tables = defaultdict(lambda: defaultdict(dict))
    for kind, count in counts.items():
        tables[kind.table][kind.row][kind.column] = Figure(count, _joined(base, kind))

    def rows(table: str) -> tuple[FigureRow, ...]:
        unordered = (FigureRow(name, figures) for name, figures in tables[table].items())
        return tuple(sorted(unordered, key=_number_or_size))

    def single(kind: _Kind) -> Figure:
        return Figure(counts[kind], _joined(base, kind))

    return LibraryFigures(
        files=single(_ALL),
        older=single(_OLDER),
        older_certain=single(_OLDER_CERTAIN),
        older_by_decade=rows("older_by_decade"),
        older_by_years=rows("older_by_years"),
        older_by_both=rows("older_by_both"),
        tags=rows("tags"),
        states=rows("states"),
        decided_by=rows("decided_by"),
        rules=rows("rules"),
        open=rows("open"),
    )


def _joined(base: str, kind: _Kind) -> str:
    return f"{base} {kind.terms}".strip()


def _number_or_size(row: FigureRow) -> tuple[int, str]:
    """Return the key by which decades and years are in their order, other rows by their count."""
    number = re.match("[0-9]+", row.name)
    return int(number[0]) if number else -row.count, row.name


def _track(row: ListedDecision) -> LibraryTrack:
    decision, first = row.decision, row.decision.first_release
    return LibraryTrack(
        decision_id=row.record.id,
        path=row.path,
        artist=decision.artist or "",
        title=decision.title or "",
        first_date=f"{first.date}{'' if first.year_certain else '?'}" if first else "",
        album_year=row.year,
        state=decision.state,
        years_older=row.years_older or 0,
    )


def _track_order(track: LibraryTrack) -> tuple[int, str, str, str]:
    return -track.years_older, fold(track.artist), fold(track.title), track.path
