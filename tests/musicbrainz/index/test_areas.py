"""Countries of artists, and the order of names."""

import random

import pytest

from chart_binder.musicbrainz.index.areas import Areas, collation_key

WORLD, GERMANY, BAVARIA, MUNICH, EUROPE, ATLANTIS, MU, LAND = range(1, 9)
AREAS = Areas(
    names={},
    countries=frozenset({GERMANY, EUROPE, LAND}),
    codes={WORLD: ("XW",), GERMANY: ("DE",), EUROPE: ("XE",), LAND: ("AA", "ZZ")},
    part_codes={BAVARIA: ("DE-BY",)},
    parents={MUNICH: (BAVARIA, EUROPE), BAVARIA: (GERMANY,), ATLANTIS: (MU,), MU: (ATLANTIS,)},
)


@pytest.mark.parametrize(("begin_area", "area", "country"), [
    (None, None, None), (None, GERMANY, "DE"), (GERMANY, LAND, "DE"), (None, LAND, "AA"),
    (BAVARIA, LAND, "DE"),  # by the beginning of its ISO 3166-2 code
    (MUNICH, LAND, "AA"),  # nothing is above a begin area
    (MUNICH, None, None), (WORLD, GERMANY, "DE"), (None, WORLD, None), (None, BAVARIA, "DE"),
    (None, MUNICH, None),  # the nearest country is Europe, which is none
    (None, ATLANTIS, None),  # two areas are part of each other
])  # fmt: skip
def test_the_country_of_an_artist(
    begin_area: int | None, area: int | None, country: str | None
) -> None:
    assert AREAS.home(begin_area, area) == country


def test_names_are_in_the_order_of_the_root_collation() -> None:
    ordered = [
        " x", "[Worldwide]", "9 lives", "10 lives", "a", "A", "á", "Åland Islands", "Albania",
        "Bosnia", "Bosnia and Herzegovina", "Côte d'Ivoire", "Czechia", "Zambia", "Ελλάδα", "日本",
    ]  # fmt: skip
    shuffled = random.Random(1).sample(ordered, len(ordered))
    assert sorted(shuffled, key=collation_key) == ordered
