"""Final answers as models write them, read into one normal form."""

import json
import math

import pytest

from chart_binder.domain.evidence_json import read_bundle
from chart_binder.llm.answer import CONFIDENCE_WORDS, read_answer, read_confidence, read_id
from chart_binder.react.loop import AnswerRefusedError
from chart_binder.rules.labels import Labels
from corpus import rows
from golden.bundles import year_only_single

ID = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"

IDS = [
    ("C1", "C1"), ("c1.r2", "C1.R2"), ("**C1**", "C1"), ("C1.", "C1"), ("Candidate 2", "C2"),
    ("C1-R2", "C1.R2"), ("C1 (Sheer Heart Attack)", "C1"), ("C2: Killer Queen", "C2"),
    *((written, ID) for written in (
        ID, ID.upper(), f" `{ID}` ", f"https://musicbrainz.org/release-group/{ID}",
        f"<https://musicbrainz.org/release-group/{ID}?tab=x>", f"release-group/{ID}",
        f"musicbrainz.org/ws/2/release-group/{ID}?inc=releases",
    )),
    ("Sheer Heart Attack (Album)", "Sheer Heart Attack (Album)"),  # a title: the labels tell
    *((written, None) for written in (None, "null", "Unknown", "N/A ", "")),
]  # fmt: skip


@pytest.mark.parametrize(("written", "meant"), IDS)
def test_an_id_is_a_label_a_bare_id_an_address_or_none(written: object, meant: str | None) -> None:
    assert read_id(written, "crg_mbid") == meant


@pytest.mark.parametrize("written", rows(__file__, "no_ids"))
def test_what_is_no_id_is_refused_with_the_right_form(written: object) -> None:
    with pytest.raises(AnswerRefusedError, match=r'"crg_mbid" is .*write a label such as "C1"'):
        read_id(written, "crg_mbid")


def test_a_release_is_named_by_label_id_or_address_of_a_release() -> None:
    assert read_id(f"https://musicbrainz.org/release/{ID}", "rr_mbid") == ID
    for written in (f"https://musicbrainz.org/release-group/{ID}", "A Night at the Opera"):
        with pytest.raises(AnswerRefusedError):
            read_id(written, "rr_mbid")


LABELS = Labels.of(read_bundle(year_only_single()))


@pytest.mark.parametrize(("written", "label"), rows(__file__, "candidates"))
def test_a_candidate_is_known_by_its_label_or_its_title(written: str, label: str | None) -> None:
    meant = LABELS.id_of(written)
    assert (meant or "") == (LABELS.ids[label] if label else written)


def test_titles_that_two_candidates_share_are_told_apart_by_their_kind() -> None:
    bundle = year_only_single()
    for group in bundle["recording_candidates"][0]["rg_candidates"][:2]:
        group["title"] = "Queen (Live)"
    labels = Labels.of(read_bundle(bundle))
    assert labels.id_of("Queen (Live)") == "Queen (Live)"
    assert labels.id_of("Queen (Live) (Album)") == labels.ids["C2"]
    assert labels.id_of("queen (live) [single]") == labels.ids["C1"]


CONFIDENCES = [
    *((written, 0.9) for written in (0.9, "0.9", "90%", "90 %", "90 percent", 90, "High")),
    (1, 1.0), (0, 0.0), (100, 1.0), ("1%", 0.01), (".85", 0.85), ("0,85", 0.85), ("1e-1", 0.1),
    ("medium", CONFIDENCE_WORDS["medium"]), (" low ", CONFIDENCE_WORDS["low"]),
]  # fmt: skip


@pytest.mark.parametrize(("written", "meant"), CONFIDENCES)
def test_confidence_is_normalised_to_a_share(written: object, meant: float) -> None:
    assert read_confidence(written) == pytest.approx(meant)


@pytest.mark.parametrize(
    "written",
    [None, math.nan, math.inf, -math.inf, -0.1, "-5%", 101, "101%", 10**400, "8e3294006", True,
     "very sure", "", [0.9], {"value": 1}, "NaN", "inf", "9" * 5000],
)  # fmt: skip
def test_a_confidence_that_means_nothing_is_refused(written: object) -> None:
    with pytest.raises(AnswerRefusedError, match=r'"confidence" is .*a number from 0 to 1'):
        read_confidence(written)


IMPOSSIBLE = (math.nan, math.inf, -0.1, "-5%", 101, "101%", 10**400, "NaN", "-inf", "9" * 5000)


@pytest.mark.parametrize("written", IMPOSSIBLE, ids=lambda written: repr(written)[:9])
def test_an_impossible_confidence_is_refused_in_the_last_turn_too(written: object) -> None:
    with pytest.raises(AnswerRefusedError, match=r'"confidence" is'):
        read_confidence(written, default=0.5)


@pytest.mark.parametrize("written", [None, "", "very sure", True, [0.9]])
def test_the_last_turn_has_a_default_for_a_confidence_without_a_number(written: object) -> None:
    assert read_confidence(written, default=0.5) == 0.5


WHOLE = """```json
{"crg_mbid": "C1", "rr_mbid": "C1.R1", "confidence": 0.9, "rationale": "It  is\\nso.",
 "facts": [{"about": "C2", "field": "first_release_date", "value": "1975-10-31",
            "quote": "out on  31\\nOctober", "source": "https://a.example/"},
           "nonsense", {"about": "C2"}]}
```"""


def test_an_answer_is_read_whole() -> None:
    answer = read_answer(WHOLE)
    assert (answer.crg, answer.rr, answer.confidence) == ("C1", "C1.R1", 0.9)
    assert answer.rationale == "It is so."
    assert answer.facts[0].quote == "out on 31 October"
    fields = [fact.field for fact in answer.facts]
    assert fields == ["first_release_date", "unreadable", "unreadable"]
    assert read_answer('{"CRG_MBID": null, "Confidence": 0.2}').crg is None


@pytest.mark.parametrize(("text", "word"), rows(__file__, "defects"))
def test_an_answer_that_cannot_be_read_is_refused_with_the_defect(text: str, word: str) -> None:
    with pytest.raises(AnswerRefusedError, match=word):
        read_answer(text)


NO_FACT = {"about": None, "field": "", "value": "null", "source": None}


@pytest.mark.parametrize(
    "facts", [None, [], {}, "", "none", "N/A", [None], ["none"], [{}], [[]], [NO_FACT], NO_FACT]
)
def test_an_answer_may_say_in_many_ways_that_it_cites_no_facts(facts: object) -> None:
    text = json.dumps({"crg_mbid": "C1", "confidence": 0.9, "facts": facts})
    assert read_answer(text).facts == ()


A, B = "https://a.example/x_(song)?q=1", "http://b.example/y"


@pytest.mark.parametrize(("source", "sources"), rows(__file__, "addresses"))
def test_a_source_is_the_address_in_whatever_names_it(source: object, sources: list[str]) -> None:
    fact = {"about": "C1", "field": "date", "value": "1974", "source": source}
    answer = read_answer(json.dumps({"crg_mbid": "C1", "confidence": 0.9, "facts": [fact]}))
    assert [each.source for each in answer.facts] == sources
