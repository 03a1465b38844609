"""A record is by whom its credit names, alone or joined with others."""

import pytest

from chart_binder.domain.dates import Answer
from chart_binder.domain.evidence import Artist, Release, ReleaseGroup
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS, ArtistId, ReleaseGroupId, ReleaseId
from chart_binder.rules.names import is_by, is_named, is_various
from rules.making import cases

ANSWERS: dict[str, Answer] = {"yes": True, "no": False, "unknown": None}


@pytest.mark.parametrize(("name", "credit", "answer"), cases("credits.txt", is_named=False))
def test_a_credit_names_the_artist_another_or_none(name: str, credit: str, answer: str) -> None:
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


@pytest.mark.parametrize(
    "credit",
    [
        "Various Artists", "various", "V.A.", "VA", "V/A", "Verschiedene Künstler",
        "Artistes divers", "Artisti Vari", "Varios artistas", "Vários Artistas",
        "Diverse artiesten", "Różni wykonawcy", "Různí interpreti", "Разные исполнители",
        "Різні виконавці", "Διάφοροι Καλλιτέχνες", "ヴァリアス・アーティスト",
        "群星", "여러 아티스트",
    ],
)  # fmt: skip
def test_various_artists_are_known_by_their_names_in_any_language(credit: str) -> None:
    group = ReleaseGroup(ReleaseGroupId("g"), artist_credit=credit)
    assert is_various(group, ())
    assert is_named(["Queen"], group, ()) is False


@pytest.mark.parametrize("credit", ["Varios", "Diverse", "Various Cruelties", "Artists", "Va Bene"])
def test_an_act_with_a_similar_name_is_one_act(credit: str) -> None:
    assert not is_various(ReleaseGroup(ReleaseGroupId("g"), artist_credit=credit), ())


@pytest.mark.parametrize(("credit", "ids", "answer"), [
    ("Puff Daddy & The Family", ("other", "artist"), True),
    ("4 Underground Bands", (VARIOUS_ARTISTS,), False),
    ("4 Underground Bands", (VARIOUS_ARTISTS.upper(),), False),
    ("Ministry of Sound", ("other",), False), ("Diddy", ("other",), True),
    (None, ("artist",), True), (None, ("other",), None),
])  # fmt: skip
def test_an_id_tells_whose_record_it_is_before_the_name(
    credit: str | None, ids: tuple[str, ...], answer: Answer
) -> None:
    known = tuple(map(ArtistId, ids))
    group = ReleaseGroup(ReleaseGroupId("g"), artist_credit=credit, artist_ids=known)
    assert is_by([Artist("Diddy", ArtistId("artist"))], group, ()) is answer
