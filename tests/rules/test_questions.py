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
from rules.making import Json, cases, compilation, document, recording, records, release, takes
from rules.strategies import documents

LAW = settings(deadline=None, suppress_health_check=list(HealthCheck))
_YEARS = {'12" Vinyl': 1948, "CD": 1982, "Digital Media": 1997, None: 1}
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
    out = ("Official", "Withdrawn")
    official = [one for one in group["releases"] or () if one["status"] in out]
    # A date before the medium was on sale says nothing.
    official = [
        one for one in official
        if PartialDate.parse(one["date"] or "").last >= ON_SALE[one["format"]]
    ]  # fmt: skip
    spans = {id(one): PartialDate.parse(one["date"] or "") for one in official}
    known = [span for span in spans.values() if span.is_known]
    if group["first_release_date"] and not group["releases"]:
        known = [PartialDate.parse(group["first_release_date"])]
    if not any(span.first <= high and low <= span.last for span in known):
        known = []  # an undated pressing may be of then
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


def of(*groups: Json) -> Json:
    return document(recording(*groups))


@pytest.mark.parametrize("case", cases("answers.txt", is_named=False))
def test_an_answer_leads_where_the_evidence_with_it_leads(case: tuple[str, ...]) -> None:
    _, text, kind, about, *answers = case
    (question,) = opened(document(*takes(text, {}))).questions
    assert (question.kind, question.about) == (kind, tuple(about.split()))
    rows = [answer.split(" => ") for answer in answers]
    leads = {each.answer: each.crg for each in question.possibilities}
    assert leads == {answer: crg for answer, _, crg in rows}
    for _, known, crg in rows:
        verdict = decide(read_bundle(document(*takes(known, {}))), RulesConfig())
        assert isinstance(verdict, Decided)
        assert verdict.crg == crg


@pytest.mark.parametrize(("text", "kind", "leads"), [
    ("V various 1993", "missing_original", {"V": "V"}),
    ("V various 1993; A album 2008", "missing_original", {"V": "V"}),
    ("C compilation 1993; D compilation 1993", "tie", {"C": "C", "D": "D"}),
    # The later of two days is not the first, whatever a fact says.
    ("C compilation 1993-01-01; D compilation 1993-03-01", "tie", {"C": "C", "D": None}),
    ("A album undated; B album undated", "tie", {"A": "A", "B": "B"}),
])  # fmt: skip
def test_an_answer_may_name_the_first(text: str, kind: str, leads: dict[str, str | None]) -> None:
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


@pytest.mark.parametrize("case", cases("media.txt", is_named=False))
def test_no_answer_is_of_a_day_before_the_medium(case: tuple[str, ...]) -> None:
    text, *asked = case
    verdict = decide(read_bundle(of(*records(text))), RulesConfig())
    assert isinstance(verdict, Open), verdict
    leads = [each for question in verdict.questions for each in question.possibilities]
    assert [f"{each.answer} => {each.crg}" for each in leads] == asked


def test_an_answer_promises_nothing_that_an_unknown_status_leaves_open() -> None:
    text = "S single 1974; A album 1974-11-08; X album 1974-09-01/"
    (question,) = opened(of(*records(f"{text}bootleg"))).questions
    assert [each.crg for each in question.possibilities] == ["S", "A"]
    (question,) = opened(of(*records(f"{text}unknown"))).questions
    assert question.possibilities == ()
