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
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.errors import EvidenceError
from chart_binder.rules.decide import decide
from rules.making import Json, album, cases, document, recording, release

KINDS = Path(__file__).with_name("recording_kinds.txt")
KNOBS = RulesConfig()
KNOWN_HASH = "695d183f90dfebd14ba207d3e5f9eade5d1c71af59c84e734519e453e8c3de60"
UUID = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
WHERE = "recording_candidates[0].rg_candidates[0]"


def read(**changes: Any) -> EvidenceBundle:
    return read_bundle(document(recording(album("A", "1974-11-08"))) | changes)


def group_with(**changes: Any) -> dict[str, Any]:
    return document(recording(album("A", "1974-11-08") | changes))


def release_with(**changes: Any) -> dict[str, Any]:
    return document(recording(album("A", release("1974-11-08") | changes)))


REFUSED: list[tuple[str, Any, str, str]] = [
    # claim, document, where, what is said
    ("not JSON", b"{", "", "not a JSON document"),
    ("empty", b"", "", "not a JSON document"),
    ("not UTF-8", b'{"version": 1, "recording_title": "\xff"}', "", "not a JSON document"),
    ("a list", b"[]", "", "Expected object, got array"),
    ("no candidates",
     {"artist": {"name": "Queen"}}, "", "missing required field recording_candidates"),
    ("candidates that are null",
     document() | {"recording_candidates": None},
     "recording_candidates", "Expected array, got null"),
    ("neither artist nor title",
     {"recording_candidates": []}, "", "artist.name or recording_title is required"),
    ("another version", document() | {"version": 2}, "version", "found 2; only 1 is understood"),
    ("a month that is none",
     release_with(date="1975-13"),
     f"{WHERE}.releases[0].date", "'1975-13' is no day of the calendar"),
    ("a date that is none",
     release_with(date="soon"),
     f"{WHERE}.releases[0].date", "'soon' is no date: YYYY, YYYY-MM or YYYY-MM-DD is allowed"),
    ("a date that is a number",
     release_with(date=1975), f"{WHERE}.releases[0].date", "Expected str | null, got int"),
    ("a group date that is none",
     group_with(first_release_date="19"), f"{WHERE}.first_release_date", "'19' is no date"),
    ("a missing release id",
     release_with(mb_release_id=None),
     f"{WHERE}.releases[0].mb_release_id", "Expected str, got null"),
    ("a blank release id",
     release_with(mb_release_id="  "), f"{WHERE}.releases[0].mb_release_id", "found a blank id"),
    ("a blank artist",
     document() | {"artist": {"name": " "}, "recording_title": ""},
     "", "artist.name or recording_title is required"),
    ("a blank group id", group_with(mb_rg_id=" "), f"{WHERE}.mb_rg_id", "found a blank id"),
    ("a blank recording id",
     document(recording(mb_recording_id="\t")),
     "recording_candidates[0].mb_recording_id", "found a blank id"),
    ("types that are no list",
     group_with(secondary_types="Live"),
     f"{WHERE}.secondary_types", "Expected array | null, got str"),
    ("a flag that is a word",
     release_with(flags={"is_promo": "yes"}),
     f"{WHERE}.releases[0].flags.is_promo", "Expected bool | null, got str"),
    ("a title without end",
     group_with(title="x" * 10_001), f"{WHERE}.title",
     "Expected str of length <= 10000, found 10001"),
    ("an id without end",
     group_with(mb_rg_id="x" * 201), f"{WHERE}.mb_rg_id",
     "Expected str of length <= 200, found 201"),
    ("a tag that is a number",
     json.dumps(document(artifact={"tags": {"title": "x", "date": 1974}})),
     "artifact.tags[...]", "Expected str | null, got int"),
    ("a length below zero",
     document(recording(length_ms=-1)),
     "recording_candidates[0].length_ms", "Expected int >= 0, found -1"),
    ("a length beyond all numbers",
     json.dumps(document(recording(length_ms=10**400))),
     "recording_candidates[0].length_ms", "Expected int <= 1000000000000"),
    ("a name that is a number", document() | {5: 1}, "key", "Expected str"),
    ("text that no JSON can hold",
     document() | {"recording_title": "\udcff"}, "", "not a JSON document"),
    ("a nest without end", b"[" * 100_000, "", "evidence bundle: "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "where", "says"), [pytest.param(*row[1:], id=row[0]) for row in REFUSED]
)
def test_an_ill_formed_bundle_is_refused_with_the_place(
    document: Any, where: str, says: str
) -> None:
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


