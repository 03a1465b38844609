"""Several recordings of one song are joined, kept apart or kept out."""

import json
from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided, Open, Verdict
from chart_binder.rules.decide import decide
from rules.making import (
    Json,
    album,
    cases,
    compilation,
    document,
    release,
    single,
    take,
    takes,
    various,
)

S = single("S", "1974-02-01")
A = album("A", "1974-11-08")
V = various("V", "1990")
COVER = single("COVER", "1970", artist_credit="The Covers")
COVER_BY_RELEASE = single("COVER", release("1970", artist_credit="The Covers"), artist_credit=None)


def ruled(*takes: Json, **more: Any) -> Verdict:
    return decide(read_bundle(document(*takes, **more)), RulesConfig())


HOMES = {
    "S": S,
    "A": A,
    "V": V,
    "COVER": COVER,
    "COVER_BY_RELEASE": COVER_BY_RELEASE,
    "P": album("P", release("1980", status="Bootleg", artist_credit="The Covers"),
               artist_credit=None),
}  # fmt: skip


@pytest.mark.parametrize(("text", "known", "chosen"), cases("recordings.txt"))
def test_recordings_are_sorted(text: str, known: str, chosen: str) -> None:
    made = takes(text, HOMES)
    for order in (made, made[::-1]):
        verdict = ruled(*order, **json.loads(known))
        found = "open" if isinstance(verdict, Open) else f"{verdict.crg} {verdict.recording}"
        assert found == chosen, verdict


def test_a_record_that_a_sibling_led_to_says_so() -> None:
    reissue, sibling = album("R", "1992"), {"relation": "sibling", "because": "ISRC GBAAA7400001"}
    verdict = ruled(take("a", reissue), take("b", S, A, **sibling))
    assert isinstance(verdict, Decided)
    said = ", reached through the sibling recording b (ISRC GBAAA7400001)"
    assert verdict.because.endswith(said)
    told = {one.release_group: one.why_not.endswith(said) for one in verdict.rivals}
    assert told == {"A": True, "R": False}


def test_what_was_kept_out_is_told() -> None:
    live = take("b", S, disambiguation="live, 1986-07-12: Wembley Stadium, London, UK")
    (rival,) = ruled(take("a", A), live).rivals
    assert (rival.release_group, rival.why_not) == (
        "S",
        "the recording on it is of the kind 'live', not 'plain'",
    )
    (rival,) = ruled(take("a", A), take("b", COVER)).rivals
    assert rival.why_not == "the recording on it is not credited to Queen"
    (rival,) = ruled(take("a", A), take("b", S | {"artist_credit": "クイーン"})).rivals
    assert rival.why_not == "the recording on it is not known to be credited to Queen"
    lengths = ruled(
        take("a", A, length_ms=240_000),
        take("b", S, length_ms=300_000),
        artifact={"duration_ms": 240_500},
    )
    assert lengths.rivals[0].why_not == "the recording on it is 5:00 long, the file 4:00"


def test_an_open_choice_names_all_recordings_and_what_is_said_of_them() -> None:
    mono = take("a", S, disambiguation="mono", length_ms=180_000)
    early = take("c", compilation("C", "1970"), length_ms=300_000)
    for made, asked in (
        ((mono, take("b", A, title="Song (stereo)", length_ms=180_000)),
         "3:00 (mono) on the single 'S', or 3:00 (stereo) on the album 'A'"),
        ((take("a", S, flags={"is_mono": True}), take("b", A, disambiguation="stereo")),
         "'mono' on the single 'S', or 'stereo' on the album 'A'"),
        ((take("b", A, length_ms=180_000), early),
         "3:00 on the album 'A', or 5:00 on the compilation 'C'"),
    ):  # fmt: skip
        verdict = ruled(*made)
        assert isinstance(verdict, Open)
        assert verdict.missing_facts == (f"which recording is it: {asked}?",)


def test_a_recording_is_called_what_it_is() -> None:
    made = take("a", A, title="Song (live)"), take("b", A, title="Song (demo)")
    for order in (made, made[::-1]):
        verdict = ruled(*order)
        assert isinstance(verdict, Decided)
        said = [verdict.because, *(one.said for one in verdict.path)]
        assert not any("is a live" in each or "is a demo" in each for each in said), said


def test_the_recording_on_the_release_is_the_one_that_is_named() -> None:
    later = compilation("C", "1981")
    verdict = ruled(take("a", A, later), take("b", later))
    assert isinstance(verdict, Decided)
    assert (verdict.crg, verdict.recording) == ("A", "a")
