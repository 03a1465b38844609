"""An open case asks what a person could look up."""

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.verdict import Open
from chart_binder.rules.decide import decide
from rules.making import Json, bundle, records

MISSING = "the original release is missing from the evidence"

QUESTIONS: tuple[tuple[str, str, Json, tuple[str, ...]], ...] = (
    # claim, records, what is known of the recording, what is asked
    ("a bare year turns on the day the window opens",
     "Q single title:Killer_Queen 1974; S album title:Sheer_Heart_Attack 1974-11-08", {},
     (("the single 'Killer Queen' is only dated 1974: before or after 1974-08-10?"
      " Before: the single 'Killer Queen';"
      " on that day or later: the album 'Sheer Heart Attack'"),)),
    ("an undated single turns on the same day",
     "S single undated; A album 1974-11-08", {},
     (("the single 'S' has no date: before or after 1974-08-10?"
      " Before: the single 'S'; on that day or later: the album 'A'"),)),
    ("an album's bare year turns on the day the window closes",
     "S single 1974-02-11; A album 1974", {},
     (("the album 'A' is only dated 1974: before or after 1974-05-13?"
      " Before: the album 'A'; on that day or later: the single 'S'"),)),
    ("a pressing that nobody dated is asked for",
     "S single 1974-01-11; A album 1974-11-08 1974", {},
     (("the album 'A' was out by 1974-11-08, but a release of it is only dated 1974:"
      " before or after 1974-04-12?"
      " Before: the album 'A'; on that day or later: the single 'S'"),)),
    ("an undated single and an undated album are both asked for",
     "S single undated; A album undated", {},
     ("the album 'A' has no date: on which day did it come out?",
      "the single 'S' has no date: on which day did it come out?")),
    ("of two undated albums it is asked which was first",
     "A album undated; B album undated", {},
     ("which of them came out first: the album 'A' (date unknown) or the album 'B' (date unknown)?",
      )),
    ("two bare years are both asked for",
     "S single 1974; A album 1974", {},
     ("the album 'A' is only dated 1974: on which day did it come out?",
      "the single 'S' is only dated 1974: on which day did it come out?")),
    ("a date that changes nothing is not asked for",
     "S single 1974; A album 1974-11-08; B album 1975", {},
     (("the single 'S' is only dated 1974: before or after 1974-08-10?"
      " Before: the single 'S'; on that day or later: the album 'A'"),)),
    ("an undated soundtrack turns on the day after the album's",
     "O soundtrack undated; A album 1974-11-08", {},
     (("the soundtrack 'O' has no date: before or after 1974-11-09?"
      " Before: the soundtrack 'O'; on that day or later: the album 'A'"),)),
    ("a compilation that may be long before the rest",
     "C compilation 2002; A album 2002-12-01", {},
     (("the compilation 'C' is only dated 2002: before or after 2002-09-02?"
      " Before: the compilation 'C'; on that day or later: the album 'A'"),)),
    ("two compilations within the window of each other",
     "C compilation 2002-01-01; D compilation 2002-02-01; A album 2008", {},
     (("which was the first, the compilation 'C' (2002-01-01) or the compilation 'D' (2002-02-01)?"
       " They came out, or may have, within 90 days"),)),
    ("an undated compilation beside another, with nothing else",
     "C compilation 1990; V various undated", {},
     ("the compilation 'V' has no date: did it come out before the compilation 'C' (1990)?",)),
    ("an undated compilation of a recording that is dated",
     "C compilation undated", {"isrcs": ["GBUM72000001"], "first_release_date": "2020"},
     (("ISRC GBUM72000001 was assigned in 2020, and the compilation 'C' has no date:"
       " on which record did it come out then?"),
      ("the recording is dated 2020, and the compilation 'C' has no date: on which record did it"
       " come out then?"))),
    ("a record without a type",
     "X untyped 1974-10-11; A album 1974-11-08", {},
     (("what is the record 'X' (1974-10-11), which has no known type:"
       " an album, a single or an EP?"),)),
    ("a record of a type that MusicBrainz does not have",
     "X Maxi-Single 1974-10-11; A album 1974-11-08", {},
     (("what is the record 'X' (1974-10-11), which has no known type:"
       " an album, a single or an EP?"),)),
    ("an undated album of an earlier group",
     "A album 1974-11-08; B album undated group:1970", {},
     ("the album 'B' has no date (its group: 1970): on which day did it come out?",)),
    ("two albums of one day",
     "A album 1975-06-01; B album 1975-06-01", {},
     (("which of them came out on that day in the artist's country, or on a label that goes before"
       " the others': the album 'A' (1975-06-01) or the album 'B' (1975-06-01)?"),)),
    ("an older ISRC and an older date",
     "C compilation 1981-11-03", {"isrcs": ["GBCEE7700017"], "first_release_date": "1977-10-28"},
     ((f"{MISSING}: ISRC GBCEE7700017 was assigned in 1977,"
      " before the compilation 'C' (1981-11-03)"),
      (f"{MISSING}: the recording is dated 1977-10-28,"
      " and the compilation 'C' (1981-11-03) is later"))),
    ("an earlier release of unknown status",
     "A album 1979/unknown; S single 1980", {},
     ("is the 1979 release of 'A' official?",)),
    ("only that status is asked for which changes something",
     "A album 1979/unknown 1985/unknown; S single 1980", {},
     ("is the 1979 release of 'A' official?",)),
    ("nothing but a release of unknown status",
     "A album undated/unknown; B album 1979/bootleg", {},
     ("is the undated release of 'A' official?",)),
    ("only compilations by others",
     "V various 1993; W various 1998", {},
     (f"{MISSING}: only compilations carry it, the earliest the compilation 'V' (1993)",)),
    ("only a bootleg",
     "C compilation 2008/bootleg", {},
     (f"{MISSING}: on which record did 'Song' come out?",)),
    ("a copy that is older than the compilation",
     "C compilation 1993; A album 1992/promo", {},
     (("a promotional copy of the album 'A' is dated 1992, before the compilation 'C' (1993):"
      " what is it a copy of?"),)),
    ("a copy that may be older than the compilation",
     "C compilation 1993; A album 1993/promo", {},
     ("a promotional copy of the album 'A' is dated 1993: before the compilation 'C' (1993)?",)),
    ("a compilation that no credit claims",
     "C compilation by:- 2002; A album 2008", {},
     ("is the compilation 'C' (2002) the artist's own? No credit tells",)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "known", "facts"), [pytest.param(*row[1:], id=row[0]) for row in QUESTIONS]
)
def test_the_question_names_what_would_settle_it(
    text: str, known: Json, facts: tuple[str, ...]
) -> None:
    verdict = decide(bundle(*records(text), **known), RulesConfig())
    assert isinstance(verdict, Open), verdict
    assert tuple(sorted(verdict.missing_facts)) == facts


def test_many_vague_dates_are_not_all_asked_for() -> None:
    evidence = bundle(*records(";".join(f"A{n} album 1975" for n in range(40))))
    verdict = decide(evidence, RulesConfig())
    assert isinstance(verdict, Open)
    assert len(verdict.missing_facts) == 5
    assert "or one of 37 others" in verdict.because
