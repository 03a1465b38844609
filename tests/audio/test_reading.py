"""Reading the tags that identify a recording, of every container, and refusing what is no audio."""

import errno
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mutagen
import pytest
from mutagen.flac import FLAC

from audio.odd_files import ARTIST, HANDLER, ITEMS, TITLE, ape_tag, bare, box, id3, mp4_with, texts
from audio.tagging import (
    CONTAINERS,
    CONTAINERS_BY_NAME,
    FIELDS,
    FREDDIE,
    Container,
    unprivileged,
)
from chart_binder.audio.containers import audio_hash
from chart_binder.audio.reading import read_tags, require_identity
from chart_binder.audio.save import save_tags
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import AudioError, UnidentifiedError
from corpus import rows

by_container = pytest.mark.parametrize(
    "container", CONTAINERS, ids=lambda container: container.name
)


@by_container
def test_all_fields_stand_beside_the_duration(tmp_path: Path, container: Container) -> None:
    tags = read_tags(container.fully_tagged(tmp_path))
    assert {field.attribute: getattr(tags, field.attribute) for field in FIELDS} == {
        field.attribute: field.read for field in FIELDS
    }
    # Encoders put up to a tenth of a second of silence around the tone of 300 ms.
    assert tags.duration_ms is not None
    assert 300 <= tags.duration_ms <= 400


@by_container
def test_a_file_without_tags_has_a_duration_alone(tmp_path: Path, container: Container) -> None:
    path = container.copy(tmp_path)
    before = path.read_bytes()
    tags = read_tags(path)
    assert tags == TrackTags(duration_ms=tags.duration_ms)
    assert tags.duration_ms
    assert path.read_bytes() == before


PAIR = box(b"trkn", box(b"data", bytes(8) + b"\0\0\0\5"))

