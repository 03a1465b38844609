"""One table over all rules: what fires, and what must not."""

from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided, Open
from chart_binder.rules.decide import decide
from rules.making import (
    Json,
    album,
    bundle,
    compilation,
    document,
    recording,
    records,
    release,
    single,
)

KNOBS = RulesConfig()

TABLE = (
    # claim, records, the one that is chosen by which rule
    # soundtrack premiere
    ("a soundtrack before all else",
     "O soundtrack 1980-12-08; S single 1981-01-02", "O SOUNDTRACK_PREMIERE"),
    ("a soundtrack on the day of the single",
     "O soundtrack 1980-12-08; S single 1980-12-08", "O SOUNDTRACK_PREMIERE"),
    ("a soundtrack alone", "O soundtrack 1980", "O SOUNDTRACK_PREMIERE"),
    ("a soundtrack single before the album",
     "O Single+Soundtrack 1980-11-01; A album 1980-12-01", "O SOUNDTRACK_PREMIERE"),
    ("no soundtrack after the single",
     "O soundtrack 1980-12-08; S single 1980-12-07", "S SINGLE_TRUE_PREMIERE"),
    ("no soundtrack after the album",
     "O soundtrack 1980-12-08; A album 1980-11-01", "A EARLIEST_OFFICIAL"),
    ("no soundtrack that is perhaps after the single",
     "O soundtrack 1980; S single 1980-12-07", "open"),
    ("no undated soundtrack beside a dated album",
     "O soundtrack undated; A album 1980-11-01", "open"),
    ("no bootleg soundtrack",
     "O soundtrack 1979/bootleg; A album 1980-11-01", "A EARLIEST_OFFICIAL"),
    ("a various-artists soundtrack is one too",
     "O soundtrack by:Various_Artists 1980; A album 1981", "O SOUNDTRACK_PREMIERE"),
    ("a soundtrack compilation before the works",
     "O Album+Compilation+Soundtrack 1980; A album 1981", "O SOUNDTRACK_PREMIERE"),
    ("no soundtrack compilation after the works",
     "O Album+Compilation+Soundtrack 1982; A album 1981", "A EARLIEST_OFFICIAL"),
    ("a soundtrack compilation beside an undated album",
     "O Album+Compilation+Soundtrack by:Various_Artists 1974-06-01; A album undated",
     "O SOUNDTRACK_PREMIERE"),
    ("a soundtrack compilation beside an undated album that was reissued later",
     "O Album+Compilation+Soundtrack by:Various_Artists 1974-06-01; A album undated 1994-01-01",
     "O SOUNDTRACK_PREMIERE"),
    ("no undated soundtrack compilation beside a dated album",
     "O Album+Compilation+Soundtrack undated; A album 1980-11-01", "open"),
    ("no undated soundtrack compilation beside a dated single",
     "O Album+Compilation+Soundtrack by:Various_Artists undated; S single 1980-11-01", "open"),
    ("a soundtrack after a compilation is but the earliest work",
     "V various 1990; O soundtrack 1995; S single 1996", "O EARLIEST_OFFICIAL"),
    ("a soundtrack that is perhaps after a compilation",
     "V various 1995; O soundtrack 1995-06-01; S single 1996", "O EARLIEST_OFFICIAL"),
    ("a soundtrack on the day of a compilation",
     "V various 1995-06-01; O soundtrack 1995-06-01; S single 1996", "O SOUNDTRACK_PREMIERE"),
    ("a soundtrack beside an undated compilation",
     "V various undated; O soundtrack 1995-06-01; S single 1996", "O SOUNDTRACK_PREMIERE"),
    ("a soundtrack compilation before compilations",
     "O Album+Compilation+Soundtrack by:Various_Artists 1982; V various 1985; C compilation 1984",
     "O SOUNDTRACK_PREMIERE"),
    ("a soundtrack compilation on the day of another compilation",
     "O Album+Compilation+Soundtrack 1982-05-01; V various 1982-05-01", "O SOUNDTRACK_PREMIERE"),
    ("a soundtrack compilation beside an undated compilation",
     "O Album+Compilation+Soundtrack 1982; V various undated", "O SOUNDTRACK_PREMIERE"),
    ("no soundtrack compilation after a compilation",
     "V various 1981; O Album+Compilation+Soundtrack by:Various_Artists 1982", "open"),
    ("no soundtrack compilation that is perhaps after a compilation",
     "V various 1982; O Album+Compilation+Soundtrack by:Various_Artists 1982", "open"),
    ("no undated soundtrack compilation among compilations",
     "O Album+Compilation+Soundtrack by:Various_Artists undated; V various undated", "open"),
    ("of two soundtrack compilations the first",
     "O Album+Compilation+Soundtrack 1982; P Album+Compilation+Soundtrack 1983",
     "O SOUNDTRACK_PREMIERE"),
    ("a producer that puts Soundtrack first is understood",
     "O Soundtrack 1980; S single 1981", "O SOUNDTRACK_PREMIERE"),
    # lead window
    ("a single 1 day before the album",
     "S single 1974-11-07; A album 1974-11-08", "A ALBUM_LEAD_WINDOW"),
    ("a single 90 days before the album",
     "S single 1974-08-10; A album 1974-11-08", "A ALBUM_LEAD_WINDOW"),
    ("no single 91 days before the album",
     "S single 1974-08-09; A album 1974-11-08", "S SINGLE_TRUE_PREMIERE"),
    ("an EP 28 days before the album",
     "E EP 1974-10-11; A album 1974-11-08", "A ALBUM_LEAD_WINDOW"),
    ("a group's own date leads where no release is listed",
     "S single group:1974-10-11; A album 1974-11-08", "A ALBUM_LEAD_WINDOW"),
    ("no group date leads beside a listed release",
     "S single 1975-01-01 group:1974-10-11; A album 1974-11-08", "A EARLIEST_OFFICIAL"),
    ("a bonus track on a reissue appears with the reissue",
     "S single 1979-01-01; A album 2011-03-14 group:1979-02-01", "S SINGLE_TRUE_PREMIERE"),
    ("the earliest of two singles leads",
     "S single 1974-01-01; T single 1974-10-11; A album 1974-11-08", "S SINGLE_TRUE_PREMIERE"),
    ("the earliest of two albums is led to",
     "S single 1974-10-11; A album 1974-11-08; B album 1974-11-09", "A ALBUM_LEAD_WINDOW"),
    ("no live album is led to", "S single 1979-06-01; L live 1979-06-22", "S SINGLE_TRUE_PREMIERE"),
    ("no soundtrack is led to",
     "S single 1979-06-01; O soundtrack 1979-06-22", "S SINGLE_TRUE_PREMIERE"),
    ("no remix album is led to",
     "S single 1979-06-01; R Album+Remix 1979-06-22", "S SINGLE_TRUE_PREMIERE"),
    ("a mixtape is led to",
     "S single 1979-06-01; M Album+Mixtape/Street 1979-06-22", "M ALBUM_LEAD_WINDOW"),
    ("a demo album is led to",
     "S single 1979-06-01; D Album+Demo 1979-06-22", "D ALBUM_LEAD_WINDOW"),
    ("a spoken-word album is led to",
     "S single 1979-06-01; D Album+Spokenword 1979-06-22", "D ALBUM_LEAD_WINDOW"),
    ("an audiobook is led to",
     "S single 1979-06-01; D Album+Audiobook+Interview 1979-06-22", "D ALBUM_LEAD_WINDOW"),
    ("no live demo album is led to",
     "S single 1979-06-01; D Album+Demo+Live 1979-06-22", "S SINGLE_TRUE_PREMIERE"),
    ("no demo remixes are led to",
     "S single 1979-06-01; D Album+Demo+Remix 1979-06-22", "S SINGLE_TRUE_PREMIERE"),
    ("no DJ mix is led to",
     "S single 1979-06-01; D Album+DJ-mix 1979-06-22", "S SINGLE_TRUE_PREMIERE"),
    ("no compilation is led to",
     "S single 1979-06-01; C compilation 1979-06-22", "S SINGLE_TRUE_PREMIERE"),
    ("no various-artists album is led to",
     "S single 1979-06-01; V album by:Various_Artists 1979-06-22", "S SINGLE_TRUE_PREMIERE"),
    ("no EP is led to", "S single 2022-04-15; E EP 2022-06-22", "S SINGLE_TRUE_PREMIERE"),
    ("no promotional album is led to",
     "S single 1979-06-01; A album 1979-06-22/promo", "S SINGLE_TRUE_PREMIERE"),
    ("no promotional single leads",
     "S single 1974-01-11/promo 1974-10-11; A album 1974-11-08", "A ALBUM_LEAD_WINDOW"),
    ("no decision turns on a single of unknown status",
     "S single 1974-01-11/unknown; A album 1974-11-08", "open"),
    ("no decision turns on an earlier release of unknown status",
     "A album 1979/unknown; S single 1980", "open"),
    ("no decision turns on an undated single of unknown status",
     "S single undated/unknown; A album 1974-11-08", "open"),
    ("no decision turns on two releases of unknown status",
     "S single 1973/unknown; A album 1974-11-08 1972/unknown", "open"),
    ("no lone compilation of others beside a later album of unknown status",
     "V various 1973; A album 1975/unknown", "open"),
    ("a later release of unknown status changes nothing",
     "S single 1980; A album 1982/unknown 1990", "S SINGLE_TRUE_PREMIERE"),
    ("a single of unknown status that would lead changes nothing",
     "S single 1974-10-11/unknown; A album 1974-11-08", "A EARLIEST_OFFICIAL"),
    ("of many releases of unknown status none changes anything",
     ("A album 1974-11-08 1980/unknown 1981/unknown; B album 1982/unknown 1983/unknown"
      " 1984/unknown 1985/unknown"), "A EARLIEST_OFFICIAL"),
    ("no tie turns on a later release at home of unknown status",
     "A album 1975-06-01; B album 1975-06-01@US 1980/unknown", "A EARLIEST_OFFICIAL"),
    ("nothing but a release of unknown status", "A album 1979/unknown", "open"),
    ("no withdrawn single premieres",
     "S single 1974-01-11/withdrawn; A album 1974-11-08", "A EARLIEST_OFFICIAL"),
    ("a lead that is certain though the month is all that is known",
     "S single 1974-10; A album 1974-11-08", "A ALBUM_LEAD_WINDOW"),
    ("a single of the album's month, be it before or after",
     "S single 1974-11; A album 1974-11-08", "A ALBUM_LEAD_WINDOW"),
    ("no lead from a year alone", "S single 1974; A album 1974-11-08", "open"),
    ("a single of the autumn leads to an album of that year",
     "S single 1974-10-11; A album 1974", "A ALBUM_LEAD_WINDOW"),
    ("no lead to a year alone after an early single", "S single 1974-02-11; A album 1974", "open"),
    ("no lead between bare years", "S single 1974; A album 1974", "open"),
    ("no lead across years that are far apart",
     "S single 1973; A album 1975", "S SINGLE_TRUE_PREMIERE"),
    ("no lead where the album's year-only pressing may be earlier",
     "S single 1974-01-11; A album 1974-11-08 1974", "open"),
    ("no undated single leads", "S single undated; A album 1974-11-08", "open"),
    ("no undated EP is passed over", "E EP undated; A album 1974-11-08", "open"),
    # same date
    ("an album on the day of the single",
     "S single 1986-06-02; A album 1986-06-02", "A ALBUM_SAME_DATE"),
    ("an album on the day of the EP", "E EP 1986-06-02; A album 1986-06-02", "A ALBUM_SAME_DATE"),
    ("no album on the day of the single after an earlier record",
     "S single 1986-06-02; A album 1986-06-02; T single 1985-01-01", "T SINGLE_TRUE_PREMIERE"),
    # single true premiere
    ("a single alone", "S single 1984", "S SINGLE_TRUE_PREMIERE"),
    ("an undated single alone", "S single undated", "S SINGLE_TRUE_PREMIERE"),
    ("an undated single beside various-artists compilations",
     "S single undated; V various 1985; W various 1986", "S SINGLE_TRUE_PREMIERE"),
    ("an EP long before the album", "E EP 1973-01-01; A album 1975", "E SINGLE_TRUE_PREMIERE"),
    ("a single before a later live album",
     "S single 1984-01-01; L live 1984-02-01", "S SINGLE_TRUE_PREMIERE"),
    ("no single after a live album",
     "S single 1984-02-01; L live 1984-01-01", "L EARLIEST_OFFICIAL"),
    ("a single beside an undated album",
     "S single 1984-01-01; A album undated", "S SINGLE_TRUE_PREMIERE"),
    ("no single beside an undated single", "S single 1984-01-01; T single undated", "open"),
    ("a single before a compilation of others",
     "V various 1980; S single 1984-01-01", "S SINGLE_TRUE_PREMIERE"),
    # live only
    ("a live album alone", "L live 1979-06-22", "L LIVE_ONLY_PREMIERE"),
    ("the earliest of two live albums",
     "L live 1979-06-22; M live 1992-05-26", "L LIVE_ONLY_PREMIERE"),
    ("no live album after the studio album",
     "L live 1979-06-22; A album 1975-11-21", "A EARLIEST_OFFICIAL"),
    ("a live album beside compilations",
     "L live 1979-06-22; C compilation 1981-11-02", "L LIVE_ONLY_PREMIERE"),
    ("no live album among two of one year", "L live 1979; M live 1979", "open"),
    # compilations
    ("a compilation alone", "C compilation 1981-11-02", "C COMPILATION_AS_PREMIERE"),
    ("a various-artists compilation alone", "V various 2001-01-03", "V COMPILATION_AS_PREMIERE"),
    ("a compilation of the artist's own long before the rest",
     "C compilation 2002; A album 2008-04-29", "C COMPILATION_AS_PREMIERE"),
    ("a compilation that shares the artist with another",
     "C compilation by:Queen_/_Anal_Blast 2002; A album 2008-04-29", "C COMPILATION_AS_PREMIERE"),
    ("a compilation of the artist's own long before the single",
     "C compilation 1991; S single 1992-06-01; A album 1992-07-01", "C COMPILATION_AS_PREMIERE"),
    ("no compilation 90 days before the rest",
     "C compilation 2002-01-01; A album 2002-04-01", "A EARLIEST_OFFICIAL"),
    ("a compilation 91 days before the rest",
     "C compilation 2002-01-01; A album 2002-04-02", "C COMPILATION_AS_PREMIERE"),
    ("no compilation perhaps long before the rest",
     "C compilation 2002; A album 2002-12-01", "open"),
    ("no compilation of others long before the rest",
     "V various 2002; A album 2008-04-29", "A EARLIEST_OFFICIAL"),
    ("no compilation credited to another artist",
     "C compilation by:David_Bowie 2002; A album 2008-04-29", "A EARLIEST_OFFICIAL"),
    ("no compilation of an artist whose name the artist's is a part of",
     "C compilation by:Queensryche 2002; A album 2008-04-29", "A EARLIEST_OFFICIAL"),
    ("no compilation whose credit nobody gives",
     "C compilation by:- 2002; A album 2008-04-29", "open"),
    ("no compilation among others", "V various 1993; W various 1998", "open"),
    ("the artist's own among compilations, long before the others",
     "C compilation 1993; W various 1998", "C COMPILATION_AS_PREMIERE"),
    ("no compilation 90 days before another of the artist's own",
     "C compilation 1993-01-01; D compilation 1993-04-01", "open"),
    ("a compilation 91 days before another of the artist's own",
     "C compilation 1993-01-01; D compilation 1993-04-02", "C COMPILATION_AS_PREMIERE"),
    ("no compilation that is the only dated of several, with nothing else",
     "C compilation 1990; V various undated", "open"),
    ("no compilation that is the only dated of several of the artist's own",
     "C compilation 1990; D compilation undated", "open"),
    ("a compilation long before an undated one of a later group",
     "C compilation 1990; D compilation undated group:1995", "C COMPILATION_AS_PREMIERE"),
    ("a compilation long before another, beside an undated one",
     "C compilation 1990; V various undated; W various 1995", "C COMPILATION_AS_PREMIERE"),
    ("no compilation perhaps within the window of one by others",
     "C compilation 1993; V various 1993-06-01", "open"),
    ("no compilation long before the album, but within the window of another",
     "C compilation 2002-01-01; V various 2002-02-01; A album 2008", "open"),
    ("no compilation within the window of a soundtrack compilation",
     "C compilation 2002-01-01; O Album+Compilation+Soundtrack 2002-02-01; A album 2008", "open"),
    ("a soundtrack compilation before one of the artist's own",
     "O Album+Compilation+Soundtrack 2002-01-01; C compilation 2002-02-01; A album 2008",
     "O SOUNDTRACK_PREMIERE"),
    ("no compilation long after one by others",
     "V various 1990; C compilation 2002; A album 2008", "A EARLIEST_OFFICIAL"),
    ("no undated compilation that may be as early as its group",
     "C compilation undated group:1990; A album 2008", "open"),
    ("no compilation beside an undated album", "C compilation 1993; A album undated", "open"),
    ("an undated album beside a compilation of others",
     "V various 1993; A album undated", "A EARLIEST_OFFICIAL"),
    ("no compilation after a promotional copy of something",
     "C compilation 1993; A album 1992/promo", "open"),
    ("a compilation despite an undated promotional copy",
     "C compilation 1993; A album undated/promo", "C COMPILATION_AS_PREMIERE"),
    ("no compilation after a bootleg of something",
     "C compilation 1993; A album 1992/bootleg", "open"),
    ("a compilation before a bootleg",
     "C compilation 1993; A album 1994/bootleg", "C COMPILATION_AS_PREMIERE"),
    ("a compilation after its own promotional copy",
     "C compilation 1992-12-24/promo 1993-01-06", "C COMPILATION_AS_PREMIERE"),
    ("no compilation of promotional copies", "C compilation 1996/promo", "open"),
    ("a DJ mix is a compilation",
     "D Album+DJ-mix by:Sasha 1999-01-01; S single 1999-06-01", "S SINGLE_TRUE_PREMIERE"),
    # earliest official
    ("an album alone", "A album 1958", "A EARLIEST_OFFICIAL"),
    ("an undated album alone", "A album undated", "A EARLIEST_OFFICIAL"),
    ("an album of which only the group's date is known",
     "A album group:1958", "A EARLIEST_OFFICIAL"),
    ("an album before the single",
     "A album 1974-11-08; S single 1975-01-17", "A EARLIEST_OFFICIAL"),
    ("an album beside an undated album",
     "A album 2010-10-05; B album undated", "A EARLIEST_OFFICIAL"),
    ("an album beside an undated compilation",
     "A album 2010-10-05; C compilation undated", "A EARLIEST_OFFICIAL"),
    ("a dated album with an undated edition", "A album 2001-09-16 undated", "A EARLIEST_OFFICIAL"),
    ("no album among undated ones of which one has an early group",
     "A album 1974-11-08; B album undated group:1970", "open"),
    ("an album beside an undated one of a later group",
     "A album 1974-11-08; B album undated group:1980", "A EARLIEST_OFFICIAL"),
    ("no single before an undated album that may be within the window by its group",
     "S single 1974-01-01; B album undated group:1974-03-01", "open"),
    ("a live album beside an undated album",
     "L live 1979-06-22; A album undated", "L EARLIEST_OFFICIAL"),
    ("an undated edition of a dated single holds nothing up",
     "S single 1974-10-11 undated; A album 1974-11-08", "A ALBUM_LEAD_WINDOW"),
    # no type
    ("a record of no type alone", "X untyped 1974-10-11", "X EARLIEST_OFFICIAL"),
    ("no record that may be a single in the window",
     "X untyped 1974-10-11; A album 1974-11-08", "open"),
    ("a record long before the album, be it a single or an album",
     "X untyped 1973; A album 1974-11-08", "X EARLIEST_OFFICIAL"),
    ("a record after the album, be it a single or an album",
     "X untyped 1975; A album 1974-11-08", "A EARLIEST_OFFICIAL"),
    ("no single before a record that may be an album",
     "S single 1974-10-11; X untyped 1974-11-08", "open"),
    ("no album beside an undated record that may be a single",
     "X untyped undated; A album 1974-11-08", "open"),
    ("no album among undated ones", "A album undated; B album undated", "open"),
    ("no album among two of one year", "A album 1975; B album 1975-06-01", "open"),
    ("the earlier album though only its year is known",
     "A album 1974; B album 1975-06-01", "A EARLIEST_OFFICIAL"),
    ("no pseudo-release makes a premiere",
     "A album 1975-06-01; B album 1970/pseudo", "A EARLIEST_OFFICIAL"),
    ("no cancelled release makes a premiere",
     "A album 1975-06-01 1970/cancelled; S single 1975-05-01", "A ALBUM_LEAD_WINDOW"),
    # ties
    ("of two albums of one day the one from home",
     "A album 1975-06-01@US; B album 1975-06-01", "B EARLIEST_OFFICIAL"),
    ("no tie is settled by a later release at home",
     "A album 1975-06-01@US 1976; B album 1975-06-01@US", "open"),
    ("no tie is settled by a release at home that is perhaps later",
     "A album 1975-06-01@US 1975; B album 1975-06-01@US", "open"),
    ("no album of two from home of one day", "A album 1975-06-01; B album 1975-06-01", "open"),
    ("no tie is settled by the order of ids",
     "S single 1975-06-01@US; T single 1975-06-01@US", "open"),
    ("two tied singles lead to one album",
     "S single 1975-06-01; T single 1975-06-01; A album 1975-06-10", "A ALBUM_LEAD_WINDOW"),
    ("a studio album before a live album of its day",
     "A album 1975-06-01; L live 1975-06-01", "A EARLIEST_OFFICIAL"),
    # nothing to decide on
    ("nothing at all", "", "open"),
    ("bootlegs only", "C compilation 2008/bootleg", "open"),
)  # fmt: skip

