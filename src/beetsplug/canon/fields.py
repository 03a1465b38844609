"""The fields of items in which beets keeps decisions: types, queries, values and templates."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from beets.dbcore import types
from beets.dbcore.query import FieldQuery, InvalidQueryArgumentValueError, StringQuery

from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, UNKNOWN, PartialDate

if TYPE_CHECKING:
    from beets.library import Item

    from chart_binder.jobs.decision import Decision

_YEAR = re.compile(r"\s*(?!0000)([0-9]{4})(?![0-9])")
DATE_PARTS = ("original_year", "original_month", "original_day")


class PartialDateQuery(FieldQuery[str]):
    """Matches a partial date all of whose possible days are within a date or a range of dates.

    So `1975` is within `1975..` and `1975`, but not within `1975-06..`, because it may be earlier.
    """

    def __init__(self, field_name: str, pattern: str, fast: bool = True) -> None:  # noqa: FBT001, FBT002
        super().__init__(field_name, pattern, fast)
        since, dots, until = pattern.partition("..")
        first, last = _query_date(since), _query_date(until if dots else since)
        if not (first.is_known or last.is_known):
            raise _not_a_date(pattern)
        self._first = first.first if first.is_known else FIRST_DAY
        self._last = last.last if last.is_known else LAST_DAY

    def match(self, obj: Any) -> bool:
        """Return whether the date of an item is within the range."""
        date = read_date(obj.get(self.field_name))
        return date.is_known and self._first <= date.first and date.last <= self._last


def _query_date(text: str) -> PartialDate:
    try:
        return PartialDate.parse(text)
    except ValueError as error:
        raise _not_a_date(text) from error


def _not_a_date(text: str) -> InvalidQueryArgumentValueError:
    return InvalidQueryArgumentValueError(text, "a date such as 1975, 1975-06 or 1975-06-21")


def read_date(text: str | None) -> PartialDate:
    """Return the date in a field, or `UNKNOWN`."""
    try:
        return PartialDate.parse(text or "")
    except ValueError:
        return UNKNOWN


class PartialDateType(types.Type[str, str]):
    """A date of any precision, such as `1975-06`."""

    model_type = str
    query = PartialDateQuery


class WordType(types.Type[str, str]):
    """A word that queries find whole, so that `decided` does not find `undecided`."""

    model_type = str
    query = StringQuery


ITEM_TYPES: Mapping[str, types.Type[Any, Any]] = {
    "canon_crg": types.STRING,
    "canon_rr": types.STRING,
    "canon_state": WordType(),
    "canon_rule": types.STRING,
    "canon_first_date": PartialDateType(),
    "canon_year_certain": types.BOOLEAN,
    "canon_year": types.PaddedInt(4),
}
STORED_FIELDS = tuple(name for name in ITEM_TYPES if name != "canon_year")


def decision_fields(decision: "Decision") -> dict[str, object]:
    """Return the values of the stored fields for a decision; None removes a field.

    Ids are those of a decided case, because those of an open case are proposals.
    """
    from chart_binder.jobs.decision import State

    is_decided, first = decision.state is State.DECIDED, decision.first_release
    return {
        "canon_crg": decision.crg_mbid if is_decided else None,
        "canon_rr": decision.rr_mbid if is_decided else None,
        "canon_state": str(decision.state),
        "canon_rule": (decision.crg_rule or "").removeprefix("CRG:") or None,
        "canon_first_date": first.date if first else None,
        "canon_year_certain": first.year_certain if first else None,
    }


def apply_decision(item: "Item", decision: "Decision", *, with_original_date: bool) -> None:
    """Set the fields of an item, without storing it; with its original date if that is certain."""
    first = decision.first_release
    if with_original_date and first and first.year_certain:
        _set_original_date(item, first.date)
    for name, value in decision_fields(decision).items():
        if value is not None:
            item[name] = value
        elif name in item:
            del item[name]


def _set_original_date(item: "Item", text: str) -> None:
    """Set the original date, unless the item has one that is finer, or an earlier one of its own.

    The date of an item with an album of MusicBrainz is that of the album, so it is replaced, and so
    is one that canon set before.
    """
    date = read_date(text)
    if "/" in text:  # a span of days within one year
        date = PartialDate.parse(text[:4])
    present = original_date(item)
    is_own = not item.mb_albumid and present.text != (item.get("canon_first_date") or "")
    is_finer = date.includes(present)
    if present.is_known and (is_finer or (is_own and present.last < date.first)):
        return
    parts = [*map(int, date.text.split("-")), 0, 0]
    for name, part in zip(DATE_PARTS, parts, strict=False):
        item[name] = part


def original_date(item: "Item") -> PartialDate:
    """Return the original date of an item, or `UNKNOWN`."""
    return date_of_parts(item.original_year, item.original_month, item.original_day)


def date_of_parts(year: int, month: int, day: int) -> PartialDate:
    """Return the date as numbers of beets; 0 means unknown."""
    parts = [f"{year:04}", f"{month:02}", f"{day:02}"]
    precision = (year > 0) + (year > 0 and month > 0) + (year > 0 and month > 0 and day > 0)
    return read_date("-".join(parts[:precision]))


# Templates of paths.


def first_year(item: "Item") -> int:
    """Return the year of the first release if it is certain, else the original year or the year."""
    year = year_in(item.get("canon_first_date") or "") if item.get("canon_year_certain") else 0
    return year or item.original_year or item.year or 0


def first_decade(item: "Item") -> str:
    """Return the decade of `first_year`, such as `1970s`, or empty text."""
    return decade_template(str(first_year(item)))


def year_template(*texts: str) -> str:
    """Return the first year with which one of the texts begins: `%canon_year{$a,$b}`."""
    year = next(filter(None, map(year_in, texts)), 0)
    return f"{year:04}" if year else ""


def decade_template(*texts: str) -> str:
    """Return the decade of the first year with which a text begins: `%canon_decade{$a,$b}`."""
    year = year_template(*texts)
    return f"{year[:3]}0s" if year else ""


def year_in(text: str) -> int:
    """Return the year with which a text begins, or 0."""
    year = _YEAR.match(text)
    return int(year[1]) if year else 0
