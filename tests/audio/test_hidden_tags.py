"""What a tag of another form than the written one says is read, copied, or named as not copied."""

from pathlib import Path
from typing import Any

import mutagen
import pytest
from mutagen.id3 import ID3
from mutagen.mp4 import MP4, MP4FreeForm

from audio.odd_files import (
    ALBUM,
    ARTIST,
    JPEG,
    ODD,
    RECORDING,
    TITLE,
    ape_tag,
    bare,
    chunk,
    comments,
    flac,
    flac_block,
    frame,
    id3,
    id3v1,
    syncsafe,
    with_chunks,
)
from audio.tagging import FREDDIE
from audio.test_odd_files import WITH_TAGLIB, by_taglib, lost
from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.fields import all_fields, not_copied, with_fields
from chart_binder.audio.reading import read_tags
from chart_binder.audio.save import PreparedCopy, restore_file, save_tags

EMPTY_ID3 = b"ID3\3\0\0" + syncsafe(54) + bytes(54)  # 64 bytes
NO_COMMENTS = flac_block(4, comments())
TEXTS_2_2 = b"TT2\0\0\6\0" + TITLE.encode("latin-1") + b"TP1\0\0\5\0" + ARTIST.encode()
ID3_OF_2_2 = b"ID3\2\0\0" + syncsafe(len(TEXTS_2_2)) + TEXTS_2_2
INFO = {"INAM": TITLE.encode(), "IART": ARTIST.encode()}
APE = {"Title": TITLE, "Artist": ARTIST, "Album": ALBUM}
NEW = {"decision_trace": ("evh=9b1f2c3d",), "release_mbid": (FREDDIE,)}


def wav(info: dict[str, bytes], *chunks: bytes) -> bytes:
    body = b"".join(chunk(key.encode(), text + b"\0", "<") for key, text in info.items())
    return with_chunks("bare.wav", "<", b"".join(chunks) + chunk(b"LIST", b"INFO" + body, "<"))


def described(version: int) -> bytes:
    texts = (("TIT2", TITLE), ("TPE1", ARTIST))
    return b"".join(frame(name, b"\3" + text.encode(), version) for name, text in texts)


# Nothing but the tag of another form says who plays what.
HIDDEN = {
    "INFO": ("song.wav", wav(INFO)),
    "INFO beside an empty ID3 chunk": ("song.wav", wav(INFO, chunk(b"id3 ", EMPTY_ID3, "<"))),
    "text chunks of AIFF": ODD["AIFF with text chunks"],
    "APE": ("song.mp3", bare("bare.mp3") + ape_tag(**APE)),
    "APE beside an empty ID3v2": ("song.mp3", EMPTY_ID3 + bare("bare.mp3") + ape_tag(**APE)),
    "ID3v1": ("song.mp3", bare("bare.mp3") + id3v1(ARTIST)),
    "ID3v1 beside an empty ID3v2": ("song.mp3", EMPTY_ID3 + bare("bare.mp3") + id3v1(ARTIST)),
    "ID3v1 of WavPack": ("song.wv", bare("bare.wv") + id3v1(ARTIST)),
    "ID3v1 of Musepack": ("song.mpc", bare("bare.7.mpc") + id3v1(ARTIST)),
    "ID3v2.4 before FLAC": ("song.flac", id3(4, 0, described(4)) + flac()),
    "ID3v2.3 before FLAC": ("song.flac", id3(3, 0, described(4)) + flac(NO_COMMENTS)),
    "ID3v2.2 before FLAC": ("song.flac", ID3_OF_2_2 + flac(NO_COMMENTS)),
    "a second block of comments": (
        "song.flac",
        flac(NO_COMMENTS, flac_block(4, comments(f"TITLE={TITLE}", f"ARTIST={ARTIST}"))),
    ),
}  # fmt: skip


