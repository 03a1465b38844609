"""The table of month names is what its script makes of CLDR."""

import pytest

from chart_binder.domain.dates_in_text import AMBIGUOUS_MONTHS, MONTHS
from chart_binder.domain.vocabulary import fold


def test_the_table_is_what_the_script_makes_of_cldr() -> None:
    core = pytest.importorskip("babel.core", reason="babel, which has CLDR, is not installed")
    from domain.make_month_names import TABLE, month_table

    written = TABLE.read_text("utf-8")
    if f"CLDR {core.get_cldr_version()};" not in written:
        pytest.skip(f"babel has CLDR {core.get_cldr_version()}, the table is of another")
    assert month_table() == written


def test_every_name_is_folded_and_ambiguous_ones_are_names() -> None:
    assert [name for name in MONTHS if fold(name) != name] == []
    assert MONTHS.keys() > AMBIGUOUS_MONTHS
    assert set(MONTHS.values()) == set(range(1, 13))
