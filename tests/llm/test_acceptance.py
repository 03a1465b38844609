"""Acceptance: independent sources, checks, confidence and its calibration."""

import re
from pathlib import Path

import pytest

from chart_binder.config import AcceptanceConfig
from chart_binder.errors import ConfigError, TranscriptError
from chart_binder.jobs.transcripts import replay
from chart_binder.llm.acceptance import CHECKS
from chart_binder.llm.confidence import (
    CHECK_CEILINGS,
    CHECK_FACTORS,
    ConfidenceMap,
    Point,
    lower_by_checks,
    read_confidence_map,
)
from chart_binder.llm.result import Check, Outcome, Standing, why_not_written
from chart_binder.llm.sources import SAME_SOURCE, independent_sources, registered_site
from llm.scripted_runs import DAY, OTHER, SINGLE, adjudicated, failed, final, look

ROOT = Path(__file__).parents[2]
HALVED = ConfidenceMap((Point(0.0, 0.0), Point(1.0, 0.5)), 100)


@pytest.mark.parametrize(
    ("source", "who"),
    [
        ("https://en.wikipedia.org/wiki/X", "wikipedia.org"),
        ("https://beta.musicbrainz.org/release/x", "musicbrainz.org"),
        ("https://web.archive.org/web/2001id_/http://www.queen.co.uk/x", "queen.co.uk"),
        ("https://web.archive.org/web/2001/https:/en.wikipedia.org/wiki/X", "wikipedia.org"),
        ("https://web.archive.org/web/2001/queen.example/x", "queen.example"),
        ("https://web.archive.org/http://queen.example/x", "queen.example"),
        ("https://wayback.archive.org/web/2001*/http://queen.example/x", "queen.example"),
        ("https://web.archive.org/web/1/https://r.jina.ai/https://queen.example/", "queen.example"),
        ("https://web.archive.org/web/1/queen.example/http://x.wikipedia.org/", "queen.example"),
        ("https://archive.is/2024/https://queen.example/x", "queen.example"),
        ("https://archive.ph/Ab1", ""),
        ("https://r.jina.ai/https%3A%2F%2Fqueen.example%2Fx", "queen.example"),
        ("https://www.google.com/amp/s/queen.example/x", "queen.example"),
        ("https://queen-example.cdn.ampproject.org/c/s/queen.example/x", "queen.example"),
        ("https://en-wikipedia-org.translate.goog/wiki/X", "wikipedia.org"),
        ("https://a--b-example-com.translate.goog/", "example.com"),
        ("https://www.amazon.co.jp/x", "amazon.com"),
        ("https://a.b.com.au/", "b.com.au"),
        ("http://10.0.0.1/", "10.0.0.1"),
        ("http://[::1]/", "::1"),
        ("<https://A.Example./>", "a.example"),
        ("https://[broken", "https://[broken"),
        ("", ""),
    ],
)
def test_who_stands_behind_an_address(source: str, who: str) -> None:
    assert registered_site(source) == who


RELAYED = "http://stranger.example/x"


@pytest.mark.parametrize(
    "other",
    [
        f"https://relay.example/raw?url={RELAYED}",
        "https://relay.example/raw?url=http%3A%2F%2Fstranger.example%2Fx",
        "https://relay.example/raw?url=http%253A%252F%252Fstranger.example%252Fx&a=b",
        f"https://relay.example/?a=https://other.example/&u={RELAYED}",
        f"https://relay.example/{RELAYED}", "https://relay.example/http:/www.stranger.example/x",
        "https://relay.example/stranger.example/x", "https://relay.example/?stranger.example",
        "https://relay.example/read?page=stranger.example/x",
        f"https://web.archive.org/web/2001/https://relay.example/raw?url={RELAYED}",
        "https://relay.example/fetch/HTTPS://STRANGER.example:443/x",
    ],
)  # fmt: skip
def test_a_page_that_somebody_else_shows_is_no_second_source(other: str) -> None:
    elsewhere = "https://second.example/?u=https://stranger.example/y"
    for sources, count in (
        ([RELAYED, other], 1),
        ([other, RELAYED, "https://honest.example/index.html"], 2),
        ([other, elsewhere], 1),
    ):
        assert len(independent_sources(sources)) == count


def test_no_address_makes_several_sources_of_one_by_naming_others() -> None:
    told = [f"https://stranger.example/{n}?u=https://honest{n}.example/" for n in range(3)]
    assert independent_sources([*told, "https://archive.ph/Ab1"]) == {"stranger.example"}
    told += ["https://honest0.example/", "https://honest5.example/"]
    assert len(independent_sources(told)) == 2


