"""Golden files are read and scored, and lists of years compared."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.verdict import FirstRelease
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.errors import CanonError, LookupFailedError, NothingFoundError
from chart_binder.jobs.decision import Case, Decision, State
from chart_binder.jobs.evaluate import (
    EvaluationReport,
    GoldenCase,
    Grade,
    InvalidLine,
    ListedYear,
    compare_years,
    evaluate,
    read_golden,
    read_years,
)
from chart_binder.jobs.pipeline import Pipeline
from rules.making import document, record, recording, various

BUNDLE = document(
    recording(record("S", "Single", "1974-10-11"), record("A", "Album", "1974-11-08"))
)
DECIDED = Decision(
    State.DECIDED, "rules", "A", "A.1", "rec", "CRG:ALBUM_LEAD_WINDOW", "RR:WORLD_EARLIEST", 1.0
)
SAME_DATE = "CRG:ALBUM_SAME_DATE"
OPEN = Decision(State.UNDECIDED, crg_rule="CRG:INDETERMINATE", rr_rule="RR:INDETERMINATE")


def line(bundle: object = BUNDLE, name: object = None, **expected: Any) -> bytes:
    return json.dumps({"id": name, "bundle": bundle, "expected": expected}).encode()


def scored(decision: Decision, **expected: Any) -> EvaluationReport:
    return evaluate(read_golden([line(**expected)]), lambda bundle: Case(decision, bundle))


ALL = {"crg_mbid": "A", "rr_mbid": "A.1", "rr_acceptable": ["A.1", "A.2"],
       "crg_rule": DECIDED.crg_rule, "rr_rule": DECIDED.rr_rule}  # fmt: skip
NO_RELEASE: dict[str, Any] = {"rr_mbid": None, "rr_acceptable": []}
NOTHING = NO_RELEASE | {"crg_mbid": None, "crg_rule": OPEN.crg_rule, "rr_rule": OPEN.rr_rule}


def changed(**changes: Any) -> Decision:
    return msgspec.structs.replace(DECIDED, **changes)


# (claim, decision, expected, mark of the group, mark of the release, exit status)
MARKS: list[tuple[str, Decision, dict[str, Any], Grade, Grade, int]] = [
    ("all right", DECIDED, ALL, Grade.RIGHT, Grade.RIGHT, 0),
    ("acceptable release", changed(rr_mbid="A.2"), ALL, Grade.RIGHT, Grade.RIGHT, 0),
    ("no release asked", DECIDED, {"crg_mbid": "A"}, Grade.RIGHT, Grade.UNSCORED, 0),
    ("wrong group", DECIDED, ALL | {"crg_mbid": "S"}, Grade.WRONG, Grade.UNSCORED, 1),
    ("wrong release", changed(rr_mbid="A.3"), ALL, Grade.RIGHT, Grade.WRONG, 1),
    ("needless release", DECIDED, ALL | NO_RELEASE, Grade.RIGHT, Grade.WRONG, 1),
    ("no release named", changed(rr_mbid=None), ALL, Grade.RIGHT, Grade.OPEN, 3),
    ("open, should be decided", OPEN, ALL, Grade.OPEN, Grade.UNSCORED, 3),
    ("rightly open", OPEN, NOTHING, Grade.RIGHT, Grade.UNSCORED, 0),
    ("must stay open", DECIDED, NOTHING, Grade.WRONG, Grade.UNSCORED, 1),
    ("another rule", changed(crg_rule="CRG:EARLIEST_OFFICIAL"), ALL, Grade.RIGHT, Grade.RIGHT, 1),
    ("another rule of the release, though none is asked", DECIDED,
     {"crg_mbid": "A", "rr_rule": "RR:ORIGIN_COUNTRY_EARLIEST"}, Grade.RIGHT, Grade.UNSCORED, 1),
    ("by the model", changed(decided_by="llm", crg_rule="CRG:X"), ALL, Grade.RIGHT, Grade.RIGHT, 0),
    ("only for review", changed(state=State.REVIEW), ALL, Grade.OPEN, Grade.UNSCORED, 3),
    ("not asked", Decision(State.ERROR, error="no model"), ALL, Grade.FAILED, Grade.UNSCORED, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("decision", "expected", "crg", "rr", "status"),
    [pytest.param(*row[1:], id=row[0]) for row in MARKS],
)
def test_a_decision_is_marked_against_what_is_expected(
    decision: Decision, expected: dict[str, Any], crg: Grade, rr: Grade, status: int
) -> None:
    report = scored(decision, **expected)
    assert getattr(report.crg, crg.value) == 1
    assert report.rr.cases == (rr is not Grade.UNSCORED)
    assert rr is Grade.UNSCORED or getattr(report.rr, rr.value) == 1
    assert report.status == status
    assert (len(report.wrong), len(report.open)) == (status == 1, status == 3)


FIRST = FirstRelease(
    "1974-10-11", year_certain=True, because="", release_group_mbid=ReleaseGroupId("S")
)
WANTED = {"date": "1974-10-11", "year_certain": True, "release_group_mbid": "S"}
# (claim, changes of what is found or None, of what is expected or None, what is counted as wrong)
FIRSTS: list[tuple[str, dict[str, Any] | None, dict[str, Any] | None, set[str]]] = [
    ("all right", {}, {}, set()),
    ("none, as expected", None, None, set()),
    ("another day", {"date": "1974-10-12"}, {}, {"wrong_date"}),
    ("less precise", {"date": "1974"}, {}, {"wrong_date"}),
    ("another year", {"date": "1975"}, {}, {"wrong_date", "wrong_year"}),
    ("another year, uncertain", {"date": "1975", "year_certain": False}, {},
     {"wrong_date", "wrongly_uncertain"}),
    ("wrongly certain", {}, {"year_certain": False}, {"wrongly_certain"}),
    ("another group", {"release_group_mbid": "A"}, {}, {"wrong_group"}),
    ("no group", {"release_group_mbid": None}, {}, {"wrong_group"}),
    ("none found", None, {}, {"wrong_date"}),
    ("none expected", {}, None, {"wrong_date", "wrong_year"}),
    ("none expected, uncertain", {"year_certain": False}, None, {"wrong_date"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("actual", "expected", "wrong"), [pytest.param(*row[1:], id=row[0]) for row in FIRSTS]
)
def test_a_first_release_is_held_against_the_expected_one(
    actual: dict[str, Any] | None, expected: dict[str, Any] | None, wrong: set[str]
) -> None:
    first = None if actual is None else msgspec.structs.replace(FIRST, **actual)
    wanted = None if expected is None else WANTED | expected
    report = scored(changed(first_release=first), crg_mbid="A", first_release=wanted)
    counts = msgspec.structs.asdict(report.first_release)
    assert {name for name in counts if name not in ("cases", "right") and counts[name]} == wrong
    assert (counts["cases"], counts["right"]) == (1, not wrong)
    assert (report.status, len(report.wrong)) == (bool(wrong), bool(wrong))


def test_a_first_release_is_scored_as_far_as_it_is_expected() -> None:
    group_only = {key: value for key, value in WANTED.items() if key != "release_group_mbid"}
    regrouped = changed(first_release=msgspec.structs.replace(FIRST, release_group_mbid="A"))
    assert scored(regrouped, crg_mbid="A", first_release=group_only).status == 0
    assert scored(regrouped, crg_mbid="A").first_release.cases == 0
    failed = scored(Decision(State.ERROR, error="no model"), crg_mbid="A", first_release=WANTED)
    assert (failed.first_release.cases, failed.first_release.right) == (1, 0)


def test_rules_have_a_row_each_and_where_no_model_was_asked_none_decided() -> None:
    lines = [line(**ALL), line(**ALL | {"crg_mbid": "S"}), line(**ALL | {"crg_rule": SAME_DATE})]
    report = evaluate(read_golden(lines), lambda bundle: Case(DECIDED, bundle))
    rows = {row.rule: (row.expected, row.decided, row.right, row.wrong) for row in report.rules}
    assert rows == {
        "CRG:ALBUM_LEAD_WINDOW": (2, 3, 2, 1),
        SAME_DATE: (1, 0, 0, 0),
        "RR:WORLD_EARLIEST": (3, 3, 2, 0),
    }
    assert (report.crg.accuracy, report.rr.precision) == (2 / 3, 1.0)
    failed = scored(msgspec.structs.replace(OPEN, state=State.ERROR, error="no model"), **ALL)
    assert [(row.expected, row.decided) for row in failed.rules] == [(1, 0), (1, 0)]


def test_a_name_that_two_lines_have_is_refused_with_both() -> None:
    lines = [line(name="x", **ALL), b"", line(**ALL), line(**ALL), line(name="x", **ALL)]
    *_, last = read = list(read_golden(lines))
    assert [isinstance(item, GoldenCase) for item in read] == [True, True, True, False]
    assert isinstance(last, InvalidLine)
    assert (last.line, last.problem) == (5, "id: line 1 has 'x' too")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (line(crg_mbid="A", first_release={"date": "1974-13", "year_certain": True}),
         "expected.first_release.date: Expected str matching regex"),
        (line(crg_mbid="A", first_release={"date": "1974"}), "year_certain"),
        (line(crg_mbid="A", first_release=WANTED | {"release_group_mbid": " "}),
         "expected.first_release.release_group_mbid: Expected"),
        (line(crg_mbid=""), r"expected.crg_mbid: Expected str matching regex '\\S'"),
        (line(crg_mbid="A", rr_mbid=" "), "expected.rr_mbid: Expected"),
        (line(crg_mbid="A", rr_acceptable=["b", ""]), "expected.rr_acceptable[1]: Expected"),
        (line(crg_mbid=7), "expected.crg_mbid: Expected str | null, got int"),
        (line(name=7, crg_mbid="A"), "id: Expected str | null, got int"),
        (b'"a line"', "Expected object, got str"),
        (b"\xef\xbb\xbf{", "truncated"),
        (b'{"bundle": ' + b"[" * 100_000, "nested too deeply"),
        (line({"recording_candidates": [{}], "artist": {"name": "x"}}, **ALL), "mb_recording_id"),
        *[
            (line(**ALL | {field: rule}), f"expected.{field}: found {rule!r}; allowed are {first}")
            for field, first, rules in (
                ("crg_rule", "CRG:MANUAL_OVERRIDE, ", ("CRG:NOPE", "ALBUM_LEAD_WINDOW")),
                ("rr_rule", "RR:MANUAL_OVERRIDE, ", ("RR:NOPE", SAME_DATE, "RR:WORLD_EARLIEST ")),
            )
            for rule in rules
        ],
    ],
)  # fmt: skip
def test_a_defect_is_told_with_its_place(text: bytes, says: str) -> None:
    (item,) = read_golden([text])
    assert isinstance(item, InvalidLine)
    assert says in item.problem


@pytest.mark.parametrize("spell", [str.upper, str.lower])
def test_ids_in_capitals_are_the_same_ids(spell: Callable[[str], str]) -> None:
    mbid = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
    golden_id, actual = spell(mbid), spell(mbid).swapcase()
    decision = changed(crg_mbid=actual, rr_mbid=actual)
    report = scored(decision, crg_mbid=f" {golden_id}", rr_acceptable=[golden_id])
    assert (report.crg.right, report.rr.right) == (1, 1)


def test_a_long_file_is_never_in_memory_as_a_whole() -> None:
    text = line(**ALL)
    tracemalloc.start()
    try:
        read = read_golden(text for _ in range(1_000))
        report = evaluate(read, lambda bundle: Case(DECIDED, bundle))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report.crg.right == 1_000
    assert most < 1_000 * len(text) / 2


HEAD = b"artist,title,year,isrc\n"


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
        (HEAD, "has a header but no rows"),
        (b"artist,title\na,b\n", "the header has 'artist', 'title'; artist, title"),
        (b"artist,title,year,Year\na,b,1,2\n", "are needed, once each"),
        (b"Queen,Innuendo,1991\n", "has 'queen', 'innuendo', '1991'; artist"),
        (HEAD + b"a,b,1991\nBeyonc\xe9,c,2003\n", "line 3 is not UTF-8: save the list"),
        (b"PK\x03\x04\xff\xfe", "line 1 is not UTF-8"),
        (HEAD + b'a,"b,1991\n', "is not CSV"),
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
        (b"a,b,1977,12", "isrc: found '12'"),
    ],
)
def test_a_line_that_is_no_row_is_named_and_the_next_is_read(row: bytes, problem: str) -> None:
    bad, good = listed(HEAD + row + b"\nQueen,Innuendo,1991\n")
    assert isinstance(bad, InvalidLine)
    assert bad.line == 2
    assert problem in bad.problem
    assert isinstance(good, ListedYear)


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
    lines: list[int] = []
    report = compare_years(
        rows, bundle_of, Pipeline(RulesConfig()), worst=2, on_row=lambda _: lines.append(1)
    )
    assert (report.rows, report.share_decided, len(lines)) == (5, 0.8, 5)
    decided, certain = report.decided, report.certain
    assert (decided.rows, decided.exact, decided.within_one, decided.more_than_two) == (4, 1, 2, 2)
    assert (decided.exact_share, decided.more_than_two_share) == (0.25, 0.5)
    assert (certain.rows, certain.exact, certain.within_one, certain.more_than_two) == (3, 1, 2, 1)
    assert [(item.row.line, item.off) for item in report.worst] == [(5, 27), (4, 3)]
    assert (report.not_found, report.undated, report.failed, report.status) == (1, 0, 0, 1)
    assert [item.problem for item in report.without_year] == ["nobody knows it"]


def test_no_more_is_asked_after_three_failures_in_a_row() -> None:
    titles: list[str] = []

    def gather(tags: TrackTags) -> EvidenceBundle:
        titles.append(tags.title or "")
        return bundle_of(tags)

    rows = [ListedYear(n, "X", "failing", 1977) for n in range(2, 9)]
    report = compare_years(rows, gather, Pipeline(RulesConfig()), worst=9)
    assert (len(titles), report.failed, report.status) == (3, 7, 1)
    assert "3 look-ups in a row had failed" in (report.without_year[-1].problem or "")
