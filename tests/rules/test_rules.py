"""One table over all rules: what fires, and what must not."""

from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided, Open
from chart_binder.rules.decide import decide
from rules.making import album, bundle, compilation, record, recording, release, single, various

KNOBS = RulesConfig()
OPEN = None

SOUNDTRACK = "SOUNDTRACK_PREMIERE"
LEAD = "ALBUM_LEAD_WINDOW"
SAME = "ALBUM_SAME_DATE"
SINGLE = "SINGLE_TRUE_PREMIERE"
LIVE = "LIVE_ONLY_PREMIERE"
INTENT = "INTENT_MATCH"
COMPILATION = "COMPILATION_AS_PREMIERE"
EARLIEST = "EARLIEST_OFFICIAL"


def soundtrack(name: str, *releases: Any, **more: Any) -> dict[str, Any]:
    return record(name, "Album+Soundtrack", *releases, **more)


def live(name: str, *releases: Any, **more: Any) -> dict[str, Any]:
    return record(name, "Album+Live", *releases, **more)


def ep(name: str, *releases: Any, **more: Any) -> dict[str, Any]:
    return record(name, "EP", *releases, **more)


def promo(date: str | None) -> dict[str, Any]:
    return release(date, status="Promotion")


def bootleg(date: str | None) -> dict[str, Any]:
    return release(date, status="Bootleg")


def gb(date: str) -> dict[str, Any]:
    return release(date, "GB")


def us(date: str, **more: Any) -> dict[str, Any]:
    return release(date, "US", **more)


