"""`canon explain` as a process: the dates compared with their sources, and when asked, drawn."""

import json
from pathlib import Path

from golden.bundles import year_only_single
from integration.conftest import REPOSITORY, Canon
from integration.services import (
    ALBUM,
    LP,
    RHAPSODY,
    SINGLE,
    file_of,
    final,
    replaying,
)

DOCUMENT = json.dumps(RHAPSODY["bundle"]).encode()


def test_every_date_is_shown_with_its_release_and_every_rival_is_named(canon: Canon) -> None:
    explained = canon("explain", "--evidence=-", "--output=json", stdin=DOCUMENT).line[
        "explanation"
    ]
    assert list(explained) == ["path", "appearances", "lead_window", "rivals"]
    groups = RHAPSODY["bundle"]["recording_candidates"][0]["rg_candidates"]
    rivals = {rival["release_group"] for rival in explained["rivals"]}
    assert rivals == {group["mb_rg_id"] for group in groups} - {ALBUM}
    found = {one["release_group"]: one for one in explained["appearances"]}
    assert found[ALBUM]["sources"][0]["release"] == LP
    assert (found[SINGLE]["since"], found[SINGLE]["by"]) == ("1975-10-31", "1975-10-31")
    assert (explained["lead_window"]["from"], explained["lead_window"]["to"]) == (
        "1975-11-01", "1976-01-29",
    )  # fmt: skip


def test_a_question_has_its_kind_and_where_answers_lead(canon: Canon, open_bundle: Path) -> None:
    ran = canon("explain", "--evidence", open_bundle, COLUMNS="200").must_end(3)
    assert "missing      [date] the single 'Bohemian Rhapsody' is only dated 1975" in ran.out
    assert "before or after 1975-08-23?\n" in ran.out  # and what follows is in the lines below
    assert "- before 1975-08-23: Bohemian Rhapsody (Single)\n" in ran.out
    assert "- on 1975-08-23 or later: A Night at the Opera (Album)\n" in ran.out


def test_a_failed_check_is_shown_as_the_reason(canon: Canon, home: Path, open_bundle: Path) -> None:
    environment = replaying(home, final())
    text = canon("explain", "--evidence", open_bundle, COLUMNS="300", **environment).must_end(3).out
    reason, _, checks = text.partition("  checks ")
    assert "a proposal, because rules decide" in reason
    assert "NOT OK: the rules leave it open: the single 'Bohemian Rhapsody' is only dated" in checks


def test_a_fact_is_shown_once_with_its_support(canon: Canon, home: Path, open_bundle: Path) -> None:
    recorded = REPOSITORY / "src" / "chart_binder" / "demo" / "transcript.jsonl"
    environment = replaying(home, "") | {"CANON_LLM__MODEL_ID": str(recorded)}
    text = canon("explain", "--evidence", open_bundle, **environment).must_end(0).out
    (kept,) = (home / "data").rglob("transcripts/*")
    assert kept.name in text
    _, _, facts = text.partition("  facts ")
    assert [line.strip() for line in facts.splitlines()[:6]] == [
        "first_release_date 1975 -> 1975-10-31 of Bohemian Rhapsody (Single)",
        "verified: https://discography.example/queen/bohemian-rhapsody",
        'quote: "Released | 31 October 1975"',
        "verified: https://sevens.example/emi/5c-006-97140",
        'quote: "The single came out on 31 October 1975"',
        "second reading (support): first_release",
    ]
    assert "Bohemian Rhapsody: single (1975-10-31): " in text or "with the verified facts" in text
    unread = home / "unread.jsonl"
    lines = recorded.read_text("utf-8").splitlines(keepends=True)
    unread.write_text("".join(line for line in lines if '"reading"' not in line), "utf-8")
    environment["CANON_LLM__MODEL_ID"] = str(unread)
    canon("explain", "--evidence", open_bundle, **environment).must_end(
        3, "a proposal, because rules decide: ", "says unclear",
        "NOT verified: https://sevens.example/emi/5c-006-97140",
    )  # fmt: skip


def test_decide_is_brief_and_explain_is_not(canon: Canon, open_bundle: Path) -> None:
    twice = ("--evidence", open_bundle) * 2
    brief = canon("decide", *twice).must_end(3).out
    whole = canon("decide", "-v", *twice).must_end(3).out
    assert (brief.count("to do"), whole.count("to do")) == (1, 2)  # what helps is the same for all
    assert max(len(block.splitlines()) for block in brief.split("\n\n")) <= 12
    assert "musicbrainz.org/release" not in brief
    assert len(canon("explain", *twice).must_end(3).out) > len(whole) > len(brief)


def test_the_stored_run_of_a_model_is_shown_and_none_asked_anew(canon: Canon, home: Path) -> None:
    bundle = year_only_single()
    song = file_of(bundle, home)
    recorded = REPOSITORY / "src" / "chart_binder" / "demo" / "transcript.jsonl"
    model = replaying(home, "") | {"CANON_LLM__MODEL_ID": str(recorded)}
    unsure = replaying(home, final(confidence=0.3))
    told = "no model's answer to this evidence is stored"
    canon("explain", song, knowing=[bundle], **model).must_end(3, told)
    canon("decide", song, knowing=[bundle], **model).must_end(0)
    kept = sorted((home / "data").rglob("transcripts/*"))
    canon("explain", song, knowing=[bundle], **unsure).must_end(0, "turns", kept[0].name)
    assert sorted((home / "data").rglob("transcripts/*")) == kept
    canon("explain", song, "--again", knowing=[bundle], **unsure).must_end(3, "confidence 0.30")