@pytest.mark.parametrize(
    "pair",
    [
        ("https://a.example/index.html", "https://b.example/index.html"),
        ("https://a.example/wiki/will.i.am", "https://b.example/artist/will.i.am"),
        ("https://a.example/?x=https://archive.ph/A", "https://b.example/?x=https://archive.ph/B"),
        ("https://a.example/?q=Queen&page=2", "https://b.example/?q=Queen&page=2"),
        ("https://archive.is/1/http://a.example/", "https://archive.is/1/http://b.example/"),
    ],
)  # fmt: skip
def test_addresses_that_are_alike_are_still_two_sources(pair: tuple[str, str]) -> None:
    assert len(independent_sources(pair)) == 2


def test_every_copy_is_of_one_original_which_copies_nobody() -> None:
    copies = [copy for each in SAME_SOURCE.values() for copy in each]
    assert len(copies) == len(set(copies))
    assert not set(copies) & set(SAME_SOURCE)
    hosts = ("wikiwand.com", "fr.wikipedia.org", "a.e.com", "e.com.", "www.e.com", "x.co.uk")
    told = independent_sources(f"https://{host}/" for host in hosts)
    assert told == {"wikipedia.org", "e.com", "x.co.uk"}


def test_the_documented_table_is_the_one_that_lowers_confidence() -> None:
    text = (ROOT / "docs" / "adjudicator.md").read_text()
    shown = re.findall(r"^\| `(\w+)` \|.*\| (×|at most) ([0-9.]+) \|$", text, re.MULTILINE)
    assert {name: float(n) for name, how, n in shown if how == "×"} == CHECK_FACTORS
    assert {name: float(n) for name, how, n in shown if how != "×"} == CHECK_CEILINGS
    names = {look.__name__.removesuffix("s") for look in CHECKS}
    assert {name.removesuffix("s") for name in (*CHECK_FACTORS, *CHECK_CEILINGS)} <= names
    for copies in SAME_SOURCE.values():
        assert all(copy in text for copy in copies)


def test_confidence_is_lowered_for_what_failed_and_for_nothing_else() -> None:
    assert lower_by_checks(0.9, [Check("fact", True, ""), Check("release", True, "")]) == 0.9
    twice = [Check("fact", False, ""), Check("fact", False, "")]
    assert lower_by_checks(0.9, twice) == pytest.approx(0.9 * 0.36)
    assert lower_by_checks(0.9, [Check("rules", False, "")]) == 0.3
    assert lower_by_checks(0.1, [Check("rules", False, "")]) == 0.1
    assert lower_by_checks(0.9, [Check("agreement", False, "")]) == 0.9


def test_an_answer_that_nothing_speaks_against_keeps_its_confidence() -> None:
    for value in ("1975-10-31", "October 31, 1975"):
        result = adjudicated(look(), final(facts=[DAY | {"value": value}]))
        assert (result.outcome, result.rules) == (Outcome.ACCEPTED, Standing.CONFIRMED)
        assert (result.confidence, result.stated_confidence) == (0.9, 0.9)
    assert (adjudicated(final()).rules, adjudicated(final()).confidence) == (None, 0.9)


def test_an_unverified_fact_lowers_what_is_reported_and_caps_the_outcome_at_review() -> None:
    result = adjudicated(final(facts=[DAY]))
    assert (result.outcome, result.rules) == (Outcome.REVIEW, Standing.OPEN)
    assert failed(result) == ["fact", "sources"]
    assert result.stated_confidence == 0.9
    assert result.confidence == pytest.approx(0.9 * 0.6 * 0.8)


def test_a_contradicted_answer_is_worth_little() -> None:
    result = adjudicated(look(), final(crg_mbid="C1", rr_mbid="C1.R1", facts=[DAY]))
    assert (result.outcome, result.rules) == (Outcome.REVIEW, Standing.CONTRADICTED)
    assert (result.confidence, result.stated_confidence) == (0.3, 0.9)
    assert failed(result) == ["rules"]
    assert "ALBUM_LEAD_WINDOW" in (result.problem or "")


def test_a_catalogue_number_that_looks_like_a_year_is_none() -> None:
    fact = DAY | {"field": "catalogue number", "value": "1975"}
    dated = adjudicated(look(), final(facts=[fact]), page="Bohemian Rhapsody, 31/10/75")
    assert failed(dated) == ["fact", "sources"]
    found = adjudicated(look(), final(facts=[fact]), page="Bohemian Rhapsody, EMI 1975")
    assert failed(found) == []


