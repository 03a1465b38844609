"""A record is by whom its credit names, in whole words."""

import pytest

from chart_binder.domain.dates import Answer, PartialDate
from chart_binder.domain.evidence import Release, ReleaseGroup
from chart_binder.domain.ids import ReleaseGroupId, ReleaseId
from chart_binder.rules.credits import is_by, is_various


@pytest.mark.parametrize(
    ("name", "credit", "answer"),
    [
        ("Air", "Fairport Convention", False),
        ("X", "Xzibit", False),
        ("X", "X & Y", True),
        ("Queen", "Queen / Anal Blast", True),
        ("David Bowie", "Queen & David Bowie", True),
        ("Jimi Hendrix", "The Jimi Hendrix Experience", True),
        ("REM", "R.E.M.", True),
        ("AC/DC", "ACDC", True),
        ("Guns N' Roses", "Guns n Roses", True),
        ("Beyoncé", "JAY‐Z feat. Beyoncé", True),
        ("サカナ", "サカナクション", False),
        ("ゆず", "ゆず×いきものがかり", True),
        ("椎名林檎", "椎名林檎・宇多田ヒカル", True),
        ("安室奈美恵", "安室奈美恵feat.AI", True),
        ("乃木坂46", "乃木坂46", True),
        ("Namie Amuro", "安室奈美恵", None),
        ("Air", None, None),
    ],
)
def test_a_credit_names_the_artist_in_whole_words(
    name: str, credit: str | None, answer: Answer
) -> None:
    group = ReleaseGroup(ReleaseGroupId("g"), artist_credit=credit)
    assert is_by([name], group, ()) is answer


def test_a_later_release_changes_nothing_of_whose_record_it_is() -> None:
    first = Release(ReleaseId("1"), date=PartialDate.parse("1974"), artist_credit="Queen")
    later = Release(ReleaseId("2"), date=PartialDate.parse("1981"), artist_credit="Various Artists")
    group = ReleaseGroup(ReleaseGroupId("g"))
    for names, answer in ((["Queen"], True), (["David Bowie"], False)):
        assert is_by(names, group, [later, first]) is is_by(names, group, [first]) is answer
    assert not is_various(group, [first, later])
