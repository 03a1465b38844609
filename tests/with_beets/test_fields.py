"""Fields, queries and templates that the plug-in gives to beets."""

import pytest

pytest.importorskip("beets", reason="needs the extra `beets`")

from beets.dbcore.query import InvalidQueryArgumentValueError
from beets.library import Item

from beetsplug.canon import fields
from chart_binder.domain.verdict import FirstRelease
from chart_binder.jobs.decision import Decision, State

DAY, MONTH, YEAR, SPAN, OPEN = "1975-06-21", "1975-06", "1975", "1975-10-31/1975", "1975/.."


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("1975..", {DAY, MONTH, YEAR, SPAN, OPEN}),
        ("1975", {DAY, MONTH, YEAR, SPAN}),
        ("1975-06", {DAY, MONTH}),
        ("1975-06-21", {DAY}),
        ("1975-06-01..1975-06-30", {DAY, MONTH}),
        ("1975-06-02..", {DAY, SPAN}),
        ("..1975", {DAY, MONTH, YEAR, SPAN}),
        ("..1975-06-21", {DAY}),
        ("..1974", set()),
        ("1976..", set()),
        ("1974..1976", {DAY, MONTH, YEAR, SPAN}),
    ],
)
def test_a_partial_date_is_found_if_all_its_days_are_in_the_range(
    pattern: str, found: set[str]
) -> None:
    query = fields.PartialDateQuery("canon_first_date", pattern)
    items = {text: Item(canon_first_date=text) for text in (DAY, MONTH, YEAR, SPAN, OPEN)}
    assert {text for text, item in items.items() if query.match(item)} == found
    assert not query.match(Item())
    assert not query.match(Item(canon_first_date="unknown"))


@pytest.mark.parametrize("pattern", ["", "..", "the seventies", "1975-13", "1975..x", "75"])
def test_what_is_no_date_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidQueryArgumentValueError, match="is not a date such as 1975, 1975-06"):
        fields.PartialDateQuery("canon_first_date", pattern)


@pytest.mark.parametrize(
    ("texts", "year", "decade"),
    [
        (("1975-06-21", "2004"), "1975", "1970s"),
        (("$canon_first_date", "2004"), "2004", "2000s"),
        (("", "0000"), "", ""),
        (("1975-10-31/1975",), "1975", "1970s"),
        ((), "", ""),
        (("19750621", "1982"), "1982", "1980s"),
    ],
)
def test_a_template_takes_the_first_year_that_it_can_read(
    texts: tuple[str, ...], year: str, decade: str
) -> None:
    assert fields.year_template(*texts) == year
    assert fields.decade_template(*texts) == decade


@pytest.mark.parametrize(
    ("values", "year", "decade"),
    [
        ({"canon_first_date": "1975-06", "canon_year_certain": True, "year": 2004}, 1975, "1970s"),
        ({"canon_first_date": "1975-06", "canon_year_certain": False, "year": 2004}, 2004, "2000s"),
        ({"original_year": 1981, "year": 2004}, 1981, "1980s"),
        ({}, 0, ""),
    ],
)
def test_an_uncertain_year_names_no_folder(
    values: dict[str, object], year: int, decade: str
) -> None:
    item = Item()
    item.update(values)
    assert fields.first_year(item) == year
    assert fields.first_decade(item) == decade


@pytest.mark.parametrize(
    ("present", "album", "set_before", "first", "date"),
    [
        ("", "", None, "1975-11-21", (1975, 11, 21)),
        ("2004", "", None, "1975-11", (1975, 11, 0)),
        ("1975-11-20", "", None, "1975-11", (1975, 11, 20)),
        ("1970-01-02", "", None, "1975", (1970, 1, 2)),
        ("1970-01-02", "album", None, "1975", (1975, 0, 0)),
        ("1970", "", "1970", "1975-11", (1975, 11, 0)),
        ("1970", "", "1971", "1975-11", (1970, 0, 0)),
        ("2004-01-02", "", None, "1975-10-31/1975", (1975, 0, 0)),
    ],
)
def test_an_original_date_of_its_own_stays_if_it_is_finer_or_earlier(
    present: str, album: str, set_before: str | None, first: str, date: tuple[int, int, int]
) -> None:
    item = Item(mb_albumid=album)
    parts = [*map(int, filter(None, present.split("-"))), 0, 0, 0]
    item.update(dict(zip(fields.DATE_PARTS, parts, strict=False)))
    if set_before:
        item["canon_first_date"] = set_before
    decision = Decision(
        State.DECIDED, first_release=FirstRelease(first, year_certain=True, because="")
    )
    fields.apply_decision(item, decision, with_original_date=True)
    assert tuple(item[name] for name in fields.DATE_PARTS) == date
    assert item.canon_first_date == first


def test_fields_without_a_value_are_removed() -> None:
    item = Item(canon_crg="group", canon_first_date="1975", canon_state="decided")
    fields.apply_decision(item, Decision(State.UNMATCHED), with_original_date=True)
    assert {name: item.get(name) for name in fields.STORED_FIELDS if name in item} == {
        "canon_state": "unmatched"
    }