@pytest.mark.parametrize("field", ["recording date", "re-release date", "chart_date", "label"])
def test_a_date_of_something_else_is_not_put_into_the_evidence(field: str) -> None:
    result = adjudicated(look(), final(facts=[DAY | {"field": field}]))
    assert (result.outcome, result.rules) == (Outcome.ACCEPTED, Standing.OPEN)
    dated = adjudicated(look(), final(facts=[DAY | {"field": "year of release"}]))
    assert dated.rules is Standing.CONFIRMED


@pytest.mark.parametrize(
    ("pages", "is_right"),
    [
        ("A Night at the Opera came out on 31 October 1975.", False),
        ("BOHEMIAN RHAPSODY: 31 October 1975.", True),
        ("Bohemian Rhapsody is on A Night at the Opera. It came out on 31 October 1975.", True),
        ("It came out on 31 October 1975.", True),
        ("Bohemian Rhapsody\n> A Night at the Opera | UK | 31 October 1975", False),
        ("A Night at the Opera\n> Released | 31 October 1975", False),
        ("Bohemian Rhapsody\n> Released | 31 October 1975 | A Day at the Races", True),
        ("A Night at the Opera | 1976\n> Bohemian Rhapsody | UK | 31 October 1975", True),
        ("Bohemian Rhapsody: 31 October 1975\n> A Night at the Opera | 31 October 1975", True),
    ],
)
def test_a_page_that_names_another_candidate_only_bears_nothing_out(
    pages: str, is_right: bool
) -> None:
    result = adjudicated(look(), final(facts=[DAY]), page=pages)
    assert result.outcome is (Outcome.ACCEPTED if is_right else Outcome.REVIEW)
    assert failed(result) == ([] if is_right else ["subject"])
    if not is_right:
        assert "names C2 'A Night at the Opera', not C1 " in (result.problem or "")


@pytest.mark.parametrize(
    ("fact", "is_right"),
    [
        ({"about": "C2", "value": "1975-11-21"}, True),
        ({"about": "C2", "value": "21 November 1975"}, True),
        ({"about": "C1", "value": "1975"}, True),
        ({"about": "C1", "value": "1975-10-31"}, False),
        ({"about": "C1", "value": "1976"}, False),
        ({"about": "C1", "field": "primary_type", "value": "single"}, True),
        ({"about": "C1", "field": "primary_type", "value": "Album"}, False),
        ({"about": "C2", "value": "1975-11-21", "source": "https://evidence.example/"}, False),
    ],
)  # fmt: skip
def test_the_evidence_may_be_cited_for_what_it_says_and_is_no_source(
    fact: dict[str, str], is_right: bool
) -> None:
    result = adjudicated(final(facts=[DAY | {"source": "evidence"} | fact]))
    assert result.outcome is (Outcome.ACCEPTED if is_right else Outcome.REVIEW), result
    assert result.independent_sources == 0


@pytest.mark.parametrize(
    ("about", "is_right"),
    [
        *((about, True) for about in (
            "C1", "c1", "C1 (Bohemian Rhapsody)", "[C1]", f"C1 {SINGLE}", SINGLE, SINGLE.upper(),
            f"https://musicbrainz.org/release-group/{SINGLE}", "bohemian rhapsody",
            '"Bohemian Rhapsody"',
            "C1.R1", "release C1.R1",
        )),
        *((about, False) for about in (
            "", "C9", "C1 and C2", f"C2 {SINGLE}", "Bohemian", "the single",
            "deadbeef-0000-4000-8000-0000",
        )),
    ],
)  # fmt: skip
def test_what_a_fact_is_about_may_be_named_in_many_ways(about: str, is_right: bool) -> None:
    result = adjudicated(look(), final(facts=[DAY | {"about": about}]))
    assert failed(result) == ([] if is_right else ["fact", "sources"])


def test_sources_that_repeat_one_another_are_one() -> None:
    wiki, copy = "https://en.wikipedia.org/wiki/X", "https://www.wikiwand.com/en/X"
    facts = [DAY | {"source": wiki}, DAY | {"source": copy}]
    run = (look(wiki), look(copy), final(facts=facts))
    strict = AcceptanceConfig(min_sources=2)
    assert failed(adjudicated(*run, acceptance=strict)) == ["sources"]
    facts[1]["source"] = OTHER
    run = (look(wiki), look(OTHER), final(facts=facts))
    result = adjudicated(*run, acceptance=strict)
    assert (failed(result), result.independent_sources) == ([], 2)


def test_a_second_site_that_says_something_else_does_not_vouch_for_a_date() -> None:
    label = {"about": "C1", "field": "title", "value": "Bohemian Rhapsody", "source": OTHER}
    run = (look(), look(OTHER), final(facts=[DAY, label]))
    result = adjudicated(*run, acceptance=AcceptanceConfig(min_sources=2))
    assert (failed(result), result.independent_sources) == (["sources"], 1)


