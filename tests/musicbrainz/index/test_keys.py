"""Names and titles that mean the same have the same hashes."""

import pytest

from chart_binder.musicbrainz.index.keys import (
    name_end_hashes,
    name_hashes,
    title_hash,
    whole_name_hashes,
)
from chart_binder.musicbrainz.performances import title_key

REMARKS = (
    "(2011 Remaster)", "- Remastered 2011", "(Original Mix)", "(main version)", "(edited)",
    "(Studio Recording)", "(feat. Somebody)", "[Deluxe]", "(full length version)", '(7" version)',
)  # fmt: skip


@pytest.mark.parametrize("remark", REMARKS)
def test_recordings_that_may_be_siblings_share_a_hash(remark: str) -> None:
    title = f"Blue Monday {remark}"
    assert title_key(title) == title_key("Blue Monday")
    assert title_hash(title) == title_hash("BLUE MONDAY!")


@pytest.mark.parametrize(
    "title", ["Blue Tuesday", "Blue Monday (Dub Mix)", "Blue Monday (Pump Panel Remix)", "Azul"]
)
def test_other_songs_have_another_hash(title: str) -> None:
    assert title_hash(title) != title_hash("Blue Monday")


@pytest.mark.parametrize(("name", "other"), [
    ("The Beatles", "Beatles, The"), ("AC/DC", "ACDC"), ("Utada, Hikaru", "hikaru UTADA"),
    ("Simon & Garfunkel", "Simon/Garfunkel"), ("Queen feat. David Bowie", "David Bowie & Queen"),
    ("Beyoncé", "Beyonce"), ("The The", "the the"), ("宇多田ヒカル", "宇多田ヒカル"),
])  # fmt: skip
def test_spellings_of_a_name_share_a_hash(name: str, other: str) -> None:
    assert whole_name_hashes(name) & whole_name_hashes(other)
    assert whole_name_hashes(name) <= name_hashes(name)


@pytest.mark.parametrize(("name", "misspelt"), [
    ("Fleetwood Mac", "Fleetwod Mac"), ("Simon & Garfunkel", "Simon and Garfunkle"),
    ("Pink Floyd", "Pink Floid"), ("Led Zeppelin", "Led Zepplin"), ("Nightwish", "Nihgtwish"),
])  # fmt: skip
def test_a_misspelt_name_keeps_its_beginning_or_its_end(name: str, misspelt: str) -> None:
    assert name_end_hashes(misspelt) & name_hashes(name)
    assert not whole_name_hashes(misspelt) & name_hashes(name)


def test_a_short_name_is_not_compared_by_its_ends() -> None:
    assert name_end_hashes("Queen") == frozenset()
    assert not name_end_hashes("Queens") & name_hashes("Queen")