# What mutagen cannot read: its name, and its content.
UNREAD_BY_MUTAGEN = {
    "Monkey's Audio behind ID3": ("song.ape", id3(3, 0, texts(3), padding=50) + bare("bare.ape")),
    "WavPack behind ID3": (
        "song.wv", id3(3, 0, b"") + bare("bare.wv") + ape_tag(Title=TITLE, Artist=ARTIST),
    ),
    "MP4 with a short number": (
        "song.m4a",
        mp4_with(box(b"udta", box(b"meta", bytes(4) + HANDLER + box(b"ilst", ITEMS[8:] + PAIR)))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREAD_BY_MUTAGEN)
def test_what_mutagen_cannot_read_is_identified(tmp_path: Path, name: str) -> None:
    file, content = UNREAD_BY_MUTAGEN[name]
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(mutagen.MutagenError):
        mutagen.File(path)
    tags = read_tags(path)
    assert (tags.title, tags.artist) == (TITLE, ARTIST)
    assert tags.duration_ms


@pytest.mark.parametrize(("container", "key", "written", "read"), rows(__file__, "spellings"))
def test_other_spellings_of_a_field(
    tmp_path: Path, container: str, key: str, written: list[str], read: dict[str, Any]
) -> None:
    tags = read_tags(CONTAINERS_BY_NAME[container].tagged(tmp_path, [(key, written)]))
    assert replace(tags, duration_ms=None) == TrackTags(**read)


def test_an_id_that_is_no_uuid_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    path = CONTAINERS_BY_NAME["flac"].tagged(tmp_path, [("MUSICBRAINZ_TRACKID", ["12345"])])
    read_tags(path)
    assert caplog.messages == [f"'{path}': the recording id '12345' is not a UUID and is ignored"]


def test_a_duration_that_no_recording_has_is_absent(tmp_path: Path) -> None:
    path = CONTAINERS_BY_NAME["flac"].copy(tmp_path)
    damaged = bytearray(path.read_bytes())
    damaged[21] |= 0x0F  # the top of the number of samples, 36 bits wide
    path.write_bytes(damaged)
    assert FLAC(path).info.length > 4_000_000
    assert read_tags(path).duration_ms is None


# No notes at all: a kind of file that mutagen knows, mediafile does not.
MIDI = bytes.fromhex("4d546864 00000006 0000 0001 0060 4d54726b 00000004 00ff2f00")

NOT_AUDIO = [
    ("large.wav", b"RF64\xff\xff\xff\xffWAVEds64" + bytes(99), "is RF64, a WAV .* or FLAC"),
    ("sony.wav", b"riff\x2e\x91\xcf\x11" + bytes(99), "is Wave64, .*which is not supported"),
    ("notes.txt", b"Remember the milk.\n" * 50, "is not audio that can be read"),
    ("cover.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(500), "is not audio that can be read"),
    ("song.mid", MIDI, r"'SMF' is not supported\); readable are MP3, .*FLAC"),
    ("empty.mp3", b"", r"is empty \(0 bytes\)"),
    ("notes.mp3", b"Remember the milk.\n" * 50, "is damaged, cut short or not what"),
    ("zeros.flac", bytes(4_000), "is damaged, cut short or not what"),
    ("noise.m4a", bytes(range(256)) * 9, "is not audio that can be read"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "problem"), NOT_AUDIO)
def test_a_file_that_is_not_audio_is_refused_with_the_reason(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(AudioError, match=problem) as caught:
        read_tags(path)
    assert str(caught.value).startswith(f"'{path}' ")
    with pytest.raises(AudioError, match=f"{problem}|has a format whose tags cannot be written"):
        audio_hash(path)


def test_an_ape_item_marked_binary_holds_no_text(tmp_path: Path) -> None:
    audio = CONTAINERS_BY_NAME["ape"]
    path = audio.tagged(tmp_path, [("Title", ["Innuendo"]), ("Artist", ["Queen"])])
    content = path.read_bytes()
    at = content.index(b"Title\0")
    path.write_bytes(content[: at - 4] + b"\x02" + content[at - 3 :])  # kind 1 of the item's flags
    assert replace(read_tags(path), duration_ms=None) == TrackTags(artist="Queen")


@pytest.mark.parametrize(("name", "problem"), [
    ("gone.mp3", r"gone\.mp3' does not exist$"),
    ("bare.flac/song.mp3", "does not exist: a part of its path is a file"),
    (".", "is a folder, not an audio file"),
    ("loop.mp3", f"cannot be read: {os.strerror(errno.ELOOP)}"),
    ("a\0b.mp3", r"a\\x00b\.mp3' cannot be read: embedded null"),
    ("pipe.mp3", "is a device or a pipe"),
])  # fmt: skip
def test_a_path_to_no_file_is_an_audio_error(tmp_path: Path, name: str, problem: str) -> None:
    CONTAINERS_BY_NAME["flac"].copy(tmp_path)
    (tmp_path / "loop.mp3").symlink_to(tmp_path / "loop.mp3")
    os.mkfifo(tmp_path / "pipe.mp3")
    for refused in (read_tags, partial(save_tags, change=lambda tags: tags)):
        with pytest.raises(AudioError, match=problem):
            refused(tmp_path / name)


def test_a_file_that_may_not_be_read_is_an_audio_error() -> None:
    with TemporaryDirectory() as name:  # pytest's own folders are closed to others at the top
        folder = Path(name)
        folder.chmod(0o755)
        path = CONTAINERS_BY_NAME["flac"].copy(folder)
        path.chmod(0)
        problem = r"flac' may not be read: permission denied$"
        with unprivileged(), pytest.raises(AudioError, match=problem):
            read_tags(path)


def test_nothing_is_printed_about_a_file_that_breaks_mutagen(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = CONTAINERS_BY_NAME["wma"].tagged(tmp_path, [("WM/AlbumTitle", ["Innuendo"])])
    content = bytearray(path.read_bytes())
    name = "WM/AlbumTitle\0".encode("utf-16-le")
    # The type of the attribute: mutagen lets a KeyError through.
    content[content.index(name) + len(name)] = 0xFF
    path.write_bytes(content)
    with pytest.raises(AudioError, match="KeyError: 255"):
        read_tags(path)
    assert capfd.readouterr() == ("", "")


def test_a_recording_id_an_isrc_or_artist_and_title_identify_a_file() -> None:
    for tags in (
        TrackTags(recording_mbid=FREDDIE),
        TrackTags(isrcs=("GBUM71029604",)),
        TrackTags(artist="Queen", title="Bohemian Rhapsody"),
    ):
        require_identity(tags, Path("song.mp3"))
    for tags, missing in (
        (
            TrackTags(album="Queen", album_artist="Queen", artist=""),
            "no ISRC, no artist and no title",
        ),
        (TrackTags(artist="Queen"), "no ISRC and no title"),
        (TrackTags(title="Bohemian Rhapsody"), "no ISRC and no artist"),
    ):
        with pytest.raises(UnidentifiedError) as caught:
            require_identity(tags, Path("song.mp3"))
        assert str(caught.value) == (
            "'song.mp3' says too little to be looked up: its tags have no MusicBrainz recording"
            f" id, {missing}, and its name is not of the form `Artist - Title`"
        )