@pytest.mark.parametrize(
    "told", [{"field": "title", "value": "Bohemian Rhapsody"}, {"value": "1975"}]
)
def test_what_tells_nothing_new_is_no_source_for_what_rests_on_something_else(
    told: dict[str, str],
) -> None:
    facts = [DAY | told, DAY | told | {"source": OTHER}]
    run = (look(), look(OTHER), final(crg_mbid="C1", rr_mbid="C1.R1", facts=facts))
    strict = adjudicated(*run, acceptance=AcceptanceConfig(min_sources=2))
    assert (failed(strict), strict.independent_sources) == (["sources"], 0)
    plain = adjudicated(*run)
    assert (failed(plain), plain.independent_sources) == ([], 0)
    assert why_not_written(plain, AcceptanceConfig())


def test_what_may_go_into_a_file_unseen_rests_on_enough_sources() -> None:
    asked = AcceptanceConfig()
    one = adjudicated(look(), final(facts=[DAY]))
    two = adjudicated(
        look(), look(OTHER), final(facts=[DAY, DAY | {"source": OTHER, "about": "C1.R1"}])
    )
    assert one.outcome is two.outcome is Outcome.ACCEPTED
    assert "1 independent source, 2 needed" in (why_not_written(one, asked) or "")
    assert why_not_written(two, asked) is None
    assert why_not_written(adjudicated(final()), AcceptanceConfig(write_min_sources=0)) is None
    assert why_not_written(adjudicated(final()), asked)
    unsure = adjudicated(final(confidence=0.7))
    assert why_not_written(unsure, asked) == "confidence 0.70 is below 0.85"


def test_a_calibration_is_applied_before_the_thresholds_and_told() -> None:
    result = adjudicated(final(), parts={"calibration": HALVED})
    assert (result.outcome, result.stated_confidence) == (Outcome.REJECTED, 0.9)
    assert result.confidence == pytest.approx(0.45)
    assert result.checks[-1].name == "calibration"
    assert "0.90 is taken for 0.45" in result.checks[-1].detail
    assert result.problem == "confidence 0.45 is below 0.60"


def test_samples_are_calibrated_once() -> None:
    single = final(crg_mbid="C1", rr_mbid=None)
    result = adjudicated(final(), single, final(), samples=3, parts={"calibration": HALVED})
    assert result.stated_confidence == pytest.approx(0.6)
    assert result.confidence == pytest.approx(0.3)
    assert [check.name for check in result.checks].count("calibration") == 1


def test_a_transcript_is_replayed_with_the_calibration_it_was_recorded_with(
    tmp_path: Path,
) -> None:
    file = tmp_path / "calibration.json"
    file.write_text('{"points": [{"stated": 0, "right": 0}, {"stated": 1, "right": 0.5}]}')
    config = AcceptanceConfig(calibration=str(file))
    result = adjudicated(final(), acceptance=config, record=tmp_path / "runs")
    assert result.confidence == pytest.approx(0.45)
    file.unlink()
    (record,) = (tmp_path / "runs").iterdir()
    assert str(file) not in record.read_text()
    again = replay(record)
    assert (again.confidence, again.outcome) == (result.confidence, result.outcome)
    record.write_text(record.read_text().replace('"right":0.5', '"right":5'))
    with pytest.raises(TranscriptError, match="its calibration is not understood"):
        replay(record)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"version": 2}', '{"points": [{"stated": 2, "right": 0}]}',
        '{"points": [{"stated": 0.5, "right": 0.5}, {"stated": 0.5, "right": 0.6}]}',
        '{"points": [{"stated": 0.5, "right": 0.5}, {"stated": 0.6, "right": 0.4}]}',
    ],
)  # fmt: skip
def test_a_calibration_that_is_none_is_refused_with_the_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "calibration.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"llm\.acceptance\.calibration: .*calibration\.json"):
        read_confidence_map(file)
    with pytest.raises(ConfigError, match="absent"):
        adjudicated(acceptance=AcceptanceConfig(calibration=str(tmp_path / "absent")))


def test_between_points_confidence_rises_in_a_line_and_beyond_them_it_is_flat() -> None:
    worth = ConfidenceMap((Point(0.5, 0.2), Point(0.7, 0.4), Point(0.9, 0.8)))
    read = [worth(stated) for stated in (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]
    assert read == pytest.approx([0.2, 0.2, 0.3, 0.4, 0.6, 0.8, 0.8])
    assert ConfidenceMap((Point(0.5, 0.7),))(0.9) == 0.7
    assert ConfidenceMap()(0.9) == 0.9
