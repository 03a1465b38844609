"""A library is counted, and each figure leads to exactly the files that it counts."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import Artifact
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import CanonError, NothingFoundError
from chart_binder.jobs.decision import Case
from chart_binder.jobs.library import Figure, FigureRow, LibraryFigures, library_figures
from chart_binder.jobs.listing import ListedDecision, listing, query_text, read_query
from chart_binder.jobs.pipeline import Pipeline, attempt, decide_bundle
from chart_binder.jobs.stored_decisions import NO_RUN, stored_case
from chart_binder.store import Store
from golden.bundles import CASES, golden
from jobs.test_listing import CASES as QUERIES
from jobs.test_listing import refuse

RULES = RulesConfig()
LATE = (None, 0, 0, 1, 2, 4, 5, 9, 10, 19, 20, 29, 30, 65, -3)
"""How many years after the first release the tags of one file after the other are."""
SHOWN = (
    "lead-bohemian", "lead-slts", "comp-kosmonova", "bootleg-only-queen", "lead-hanae",
)  # fmt: skip


def put(store: Store, number: int, case: Case, year: int | None) -> None:
    tags = {"album": 'The "Best"', "date": f"{year:04}" if year else "no date"}
    artifact = Artifact(1000, tags)  # type: ignore[arg-type]
    bundle = case.bundle and msgspec.structs.replace(case.bundle, artifact=artifact)
    case = Case(case.decision, bundle, case.verdict, artifact)
    store.decisions.put(*stored_case(case, Path(f"/music/{number}.flac"), None, NO_RUN))


def failing(error: Exception) -> Case:
    def fail() -> Case:
        raise error

    return attempt(fail)


@pytest.fixture
def library(store: Store) -> Store:
    """Every golden case as the rules decide it, with tags that are more or less late."""
    for number, name in enumerate(CASES):
        bundle = read_bundle(golden(name))
        case = decide_bundle(Pipeline(RULES), bundle)
        first, late = case.decision.first_release, LATE[number % len(LATE)]
        put(store, number, case, first.year + late if first and late is not None else None)
    put(store, 1000, failing(NothingFoundError("MusicBrainz knows no such recording")), 1999)
    put(store, 1001, failing(CanonError("the look-up failed")), 1999)
    return store


def rows_of(store: Store, *query: str) -> list[ListedDecision]:
    return list(listing(store, read_query(query), refuse))


def figures_of(store: Store, *query: str) -> LibraryFigures:
    figures, lists = library_figures(rows_of(store, *query), read_query(query))
    assert lists == {}
    return figures


def tables(figures: LibraryFigures) -> Iterator[tuple[str, tuple[FigureRow, ...]]]:
    for name in figures.__struct_fields__:
        if isinstance(table := getattr(figures, name), tuple):
            yield name, table


def single(figures: LibraryFigures) -> Iterator[Figure]:
    for name in figures.__struct_fields__:
        if isinstance(figure := getattr(figures, name), Figure):
            yield figure


@pytest.mark.parametrize(
    "base", ["", "-artist:queen year:1960..2010", 'album:"the \\"best\\"" title:e']
)
def test_the_query_of_each_figure_lists_its_files(library: Store, base: str) -> None:
    query = [base] if base else []
    figures = figures_of(library, *query)
    cells = [
        figure for _, rows in tables(figures) for row in rows for figure in row.figures.values()
    ]
    every = [*single(figures), *cells]
    assert len({figure.query for figure in every}) == len(every) - 1, "`older` has two places"
    for figure in every:
        assert len(rows_of(library, figure.query)) == figure.count, figure


def test_the_figures_add_up(library: Store) -> None:
    figures = figures_of(library)
    sums = {name: sum(row.count for row in rows) for name, rows in tables(figures)}
    assert figures.files.count == len(CASES) + 2 == sums["states"] == sums["tags"]
    assert figures.older.count == sums["older_by_decade"] == sums["older_by_years"]
    assert figures.older.count == sums["older_by_both"]
    certain = sum(
        figure.count
        for row in figures.older_by_years
        for column, figure in row.figures.items()
        if column == "certain"
    )
    assert 0 < certain == figures.older_certain.count < figures.older.count
    (decided,) = (row.count for row in figures.states if row.name == "decided")
    assert decided == sums["decided_by"] == sums["rules"]
    assert [row.name for row in figures.older_by_years] == [
        "1", "2..4", "5..9", "10..19", "20..29", "30..",
    ]  # fmt: skip
    decades = [row.name for row in figures.older_by_decade]
    assert decades == sorted(decades)
    assert {"nothing_found", "missing_original", "which_copy", "date"} <= {
        row.name for row in figures.open
    }


def test_figures_of_five_files(store: Store) -> None:
    for number, (name, year) in enumerate(zip(SHOWN, (2004, 1991, 2001, 1990, 1999), strict=True)):
        put(store, number, decide_bundle(Pipeline(RULES), read_bundle(golden(name))), year)
    figures = figures_of(store)
    shown = {
        name: {row.name: {key: cell.count for key, cell in row.figures.items()} for row in rows}
        for name, rows in tables(figures)
    }
    assert shown == {
        "older_by_decade": {"1970s": {"certain": 1}, "1990s": {"uncertain": 1}},
        "older_by_years": {"2..4": {"uncertain": 1}, "20..29": {"certain": 1}},
        "older_by_both": {"1970s": {"20..29": 1}, "1990s": {"2..4": 1}},
        "tags": {
            "older": {"files": 2}, "later": {"files": 1}, "same": {"files": 1},
            "unknown": {"files": 1},
        },
        "states": {"decided": {"files": 3}, "undecided": {"files": 2}},
        "decided_by": {"rules": {"files": 3}},
        "rules": {"ALBUM_LEAD_WINDOW": {"files": 3}},
        "open": {"missing_original": {"files": 2}},
    }  # fmt: skip


def test_lists_are_bounded_and_begin_with_the_latest_tags(library: Store) -> None:
    rows = rows_of(library)
    whole, _ = library_figures(rows, read_query([]))
    figures, lists = library_figures(iter(rows), read_query([]), 3)
    assert figures == whole
    cells = [cell for _, table in tables(figures) for row in table for cell in row.figures.values()]
    for figure in [*single(figures), *cells]:
        assert len(lists[figure.query]) == min(3, figure.count)
    older = sorted((row.years_older for row in rows if row.years_older), reverse=True)
    assert [track.years_older for track in lists["older:1.."]] == older[:3]
    assert older[0] == 65


def test_an_empty_store_has_zero_of_all(store: Store) -> None:
    figures = figures_of(store, "artist:queen")
    assert [figure.count for figure in single(figures)] == [0, 0, 0]
    assert [figure.query for figure in single(figures)] == [
        "artist:queen", "artist:queen older:1..", "artist:queen older:1.. certain:yes",
    ]  # fmt: skip
    assert all(rows == () for _, rows in tables(figures))


@pytest.mark.parametrize("text", [query for query, outcome in QUERIES if outcome[:1] != "!"])
def test_the_text_of_a_query_is_read_as_the_same_query(text: str) -> None:
    assert read_query([query_text(read_query([text]))]) == read_query([text])


@pytest.mark.parametrize(
    "value", ['a "b"', "back\\slash", "two\nlines", "state:decided", "-x:y", "日本", "\\"]
)
def test_the_text_of_a_query_quotes_any_value(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    query = read_query([f'-album:"{quoted}" older:1..'])
    assert query.terms[0].text == value
    assert read_query([query_text(query, "state:review")]).terms[:2] == query.terms


def test_the_text_of_a_query_can_be_written_as_utf8() -> None:
    assert query_text(read_query(["path:/music/\udcff"])) == 'path:"/music/\ufffd"'