# (claim, records, the record chosen or OPEN, the rule)
TABLE: list[tuple[str, list[dict[str, Any]], str | None, str]] = [
    # soundtrack premiere
    ("a soundtrack before all else", [soundtrack("O", "1980-12-08"), single("S", "1981-01-02")], "O", SOUNDTRACK),
    ("a soundtrack on the day of the single", [soundtrack("O", "1980-12-08"), single("S", "1980-12-08")], "O", SOUNDTRACK),
    ("a soundtrack alone", [soundtrack("O", "1980")], "O", SOUNDTRACK),
    ("a soundtrack single before the album", [record("O", "Single+Soundtrack", "1980-11-01"), album("A", "1980-12-01")], "O", SOUNDTRACK),
    ("no soundtrack after the single", [soundtrack("O", "1980-12-08"), single("S", "1980-12-07")], "S", SINGLE),
    ("no soundtrack after the album", [soundtrack("O", "1980-12-08"), album("A", "1980-11-01")], "A", EARLIEST),
    ("no soundtrack that is perhaps after the single", [soundtrack("O", "1980"), single("S", "1980-12-07")], OPEN, ""),
    ("no undated soundtrack beside a dated album", [soundtrack("O", None), album("A", "1980-11-01")], OPEN, ""),
    ("no bootleg soundtrack", [soundtrack("O", bootleg("1979")), album("A", "1980-11-01")], "A", EARLIEST),
    ("a various-artists soundtrack is one too", [soundtrack("O", "1980", artist_credit="Various Artists"), album("A", "1981")], "O", SOUNDTRACK),
    ("a soundtrack compilation before the works", [record("O", "Album+Compilation+Soundtrack", "1980"), album("A", "1981")], "O", SOUNDTRACK),
    ("no soundtrack compilation after the works", [record("O", "Album+Compilation+Soundtrack", "1982"), album("A", "1981")], "A", EARLIEST),
    ("no soundtrack compilation among compilations", [record("O", "Album+Compilation+Soundtrack", "1982", artist_credit="Various Artists"), various("V", "1985")], OPEN, ""),
    ("a producer that puts Soundtrack first is understood", [record("O", "Soundtrack", "1980"), single("S", "1981")], "O", SOUNDTRACK),
    # lead window
    ("a single 1 day before the album", [single("S", "1974-11-07"), album("A", "1974-11-08")], "A", LEAD),
    ("a single 90 days before the album", [single("S", "1974-08-10"), album("A", "1974-11-08")], "A", LEAD),
    ("no single 91 days before the album", [single("S", "1974-08-09"), album("A", "1974-11-08")], "S", SINGLE),
    ("an EP 28 days before the album", [ep("E", "1974-10-11"), album("A", "1974-11-08")], "A", LEAD),
    ("a group's own date leads where no release is listed", [single("S", first_release_date="1974-10-11"), album("A", "1974-11-08")], "A", LEAD),
    ("no group date leads beside a listed release", [single("S", "1975-01-01", first_release_date="1974-10-11"), album("A", "1974-11-08")], "A", EARLIEST),
    ("a bonus track on a reissue appears with the reissue", [single("S", "1979-01-01"), album("A", "2011-03-14", first_release_date="1979-02-01")], "S", SINGLE),
    ("the earliest of two singles leads", [single("S", "1974-01-01"), single("T", "1974-10-11"), album("A", "1974-11-08")], "S", SINGLE),
    ("the earliest of two albums is led to", [single("S", "1974-10-11"), album("A", "1974-11-08"), album("B", "1974-11-09")], "A", LEAD),
    ("no live album is led to", [single("S", "1979-06-01"), live("L", "1979-06-22")], "S", SINGLE),
    ("no soundtrack is led to", [single("S", "1979-06-01"), soundtrack("O", "1979-06-22")], "S", SINGLE),
    ("no remix album is led to", [single("S", "1979-06-01"), record("R", "Album+Remix", "1979-06-22")], "S", SINGLE),
    ("no mixtape is led to", [single("S", "1979-06-01"), record("M", "Album+Mixtape/Street", "1979-06-22")], "S", SINGLE),
    ("no demo album is led to", [single("S", "1979-06-01"), record("D", "Album+Demo", "1979-06-22")], "S", SINGLE),
    ("no compilation is led to", [single("S", "1979-06-01"), compilation("C", "1979-06-22")], "S", SINGLE),
    ("no various-artists album is led to", [single("S", "1979-06-01"), album("V", "1979-06-22", artist_credit="Various Artists")], "S", SINGLE),
    ("no various-artists album by its releases' credit", [single("S", "1979-06-01"), album("V", release("1979-06-22", artist_credit="Various Artists"), artist_credit=None)], "S", SINGLE),
    ("no EP is led to", [single("S", "2022-04-15"), ep("E", "2022-06-22")], "S", SINGLE),
    ("no promotional album is led to", [single("S", "1979-06-01"), album("A", promo("1979-06-22"))], "S", SINGLE),
    ("no promotional single leads", [single("S", promo("1974-01-11"), "1974-10-11"), album("A", "1974-11-08")], "A", LEAD),
    ("no single of unknown status leads", [single("S", release("1974-01-11", status=None)), album("A", "1974-11-08")], "A", EARLIEST),
    ("no withdrawn single premieres", [single("S", release("1974-01-11", status="Withdrawn")), album("A", "1974-11-08")], "A", EARLIEST),
    ("a lead that is certain though the month is all that is known", [single("S", "1974-10"), album("A", "1974-11-08")], "A", LEAD),
    ("a single of the album's month, be it before or after", [single("S", "1974-11"), album("A", "1974-11-08")], "A", LEAD),
    ("no lead from a year alone", [single("S", "1974"), album("A", "1974-11-08")], OPEN, ""),
    ("no lead to a year alone", [single("S", "1974-10-11"), album("A", "1974")], "A", LEAD),
    ("no lead to a year alone after an early single", [single("S", "1974-02-11"), album("A", "1974")], OPEN, ""),
    ("no lead between bare years", [single("S", "1974"), album("A", "1974")], OPEN, ""),
    ("no lead across years that are far apart", [single("S", "1973"), album("A", "1975")], "S", SINGLE),
    ("no lead where the album's year-only pressing may be earlier", [single("S", "1974-01-11"), album("A", "1974-11-08", "1974")], OPEN, ""),
    ("no undated single leads", [single("S", None), album("A", "1974-11-08")], OPEN, ""),
    ("no undated EP is passed over", [ep("E", None), album("A", "1974-11-08")], OPEN, ""),
    # same date
    ("an album on the day of the single", [single("S", "1986-06-02"), album("A", "1986-06-02")], "A", SAME),
    ("an album on the day of the EP", [ep("E", "1986-06-02"), album("A", "1986-06-02")], "A", SAME),
    ("no album on the day of the single after an earlier record", [single("S", "1986-06-02"), album("A", "1986-06-02"), single("T", "1985-01-01")], "T", SINGLE),
    # single true premiere
    ("a single alone", [single("S", "1984")], "S", SINGLE),
    ("an undated single alone", [single("S", None)], "S", SINGLE),
    ("an undated single beside various-artists compilations", [single("S", None), various("V", "1985"), various("W", "1986")], "S", SINGLE),
    ("an EP long before the album", [ep("E", "1973-01-01"), album("A", "1975")], "E", SINGLE),
    ("a single before a later live album", [single("S", "1984-01-01"), live("L", "1984-02-01")], "S", SINGLE),
    ("no single after a live album", [single("S", "1984-02-01"), live("L", "1984-01-01")], "L", EARLIEST),
    ("a single beside an undated album", [single("S", "1984-01-01"), album("A", None)], "S", SINGLE),
    ("no single beside an undated single", [single("S", "1984-01-01"), single("T", None)], OPEN, ""),
    ("a single before a compilation of others", [various("V", "1980"), single("S", "1984-01-01")], "S", SINGLE),
    # live only
    ("a live album alone", [live("L", "1979-06-22")], "L", LIVE),
    ("the earliest of two live albums", [live("L", "1979-06-22"), live("M", "1992-05-26")], "L", LIVE),
    ("no live album after the studio album", [live("L", "1979-06-22"), album("A", "1975-11-21")], "A", EARLIEST),
    ("a live album beside compilations", [live("L", "1979-06-22"), compilation("C", "1981-11-02")], "L", LIVE),
    ("no live album among two of one year", [live("L", "1979"), live("M", "1979")], OPEN, ""),
    # compilations
    ("a compilation alone", [compilation("C", "1981-11-02")], "C", COMPILATION),
    ("a various-artists compilation alone", [various("V", "2001-01-03")], "V", COMPILATION),
    ("a compilation of the artist's own long before the rest", [compilation("C", "2002"), album("A", "2008-04-29")], "C", COMPILATION),
    ("a compilation that shares the artist with another", [compilation("C", "2002", artist_credit="Queen / Anal Blast"), album("A", "2008-04-29")], "C", COMPILATION),
    ("a compilation of the artist's own long before the single", [compilation("C", "1991-01-01"), single("S", "1992-01-01"), album("A", "1992-02-01")], "C", COMPILATION),
    ("no compilation 90 days before the rest", [compilation("C", "2002-01-01"), album("A", "2002-04-01")], "A", EARLIEST),
    ("a compilation 91 days before the rest", [compilation("C", "2002-01-01"), album("A", "2002-04-02")], "C", COMPILATION),
    ("no compilation perhaps long before the rest", [compilation("C", "2002"), album("A", "2002-12-01")], OPEN, ""),
    ("no compilation of others long before the rest", [various("V", "2002"), album("A", "2008-04-29")], "A", EARLIEST),
    ("no compilation credited to another artist", [compilation("C", "2002", artist_credit="David Bowie"), album("A", "2008-04-29")], "A", EARLIEST),
    ("no compilation whose credit nobody gives", [compilation("C", "2002", artist_credit=None), album("A", "2008-04-29")], OPEN, ""),
    ("no compilation among others", [various("V", "1993"), various("W", "1998")], OPEN, ""),
    ("the artist's own among compilations, long before the others", [compilation("C", "1993"), various("W", "1998")], "C", COMPILATION),
    ("no compilation beside an undated album", [compilation("C", "1993"), album("A", None)], OPEN, ""),
    ("an undated album beside a compilation of others", [various("V", "1993"), album("A", None)], "A", EARLIEST),
    ("no compilation after a promotional copy of something", [compilation("C", "1993"), album("A", promo("1992"))], OPEN, ""),
    ("a compilation despite an undated promotional copy", [compilation("C", "1993"), album("A", promo(None))], "C", COMPILATION),
    ("no compilation after a bootleg of something", [compilation("C", "1993"), album("A", bootleg("1992"))], OPEN, ""),
    ("a compilation before a bootleg", [compilation("C", "1993"), album("A", bootleg("1994"))], "C", COMPILATION),
    ("a compilation after its own promotional copy", [compilation("C", promo("1992-12-24"), "1993-01-06")], "C", COMPILATION),
    ("no compilation of promotional copies", [compilation("C", promo("1996"))], OPEN, ""),
    ("a DJ mix is a compilation", [record("D", "Album+DJ-mix", "1999-01-01", artist_credit="Sasha"), single("S", "1999-06-01")], "S", SINGLE),
    # earliest official
    ("an album alone", [album("A", "1958")], "A", EARLIEST),
    ("an undated album alone", [album("A", None)], "A", EARLIEST),
    ("an album of which only the group's date is known", [album("A", first_release_date="1958")], "A", EARLIEST),
    ("an album before the single", [album("A", "1974-11-08"), single("S", "1975-01-17")], "A", EARLIEST),
    ("an album beside an undated album", [album("A", "2010-10-05"), album("B", None)], "A", EARLIEST),
    ("an album beside an undated compilation", [album("A", "2010-10-05"), compilation("C", None)], "A", EARLIEST),
    ("a dated album with an undated edition", [album("A", "2001-09-16", None)], "A", EARLIEST),
    ("no album among undated ones", [album("A", None), album("B", None)], OPEN, ""),
    ("no album among two of one year", [album("A", "1975"), album("B", "1975-06-01")], OPEN, ""),
    ("the earlier album though only its year is known", [album("A", "1974"), album("B", "1975-06-01")], "A", EARLIEST),
    ("no pseudo-release makes a premiere", [album("A", "1975-06-01"), album("B", release("1970", status="Pseudo-Release"))], "A", EARLIEST),
    ("no cancelled release makes a premiere", [album("A", "1975-06-01", release("1970", status="Cancelled")), single("S", "1975-05-01")], "A", LEAD),
    ("a status that only flags tell", [album("A", release("1975", status=None, flags={"is_official": True}))], "A", EARLIEST),
    ("a promotional copy that only flags tell", [album("A", release("1975", status=None, flags={"is_promo": True}))], OPEN, ""),
    ("status and date as MusicBrainz never writes them", [album("A", release("1975-??-??", "uk", status="official"))], "A", EARLIEST),
    # ties
    ("of two albums of one day the one from home", [album("A", us("1975-06-01")), album("B", gb("1975-06-01"))], "B", EARLIEST),
    ("no album of two from home of one day", [album("A", gb("1975-06-01")), album("B", gb("1975-06-01"))], OPEN, ""),
    ("no tie is settled by the order of ids", [single("S", us("1975-06-01")), single("T", us("1975-06-01"))], OPEN, ""),
    ("two tied singles lead to one album", [single("S", "1975-06-01"), single("T", "1975-06-01"), album("A", "1975-06-10")], "A", LEAD),
    ("a studio album before a live album of its day", [album("A", "1975-06-01"), live("L", "1975-06-01")], "A", EARLIEST),
    # nothing
    ("nothing at all", [], OPEN, ""),
    ("bootlegs only", [compilation("C", bootleg("2008"))], OPEN, ""),
]  # fmt: skip


