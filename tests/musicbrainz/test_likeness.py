"""Spelling does not tell songs and artists apart; words do."""

import time
from pathlib import Path
from typing import Any

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import ArtistId, RecordingId
from chart_binder.musicbrainz.matching import plausible, same_name, same_title
from chart_binder.musicbrainz.web_service import Alias, Credit, MBArtist, Recording
from rules.making import cases

LIKENESS = Path(__file__).with_name("likeness.txt")


@pytest.mark.parametrize(("what", "one", "other", "answer"), cases(LIKENESS, is_named=False))
def test_titles_and_names_are_alike_or_not(what: str, one: str, other: str, answer: str) -> None:
    alike = same_title if what == "title" else same_name
    assert alike(one, other) is alike(other, one) is (answer == "same")


def found(name: str, artist: MBArtist, **fields: Any) -> Recording:
    usual = {"title": "First Love", "length": "258000", "score": "100"}
    credit = {"artist_credit": (Credit(artist),), "artist_credit_phrase": artist.name}
    return Recording(RecordingId(name), **credit | usual | fields)


UTADA = MBArtist(ArtistId("a"), "宇多田ヒカル", "Utada, Hikaru", alias_list=(Alias("Hikki"),))
COVER = MBArtist(ArtistId("b"), "Someone Else", "Else, Someone")


@pytest.mark.parametrize(
    ("artist", "artist_id"),
    [
        ("宇多田ヒカル", None), ("Utada Hikaru", None), ("hikki", None), ("ウタダ", "a"),
        ("Hikaru Utada feat. X", None), ("Hikki; B", None), ("Hikki / B", None),
    ],
)  # fmt: skip
def test_an_artist_is_known_by_every_name_and_by_id(artist: str, artist_id: str | None) -> None:
    hits = [found("cover", COVER), found("own", UTADA)]
    tags = TrackTags("First Love", artist, artist_mbid=artist_id)
    assert [hit.id for hit in plausible(hits, tags).recordings] == ["own"]


@pytest.mark.parametrize(
    "odd",
    [{"video": "true"}, {"score": "12"}, {"title": "Automatic"}, {"length": "300000"}],
)
def test_what_is_something_else_is_left_out(odd: dict[str, str]) -> None:
    tags = TrackTags("First Love", "宇多田ヒカル", duration_ms=258_500)
    assert plausible([found("own", UTADA)], tags).recordings
    assert not plausible([found("own", UTADA, **odd)], tags).recordings


@pytest.mark.parametrize("text", ["(" * 100_000, " - " * 50_000, "x " * 100_000, "(live " * 30_000])
def test_a_long_title_costs_little(text: str) -> None:
    started = time.process_time()
    same_title(text, text + "!")
    same_name(text, text + "?")
    assert time.process_time() - started < 0.5
