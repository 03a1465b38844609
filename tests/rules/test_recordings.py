"""Several recordings of one song are joined, kept apart or kept out."""

from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided, Open, Verdict
from chart_binder.rules.decide import decide
from rules.making import (
    Json,
    album,
    compilation,
    document,
    release,
    single,
    take,
    various,
)

S = single("S", "1974-02-01")
A = album("A", "1974-11-08")
V = various("V", "1990")
COVER = single("COVER", "1970", artist_credit="The Covers")
COVER_BY_RELEASE = single("COVER", release("1970", artist_credit="The Covers"), artist_credit=None)


def ruled(*takes: Json, **more: Any) -> Verdict:
    return decide(read_bundle(document(*takes, **more)), RulesConfig())


FILE_240 = {"artifact": {"duration_ms": 240_500}}
FILE_248 = {"artifact": {"duration_ms": 248_000}}

UK, US = ({"name": f"Queen ({land})", "mb_artist_id": land.lower()} for land in ("UK", "US"))
LIVE = {"title": "Song (live)"}
KARAOKE = {"title": "Song (karaoke)"}
TABLE: tuple[tuple[str, list[Json], Json, str], ...] = (
    # claim, recordings, what is known of the file, the record and the recording chosen
    ("copies of one length are joined",
     [take("a", A, length_ms=240_000), take("b", S, length_ms=243_000)], {}, "S b"),
    ("copies of one ISRC are joined",
     [take("a", A, length_ms=240_000, isrcs=["GBUM71029604"]),
      take("b", S, length_ms=300_000, isrcs=["GB-UM7-10-29604"])], {}, "S b"),
    ("copies of unknown length are joined", [take("a", A), take("b", S)], {}, "S b"),
    ("other lengths with other homes are open",
     [take("a", A, length_ms=240_000), take("b", S, length_ms=300_000)], {}, "open"),
    ("the file's length tells between them",
     [take("a", A, length_ms=240_000), take("b", S, length_ms=300_000)], FILE_240, "A a"),
    ("no length fits, so none is left out",
     [take("a", A, length_ms=100_000), take("b", S, length_ms=101_000)], FILE_240, "S b"),
    ("an unmerged copy on a compilation raises no doubt",
     [take("a", A, length_ms=240_000), take("b", V, length_ms=300_000)], {}, "A a"),
    ("other lengths with one home",
     [take("a", A, length_ms=240_000), take("b", A, length_ms=300_000)], {}, "A a"),
    ("a live recording is kept out",
     [take("a", A), take("b", S, disambiguation="live at Wembley")], {}, "A a"),
    ("a remix is kept out", [take("a", A), take("b", S, title="Song (remix)")], {}, "A a"),
    ("two artists of one name are two readings", [take("a", A, artist=UK), take("b", S, artist=US)],
     {}, "open"),
    ("two artists of one name on one record",
     [take("a", A, artist=UK), take("b", A, artist=US)], {}, "A a"),
    ("one of two artists of one name is on a compilation",
     [take("a", A, artist=UK), take("b", V, artist=US)], {}, "open"),
    ("the copy without a guest is on a compilation",
     [take("a", A, artist=UK | {"name": "Queen & X"}), take("b", V, artist=UK)], {}, "A a"),
    ("a length tells between two artists of one name",
     [take("a", A, artist=UK, length_ms=240_000), take("b", S, artist=US, length_ms=300_000)],
     FILE_240, "A a"),
    ("karaoke is kept out", [take("a", A), take("b", S, **KARAOKE)], {}, "A a"),
    ("a Korean instrumental is kept out",
     [take("a", A), take("b", S, title="Song (Inst.)")], {}, "A a"),
    ("an owner's version is kept out of the original",
     [take("a", A), take("b", S, title="Song (Anna’s Version)")], {}, "A a"),
    ("a version of a later year is kept out of the original",
     [take("a", A), take("b", S, title="Song (2012 version)")], {}, "A a"),
    ("a re-recording is kept out",
     [take("a", A), take("b", S, disambiguation="re-recording")], {}, "A a"),
    ("a live recording is kept where the file is live",
     [take("a", A), take("b", S, **LIVE)], {"recording_title": "Song (live)"}, "S b"),
    ("karaoke is kept where nothing else is there",
     [take("b", S, **KARAOKE), take("c", A, **KARAOKE)], {}, "S b"),
    ("the tags say what is meant where no title does",
     [take("a", A), take("b", S, **LIVE)], {"recording_title": None, "artifact": {"tags": LIVE}},
     "S b"),
    ("a cover is kept out", [take("a", A), take("b", COVER)], {}, "A a"),
    ("a cover is known by the credit of its release",
     [take("a", A), take("b", COVER_BY_RELEASE)], {}, "A a"),
    ("a credit in another script is no cover, where none is known to be the artist's",
     [take("a", A | {"artist_credit": None}), take("b", S | {"artist_credit": "クイーン"})], {},
     "S b"),
    ("a credit in another script is left out beside the artist's own",
     [take("a", A), take("b", S | {"artist_credit": "クイーン"})], {}, "A a"),
    ("a Latin credit is left out beside a Cyrillic artist's own",
     [take("a", A | {"artist_credit": "Кино"}), take("b", S | {"artist_credit": "Metallica"})],
     {"artist": {"name": "Кино"}}, "A a"),
    ("a credit that the artist's name is a part of is left out beside the artist's own",
     [take("a", A), take("b", S | {"artist_credit": "Queen Tribute Band"})], {}, "A a"),
    ("a cover is kept out where the artist's name is of signs",
     [take("a", A | {"artist_credit": "!!!"}), take("b", COVER)], {"artist": {"name": "!!!"}},
     "A a"),
    ("a near spelling is no cover, where none is known to be the artist's",
     [take("a", A | {"artist_credit": None}), take("b", S | {"artist_credit": "Quean"})], {},
     "S b"),
    ("a recording on a compilation alone stays beside one in another script",
     [take("a", V), take("b", S | {"artist_credit": "クイーン"})], {}, "S b"),
    ("a copy's credit tells nothing, so that a further copy cannot either",
     [take("a", compilation("C", "1990")),
      take("b", album("P", release("1980", status="Bootleg", artist_credit="The Covers"),
                      artist_credit=None))], {}, "open"),
    ("remixes of two remarks are told apart by the title",
     [take("a", S, title="Song (X Remix)", length_ms=300_000),
      take("b", A, title="Song (Y Remix)", length_ms=302_000)],
     {"recording_title": "Song (Y Remix)"}, "A b"),
    ("remixes of two remarks are open where the title names neither",
     [take("a", S, title="Song (X Remix)", length_ms=300_000),
      take("b", A, title="Song (Y Remix)", length_ms=302_000)],
     {"recording_title": "Song (Remix)"}, "open"),
    ("a remix of which less is said may be the other",
     [take("a", S, title="Song (Remix)", length_ms=300_000),
      take("b", A, title="Song (Y Remix)", length_ms=302_000)],
     {"recording_title": "Song (Remix)"}, "S a"),
    ("remixes of one ISRC are joined whatever is said of them",
     [take("a", S, title="Song (X Remix)", isrcs=["GBUM71029604"]),
      take("b", A, title="Song (Y Remix)", isrcs=["GBUM71029604"])],
     {"recording_title": "Song (Remix)"}, "S a"),
    ("concerts of two days are not joined",
     [take("a", S, disambiguation="live, 1979-01-26: Lyon", length_ms=300_000),
      take("b", A, disambiguation="live, 1986-07-12: Wembley", length_ms=302_000)],
     {"recording_title": "Song (live)"}, "open"),
    ("a mono and a stereo mix are not joined",
     [take("a", S, title="Song (mono)", length_ms=180_000),
      take("b", A, disambiguation="stereo", length_ms=180_000)], {}, "open"),
    ("a mono mix that only a flag tells is not joined with a stereo mix",
     [take("a", S, flags={"is_mono": True}), take("b", A, disambiguation="stereo")], {}, "open"),
    ("the title tells a mono mix from a stereo mix",
     [take("a", S, title="Song (mono)"), take("b", A, title="Song (stereo)")],
     {"recording_title": "Song (mono)"}, "S a"),
    ("a mix of which nothing is said may be the mono mix",
     [take("a", S, title="Song (mono)"), take("b", A)], {}, "S a"),
    ("a recording without a comment may be another than one in Spanish",
     [take("a", S, disambiguation="Spanish"), take("b", A)], {}, "open"),
    ("a comment that tells nothing joins",
     [take("a", S, disambiguation="original single mix"), take("b", A)], {}, "S a"),
    ("remasters are joined",
     [take("a", S, disambiguation="2011 remaster", length_ms=300_000),
      take("b", A, disambiguation="remastered 2009", length_ms=302_000)], {}, "S a"),
    ("a guest's name tells no recordings apart",
     [take("a", S, title="Song (feat. X)", length_ms=300_000),
      take("b", A, title="Song (album version)", length_ms=302_000)], {}, "S a"),
    ("a demo and a live take that only flags tell are not joined",
     [take("a", S, flags={"is_live": True}), take("b", A, flags={"is_demo": True})], {}, "open"),
    ("a club mix is kept out", [take("a", A), take("b", S, title="Song (Club Mix)")], {}, "A a"),
    ("an edit of the file's length is meant, whatever the title says not",
     [take("a", A, length_ms=369_000), take("b", S, title="Song (single edit)", length_ms=248_000)],
     FILE_248, "S b"),
    ("an edit is not meant where the plain one fits too",
     [take("a", A, length_ms=250_000), take("b", S, title="Song (single edit)", length_ms=248_000)],
     FILE_248, "A a"),
    ("nor where the plain one has no length",
     [take("a", A), take("b", S, title="Song (single edit)", length_ms=248_000)], FILE_248, "A a"),
    ("an edit of another length is not meant",
     [take("a", A, length_ms=369_000), take("b", S, title="Song (single edit)", length_ms=200_000)],
     FILE_248, "A a"),
    *((f"a plain recording of another length is not meant beside a {remark} that fits",
       [take("a", A, length_ms=369_000), take("b", S, title=f"Song ({remark})", length_ms=248_000)],
       FILE_248, "open")
      for remark in ("live", "remix", "demo", "acoustic", "instrumental", "re-recorded",
                     "2012 version")),
    ("an edit and a live take of the file's length",
     [take("a", A, length_ms=369_000), take("b", S, title="Song (single edit)", length_ms=248_000),
      take("c", V, title="Song (live)", length_ms=249_000)], FILE_248, "open"),
    *((f"plain ones of other lengths are not meant beside a demo that fits, {where}",
       [take("a", A, length_ms=369_000), take("b", A, length_ms=300_000),
        take("c", home, title="Song (demo)", length_ms=248_000)], FILE_248, "open")
      for where, home in (
          ("on another record", S), ("on a compilation by others", V),
          ("on one of the artist's own", compilation("C", "1994")),
          ("on a bootleg", album("B", release("1980", status="Bootleg"))),
      )),
    ("nor where the title has the plain one's remark",
     [take("a", A, title="Song (album version)", length_ms=369_000),
      take("b", S, title="Song (demo)", length_ms=248_000)],
     FILE_248 | {"recording_title": "Song (album version)"}, "open"),
    ("plain ones of other lengths, and a demo that fits, of one record",
     [take("a", A, length_ms=369_000), take("b", A, length_ms=300_000),
      take("c", A, title="Song (demo)", length_ms=248_000)], FILE_248, "A c"),
    ("a demo on a compilation is not meant where a plain one fits",
     [take("a", A, length_ms=248_000), take("b", S, length_ms=369_000),
      take("c", V, title="Song (demo)", length_ms=248_000)], FILE_248, "A a"),
    ("either way it is one record",
     [take("a", A, length_ms=369_000), take("b", A, title="Song (demo)", length_ms=248_000)],
     FILE_248, "A b"),
    ("the file's length denies the live take that its title wants",
     [take("a", A, length_ms=248_000), take("b", S, **LIVE, length_ms=369_000)],
     FILE_248 | {"recording_title": "Song (live)"}, "open"),
    ("a sibling's record is a candidate",
     [take("a", A), take("b", single("T", "1980"), relation="sibling")], {}, "A a"),
    ("a sibling's record that was first", [take("a", A), take("b", S, relation="sibling")], {},
     "S b"),
    ("a sibling is never what is meant, whatever its length and remark",
     [take("a", album("R", "1992"), length_ms=240_000),
      take("b", S, relation="sibling", length_ms=300_000, disambiguation="2011 remaster")],
     FILE_240, "S b"),
    ("a sibling of one of two recordings tells nothing between them",
     [take("a", A, length_ms=240_000), take("b", S, length_ms=300_000),
      take("c", single("T", "1973-01-01"), length_ms=241_000, relation="sibling")], {}, "open"),
    ("a sibling of the recording that is meant",
     [take("a", A, length_ms=240_000), take("b", S, length_ms=300_000),
      take("c", single("T", "1973-01-01"), length_ms=241_000, relation="sibling")],
     FILE_240, "T c"),
    ("the recording itself goes before its sibling on the same release",
     [take("b", A), take("a", A, relation="sibling")], {}, "A b"),
    ("one record of several recordings is one candidate",
     [take("a", A), take("b", album("A", release("1974-10-08", mb_release_id="first")))], {},
     "A b"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("takes", "file", "chosen"), [pytest.param(*row[1:], id=row[0]) for row in TABLE]
)
def test_recordings_are_sorted(takes: list[Json], file: Json, chosen: str) -> None:
    for order in (takes, takes[::-1]):
        verdict = ruled(*order, **file)
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
    lengths = ruled(take("a", A, length_ms=240_000), take("b", S, length_ms=300_000), **FILE_240)
    assert lengths.rivals[0].why_not == "the recording on it is 5:00 long, the file 4:00"


def test_an_open_choice_of_recordings_asks_which_it_is() -> None:
    verdict = ruled(take("a", A, length_ms=355_000), take("b", S, length_ms=210_000))
    assert isinstance(verdict, Open)
    assert verdict.missing_facts == (
        "which recording is it: 3:30 on the single 'S', or 5:55 on the album 'A'?",
    )


def test_an_open_choice_names_all_recordings_and_what_is_said_of_them() -> None:
    mono = take("a", S, disambiguation="mono", length_ms=180_000)
    early = take("c", compilation("C", "1970"), length_ms=300_000)
    for takes, asked in (
        ((mono, take("b", A, title="Song (stereo)", length_ms=180_000)),
         "3:00 (mono) on the single 'S', or 3:00 (stereo) on the album 'A'"),
        ((take("a", S, flags={"is_mono": True}), take("b", A, disambiguation="stereo")),
         "'mono' on the single 'S', or 'stereo' on the album 'A'"),
        ((take("b", A, length_ms=180_000), early),
         "3:00 on the album 'A', or 5:00 on the compilation 'C'"),
    ):  # fmt: skip
        verdict = ruled(*takes)
        assert isinstance(verdict, Open)
        assert verdict.missing_facts == (f"which recording is it: {asked}?",)


def test_a_recording_is_called_what_it_is() -> None:
    takes = take("a", A, title="Song (live)"), take("b", A, title="Song (demo)")
    for order in (takes, takes[::-1]):
        verdict = ruled(*order)
        assert isinstance(verdict, Decided)
        said = [verdict.because, *(one.said for one in verdict.path)]
        assert not any("is a live" in each or "is a demo" in each for each in said), said


def test_the_recording_on_the_release_is_the_one_that_is_named() -> None:
    later = compilation("C", "1981")
    verdict = ruled(take("a", A, later), take("b", later))
    assert isinstance(verdict, Decided)
    assert (verdict.crg, verdict.recording) == ("A", "a")