@pytest.mark.parametrize(("records", "chosen", "rule"), [pytest.param(*row[1:], id=row[0]) for row in TABLE])
def test_the_rules_hold(records: list[dict[str, Any]], chosen: str | None, rule: str) -> None:
    verdict = decide(bundle(*records), KNOBS)
    if chosen is OPEN:
        assert isinstance(verdict, Open), verdict
        assert verdict.missing_facts
        assert all(fact.strip() for fact in verdict.missing_facts)
    else:
        assert isinstance(verdict, Decided), verdict
        assert (verdict.crg, verdict.crg_rule) == (chosen, f"CRG:{rule}")
        assert verdict.path[-2].said == verdict.because
    assert len(verdict.rivals) == len(records) - isinstance(verdict, Decided)


# (claim, what the recording is, records, chosen, rule)
INTENTS: list[tuple[str, dict[str, Any], list[dict[str, Any]], str | None, str]] = [
    ("a remix belongs to its single", {"title": "Song (Club Remix)"}, [single("S", "2011-06-22"), album("A", "2011-07-26")], "S", INTENT),
    ("a remix that only flags tell", {"flags": {"is_remix": True}}, [single("S", "2011-06-22"), album("A", "2011-07-26")], "S", INTENT),
    ("a title's own word makes no remix", {"title": "Remix", "flags": None}, [single("S", "2011-06-22"), album("A", "2011-07-26")], "A", LEAD),
    ("a flag that denies it goes before the title", {"title": "Song (Remix)", "flags": {"is_remix": False}}, [single("S", "2011-06-22"), album("A", "2011-07-26")], "A", LEAD),
    ("a remix record before others of its day", {"title": "Song -Remix-"}, [record("R", "EP+Remix", "2011-06-22"), single("S", "2011-06-22")], "R", INTENT),
    ("a live recording on a single before the live album", {"disambiguation": "live, 1979-01-26: Lyon"}, [single("S", "1979-06-01"), live("L", "1979-06-22")], "S", INTENT),
    ("a live recording on live albums only", {"disambiguation": "live, 1979-01-26: Lyon"}, [live("L", "1979-06-22"), live("M", "1980")], "L", LIVE),
    ("a radio edit stays with the single", {"title": "Song (radio edit)"}, [single("S", "1997-02-19"), album("A", "1997-03-01")], "S", INTENT),
    ("a demo on an album", {"title": "Song (demo)"}, [album("A", "1997-03-01"), single("S", "1997-04-01")], "A", INTENT),
    ("no remix of two records of one year", {"title": "Song (Remix)"}, [single("S", "2011"), album("A", "2011")], OPEN, ""),
    ("an acoustic take is no intent of its own", {"title": "Song (acoustic)"}, [single("S", "2011-06-22"), album("A", "2011-07-26")], "A", LEAD),
    ("karaoke lives where the song does", {"title": "Song (オリジナルカラオケ)"}, [single("S", "2012-10-31")], "S", SINGLE),
    ("a remix on a soundtrack", {"title": "Song (Remix)"}, [record("O", "Album+Soundtrack", "2010"), single("S", "2011")], "O", SOUNDTRACK),
]  # fmt: skip