def made(name: str, folder: Path) -> Path:
    file, content = HIDDEN[name]
    path = folder / file
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", HIDDEN)
def test_title_and_artist_are_read_and_copied_into_the_new_tag(tmp_path: Path, name: str) -> None:
    path = made(name, tmp_path)
    before, seen = path.read_bytes(), by_taglib(path)
    tags = read_tags(path)
    assert (tags.title, tags.artist) == (TITLE, ARTIST)

    prepared: list[PreparedCopy] = []
    planned = all_fields(read_tag_set(path))
    save_tags(path, lambda tags: with_fields(tags, NEW), before_replace=prepared.append)
    now = all_fields(read_tag_set(path))
    assert now == {**planned, **NEW}, "what is copied is planned as the tag's own"
    assert (now["title"], now["artist"]) == ((TITLE,), (ARTIST,))
    assert not lost(seen, by_taglib(path))
    written = {str(text) for value in dict(mutagen.File(path).tags).values() for text in value}
    assert {TITLE, ARTIST} <= written
    assert prepared[0].before.block("id3v2") is None or "empty" in name or "FLAC" in name
    restore_file(path, prepared[0].restoration)
    assert path.read_bytes() == before


def test_what_the_first_tag_lacks_is_read_from_the_next(tmp_path: Path) -> None:
    path = tmp_path / "song.mp3"
    titled = id3(4, 0, frame("TIT2", b"\3First", 4) + frame("TPE1", b"\3 \0", 4))
    items = ape_tag(Title="Second", Artist="Second", MUSICBRAINZ_TRACKID=RECORDING)
    path.write_bytes(titled + bare("bare.mp3") + items + id3v1("Third"))
    tags = read_tags(path)
    assert (tags.title, tags.artist, tags.date) == ("First", "Second", "1973")
    assert tags.recording_mbid == RECORDING


@pytest.mark.parametrize("mean", ["com.apple.iTunes", "org.example"])
def test_atoms_of_another_mean_identify_a_file(tmp_path: Path, mean: str) -> None:
    path = tmp_path / "song.m4a"
    path.write_bytes(bare("bare.aac.m4a"))
    audio = MP4(path)
    for key, text in (("Title", TITLE), ("ARTIST", ARTIST), ("MusicBrainz/TrackId", RECORDING)):
        audio[f"----:{mean}:{key}"] = [MP4FreeForm(text.encode())]
    audio.save()
    tags = read_tags(path)
    assert (tags.title, tags.artist, tags.recording_mbid) == (TITLE, ARTIST, RECORDING)


# All that TagLib reads of a list of INFO, by its own names.
ENTRIES = [
    "IART", "IBPM", "IBSU", "ICMT", "ICNT", "ICOP", "ICRD", "IDIT", "IEDT", "IENG", "IGNR", "ILNG",
    "IMED", "IMUS", "INAM", "IPRD", "IPRT", "IPUB", "ISFT", "ISRC", "ISTR", "ITCH", "IWRI", "PRT1",
]  # fmt: skip


@WITH_TAGLIB
def test_every_entry_of_info_that_taglib_reads_is_copied(tmp_path: Path) -> None:
    path = tmp_path / "song.wav"
    path.write_bytes(wav({key: f" of {key} ".encode() for key in ENTRIES}))
    seen = by_taglib(path)
    assert len(seen) == len(ENTRIES)
    assert not not_copied(read_tag_set(path))
    save_tags(path, lambda tags: with_fields(tags, NEW))
    assert not lost(seen, by_taglib(path))


DATES = ["1996-05-01 10:11", "1996-05-01T10:11:12", "996", "73", "Spring 1996", "1996"]


@pytest.mark.parametrize("date", DATES)
def test_a_date_of_info_is_copied_whatever_its_form(tmp_path: Path, date: str) -> None:
    path = tmp_path / "song.wav"
    path.write_bytes(wav({"ICRD": date.encode()}))
    assert read_tags(path).date == date
    save_tags(path, lambda tags: with_fields(tags, NEW))
    assert all_fields(read_tag_set(path))["date"] == (date,)
    assert by_taglib(path) & {("DATE", date.replace("T", " "))} or not by_taglib(path)


@pytest.mark.parametrize("zone", [" UTC", "Z", " GMT"])
def test_a_date_with_a_zone_becomes_what_a_frame_can_hold(tmp_path: Path, zone: str) -> None:
    path = tmp_path / "song.wav"
    path.write_bytes(wav({"ICRD": f"2003-01-30 03:28:45{zone}".encode()}))
    save_tags(path, lambda tags: with_fields(tags, NEW))
    assert all_fields(read_tag_set(path))["date"] == ("2003-01-30T03:28:45",)
    assert by_taglib(path) & {("DATE", "2003-01-30 03:28:45")} or not by_taglib(path)