INTENTS: tuple[tuple[str, Json, str, str], ...] = (
    # claim, what the recording is, records, the one that is chosen by which rule
    ("a remix belongs to its single", {"title": "Song (Club Remix)"},
     "S single 2011-06-22; A album 2011-07-26", "S INTENT_MATCH"),
    ("a remix that only flags tell", {"flags": {"is_remix": True}},
     "S single 2011-06-22; A album 2011-07-26", "S INTENT_MATCH"),
    ("a title's own word makes no remix", {"title": "Remix", "flags": None},
     "S single 2011-06-22; A album 2011-07-26", "A ALBUM_LEAD_WINDOW"),
    ("a flag that denies it goes before the title",
     {"title": "Song (Remix)", "flags": {"is_remix": False}},
     "S single 2011-06-22; A album 2011-07-26", "A ALBUM_LEAD_WINDOW"),
    ("a remix record before others of its day", {"title": "Song -Remix-"},
     "R EP+Remix 2011-06-22; S single 2011-06-22", "R INTENT_MATCH"),
    ("a live recording on a single before the live album",
     {"disambiguation": "live, 1979-01-26: Lyon"},
     "S single 1979-06-01; L live 1979-06-22", "S INTENT_MATCH"),
    ("a live recording on live albums only", {"disambiguation": "live, 1979-01-26: Lyon"},
     "L live 1979-06-22; M live 1980", "L LIVE_ONLY_PREMIERE"),
    ("a radio edit stays with the single", {"title": "Song (radio edit)"},
     "S single 1997-02-19; A album 1997-03-01", "S INTENT_MATCH"),
    ("a demo on an album", {"title": "Song (demo)"},
     "A album 1997-03-01; S single 1997-04-01", "A INTENT_MATCH"),
    ("no remix of two records of one year", {"title": "Song (Remix)"},
     "S single 2011; A album 2011", "open"),
    ("an acoustic take is no intent of its own", {"title": "Song (acoustic)"},
     "S single 2011-06-22; A album 2011-07-26", "A ALBUM_LEAD_WINDOW"),
    ("karaoke lives where the song does", {"title": "Song (オリジナルカラオケ)"},
     "S single 2012-10-31", "S SINGLE_TRUE_PREMIERE"),
    ("a remix on a soundtrack", {"title": "Song (Remix)"},
     "O soundtrack 2010; S single 2011", "O SOUNDTRACK_PREMIERE"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "outcome"), [pytest.param(*row[1:], id=row[0]) for row in TABLE])