@pytest.mark.parametrize(("what", "records", "chosen", "rule"), [pytest.param(*row[1:], id=row[0]) for row in INTENTS])
def test_a_special_recording_has_its_own_home(
    what: dict[str, Any], records: list[dict[str, Any]], chosen: str | None, rule: str
) -> None:
    verdict = decide(bundle(*records, **what), KNOBS)
    if chosen is OPEN:
        assert isinstance(verdict, Open)
    else:
        assert isinstance(verdict, Decided), verdict
        assert (verdict.crg, verdict.crg_rule) == (chosen, f"CRG:{rule}")


# (claim, what is known of the recording, the lone compilation's date, decided or open)
CONTRADICTIONS: list[tuple[str, dict[str, Any], str, bool]] = [
    ("its own date is the compilation's", {"first_release_date": "1981-11-03"}, "1981-11-03", True),
    ("its own date is later", {"first_release_date": "1982"}, "1981-11-03", True),
    ("its own date is earlier", {"first_release_date": "1977-10-28"}, "1981-11-03", False),
    ("its own date may be earlier", {"first_release_date": "1981"}, "1981-11-03", False),
    ("its own year is the compilation's year", {"first_release_date": "1981"}, "1981", True),
    ("its ISRC is of the same year", {"isrcs": ["GBUM78100001"]}, "1981-11-03", True),
    ("its ISRC is earlier", {"isrcs": ["GBCEE7700017"]}, "1981-11-03", False),
    ("its ISRC is earlier, with hyphens", {"isrcs": ["GB-CEE-77-00017"]}, "1981-11-03", False),
    ("one of its ISRCs is earlier", {"isrcs": ["GBUM70100001", "GBCEE7700017"]}, "1981-11-03", False),
    ("its ISRC is of this century", {"isrcs": ["GBUM70100001"]}, "1981-11-03", True),
    ("its ISRC is none", {"isrcs": ["nonsense", ""]}, "1981-11-03", True),
]  # fmt: skip