def test_texts_of_id3v1_keep_their_last_byte(tmp_path: Path) -> None:
    path = tmp_path / "song.mp3"
    text = b"  Caf\xa0".ljust(30, b" ")
    tag = b"TAG" + text + text + bytes(30) + b"73\0\0" + b"hm".ljust(28, b"\0") + b"\0\5\xc8"
    path.write_bytes(bare("bare.mp3") + tag)
    seen = by_taglib(path)
    save_tags(path, lambda tags: with_fields(tags, NEW))
    tags: Any = ID3(path, load_v1=False)
    assert tags["TIT2"].text == tags["TPE1"].text == ["Caf\xa0"]
    assert tags["TRCK"].text == ["5"]
    assert "TCON" not in tags, "a genre of no name"
    assert str(tags["TDRC"]) == "0073"
    assert not lost(seen, by_taglib(path))


def test_the_day_and_the_time_of_id3v2_3_come_with_its_year(tmp_path: Path) -> None:
    path = tmp_path / "song.flac"
    frames = (("TYER", "1996"), ("TDAT", "0105"), ("TIME", "1011"), ("TRCK", "02/14"))
    body = b"".join(frame(name, b"\0" + text.encode(), 3) for name, text in frames)
    path.write_bytes(id3(3, 0, described(3) + body) + flac())
    save_tags(path, lambda tags: with_fields(tags, NEW))
    tags: Any = mutagen.File(path).tags
    assert (tags["DATE"], tags["TRACKNUMBER"]) == (["1996-05-01T10:11"], ["02/14"])
    assert all_fields(read_tag_set(path))["track"] == ("2/14",)


PRIVATE = frame("PRIV", b"me\0x", 4) + frame("TXXX", b"\3a=b\0c", 4)
NOT_COPIED = {
    "nothing": (ODD["WAV with INFO"][1], ()),
    "INFO": (wav({**INFO, "ISBJ": b"x", "IARL": b"y"}), ("RIFF INFO ISBJ", "RIFF INFO IARL")),
    "ID3 and APE": (
        id3(3, 0, b"") + bare("bare.mp3") + ape_tag(**APE, Year="996", Cover=b"a\0" + JPEG),
        ("APE Cover", "APE date"),
    ),
    "before FLAC": (
        id3(4, 0, described(4) + PRIVATE) + flac(),
        ("ID3v2 PRIV:me", "ID3v2 A=B"),
    ),
    "mp3gain's own": (bare("bare.mp3") + ape_tag(**APE, MP3GAIN_UNDO="+004,+004,N"), ()),
    "of a tag that stays": (bare("bare.mp3") + id3v1(), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_COPIED)
def test_what_a_new_tag_cannot_hold_is_named(tmp_path: Path, name: str) -> None:
    content, named = NOT_COPIED[name]
    path = tmp_path / ("song.flac" if "FLAC" in name else "song.mp3")
    path.write_bytes(content)
    assert not_copied(read_tag_set(path)) == named
    save_tags(path, lambda tags: with_fields(tags, NEW))
    assert not not_copied(read_tag_set(path)), "nothing is hidden twice"


def test_an_original_date_of_id3v2_3_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "song.mp3"
    body = frame("TORY", b"\x001960", 3) + frame("XDOR", b"\x001960-05-01", 3)
    path.write_bytes(id3(3, 0, body) + bare("bare.mp3"))
    assert all_fields(read_tag_set(path))["original_date"] == ("1960-05-01",)
    save_tags(path, lambda tags: with_fields(tags, {"original_date": ["1959-03-04"]}))
    assert all_fields(read_tag_set(path))["original_date"] == ("1959-03-04",)
    assert str(mutagen.File(path).tags["TDOR"]) == "1959"


def test_a_file_of_4_gb_is_read_by_its_ends(tmp_path: Path) -> None:
    path = tmp_path / "song.mp3"
    tail = ape_tag(**APE)
    with path.open("wb") as file:
        file.write(EMPTY_ID3 + bare("bare.mp3"))
        file.seek(4 << 30)
        file.write(tail)
    before = reads()
    assert read_tags(path).title == TITLE
    assert reads() - before < 2_000_000
    path.unlink()


def reads() -> int:
    """Return how many bytes this process has read."""
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["rchar"])
