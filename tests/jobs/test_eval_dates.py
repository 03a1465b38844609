"""Lists of years are read, and first releases compared with them."""

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import CanonError, LookupFailedError, NothingFoundError
from chart_binder.jobs.decide import Decider
from chart_binder.jobs.evaluate import InvalidLine, ListedYear, compare_years, read_years
from rules.making import document, record, recording, various

HEAD = b"artist,title,year\n"


def listed(content: bytes) -> list[ListedYear | InvalidLine]:
    return list(read_years(content, "list.csv"))


@pytest.mark.parametrize(
    "content",
    [
        b"artist,title,year,isrc\nQueen,Innuendo,1991,GB-UM7-10-29604\n",
        b"\xef\xbb\xbfYear; Title ;ARTIST;rank;isrc\r\n1991;Innuendo;Queen;3;gbum71029604\r\n",
        b'\nartist\ttitle\tyear\tisrc\n\n Queen \t"Innuendo"\t1991\tGBUM71029604',
    ],
)
def test_lists_are_read_as_they_are_exported(content: bytes) -> None:
    (row,) = listed(content)
    assert isinstance(row, ListedYear)
    assert (row.artist, row.title, row.year, row.isrc) == (
        "Queen", "Innuendo", 1991, "GBUM71029604",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b" \n\n", "list.csv: the header has nothing; artist, title and year are needed"),
        (HEAD, "has a header and no rows"),
        (b"artist,title\na,b\n", "the header has 'artist', 'title'; artist, title"),
        (b"artist,title,year,Year\na,b,1,2\n", "are needed, once each"),
        (b"Queen,Innuendo,1991\n", "has 'queen', 'innuendo', '1991'; artist"),
        (HEAD + b"a,b,1991\nBeyonc\xe9,c,2003\n", "line 3 is not UTF-8: save the list"),
        (b"PK\x03\x04\xff\xfe", "line 1 is not UTF-8"),
        (HEAD + b'a,"b,1991\n', "is no CSV"),
    ],
)
def test_what_is_no_list_is_refused_with_the_reason(content: bytes, problem: str) -> None:
    with pytest.raises(CanonError) as refused:
        listed(content)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (b"a,b,77", "year: found '77'; a year from 1860 to 2100 is allowed"),
        (b"a,b,1977-02-04", "year: found '1977-02-04'"),
        (b"a,b,", "year: found ''"),
        ("a,b,１９７７".encode(), "year: found"),
        (b"a,b", "year: found ''"),
        (b",b,1977", "artist: found ''; a name"),
        (b'a," ",1977', "title: found ''"),
    ],
)
def test_a_line_that_is_no_row_is_named_and_the_next_is_read(row: bytes, problem: str) -> None:
    bad, good = listed(HEAD + row + b"\nQueen,Innuendo,1991\n")
    assert isinstance(bad, InvalidLine)
    assert bad.line == 2
    assert problem in bad.problem
    assert isinstance(good, ListedYear)


def test_an_isrc_of_another_form_is_named() -> None:
    (bad,) = listed(b"artist,title,year,isrc\na,b,1977,12\n")
    assert isinstance(bad, InvalidLine)
    assert "isrc: found '12'" in bad.problem


def bundle_of(tags: TrackTags) -> EvidenceBundle:
    """Return evidence by the title: a year, with V on a compilation alone, else what goes wrong."""
    title = tags.title or ""
    if title == "unknown":
        raise NothingFoundError("nobody knows it")
    if title == "failing":
        raise LookupFailedError("the server is busy")
    kind = various("V", title[1:]) if title.startswith("V") else record("A", "Album", title)
    return read_bundle(document(recording(kind)))


def test_years_are_compared_and_shares_counted() -> None:
    titles = ["1977", "1978", "1980", "V2004", "unknown", ""]
    rows: list[ListedYear | InvalidLine] = [
        ListedYear(n + 2, "X", title or "-", 1977) for n, title in enumerate(titles)
    ]
    rows[-1] = InvalidLine(7, "no row")
    seen: list[int] = []
    report = compare_years(
        rows, bundle_of, Decider(RulesConfig()), worst=2, on_row=lambda _: seen.append(1)
    )
    assert (report.rows, report.share_decided, len(seen)) == (5, 0.8, 5)
    decided, certain = report.decided, report.certain
    assert (decided.rows, decided.exact, decided.within_one, decided.more_than_two) == (4, 1, 2, 2)
    assert (decided.exact_share, decided.more_than_two_share) == (0.25, 0.5)
    assert (certain.rows, certain.exact, certain.within_one, certain.more_than_two) == (3, 1, 2, 1)
    assert [(one.row.line, one.off) for one in report.worst] == [(5, 27), (4, 3)]
    assert (report.not_found, report.undated, report.failed, report.status) == (1, 0, 0, 1)
    assert [one.problem for one in report.without_year] == ["nobody knows it"]


def test_no_more_is_asked_after_three_failures_in_a_row() -> None:
    asked: list[str] = []

    def gather(tags: TrackTags) -> EvidenceBundle:
        asked.append(tags.title or "")
        return bundle_of(tags)

    rows = [ListedYear(n, "X", "failing", 1977) for n in range(2, 9)]
    report = compare_years(rows, gather, Decider(RulesConfig()), worst=9)
    assert (len(asked), report.failed, report.status) == (3, 7, 1)
    assert "3 look-ups in a row had failed" in (report.without_year[-1].problem or "")
