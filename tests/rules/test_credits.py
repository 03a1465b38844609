"""A record is by whom its credit names, alone or joined with others."""

import pytest

from chart_binder.domain.dates import Answer
from chart_binder.domain.evidence import Release, ReleaseGroup
from chart_binder.domain.vocabulary import ReleaseGroupId, ReleaseId
from chart_binder.rules.names import is_named, is_various
from rules.making import cases

ANSWERS: dict[str, Answer] = {"yes": True, "no": False, "unknown": None}


@pytest.mark.parametrize(("name", "credit", "answer"), cases("credits.txt", is_named=False))
def test_a_credit_names_the_artist_or_another_or_tells_nothing(
    name: str, credit: str, answer: str
) -> None:
    group = ReleaseGroup(ReleaseGroupId("g"), artist_credit=credit)
    assert is_named([name], group, ()) is ANSWERS[answer]


def test_without_a_credit_the_artist_is_unknown() -> None:
    assert is_named(["Air"], ReleaseGroup(ReleaseGroupId("g")), ()) is None


def test_a_later_release_changes_nothing_of_whose_record_it_is() -> None:
    first = Release(ReleaseId("1"), date="1974", artist_credit="Queen")
    later = Release(ReleaseId("2"), date="1981", artist_credit="Various Artists")
    group = ReleaseGroup(ReleaseGroupId("g"))
    for names, answer in ((["Queen"], True), (["David Bowie"], False)):
        assert is_named(names, group, [later, first]) is is_named(names, group, [first]) is answer
    assert not is_various(group, [first, later])
