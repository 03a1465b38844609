"""The release that stands for a record: at home first, and never a reissue of an earlier one."""

from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided
from chart_binder.rules.decide import decide
from chart_binder.rules.representative import representative
from rules.making import Json, album, bundle, document, recording, release

HOME = "ORIGIN_COUNTRY_EARLIEST"
WORLD = "WORLD_EARLIEST"
REISSUE = "REISSUE_FILTER_APPLIED"


def gb(date: str | None, **more: Any) -> Json:
    return release(date, "GB", **more)


def us(date: str | None, **more: Any) -> Json:
    return release(date, "US", **more)


def at(country: str | None, date: str | None, **more: Any) -> Json:
    return release(date, country, **more)


TABLE: list[tuple[str, list[Json], int, str]] = [
    # claim, releases, the number of the one chosen, the rule
    ("the only one", [gb("1974")], 1, HOME),
    ("the only one, from elsewhere", [us("1974")], 1, WORLD),
    ("home goes before an earlier one elsewhere", [us("1974-11-01"), gb("1974-11-08")], 2, HOME),
    ("the earliest at home", [gb("1975-11-08"), gb("1974-11-08")], 2, HOME),
    ("none from home: the earliest anywhere", [us("1974-11-08"), at("JP", "1974-11-01")], 2, WORLD),
    ("worldwide is home everywhere", [at("XW", "2015-09-18"), gb("2015-09-19")], 1, HOME),
    ("worldwide is home even where an earlier one is from elsewhere",
     [us("2015-09-18"), at("XW", "2015-10-19")], 2, HOME),
    ("the earliest anywhere is worldwide, and none is from home",
     [at("XW", "2015-09-18"), us("2015-09-19")], 1, WORLD),
    ("Europe is home in Europe", [at("XE", "2015-09-18"), gb("2015-09-19")], 1, HOME),
    ("of one day, the country itself before Europe and the world",
     [at("XW", "2015-09-18"), at("XE", "2015-09-18"), gb("2015-09-18")], 3, HOME),
    ("of one day, Europe before the world",
     [at("XW", "2015-09-18"), at("XE", "2015-09-18"), gb("2015-10-18")], 2, HOME),
    ("a worldwide download is a reissue of what came out ten years before",
     [us("2004-09-18", format="CD"), at("XW", "2015-09-18", format="Digital Media")], 1, REISSUE),
    ("a medium before its time stands for nothing",
     [gb("1966", format="CD"), gb("1969", format='12" Vinyl')], 2, REISSUE),
    ("a medium before its time is all there is", [gb("1966", format="CD")], 1, HOME),
    ("Europe is not the country itself", [at("XE", "2015-09-18"), us("2015-09-19")], 1, WORLD),
    ("UK is GB", [us("1974-11-01"), at("UK", "1974-11-08")], 2, HOME),
    ("a promotional copy stands for nothing",
     [gb("1974-10-01", status="Promotion"), gb("1974-11-08")], 2, HOME),
    ("a pseudo-release stands for nothing",
     [gb("1974-11-08", status="Pseudo-Release"), gb("1974-11-08")], 2, HOME),
    ("a whole date goes before its bare year",
     [gb("1973"), gb("1973-03-24"), gb("1973-12")], 2, HOME),
    ("an early month goes before the bare year", [gb("1973"), gb("1973-11")], 2, HOME),
    ("a bare year goes before the next year", [gb("1973"), gb("1974-01-01")], 1, HOME),
    ("a date goes before none", [gb(None), gb("2001-01-01")], 2, HOME),
    ("a dated one elsewhere goes before an undated one at home",
     [gb(None), us("2001-01-01")], 2, WORLD),
    ("undated ones are all there is", [us(None), gb(None)], 2, HOME),
    ("a remaster at home loses to the original elsewhere",
     [gb("1994-03-01", disambiguation="remastered"), us("1991-02-01")], 2, REISSUE),
    ("a deluxe edition loses by its title",
     [gb("2012", title="Mouth to Mouth: Deluxe Edition"), us("2011")], 2, REISSUE),
    *(
        (f"a {name} is no reissue", [gb("2012", disambiguation=name), us("2011")], 1, HOME)
        for name in ("first edition", "CD edition", "original edition", "通常盤")
    ),
    ("a flag marks a reissue",
     [gb("2012", flags={"is_reissue_hint": True}), us("2011")], 2, REISSUE),
    ("a remaster before all others is no reissue of them",
     [gb("2010", disambiguation="remastered"), us("2011")], 1, HOME),
    ("a release ten years later is a reissue", [gb("1984-11-08"), us("1974-11-08")], 2, REISSUE),
    ("a release nine years later is none", [gb("1983-11-07"), us("1974-11-08")], 1, HOME),
    ("a medium that was not there yet marks a reissue",
     [gb("1982-11-08", format="CD"), us("1974-11-08", format='12" Vinyl')], 2, REISSUE),
    ("a download of an old record is a reissue",
     [gb("1997-01-01", format="Digital Media"), us("1994-01-01", format="CD")], 2, REISSUE),
    ("a release ten years later to the day but one is none",
     [gb("1984-11-07"), us("1974-11-08")], 1, HOME),
    ("a remaster loses to an original that nobody dated",
     [gb(None), gb("2011-01-01", disambiguation="2011 remaster")], 1, REISSUE),
    ("of remasters alone, the earliest",
     [gb("2011", disambiguation="remaster"), us("2009", disambiguation="remaster")], 2, REISSUE),
    ("an undated original goes before remasters, the earliest abroad included",
     [gb(None), gb("2011", disambiguation="remaster"), us("2009", disambiguation="remaster")],
     1, REISSUE),
    ("a special edition loses to an original of its year",
     [gb("1997"), gb("1997-11-03", disambiguation="special edition")], 1, REISSUE),
    *(
        (f"a {name} loses to an earlier one", [gb("2012", disambiguation=name), us("2011")],
         2, REISSUE)
        for name in ("Re-mastered", "re-issue", "rerelease", "limited edition", "デラックス盤")
    ),
    *(
        (f"'{name}' is no reissue", [gb("2012", disambiguation=name), us("2011")], 1, HOME)
        for name in ("non-remastered", "original, not the remaster", "no bonus tracks",
                     "without bonus tracks")
    ),
    ("of one day, the one that is no deluxe edition",
     [gb("2020-11-06", disambiguation="deluxe"), gb("2020-11-06")], 2, HOME),
    ("of one day, the format of its time: vinyl in 1974",
     [gb("1974-11-08", format="Cassette"), gb("1974-11-08", format='12" Vinyl')], 2, HOME),
    ("of one day, the format of its time: CD in 2004",
     [gb("2004-10-20", format='12" Vinyl'), gb("2004-10-20", format="2×CD + DVD")], 2, HOME),
    ("of one day, a known format",
     [gb("2004-10-20", format=None), gb("2004-10-20", format="CD")], 2, HOME),
    ("of one day, one with a catalogue number",
     [gb("2004-10-20"), gb("2004-10-20", catno="EMC 3061")], 2, HOME),
    ("catalogue numbers count",
     [gb("2004-10-20", catno="EMC 1001"), gb("2004-10-20", catno="EMC 999")], 2, HOME),
    ("of equals, the smaller id", [gb("2004-10-20"), gb("2004-10-20")], 1, HOME),
]  # fmt: skip


