"""A record is by whom its credit names, alone or joined with others."""

import pytest

from chart_binder.domain.dates import Answer
from chart_binder.domain.evidence import Release, ReleaseGroup
from chart_binder.domain.vocabulary import ReleaseGroupId, ReleaseId
from chart_binder.rules.names import is_by, is_various


@pytest.mark.parametrize(
    ("name", "credit", "answer"),
    [
        ("Air", "Fairport Convention", False),
        ("Queen", "Queensryche", False),
        ("Queen", "The Covers", False),
        ("X", "Xzibit", False),
        ("サカナ", "サカナクション", False),
        ("Queen", "Queen", True),
        # one of the names that are joined
        ("Queen", "Queen / Anal Blast", True),
        ("Queen", "Queen / Sparks", True),
        ("David Bowie", "Queen & David Bowie", True),
        ("Queen", "Queen & David Bowie", True),
        ("Beyoncé", "JAY‐Z feat. Beyoncé", True),
        ("Beyoncé", "JAY-Z (feat. Beyoncé)", True),
        ("Queen", "5ive ft. Queen", True),
        ("Queen", "Wyclef Jean featuring Queen", True),
        ("Queen", "Queen vs. The Miami Project", True),
        ("Queen", "Queen x Someone", True),
        ("Queen", "Elton John, David Bowie; Queen", True),
        ("Kosmonova", "Kosmonova vs. Fiocco", True),
        ("Fiocco", "Kosmonova vs. Fiocco", True),
        ("AC/DC", "AC/DC & Brian Johnson", True),
        ("ゆず", "ゆず×いきものがかり", True),
        ("椎名林檎", "椎名林檎・宇多田ヒカル", True),
        ("安室奈美恵", "安室奈美恵feat.AI", True),
        ("AI", "安室奈美恵feat.AI", True),
        ("日笠陽子", "秋山澪(CV:日笠陽子)", True),
        ("乃木坂46", "乃木坂46", True),
        # a whole that has a join in it
        ("Simon & Garfunkel", "Simon & Garfunkel", True),
        ("Simon & Garfunkel", "Simon and Garfunkel", True),
        ("Florence + the Machine", "Florence and The Machine", True),
        ("Earth, Wind & Fire", "Earth, Wind & Fire feat. Somebody Else", True),
        # a join that may be in the name of one act
        ("Earth", "Earth, Wind & Fire", None),
        ("Heart", "Heart and Soul", None),
        ("Heart", "Heart & Soul", None),
        ("Echo", "Echo & the Bunnymen", None),
        ("Sirens", "Sleeping with Sirens", None),
        # a part of another name
        ("Beck", "Jeff Beck", None),
        ("Prince", "Prince Buster", None),
        ("Queen", "Queen Tribute Band", None),
        ("Queen", "Royal Philharmonic Orchestra plays Queen", None),
        ("Jimi Hendrix", "The Jimi Hendrix Experience", None),
        ("The Jimi Hendrix Experience", "Jimi Hendrix", None),
        ("ボウイ", "デヴィッド・ボウイ", None),
        # other spellings
        ("REM", "R.E.M.", True),
        ("AC/DC", "ACDC", True),
        ("Guns N' Roses", "Guns n Roses", True),
        ("The Beatles", "Beatles", True),
        ("Beatles", "Beatles, The", True),
        ("Beyonce", "Beyoncé", True),
        ("Björk", "Bjo\u0308rk", True),
        ("Motörhead", "MOTORHEAD", True),
        ("MØ", "Mo", True),
        ("Ke$ha", "Kesha", None),
        ("P!nk", "Pink", None),
        ("Pink", "P!nk", None),
        ("deadmau5", "Deadmaus", None),
        ("Müller", "Mueller", None),
        ("カ", "ガ", False),
        # names of signs
        ("!!!", "!!!", True),
        ("!!!", "Someone Else & !!!", True),
        ("+/-", "+/-", True),
        ("Σ", "Σ", True),
        ("†††", "† † †", True),
        ("!!!", "Someone Else", None),
        # other scripts
        ("Namie Amuro", "安室奈美恵", None),
        ("Namie Amuro", "安室奈美恵 & Metallica", None),
        ("Air", None, None),
    ],
)
def test_a_credit_names_the_artist_or_another_or_tells_nothing(
    name: str, credit: str | None, answer: Answer
) -> None:
    group = ReleaseGroup(ReleaseGroupId("g"), artist_credit=credit)
    assert is_by([name], group, ()) is answer


def test_a_later_release_changes_nothing_of_whose_record_it_is() -> None:
    first = Release(ReleaseId("1"), date="1974", artist_credit="Queen")
    later = Release(ReleaseId("2"), date="1981", artist_credit="Various Artists")
    group = ReleaseGroup(ReleaseGroupId("g"))
    for names, answer in ((["Queen"], True), (["David Bowie"], False)):
        assert is_by(names, group, [later, first]) is is_by(names, group, [first]) is answer
    assert not is_various(group, [first, later])
