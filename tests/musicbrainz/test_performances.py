"""Which recordings are the same performance, and why."""

from pathlib import Path

import pytest

from chart_binder.domain.evidence import Artist as EvidenceArtist
from chart_binder.domain.evidence import RecordingCandidate
from chart_binder.domain.vocabulary import ArtistId, RecordingId
from chart_binder.musicbrainz.evidence import performance_in, performance_of, same_performance
from chart_binder.musicbrainz.web_service import Artist, Credit, Recording
from rules.making import cases

PERFORMANCES = Path(__file__).with_name("performances.txt")
PLAIN = {"title": "Song", "by": "Band", "s": "200", "comment": "", "isrc": "", "id": "7"}


def said(text: str) -> dict[str, str]:
    pairs = (pair.split("=", 1) for pair in text.split(";") if pair != "-")
    return PLAIN | {key.strip(): value.strip() for key, value in pairs}


def recording(text: str) -> Recording:
    one = said(text)
    artists = (one.get("all") or one["id"]).split(",") if "by" not in text or "all" in text else ()
    return Recording(
        RecordingId("r"),
        title=one["title"],
        length=str(round(float(one["s"]) * 1_000)) if one["s"] else None,
        disambiguation=one["comment"] or None,
        video="true" if one.get("video") else None,
        artist_credit=tuple(Credit(Artist(ArtistId(each))) for each in artists),
        artist_credit_phrase=one["by"],
        isrc_list=tuple(filter(None, [one["isrc"]])),
    )


def candidate(text: str) -> tuple[RecordingCandidate, EvidenceArtist]:
    one = said(text)
    found = RecordingCandidate(
        RecordingId("r"),
        title=one["title"],
        length_ms=round(float(one["s"]) * 1_000) if one["s"] else None,
        disambiguation=one["comment"] or None,
        isrcs=tuple(filter(None, [one["isrc"]])),
    )
    first = ArtistId((one.get("all") or one["id"]).split(",")[0])
    return found, EvidenceArtist(one["by"], first if "by" not in text or "all" in text else None)


@pytest.mark.parametrize(("one", "other", "why"), cases(PERFORMANCES))
def test_two_recordings_are_one_performance_or_not(one: str, other: str, why: str) -> None:
    pair = performance_of(recording(one)), performance_of(recording(other))
    found = same_performance(*pair)
    assert (same_performance(*reversed(pair)) is None) is (found is None)
    assert why in found if found else why == "no"


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [row for row in cases(PERFORMANCES) if "by=Prince" not in row.values[0]],
)
def test_evidence_says_the_same_but_for_other_names_of_an_artist(
    one: str, other: str, why: str
) -> None:
    found = same_performance(performance_in(*candidate(one)), performance_of(recording(other)))
    assert why in found if found else why == "no"
