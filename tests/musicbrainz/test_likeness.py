"""Spelling does not tell songs and artists apart; words do."""

import time
from pathlib import Path
from typing import Any

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import ArtistId, RecordingId
from chart_binder.musicbrainz.matching import (
    bare_title,
    main_artist,
    plausible,
    same_name,
    same_title,
)
from chart_binder.musicbrainz.web_service import Alias, Artist, Credit, Recording
from rules.making import cases

LIKENESS = Path(__file__).with_name("likeness.txt")


@pytest.mark.parametrize(("what", "one", "other", "answer"), cases(LIKENESS, is_named=False))
def test_titles_and_names_are_alike_or_not(what: str, one: str, other: str, answer: str) -> None:
    alike = same_title if what == "title" else same_name
    assert alike(one, other) is alike(other, one) is (answer == "same")


@pytest.mark.parametrize(
    ("artist", "name"),
    [
        ("Queen feat. David Bowie", "Queen"),
        ("AC/DC", "AC/DC"),
        ("A; B", "A"),
        ("A / B", "A"),
        ("; B", "; B"),
        ("Simon & Garfunkel", "Simon & Garfunkel"),
    ],
)
def test_guests_are_left_out(artist: str, name: str) -> None:
    assert main_artist(artist) == name


def test_a_remark_of_its_own_stays_in_a_title() -> None:
    assert bare_title("Mambo No. 5 (A Little Bit of...)") == "Mambo No. 5 (A Little Bit of...)"
    assert bare_title("(Remastered)") == "(Remastered)"


def found(name: str, artist: Artist, **fields: Any) -> Recording:
    usual = {"title": "First Love", "length": "258000", "score": "100"}
    credit = {"artist_credit": (Credit(artist),), "artist_credit_phrase": artist.name}
    return Recording(RecordingId(name), **credit | usual | fields)


UTADA = Artist(ArtistId("a"), "宇多田ヒカル", "Utada, Hikaru", alias_list=(Alias("Hikki"),))
COVER = Artist(ArtistId("b"), "Someone Else", "Else, Someone")


@pytest.mark.parametrize(
    "artist", ["宇多田ヒカル", "Utada Hikaru", "hikki", "Hikaru Utada feat. X"]
)
def test_an_artist_is_known_by_every_name(artist: str) -> None:
    hits = [found("cover", COVER), found("own", UTADA)]
    assert [hit.id for hit in plausible(hits, TrackTags("First Love", artist)).recordings] == [
        "own"
    ]


def test_an_artist_is_known_by_id() -> None:
    tags = TrackTags("First Love", "ウタダ", artist_mbid="a")
    assert plausible([found("own", UTADA)], tags).recordings


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
