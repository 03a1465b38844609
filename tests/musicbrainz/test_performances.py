"""Which recordings are the same performance, and why."""

from pathlib import Path
from typing import Any

import pytest

from chart_binder.domain.evidence import Artist as EvidenceArtist
from chart_binder.domain.evidence import RecordingCandidate
from chart_binder.domain.vocabulary import ArtistId, RecordingId
from chart_binder.musicbrainz.performances import performance_in, performance_of, same_performance
from chart_binder.musicbrainz.web_service import Credit, MBArtist, Recording
from rules.making import cases

PERFORMANCES = Path(__file__).with_name("performances.txt")
PLAIN = {"title": "Song", "by": "Band", "s": "200", "comment": "", "isrc": "", "id": "7"}


def said(text: str) -> dict[str, str]:
    pairs = (pair.split("=", 1) for pair in text.split(";") if pair != "-")
    return PLAIN | {key.strip(): value.strip() for key, value in pairs}


def recordings(text: str) -> tuple[Recording, RecordingCandidate, EvidenceArtist]:
    """Return a recording as the web service and as the evidence has it, and its artist."""
    one = said(text)
    is_named = "by" not in text or "all" in text
    artists = (one.get("all") or one["id"]).split(",") if is_named else ()
    length = round(float(one["s"]) * 1_000) if one["s"] else None
    of_both: dict[str, Any] = {"title": one["title"], "disambiguation": one["comment"] or None}
    isrcs = tuple(filter(None, [one["isrc"]]))
    found = Recording(
        RecordingId("r"),
        length=None if length is None else str(length), video="true" if one.get("video") else None,
        artist_credit=tuple(Credit(MBArtist(ArtistId(each))) for each in artists),
        artist_credit_phrase=one["by"], isrc_list=isrcs, **of_both,
    )  # fmt: skip
    known = RecordingCandidate(RecordingId("r"), length_ms=length, isrcs=isrcs, **of_both)
    return found, known, EvidenceArtist(one["by"], ArtistId(artists[0]) if artists else None)


@pytest.mark.parametrize(("one", "other", "why"), cases(PERFORMANCES))
def test_two_recordings_are_one_performance_or_not(one: str, other: str, why: str) -> None:
    (first, known, artist), (second, *_) = recordings(one), recordings(other)
    pair = performance_of(first), performance_of(second)
    found = same_performance(*pair)
    assert (same_performance(*reversed(pair)) is None) is (found is None)
    assert why in found if found else why == "no"
    if "by=Prince" not in one:  # evidence has no other names of an artist
        assert same_performance(performance_in(known, artist), pair[1]) == found