@pytest.mark.parametrize(
    ("status", "flags", "standing"),
    [
        ("Official", None, "Official"),
        ("official", None, "Official"),
        ("Promo", None, "Promotion"),
        ("pseudo-release", None, "Pseudo-Release"),
        ("Canceled", None, "Cancelled"),
        ("Expunged", None, "Expunged"),
        (None, None, None),
        (None, {"is_official": True, "is_promo": False}, "Official"),
        (None, {"is_official": True, "is_bootleg": True}, "Bootleg"),
        (None, {"is_promo": True}, "Promotion"),
        (None, {"is_official": False}, None),
        ("Bootleg", {"is_official": True}, "Bootleg"),
    ],
)
def test_status_and_flags_say_the_same(
    status: str | None, flags: dict[str, bool] | None, standing: str | None
) -> None:
    one = Release(ReleaseId("r"), status=status, flags=ReleaseFlags(**flags) if flags else None)
    assert one.standing == standing
    assert one.is_official is (standing == "Official")


@pytest.mark.parametrize(
    ("primary", "secondary", "types"),
    [
        ("Album", (), ("Album", ())),
        ("album", ("live",), ("Album", ("Live",))),
        ("Soundtrack", (), ("Album", ("Soundtrack",))),
        ("Live", ("Compilation",), ("Album", ("Compilation", "Live"))),
        ("DJ-Mix", (), ("Album", ("DJ-mix",))),
        ("ep", ("Remix", "Demo"), ("EP", ("Demo", "Remix"))),
        ("Cassingle", (), (None, ())),
        (None, (), (None, ())),
    ],
)
def test_types_are_read_as_musicbrainz_names_them(
    primary: str | None, secondary: tuple[str, ...], types: tuple[str | None, tuple[str, ...]]
) -> None:
    group = ReleaseGroup(ReleaseGroupId("g"), primary_type=primary, secondary_types=secondary)
    assert group.types == types


@pytest.mark.parametrize(("title", "comment", "flag"), cases(KINDS, is_named=False))
def test_a_title_and_comment_say_the_kind_of_recording(title: str, comment: str, flag: str) -> None:
    known = None if comment == "-" else comment
    found = RecordingCandidate(RecordingId("r"), title=title, disambiguation=known).intent
    flags = {name for name in RecordingFlags.__struct_fields__ if getattr(found, name)}
    assert flags == {flag} - {"-"}


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
        assert read(artist=artist).performer.country == code


SAME: list[tuple[str, Json, Json, bool]] = [
    # claim, one group, another, whether they are the same facts
    ("order of releases",
     album("A", "1974", "1975"),
     album("A", release("1975", mb_release_id="A.2"), release("1974", mb_release_id="A.1")), True),
    ("order of types",
     {"secondary_types": ["Live", "Demo"]}, {"secondary_types": ["Demo", "Live"]}, True),
    ("status by flag",
     {"releases": [{"mb_release_id": "r", "status": "Official"}]},
     {"releases": [{"mb_release_id": "r", "flags": {"is_official": True, "is_promo": False}}]},
     True),
    ("country by another name",
     {"releases": [{"mb_release_id": "r", "country": "GB"}]},
     {"releases": [{"mb_release_id": "r", "country": "UK"}]}, True),
    ("an unknown date", {"first_release_date": None}, {"first_release_date": "????-05"}, True),
    ("fields that are null",
     dict.fromkeys(("title", "secondary_types", "first_release_date", "labels")) | {
         "releases": [{"mb_release_id": "r"} | dict.fromkeys(("date", "status", "flags"))]},
     {"releases": [{"mb_release_id": "r"}]}, True),
    ("no labels", {"labels": []}, {"labels": None}, True),
    ("a blank title", {"title": "  "}, {"title": None}, True),
    ("a blank type among types", {"secondary_types": ["Live", " "]},
     {"secondary_types": ["Live"]}, True),
    ("blanks in a release",
     {"releases": [{"mb_release_id": "r", "title": "", "status": " ", "label": "\t", "catno": "",
                    "country": " ", "format": "\u3000", "artist_credit": " "}]},
     {"releases": [{"mb_release_id": "r"}]}, True),
    ("no releases", {"releases": []}, {"releases": None}, True),
    ("a release listed twice", album("A", "1974") | {"releases": [release(mb_release_id="r")] * 2},
     album("A", "1974") | {"releases": [release(mb_release_id="r")]}, True),
    ("an id in capitals with space around it",
     {"mb_rg_id": f" {UUID.upper()}"}, {"mb_rg_id": UUID}, True),
    ("a reissue flag",
     {"releases": [{"mb_release_id": "r", "flags": {"is_reissue_hint": True}}]},
     {"releases": [{"mb_release_id": "r"}]}, False),
    ("another date", {"first_release_date": "1974"}, {"first_release_date": "1974-01"}, False),
    ("another title", {"title": "A"}, {"title": "B"}, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "is_same"), [pytest.param(*row[1:], id=row[0]) for row in SAME]
)
def test_the_same_facts_have_the_same_hash(
    one: dict[str, Any], other: dict[str, Any], is_same: bool
) -> None:
    hashes = [
        evidence_hash(read_bundle(document(recording({"mb_rg_id": "A"} | group))))
        for group in (one, other)
    ]
    assert (hashes[0] == hashes[1]) is is_same
    assert re.fullmatch(r"[0-9a-f]{64}", hashes[0])


