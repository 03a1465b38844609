"""Spelling does not tell songs and artists apart; words do."""

import time

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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Don’t Stop", "Dont stop"),
        ("Déjà Vu", "Deja vu"),
        ("Rock & Roll", "Rock and Roll"),
        ("Ｋｉｌｌｅｒ　Ｑｕｅｅｎ", "Killer Queen"),
        ("Song 2", "Song 2 (2012 Remaster)"),
        ("Umbrella (feat. Jay‐Z)", "Umbrella"),
        ("Time - 2011 Remastered Version", "Time"),
        ("Everybody (live)", "Everybody"),
        ("???", "???"),
        ("小さな恋のうた（ライブ）", "小さな恋のうた"),
        ("Siouxsie Song", "Siouxie Song"),
        ("R.E.M.", "REM"),
    ],
)
def test_titles_of_one_song(one: str, other: str) -> None:
    assert same_title(one, other)
    assert same_title(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Another Brick in the Wall, Part 1", "Another Brick in the Wall, Part 2"),
        ("Shine On You Crazy Diamond I", "Shine On You Crazy Diamond II"),
        ("Killer Queen", "Killer Queen (instrumental)"),
        ("Killer Queen", "Killer Queen (karaoke version)"),
        ("Help", "Helm"),
        ("ハート", "バート"),
        ("?", "!"),
        ("Live and Let Die", "Let Die"),
        ("", "x"),
    ],
)
def test_titles_of_two_songs(one: str, other: str) -> None:
    assert not same_title(one, other)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Beatles, The", "The Beatles", True),
        ("Utada, Hikaru", "Hikaru Utada", True),
        ("Beyoncé", "BEYONCE", True),
        ("The The", "the the", True),
        ("AC/DC", "AC DC", True),
        ("Queen", "Queens", False),
        ("Queen", "Queen Tribute Band", False),
        ("!!!", "???", False),
    ],
)
def test_names(one: str, other: str, is_same: bool) -> None:
    assert same_name(one, other) is is_same


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


def found(
    name: str,
    artist: Artist,
    *,
    title: str = "First Love",
    length: str = "258000",
    score: str = "100",
    video: str | None = None,
) -> Recording:
    return Recording(
        RecordingId(name),
        title,
        length,
        video=video,
        score=score,
        artist_credit=(Credit(artist),),
        artist_credit_phrase=artist.name,
    )


UTADA = Artist(ArtistId("a"), "宇多田ヒカル", "Utada, Hikaru", alias_list=(Alias("Hikki"),))
COVER = Artist(ArtistId("b"), "Someone Else", "Else, Someone")


@pytest.mark.parametrize(
    "artist", ["宇多田ヒカル", "Utada Hikaru", "hikki", "Hikaru Utada feat. X"]
)
def test_an_artist_is_known_by_every_name(artist: str) -> None:
    hits = [found("cover", COVER), found("own", UTADA)]
    assert [hit.id for hit in plausible(hits, TrackTags("First Love", artist))] == ["own"]


def test_an_artist_is_known_by_id() -> None:
    tags = TrackTags("First Love", "ウタダ", artist_mbid="a")
    assert plausible([found("own", UTADA)], tags)


@pytest.mark.parametrize(
    "odd",
    [{"video": "true"}, {"score": "12"}, {"title": "Automatic"}, {"length": "300000"}],
)
def test_what_is_something_else_is_left_out(odd: dict[str, str]) -> None:
    tags = TrackTags("First Love", "宇多田ヒカル", duration_ms=258_500)
    assert plausible([found("own", UTADA)], tags)
    assert not plausible([found("own", UTADA, **odd)], tags)


@pytest.mark.parametrize("text", ["(" * 100_000, " - " * 50_000, "x " * 100_000, "(live " * 30_000])
def test_a_long_title_costs_little(text: str) -> None:
    started = time.process_time()
    same_title(text, text + "!")
    same_name(text, text + "?")
    assert time.process_time() - started < 0.5
