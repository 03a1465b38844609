"""Evidence is read in every form a producer may write it, and has one hash."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import (
    EvidenceBundle,
    RecordingCandidate,
    RecordingFlags,
    Release,
    ReleaseFlags,
    ReleaseGroup,
)
from chart_binder.domain.evidence_json import evidence_hash, read_bundle, write_bundle
from chart_binder.domain.remarks import remarks_in
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.errors import EvidenceError
from chart_binder.rules.decide import decide
from corpus import rows
from rules.making import Json, album, cases, document, recording, release

HERE = Path(__file__).parent
KNOBS = RulesConfig()
KNOWN_HASH = "695d183f90dfebd14ba207d3e5f9eade5d1c71af59c84e734519e453e8c3de60"
UUID = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
PLACES = {
    "bundle": "",
    "recording": "recording_candidates[0].",
    "group": "recording_candidates[0].rg_candidates[0].",
    "release": "recording_candidates[0].rg_candidates[0].releases[0].",
}
"""The parts of `changed`, with where they stand."""


def changed(part: str, changes: Json) -> Json:
    """Return evidence of which one part is changed."""
    made = album("A", release("1974-11-08") | (changes if part == "release" else {}))
    group = made | (changes if part == "group" else {})
    known = recording(group) | (changes if part == "recording" else {})
    return document(known) | (changes if part == "bundle" else {})


@pytest.mark.parametrize(("part", "changes", "place", "says"), cases(HERE / "refused.txt", most=5))
def test_an_ill_formed_part_is_refused(part: str, changes: str, place: str, says: str) -> None:
    refused(changed(part, json.loads(changes)), f"{PLACES[part]}{place}" if place else "", says)


@pytest.mark.parametrize(
    ("document", "where", "says"),
    [
        (b"{", "", "not a JSON document"),
        (b'{"version": 1, "recording_title": "\xff"}', "", "not a JSON document"),
        (b"[]", "", "Expected object, got array"),
        (b"[" * 100_000, "", "evidence bundle: "),
        ({"artist": {"name": "Queen"}}, "", "missing required field recording_candidates"),
        (document() | {5: 1}, "key", "Expected str"),
        (document() | {"recording_title": "\udcff"}, "", "not a JSON document"),
        (changed("group", {"title": "x" * 10_001}), f"{PLACES['group']}title",
         "Expected str of length <= 10000"),
        (json.dumps(changed("recording", {"length_ms": 10**400})),
         f"{PLACES['recording']}length_ms", "Expected int <= 1000000000000"),
    ],
)  # fmt: skip
def test_what_is_no_bundle_is_refused(document: Any, where: str, says: str) -> None:
    refused(document, where, says)


def refused(document: Any, where: str, says: str) -> None:
    with pytest.raises(EvidenceError, match=re.escape(says)) as refusal:
        read_bundle(document)
    assert refusal.value.where == where
    assert "`" not in str(refusal.value)


def test_json_text_bytes_and_mappings_read_alike() -> None:
    plain = document(recording(album("A", "1974-11-08", "????-05", mood="grand")))
    text = json.dumps(plain)
    bundle = read_bundle(plain)
    unknown = {"timeline_facts": {"x": [1]}, "mood": "grand"}
    assert read_bundle(plain | unknown) == bundle
    assert read_bundle(text) == read_bundle(text.encode()) == read_bundle(bundle) == bundle
    marked = f"\ufeff{text}"
    assert read_bundle(marked) == read_bundle(marked.encode()) == bundle
    assert bundle.name == "Queen - Song"


@pytest.mark.parametrize(("status", "flags", "standing"), rows(__file__, "statuses"))
def test_status_and_flags_say_the_same(
    status: str | None, flags: dict[str, bool] | None, standing: str | None
) -> None:
    one = Release(ReleaseId("r"), status=status, flags=ReleaseFlags(**flags) if flags else None)
    assert one.standing == standing
    assert one.is_official is (standing in ("Official", "Withdrawn", "Expunged"))


@pytest.mark.parametrize(("primary", "secondary", "types"), rows(__file__, "types"))
def test_types_are_read_as_musicbrainz_names_them(
    primary: str | None, secondary: tuple[str, ...], types: tuple[str | None, tuple[str, ...]]
) -> None:
    group = ReleaseGroup(ReleaseGroupId("g"), primary_type=primary, secondary_types=secondary)
    assert group.types == types


@pytest.mark.parametrize(
    ("title", "comment", "flag"), cases(HERE / "recording_kinds.txt", is_named=False)
)
def test_a_title_and_comment_say_the_kind_of_recording(title: str, comment: str, flag: str) -> None:
    known = None if comment == "-" else comment
    found = RecordingCandidate(RecordingId("r"), title=title, disambiguation=known).intent
    flags = {name for name in RecordingFlags.__struct_fields__ if getattr(found, name)}
    assert flags == {flag} - {"-"}


@pytest.mark.parametrize(
    ("title", "comment", "words", "telling"), cases(HERE / "remarks.txt", is_named=False)
)
def test_words_for_one_version_are_one(title: str, comment: str, words: str, telling: str) -> None:
    said = remarks_in(title, None if comment == "-" else comment)
    assert " ".join(sorted(said.versions if comment == "-" else said.words)) == words.strip("-")
    assert " ".join(sorted(said.telling)) == telling.strip("-")


@pytest.mark.parametrize("part", ["(live ", " - a live", "-live a", "not live ", "(", "- "])
def test_a_title_without_end_is_looked_through_at_once(part: str) -> None:
    start = time.perf_counter()
    title = part * 4_000 + "\nx"
    assert RecordingCandidate(RecordingId("r"), title=title).intent
    assert time.perf_counter() - start < 2


def test_a_flag_that_is_given_goes_before_the_title() -> None:
    flags = RecordingFlags(is_live=False, is_demo=True)
    found = RecordingCandidate(RecordingId("r"), title="Song (live)", flags=flags).intent
    assert (found.is_live, found.is_demo, found.is_remix) == (False, True, False)


def test_countries_are_read_as_codes() -> None:
    assert Release(ReleaseId("r"), country=" uk ").place == "GB"
    assert Release(ReleaseId("r"), country="").place is None
    for begin, code in (("uk", "GB"), (None, "JP"), ("XE", "JP"), (" ", "JP")):
        artist = {"name": "Queen", "begin_area_country": begin, "wikidata_country": "JP"}
        assert read_bundle(changed("bundle", {"artist": artist})).performer.country == code


@pytest.mark.parametrize(("part", "one", "other", "answer"), cases(HERE / "same_facts.txt"))
def test_the_same_facts_have_one_hash(part: str, one: str, other: str, answer: str) -> None:
    bundles = [read_bundle(changed(part, json.loads(text))) for text in (one, other)]
    hashes = {evidence_hash(bundle) for bundle in bundles}
    assert len(hashes) == (1 if answer == "same" else 2)
    assert all(re.fullmatch(r"[0-9a-f]{64}", text) for text in hashes)
    assert all(read_bundle(write_bundle(bundle)) == bundle for bundle in bundles)
    if answer == "same":
        assert decide(bundles[0], KNOBS) == decide(bundles[1], KNOBS)


def test_what_was_made_in_python_has_the_hash_of_what_was_read() -> None:
    made = EvidenceBundle(
        (RecordingCandidate(RecordingId(UUID.upper()), title=" "),), recording_title="x"
    )
    written = {"recording_candidates": [{"mb_recording_id": UUID}], "recording_title": "x"}
    assert evidence_hash(made) == evidence_hash(read_bundle(written))


def test_the_hash_of_known_evidence_does_not_change() -> None:
    known = {
        "artist": {"name": "Queen"},
        "recording_candidates": [
            {"mb_recording_id": "r", "rg_candidates": [{"mb_rg_id": "g", "releases": []}]}
        ],
    }
    assert evidence_hash(read_bundle(known)) == KNOWN_HASH
