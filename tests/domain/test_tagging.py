"""Which fields a decision implies, beside what a file says already."""

from typing import Any

from chart_binder.audio.fields import FIELDS_BY_NAME
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.tags import IDS, Chosen, Policy, wanted_fields
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS

ARTIST = "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"
CHOSEN = Chosen("recording", "group", "release", "evh=1")
RELEASE = {
    "mb_release_id": "release", "title": "Opera", "date": "1975-11-21", "country": "UK",
    "status": "official", "label": "EMI", "catno": "[none]", "format": '12" Vinyl',
}  # fmt: skip
GROUP = {
    "mb_rg_id": "group", "title": "An Opera", "artist_credit": "Queen", "primary_type": "Album",
    "secondary_types": ["Live"], "first_release_date": "1975-??-21", "releases": [RELEASE],
}  # fmt: skip


def evidence(**group: Any) -> EvidenceBundle:
    return read_bundle(
        {
            "artist": {"name": "Queen", "mb_artist_id": ARTIST},
            "recording_title": "T",
            "recording_candidates": [
                {"mb_recording_id": "recording", "rg_candidates": [GROUP | group]}
            ],
        }
    )


def test_ids_are_written_with_the_trace_and_nothing_else() -> None:
    assert wanted_fields(CHOSEN, evidence(), Policy.IDS, {}) == {
        "recording_mbid": ("recording",),
        "release_group_mbid": ("group",),
        "release_mbid": ("release",),
        "artist_mbids": (ARTIST,),
        "album_artist_mbids": (ARTIST,),
        "decision_trace": ("evh=1",),
    }


def test_full_adds_what_is_known_and_no_more() -> None:
    found = wanted_fields(CHOSEN, evidence(), Policy.FULL, {})
    assert {name: texts for name, texts in found.items() if name not in IDS} == {
        "album": ("Opera",),
        "album_artist": ("Queen",),
        "date": ("1975-11-21",),
        "original_date": ("1975",),
        "original_year": ("1975",),
        "release_types": ("album", "live"),
        "release_status": ("official",),
        "release_country": ("GB",),
        "labels": ("EMI",),
        "media": ('12" Vinyl',),
    }


def test_every_name_is_a_field() -> None:
    everything = wanted_fields(CHOSEN, evidence(), Policy.FULL, {"release_mbid": ("another",)})
    assert set(everything) <= set(FIELDS_BY_NAME)
    assert set(IDS) <= set(FIELDS_BY_NAME)


def test_what_was_true_of_another_release_goes() -> None:
    now = {
        "release_mbid": ("another",),
        "release_track_mbid": ("track",),
        "catalog_numbers": ("1",),
    }
    ids = wanted_fields(CHOSEN, evidence(), Policy.IDS, now)
    assert ids["release_track_mbid"] == ()
    assert "catalog_numbers" not in ids
    assert wanted_fields(CHOSEN, evidence(), Policy.FULL, now)["catalog_numbers"] == ()
    same = now | {"release_mbid": ("RELEASE",)}
    assert "release_track_mbid" not in wanted_fields(CHOSEN, evidence(), Policy.FULL, same)


def test_a_release_id_stays_where_none_is_named_and_the_group_is_the_same() -> None:
    chosen = Chosen("recording", "group", None, "evh=1")
    now = {"release_mbid": ("another",), "release_group_mbid": ("group",)}
    assert "release_mbid" not in wanted_fields(chosen, evidence(), Policy.IDS, now)
    now["release_group_mbid"] = ("elsewhere",)
    assert wanted_fields(chosen, evidence(), Policy.IDS, now)["release_mbid"] == ()


def test_artists_beside_the_one_who_is_known_stay() -> None:
    now: dict[str, tuple[str, ...]] = {"artist_mbids": (ARTIST.upper(), "another")}
    assert wanted_fields(CHOSEN, evidence(), Policy.IDS, now)["artist_mbids"] == now["artist_mbids"]
    now = {"artist_mbids": ("another",)}
    assert wanted_fields(CHOSEN, evidence(), Policy.IDS, now)["artist_mbids"] == (ARTIST,)


def test_the_album_artist_is_known_by_the_albums_credit() -> None:
    various = wanted_fields(CHOSEN, evidence(artist_credit="Various Artists"), Policy.IDS, {})
    assert various["album_artist_mbids"] == (VARIOUS_ARTISTS,)
    others = wanted_fields(CHOSEN, evidence(artist_credit="Queen & Others"), Policy.IDS, {})
    assert "album_artist_mbids" not in others


def test_a_group_that_evidence_lacks_has_ids_alone() -> None:
    chosen = Chosen("recording", "elsewhere", None, None)
    found = wanted_fields(chosen, evidence(), Policy.FULL, {})
    assert set(found) == {"recording_mbid", "release_group_mbid", "artist_mbids"}


def test_without_a_first_date_the_earliest_official_release_gives_it() -> None:
    later = RELEASE | {"mb_release_id": "later", "date": "1980"}
    bootleg = RELEASE | {"mb_release_id": "b", "date": "1970", "status": "Bootleg"}
    group = {"first_release_date": None, "releases": [later, RELEASE, bootleg]}
    found = wanted_fields(CHOSEN, evidence(**group), Policy.FULL, {})
    assert found["original_date"] == ("1975-11-21",)
