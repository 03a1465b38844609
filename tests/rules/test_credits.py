"""A record is by whom its credit names, in whole words."""

import pytest

from chart_binder.domain.dates import Answer
from chart_binder.domain.evidence import ReleaseGroup
from chart_binder.domain.ids import ReleaseGroupId
from chart_binder.rules.credits import is_by


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