def test_the_rules_hold(text: str, outcome: str) -> None:
    verdict = decide(bundle(*records(text)), KNOBS)
    assert in_short(verdict) == outcome, verdict
    assert len(verdict.rivals) == len(records(text)) - isinstance(verdict, Decided)


@pytest.mark.parametrize(
    ("what", "text", "outcome"), [pytest.param(*row[1:], id=row[0]) for row in INTENTS]
)
def test_a_special_recording_has_its_own_home(what: Json, text: str, outcome: str) -> None:
    verdict = decide(bundle(*records(text), **what), KNOBS)
    assert in_short(verdict) == outcome, verdict


def in_short(verdict: Decided | Open) -> str:
    if isinstance(verdict, Open):
        assert all(fact.strip() for fact in verdict.missing_facts)
        return "open" if verdict.missing_facts else "open without a question"
    assert verdict.path[-2].said == verdict.because
    return f"{verdict.crg} {verdict.crg_rule.removeprefix('CRG:')}"


def test_a_soundtrack_among_compilations_is_held_against_what_contradicts_it() -> None:
    text = "O Album+Compilation+Soundtrack 1982; V various 1985"
    verdict = decide(bundle(*records(text), isrcs=["GBCEE7700017"]), KNOBS)
    assert isinstance(verdict, Open)
    assert "ISRC GBCEE7700017 was assigned in 1977" in verdict.missing_facts[0]


