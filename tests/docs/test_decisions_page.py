"""Every example of docs/decisions.md comes out as the page says."""

import re
from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import ReleaseGroup
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided, Open, Verdict
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from chart_binder.rules.names import is_named
from chart_binder.rules.premiere import RULES
from docs.pages import blocks, page
from rules.making import STATUSES, Json, album, document, record, recording, release, take

PAGE = "docs/decisions.md"
KINDS = {
    "single": "Single", "album": "Album", "live album": "Album+Live", "remix album": "Album+Remix",
    "soundtrack": "Album+Soundtrack", "best-of": "Album+Compilation",
    "compilation": "Album+Compilation",
}  # fmt: skip
PARTS: dict[str, Json] = {
    "a remix": {"flags": {"is_remix": True}}, "a live take": {"flags": {"is_live": True}},
    "no sibling found": {"siblings": "looked_up"},
}  # fmt: skip
_LENGTH = re.compile(r", (\d+):(\d\d)$")
_RULES = RulesConfig()


def examples(language: str) -> list[Any]:
    """The lines of the blocks of a kind, with their columns."""
    lines = [line for block in blocks(PAGE, language) for line in block.splitlines()]
    rows = [tuple(re.split(r" {2,}", line.strip())) for line in lines]
    return [pytest.param(*row, id="  ".join(row)) for row in rows]


def releases_of(text: str) -> list[Json]:
    """Read `1974-10-11 (US), 1974 (promo)`; each release has its own text as its id."""
    made = []
    for written in text.split(", "):
        date, _, word = written.rstrip(")").partition(" (")
        more: Json = {"mb_release_id": written}
        if re.fullmatch("[A-Z]{2}", word) and word != "CD":
            more["country"] = word
        elif word in STATUSES:
            more["status"] = STATUSES[word]
        elif word in ("CD", "Vinyl"):
            more["format"] = word
        else:
            more["disambiguation"] = word
        made.append(release(None if date == "undated" else date, **more))
    return made


def record_of(name: str, text: str) -> Json:
    kind = re.sub(r" by others| [A-Z]$", "", name)
    made = record(name, KINDS[kind], *releases_of(text))
    others = {"compilation": "Various Artists", "soundtrack": "The Composer", "album": "A Label"}
    if kind == "compilation" or name.endswith(" by others"):
        made["artist_credit"] = others[kind]
    return made


def evidence_of(line: str) -> Json:
    """Read the records of a line, and what is said of the recording before them."""
    groups: list[Json] = []
    more: Json = {}
    first = ""
    for part in line.split("; "):
        if part.startswith("ISRC of "):
            more["isrcs"] = [f"GBAAA{part[-2:]}00001"]
        elif part.startswith("recording dated "):
            more["first_release_date"] = part.removeprefix("recording dated ")
        elif part.startswith("premiere on "):
            first = part.removeprefix("premiere on ")
        elif part in PARTS:
            more |= PARTS[part]
        else:
            name, text = re.findall(r"(.+?) ((?:\d|undated).*)", part)[0]
            groups.append(record_of(name, text))
    groups = [group | ({"premiere": True} if group["title"] == first else {}) for group in groups]
    of_all = {"siblings": more.pop("siblings")} if "siblings" in more else {}
    return document(recording(*groups, **more), **of_all)


def in_short(verdict: Verdict) -> tuple[str, str]:
    if isinstance(verdict, Open):
        return "open", " ".join(sorted({question.kind for question in verdict.questions}))
    return verdict.crg, verdict.crg_rule.removeprefix("CRG:")


@pytest.mark.parametrize(("line", "result", "by"), examples("decided"))
def test_records_are_decided_for(line: str, result: str, by: str) -> None:
    assert in_short(decide(read_bundle(evidence_of(line)), _RULES)) == (result, by)


def take_of(number: int, text: str) -> Json:
    """Read `Song (live), 4:07` or `Song, "live"`, on an album of its own of the year `number`."""
    more: Json = {}
    if found := _LENGTH.search(text):
        more["length_ms"] = 1_000 * (60 * int(found[1]) + int(found[2]))
    title, _, comment = _LENGTH.sub("", text).partition(", ")
    more |= {"title": title, "disambiguation": comment.strip('"') or None}
    return take(text, album(text, f"19{number}-01-01"), **more)


@pytest.mark.parametrize(("wanted", "recordings", "meant"), examples("meant"))
def test_a_recording_is_meant(wanted: str, recordings: str, meant: str) -> None:
    takes = [take_of(number, text) for number, text in enumerate(recordings.split("; "), 70)]
    file = take_of(0, wanted)
    artifact = {"duration_ms": file.get("length_ms")}
    verdict = decide(
        read_bundle(document(*takes, recording_title=file["title"], artifact=artifact)), _RULES
    )
    assert in_short(verdict)[0] == meant
    if isinstance(verdict, Decided):
        assert verdict.recording == meant


@pytest.mark.parametrize(("artist", "credit", "answer"), examples("credited"))
def test_a_credit_names_an_artist(artist: str, credit: str, answer: str) -> None:
    group = ReleaseGroup(ReleaseGroupId("group"), artist_credit=credit)
    assert is_named([artist], group, ()) is {"yes": True, "no": False, "unknown": None}[answer]


@pytest.mark.parametrize(("releases", "chosen", "by"), examples("representative"))
def test_a_release_represents_its_album(releases: str, chosen: str, by: str) -> None:
    verdict = decide(read_bundle(document(recording(album("A", *releases_of(releases))))), _RULES)
    assert isinstance(verdict, Decided)
    assert (verdict.rr, verdict.rr_rule) == (chosen, f"RR:{by}")


@pytest.mark.parametrize(("line", "result", "year"), examples("first"))
def test_a_first_release_has_a_date(line: str, result: str, year: str) -> None:
    bundle = read_bundle(evidence_of(line))
    found = first_release(bundle, decide(bundle, _RULES), _RULES)
    assert found is not None
    assert ", ".join(filter(None, (found.date, found.release_group_mbid))) == result
    assert found.year_certain is (year == "certain")


def test_every_rule_is_listed_in_its_order() -> None:
    listed = re.findall(r"^\| `(CRG:\w+)`", page(PAGE), re.MULTILINE)
    first, *decided, stated, answered, opened = listed
    assert decided == [code for code, _ in RULES]
    assert [first, stated, answered, opened] == [
        "CRG:MANUAL_OVERRIDE", "CRG:STATED_PREMIERE", "CRG:LLM_ADJUDICATION", "CRG:INDETERMINATE",
    ]  # fmt: skip


def test_the_page_is_short_and_each_kind_of_example_is_there() -> None:
    assert len(page(PAGE).split()) <= 2_500
    least = {"decided": 45, "meant": 7, "credited": 4, "representative": 4, "first": 6}
    assert {
        language: len(examples(language)) >= n for language, n in least.items()
    } == dict.fromkeys(least, True)
