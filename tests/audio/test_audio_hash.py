"""The hash over the audio: what decodes it changes the hash, what other programs do to tags not."""

import struct
from pathlib import Path

import mutagen
import pytest
from mutagen.apev2 import APEv2

from audio.odd_files import bare, id3, id3v1, make, mp4_indexed, texts
from audio.tagging import WANTED
from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.save import save_tags

try:
    import taglib
except ImportError:
    taglib = None

FILE_PROPERTIES = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")

# The content, what stands before the byte that changes, and how far behind its beginning that is.
DECODING: dict[str, tuple[str, bytes, bytes, int]] = {
    "edit list": ("song.m4a", bare("bare.fast.m4a"), b"elst", 12),
    "edit list by another name": ("song.m4a", bare("bare.fast.m4a"), b"edts", 0),
    "time scale of the movie": ("song.m4a", bare("bare.fast.m4a"), b"mvhd", 16),
    "time scale of the track": ("song.m4a", bare("bare.fast.m4a"), b"mdhd", 16),
    "place of the media": ("song.m4a", bare("bare.fast.m4a"), b"dref", 15),
    "defaults of fragments": ("song.m4a", bare("bare.pieces.m4a"), b"trex", 19),
    "index of segments": ("song.m4a", mp4_indexed(), b"sidx", 30),
    "checksum of the last page": ("song.opus", bare("bare.opus"), b"OggS", -22),
    "number of the last page": ("song.ogg", bare("bare.ogg"), b"OggS", -18),
    "size of packets": ("song.wma", bare("bare.wma"), FILE_PROPERTIES, 92),
}


@pytest.mark.parametrize("name", DECODING)
def test_what_decodes_the_audio_is_hashed(tmp_path: Path, name: str) -> None:
    file, content, mark, distance = DECODING[name]
    path = tmp_path / file
    path.write_bytes(content)
    before = audio_hash(path)
    at = content.index(mark) + distance if distance >= 0 else content.rindex(mark) - distance
    path.write_bytes(content[:at] + bytes((content[at] ^ 0x40,)) + content[at + 1 :])
    assert audio_hash(path) != before


def test_the_day_of_a_change_is_not_hashed(tmp_path: Path) -> None:
    path = tmp_path / "song.m4a"
    path.write_bytes(original := bare("bare.fast.m4a"))
    before = audio_hash(path)
    for kind in (b"mvhd", b"tkhd", b"mdhd"):
        at = original.index(kind) + 12
        original = original[:at] + struct.pack(">I", 1_234_567) + original[at + 4 :]
    path.write_bytes(original)
    assert audio_hash(path) == before


def add_ape(path: Path) -> None:
    tag = APEv2()
    tag["REPLAYGAIN_TRACK_GAIN"] = "-3 dB"
    tag.save(path)


def without_first(path: Path) -> None:
    """Do as TagLib does: of two ID3v2 tags it drops the second one."""
    original = path.read_bytes()
    first = id3(3, 0, texts(3), padding=9)
    second = id3(4, 0, texts(4), padding=9)
    assert original.startswith(first + second)
    path.write_bytes(first + original[len(first + second) :])


@pytest.mark.parametrize(("name", "edit"), [
    ("MP3 with ID3v1 alone", add_ape), ("MP3 with two ID3v2 tags", without_first),
    ("MP3 with two ID3v1 tags", lambda path: path.write_bytes(path.read_bytes()[:-128])),
    ("MP3 with ID3v1 before APE", lambda path: APEv2(path).delete()),
    ("MP3 with ID3v1 before APE", add_ape),
    ("MP4 with ID3v1 behind its boxes", lambda path: path.write_bytes(path.read_bytes()[:-128])),
])  # fmt: skip
def test_tags_in_any_order_are_no_audio(tmp_path: Path, name: str, edit: object) -> None:
    path = make(name, tmp_path)
    before = audio_hash(path)
    assert callable(edit)
    edit(path)
    assert audio_hash(path) == before


def test_of_two_tags_of_a_form_both_are_listed(tmp_path: Path) -> None:
    path = make("MP3 with two ID3v1 tags", tmp_path)
    first, last = read_tag_set(path).blocks
    assert (first.form, [item.data for item in first.items]) == ("more-tags", [id3v1("Other")])
    assert (last.form, last.items[0].data) == ("id3v1", id3v1())


FILES = (
    "bare.aac.m4a", "bare.fast.m4a", "bare.pieces.m4a", "bare.opus", "bare.ogg", "bare.wma",
    "bare.mp3", "bare.flac",
)  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_save_leaves_the_hash(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"song{Path(name).suffix}"
    path.write_bytes(bare(name))
    before = audio_hash(path)
    fields = {"release_mbid": WANTED["release_mbid"], "decision_trace": ("x" * 9_000,)}
    save_tags(path, lambda tags: with_fields(tags, fields))
    assert audio_hash(path) == before
    audio = mutagen.File(path, easy=True)
    audio["album" if name != "bare.wma" else "WM/AlbumTitle"] = "y" * 70_000
    audio.save()
    assert audio_hash(path) == before
    if taglib is not None:
        with taglib.File(path) as file:
            file.tags["COMMENT"] = ["z" * 140_000]
            file.save()
        assert audio_hash(path) == before
