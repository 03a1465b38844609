"""Questions of open cases: an answer that is put into the evidence leads where it was said to."""

import copy
import re
from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided, Open, Question
from chart_binder.rules.decide import decide
from rules.making import Json, album, compilation, document, recording, records, release, single
from rules.strategies import documents

LAW = settings(deadline=None, suppress_health_check=list(HealthCheck))
_YEARS = {'12" Vinyl': 1948, "CD": 1982, "Digital Media": 1998, None: 1}
ON_SALE = {name: date(year, 1, 1).toordinal() for name, year in _YEARS.items()}
_SPAN = re.compile(
    r"before (?P<end>\S+)|from (?P<first>\S+) to (?P<last>\S+)"
    r"|on (?P<start>\S+)(?P<later> or later)?"
)


def opened(evidence: Json) -> Open:
    verdict = decide(read_bundle(evidence), RulesConfig())
    assert isinstance(verdict, Open), verdict
    return verdict


def groups_of(evidence: Json, name: str) -> list[Json]:
    return [
        group
        for one in evidence["recording_candidates"]
        for group in one["rg_candidates"]
        if group["mb_rg_id"] == name
    ]


def releases_of(evidence: Json) -> list[Json]:
    every = (one["rg_candidates"] for one in evidence["recording_candidates"])
    return [one for some in every for group in some for one in group["releases"] or ()]


def dated(evidence: Json, group: Json, draw: Callable[[int, int], int], answer: str) -> None:
    """Date a record within an answer's span of days, as a verified fact does."""
    found = _SPAN.fullmatch(answer)
    assert found, answer
    first, last = (found["first"] or found["start"], found["last"])
    low = date.fromisoformat(first).toordinal() if first else 1
    high = date.fromisoformat(last).toordinal() if last else date.max.toordinal() - 1
    if found["end"]:
        high = date.fromisoformat(found["end"]).toordinal() - 1
    elif found["start"] and not found["later"]:
        high = low
    official = [one for one in group["releases"] or () if one["status"] == "Official"]
    spans = {id(one): PartialDate.parse(one["date"] or "") for one in official}
    known = [span for span in spans.values() if span.is_known]
    if group["first_release_date"] and not group["releases"]:
        known = [PartialDate.parse(group["first_release_date"])]
    if known:
        low = max(low, min(span.first for span in known))
        high = min(high, *(span.last for span in known))
    elif official:  # no medium comes out before it is on sale
        low = max(low, min(ON_SALE[one["format"]] for one in official))
    day = draw(low, high)
    text = date.fromordinal(day).isoformat()
    if not group["releases"]:
        group["first_release_date"] = text
    for one in official:
        span = spans[id(one)]
        if span.is_known is bool(known) and span.first <= day <= span.last:
            one["date"] = text


def put_in(
    evidence: Json, question: Question, answer: str, draw: Callable[[int, int], int]
) -> None:
    """Put an answer into the evidence by hand."""
    about = question.about
    match question.kind, answer:
        case "date", _:
            for group in groups_of(evidence, about[0]):
                dated(evidence, group, draw, answer)
        case "status", _:
            status = "Official" if answer == "official" else "Promotion"
            for one in releases_of(evidence):
                if one["mb_release_id"] in about:
                    one["status"] = status
        case "type", "an album" | "a single or an EP":
            for group in groups_of(evidence, about[0]):
                group["primary_type"] = "Album" if answer == "an album" else "EP"
        case "type", _:
            credit = evidence["artist"]["name"] if answer == "the artist's own" else "Sylvester"
            for group in groups_of(evidence, about[0]):
                group["artist_credit"] = credit
        case _:
            pytest.fail(f"no way to answer {question}")


@LAW
@given(st.data(), documents(most_recordings=2))
def test_each_answer_leads_where_it_was_said_to(data: st.DataObject, evidence: Json) -> None:
    for one in evidence["recording_candidates"]:
        for group in one["rg_candidates"]:
            if data.draw(st.integers(0, 5)) == 0:
                group["primary_type"] = None
    verdict = decide(read_bundle(evidence), RulesConfig())
    chosen = [
        (question, each)
        for question in (verdict.questions if isinstance(verdict, Open) else ())
        if question.kind in ("date", "status", "type")
        for each in question.possibilities
        if each.crg
    ]
    assume(chosen)
    for question, each in chosen:
        tried = copy.deepcopy(evidence)
        put_in(tried, question, each.answer, lambda a, b: data.draw(st.integers(a, b)))
        known = decide(read_bundle(tried), RulesConfig())
        assert isinstance(known, Decided), (question, each, known)
        assert known.crg == each.crg, (question, each)