CONTRADICTIONS: tuple[tuple[str, Json, str, str], ...] = (
    # claim, what is known of the recording, the lone compilation's date, what comes of it
    ("its own date is the compilation's", {"first_release_date": "1981-11-03"}, "1981-11-03", "C"),
    ("its own date is later", {"first_release_date": "1982"}, "1981-11-03", "C"),
    ("its own date is earlier", {"first_release_date": "1977-10-28"}, "1981-11-03", "open"),
    ("its own date may be the compilation's", {"first_release_date": "1981"}, "1981-11-03", "C"),
    ("its own day is of the compilation's year", {"first_release_date": "1981-02-01"}, "1981", "C"),
    ("its own date beside an undated one", {"first_release_date": "1981"}, "undated", "open"),
    ("its own year is the compilation's", {"first_release_date": "1981"}, "1981", "C"),
    ("its ISRC is of the same year", {"isrcs": ["GBUM78100001"]}, "1981-11-03", "C"),
    ("its ISRC is earlier", {"isrcs": ["GBCEE7700017"]}, "1981-11-03", "open"),
    ("its ISRC is earlier, with hyphens", {"isrcs": ["GB-CEE-77-00017"]}, "1981-11-03", "open"),
    ("one ISRC is earlier", {"isrcs": ["GBUM70100001", "GBCEE7700017"]}, "1981-11-03", "open"),
    ("its ISRC is of this century", {"isrcs": ["GBUM70100001"]}, "1981-11-03", "C"),
    ("its ISRC is none", {"isrcs": ["nonsense", ""]}, "1981-11-03", "C"),
    ("an ISRC beside an undated compilation", {"isrcs": ["GBUM78100001"]}, "undated", "open"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("known", "date", "outcome"), [pytest.param(*row[1:], id=row[0]) for row in CONTRADICTIONS]
)
def test_a_lone_compilation_stands_unless_the_recording_is_older(
    known: Json, date: str, outcome: str
) -> None:
    verdict = decide(bundle(*records(f"C compilation {date}"), **known), KNOBS)
    assert in_short(verdict).split()[0] == outcome


COPIED: tuple[tuple[str, str, str, str], ...] = (
    # claim, records, the recording's own first date, what comes of it
    ("its date is that of a promotional copy of the compilation",
     "C compilation 1989-12-01/promo 1990-01-01", "1989-12-01", "C"),
    ("its date is that of a withdrawn copy of the compilation",
     "C compilation 1989-12-01/withdrawn 1990-01-01", "1989-12-01", "C"),
    ("its date may be that of a copy of the compilation",
     "C compilation 1989/promo 1990-01-01", "1989-12-01", "C"),
    ("its date is earlier than the copy of the compilation",
     "C compilation 1989-12-01/promo 1990-01-01", "1988", "open"),
    ("its date is that of a withdrawn copy of another record",
     "C compilation 1990-01-01; A album 1975/withdrawn", "1975", "C"),
    ("its date is that of a pseudo-release of another record",
     "C compilation 1990-01-01; A album 1975/pseudo", "1975", "C"),
    ("its date is that of a promotional copy of another record",
     "C compilation 1990-01-01; A album 1975/promo", "1975", "open"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "date", "outcome"), [pytest.param(*row[1:], id=row[0]) for row in COPIED]
)
def test_a_first_date_that_a_copy_explains_contradicts_nothing(
    text: str, date: str, outcome: str
) -> None:
    verdict = decide(bundle(*records(text), first_release_date=date), KNOBS)
    assert in_short(verdict).split()[0] == outcome, verdict


ODD: tuple[tuple[str, Json, str], ...] = (
    # claim, a release as somebody may write it, what comes of its album
    ("a status that only flags tell", {"status": None, "flags": {"is_official": True}}, "A"),
    ("a copy that only flags tell", {"status": None, "flags": {"is_promo": True}}, "open"),
    ("a status in other letters", {"status": "official", "country": "uk"}, "A"),
    ("a date with unknown parts", {"date": "1975-??-??"}, "A"),
    ("a flag that denies what no status tells",
     {"status": None, "flags": {"is_official": False}}, "open"),
)  # fmt: skip


@pytest.mark.parametrize(("changes", "outcome"), [pytest.param(*row[1:], id=row[0]) for row in ODD])
def test_other_words_for_the_same_are_understood(changes: Json, outcome: str) -> None:
    verdict = decide(bundle(album("A", release("1975") | changes)), KNOBS)
    assert in_short(verdict).split()[0] == outcome


def test_a_various_artists_album_is_known_by_its_releases_credit() -> None:
    various = album("V", release("1979-06-22", artist_credit="Various Artists"), artist_credit=None)
    verdict = decide(bundle(*records("S single 1979-06-01"), various), KNOBS)
    assert in_short(verdict) == "S SINGLE_TRUE_PREMIERE"


def test_compilations_can_be_left_aside_altogether() -> None:
    knobs = RulesConfig(compilation_premiere=False)
    assert in_short(decide(bundle(*records("C compilation 1981")), knobs)) == "open"
    early = decide(bundle(*records("C compilation 2002; A album 2008")), knobs)
    assert in_short(early) == "A EARLIEST_OFFICIAL"


def test_the_window_is_a_knob() -> None:
    evidence = bundle(*records("S single 1974-10-11; A album 1974-11-08"))
    outcomes = [decide(evidence, RulesConfig(lead_window_days=days)) for days in (27, 28)]
    assert [in_short(one) for one in outcomes] == [
        "S SINGLE_TRUE_PREMIERE", "A ALBUM_LEAD_WINDOW",
    ]  # fmt: skip


def test_a_label_of_authority_settles_a_tie() -> None:
    one = album("A", release("1975-06-01", label="Jasrac"))
    other = album("B", release("1975-06-01", label="EMI"))
    assert in_short(decide(bundle(one, other), KNOBS)) == "open"
    knobs = RulesConfig(label_authority_order=("emi",))
    assert in_short(decide(bundle(one, other), knobs)) == "B EARLIEST_OFFICIAL"


def test_countries_and_labels_of_later_releases_settle_no_tie() -> None:
    knobs = RulesConfig(label_authority_order=("EMI",))
    of_all = {"countries": ["US", "GB"], "labels": ["EMI", "Elektra"]}
    american = release("1975-06-01", "US", label="Elektra")
    one = album("A", american, release("1980", "GB", label="EMI"), **of_all)
    assert in_short(decide(bundle(one, album("B", american)), knobs)) == "open"
    unlisted = {"releases": None, "first_release_date": "1975-06-01"}
    verdict = decide(bundle(album("A", **of_all, **unlisted), album("B", american)), knobs)
    assert in_short(verdict) == "A EARLIEST_OFFICIAL"


def test_a_record_that_stands_twice_counts_once() -> None:
    one = album("A", "1975-06-01")
    verdict = decide(read_bundle(document(recording(one, one))), KNOBS)
    assert isinstance(verdict, Decided)
    assert (verdict.crg, verdict.rr, verdict.rivals) == ("A", "A.1", ())


X, Y = album("X", "1975-11-21"), single("X", "1975-11-21")
B = single("B", "1975-10-31")
ONE_ID = "00000000-0000-4000-8000-000000000001"
ONE_RELEASE = release("1975-10-31", mb_release_id=ONE_ID)
OWN_ID = ONE_RELEASE | {"mb_release_id": "1"}
AT_HOME = release("1975-11-21", mb_release_id="q")
CONTRADICTORY: tuple[tuple[str, list[Json], str, tuple[str, ...]], ...] = (
    # claim, records, what comes of them, what is asked
    ("an album that is a single too", [X, Y, B], "open",
     ("the evidence calls 'X' both an album and a single: which is it?",)),
    ("an album that is a single too, where it does not matter",
     [X, Y, single("B", "1974")], "B SINGLE_TRUE_PREMIERE", ()),
    ("an album that is a compilation too",
     [X, X | {"secondary_types": ["Compilation"]}, album("B", "1980")],
     "X COMPILATION_AS_PREMIERE", ()),
    ("an album that is a compilation too, after a single",
     [X, X | {"secondary_types": ["Compilation"]}, B], "open",
     ("the evidence calls 'X' both a compilation and an album: which is it?",)),
    ("an album of the artist and of various artists",
     [X, X | {"artist_credit": "Various Artists"}, B], "open",
     ("the evidence credits 'X' both to Queen and Various Artists: which is right?",)),
    ("a description that lacks the type contradicts nothing",
     [X, X | {"primary_type": None}, B], "X ALBUM_LEAD_WINDOW", ()),
    ("a group of two dates without releases",
     [album("X", releases=None, first_release_date=date) for date in ("1970", "1975-11-21")]
     + [single("S", "1972")], "open",
     ("the evidence dates 'X' both 1970 and 1975-11-21: which is right?",)),
    ("a release of two dates",
     [album("X", AT_HOME, AT_HOME | {"date": "1970-01-01"}), single("S", "1972-01-01")], "open",
     ("the evidence dates the release q of 'X' both 1970-01-01 and 1975-11-21: which is right?",)),
    ("a release of a day and its year",
     [album("X", AT_HOME, AT_HOME | {"date": "1975"})], "X EARLIEST_OFFICIAL", ()),
    ("a release of two statuses",
     [album("X", AT_HOME, AT_HOME | {"status": "Bootleg"}), single("S", "1979")], "open",
     ("the evidence calls the release q of 'X' both Bootleg and Official: which is right?",)),
    ("a release of two records",
     [album("X", ONE_RELEASE), single("S", ONE_RELEASE)], "open",
     ((f"the evidence lists the release {ONE_ID} on both the album 'X' and the single 'S':"
      " on which is it?"),)),
    ("a release of two records, where it does not matter",
     [album("X", "1975-10-01", ONE_RELEASE), compilation("C", ONE_RELEASE)],
     "X EARLIEST_OFFICIAL", ()),
    ("releases that a producer numbers in each record",
     [album("X", OWN_ID), single("S", OWN_ID)], "X ALBUM_SAME_DATE", ()),
)  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "outcome", "facts"), [pytest.param(*row[1:], id=row[0]) for row in CONTRADICTORY]
)
def test_what_the_evidence_says_in_two_ways_decides_nothing(
    groups: list[Json], outcome: str, facts: tuple[str, ...]
) -> None:
    for title in ("killer queen", "Killer Queen"):
        named = [groups[0] | {"title": title}, *groups[1:]]
        apart = [recording(one, mb_recording_id=f"r{n}") for n, one in enumerate(groups)]
        for takes in ([recording(*groups)], [recording(*groups[::-1])], apart):
            verdict = decide(read_bundle(document(*takes)), KNOBS)
            assert (in_short(verdict), verdict.missing_facts) == (outcome, facts)
        verdict = decide(read_bundle(document(recording(*named))), KNOBS)
        assert in_short(verdict) == outcome


def test_recordings_without_any_record_are_open() -> None:
    for evidence in (document(), document(recording()), document(recording(rg_candidates=None))):
        verdict: Any = decide(read_bundle(evidence), KNOBS)
        assert in_short(verdict) == "open"