@pytest.mark.parametrize(
    ("releases", "number", "rule"), [pytest.param(*row[1:], id=row[0]) for row in TABLE]
)
def test_a_release_is_chosen(releases: list[Json], number: int, rule: str) -> None:
    evidence = bundle(album("A", *releases, title="Mouth to Mouth"))
    verdict = decide(evidence, RulesConfig())
    assert isinstance(verdict, Decided)
    assert (verdict.rr, verdict.rr_rule) == (f"A.{number}", f"RR:{rule}"), verdict.path[-1]
    assert representative(evidence, "A", RulesConfig()) == verdict.rr


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


@pytest.mark.parametrize("title", ["Anniversary", "anniversary"])
def test_a_word_of_the_albums_own_title_marks_nothing(title: str) -> None:
    releases = [us("1991-01-01", title=title), gb("1991-02-01", title="Anniversary")]
    assert representative(bundle(album("A", *releases, title=title)), "A", RulesConfig()) == "A.2"


@pytest.mark.parametrize(
    ("own", "title"),
    [
        ("x", "x (Deluxe Edition)"), ("Re", "Re (Remastered)"), ("D", "D (Deluxe)"),
        ("A", "A (40th Anniversary)"), ("÷", "÷ (Deluxe)"), ("Deluxe", "Deluxe (Deluxe Edition)"),
    ],
)  # fmt: skip
def test_a_short_title_of_the_album_hides_no_mark(own: str, title: str) -> None:
    releases = [us("2014-06-20", title=own), gb("2014-11-20", title=title)]
    verdict = decide(bundle(album("A", *releases, title=own)), RulesConfig())
    assert isinstance(verdict, Decided)
    assert (verdict.rr, verdict.rr_rule) == ("A.1", f"RR:{REISSUE}")


def test_the_terms_of_a_reissue_are_a_knob_in_any_script() -> None:
    evidence = bundle(album("A", us("1991"), gb("1995", disambiguation="デジタルリマスター盤")))
    english = RulesConfig(reissue_terms=("remaster",))
    assert representative(evidence, "A", english) == "A.2"
    assert representative(evidence, "A", RulesConfig()) == "A.1"


def test_a_label_of_authority_goes_before_others_of_its_day() -> None:
    evidence = bundle(album("A", gb("1991", label="Parlophone"), gb("1991", label="EMI")))
    assert representative(evidence, "A", RulesConfig(label_authority_order=("EMI",))) == "A.2"


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