SAME_BUNDLES: list[tuple[str, Json, Json]] = [
    ("no sources", {"provenance": {"sources_used": []}}, {"provenance": None}),
    ("a blank source", {"provenance": {"sources_used": [" "]}}, {"provenance": {}}),
    ("no candidates",
     {"recording_candidates": [recording()]},
     {"recording_candidates": [recording(rg_candidates=None)]}),
    ("a recording listed twice",
     {"recording_candidates": [recording(album("A", "1974"))] * 2},
     {"recording_candidates": [recording(album("A", "1974"))]}),
    ("a blank ISRC",
     {"recording_candidates": [recording(isrcs=[" "])]},
     {"recording_candidates": [recording(isrcs=None)]}),
    ("blanks of the artist",
     {"artist": {"name": "Queen", "mb_artist_id": " ", "begin_area_country": ""}},
     {"artist": {"name": "Queen"}}),
    ("an artist's id in capitals",
     {"artist": {"name": "Queen", "mb_artist_id": UUID.upper()}},
     {"artist": {"name": "Queen", "mb_artist_id": UUID}}),
    ("no artist", {"artist": {"name": " "}}, {"artist": None}),
    ("no title", {"recording_title": " "}, {"recording_title": None}),
    ("a version that is null", {"version": None}, {}),
    ("a kind that the title says",
     {"recording_candidates": [recording(title="Song (live)", flags={"is_live": True})]},
     {"recording_candidates": [recording(title="Song (live)")]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"), [pytest.param(*row[1:], id=row[0]) for row in SAME_BUNDLES]
)
def test_bundles_that_say_the_same_are_read_as_one(one: Json, other: Json) -> None:
    bundles = [read(**changes) for changes in (one, other)]
    assert evidence_hash(bundles[0]) == evidence_hash(bundles[1])
    assert decide(bundles[0], KNOBS) == decide(bundles[1], KNOBS)


def test_what_was_made_in_python_has_the_hash_of_what_was_read() -> None:
    made = EvidenceBundle(
        (RecordingCandidate(RecordingId(UUID.upper()), title=" "),), recording_title="x"
    )
    written = {"recording_candidates": [{"mb_recording_id": UUID}], "recording_title": "x"}
    assert evidence_hash(made) == evidence_hash(read_bundle(written))


def test_the_hash_leaves_out_the_file_and_the_time() -> None:
    plain = read(provenance={"sources_used": ["MB", "Wikidata"]})
    later = read(
        provenance={
            "sources_used": ["Wikidata", "MB"], "fetched_at_utc": "2026-01-01", "cache_age_s": 9,
        },
        artifact={"duration_ms": 1, "tags": {"title": "x"}},
    )  # fmt: skip
    assert read_bundle(write_bundle(later)) == later
    assert evidence_hash(plain) == evidence_hash(later)
    assert evidence_hash(plain) != evidence_hash(read(provenance={"sources_used": ["MB"]}))


def test_what_is_said_of_siblings_counts_in_the_hash_where_it_is_set() -> None:
    group = album("A", "1974-11-08")
    plain = document(recording(group))
    unset = document(
        recording(group | {"premiere": None}, relation="", because="one ISRC", artist=None),
        siblings=None,
        complete=None,
    )  # fmt: skip
    set_ones = [
        document(recording(group | {"premiere": True})),
        document(recording(group, relation="sibling")),
        document(recording(group, artist={"name": "Queen", "mb_artist_id": "a"})),
        document(recording(group), siblings="looked_up"),
        document(recording(group), complete=False),
    ]
    assert evidence_hash(read_bundle(unset)) == evidence_hash(read_bundle(plain))
    assert len({evidence_hash(read_bundle(one)) for one in (plain, *set_ones)}) == len(set_ones) + 1
    assert all(read_bundle(write_bundle(one)) == one for one in map(read_bundle, set_ones))


def test_the_hash_of_known_evidence_does_not_change() -> None:
    known = {
        "artist": {"name": "Queen"},
        "recording_candidates": [
            {"mb_recording_id": "r", "rg_candidates": [{"mb_rg_id": "g", "releases": []}]}
        ],
    }
    assert evidence_hash(read_bundle(known)) == KNOWN_HASH
