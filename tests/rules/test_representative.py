"""The release that stands for a record: at home first, and never a reissue of an earlier one."""

from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided
from chart_binder.rules.decide import decide
from chart_binder.rules.representative import representative
from rules.making import Json, album, bundle, cases, document, recording, records, release

HOME = "ORIGIN_COUNTRY_EARLIEST"
WORLD = "WORLD_EARLIEST"


def gb(date: str | None, **more: Any) -> Json:
    return release(date, "GB", **more)


def us(date: str | None, **more: Any) -> Json:
    return release(date, "US", **more)


def at(country: str | None, date: str | None, **more: Any) -> Json:
    return release(date, country, **more)


@pytest.mark.parametrize(("text", "chosen"), cases("representatives.txt"))
def test_a_release_is_chosen(text: str, chosen: str) -> None:
    (made,) = records(f"A album title:Mouth_to_Mouth {text}")
    number, rule = chosen.split()
    verdict = decide(bundle(made), RulesConfig())
    assert isinstance(verdict, Decided)
    assert (verdict.rr, verdict.rr_rule) == (f"A.{number}", f"RR:{rule}"), verdict.path[-1]
    assert representative(bundle(made), "A", RulesConfig()) == verdict.rr


@pytest.mark.parametrize(("title", "releases"), [
    ("A", [gb("2012", flags={"is_reissue_hint": True}), us("2011")]),
    ("A", [gb("2004-10-20"), gb("2004-10-20", catno="EMC 3061")]),
    ("A", [gb("2004-10-20", catno="EMC 1001"), gb("2004-10-20", catno="EMC 999")]),
    ("A", [gb("1991", label="Parlophone"), gb("1991", label="EMI")]),
    # A word of the album's own title marks nothing, but a short title hides no mark.
    *((own, [us("1991-01-01", title=own),
        gb("1991-02-01", title="Anniversary")]) for own in ("Anniversary", "anniversary")),
    *((own, [gb("2014-11-20", title=f"{own} ({mark})"), us("2014-06-20", title=own)]) for own,
        mark in (("x", "Deluxe Edition"), ("D", "Deluxe"), ("A", "40th Anniversary"))),
    ("Mouth to Mouth", [gb("2012", title="Mouth to Mouth: Deluxe Edition"), us("2011")]),
])  # fmt: skip
def test_the_second_release_is_chosen(title: str, releases: list[Json]) -> None:
    rules_config = RulesConfig(label_authority_order=("EMI",))
    assert representative(bundle(album("A", *releases, title=title)), "A", rules_config) == "A.2"


def test_europe_and_the_world_are_home_by_the_artists_country() -> None:
    def chosen(country: str | None, *releases: Json) -> str:
        artist = {"name": "Queen", "begin_area_country": country}
        made = document(recording(album("A", *releases)), artist=artist)
        verdict = decide(read_bundle(made), RulesConfig())
        assert isinstance(verdict, Decided)
        return f"{verdict.rr} {verdict.rr_rule}"

    later = at("XE", "2015-09-18"), at("JP", "2015-09-19")
    assert chosen("JP", *later) == f"A.2 RR:{HOME}"
    assert chosen("DE", *later) == f"A.1 RR:{WORLD}"
    assert chosen("DE", at("US", "2015-09-17"), *later) == f"A.2 RR:{HOME}"
    assert chosen(None, at("US", "2015-09-18"), at("XE", "2015-09-18")) == f"A.1 RR:{WORLD}"
    assert chosen(None, us("2015-09-18"), at("XW", "2015-09-19")) == f"A.1 RR:{WORLD}"


def test_a_deluxe_edition_that_loses_to_another_is_told_so() -> None:
    editions = gb("2011-09-27", disambiguation="deluxe"), us("2011-09-26", title="A (Super Deluxe)")
    verdict = decide(bundle(album("A", *editions)), RulesConfig())
    assert verdict.path[-1].said == (
        "the release GB of 2011-09-27 is a reissue; the release US of 2011-09-26 came out before it"
    )


def test_an_undated_release_at_home_is_not_denied() -> None:
    verdict = decide(bundle(album("A", gb(None), us("2001-01-01"))), RulesConfig())
    assert verdict.path[-1].said == (
        "none with a date is from GB; the release US of 2001-01-01 is the earliest anywhere"
    )


def test_the_terms_of_a_reissue_are_a_knob_in_any_script() -> None:
    evidence = bundle(album("A", us("1991"), gb("1995", disambiguation="デジタルリマスター盤")))
    english = RulesConfig(reissue_terms=("remaster",))
    assert representative(evidence, "A", english) == "A.2"
    assert representative(evidence, "A", RulesConfig()) == "A.1"


def test_a_former_state_is_home() -> None:
    german = {"name": "Kraftwerk", "begin_area_country": "DE"}
    made = recording(album("A", us("1970"), at("XG", "1975")))
    assert representative(read_bundle(document(made, artist=german)), "A", RulesConfig()) == "A.2"


def test_without_a_release_none_is_named_and_that_is_told() -> None:
    verdict = decide(bundle(album("A", first_release_date="1974-11-08")), RulesConfig())
    assert isinstance(verdict, Decided)
    assert (verdict.rr, verdict.rr_rule) == (None, "RR:INDETERMINATE")
    assert verdict.missing_facts == ("which release of the album 'A' contains the recording?",)


def test_no_release_stands_for_a_record_that_is_not_in_the_evidence() -> None:
    assert representative(bundle(album("A", "1974")), "B", RulesConfig()) is None