@pytest.mark.parametrize(("known", "date", "decided"), [pytest.param(*row[1:], id=row[0]) for row in CONTRADICTIONS])
def test_a_lone_compilation_stands_unless_the_recording_is_older(
    known: dict[str, Any], date: str, decided: bool
) -> None:
    verdict = decide(bundle(compilation("C", date), **known), KNOBS)
    assert isinstance(verdict, Decided) is decided, verdict


def test_compilations_can_be_left_aside_altogether() -> None:
    knobs = RulesConfig(compilation_premiere=False)
    assert isinstance(decide(bundle(compilation("C", "1981")), knobs), Open)
    early = bundle(compilation("C", "2002"), album("A", "2008"))
    verdict = decide(early, knobs)
    assert isinstance(verdict, Decided)
    assert verdict.crg == "A"


def test_the_window_is_a_knob() -> None:
    evidence = bundle(single("S", "1974-10-11"), album("A", "1974-11-08"))
    rules = {days: decide(evidence, RulesConfig(lead_window_days=days)) for days in (27, 28)}
    assert isinstance(rules[27], Decided)
    assert isinstance(rules[28], Decided)
    assert (rules[27].crg, rules[28].crg) == ("S", "A")


def test_a_label_of_authority_settles_a_tie() -> None:
    evidence = bundle(
        album("A", release("1975-06-01", label="Jasrac")), album("B", release("1975-06-01", label="EMI"))
    )
    assert isinstance(decide(evidence, KNOBS), Open)
    verdict = decide(evidence, RulesConfig(label_authority_order=("emi",)))
    assert isinstance(verdict, Decided)
    assert verdict.crg == "B"


def test_a_release_that_stands_twice_counts_once() -> None:
    one = album("A", "1975-06-01")
    verdict = decide(read_bundle({
        "artist": {"name": "Queen"},
        "recording_candidates": [recording(one, one)],
    }), KNOBS)  # fmt: skip
    assert isinstance(verdict, Decided)
    assert (verdict.crg, verdict.rr, verdict.rivals) == ("A", "A.1", ())