MONO = recording(*records("S single 1974-10-11"), mb_recording_id="a", length_ms=180_000)
STEREO = recording(*records("A album 1976-11-08"), mb_recording_id="b", length_ms=240_000)
X, Y, B = album("X", "1975-11-21"), single("X", "1975-11-21"), single("B", "1975-10-31")
TODAY, EARLY = release("1975-11-21", mb_release_id="q"), release("1970-01-01", mb_release_id="q")
ONE = release("1975-10-31", mb_release_id="00000000-0000-4000-8000-000000000001")


def of(*groups: Json) -> Json:
    return document(recording(*groups))


EXAMPLES: tuple[tuple[str, Json, str, tuple[str, ...], dict[str, tuple[Json, str]]], ...] = (
    # claim, evidence, kind, what it is about, the evidence with each answer and its group
    ("which of two recordings", document(MONO, STEREO), "which_copy", ("a", "b"),
     {"3:00 on the single 'S'": (document(MONO), "S"),
      "4:00 on the album 'A'": (document(STEREO), "A")}),
    ("an album that is a single too", of(X, Y, B), "contradiction", ("X",),
     {"an album": (of(X, B), "X"), "a single": (of(Y, B), "B")}),
    ("an album by two artists", of(X, X | {"artist_credit": "Various Artists"}, B),
     "contradiction", ("X",),
     {"Queen": (of(X, B), "X"),
      "Various Artists": (of(X | {"artist_credit": "Various Artists"}, B), "B")}),
    ("a release of two dates", of(album("X", TODAY, EARLY), single("S", "1972-01-01")),
     "contradiction", ("X", "q"),
     {"1970-01-01": (of(album("X", EARLY), single("S", "1972-01-01")), "X"),
      "1975-11-21": (of(album("X", TODAY), single("S", "1972-01-01")), "S")}),
    ("a release of two statuses",
     of(album("X", TODAY, TODAY | {"status": "Bootleg"}), single("S", "1979")),
     "contradiction", ("X", "q"),
     {"Bootleg": (of(album("X", TODAY | {"status": "Bootleg"}), single("S", "1979")), "S"),
      "Official": (of(album("X", TODAY), single("S", "1979")), "X")}),
    ("a release of two records", of(album("X", ONE), single("S", ONE)),
     "contradiction", ("S", "X", ONE["mb_release_id"]),
     {"the single 'S'": (of(single("S", ONE)), "S"), "the album 'X'": (of(album("X", ONE)), "X")}),
    ("two albums of one day abroad", of(*records("A album 1975-06-01@US; B album 1975-06-01@JP")),
     "tie", ("A", "B"),
     {"the album 'A'": (of(*records("A album 1975-06-01@GB; B album 1975-06-01@JP")), "A"),
      "the album 'B'": (of(*records("A album 1975-06-01@US; B album 1975-06-01@GB")), "B")}),
    ("releases of one date and no status",
     of(*records("A album 1979/unknown 1979@US/unknown; S single 1980")), "status",
     ("A.1", "A.2"),
     {"official": (of(*records("A album 1979 1979@US; S single 1980")), "A"),
      "not official": (of(*records("A album 1979/bootleg 1979@US/promo; S single 1980")), "S")}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("evidence", "kind", "about", "answers"),
    [pytest.param(*row[1:], id=row[0]) for row in EXAMPLES],
)
def test_an_answer_leads_where_the_evidence_with_it_leads(
    evidence: Json, kind: str, about: tuple[str, ...], answers: dict[str, tuple[Json, str]]
) -> None:
    (question,) = opened(evidence).questions
    assert (question.kind, question.about) == (kind, about)
    leads = {each.answer: each.crg for each in question.possibilities}
    assert leads == {answer: crg for answer, (_, crg) in answers.items()}
    for known, crg in answers.values():
        verdict = decide(read_bundle(known), RulesConfig())
        assert isinstance(verdict, Decided)
        assert verdict.crg == crg


@pytest.mark.parametrize(
    ("text", "kind", "leads"),
    [
        ("V various 1993", "missing_original", {"V": "V"}),
        ("V various 1993; A album 2008", "missing_original", {"V": "V"}),
        ("C compilation 1993; D compilation 1993", "tie", {"C": "C", "D": "D"}),
        # The later of two days is not the first, whatever a fact says.
        ("C compilation 1993-01-01; D compilation 1993-03-01", "tie", {"C": "C", "D": None}),
        ("A album undated; B album undated", "tie", {"A": "A", "B": "B"}),
    ],
)
def test_an_answer_may_call_a_record_the_first(
    text: str, kind: str, leads: dict[str, str | None]
) -> None:
    (question,) = opened(of(*records(text))).questions
    assert question.kind == kind
    found = {each.answer: each.crg for each in question.possibilities}
    kinds = {one["mb_rg_id"]: one["secondary_types"] for one in records(text)}
    assert found == {
        f"it first came out on the {'compilation' if kinds[name] else 'album'} '{name}'": crg
        for name, crg in leads.items()
    }


def test_a_copy_that_is_not_official_may_be_a_bootleg_or_a_promo() -> None:
    def evidence(status: str | None) -> Json:
        early = release("1974-01-01", status=status, artist_credit="Various Artists")
        later = release("1975-01-01", artist_credit="Queen")
        return of(compilation("C", early, later, artist_credit=None))

    decided = {
        status: isinstance(decide(read_bundle(evidence(status)), RulesConfig()), Decided)
        for status in ("Official", "Bootleg", "Promotion")
    }
    assert decided == {"Official": False, "Bootleg": True, "Promotion": False}
    (question,) = opened(evidence(None)).questions
    assert (question.kind, question.possibilities) == ("status", ())


def test_answers_that_settle_nothing_are_left_out() -> None:
    (tie,) = opened(of(*records("A album 1975-06-01; B album 1975-06-01"))).questions
    assert tie.possibilities == ()
    first, second = opened(of(*records("S single 1974; A album 1974"))).questions
    assert [each.crg for each in first.possibilities] == ["A", None]
    assert [each.crg for each in second.possibilities] == [None, "A"]


def test_an_undated_compilation_beside_one_asks_on_which_side_of_its_window_it_came_out() -> None:
    (question,) = opened(of(*records("C compilation 1990-06-01; V compilation undated"))).questions
    assert (question.kind, question.about) == ("date", ("V", "C"))
    assert [(each.answer, each.crg) for each in question.possibilities] == [
        ("before 1990-03-03", "V"),
        ("from 1990-03-03 to 1990-08-30", None),
        ("on 1990-08-31 or later", "C"),
    ]


@pytest.mark.parametrize(
    ("text", "asked"),
    [  # an answer of a day before the medium was on sale is none
        ('A album undated%12"_Vinyl group:1973; B Other group:1973',
         {"before 1973-01-02": "A", "from 1973-01-02 to 1973-12-31": None,
          "on 1974-01-01 or later": "B"}),
        ('S single undated%12"_Vinyl; A album 1974-11-08',
         {"before 1974-08-10": "S", "on 1974-08-10 or later": "A"}),
        ("S single undated%CD; A album 1982-06-01",
         {"before 1982-03-03": "S", "on 1982-03-03 or later": "A"}),
        ("S single undated%CD; A album 1974-11-08", {"on 1974-08-10 or later": "A"}),
        ("C compilation 1972-06-01; V compilation undated%CD", {"on 1972-08-31 or later": "C"}),
        ("S single undated%CD undated; A album 1974-11-08",
         {"before 1974-08-10": "S", "on 1974-08-10 or later": "A"}),
        ('S single undated%CD undated%12"_Vinyl; A album 1974-11-08',
         {"before 1974-08-10": "S", "on 1974-08-10 or later": "A"}),
    ],
)  # fmt: skip
def test_no_answer_is_of_a_day_before_the_medium(text: str, asked: dict[str, str]) -> None:
    verdict = decide(read_bundle(of(*records(text))), RulesConfig())
    assert isinstance(verdict, Open), verdict
    found = {each.answer: each.crg for q in verdict.questions for each in q.possibilities}
    assert found == asked


def test_an_answer_promises_nothing_that_an_unknown_status_leaves_open() -> None:
    text = "S single 1974; A album 1974-11-08; X album 1974-09-01/"
    (question,) = opened(of(*records(f"{text}bootleg"))).questions
    assert [each.crg for each in question.possibilities] == ["S", "A"]
    (question,) = opened(of(*records(f"{text}unknown"))).questions
    assert question.possibilities == ()
